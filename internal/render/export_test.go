package render

import "math"

// DecodeAtOnce sets how many bytes of log content are decoded at once, until the function that it returns is called.
func DecodeAtOnce(bytes int64) (restore func()) {
	before := windowBytes
	windowBytes = bytes
	return func() { windowBytes = before }
}

// AlwaysInRegions lays out every slice in regions that can be, until the function that it returns is called.
func AlwaysInRegions() (restore func()) { return regionsFrom(0) }

// NeverInRegions lays out none so.
func NeverInRegions() (restore func()) { return regionsFrom(math.MaxInt32) }

func regionsFrom(n int) (restore func()) {
	columns, bytes := regionsFromColumns, regionsFromBytes
	regionsFromColumns, regionsFromBytes = n, int64(n)
	return func() { regionsFromColumns, regionsFromBytes = columns, bytes }
}
