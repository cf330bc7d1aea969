package fusefs

import (
	"context"
	"sync"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/hudifs/hudifs/views"
)

const (
	// maxListers is how many threads are watched. All are forgotten when there are more.
	maxListers = 256
	// tellFor is how many folders a lister gets attributes of, before it has to show once more that it looks at them.
	tellFor = 256
)

// listers knows of the threads that list folders whether they look at what they find there.
type listers struct {
	mu    sync.Mutex
	known map[uint32]*lister // guarded by mu; by thread
}

type lister struct {
	dir          fs.StableAttr // that was listed last, zero where its attributes were told
	files, looks int           // in it
	tell         int           // folders of which attributes are told yet
}

// list notes that a folder is listed, and tells whether the attributes of its files should be told along.
func (l *listers) list(ctx context.Context, dir *node, entries []views.Entry) bool {
	c, ok := fuse.FromContext(ctx)
	if !ok {
		return false
	}
	files := 0
	for i := range entries {
		if !entries[i].Dir {
			files++
		}
	}
	if files == 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.known[c.Pid]
	if t == nil {
		if l.known == nil || len(l.known) == maxListers {
			l.known = map[uint32]*lister{}
		}
		t = &lister{}
		l.known[c.Pid] = t
	}
	if t.looks*2 > t.files {
		t.tell = tellFor
	}
	if t.tell > 0 {
		t.tell--
		t.dir, t.looks = fs.StableAttr{}, 0
		return true
	}
	t.dir, t.files, t.looks = dir.StableAttr(), files, 0
	return false
}

// lookUp notes that a file of a folder is looked up.
func (l *listers) lookUp(ctx context.Context, dir *node) {
	c, ok := fuse.FromContext(ctx)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.known[c.Pid]; t != nil && t.dir == dir.StableAttr() {
		t.looks++
	}
}
