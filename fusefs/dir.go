package fusefs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sync/errgroup"

	"github.com/hudifs/hudifs/internal/contain"
	"github.com/hudifs/hudifs/views"
)

// listing is an open directory. go-fuse calls it from one goroutine at a time.
type listing struct {
	n       *node
	entries []views.Entry
	next    int // 0 is ".", 1 is "..", then the entries
	current fuse.DirEntry
	// found are the entries from first on of which attributes are told with the names; nil for one that can't be found.
	found  []*meaning
	first  int
	frozen bool
	tells  bool // of files too
}

var (
	_ fs.FileReaddirenter = (*listing)(nil)
	_ fs.FileSeekdirer    = (*listing)(nil)
	_ fs.FileLookuper     = (*listing)(nil)
)

func (n *node) OpendirHandle(ctx context.Context, _ uint32) (fs.FileHandle, uint32, syscall.Errno) {
	l := &listing{n: n}
	if err := l.load(ctx); err != nil {
		return nil, 0, n.m.fail("opendir", n.path(), err)
	}
	if n.now.Load().attr.Frozen {
		l.frozen, l.tells = true, n.m.listers.list(ctx, n, l.entries)
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
	l.found = nil
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

// Lookup tells the attributes of the entry that Readdirent gave last. Without them the kernel asks when somebody needs them.
func (l *listing) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if !l.frozen {
		return nil, syscall.ENOENT
	}
	at := l.next - 3
	if at < 0 || l.entries[at].Name != name { // what was interrupted is told again
		var ok bool
		at, ok = slices.BinarySearchFunc(l.entries, name, func(e views.Entry, name string) int { return strings.Compare(e.Name, name) })
		if !ok {
			return nil, syscall.ENOENT
		}
	}
	if !l.tells && !l.entries[at].Dir {
		return nil, syscall.ENOENT
	}
	if at < l.first || at >= l.first+len(l.found) {
		l.look(ctx, at)
	}
	found := l.found[at-l.first]
	if found == nil {
		return nil, syscall.ENOENT
	}
	return l.n.enter(ctx, name, found, out), 0
}

const (
	lookAhead  = 128 // about what the kernel asks for at once
	lookAtOnce = 8
)

// look finds the entries from an index on. One that can't be found is left to who looks it up: that tells why.
func (l *listing) look(ctx context.Context, first int) {
	entries := l.entries[first:min(len(l.entries), first+lookAhead)]
	dir, _ := l.n.now.Load().node.(views.Dir)
	found, err := ask(ctx, l.n.m, func(ctx context.Context) ([]*meaning, error) {
		found := make([]*meaning, len(entries))
		var next atomic.Int64
		var g errgroup.Group
		for range lookAtOnce {
			g.Go(func() error {
				for i := next.Add(1) - 1; i < int64(len(entries)); i = next.Add(1) - 1 {
					if entries[i].Costly || !l.tells && !entries[i].Dir {
						continue
					}
					_ = contain.Call(func() (err error) {
						found[i], err = lookUp(ctx, dir, entries[i].Name)
						return err
					})
				}
				return nil
			})
		}
		return found, g.Wait()
	}, nil)
	if err != nil {
		found = make([]*meaning, len(entries))
	}
	l.found, l.first = found, first
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
