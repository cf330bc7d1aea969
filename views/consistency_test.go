package views_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/storage/storagetest"
	"github.com/hudifs/hudifs/views"
)

// TestNamesResolveAnew: what a name of a view leads to is found out when it is looked up. Names that follow the table lead to what somebody
// finds who opens the table now; those of instants and ranges that are over lead to the same files as before.
func TestNamesResolveAnew(t *testing.T) {
	for _, name := range []string{"t6_mor_logs", "t9_cow_partitioned", "t9_changes_cow"} {
		t.Run(name, func(t *testing.T) {
			f := load(t, name)
			mem := storagetest.NewMem(f.upTo(2))
			tree := openTree(t, mem, nil)
			rangeTime := func(i int) string {
				if f.Version < 8 {
					return f.Timeline[i].Requested
				}
				return f.Timeline[i].Completed
			}
			follow := []string{"latest", "asof/latest", "asof/2999-12-31", "incremental/000..latest", "diff/000..latest", "read_optimized"}
			stay := []string{"asof/" + f.Timeline[1].Requested, "asof/earliest", "incremental/000.." + rangeTime(0), "diff/000.." + f.Timeline[1].Requested}
			if slices.Contains(names(t, tree.Root()), "cdc") {
				follow, stay = append(follow, "cdc/000..latest"), append(stay, "cdc/000.."+f.Timeline[1].Requested)
			}
			before, nodes := map[string]map[string]seen{}, map[string]views.Node{}
			for _, at := range append(follow, stay...) {
				nodes[at] = mustFind(t, tree.Root(), at)
				before[at] = walk(t, nodes[at])
			}
			putAll(mem, f.files)
			if err := tree.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			now := openTree(t, mem, nil)
			moved := 0
			for _, at := range append(follow, stay...) {
				n := mustFind(t, tree.Root(), at)
				after := sums(walk(t, n))
				if want := sums(walk(t, mustFind(t, now.Root(), at))); !maps.Equal(after, want) {
					t.Errorf("%s: %v, want %v", at, slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(want)))
				}
				if n == nodes[at] {
					t.Errorf("%s leads to the folder of before", at)
				}
				if again := walk(t, nodes[at]); !maps.Equal(sums(again), sums(before[at])) {
					t.Errorf("the old folder of %s has changed", at)
				}
				same := maps.Equal(after, sums(before[at]))
				if !same {
					moved++
				}
				if slices.Contains(stay, at) && !same {
					t.Errorf("%s: %v, was %v", at, slices.Sorted(maps.Keys(after)), files(before[at]))
				}
			}
			if moved < len(follow)-1 { // only logs were written to some
				t.Errorf("of %d names that follow the table %d moved", len(follow), moved)
			}
		})
	}
}

// TestGraceIsOfLatest: names of the other views that follow the table end with the next commit.
func TestGraceIsOfLatest(t *testing.T) {
	f := load(t, "t9_cow_partitioned")
	mem := storagetest.NewMem(f.upTo(2))
	tree := openTree(t, mem, &views.Options{Clock: f.clock(t), Grace: time.Hour})
	listed := map[string]map[string]seen{}
	for _, at := range []string{"latest", "asof/latest", "read_optimized", "asof/2999-12-31"} {
		listed[at] = walk(t, mustFind(t, tree.Root(), at))
	}
	putAll(mem, f.files)
	if err := tree.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for at, before := range listed {
		if strings.HasSuffix(at, "latest") {
			checkFound(t, tree.Root(), at, before)
			continue
		}
		gone := 0
		for _, p := range files(before) {
			if _, err := find(t.Context(), tree.Root(), at+"/"+p); errors.Is(err, fs.ErrNotExist) {
				gone++
			}
		}
		if gone == 0 {
			t.Errorf("%s: all that was listed is still found", at)
		}
	}
}

// manyWrites is a table of version 6 whose every file is written anew n times, ten seconds apart: from the second write on. It gives the
// times of all writes.
func manyWrites(t *testing.T, n int) (*storagetest.Mem, []string) {
	t.Helper()
	f := load(t, "t6_cow_partitioned")
	first := f.Timeline[0].Requested
	at := f.clock(t)()
	mem, instants := storagetest.NewMem(nil), []string{first}
	for i := range n + 1 {
		when := at.Add(time.Duration(i) * 10 * time.Second)
		instant := first
		if i > 0 {
			instant = strings.Replace(when.Format("20060102150405.000"), ".", "", 1)
			instants = append(instants, instant)
		}
		for _, timeline := range []bool{false, true} { // which counts last
			for name, data := range f.upTo(1) {
				if isTimeline(name) != timeline || i > 0 && !strings.Contains(name, first) {
					continue
				}
				if timeline {
					data = bytes.ReplaceAll(data, []byte(first), []byte(instant))
				}
				mem.PutAt(strings.ReplaceAll(name, first, instant), data, when)
			}
		}
	}
	return mem, instants
}

// TestGraceGoesBackSoFar: a name is looked for in what latest was before each of the last 64 writes to its file group. Writes of version 6
// that are archived are not among them: nothing tells when they completed.
func TestGraceGoesBackSoFar(t *testing.T) {
	const writes, reach = 70, 64
	mem, instants := manyWrites(t, writes)
	last := instants[writes]
	end, err := time.Parse("20060102150405.000", last[:14]+"."+last[14:])
	if err != nil {
		t.Fatal(err)
	}
	options := &views.Options{Clock: func() time.Time { return end.Add(time.Second) }, Grace: time.Hour}
	latest := files(walk(t, mustFind(t, openTree(t, mem, options).Root(), "latest")))
	if len(latest) == 0 {
		t.Fatal("latest is empty")
	}
	found := func(tree *views.Tree, write int) bool {
		t.Helper()
		n := 0
		for _, p := range latest {
			_, err := find(t.Context(), tree.Root(), "latest/"+strings.ReplaceAll(p, last, instants[write]))
			if err == nil {
				n++
			} else if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("write %d: %v", write, err)
			}
		}
		if n != 0 && n != len(latest) {
			t.Errorf("write %d: %d files of %d are found", write, n, len(latest))
		}
		return n > 0
	}
	tree := openTree(t, mem, options)
	for write, want := range map[int]bool{writes: true, writes - 1: true, writes - reach: true, writes - reach - 1: false, 0: false} {
		if got := found(tree, write); got != want {
			t.Errorf("what the write %d of %d made is found: %v", write, writes, got)
		}
	}
	const archived = 40 // this one and all before it
	for _, instant := range instants[:archived+1] {
		for _, suffix := range []string{".commit.requested", ".inflight", ".commit"} {
			mem.Remove(path.Join(".hoodie", instant+suffix))
		}
	}
	tree = openTree(t, mem, options)
	if got := files(walk(t, mustFind(t, tree.Root(), "latest"))); fmt.Sprint(got) != fmt.Sprint(latest) {
		t.Errorf("archived: latest is %q", got)
	}
	for write, want := range map[int]bool{writes: true, archived + 1: true, archived - 1: false} {
		if got := found(tree, write); got != want {
			t.Errorf("archived: what the write %d made is found: %v", write, got)
		}
	}
}

// TestStaysWhenTheStoreFails: a storage that does not answer takes nothing away that was shown, and what has happened meanwhile is shown as
// soon as it answers.
func TestStaysWhenTheStoreFails(t *testing.T) {
	f := load(t, "t9_mor_logs")
	mem := storagetest.NewMem(f.upTo(2))
	var fails atomic.Bool
	bad := storagetest.NewFaulty(mem, storagetest.Fault{Op: storagetest.List, Effect: storagetest.Unavailable}, storagetest.Fault{Op: storagetest.Open, Effect: storagetest.Unavailable})
	tree := openTree(t, &switched{Store: mem, bad: bad, on: &fails}, &views.Options{Cache: diskCache(t, t.TempDir())})
	before := walk(t, mustFind(t, tree.Root(), "latest"))
	fails.Store(true)
	putAll(mem, f.files)
	if err := tree.Refresh(t.Context()); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("refreshed: %v", err)
	}
	read := 0
	for p, s := range before {
		n := views.Node(tree.Root())
		if n = mustFind(t, n, path.Join("latest", p)); s.attr.Dir {
			names(t, n)
			continue
		}
		if a, err := n.Attr(t.Context()); err != nil || a != s.attr {
			t.Errorf("%s: %+v, %v", p, a, err)
		}
		if x, _ := n.Xattrs(t.Context()); x["user.hudi.as_is"] == "true" {
			continue // whose bytes are in the storage alone
		}
		read++
		if data, err := content(t.Context(), n); err != nil || sumOf(data) != s.sum {
			t.Errorf("%s, rendered before: %d bytes, %v", p, len(data), err)
		}
	}
	if read == 0 {
		t.Error("nothing is rendered")
	}
	fails.Store(false)
	if err := tree.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if x, _ := mustFind(t, tree.Root(), "latest").Xattrs(t.Context()); x["user.hudi.instant"] != f.Timeline[len(f.Timeline)-1].Requested {
		t.Errorf("later latest shows %s", x["user.hudi.instant"])
	}
}

// TestLazyFilesOutliveTheirSources: what is open, and of which only some parts are made, is read to its end after the cleaner took what it is
// made of.
func TestLazyFilesOutliveTheirSources(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, grown(t))
	whole, _ := lazyTree(t, dir, false, 0)
	want := map[string][]byte{}
	for p, f := range merged(t, whole) {
		data, err := content(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		want[p] = data
	}
	lazy, disk := lazyTree(t, dir, true, 0)
	open := map[string]views.Handle{}
	for p, f := range merged(t, lazy) {
		h, err := f.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		open[p] = h
		footer := make([]byte, 1<<10)
		if _, err := h.ReadAt(t.Context(), footer, int64(len(want[p])-len(footer))); err != nil || !bytes.HasSuffix(want[p], footer) {
			t.Errorf("%s: its end: %v", p, err)
		}
	}
	if n := disk.Stats().Entries; n > 0 {
		t.Errorf("%d files are complete already", n)
	}
	for name := range grown(t) {
		if !isTimeline(name) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for p, h := range open {
		if data, err := readAll(t.Context(), h); err != nil || !bytes.Equal(data, want[p]) {
			t.Errorf("%s: %d bytes of %d, %v", p, len(data), len(want[p]), err)
		}
	}
	for p, f := range merged(t, lazy) {
		if data, err := content(t.Context(), f); err == nil && !bytes.Equal(data, want[p]) || err != nil && !errors.Is(err, views.ErrStale) {
			t.Errorf("%s, opened again: %d bytes, %v", p, len(data), err)
		}
	}
}
