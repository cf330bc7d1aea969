package fusefs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/hudifs/hudifs/views"
)

// direct is an open file whose content may differ from open to open.
type direct struct {
	n *node
	h views.Handle
}

// handle is an open frozen file.
type handle struct {
	direct
	size int64
	// local holds exactly the file's bytes; nil where no single local file does.
	local  *os.File
	cached bool
}

var (
	_        fs.FileReader          = (*direct)(nil)
	_        fs.FileReleaser        = (*direct)(nil)
	_        fs.FileReader          = (*handle)(nil)
	_        fs.FileReleaser        = (*handle)(nil)
	_        fs.FileLseeker         = (*handle)(nil)
	_        fs.FilePassthroughFder = (*handle)(nil)
	errShort                        = errors.New("the file is shorter than its promised size")
)

func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if flags&(syscall.O_ACCMODE|syscall.O_TRUNC) != 0 {
		return nil, 0, syscall.EROFS
	}
	now := n.now.Load()
	file, ok := now.node.(views.File)
	if !ok {
		return nil, 0, syscall.EISDIR
	}
	h, err := ask(ctx, n.m, file.Open, func(h views.Handle) { _ = h.Close() })
	if err != nil {
		return nil, 0, n.m.fail("open", n.path(), err)
	}
	base := direct{n, h}
	if !now.attr.Frozen {
		return &base, fuse.FOPEN_DIRECT_IO, 0
	}
	open := &handle{direct: base, size: now.attr.Size}
	if l, ok := h.(views.OSFile); ok {
		open.local = l.OSFile()
		if err := open.checkSize(); err != nil {
			return nil, 0, n.m.fail("open", n.path(), errors.Join(err, h.Close()))
		}
	}
	return open, fuse.FOPEN_KEEP_CACHE, 0
}

// checkSize compares the local file with the size that stat has told.
func (f *handle) checkSize() error {
	info, err := f.local.Stat()
	if err != nil {
		return err
	}
	if info.Size() != f.size {
		return fmt.Errorf("%s has %d bytes where %d were promised", f.local.Name(), info.Size(), f.size)
	}
	return nil
}

func (f *direct) Read(ctx context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	return f.read(ctx, len(dest), off, 0)
}

// Read gives fewer bytes than asked for only at the end of the file: the kernel would fill up the rest with zeros.
func (f *handle) Read(ctx context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	return f.read(ctx, len(dest), off, int(min(int64(len(dest)), f.size-off)))
}

// read gives up to size bytes, and at least as many as are promised.
func (f *direct) read(ctx context.Context, size int, off int64, promised int) (fuse.ReadResult, syscall.Errno) {
	b, err := ask(ctx, f.n.m, func(ctx context.Context) (*readBuffer, error) {
		b := newReadBuffer(size)
		n, err := f.h.ReadAt(ctx, b.data, off)
		b.data = b.data[:n]
		if err == nil && n < promised {
			err = errShort
		}
		return b, err
	}, (*readBuffer).Done)
	if err != nil {
		return nil, f.n.m.fail("read", f.n.path(), fmt.Errorf("at offset %d: %w", off, err))
	}
	return b, 0
}

func (f *direct) Release(context.Context) syscall.Errno {
	if err := f.h.Close(); err != nil {
		return f.n.m.fail("close", f.n.path(), err)
	}
	return 0
}

func (f *handle) Release(ctx context.Context) syscall.Errno {
	if f.cached {
		f.n.cachedOpens.Add(-1)
	}
	return f.direct.Release(ctx)
}

// PassthroughFd offers the local file to the kernel. go-fuse calls it under a lock, for an inode that is not open in
// passthrough mode; while it is, every further open shares the first one's file, which holds the same bytes.
//
// The offer is tried here before go-fuse makes it: one failure there (the file's own file system is stacked, say)
// would end passthrough for the whole mount, and break the inodes that are open in that mode.
func (f *handle) PassthroughFd() (int, bool) {
	m := f.n.m
	if f.local != nil && f.n.cachedOpens.Load() == 0 && !m.noPassthrough.Load() {
		fd := int(f.local.Fd())
		id, errno := m.server.RegisterBackingFd(&fuse.BackingMap{Fd: int32(fd)})
		if errno == 0 {
			_ = m.server.UnregisterBackingFd(id)
			return fd, true
		}
		if errno == syscall.EPERM {
			m.noPassthrough.Store(true)
		}
	}
	f.cached = true
	f.n.cachedOpens.Add(1)
	return 0, false
}

// Lseek finds data and holes, so that copying a sparse file reads no hole.
func (f *handle) Lseek(_ context.Context, off uint64, whence uint32) (uint64, syscall.Errno) {
	if off >= uint64(f.size) {
		return 0, syscall.ENXIO
	}
	if f.local == nil {
		if whence == unix.SEEK_HOLE {
			off = uint64(f.size)
		}
		return off, 0
	}
	at, err := unix.Seek(int(f.local.Fd()), int64(off), int(whence))
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return 0, errno // ENXIO: nothing but a hole up to the end
	}
	return uint64(at), 0
}
