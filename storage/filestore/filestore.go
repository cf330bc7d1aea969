// Package filestore is a local folder as a storage.Store.
//
// No link inside the folder is followed, wherever it leads: os.Root would follow those that stay inside, and a table whose
// partition links to another one would show rows twice. Each element of a path is therefore opened from the one before it
// with O_NOFOLLOW. The folder itself may be reached through links.
//
// The store keeps the folder open: it stays with it when the folder is renamed, or when something (our own mount, say) is
// mounted over its path. When the folder has been removed, its path is looked up anew, so that a table which is dropped
// and made again appears again.
package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hudifs/hudifs/storage"
)

// Store is the tree below a local folder. It may be used from many goroutines.
type Store struct {
	dir string // absolute

	mu     sync.Mutex
	root   *os.File
	closed bool
}

var (
	_ storage.Store = (*Store)(nil)
	_ storage.Namer = (*Store)(nil)
)

// Open returns the folder dir as a store. A relative dir is relative to the working directory of this moment.
func Open(dir string) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	root, err := openRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	return &Store{dir: abs, root: root}, nil
}

func openRoot(dir string) (*os.File, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, mapError(err)
	}
	return os.NewFile(uintptr(fd), dir), nil
}

// Close releases the folder. Open objects stay usable.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.root.Close()
}

func (s *Store) current() *os.File {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.root
}

// Open implements storage.Store.
func (s *Store) Open(ctx context.Context, path string) (storage.Object, error) {
	o, err := s.open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return o, nil
}

func (s *Store) open(ctx context.Context, path string) (*object, error) {
	// Without O_NONBLOCK, opening a named pipe would wait for its writer.
	fd, err := s.resolve(ctx, path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return nil, mapError(err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("%w: not a regular file", storage.ErrNotExist)
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return &object{
		f:     os.NewFile(uintptr(fd), filepath.Join(s.dir, filepath.FromSlash(path))),
		size:  st.Size,
		mtime: modTime(&st),
	}, nil
}

// List implements storage.Store.
func (s *Store) List(ctx context.Context, dir string) ([]storage.Entry, error) {
	entries, err := s.list(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", nameOrRoot(dir), err)
	}
	return entries, nil
}

func nameOrRoot(dir string) string {
	if dir == "" {
		return "the root"
	}
	return dir
}

// listBatch is how many names are read between two looks at the context.
const listBatch = 1024

func (s *Store) list(ctx context.Context, dir string) ([]storage.Entry, error) {
	fd, err := s.resolve(ctx, dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), dir)
	defer func() { _ = f.Close() }()
	var entries []storage.Entry
	for {
		names, err := f.Readdirnames(listBatch)
		for _, name := range names {
			e, ok, err := stat(fd, name)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if ok {
				entries = append(entries, e)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, mapError(err)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(entries, func(a, b storage.Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}

// stat reports what the name in an open folder is; not ok means nothing that is listed. os.File.Readdir would do the same
// with five times the allocations, which is what listing a large folder costs beside the system call.
func stat(dir int, name string) (e storage.Entry, ok bool, err error) {
	var st unix.Stat_t
	_, err = retry(func() (int, error) {
		return 0, unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	if err != nil {
		if errors.Is(err, unix.ENOENT) { // removed since it was listed
			return storage.Entry{}, false, nil
		}
		return storage.Entry{}, false, mapError(err)
	}
	e = storage.Entry{Name: name, ModTime: modTime(&st)}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		e.Size = st.Size
	case unix.S_IFDIR:
		e.Dir = true
	default:
		return storage.Entry{}, false, nil
	}
	return e, true, nil
}

func modTime(st *unix.Stat_t) time.Time {
	return time.Unix(st.Mtim.Unix())
}

// object is an open regular file.
type object struct {
	f     *os.File
	size  int64
	mtime time.Time
}

var _ storage.Filer = (*object)(nil)

func (o *object) OSFile() *os.File   { return o.f }
func (o *object) Size() int64        { return o.size }
func (o *object) ModTime() time.Time { return o.mtime }
func (o *object) Close() error       { return o.f.Close() }

func (o *object) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("read %s: %w", o.f.Name(), err)
	}
	if off < 0 {
		return 0, fmt.Errorf("read %s: negative offset %d", o.f.Name(), off)
	}
	want := p
	if rest := max(o.size-off, 0); int64(len(p)) > rest {
		want = p[:rest]
	}
	n, err := o.f.ReadAt(want, off)
	switch {
	case n < len(want) && errors.Is(err, io.EOF):
		return n, fmt.Errorf("read %s at %d: %w: shorter than the %d bytes it was opened with", o.f.Name(), off, io.ErrUnexpectedEOF, o.size)
	case n < len(want):
		return n, fmt.Errorf("read %s at %d: %w", o.f.Name(), off, mapError(err))
	case n < len(p):
		return n, io.EOF
	}
	return n, nil
}
