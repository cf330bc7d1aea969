package views_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hudifs/hudifs/storage/storagetest"
	"github.com/hudifs/hudifs/views"
)

// A replay writes a real table anew, a write at a time, in an order of its own. Every step takes five minutes.
type replay struct {
	t   testing.TB
	f   *fixture
	dir string
	now time.Time
}

const step = 5 * time.Minute

func newReplay(t testing.TB, name string) *replay {
	t.Helper()
	f := load(t, name)
	r := &replay{t: t, f: f, dir: t.TempDir(), now: f.clock(t)()}
	files := map[string][]byte{}
	for name, data := range f.files {
		if r.write(name) < 0 {
			files[name] = data
		}
	}
	put(t, r.dir, files)
	return r
}

var (
	writtenPath = regexp.MustCompile(`"path" : "([^"]+)"`)
	longNumber  = regexp.MustCompile(`\d{17}`)
)

// write is the number of the write that made a file, from 1; -1 for what was there before all of them.
func (r *replay) write(name string) int {
	at := longNumber.FindString(name)
	if at == "" {
		return -1
	}
	if strings.Contains(name, ".log.") && r.f.Version < 8 { // which has the instant of its base file
		for i, w := range r.f.Timeline {
			for _, m := range writtenPath.FindAllSubmatch(r.f.files[r.completed(i+1)], -1) {
				if string(m[1]) == name {
					return i + 1
				}
			}
			_ = w
		}
	}
	for i, w := range r.f.Timeline {
		if at <= w.Requested {
			return i + 1
		}
	}
	r.t.Fatalf("%s is younger than all writes", name)
	return 0
}

// completed is the file whose appearance completes a write.
func (r *replay) completed(n int) string {
	w := r.f.Timeline[n-1]
	for name := range r.f.files {
		base := path.Base(name)
		inTimeline := path.Dir(name) == ".hoodie" || path.Dir(name) == ".hoodie/timeline"
		if inTimeline && strings.HasPrefix(base, w.Requested) && !strings.HasSuffix(base, ".requested") && !strings.HasSuffix(base, "inflight") {
			return name
		}
	}
	r.t.Fatalf("write %s has not completed", w.Requested)
	return ""
}

// begin writes the files of a write, and does not complete it.
func (r *replay) begin(n int) {
	r.t.Helper()
	files := map[string][]byte{}
	for name, data := range r.f.files {
		if r.write(name) == n && name != r.completed(n) {
			files[name] = data
		}
	}
	put(r.t, r.dir, files)
}

// complete completes a write, at the time of the replay.
func (r *replay) complete(n int) {
	r.t.Helper()
	r.now = r.now.Add(step)
	name := r.completed(n)
	data, base := r.f.files[name], path.Base(name)
	if requested, rest, ok := strings.Cut(base, "_"); ok {
		_, action, _ := strings.Cut(rest, ".")
		base = fmt.Sprintf("%s_%s.%s", requested, strings.Replace(r.now.Format("20060102150405.000"), ".", "", 1), action)
	}
	p := filepath.Join(r.dir, filepath.FromSlash(path.Dir(name)), base)
	if err := os.WriteFile(p+".~", data, 0o600); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Chtimes(p+".~", r.now, r.now); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Rename(p+".~", p); err != nil {
		r.t.Fatal(err)
	}
}

func (r *replay) options() *views.Options {
	return &views.Options{Clock: func() time.Time { return r.now }, Grace: 6 * step, NoMetadataTable: true}
}

// orders are those in which writers may begin (positive) and complete (negative) four writes.
var orders = map[string][]int{
	"one after the other":     {1, -1, 2, -2, 3, -3, 4, -4},
	"overlapping":             {1, -1, 2, 3, -3, -2, 4, -4},
	"one takes long":          {1, -1, 2, 3, -3, 4, -4, -2},
	"behind one that is open": {1, -1, 2, 3, -3, 4, -4},
	"all at once":             {1, 2, 3, 4, -1, -4, -3, -2},
}

// What latest has listed is found again by its name, by the daemon that listed it and by one that was not there, in whatever order the writes
// were requested and completed.
func TestGraceInAnyOrder(t *testing.T) {
	for _, name := range growing {
		for order, steps := range orders {
			t.Run(name+" "+order, func(t *testing.T) {
				r := newReplay(t, name)
				var tree *views.Tree
				var listed []map[string]seen
				for _, s := range steps {
					if s > 0 {
						r.begin(s)
					} else {
						r.complete(-s)
					}
					if tree == nil {
						tree = openTree(t, fileStore(t, r.dir), r.options())
					}
					if err := tree.Refresh(t.Context()); err != nil {
						t.Fatal(err)
					}
					listed = append(listed, walk(t, mustFind(t, tree.Root(), "latest")))
				}
				other := openTree(t, fileStore(t, r.dir), r.options())
				last, old := walk(t, mustFind(t, other.Root(), "latest")), 0
				for _, before := range listed {
					for _, p := range files(before) {
						if _, ok := last[p]; !ok {
							old++
						}
					}
					checkFound(t, tree.Root(), "latest", before)
					checkFound(t, other.Root(), "latest", before)
				}
				if old == 0 {
					t.Error("all that was listed is still latest: nothing was tested")
				}

				// Later nobody may count on it.
				r.now = r.now.Add(10 * step)
				late := openTree(t, fileStore(t, r.dir), r.options())
				for _, before := range listed {
					for _, p := range files(before) {
						_, err := find(t.Context(), late.Root(), "latest/"+p)
						if _, ok := last[p]; ok && err != nil || !ok && !errors.Is(err, fs.ErrNotExist) {
							t.Errorf("%s, long after: %v", p, err)
						}
					}
				}
			})
		}
	}
}

// Log files that grow: a storage that can append has one log file for several writes. What was listed before a write to it is found
// again with the bytes that were there, also while the write is under way.
func TestGraceOfGrowingLogs(t *testing.T) {
	f := load(t, "t6_mor_logs")
	r := &replay{t: t, f: f, now: f.clock(t)()}
	mem := storagetest.NewMem(nil)
	for name, data := range f.files {
		if r.write(name) < 0 && !strings.Contains(name, ".log.") {
			mem.Put(name, data)
		}
	}
	grown := map[string][]byte{} // log files as they are by now, by file group
	first := map[string]string{}
	var tree *views.Tree
	var listed []map[string]seen
	look := func() {
		t.Helper()
		if tree == nil {
			tree = openTree(t, mem, r.options())
		}
		if err := tree.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		listed = append(listed, walk(t, mustFind(t, tree.Root(), "latest")))
	}
	for n := 1; n <= len(f.Timeline); n++ {
		for name, data := range f.files {
			if r.write(name) == n && name != r.completed(n) && !strings.Contains(name, ".log.") {
				mem.Put(name, data)
			}
		}
		commit := f.files[r.completed(n)]
		var torn []func()
		for _, m := range writtenPath.FindAllSubmatch(commit, -1) {
			p := string(m[1])
			if !strings.Contains(p, ".log.") {
				continue
			}
			group := p[:strings.Index(p, ".log.")]
			if first[group] == "" {
				first[group] = p
			}
			at := first[group]
			before, added := grown[group], f.files[p]
			grown[group] = slices.Concat(before, added)
			commit = appended(t, commit, p, at, len(before), len(added))
			mem.Put(at, slices.Concat(before, added[:len(added)/2]))
			torn = append(torn, func() { mem.Put(at, grown[group]) })
		}
		if n > 1 {
			look() // half of the blocks are there
		}
		for _, whole := range torn {
			whole()
		}
		if n > 1 {
			look() // they are there, and do not count yet
		}
		mem.Put(r.completed(n), commit)
		look()
	}
	for i := range f.Timeline {
		during := listed[max(0, 3*i-2):]
		if i > 0 && (!maps.Equal(sums(during[0]), sums(listed[max(0, 3*i-3)])) || !maps.Equal(sums(during[1]), sums(during[0]))) {
			t.Errorf("write %d was seen before it had completed", i+1)
		}
	}
	want := walk(t, mustFind(t, openTree(t, storagetest.NewMem(f.files), r.options()).Root(), "latest"))
	if now := listed[len(listed)-1]; totalRows(now) != totalRows(want) {
		t.Errorf("%d rows where the table has %d", totalRows(now), totalRows(want))
	}
	other := openTree(t, mem, r.options())
	for _, before := range listed {
		checkFound(t, tree.Root(), "latest", before)
		checkFound(t, other.Root(), "latest", before)
	}
}

// appended is a commit that says of one log file that it was appended to another one.
func appended(t *testing.T, commit []byte, from, to string, offset, size int) []byte {
	t.Helper()
	var m map[string]any
	d := json.NewDecoder(bytes.NewReader(commit))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		t.Fatal(err)
	}
	for _, stats := range m["partitionToWriteStats"].(map[string]any) {
		for _, s := range stats.([]any) {
			if s := s.(map[string]any); s["path"] == from {
				s["path"], s["logOffset"], s["fileSizeInBytes"] = to, offset, offset+size
			}
		}
	}
	out, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(out, []byte(`"path": "`), []byte(`"path" : "`))
}

func sums(m map[string]seen) map[string][32]byte {
	out := map[string][32]byte{}
	for p, s := range m {
		out[p] = s.sum
	}
	return out
}

func totalRows(m map[string]seen) int64 {
	total := int64(0)
	for _, s := range m {
		total += s.rows
	}
	return total
}
