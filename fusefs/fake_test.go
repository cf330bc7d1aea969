package fusefs

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hudifs/hudifs/views"
)

var born = time.Date(2026, 11, 30, 0, 22, 8, 95_000_000, time.UTC)

// fakeNode is what fake directories and files have in common.
type fakeNode struct {
	attr   views.Attr
	xattrs map[string]string
	err    error  // of Lookup, Entries and Open
	wait   func() // before all but Attr
	stats  atomic.Int64
	costly bool // to be asked for Attr
}

func (n *fakeNode) Attr(context.Context) (views.Attr, error) {
	n.stats.Add(1)
	return n.attr, nil
}

func (n *fakeNode) Xattrs(context.Context) (map[string]string, error) {
	n.pause()
	return n.xattrs, nil
}

func (n *fakeNode) pause() {
	if n.wait != nil {
		n.wait()
	}
}

type fakeDir struct {
	fakeNode
	children map[string]views.Node
	hidden   map[string]views.Node
	onLookup func(name string)
}

func newDir(inode uint64, frozen bool, children map[string]views.Node) *fakeDir {
	attr := views.Attr{Inode: inode, Dir: true, ModTime: born, Frozen: frozen}
	return &fakeDir{fakeNode: fakeNode{attr: attr}, children: children}
}

func (d *fakeDir) Lookup(_ context.Context, name string) (views.Node, error) {
	d.pause()
	if d.onLookup != nil {
		d.onLookup(name)
	}
	if d.err != nil {
		return nil, d.err
	}
	for _, m := range []map[string]views.Node{d.children, d.hidden} {
		if n, ok := m[name]; ok {
			return n, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
}

func (d *fakeDir) Entries(context.Context) ([]views.Entry, error) {
	d.pause()
	if d.err != nil {
		return nil, d.err
	}
	var list []views.Entry
	for name, n := range d.children {
		e := views.Entry{Name: name}
		switch n := n.(type) {
		case *fakeDir:
			e.Dir, e.Inode = true, n.attr.Inode
		case *fakeFile:
			e.Inode, e.Costly = n.attr.Inode, n.costly
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b views.Entry) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

type fakeFile struct {
	fakeNode
	content []byte
	local   string // a file with the content
	onOpen  func(ctx context.Context) error
	readErr error
	// waitsInRead has reads wait instead of Open.
	waitsInRead bool
	opens       atomic.Int64
	reads       atomic.Int64
	closes      atomic.Int64
}

func newFile(inode uint64, content []byte) *fakeFile {
	size := int64(len(content))
	attr := views.Attr{Inode: inode, Size: size, Disk: size, ModTime: born, Frozen: true}
	return &fakeFile{fakeNode: fakeNode{attr: attr}, content: content}
}

// bytesOf is the same content in every process of a test.
func bytesOf(seed uint64, n int) []byte {
	b := make([]byte, n)
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func (f *fakeFile) Open(ctx context.Context) (views.Handle, error) {
	if !f.waitsInRead {
		f.pause()
	}
	f.opens.Add(1)
	if f.onOpen != nil {
		if err := f.onOpen(ctx); err != nil {
			return nil, err
		}
	}
	if f.err != nil {
		return nil, f.err
	}
	h := &fakeHandle{f: f}
	if f.local == "" {
		return h, nil
	}
	local, err := os.Open(f.local)
	return &fakeLocal{h, local}, err
}

type fakeHandle struct{ f *fakeFile }

func (h *fakeHandle) ReadAt(_ context.Context, p []byte, off int64) (int, error) {
	if h.f.waitsInRead {
		h.f.pause()
	}
	h.f.reads.Add(1)
	if h.f.readErr != nil {
		return 0, h.f.readErr
	}
	if off >= int64(len(h.f.content)) {
		return 0, nil
	}
	return copy(p, h.f.content[off:]), nil
}

func (h *fakeHandle) Close() error {
	h.f.closes.Add(1)
	return nil
}

type fakeLocal struct {
	*fakeHandle
	local *os.File
}

func (h *fakeLocal) OSFile() *os.File { return h.local }

func (h *fakeLocal) Close() error {
	h.fakeHandle.Close()
	return h.local.Close()
}
