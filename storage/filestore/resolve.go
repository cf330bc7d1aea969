package filestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hudifs/hudifs/storage"
)

// resolve opens what lies at path, without following a link, and returns a descriptor that the caller owns.
func (s *Store) resolve(ctx context.Context, path string, flags int) (int, error) {
	if err := storage.CheckPath(path); err != nil {
		return -1, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return -1, err
		}
		root := s.current()
		fd, err := openBelow(ctx, root, path, flags)
		if !errors.Is(err, storage.ErrNotExist) && !errors.Is(err, os.ErrClosed) {
			return fd, err
		}
		replaced, reopenErr := s.replace(root)
		if reopenErr != nil {
			return -1, reopenErr
		}
		if !replaced {
			return fd, err
		}
	}
}

// replace looks the store's path up anew if root, in which something was not found, has been removed. It reports whether
// another look is worth while: perhaps somebody else has already replaced root.
func (s *Store) replace(root *os.File) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, nil
	}
	if s.root != root {
		return true, nil
	}
	var st unix.Stat_t
	if err := withFD(root, func(fd int) error { return unix.Fstat(fd, &st) }); err != nil || st.Nlink > 0 {
		return false, err
	}
	again, err := openRoot(s.dir)
	if err != nil {
		return false, fmt.Errorf("folder %s was removed: %w", s.dir, err)
	}
	s.root = again
	_ = root.Close()
	return true, nil
}

func openBelow(ctx context.Context, root *os.File, path string, flags int) (int, error) {
	opened := -1
	err := withFD(root, func(fd int) (err error) {
		opened, err = walk(ctx, fd, path, flags)
		return err
	})
	return opened, err
}

// withFD calls fn with f's descriptor, which stays open meanwhile even if f is closed by another goroutine.
func withFD(f *os.File, fn func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var fnErr error
	if err := conn.Control(func(fd uintptr) { fnErr = fn(int(fd)) }); err != nil {
		return os.ErrClosed // the only reason there is, in an internal error's disguise
	}
	return fnErr
}

// walk opens path element by element from root. The folders on the way are opened with O_PATH, which asks for no right to
// read them.
func walk(ctx context.Context, root int, path string, flags int) (int, error) {
	if path == "" {
		return openat(root, ".", flags)
	}
	at := root
	defer func() {
		if at != root {
			_ = unix.Close(at)
		}
	}()
	for {
		elem, rest, more := strings.Cut(path, "/")
		if !more {
			return openat(at, elem, flags)
		}
		next, err := openat(at, elem, unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return -1, err
		}
		if at != root {
			_ = unix.Close(at)
		}
		at, path = next, rest
		if err := ctx.Err(); err != nil {
			return -1, err
		}
	}
}

func openat(dir int, name string, flags int) (int, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if errors.Is(err, unix.ENXIO) { // a socket, or a device without a driver
		return -1, fmt.Errorf("%w: %w", storage.ErrNotExist, err)
	}
	if err != nil {
		return -1, mapError(err)
	}
	return fd, nil
}

// retry calls fn until no signal interrupts it. The runtime's own signals do so on file systems that allow it.
func retry(fn func() (int, error)) (int, error) {
	for {
		n, err := fn()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// mapError adds the storage error that an errno means. ELOOP is what O_NOFOLLOW says of a link, and what has a name too long
// for the file system is not there either. What is not there keeps only the text of its errno, which is fs.ErrNotExist: that is for
// front ends to say of a name of theirs, and an object that has gone does not make it so.
func mapError(err error) error {
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return err
	}
	switch errno {
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.ENAMETOOLONG:
		return fmt.Errorf("%w: %s", storage.ErrNotExist, err.Error())
	case unix.EACCES, unix.EPERM:
		return fmt.Errorf("%w: %w", storage.ErrPermission, err)
	case unix.EMFILE, unix.ENFILE, unix.ETIMEDOUT, unix.ESTALE, unix.EHOSTDOWN, unix.EHOSTUNREACH:
		return fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
	default:
		return err
	}
}
