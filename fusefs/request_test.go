package fusefs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hudifs/hudifs/views"
)

// calls are all kinds of call that ask the tree: for the folder "dir", and the files "opened" and "read".
func calls(mnt string) map[string]func() error {
	return map[string]func() error{
		"stat":    func() error { var st syscall.Stat_t; return syscall.Stat(mnt+"/dir/x", &st) },
		"opendir": func() error { return openOnce(mnt+"/dir", syscall.O_DIRECTORY) },
		"xattr":   func() error { _, err := unix.Getxattr(mnt+"/opened", "user.hudi.x", make([]byte, 10)); return err },
		"open":    func() error { return openOnce(mnt+"/opened", 0) },
		"read": func() error {
			fd, err := syscall.Open(mnt+"/read", 0, 0)
			if err != nil {
				return err
			}
			defer syscall.Close(fd)
			_, err = syscall.Pread(fd, make([]byte, 10), 0)
			return err
		},
	}
}

func openOnce(path string, flags int) error {
	fd, err := syscall.Open(path, flags, 0)
	if err == nil {
		syscall.Close(fd)
	}
	return err
}

// signalled makes a call on a thread that gets signals all the time.
func signalled(call func() error) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	defer signal.Stop(signals)
	result, thread := make(chan error), make(chan int)
	go func() {
		runtime.LockOSThread()
		thread <- unix.Gettid()
		result <- call()
	}()
	tid := <-thread
	for {
		select {
		case err := <-result:
			return err
		case <-time.After(time.Millisecond):
			unix.Tgkill(os.Getpid(), tid, syscall.SIGUSR1)
		}
	}
}

// waiting is a tree of which every call but those on "well" waits.
func waiting(wait func()) (root *fakeDir, files []*fakeFile) {
	opened, read, dir := newFile(3, make([]byte, 10)), newFile(4, make([]byte, 10)), newDir(5, false, map[string]views.Node{"x": newFile(6, nil)})
	opened.wait, read.wait, dir.wait = wait, wait, wait
	read.waitsInRead, read.attr.Frozen = true, false // what is frozen is read by the kernel itself, ahead, which no signal interrupts
	cached := newFile(8, make([]byte, 10))
	cached.wait, cached.waitsInRead = wait, true
	opened.xattrs = map[string]string{"user.hudi.x": "y"}
	well := newFile(7, []byte("well"))
	well.attr.Frozen = false
	return newDir(1, false, map[string]views.Node{"opened": opened, "read": read, "cached": cached, "dir": dir, "well": well}), []*fakeFile{opened, read, cached}
}

// A storage that hangs, and does not even heed a context, holds nobody who is interrupted, and nobody who asks for something else. What
// it gives after all is put away.
func TestHangingStorage(t *testing.T) {
	if mnt, ok := inChild(); ok {
		cat := exec.Command("cat", mnt+"/cached")
		check(t, cat.Start())
		for opened := ""; opened != mnt+"/cached"; opened, _ = os.Readlink(fmt.Sprintf("/proc/%d/fd/3", cat.Process.Pid)) {
			time.Sleep(time.Millisecond)
		}
		check(t, cat.Process.Kill())
		cat.Wait()
		for name, call := range calls(mnt) {
			if err := signalled(call); !errors.Is(err, syscall.EINTR) {
				t.Errorf("%s: %v, want EINTR", name, err)
			}
			if b, err := os.ReadFile(mnt + "/well"); string(b) != "well" || err != nil {
				t.Errorf("beside %s: %q, %v", name, b, err)
			}
		}
		return
	}
	needFUSE(t)
	gate := make(chan struct{})
	root, files := waiting(func() { <-gate })
	o := options(io.Discard)
	o.patience = time.Millisecond
	_, mnt := mustMount(t, root, o)
	check(t, child(t, mnt).Run())
	close(gate)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		opens, closes := int64(0), int64(0)
		for _, f := range files {
			opens, closes = opens+f.opens.Load(), closes+f.closes.Load()
		}
		if opens == 3 && closes == 3 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d opens, %d closes", opens, closes)
		}
	}
}

// Signals that only tell something do not make calls fail that would succeed in a moment: few programs cope with EINTR of a file.
func TestSignalsWithoutHarm(t *testing.T) {
	root, _ := waiting(func() { time.Sleep(20 * time.Millisecond) })
	o := options(io.Discard)
	o.patience = time.Hour
	onMount(t, root, o, func(t *testing.T, mnt string) {
		for name, call := range calls(mnt) {
			if err := signalled(call); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
