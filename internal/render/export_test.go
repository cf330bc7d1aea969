package render

// DecodeAtOnce sets how many bytes of log content are decoded at once, until the function that it returns is called.
func DecodeAtOnce(bytes int64) (restore func()) {
	before := windowBytes
	windowBytes = bytes
	return func() { windowBytes = before }
}

// AlwaysInRegions lays out every slice in regions that can be, until the function that it returns is called.
func AlwaysInRegions() (restore func()) {
	columns, bytes := regionsFromColumns, regionsFromBytes
	regionsFromColumns, regionsFromBytes = 0, 0
	return func() { regionsFromColumns, regionsFromBytes = columns, bytes }
}
