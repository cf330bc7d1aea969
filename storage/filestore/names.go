package filestore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/hudifs/hudifs/storage"
)

// AppendNames implements storage.Namer. The system call that reads a folder tells what is a file: nothing is looked at one by one, which
// would cost several times as much.
func (s *Store) AppendNames(ctx context.Context, to []storage.Entry, dir string) ([]storage.Entry, error) {
	fd, err := s.resolve(ctx, dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return to, fmt.Errorf("list %s: %w", nameOrRoot(dir), err)
	}
	defer func() { _ = unix.Close(fd) }()
	f, _ := folders.Get().(*folder)
	defer f.release()
	if err := f.read(ctx, fd); err != nil {
		return to, fmt.Errorf("list %s: %w", nameOrRoot(dir), err)
	}
	return f.appendTo(to), nil
}

// Stat implements storage.Namer.
func (s *Store) Stat(ctx context.Context, name string) (storage.Entry, error) {
	e, err := s.stat(ctx, name)
	if err != nil {
		return storage.Entry{}, fmt.Errorf("stat %s: %w", name, err)
	}
	return e, nil
}

func (s *Store) stat(ctx context.Context, name string) (storage.Entry, error) {
	if err := storage.CheckPath(name); err != nil {
		return storage.Entry{}, err
	}
	dir, base := path.Split(name)
	fd, err := s.resolve(ctx, strings.TrimSuffix(dir, "/"), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return storage.Entry{}, err
	}
	defer func() { _ = unix.Close(fd) }()
	e, ok, err := stat(fd, base)
	if err == nil && (!ok || e.Dir) {
		err = storage.ErrNotExist
	}
	return e, err
}

const (
	// direntBytes is room for all names of most folders: each call to get more may have the runtime wake another thread meanwhile.
	direntBytes = 256 << 10
	// fewBytes are too few to ask for.
	fewBytes = 32 << 10
	// maxKept bounds the folders whose memory serves the next one.
	maxKept = 1 << 20
	// maxFolder is more than any folder has that one would list.
	maxFolder = 1 << 31
)

// What getdents64(2) writes: 8 bytes of inode, 8 of offset, 2 of length, 1 of type, the name up to a zero byte.
const (
	direntLength = 16
	direntType   = 18
	direntName   = 19
)

// folder is what getdents64(2) tells of a folder.
type folder struct {
	raw   []byte
	names []dirent
}

// dirent is a name in the raw bytes. Its first bytes are a number, by which most names can be ordered without a look at them.
type dirent struct {
	head     uint64
	from, to uint32
}

var folders = sync.Pool{New: func() any { return &folder{} }}

func (f *folder) release() {
	if cap(f.raw) > maxKept {
		return
	}
	f.raw, f.names = f.raw[:0], f.names[:0]
	folders.Put(f)
}

func (f *folder) read(ctx context.Context, dir int) error {
	for {
		begin := len(f.raw)
		if cap(f.raw)-begin < fewBytes {
			f.raw = slices.Grow(f.raw, direntBytes)
		}
		n, err := retry(func() (int, error) { return unix.Getdents(dir, f.raw[begin:cap(f.raw)]) })
		if err != nil {
			return mapError(err)
		}
		if n == 0 {
			return nil
		}
		if f.raw = f.raw[:begin+n]; len(f.raw) > maxFolder {
			return fmt.Errorf("more than %d bytes of names", maxFolder)
		}
		if err := f.parse(dir, begin); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// parse finds the names in the raw bytes from an offset on.
func (f *folder) parse(dir, at int) error {
	for at < len(f.raw) {
		next := at + int(binary.NativeEndian.Uint16(f.raw[at+direntLength:]))
		from := at + direntName
		to := from + bytes.IndexByte(f.raw[from:next], 0)
		kind := &f.raw[at+direntType]
		at = next
		name := f.raw[from:to]
		if string(name) == "." || string(name) == ".." {
			continue
		}
		if *kind == unix.DT_UNKNOWN { // some file systems do not tell
			if err := findKind(dir, string(name), kind); err != nil {
				return err
			}
		}
		if *kind == unix.DT_REG || *kind == unix.DT_DIR {
			var head [8]byte
			copy(head[:], name)
			f.names = append(f.names, dirent{binary.BigEndian.Uint64(head[:]), uint32(from), uint32(to)}) //nolint:gosec // see maxFolder
		}
	}
	return nil
}

func findKind(dir int, name string, kind *byte) error {
	e, ok, err := stat(dir, name)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case ok && e.Dir:
		*kind = unix.DT_DIR
	case ok:
		*kind = unix.DT_REG
	}
	return nil
}

// appendTo appends what was read, sorted by name. The names lie in memory in that order, which is that of all who look at them.
func (f *folder) appendTo(entries []storage.Entry) []storage.Entry {
	slices.SortFunc(f.names, func(a, b dirent) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return bytes.Compare(f.raw[a.from:a.to], f.raw[b.from:b.to])
	})
	total := 0
	for i := range f.names {
		total += int(f.names[i].to - f.names[i].from)
	}
	var all strings.Builder
	all.Grow(total)
	entries = slices.Grow(entries, len(f.names))
	for i := range f.names {
		d := &f.names[i]
		begin := all.Len()
		all.Write(f.raw[d.from:d.to])
		e := storage.Entry{Name: all.String()[begin:], Size: storage.Unknown}
		if f.raw[d.from-direntName+direntType] == unix.DT_DIR {
			e.Dir, e.Size = true, 0
		}
		entries = append(entries, e)
	}
	return entries
}
