package cache

// OpenFaulty is Open with a disk that fails as fault says.
func OpenFaulty(dir string, o *Options, fault func(op string) error) (*Disk, error) {
	return open(dir, o, fault)
}
