package fusefs

import (
	"context"
	"fmt"
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/hudifs/hudifs/views"
)

// listing is an open directory. go-fuse calls it from one goroutine at a time.
type listing struct {
	n       *node
	entries []views.Entry
	next    int // 0 is ".", 1 is "..", then the entries
	current fuse.DirEntry
}

var (
	_ fs.FileReaddirenter = (*listing)(nil)
	_ fs.FileSeekdirer    = (*listing)(nil)
)

func (n *node) OpendirHandle(ctx context.Context, _ uint32) (fs.FileHandle, uint32, syscall.Errno) {
	l := &listing{n: n}
	if err := l.load(ctx); err != nil {
		return nil, 0, n.m.fail("opendir", n.path(), err)
	}
	if n.now.Load().attr.Frozen {
		return l, fuse.FOPEN_CACHE_DIR | fuse.FOPEN_KEEP_CACHE, 0
	}
	return l, 0, 0
}

// load lists the directory.
func (l *listing) load(ctx context.Context) error {
	dir, ok := l.n.now.Load().node.(views.Dir)
	if !ok {
		return fmt.Errorf("listing of what is no directory")
	}
	var err error
	l.entries, err = ask(ctx, l.n.m, dir.Entries, nil)
	return err
}

func (l *listing) Readdirent(context.Context) (*fuse.DirEntry, syscall.Errno) {
	if l.next >= len(l.entries)+2 {
		return nil, 0
	}
	l.current = fuse.DirEntry{Mode: syscall.S_IFDIR, Off: uint64(l.next + 1)}
	e := &l.current
	switch l.next {
	case 0:
		e.Name, e.Ino = ".", l.n.StableAttr().Ino
	case 1:
		e.Name, e.Ino = "..", l.n.StableAttr().Ino
		if _, parent := l.n.Parent(); parent != nil {
			e.Ino = parent.StableAttr().Ino
		}
	default:
		entry := &l.entries[l.next-2]
		if !possible(entry.Name) {
			return nil, l.n.m.fail("readdir", l.n.path(), fmt.Errorf("entry %q cannot be a file name", entry.Name))
		}
		e.Name, e.Ino = entry.Name, entry.Inode
		if !entry.Dir {
			e.Mode = syscall.S_IFREG
		}
	}
	l.next++
	return e, 0
}

// possible tells what may be a file's name. The kernel fails a whole listing over one that may not, without saying which.
func possible(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= 255 && strings.IndexByte(name, '/') < 0 && strings.IndexByte(name, 0) < 0
}

// Seekdir goes to an earlier offset; rewinding looks anew, as POSIX demands.
func (l *listing) Seekdir(ctx context.Context, off uint64) syscall.Errno {
	if off == 0 {
		if err := l.load(ctx); err != nil {
			return l.n.m.fail("readdir", l.n.path(), err)
		}
	}
	if off > uint64(len(l.entries)+2) {
		return syscall.EINVAL
	}
	l.next = int(off)
	return 0
}
