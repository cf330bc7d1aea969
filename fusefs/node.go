package fusefs

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/hudifs/hudifs/views"
)

// node is an inode that the kernel knows.
type node struct {
	fs.Inode
	m   *mount
	now atomic.Pointer[meaning]
	// cachedOpens counts open files that use the page cache; see handle.PassthroughFd.
	cachedOpens atomic.Int32
}

// meaning is what an inode stood for at its newest lookup. For frozen nodes all meanings are alike.
type meaning struct {
	node views.Node
	attr views.Attr
}

var (
	_ fs.NodeLookuper       = (*node)(nil)
	_ fs.NodeGetattrer      = (*node)(nil)
	_ fs.NodeGetxattrer     = (*node)(nil)
	_ fs.NodeListxattrer    = (*node)(nil)
	_ fs.NodeOpendirHandler = (*node)(nil)
	_ fs.NodeOpener         = (*node)(nil)
	_ fs.NodeStatfser       = (*node)(nil)
)

// path is where the node was found last, for the log.
func (n *node) path() string { return n.Path(nil) }

// child asks the tree for an entry.
func (n *node) child(ctx context.Context, name string) (*meaning, error) {
	dir, ok := n.now.Load().node.(views.Dir)
	if !ok {
		return nil, fmt.Errorf("%q looked up in what is no directory", name)
	}
	return ask(ctx, n.m, func(ctx context.Context) (*meaning, error) { return lookUp(ctx, dir, name) }, nil)
}

func lookUp(ctx context.Context, dir views.Dir, name string) (*meaning, error) {
	found, err := dir.Lookup(ctx, name)
	if err != nil {
		return nil, err
	}
	attr, err := found.Attr(ctx)
	if err != nil {
		return nil, err
	}
	return &meaning{found, attr}, nil
}

func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	found, err := n.child(ctx, name)
	if err != nil {
		return nil, n.m.fail("lookup", strings.TrimPrefix(n.path()+"/"+name, "/"), err)
	}
	if !found.attr.Dir {
		n.m.listers.lookUp(ctx, n)
	}
	return n.enter(ctx, name, found, out), 0
}

// enter is the inode of an entry that was found.
func (n *node) enter(ctx context.Context, name string, found *meaning, out *fuse.EntryOut) *fs.Inode {
	n.m.fill(&out.Attr, found.attr)
	out.SetAttrTimeout(n.m.keep(found.attr.Frozen))
	out.SetEntryTimeout(n.m.keep(n.now.Load().attr.Frozen))

	id := n.stableAttr(name, found.attr)
	if known := n.GetChild(name); known != nil && known.StableAttr() == id {
		known.Operations().(*node).now.Store(found)
		return known
	}
	fresh := &node{m: n.m}
	fresh.now.Store(found)
	return n.NewInode(ctx, fresh, id)
}

// stableAttr is the identity of an entry. Files of equal bytes share an inode and with it the page cache, wherever they lie. A
// directory belongs to its place: the kernel allows it only one, and would move it from latest to asof/latest.
func (n *node) stableAttr(name string, a views.Attr) fs.StableAttr {
	id := fs.StableAttr{Mode: syscall.S_IFREG, Ino: inode(a)}
	if a.Dir {
		id.Mode = syscall.S_IFDIR
		parent := n.StableAttr()
		place := fnv.New64a()
		fmt.Fprintf(place, "%d %d %s", parent.Ino, parent.Gen, name)
		id.Gen = place.Sum64()
	}
	return id
}

// inode is the node's number but for the one that go-fuse keeps for itself.
func inode(a views.Attr) uint64 {
	if a.Inode == ^uint64(0) {
		return a.Inode - 1
	}
	return a.Inode
}

// keep is how long the kernel may remember.
func (m *mount) keep(frozen bool) time.Duration {
	if frozen {
		return frozenLifetime
	}
	return m.lifetime
}

// fill gives attributes in the kernel's form.
func (m *mount) fill(out *fuse.Attr, a views.Attr) {
	out.Ino = inode(a)
	out.Mode = m.fileBits
	out.Nlink = 1 // find(1) takes more in a directory for its number of folders
	out.Size = uint64(a.Size)
	out.Blocks = uint64(a.Disk+511) / 512
	if a.Dir {
		out.Mode = m.dirBits
	}
	out.Blksize = 4096
	out.Owner = fuse.Owner{Uid: m.uid, Gid: m.gid}
	out.SetTimes(&a.ModTime, &a.ModTime, &a.ModTime)
}

func (n *node) Getattr(ctx context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	now := n.now.Load()
	attr := now.attr
	if !attr.Frozen {
		var err error
		if attr, err = ask(ctx, n.m, now.node.Attr, nil); err != nil {
			return n.m.fail("stat", n.path(), err)
		}
	}
	n.m.fill(&out.Attr, attr)
	out.SetTimeout(n.m.keep(attr.Frozen))
	return 0
}

func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	out.Bsize, out.Frsize, out.NameLen = 4096, 4096, 255
	return 0
}

func (n *node) Getxattr(ctx context.Context, attr string, dest []byte) (uint32, syscall.Errno) {
	if !strings.HasPrefix(attr, "user.") {
		return 0, syscall.EOPNOTSUPP // ls asks every file for its label and its ACL, until it hears that a device has none
	}
	all, err := ask(ctx, n.m, n.now.Load().node.Xattrs, nil)
	if err != nil {
		return 0, n.m.fail("getxattr", n.path(), err)
	}
	value, ok := all[attr]
	if !ok {
		return 0, fs.ENOATTR
	}
	return fit(dest, value)
}

func (n *node) Listxattr(ctx context.Context, dest []byte) (uint32, syscall.Errno) {
	all, err := ask(ctx, n.m, n.now.Load().node.Xattrs, nil)
	if err != nil {
		return 0, n.m.fail("listxattr", n.path(), err)
	}
	var names strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		names.WriteString(name)
		names.WriteByte(0)
	}
	return fit(dest, names.String())
}

// fit copies a value for a caller who may only have asked for its length.
func fit(dest []byte, value string) (uint32, syscall.Errno) {
	if len(dest) < len(value) {
		return uint32(len(value)), syscall.ERANGE
	}
	return uint32(copy(dest, value)), 0
}

// forgetChanged makes the kernel forget the entries at and below n that no longer lead where they led, and the attributes of
// what is not frozen. It waits for the kernel's locks, which a running request may hold: it must not run inside one.
func (n *node) forgetChanged(ctx context.Context) {
	if n.now.Load().attr.Frozen || ctx.Err() != nil {
		return
	}
	_ = n.NotifyContent(-1, 0) // ENOENT where the kernel has forgotten it already
	if !n.IsDir() {
		return
	}
	for name, inode := range n.Children() {
		// Only what moved: forgetting an entry pulls the floor from under a shell that stands in it.
		found, err := n.child(ctx, name)
		if err != nil || n.stableAttr(name, found.attr) != inode.StableAttr() {
			_ = n.NotifyEntry(name)
			continue
		}
		inode.Operations().(*node).forgetChanged(ctx)
	}
}
