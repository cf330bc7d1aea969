package views_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hudifs/hudifs/cache"
	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/storage/storagetest"
	"github.com/hudifs/hudifs/views"
)

// growing are tables whose every file is of one write, so that earlier states can be had.
var growing = []string{"t6_cow_partitioned", "t6_mor_logs", "t9_cow_partitioned", "t9_mor_logs", "t9_mor_compacted"}

// TestLatestMoves commits the writes of a table one after the other under a tree that is in use.
func TestLatestMoves(t *testing.T) {
	for _, name := range growing {
		t.Run(name, func(t *testing.T) {
			f := load(t, name)
			dir := t.TempDir()
			put(t, dir, f.upTo(1))
			tree := openTree(t, fileStore(t, dir), nil)
			hooks := 0
			tree.OnChange(func() { hooks++ })
			for n := 1; n <= len(f.Timeline); n++ {
				put(t, dir, f.upTo(n))
				if err := tree.Refresh(t.Context()); err != nil {
					t.Fatal(err)
				}
				if hooks != n-1 {
					t.Errorf("%d calls of the hook after %d commits", hooks, n-1)
				}
				latest := mustFind(t, tree.Root(), "latest")
				got := walk(t, latest)
				want := walk(t, mustFind(t, openTree(t, storagetest.NewMem(f.upTo(n)), nil).Root(), "latest"))
				if !maps.EqualFunc(want, got, func(a, b seen) bool { return a.attr.Inode == b.attr.Inode && a.sum == b.sum }) {
					t.Errorf("after %d writes latest is not what one sees who opens the table now:\n%v\n%v", n, files(got), files(want))
				}
				if a, _ := tree.Root().Attr(t.Context()); !a.ModTime.Equal(got[""].attr.ModTime) {
					t.Errorf("table of %v, latest of %v", a.ModTime, got[""].attr.ModTime)
				}
				if x, _ := latest.Xattrs(t.Context()); x["user.hudi.instant"] != f.Timeline[n-1].Requested {
					t.Errorf("after %d writes latest shows %s", n, x["user.hudi.instant"])
				}
			}
			if err := tree.Refresh(t.Context()); err != nil || hooks != len(f.Timeline)-1 {
				t.Errorf("a refresh of what had not changed: %v, %d calls of the hook", err, hooks)
			}
		})
	}
}

// TestFrozen holds that nothing that a folder of a view shows is changed by later commits.
func TestFrozen(t *testing.T) {
	f := load(t, "t9_mor_logs")
	dir := t.TempDir()
	put(t, dir, f.upTo(2))
	tree := openTree(t, fileStore(t, dir), &views.Options{Clock: f.clock(t), Grace: time.Hour})
	latest := mustFind(t, tree.Root(), "latest")
	untouched := mustFind(t, tree.Root(), "read_optimized") // not listed before the commits
	before := walk(t, latest)
	put(t, dir, f.files)
	if err := tree.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := walk(t, latest)
	if !maps.EqualFunc(before, after, func(a, b seen) bool { return a.attr == b.attr && a.sum == b.sum }) {
		t.Errorf("a folder that is in use changed:\n%v\n%v", files(before), files(after))
	}
	if now := mustFind(t, tree.Root(), "latest"); now == latest {
		t.Error("latest did not move")
	}
	if x, _ := untouched.Xattrs(t.Context()); x["user.hudi.instant"] != f.Timeline[1].Requested {
		t.Errorf("a folder that was looked up before the commits shows %q", x)
	}
}

// A table whose properties alone change is another one, in whose folders nothing is left of what was before.
func TestPropertiesAlone(t *testing.T) {
	f := load(t, "t9_mor_logs")
	mem := storagetest.NewMem(f.files)
	tree := openTree(t, mem, nil)
	before := walk(t, mustFind(t, tree.Root(), "latest"))
	props := bytes.ReplaceAll(f.files[".hoodie/hoodie.properties"], []byte("EVENT_TIME_ORDERING"), []byte("COMMIT_TIME_ORDERING"))
	mem.Put(".hoodie/hoodie.properties", props)
	hooks := 0
	tree.OnChange(func() { hooks++ })
	if err := tree.Refresh(t.Context()); err != nil || hooks != 1 {
		t.Fatalf("%v, %d calls of the hook", err, hooks)
	}
	after := walk(t, mustFind(t, tree.Root(), "latest"))
	want := walk(t, mustFind(t, openTree(t, mem, nil).Root(), "latest"))
	if !maps.EqualFunc(want, after, func(a, b seen) bool { return a.attr == b.attr && a.sum == b.sum }) {
		t.Errorf("not what one sees who opens the table now:\n%v\n%v", files(after), files(want))
	}
	if maps.Equal(sums(before), sums(after)) {
		t.Error("the change changed nothing: nothing was tested")
	}
	for p, s := range after {
		if s.attr.Dir && s.attr.Inode == before[p].attr.Inode {
			t.Errorf("folder %q has the inode that it had", p)
		}
	}
}

// TestGrace lists a table, lets it grow, and asks for what was listed.
func TestGrace(t *testing.T) {
	for _, name := range growing {
		t.Run(name, func(t *testing.T) {
			f := load(t, name)
			dir := t.TempDir()
			put(t, dir, f.upTo(2))
			options := views.Options{Clock: f.clock(t), Grace: time.Hour}
			tree := openTree(t, fileStore(t, dir), &options)
			hooks := 0
			tree.OnChange(func() { hooks++ })
			old := mustFind(t, tree.Root(), "latest")
			listed := walk(t, old)
			put(t, dir, f.files)

			// The kernel holds the old folder, and looks names up in the new one too, whose tree does not know of the commits.
			checkFound(t, tree.Root(), "latest", listed)
			for _, n := range names(t, old) {
				if _, err := old.(views.Dir).Lookup(t.Context(), n+"-nonsense"); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s-nonsense: %v", n, err)
				}
			}
			if hooks != 1 {
				t.Errorf("a lookup found new commits, and the hook was called %d times", hooks)
			}
			checkFound(t, tree.Root(), "latest", listed)
			checkFound(t, tree.Root(), "asof/latest", listed)
			for p := range listed {
				if p == "" {
					continue
				}
				if _, err := find(t.Context(), old, p); err != nil {
					t.Errorf("%s in the folder that listed it: %v", p, err)
				}
			}

			// Another daemon, which saw nothing of the past.
			other := openTree(t, fileStore(t, dir), &options)
			checkFound(t, other.Root(), "latest", listed)

			// What no longer is latest, and nobody has been listing lately.
			gone := 0
			options.Grace = 0
			strict := openTree(t, fileStore(t, dir), &options)
			now := walk(t, mustFind(t, strict.Root(), "latest"))
			for _, p := range files(listed) {
				if _, ok := now[p]; ok {
					continue
				}
				gone++
				if _, err := find(t.Context(), strict.Root(), "latest/"+p); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s, without any grace: %v", p, err)
				}
				if _, err := find(t.Context(), strict.Root(), "asof/"+f.Timeline[len(f.Timeline)-1].Requested+"/"+p); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s in a view of a time when it was not: %v", p, err)
				}
			}
			if gone == 0 {
				t.Error("all that was listed is still latest: nothing was tested")
			}
		})
	}
}

// checkFound looks up by name whatever was listed, and compares it with what it was.
func checkFound(t *testing.T, root views.Node, at string, listed map[string]seen) {
	t.Helper()
	for _, p := range files(listed) {
		n, err := find(t.Context(), root, at+"/"+p)
		if err != nil {
			t.Errorf("%s/%s: %v", at, p, err)
			continue
		}
		a, err := n.Attr(t.Context())
		if err != nil || a != listed[p].attr {
			t.Errorf("%s: %+v, %v, was %+v", p, a, err, listed[p].attr)
		}
		if data, err := content(t.Context(), n); err != nil || sha256.Sum256(data) != listed[p].sum {
			t.Errorf("%s: other bytes, %v", p, err)
		}
	}
}

// A partition that a commit has dropped is no longer listed, and can be walked through to what it held.
func TestGraceOfFolders(t *testing.T) {
	f := load(t, "t6_insert_overwrite")
	// Its name has a point, as versions have them.
	renamed := func(files map[string][]byte) map[string][]byte {
		out := map[string][]byte{}
		for name, data := range files {
			if isTimeline(name) && bytes.HasPrefix(data, []byte("{")) {
				data = bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("west/"), []byte("1.5/")), []byte(`"west"`), []byte(`"1.5"`))
			}
			if rest, ok := strings.CutPrefix(name, "west/"); ok {
				name = "1.5/" + rest
			}
			out[name] = data
		}
		return out
	}
	for _, layout := range []string{"plain", "table"} {
		before := renamed(f.upTo(3))
		mem := storagetest.NewMem(before)
		tree := openTree(t, mem, &views.Options{Clock: f.clock(t), Grace: time.Hour, Partitions: layout})
		listed := walk(t, mustFind(t, tree.Root(), "latest/1.5"))
		for name, data := range renamed(f.upTo(4)) {
			if before[name] == nil { // which would be written anew, and then have completed last
				mem.Put(name, data)
			}
		}
		if err := tree.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		checkFound(t, tree.Root(), "latest/1.5", listed)
		if now := names(t, mustFind(t, tree.Root(), "latest")); slices.Contains(now, "1.5") || len(files(listed)) == 0 {
			t.Errorf("%q were listed, and now %q: nothing was tested", files(listed), now)
		}
	}
}

// What can't be known must not be denied: a store that does not answer is no proof that a name is not there.
func TestGraceWhenTheStoreFails(t *testing.T) {
	f := load(t, "t9_mor_logs")
	for _, effect := range []storagetest.Effect{storagetest.Unavailable, storagetest.Cancelled} {
		var fails atomic.Bool
		s := &switched{Store: storagetest.NewMem(f.files), bad: storagetest.NewFaulty(storagetest.NewMem(f.files), storagetest.Fault{Op: storagetest.List, Path: "north", Effect: effect}), on: &fails}
		tree := openTree(t, s, &views.Options{Clock: f.clock(t), Grace: time.Hour, NoMetadataTable: true})
		north := mustFind(t, tree.Root(), "latest/north")
		fails.Store(true)
		if n, err := north.(views.Dir).Lookup(t.Context(), "0_1_2.parquet"); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: %v, %v", effect, n, err)
		}
		fails.Store(false)
		if n, err := north.(views.Dir).Lookup(t.Context(), "0_1_2.parquet"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("later: %v, %v", n, err)
		}
	}
}

// switched is a store that can be made to misbehave, and well again.
type switched struct {
	storage.Store
	bad storage.Store
	on  *atomic.Bool
}

func (s *switched) now() storage.Store {
	if s.on.Load() {
		return s.bad
	}
	return s.Store
}

func (s *switched) Open(ctx context.Context, p string) (storage.Object, error) {
	return s.now().Open(ctx, p)
}

func (s *switched) List(ctx context.Context, p string) ([]storage.Entry, error) {
	return s.now().List(ctx, p)
}

func TestRun(t *testing.T) {
	f := load(t, "t9_mor_logs")
	mem := storagetest.NewMem(f.upTo(2))
	var fails atomic.Bool
	s := &switched{Store: mem, bad: storagetest.NewFaulty(mem, storagetest.Fault{Op: storagetest.List, Effect: storagetest.Unavailable}), on: &fails}
	var log lockedBuffer
	tree := openTree(t, s, &views.Options{PollInterval: time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	changed := make(chan struct{}, 100)
	tree.OnChange(func() { changed <- struct{}{} })
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { tree.Run(ctx) })

	fails.Store(true)
	waitFor(t, func() bool { return log.lines() == 1 })
	time.Sleep(20 * time.Millisecond)
	if n := log.lines(); n != 1 {
		t.Errorf("%d warnings of one trouble", n)
	}
	fails.Store(false)
	for name, data := range f.files {
		if !isTimeline(name) {
			mem.Put(name, data)
		}
	}
	for name, data := range f.files {
		mem.Put(name, data)
	}
	waitFor(t, func() bool { return len(changed) > 0 })
	waitFor(t, func() bool {
		x, err := mustFind(t, tree.Root(), "latest").Xattrs(t.Context())
		return err == nil && x["user.hudi.instant"] == f.Timeline[len(f.Timeline)-1].Requested
	})
	cancel()
	running.Wait()
}

func waitFor(t *testing.T, what func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !what(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) lines() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), "\n")
}

// TestManyAtOnce looks up, lists and reads from many goroutines while a table grows.
func TestManyAtOnce(t *testing.T) {
	f := load(t, "t9_mor_compacted")
	dir := t.TempDir()
	put(t, dir, f.upTo(1))
	disk, err := cache.Open("", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { disk.Close() })
	tree := openTree(t, fileStore(t, dir), &views.Options{Clock: f.clock(t), Grace: time.Hour, Cache: disk})
	tree.OnChange(func() { _, _ = tree.Root().Attr(context.Background()) })

	var mu sync.Mutex
	sums := map[string][32]byte{} // of every file that anybody read, by its name
	read := func(p string, n views.Node) error {
		data, err := content(t.Context(), n)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		mu.Lock()
		defer mu.Unlock()
		if was, ok := sums[p]; ok && was != sum {
			return errors.New("other bytes than before")
		}
		sums[p] = sum
		return nil
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for i := range 8 {
		readers.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := readSome(t, r, tree.Root(), read); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for n := 1; n <= len(f.Timeline); n++ {
		put(t, dir, f.upTo(n))
		if err := tree.Refresh(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(30 * time.Millisecond)
	}
	close(done)
	readers.Wait()
	if len(sums) < 5 {
		t.Errorf("only %d files were read", len(sums))
	}
}

// readSome lists one view and reads a file of it.
func readSome(t *testing.T, r *rand.Rand, root views.Dir, read func(string, views.Node) error) error {
	top := []string{"latest", "read_optimized", "asof/earliest", "asof/latest", "incremental/000..latest"}[r.IntN(5)]
	// Grace is latest's: in other views that follow the table a name is gone with the next commit, for who comes with a path.
	movesOn := top == "read_optimized" || top == "incremental/000..latest"
	dir, err := find(t.Context(), root, top)
	if err != nil {
		return fmt.Errorf("%s: %w", top, err)
	}
	at := ""
	for {
		entries, err := dir.(views.Dir).Entries(t.Context())
		if err != nil || len(entries) == 0 {
			return fmt.Errorf("%s%s: %d entries, %w", top, at, len(entries), err)
		}
		e := entries[r.IntN(len(entries))]
		if r.IntN(3) == 0 && !movesOn {
			if dir, err = find(t.Context(), root, top+at); err != nil { // as one does who comes with a path
				return fmt.Errorf("%s%s: %w", top, at, err)
			}
		}
		child, err := dir.(views.Dir).Lookup(t.Context(), e.Name)
		at += "/" + e.Name
		if err != nil {
			return fmt.Errorf("%s%s: %w", top, at, err)
		}
		if !e.Dir {
			if err := read(at, child); err != nil {
				return fmt.Errorf("%s%s: %w", top, at, err)
			}
			return nil
		}
		dir = child
	}
}

func TestErrors(t *testing.T) {
	f := load(t, "t9_mor_logs")
	isBase := func(name string) bool { return strings.HasSuffix(name, ".parquet") && !isTimeline(name) }
	base := slices.Collect(func(yield func(string) bool) {
		for _, name := range slices.Sorted(maps.Keys(f.files)) {
			if strings.HasPrefix(name, "north/") && isBase(name) && !yield(name) {
				return
			}
		}
	})[0]
	id, _, _ := strings.Cut(strings.TrimPrefix(base, "north/"), "_")
	for _, tt := range []struct {
		name   string
		change func(m *storagetest.Mem) // after the table was listed
		fault  *storagetest.Fault
		want   error // nil is some failure of no class
		full   bool
	}{
		{name: "the base file is cleaned away", change: func(m *storagetest.Mem) { m.Remove(base) }, want: views.ErrStale},
		{name: "the partition is gone", change: func(m *storagetest.Mem) { m.Remove("north") }, want: views.ErrStale},
		{name: "the base file is damaged", change: func(m *storagetest.Mem) { m.Put(base, bytes.Repeat([]byte("x"), len(f.files[base]))) }},
		{name: "the base file is cut", change: func(m *storagetest.Mem) { m.Put(base, f.files[base][:100]) }},
		{name: "access is denied", fault: &storagetest.Fault{Op: storagetest.Open, Path: "*.parquet", Effect: storagetest.Denied}, want: fs.ErrPermission},
		{name: "the store does not answer", fault: &storagetest.Fault{Op: storagetest.Read, Path: "*.parquet", Effect: storagetest.Unavailable}, want: storage.ErrUnavailable},
		{name: "the user has gone", fault: &storagetest.Fault{Op: storagetest.Read, Path: "*.parquet", Effect: storagetest.Cancelled}, want: context.Canceled},
		{name: "no room", full: true, want: views.ErrNoSpace},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mem := storagetest.NewMem(f.files)
			var fails atomic.Bool
			s := &switched{Store: mem, bad: mem, on: &fails}
			if tt.fault != nil {
				s.bad = storagetest.NewFaulty(mem, *tt.fault)
			}
			o := &views.Options{Memory: 8 << 10} // which keeps no footer
			if tt.full {
				disk, err := cache.Open("", &cache.Options{Memory: 1})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { disk.Close() })
				o.Cache = disk
			}
			north := mustFind(t, openTree(t, s, o).Root(), "latest/north")
			merged := ""
			for _, name := range names(t, north) {
				if strings.HasPrefix(name, id) {
					merged = name
				}
			}
			n := mustFind(t, north, merged)
			if tt.change != nil {
				tt.change(mem)
			}
			fails.Store(true)
			_, err := n.(views.File).Open(t.Context())
			classes := []error{fs.ErrNotExist, fs.ErrPermission, views.ErrStale, views.ErrRefused, views.ErrNoSpace, storage.ErrUnavailable, context.Canceled}
			for _, c := range classes {
				if is := errors.Is(tt.want, c); errors.Is(err, c) != is {
					t.Errorf("open: %v: is %v: %v", err, c, errors.Is(err, c))
				}
			}
			if err == nil || !tt.full && !strings.Contains(err.Error(), base) {
				t.Errorf("open: %v, which does not say where", err)
			}
			fails.Store(false)
			if tt.fault != nil { // a trouble that passed
				if _, err := content(t.Context(), n); err != nil {
					t.Errorf("later: %v", err)
				}
			}
		})
	}
}

// A table that nobody can merge shows what needs no merging, and says of the rest why not.
func TestUnmergeable(t *testing.T) {
	f := load(t, "t9_mor_logs")
	changed := maps.Clone(f.files)
	props := string(changed[".hoodie/hoodie.properties"])
	props = strings.ReplaceAll(props, "hoodie.record.merge.mode=EVENT_TIME_ORDERING", "hoodie.record.merge.mode=CUSTOM")
	if props == string(f.files[".hoodie/hoodie.properties"]) {
		t.Fatal("the table states no merge mode")
	}
	changed[".hoodie/hoodie.properties"] = []byte(props + "\nhoodie.record.merge.strategy.id=12345678-0000-0000-0000-000000000000\n")
	root := openTree(t, storagetest.NewMem(changed), nil).Root()
	served, refusals := 0, 0
	for _, p := range names(t, mustFind(t, root, "latest")) {
		dir := mustFind(t, root, "latest/"+p)
		for _, name := range names(t, dir) {
			n := mustFind(t, dir, name)
			x, _ := n.Xattrs(t.Context())
			_, err := content(t.Context(), n)
			switch {
			case x["user.hudi.as_is"] == "true" && err == nil:
				served++
			case x["user.hudi.as_is"] != "true" && errors.Is(err, views.ErrRefused):
				refusals++
			default:
				t.Errorf("%s/%s: %v", p, name, err)
			}
		}
	}
	if served == 0 || refusals == 0 {
		t.Errorf("%d files served, %d refused", served, refusals)
	}
	if rows(t, mustFind(t, root, "read_optimized")) == 0 {
		t.Error("base files can't be read")
	}
}

func TestNoMetaFields(t *testing.T) {
	f := load(t, "t9_cow_partitioned")
	changed := maps.Clone(f.files)
	changed[".hoodie/hoodie.properties"] = append(slices.Clone(changed[".hoodie/hoodie.properties"]), "\nhoodie.populate.meta.fields=false\n"...)
	root := openTree(t, storagetest.NewMem(changed), nil).Root()
	n, err := find(t.Context(), root, "incremental/000..latest")
	if !refused(t, n, err) {
		t.Errorf("a range of a table that does not say when a row was written: %v", err)
	}
	if got := names(t, mustFind(t, root, "incremental")); len(got) > 0 {
		t.Errorf("listed: %q", got)
	}
}

// What could be answered another time is no refusal: nobody should remember it.
func TestStoreFailsDuringLookup(t *testing.T) {
	f := load(t, "t9_mor_pending")
	mem := storagetest.NewMem(f.files)
	for _, effect := range []storagetest.Effect{storagetest.Unavailable, storagetest.Cancelled} {
		var fails atomic.Bool
		s := &switched{Store: mem, bad: storagetest.NewFaulty(mem, storagetest.Fault{Op: storagetest.Open, Effect: effect}, storagetest.Fault{Op: storagetest.List, Effect: effect}), on: &fails}
		root := openTree(t, s, nil).Root()
		fails.Store(true)
		var found []views.Node
		for _, at := range []string{"incremental/000..latest", "latest", "asof/" + f.Timeline[0].Requested} {
			n, err := find(t.Context(), root, at)
			if err == nil {
				found = append(found, n)
				_, err = n.(views.Dir).Entries(t.Context())
			}
			if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, views.ErrRefused) || errors.Is(err, views.ErrStale) {
				t.Errorf("%v: %s: %v", effect, at, err)
			}
		}
		fails.Store(false)
		for _, n := range found {
			if _, err := n.(views.Dir).Entries(t.Context()); err != nil {
				t.Errorf("%v: a folder that remembers it: %v", effect, err)
			}
		}
		for i := range f.Views {
			if v := f.Views[i]; v.Error == "" && v.Kind == "snapshot" {
				if got := rows(t, mustFind(t, root, f.viewName(i))); got != *v.Rows {
					t.Errorf("later: %d rows, want %d", got, *v.Rows)
				}
			}
		}
	}
}

// lagging is a store whose first listing of a timeline takes until it is told to go on.
type lagging struct {
	storage.Store
	armed      atomic.Bool
	begun, now chan struct{}
}

func (l *lagging) List(ctx context.Context, dir string) ([]storage.Entry, error) {
	entries, err := l.Store.List(ctx, dir)
	if dir == ".hoodie/timeline" && l.armed.CompareAndSwap(true, false) {
		close(l.begun)
		<-l.now
	}
	return entries, err
}

// A refresh that was slow must not bring back what it saw before a faster one.
func TestRefreshNeverGoesBack(t *testing.T) {
	f := load(t, "t9_cow_partitioned")
	mem := storagetest.NewMem(f.upTo(2))
	s := &lagging{Store: mem, begun: make(chan struct{}), now: make(chan struct{})}
	tree := openTree(t, s, nil)
	for name, data := range f.upTo(3) { // so that the slow one has something to tell
		mem.Put(name, data)
	}
	s.armed.Store(true)
	var both sync.WaitGroup
	refresh := func() {
		if err := tree.Refresh(t.Context()); err != nil {
			t.Error(err)
		}
	}
	both.Go(refresh)
	<-s.begun
	for name, data := range f.files {
		mem.Put(name, data)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	if err := tree.Refresh(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one who could not wait: %v", err)
	}
	cancel()
	both.Go(refresh)
	time.Sleep(50 * time.Millisecond)
	close(s.now)
	both.Wait()
	if x, _ := mustFind(t, tree.Root(), "latest").Xattrs(t.Context()); x["user.hudi.instant"] != f.Timeline[len(f.Timeline)-1].Requested {
		t.Errorf("latest is of %s, want %s", x["user.hudi.instant"], f.Timeline[len(f.Timeline)-1].Requested)
	}
}

func TestWarehouse(t *testing.T) {
	one, two := load(t, "t6_mor_logs"), load(t, "t9_cow_partitioned")
	dir := t.TempDir()
	table := func(at string, files map[string][]byte) { put(t, filepath.Join(dir, at), files) }
	table("one", one.files)
	table("sales/eu/two", two.files)
	table("sales/us", two.upTo(1))
	table("sales-old/x", two.upTo(1))
	table(".trash/three", two.files)
	table("one/nested", two.files) // within a table
	newer := maps.Clone(two.files)
	newer[".hoodie/hoodie.properties"] = bytes.ReplaceAll(newer[".hoodie/hoodie.properties"], []byte("hoodie.table.version=9"), []byte("hoodie.table.version=99"))
	table("broken/newer", newer)
	bare := maps.Clone(two.files)
	delete(bare, ".hoodie/hoodie.properties")
	table("broken/bare", bare)
	put(t, dir, map[string][]byte{"README": []byte("x"), "docs/x.txt": []byte("x")})

	now := time.Now()
	tree := openTree(t, fileStore(t, dir), &views.Options{Clock: func() time.Time { return now }, PollInterval: time.Minute})
	root := tree.Root()
	for at, want := range map[string][]string{
		"":          {"broken", "one", "sales", "sales-old"},
		"sales":     {"eu", "us"},
		"sales/eu":  {"two"},
		"broken":    {"bare", "newer"},
		"sales-old": {"x"},
	} {
		n := views.Node(root)
		if at != "" {
			n = mustFind(t, root, at)
		}
		if got := names(t, n); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", at, got, want)
		}
	}
	for _, at := range []string{"", "sales", "sales/eu", "broken"} {
		n := views.Node(root)
		if at != "" {
			n = mustFind(t, root, at)
		}
		entries, _ := n.(views.Dir).Entries(t.Context())
		for _, e := range entries {
			if a, err := mustFind(t, n, e.Name).Attr(t.Context()); err != nil || a.Inode != e.Inode || !a.Dir || !e.Dir {
				t.Errorf("%s/%s: listed as %+v, but %+v, %v", at, e.Name, e, a, err)
			}
		}
	}
	for _, at := range []string{"nope", "docs", "README", ".trash", "one/nested", "sales/eu/x", "sale"} {
		if n, err := find(t.Context(), root, at); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %T, %v", at, n, err)
		}
	}
	for at, want := range map[string]string{"broken/newer": "99", "broken/bare": "hoodie.properties"} {
		n := mustFind(t, root, at)
		_, err := n.(views.Dir).Entries(t.Context())
		x, _ := n.Xattrs(t.Context())
		if err == nil || x["user.hudi.error"] != err.Error() || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, user.hudi.error %q", at, err, x["user.hudi.error"])
		}
		for _, below := range []string{"latest", "x"} {
			if _, err := find(t.Context(), n, below); err == nil {
				t.Errorf("%s/%s was found", at, below)
			}
		}
	}
	for at, f := range map[string]*fixture{"one": one, "sales/eu/two": two} {
		if got := rows(t, mustFind(t, root, at+"/latest")); got != *f.Views[0].Rows {
			t.Errorf("%s: %d rows, want %d", at, got, *f.Views[0].Rows)
		}
	}
	// The folders of two copies of a table are two, and so are their files, which may come to differ.
	table("copy", two.files)
	if _, err := find(t.Context(), root, "copy"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("looked for tables again within the poll interval: %v", err)
	}
	now = now.Add(2 * time.Minute)
	a, b := walk(t, mustFind(t, root, "copy/latest")), walk(t, mustFind(t, root, "sales/eu/two/latest"))
	for p := range b {
		if a[p].attr.Inode == b[p].attr.Inode {
			t.Errorf("%s of two tables is one inode", p)
		}
	}
	// A table that is repaired, one that grows and one that goes.
	table("broken/bare", two.files)
	table("sales/us", two.files)
	if err := os.RemoveAll(filepath.Join(dir, "sales-old")); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Minute)
	hooks := 0
	tree.OnChange(func() { hooks++ })
	if err := tree.Refresh(t.Context()); err != nil || hooks != 1 {
		t.Errorf("%v, %d calls of the hook for the one that grew", err, hooks)
	}
	for _, at := range []string{"broken/bare", "sales/us"} {
		if got := rows(t, mustFind(t, root, at+"/latest")); got != *two.Views[0].Rows {
			t.Errorf("%s: %d rows, want %d", at, got, *two.Views[0].Rows)
		}
	}
	if _, err := find(t.Context(), root, "sales-old"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is gone: %v", err)
	}
}

// One table's trouble is not the others'.
func TestRefreshOfSeveralTables(t *testing.T) {
	f := load(t, "t9_cow_partitioned")
	m := storagetest.NewMem(nil)
	for _, at := range []string{"a", "b", "c"} {
		for name, data := range f.upTo(1) {
			m.Put(at+"/"+name, data)
		}
	}
	tree := openTree(t, m, nil)
	hooks := 0
	tree.OnChange(func() { hooks++ })
	for _, at := range []string{"a", "b", "c"} {
		mustFind(t, tree.Root(), at)
	}
	m.Remove("b")
	for name, data := range f.files {
		m.Put("c/"+name, data)
	}
	err := tree.Refresh(t.Context())
	if err == nil || !strings.Contains(err.Error(), "table b") || strings.Contains(err.Error(), "table a") || hooks != 1 {
		t.Errorf("%v, %d calls of the hook", err, hooks)
	}
	if x, _ := mustFind(t, tree.Root(), "c/latest").Xattrs(t.Context()); x["user.hudi.instant"] != f.Timeline[len(f.Timeline)-1].Requested {
		t.Errorf("c shows %s", x["user.hudi.instant"])
	}
}

func TestNotATable(t *testing.T) {
	f := load(t, "t9_cow_partitioned")
	bare := maps.Clone(f.files)
	delete(bare, ".hoodie/hoodie.properties")
	for _, tt := range []struct {
		name  string
		files map[string][]byte
	}{
		{"nothing", nil},
		{"other files", map[string][]byte{"a/b/x.parquet": nil}},
		{"a table without its properties", bare},
		{"hidden tables", map[string][]byte{".a/.hoodie/hoodie.properties": nil}},
	} {
		if _, err := views.Open(t.Context(), storagetest.NewMem(tt.files), nil); !errors.Is(err, hudi.ErrNotTable) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	damaged := maps.Clone(f.files)
	damaged[".hoodie/hoodie.properties"] = []byte("hoodie.table.name=x\nhoodie.table.version=99\n")
	if _, err := views.Open(t.Context(), storagetest.NewMem(damaged), nil); err == nil || errors.Is(err, hudi.ErrNotTable) {
		t.Errorf("a table of a version of the future: %v", err)
	}
	denied := storagetest.NewFaulty(storagetest.NewMem(f.files), storagetest.Fault{Op: storagetest.Open, Effect: storagetest.Denied})
	if _, err := views.Open(t.Context(), denied, nil); !errors.Is(err, storage.ErrPermission) {
		t.Errorf("access denied: %v", err)
	}
}

// A local table is not only polled: a commit is heard of.
func TestHeard(t *testing.T) {
	for _, name := range []string{"t6_cow_partitioned", "t9_mor_logs"} {
		f := load(t, name)
		dir := t.TempDir()
		put(t, dir, f.upTo(1))
		tree := openTree(t, fileStore(t, dir), &views.Options{PollInterval: time.Hour})
		changed := make(chan struct{}, 1000)
		tree.OnChange(func() { changed <- struct{}{} })
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { tree.Run(ctx) })
		// Whether the folder is watched by now shows only when something is heard: what came too early is done again.
		waitFor(t, func() bool {
			put(t, dir, f.upTo(2))
			select {
			case <-changed:
				return true
			case <-time.After(50 * time.Millisecond):
				return false
			}
		})
		for n := 3; n <= len(f.Timeline); n++ {
			put(t, dir, f.upTo(n))
			waitFor(t, func() bool {
				x, err := mustFind(t, tree.Root(), "latest").Xattrs(t.Context())
				return err == nil && x["user.hudi.instant"] == f.Timeline[n-1].Requested
			})
		}
		cancel()
		running.Wait()
	}
}
