package fusefs

import (
	"io"
	"testing"

	"github.com/hanwen/go-fuse/v2/posixtest"
	"golang.org/x/sys/unix"
)

// Of go-fuse's own checks one writes nothing; TestReadOnly wants that all others can't begin.
func TestPosix(t *testing.T) {
	onMount(t, smallTree(), options(io.Discard), func(t *testing.T, mnt string) {
		for _, dir := range []string{"", "/latest", "/asof", "/.hudi"} {
			posixtest.ReadDirConsistency(t, mnt+dir)
		}
	})
}

// Going back to any place in a folder gives what lay there, as posixtest.DirSeek wants of folders that it can fill.
func TestDirSeek(t *testing.T) {
	onMount(t, smallTree(), options(io.Discard), func(t *testing.T, mnt string) {
		fd, err := unix.Open(mnt+"/latest", unix.O_DIRECTORY, 0)
		check(t, err)
		defer unix.Close(fd)
		first := make([]byte, 4096)
		n, err := unix.Getdents(fd, first)
		check(t, err)
		for range 2 {
			_, err = unix.Seek(fd, 0, unix.SEEK_SET)
			check(t, err)
			again := make([]byte, 4096)
			m, err := unix.Getdents(fd, again)
			check(t, err)
			if string(first[:n]) != string(again[:m]) {
				t.Errorf("%d bytes of entries, then %d others", n, m)
			}
		}
	})
}
