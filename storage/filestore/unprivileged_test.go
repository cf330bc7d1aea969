package filestore_test

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// unprivileged runs fn without the rights of root, on an operating system thread that is thrown away afterwards. The raw
// system calls change one thread, where those of package syscall would change the process.
func unprivileged(t *testing.T, fn func()) {
	if unix.Getuid() != 0 {
		fn()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		const nobody = 65534
		if _, _, errno := unix.RawSyscall(unix.SYS_SETFSUID, nobody, 0, 0); errno != 0 {
			t.Errorf("setfsuid: %v", errno)
			return
		}
		fn()
	}()
	<-done
}
