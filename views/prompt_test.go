package views_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/storage/storagetest"
	"github.com/hudifs/hudifs/views"
)

// hanging is a store that does nothing more, and heeds no context, once it was told to, until gate is closed.
type hanging struct {
	storage.Store
	hangs atomic.Bool
	gate  chan struct{}
}

func (s *hanging) pause() {
	if s.hangs.Load() {
		<-s.gate
	}
}

func (s *hanging) Open(ctx context.Context, path string) (storage.Object, error) {
	s.pause()
	return s.Store.Open(ctx, path)
}

func (s *hanging) List(ctx context.Context, dir string) ([]storage.Entry, error) {
	s.pause()
	return s.Store.List(ctx, dir)
}

// A storage that hangs holds up no file below .hudi: what is known is told, and what is not is an error, soon.
func TestHangingStorage(t *testing.T) {
	f := load(t, "t9_mor_logs")
	files := maps.Clone(f.files)
	for name, data := range f.files {
		files["db/unused/"+name], files["db/used/"+name] = data, data
	}
	for name := range f.files {
		delete(files, name)
	}
	s := &hanging{Store: storagetest.NewMem(files), gate: make(chan struct{})}
	defer close(s.gate)
	now := time.Now()
	tree := openTree(t, s, &views.Options{Clock: func() time.Time { return now }})
	about := func(table, name string) error {
		n, err := find(t.Context(), tree.Root(), "db/"+table+"/.hudi/"+name)
		if err == nil {
			_, err = content(t.Context(), n)
		}
		return err
	}
	for _, name := range []string{"timeline", "partitions", "schema"} {
		if err := about("used", name); err != nil {
			t.Fatal(err)
		}
	}
	if err := about("unused", "status"); err != nil {
		t.Fatal(err)
	}
	s.hangs.Store(true)
	now = now.Add(time.Hour) // what tables there are would be looked up again
	for _, c := range []struct {
		table, name string
		known       bool
	}{
		{"used", "status", true},
		{"used", "configuration", true},
		{"used", "timeline", true},
		{"used", "partitions", true},
		{"used", "schema", true},
		{"unused", "status", true},
		{"unused", "configuration", true},
		{"unused", "partitions", false},
	} {
		err := about(c.table, c.name)
		if (err == nil) != c.known || err != nil && !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("%s of the table %s: %v", c.name, c.table, err)
		}
	}
	if got := strings.Join(names(t, mustFind(t, tree.Root(), "db")), " "); got != "unused used" {
		t.Errorf("tables: %s", got)
	}
}
