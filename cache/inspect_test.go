package cache_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hudifs/hudifs/cache"
)

func TestInspect(t *testing.T) {
	dir := t.TempDir()
	none := filepath.Join(dir, "none")
	if u, err := cache.Inspect(none); u.Entries != 0 || err != nil {
		t.Errorf("a folder that is not there: %+v, %v", u, err)
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("it was made")
	}
	d := open(t, dir, nil)
	put(t, d, 1, mib)
	put(t, d, 2, mib)
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	entries, _ := entryFiles(t, dir)
	if err := os.Chtimes(entries[1], old, old); err != nil {
		t.Fatal(err)
	}
	u, err := cache.Inspect(dir)
	if err != nil || u.Entries != 2 || u.Bytes < 2*mib || u.Bytes > 3*mib || !u.Oldest.Equal(old) {
		t.Errorf("%+v, %v, the oldest of %v", u, err, old)
	}
}

func TestVerify(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, nil)
	for i := range 4 {
		put(t, d, i, mib)
	}
	held := get(t, d, 4, mib)
	entries, _ := entryFiles(t, dir)
	harm := map[string]func(path string) error{
		"flipped": func(path string) error {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b[len(b)/3] ^= 1
			return os.WriteFile(path, b, 0o600)
		},
		"truncated": func(path string) error { return os.Truncate(path, mib/2) },
	}
	harmed := map[string]bool{}
	for name, do := range harm {
		path := entries[len(harmed)]
		if strings.Contains(path, key(4).String()) {
			path = entries[3]
		}
		if err := do(path); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		harmed[path] = true
	}
	u, err := cache.Verify(t.Context(), dir, func(path string, err error) {
		if !harmed[path] || err == nil {
			t.Errorf("%s: %v", path, err)
		}
		delete(harmed, path)
	})
	if err != nil || u.Entries != 3 || len(harmed) != 0 {
		t.Errorf("%+v, %v; not found: %v", u, err, harmed)
	}
	check(t, held, content(4, mib))
	closeEntry(t, held)
	kept := 0
	for i := range 5 {
		if has(t, d, i, mib) {
			kept++
		}
		put(t, d, i, mib)
	}
	if kept != 3 {
		t.Errorf("%d files are served without rendering", kept)
	}
}

func TestClear(t *testing.T) {
	dir := t.TempDir()
	if removed, left, err := cache.Clear(filepath.Join(dir, "none")); removed.Entries+left.Entries != 0 || err != nil {
		t.Errorf("a folder that is not there: %+v, %+v, %v", removed, left, err)
	}
	d := open(t, dir, nil)
	put(t, d, 1, mib)
	put(t, d, 2, mib)
	held := get(t, d, 3, mib)
	leftover := filepath.Join(dir, "v1", "tmp", "leftover")
	if err := os.WriteFile(leftover, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	removed, left, err := cache.Clear(dir)
	if err != nil || removed.Entries != 2 || left.Entries != 1 {
		t.Errorf("%+v removed, %+v left, %v", removed, left, err)
	}
	if entries, temporary := entryFiles(t, dir); len(entries) != 1 || len(temporary) != 0 {
		t.Errorf("there are %v and %v", entries, temporary)
	}
	check(t, held, content(3, mib))
	closeEntry(t, held)
	put(t, d, 1, mib)
	if !has(t, d, 3, mib) || !has(t, d, 1, mib) {
		t.Error("not used as before")
	}
}

// The checksum is gathered while a file is written. It is the same however it was: in pieces, in any order, twice, side by side.
func TestChecksumOfAnyWriting(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	dir := quickDir(t)
	d := open(t, dir, nil)
	const files = 30
	for i := range files {
		size := 1 + r.Int64N(mib)
		_, err := d.Do(t.Context(), key(i), size, func(_ context.Context, w *cache.Writer) error {
			var writers errgroup.Group
			for range r.IntN(20) {
				off := r.Int64N(size)
				p := content(r.IntN(3), int(min(1+r.Int64N(200<<10), size-off)))
				if r.IntN(4) == 0 {
					clear(p)
				}
				write := func() error { _, err := w.WriteAt(p, off); return err }
				if r.IntN(2) == 0 {
					writers.Go(write)
				} else if err := write(); err != nil {
					return err
				}
			}
			return writers.Wait()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	u, err := cache.Verify(t.Context(), dir, func(path string, err error) { t.Errorf("%s: %v", path, err) })
	if err != nil || u.Entries != files {
		t.Errorf("%+v, %v", u, err)
	}
}
