package cache

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// newMemoryFile makes a file that lives in memory until it is closed.
func newMemoryFile() (*os.File, error) {
	const name = "hudifs-cache"
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// sealMemoryFile makes a memory file read-only for good and returns how many bytes it occupies.
func sealMemoryFile(f *os.File) (int64, error) {
	const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return 0, fmt.Errorf("seal memory file: %w", err)
	}
	st, err := fstat(f)
	if err != nil {
		return 0, fmt.Errorf("stat memory file: %w", err)
	}
	return st.Blocks * 512, nil
}
