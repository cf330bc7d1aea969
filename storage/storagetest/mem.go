package storagetest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hudifs/hudifs/storage"
)

// Mem is a store in memory whose files can be changed while it is used. Folders exist as long as something lies below
// them, as in an object store. It may be used from many goroutines.
type Mem struct {
	mu    sync.RWMutex
	files map[string]memFile
	clock time.Time
}

type memFile struct {
	data  []byte
	mtime time.Time
}

var _ storage.Store = (*Mem)(nil)

// NewMem returns a store of the given files, by path. The contents must not be changed afterwards.
func NewMem(files map[string][]byte) *Mem {
	m := &Mem{files: map[string]memFile{}, clock: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		m.Put(path, files[path])
	}
	return m
}

// Put adds or replaces a file. Objects that are open keep what they had. Each Put is one second later than the one before.
// It panics when path is not one of a file.
func (m *Mem) Put(path string, data []byte) { m.put(path, data, nil) }

// PutAt is Put with a modification time of the caller's choice.
func (m *Mem) PutAt(path string, data []byte, at time.Time) { m.put(path, data, &at) }

func (m *Mem) put(path string, data []byte, at *time.Time) {
	if err := storage.CheckPath(path); err != nil || path == "" {
		panic(fmt.Sprintf("storagetest: put %q: %v", path, err))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if at == nil {
		m.clock = m.clock.Add(time.Second)
		at = &m.clock
	}
	m.files[path] = memFile{data, *at}
}

// Remove removes the files at or below path. Objects that are open stay readable.
func (m *Mem) Remove(path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.files, func(p string, _ memFile) bool {
		return path == "" || p == path || strings.HasPrefix(p, path+"/")
	})
}

// Open implements storage.Store.
func (m *Mem) Open(ctx context.Context, path string) (storage.Object, error) {
	if err := cmp.Or(ctx.Err(), storage.CheckPath(path)); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	f, ok := m.files[path]
	if !ok {
		return nil, fmt.Errorf("open %s: %w", path, storage.ErrNotExist)
	}
	return memObject{f, path}, nil
}

// List implements storage.Store.
func (m *Mem) List(ctx context.Context, dir string) ([]storage.Entry, error) {
	if err := cmp.Or(ctx.Err(), storage.CheckPath(dir)); err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	prefix := dir
	if dir != "" {
		prefix += "/"
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	found := map[string]storage.Entry{}
	for path, f := range m.files {
		rest, ok := strings.CutPrefix(path, prefix)
		if !ok {
			continue
		}
		name, _, isDir := strings.Cut(rest, "/")
		if isDir {
			found[name] = storage.Entry{Name: name, Dir: true}
		} else {
			found[name] = storage.Entry{Name: name, Size: int64(len(f.data)), ModTime: f.mtime}
		}
	}
	if len(found) == 0 && dir != "" {
		return nil, fmt.Errorf("list %s: %w", dir, storage.ErrNotExist)
	}
	return slices.SortedFunc(maps.Values(found), func(a, b storage.Entry) int { return strings.Compare(a.Name, b.Name) }), nil
}

type memObject struct {
	memFile
	path string
}

func (o memObject) Size() int64        { return int64(len(o.data)) }
func (o memObject) ModTime() time.Time { return o.mtime }
func (o memObject) Close() error       { return nil }

func (o memObject) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("read %s: %w", o.path, err)
	}
	if len(p) == 0 && off >= 0 {
		return 0, nil
	}
	n, err := bytes.NewReader(o.data).ReadAt(p, off)
	if n == len(p) || err == io.EOF {
		return n, err
	}
	return n, fmt.Errorf("read %s at %d: %w", o.path, off, err)
}
