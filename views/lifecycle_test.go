package views_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/views"
)

// A table is dropped under the tree, and another one is made in its place: with other columns, in the same folder or in one that was made anew.
func TestDroppedAndMadeAnew(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		whole               bool // the folder itself goes too
	}{
		{"other columns", "t9_mor_logs", "t9_types", false},
		{"other columns, the folder too", "t9_mor_logs", "t9_types", true},
		{"another version", "t6_mor_logs", "t9_cow_partitioned", true},
		{"the version before", "t9_cow_partitioned", "t6_types", false},
		{"the same one again", "t9_mor_logs", "t9_mor_logs", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, after := load(t, c.before), load(t, c.after)
			dir := filepath.Join(t.TempDir(), "table")
			put(t, dir, before.files)
			tree := openTree(t, fileStore(t, dir), &views.Options{Clock: before.clock(t), Grace: time.Hour})
			hooks := 0
			tree.OnChange(func() { hooks++ })
			old := mustFind(t, tree.Root(), "latest").(views.Dir)
			listed := walk(t, old)
			open := map[string]views.Handle{}
			for _, p := range files(listed) {
				h, err := listed[p].node.(views.File).Open(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer h.Close()
				open[p] = h
			}

			drop(t, dir, c.whole)
			for range 2 {
				if err := tree.Refresh(t.Context()); !errors.Is(err, hudi.ErrNotTable) || hooks != 1 {
					t.Errorf("dropped: %v, %d calls of the hook", err, hooks)
				}
			}
			for _, at := range []string{"latest", "asof/latest", "asof/" + before.Timeline[0].Requested, "incremental/000..latest", "read_optimized"} {
				n, err := find(t.Context(), tree.Root(), at)
				if err != nil {
					t.Errorf("%s: %v", at, err)
					continue
				}
				x, _ := n.Xattrs(t.Context())
				if _, err := n.(views.Dir).Entries(t.Context()); !errors.Is(err, fs.ErrNotExist) || x["user.hudi.error"] != err.Error() || !strings.Contains(err.Error(), "hoodie.properties") {
					t.Errorf("%s: %v, user.hudi.error %q", at, err, x["user.hudi.error"])
				}
			}
			for _, at := range []string{"asof", "incremental"} {
				if _, err := mustFind(t, tree.Root(), at).(views.Dir).Entries(t.Context()); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s lists what is gone: %v", at, err)
				}
			}
			if _, err := content(t.Context(), mustFind(t, tree.Root(), ".hudi/status")); err != nil {
				t.Errorf("status: %v", err)
			}
			for p, h := range open {
				data, err := readAll(t.Context(), h)
				if err != nil || sumOf(data) != listed[p].sum {
					t.Errorf("%s, open since before: %d bytes, %v", p, len(data), err)
				}
				if _, err := content(t.Context(), listed[p].node); !errors.Is(err, views.ErrStale) {
					t.Errorf("%s, opened again: %v", p, err)
				}
			}

			put(t, dir, after.files)
			if err := tree.Refresh(t.Context()); err != nil || hooks != 2 {
				t.Fatalf("made anew: %v, %d calls of the hook", err, hooks)
			}
			got := walk(t, mustFind(t, tree.Root(), "latest"))
			want := walk(t, mustFind(t, openTree(t, fileStore(t, dir), nil).Root(), "latest"))
			if !maps.EqualFunc(want, got, func(a, b seen) bool { return a.attr == b.attr && a.sum == b.sum }) {
				t.Errorf("not what one sees who opens the table now:\n%v\n%v", files(got), files(want))
			}
			if totalRows(got) != int64(*after.Views[0].Rows) {
				t.Errorf("%d rows, want %d", totalRows(got), *after.Views[0].Rows)
			}
			if now := names(t, mustFind(t, tree.Root(), "asof")); !slices.Contains(now, after.Timeline[len(after.Timeline)-1].Requested) {
				t.Errorf("asof lists %q", now)
			}
			if c.before == c.after {
				return
			}
			for _, p := range files(listed) {
				if n, err := find(t.Context(), tree.Root(), "latest/"+p); err == nil {
					t.Errorf("%s of the table that was dropped: %T", p, n)
				}
			}
		})
	}
}

// drop removes a table: all that lies in its folder, or that too.
func drop(t *testing.T, dir string, whole bool) {
	t.Helper()
	if whole {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

// A table of a warehouse that is dropped is not found, and when it is made anew it is another one, both within a poll interval.
func TestDroppedFromAWarehouse(t *testing.T) {
	one, two := load(t, "t9_mor_logs"), load(t, "t9_types")
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a"), one.files)
	put(t, filepath.Join(dir, "b"), two.files)
	now := time.Now()
	tree := openTree(t, fileStore(t, dir), &views.Options{Clock: func() time.Time { return now }, PollInterval: time.Minute})
	if got := rows(t, mustFind(t, tree.Root(), "a/latest")); got != *one.Views[0].Rows {
		t.Errorf("%d rows", got)
	}
	drop(t, filepath.Join(dir, "a"), true)
	if err := tree.Refresh(t.Context()); !errors.Is(err, hudi.ErrNotTable) {
		t.Error(err)
	}
	now = now.Add(2 * time.Minute)
	if _, err := find(t.Context(), tree.Root(), "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("dropped: %v", err)
	}
	put(t, filepath.Join(dir, "a"), two.files)
	now = now.Add(2 * time.Minute)
	if got := rows(t, mustFind(t, tree.Root(), "a/latest")); got != *two.Views[0].Rows {
		t.Errorf("made anew: %d rows", got)
	}
}

// movedTo is the name in layout 2 of a file of a timeline of layout 1.
func movedTo(t *testing.T, name string, upgraded *fixture) string {
	t.Helper()
	state := func(name string) string {
		for _, s := range []string{"requested", "inflight"} {
			if strings.HasSuffix(name, s) {
				return s
			}
		}
		return ""
	}
	instant, _, _ := strings.Cut(name, ".")
	for moved := range upgraded.files {
		if strings.HasPrefix(moved, ".hoodie/timeline/"+instant) && state(moved) == state(name) {
			return moved
		}
	}
	t.Fatalf("%s was not moved", name)
	return ""
}

// A table is upgraded from version 6 to 8 and to 9, and written to, as Hudi 1.1 does it. While its timeline is moved nothing changes;
// afterwards old instants are found as before.
func TestUpgrade(t *testing.T) {
	six, nine := load(t, "t6_mor_logs"), load(t, "t9_upgraded")
	eight, err := os.ReadFile(filepath.Join("..", "testdata", "t9_upgraded", "version8.properties"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put(t, dir, six.files)
	tree := openTree(t, fileStore(t, dir), &views.Options{Clock: six.clock(t), Grace: time.Hour})
	refresh := func(want error) {
		t.Helper()
		if err := tree.Refresh(t.Context()); !errors.Is(err, want) {
			t.Fatal(err)
		}
	}
	version := func(want string) {
		t.Helper()
		if x, _ := tree.Root().Xattrs(t.Context()); x["user.hudi.version"] != want {
			t.Errorf("version %s, want %s", x["user.hudi.version"], want)
		}
	}
	shows := func(f *fixture) {
		t.Helper()
		for i, v := range f.Views {
			if v.Kind == "cdc" || v.Error != "" || v.BeginInclusive {
				continue
			}
			if got := rows(t, mustFind(t, tree.Root(), f.viewName(i))); got != *v.Rows {
				t.Errorf("%s: %d rows, want %d", f.viewName(i), got, *v.Rows)
			}
		}
	}
	shows(six)
	old := walk(t, mustFind(t, tree.Root(), "latest"))

	// The compaction that comes before, of layout 1 still.
	compaction := nine.Timeline[len(six.Timeline)].Requested
	added := map[string][]byte{}
	for name, content := range nine.files {
		rest, ok := strings.CutPrefix(name, ".hoodie/timeline/"+compaction)
		switch {
		case ok && rest[0] == '_':
			added[".hoodie/"+compaction+".commit"] = content
		case ok:
			added[".hoodie/"+compaction+rest] = content
		case strings.Contains(name, compaction):
			added[name] = content
		}
	}
	put(t, dir, added)
	refresh(nil)
	compacted := walk(t, mustFind(t, tree.Root(), "latest"))
	if totalRows(compacted) != totalRows(old) || maps.Equal(sums(compacted), sums(old)) {
		t.Errorf("compacted: %d rows, want %d", totalRows(compacted), totalRows(old))
	}
	checkFound(t, tree.Root(), "latest", old)

	moved := 0
	for _, e := range entriesOf(t, filepath.Join(dir, ".hoodie")) {
		if instant, _, _ := strings.Cut(e, "."); len(instant) != 17 {
			continue
		}
		to := movedTo(t, e, nine)
		put(t, dir, map[string][]byte{to: nine.files[to]})
		if err := os.Remove(filepath.Join(dir, ".hoodie", e)); err != nil {
			t.Fatal(err)
		}
		refresh(hudi.ErrMoving)
		if _, err := views.Open(t.Context(), fileStore(t, dir), nil); !errors.Is(err, hudi.ErrMoving) {
			t.Fatalf("opened while %s is moved: %v", e, err)
		}
		if moved++; moved%7 != 1 {
			continue
		}
		if got := walk(t, mustFind(t, tree.Root(), "latest")); !maps.Equal(sums(got), sums(compacted)) {
			t.Errorf("latest changed when %s was moved", e)
		}
	}
	if moved != 3*(len(six.Timeline)+1) {
		t.Errorf("%d files were moved", moved)
	}
	version("6")

	put(t, dir, map[string][]byte{".hoodie/hoodie.properties": eight})
	refresh(nil)
	version("8")
	if got := walk(t, mustFind(t, tree.Root(), "latest")); totalRows(got) != totalRows(old) {
		t.Errorf("version 8: %d rows, want %d", totalRows(got), totalRows(old))
	}
	put(t, dir, map[string][]byte{".hoodie/hoodie.properties": nine.files[".hoodie/hoodie.properties"]})
	refresh(nil)
	version("9")
	if got := walk(t, mustFind(t, tree.Root(), "latest")); totalRows(got) != totalRows(old) {
		t.Errorf("version 9: %d rows, want %d", totalRows(got), totalRows(old))
	}
	put(t, dir, nine.files)
	refresh(nil)
	shows(nine)
	for _, w := range six.Timeline {
		mustFind(t, tree.Root(), "asof/"+w.Requested)
	}
}

func entriesOf(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}
