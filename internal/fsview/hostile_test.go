package fsview_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/fsview"
	"github.com/hudifs/hudifs/internal/hostiletest"
	"github.com/hudifs/hudifs/storage"
)

// endless is a store in which every folder holds as many others.
type endless struct {
	storage.Store
	folders []storage.Entry
}

func (e *endless) List(_ context.Context, dir string) ([]storage.Entry, error) {
	return e.folders, storage.CheckPath(dir)
}

func newEndless(width int) *endless {
	e := &endless{}
	for i := range width {
		e.folders = append(e.folders, storage.Entry{Name: fmt.Sprintf("d%03d", i), Dir: true})
	}
	return e
}

// TestEndlessTables: folders in folders have an end, in depth and in number.
func TestEndlessTables(t *testing.T) {
	for width, limit := range map[int]int64{1: 4 << 20, 1000: 1 << 30} {
		hostiletest.Allocates(t, limit, func() {
			if _, err := partitions(t.Context(), fsview.NewPlain(newEndless(width))); !errors.Is(err, fsview.ErrUnsupported) {
				t.Errorf("%d folders in each: %v", width, err)
			}
		})
	}
}

// odd are names of partition folders that a table may have, and has no use for.
var odd = []string{
	"a\n", "a%2Fb", "%2e%2e", "a=", "=", "a b", "\xff\xfe", "a\x01", "...", ".hidden", "-", "*", "[a]", "a\\b", "__HIVE_DEFAULT_PARTITION__",
	strings.Repeat("x", 255), "\u202e", "😀",
}

// TestOddNames: partitions are listed under whatever names they have.
func TestOddNames(t *testing.T) {
	var paths []string
	for _, name := range odd {
		paths = append(paths, name+"/.hoodie_partition_metadata", name+"/f")
	}
	p := fsview.NewPlain(mem(paths...))
	found, err := partitions(t.Context(), p)
	if err != nil || len(found) != len(odd) {
		t.Fatalf("%q, %v", found, err)
	}
	for _, name := range odd {
		if files, err := p.Files(t.Context(), name); err != nil || len(files) != 2 {
			t.Errorf("%q: %v, %v", name, files, err)
		}
	}
}
