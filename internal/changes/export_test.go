package changes

// CompareAtOnce sets how much memory the rows take that are compared at once, until the function that it returns is called.
func CompareAtOnce(bytes int) (restore func()) {
	before := maxCompared
	maxCompared = bytes
	return func() { maxCompared = before }
}
