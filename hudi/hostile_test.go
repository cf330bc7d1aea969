package hudi_test

import (
	"context"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/internal/hostiletest"
	"github.com/hudifs/hudifs/storage"
)

// partitioned is a store whose table has many partitions, each with the one file of a real one.
type partitioned struct {
	storage.Store
	names []storage.Entry
	like  string // the real partition
}

func (p *partitioned) List(ctx context.Context, dir string) ([]storage.Entry, error) {
	switch {
	case dir == "":
		return p.names, nil
	case strings.HasPrefix(dir, "p0"):
		return p.Store.List(ctx, p.like)
	}
	return p.Store.List(ctx, dir)
}

func (p *partitioned) Open(ctx context.Context, name string) (storage.Object, error) {
	if strings.HasPrefix(name, "p0") {
		name = path.Join(p.like, path.Base(name))
	}
	return p.Store.Open(ctx, name)
}

// TestManyPartitions: a view takes a kilobyte of memory for each file, however many partitions they lie in.
func TestManyPartitions(t *testing.T) {
	const n = 20_000
	r := testTable(t, "t9_cow_partitioned")
	s := &partitioned{Store: r.store(), like: "north", names: make([]storage.Entry, n)}
	for i := range s.names {
		s.names[i] = storage.Entry{Name: fmt.Sprintf("p%07d", i), Dir: true}
	}
	table, err := hudi.Open(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	hostiletest.Keeps(t, 1<<10*2*n, func() *hudi.View {
		v, err := table.View(t.Context(), hudi.Latest())
		if err != nil {
			t.Fatal(err)
		}
		files, err := filesOf(t.Context(), v)
		if err != nil || len(files) != 2*n {
			t.Fatalf("%d files, %v", len(files), err)
		}
		return v
	})
}
