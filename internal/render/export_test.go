package render

// AlwaysInRegions lays out every slice in regions that can be, until the function that it returns is called.
func AlwaysInRegions() (restore func()) {
	columns, bytes := regionsFromColumns, regionsFromBytes
	regionsFromColumns, regionsFromBytes = 0, 0
	return func() { regionsFromColumns, regionsFromBytes = columns, bytes }
}
