package views_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hudifs/hudifs/cache"
	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/storage/storagetest"
	"github.com/hudifs/hudifs/views"
)

func diskCache(t *testing.T, dir string) *cache.Disk {
	t.Helper()
	disk, err := cache.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { disk.Close() })
	return disk
}

// sources are the files of the table that a file of a view is made of.
func sources(t *testing.T, n views.Node) []string {
	t.Helper()
	x, err := n.Xattrs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range append(strings.Split(x["user.hudi.log_files"], "\n"), x["user.hudi.base_file"]) {
		if name != "" {
			out = append(out, path.Join(x["user.hudi.partition"], name))
		}
	}
	return out
}

// What has been rendered stays readable when the files that it was made of are gone, by the daemon that rendered it and by one that
// shares its cache; what is open stays readable in any case; the rest is stale.
func TestRenderedStaysReadable(t *testing.T) {
	f := load(t, "demo") // its metadata table goes on listing what is gone
	mem, dir := storagetest.NewMem(f.files), t.TempDir()
	options := func() *views.Options { return &views.Options{Cache: diskCache(t, dir), Memory: 8 << 10} }
	tree := openTree(t, mem, options())
	latest := walk(t, mustFind(t, tree.Root(), "latest"))
	asOf := "asof/" + f.Timeline[1].Requested
	old := mustFind(t, tree.Root(), asOf)
	unread := map[string]views.Node{}
	for _, dir := range names(t, old) {
		for _, name := range names(t, mustFind(t, old, dir)) {
			unread[dir+"/"+name] = mustFind(t, old, dir+"/"+name)
		}
	}
	open := map[string]views.Handle{}
	rendered := 0
	for _, p := range files(latest) {
		h, err := latest[p].node.(views.File).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		open[p] = h
		if x, _ := latest[p].node.Xattrs(t.Context()); x["user.hudi.as_is"] == "false" {
			rendered++
		}
	}
	if rendered == 0 {
		t.Fatal("nothing is rendered")
	}
	for name := range f.files {
		if !isTimeline(name) {
			mem.Remove(name)
		}
	}
	for p, h := range open {
		if data, err := readAll(t.Context(), h); err != nil || sumOf(data) != latest[p].sum {
			t.Errorf("%s, which is open: %d bytes, %v", p, len(data), err)
		}
	}
	for p, n := range unread {
		x, _ := n.Xattrs(t.Context())
		if _, err := content(t.Context(), n); !errors.Is(err, views.ErrStale) {
			t.Errorf("%s/%s, never read, as it is: %s: %v", asOf, p, x["user.hudi.as_is"], err)
		}
	}
	for _, p := range files(latest) {
		n := latest[p].node
		x, _ := n.Xattrs(t.Context())
		a, err := n.Attr(t.Context())
		var data []byte
		if err == nil {
			data, err = content(t.Context(), n)
		}
		switch asIs := x["user.hudi.as_is"] == "true"; {
		case asIs && !errors.Is(err, views.ErrStale):
			t.Errorf("%s, as it was: %v", p, err)
		case !asIs && (err != nil || a != latest[p].attr || sumOf(data) != latest[p].sum):
			t.Errorf("%s, rendered: %+v, %d bytes, %v", p, a, len(data), err)
		}
	}
}

// The same for one file whose sources are gone, after a restart: the name says what the bytes are.
func TestRenderedIsFoundAgain(t *testing.T) {
	f := load(t, "demo") // its metadata table goes on listing what is gone
	mem, dir := storagetest.NewMem(f.files), t.TempDir()
	tree := openTree(t, mem, &views.Options{Cache: diskCache(t, dir)})
	latest := walk(t, mustFind(t, tree.Root(), "latest"))
	victim, oldest := "", ""
	for _, p := range files(latest) { // the base file of the greatest instant says what schema all have
		x, _ := latest[p].node.Xattrs(t.Context())
		base := x["user.hudi.base_file"]
		if at := base[strings.LastIndex(base, "_")+1:]; x["user.hudi.as_is"] == "false" && (victim == "" || at < oldest) {
			victim, oldest = p, at
		}
	}
	for _, name := range sources(t, latest[victim].node) {
		mem.Remove(name)
	}
	again := openTree(t, mem, &views.Options{Cache: diskCache(t, dir)})
	checkFound(t, again.Root(), "latest", map[string]seen{victim: latest[victim]})
	without := openTree(t, mem, &views.Options{Cache: diskCache(t, t.TempDir())})
	if _, err := mustFind(t, without.Root(), "latest/"+victim).Attr(t.Context()); !errors.Is(err, views.ErrStale) {
		t.Errorf("who has not rendered it: %v", err)
	}
}

// sweep is what a clean records, as JSON, which the reader takes as well as Avro.
func sweep(names []string) (plan, done []byte) {
	paths, deleted := map[string][]map[string]any{}, map[string]any{}
	for _, name := range names {
		dir := path.Dir(name)
		paths[dir] = append(paths[dir], map[string]any{"filePath": "file:/elsewhere/" + name, "isBootstrapBaseFile": false})
	}
	for dir, list := range paths {
		var removed []string
		for _, f := range list {
			removed = append(removed, path.Base(f["filePath"].(string)))
		}
		deleted[dir] = map[string]any{"policy": "KEEP_LATEST_FILE_VERSIONS", "successDeleteFiles": removed}
	}
	plan, _ = json.Marshal(map[string]any{"filePathsToBeDeletedPerPartition": paths})
	done, _ = json.Marshal(map[string]any{"earliestCommitToRetain": "", "partitionMetadata": deleted})
	return plan, done
}

// A view that was looked up before a clean and is listed after it shows all that it is of, or nothing. What is looked up then is the table
// of then.
func TestCleanedBeforeItIsListed(t *testing.T) {
	f := load(t, "t9_cow_partitioned")
	superseded := func(n int) (names []string) { // of which a newer version was written up to the nth write
		newest := map[string]string{}
		for name := range f.upTo(n) {
			if g, ok := groupOf(name); ok {
				newest[g] = max(newest[g], name)
			}
		}
		for name := range f.upTo(n) {
			if g, ok := groupOf(name); ok && newest[g] != name {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
	old, unneeded := superseded(3), superseded(2)
	needed := slices.DeleteFunc(slices.Clone(old), func(name string) bool { return slices.Contains(unneeded, name) })
	plan, done := sweep(old)
	const requested, completed = ".hoodie/timeline/20270101000000000.clean.requested", ".hoodie/timeline/20270101000000000_20270101000001000.clean"
	for _, c := range []struct {
		name   string
		change func(m *storagetest.Mem)
		stale  bool
	}{
		{"nothing happens", func(*storagetest.Mem) {}, false},
		{"more commits", func(m *storagetest.Mem) { putAll(m, f.upTo(4)) }, false},
		{"cleaned", func(m *storagetest.Mem) {
			m.Put(requested, plan)
			removeAll(m, old)
			m.Put(completed, done)
		}, true},
		{"a clean has begun", func(m *storagetest.Mem) {
			m.Put(requested, plan)
			removeAll(m, needed[:1])
		}, true},
		{"a clean has removed nothing yet", func(m *storagetest.Mem) { m.Put(requested, plan) }, false},
		{"a clean of files that are not there for long", func(m *storagetest.Mem) {
			plan, done := sweep([]string{old[0][:strings.LastIndex(old[0], "_")] + "_20200101000000000.parquet"})
			m.Put(requested, plan)
			m.Put(completed, done)
		}, false},
		{"the write was undone", func(m *storagetest.Mem) {
			for name := range f.upTo(2) {
				if strings.HasPrefix(name, ".hoodie/timeline/"+f.Timeline[1].Requested) {
					m.Remove(name)
				}
			}
		}, true},
		{"another table", func(m *storagetest.Mem) {
			m.Remove("")
			putAll(m, load(t, "t9_types").files)
		}, true},
	} {
		for _, at := range []string{"latest", "read_optimized", "incremental/000..latest", "asof/" + f.Timeline[1].Requested} {
			t.Run(c.name+" "+at, func(t *testing.T) {
				mem := storagetest.NewMem(f.upTo(2))
				tree := openTree(t, mem, &views.Options{NoMetadataTable: true})
				want := walk(t, mustFind(t, openTree(t, storagetest.NewMem(f.upTo(2)), nil).Root(), at))
				n := mustFind(t, tree.Root(), at).(views.Dir)
				putAll(mem, f.upTo(3))
				c.change(mem)
				_, err := n.Entries(t.Context())
				if errors.Is(err, views.ErrStale) != c.stale || !c.stale && err != nil {
					t.Fatalf("stale %v, want %v: %v", errors.Is(err, views.ErrStale), c.stale, err)
				}
				if !c.stale {
					if got := walk(t, n); !maps.Equal(sums(got), sums(want)) {
						t.Errorf("not what it was:\n%v\n%v", files(got), files(want))
					}
					return
				}
				if x, _ := n.Xattrs(t.Context()); x["user.hudi.error"] == "" {
					t.Error("it does not say why")
				}
				// The kernel looks the name up once more, and nobody has told the tree of anything.
				if at != "latest" && at != "read_optimized" {
					return
				}
				got := walk(t, mustFind(t, tree.Root(), at))
				want = walk(t, mustFind(t, openTree(t, mem, nil).Root(), at))
				if !maps.Equal(sums(got), sums(want)) {
					t.Errorf("then:\n%v\n%v", files(got), files(want))
				}
			})
		}
	}
}

// What latest has listed, and somebody has read, can be read by its name after the next commit, also when the cleaner has taken what it was
// made of. Who has not rendered it says that it is no longer there, and why.
func TestGraceOfWhatWasCleaned(t *testing.T) {
	f := load(t, "t9_mor_compacted") // compacted by the fourth write
	mem := storagetest.NewMem(f.upTo(3))
	options := func() *views.Options {
		return &views.Options{NoMetadataTable: true, Cache: diskCache(t, t.TempDir()), Clock: f.clock(t), Grace: time.Hour}
	}
	tree := openTree(t, mem, options())
	before := walk(t, mustFind(t, tree.Root(), "latest"))
	putAll(mem, f.upTo(4))
	var old []string
	for name := range f.upTo(3) {
		if !isTimeline(name) && !strings.Contains(name, "partition_metadata") {
			old = append(old, name)
		}
	}
	kept := walk(t, mustFind(t, openTree(t, storagetest.NewMem(f.upTo(4)), options()).Root(), "latest"))
	old = slices.DeleteFunc(old, func(name string) bool { // the slices that were not compacted
		return slices.ContainsFunc(slices.Collect(maps.Values(kept)), func(s seen) bool {
			return !s.attr.Dir && slices.Contains(sources(t, s.node), name)
		})
	})
	plan, done := sweep(old)
	mem.Put(".hoodie/timeline/20270101000000000.clean.requested", plan)
	removeAll(mem, old)
	mem.Put(".hoodie/timeline/20270101000000000_20270101000001000.clean", done)
	if err := tree.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := openTree(t, mem, options())
	found := 0
	for _, p := range files(before) {
		if _, ok := kept[p]; ok {
			continue
		}
		n, err := find(t.Context(), other.Root(), "latest/"+p)
		if !errors.Is(err, views.ErrStale) {
			t.Errorf("%s, by who has never read it: %T, %v", p, n, err)
		}
		if x, _ := before[p].node.Xattrs(t.Context()); x["user.hudi.as_is"] == "true" {
			continue
		}
		found++
		checkFound(t, tree.Root(), "latest", map[string]seen{p: before[p]})
	}
	if found == 0 {
		t.Error("nothing that was rendered was cleaned: nothing was tested")
	}
	if _, err := find(t.Context(), other.Root(), "latest/north/x.parquet"); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, views.ErrStale) {
		t.Errorf("a name of no file: %v", err)
	}
}

// vanishing is a store from which a folder goes just before it is listed.
type vanishing struct {
	*storagetest.Mem
	folder string
	gone   atomic.Bool
}

func (s *vanishing) List(ctx context.Context, dir string) ([]storage.Entry, error) {
	if dir == s.folder && !s.gone.Swap(true) {
		s.Remove(dir)
	}
	return s.Mem.List(ctx, dir)
}

// The folder of a partition may go while it is listed. Where nobody needs it any more nothing is missed; otherwise nothing is shown.
func TestPartitionVanishes(t *testing.T) {
	f := load(t, "t6_insert_overwrite") // west is dropped by the fourth write
	var west []string
	for name := range f.upTo(4) {
		if strings.HasPrefix(name, "west/") {
			west = append(west, name)
		}
	}
	plan, _ := sweep(west)
	for _, c := range []struct {
		name    string
		writes  int
		cleaned bool
		stale   bool
	}{
		{"cleaned", 4, true, false},
		{"removed by hand", 4, false, true},
		{"cleaned too early", 3, true, true},
		{"removed by hand too early", 3, false, true},
	} {
		want := walk(t, mustFind(t, openTree(t, storagetest.NewMem(f.upTo(c.writes)), nil).Root(), "latest"))
		s := &vanishing{Mem: storagetest.NewMem(f.upTo(c.writes)), folder: "west"}
		if c.cleaned {
			s.Put(".hoodie/20270101000000000.clean.requested", plan)
		}
		tree := openTree(t, s, nil)
		latest := mustFind(t, tree.Root(), "latest")
		if _, err := latest.(views.Dir).Entries(t.Context()); errors.Is(err, views.ErrStale) != c.stale || !c.stale && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if !s.gone.Load() {
			t.Errorf("%s: it was not listed", c.name)
		}
		if c.stale {
			continue
		}
		if got := walk(t, latest); !maps.Equal(sums(got), sums(want)) {
			t.Errorf("%s: %v, want %v", c.name, files(got), files(want))
		}
	}
}

// groupOf is the file group of a base file.
func groupOf(name string) (string, bool) {
	id, _, ok := strings.Cut(name, "_")
	return id, ok && strings.HasSuffix(name, ".parquet") && !isTimeline(name)
}

func putAll(m *storagetest.Mem, files map[string][]byte) {
	for _, late := range []bool{false, true} {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if isTimeline(name) == late {
				m.Put(name, files[name])
			}
		}
	}
}

func removeAll(m *storagetest.Mem, names []string) {
	for _, name := range names {
		m.Remove(name)
	}
}
