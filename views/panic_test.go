package views_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/cache"
	"github.com/hudifs/hudifs/internal/contain"
	"github.com/hudifs/hudifs/storage/storagetest"
	"github.com/hudifs/hudifs/views"
)

// TestPanics: a panic anywhere below is an error of the request that met it, as long as that runs contained itself. Nothing stays
// locked, nothing wrong is kept, and the next request finds all as it is.
func TestPanics(t *testing.T) {
	for _, name := range []string{"t6_mor_logs", "t9_mor_logs", "t9_clustering"} {
		t.Run(name, func(t *testing.T) {
			f := load(t, name)
			probe := storagetest.NewFaulty(storagetest.NewMem(f.files))
			want, err := look(t, probe)
			if err != nil || want == 0 {
				t.Fatalf("%d rows, %v", want, err)
			}
			for _, op := range []storagetest.Op{storagetest.Open, storagetest.List, storagetest.Read} {
				calls := probe.Calls(op)
				for _, n := range slices.Compact([]int{1, 2, calls / 4, calls / 2, calls * 3 / 4}) {
					fault := storagetest.Fault{Op: op, N: n, Effect: storagetest.Panics}
					s := storagetest.NewFaulty(storagetest.NewMem(f.files), fault)
					got, err := look(t, s)
					s.Verify(t)
					if err == nil || !strings.Contains(err.Error(), "injected") || got != want {
						t.Errorf("%v: %d rows after it, want %d; it gave %v", fault, got, want, err)
					}
				}
			}
		})
	}
}

// look counts the rows of latest, once more after a failure. The error is that of the first try.
func look(t *testing.T, s *storagetest.Faulty) (rows int64, first error) {
	t.Helper()
	disk, err := cache.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	var tree *views.Tree
	open := func() (err error) {
		tree, err = views.Open(t.Context(), s, &views.Options{Cache: disk})
		return err
	}
	count := func() (err error) {
		n, err := find(t.Context(), tree.Root(), "latest")
		if err != nil {
			return err
		}
		rows, err = countRows(t.Context(), t, n)
		return err
	}
	for _, step := range []func() error{open, count} {
		if err := contain.Call(step); err != nil {
			first = err
			if err := contain.Call(step); err != nil {
				t.Errorf("again: %v", err)
				return 0, first
			}
		}
	}
	if err := tree.Close(); err != nil {
		t.Error(err)
	}
	return rows, first
}

func countRows(ctx context.Context, t *testing.T, n views.Node) (int64, error) {
	d, ok := n.(views.Dir)
	if !ok {
		data, err := content(ctx, n)
		if err != nil {
			return 0, err
		}
		return rowsOf(t, "file", data), nil
	}
	entries, err := d.Entries(ctx)
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for _, e := range entries {
		child, err := d.Lookup(ctx, e.Name)
		if err != nil {
			return 0, err
		}
		rows, err := countRows(ctx, t, child)
		if err != nil {
			return 0, err
		}
		total += rows
	}
	return total, nil
}
