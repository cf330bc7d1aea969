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

// Names implements storage.Namer. The system call that reads a folder tells what is a file: nothing is looked at one by one, which
// would cost several times as much.
func (s *Store) Names(ctx context.Context, dir string) ([]storage.Entry, error) {
	fd, err := s.resolve(ctx, dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", nameOrRoot(dir), err)
	}
	defer func() { _ = unix.Close(fd) }()
	read, _ := entryBuffers.Get().(*[]storage.Entry)
	defer func() {
		if cap(*read) <= maxPooledEntries {
			entryBuffers.Put(read)
		}
	}()
	*read, err = names(ctx, fd, (*read)[:0])
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", nameOrRoot(dir), err)
	}
	entries := byName(*read)
	clear(*read)
	return entries, nil
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
	direntBytes      = 64 << 10
	maxPooledEntries = 4096
)

var (
	direntBuffers = sync.Pool{New: func() any { return new([direntBytes]byte) }}
	entryBuffers  = sync.Pool{New: func() any { return new([]storage.Entry) }}
)

// What getdents64(2) writes: 8 bytes of inode, 8 of offset, 2 of length, 1 of type, the name up to a zero byte.
const (
	direntLength = 16
	direntType   = 18
	direntName   = 19
)

// names adds what an open folder holds to entries, in no order.
func names(ctx context.Context, dir int, entries []storage.Entry) ([]storage.Entry, error) {
	buf, _ := direntBuffers.Get().(*[direntBytes]byte)
	defer direntBuffers.Put(buf)
	for {
		n, err := retry(func() (int, error) { return unix.Getdents(dir, buf[:]) })
		if err != nil {
			return nil, mapError(err)
		}
		if n == 0 {
			return entries, nil
		}
		batch := string(buf[:n]) // one copy for all names in it
		for at := 0; at < n; {
			length := int(binary.NativeEndian.Uint16(buf[at+direntLength:]))
			end := bytes.IndexByte(buf[at+direntName:at+length], 0)
			name := batch[at+direntName : at+direntName+end]
			kind := buf[at+direntType]
			at += length
			if name == "." || name == ".." {
				continue
			}
			e, ok, err := entryOf(dir, name, kind)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if ok {
				entries = append(entries, e)
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// entryOf tells what an entry is by its type, which some file systems do not tell.
func entryOf(dir int, name string, kind byte) (e storage.Entry, ok bool, err error) {
	switch kind {
	case unix.DT_REG:
		return storage.Entry{Name: name, Size: storage.Unknown}, true, nil
	case unix.DT_DIR:
		return storage.Entry{Name: name, Dir: true}, true, nil
	case unix.DT_UNKNOWN:
		return stat(dir, name)
	}
	return e, false, nil
}

// byName sorts entries: by the first bytes of their names, which are numbers, and only where those are equal by the rest.
func byName(entries []storage.Entry) []storage.Entry {
	type key struct {
		head uint64
		at   int
	}
	keys := make([]key, len(entries))
	for i, e := range entries {
		var head [8]byte
		copy(head[:], e.Name)
		keys[i] = key{binary.BigEndian.Uint64(head[:]), i}
	}
	slices.SortFunc(keys, func(a, b key) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return strings.Compare(entries[a.at].Name, entries[b.at].Name)
	})
	sorted := make([]storage.Entry, len(entries))
	for i, k := range keys {
		sorted[i] = entries[k.at]
	}
	return sorted
}
