package views_test

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hudifs/hudifs/cache"
	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/storage/storagetest"
	"github.com/hudifs/hudifs/views"
)

// sizesOf starts anew with a cache, and tells the sizes of all files of latest and how many objects of the table were opened to find them out.
func sizesOf(t *testing.T, s storage.Store, dir string, o *cache.Options) (sizes map[string]int64, opens int64) {
	t.Helper()
	disk, err := cache.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	counting := storage.NewCounting(s)
	tree := openTree(t, counting, &views.Options{Cache: disk, Source: "/table"})
	nodes := map[string]views.Node{}
	collect(t, mustFind(t, tree.Root(), "latest"), "", nodes)
	listed := counting.Counters()
	sizes = map[string]int64{}
	for p, n := range nodes {
		a, err := n.Attr(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		sizes[p] = a.Size
	}
	opens = counting.Counters().Opens - listed.Opens
	if err := disk.Close(); err != nil {
		t.Fatal(err)
	}
	return sizes, opens
}

// collect finds the files at and below a node without looking at them.
func collect(t *testing.T, n views.Node, at string, out map[string]views.Node) {
	t.Helper()
	d, ok := n.(views.Dir)
	if !ok {
		out[at] = n
		return
	}
	for _, name := range names(t, d) {
		collect(t, mustFind(t, d, name), at+"/"+name, out)
	}
}

// namer is a store that tells sizes without opening anything.
type namer struct{ *storagetest.Mem }

func (n namer) AppendNames(ctx context.Context, to []storage.Entry, dir string) ([]storage.Entry, error) {
	return storage.AppendNames(ctx, n.Mem, to, dir)
}

func (n namer) Stat(ctx context.Context, name string) (storage.Entry, error) {
	return storage.Stat(ctx, n.Mem, name)
}

// A size that was found out is known to the next daemon, as long as the files are the same that it was found out from, and what was kept is sound.
func TestSizesAreKept(t *testing.T) {
	for _, name := range []string{"t6_cow_partitioned", "t6_mor_logs", "t9_mor_logs", "t8_types"} {
		t.Run(name, func(t *testing.T) {
			s, dir := namer{storagetest.NewMem(load(t, name).files)}, t.TempDir()
			want, first := sizesOf(t, s, dir, nil)
			again := func(when string, o *cache.Options, read bool) {
				t.Helper()
				got, opens := sizesOf(t, s, dir, o)
				if !maps.Equal(got, want) {
					t.Errorf("%s: %v, want %v", when, got, want)
				}
				if (opens > 0) != read {
					t.Errorf("%s: %d objects were opened, at first %d", when, opens, first)
				}
			}
			if first == 0 {
				t.Error("at first: nothing was opened")
			}
			again("the next time", nil, false)

			for p, data := range load(t, name).files {
				if strings.HasSuffix(p, ".parquet") && !strings.HasPrefix(p, ".hoodie") {
					s.PutAt(p, data, time.Now().Add(time.Hour))
				}
			}
			again("base files were replaced", nil, true)
			again("after that", nil, false)

			numbers := filepath.Join(dir, "v1", "numbers")
			kept, err := os.ReadFile(numbers)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(numbers, bytes.Repeat([]byte{1}, len(kept)), 0o600); err != nil {
				t.Fatal(err)
			}
			again("what was kept is damaged", nil, true)
			if err := os.RemoveAll(filepath.Join(dir, "v1")); err != nil {
				t.Fatal(err)
			}
			full := &cache.Options{MinFree: 1 << 60}
			again("what was kept is gone and the disk is full", full, true)
			again("and still full", full, true)
		})
	}
}
