package views_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"go.uber.org/goleak"

	"github.com/hudifs/hudifs/internal/tabletest"
	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/storage/filestore"
	"github.com/hudifs/hudifs/views"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fixture is a real table of testdata, with Hudi's answers.
type fixture struct {
	name  string
	files map[string][]byte

	Version  int `json:"table_version"`
	Timeline []struct {
		Requested string `json:"requested"`
		Completed string `json:"completed"` // "" up to version 7
	} `json:"timeline"`
	Pending []string `json:"pending"`
	Views   []struct {
		Kind           string `json:"kind"`
		Instant        string `json:"instant"`
		Begin          string `json:"begin"`
		End            string `json:"end"`
		BeginInclusive bool   `json:"begin_inclusive"`
		Rows           *int   `json:"rows"`
		Error          string `json:"error"`
		ErrorOK        bool   `json:"error_ok_rows"`
		RefusalOK      bool   `json:"refusal_ok"`
		Doubt          string `json:"doubt"`
	} `json:"views"`
}

var (
	fixtures     = map[string]*fixture{}
	fixturesLock sync.Mutex
)

func load(t testing.TB, name string) *fixture {
	t.Helper()
	fixturesLock.Lock()
	defer fixturesLock.Unlock()
	if f := fixtures[name]; f != nil {
		return f
	}
	f := read(t, filepath.Join("..", "testdata", name))
	fixtures[name] = f
	return f
}

// read reads a case from its folder.
func read(t testing.TB, dir string) *fixture {
	t.Helper()
	f := &fixture{name: filepath.Base(dir), files: tabletest.Contents(t, filepath.Join(dir, "table.zip"), nil)}
	data, err := os.ReadFile(filepath.Join(dir, "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, f); err != nil {
		t.Fatal(err)
	}
	return f
}

// all are the names of the tables of testdata.
func all(t testing.TB) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("..", "testdata", "t*", "table.zip"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	var names []string
	for _, p := range found {
		names = append(names, filepath.Base(filepath.Dir(p)))
	}
	return names
}

// put writes files below a folder, a table's timeline after its data, as a writer does.
func put(t testing.TB, dir string, files map[string][]byte) {
	t.Helper()
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if late := isTimeline(a); late != isTimeline(b) {
			if late {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o750); err != nil {
			t.Fatal(err)
		}
		// Renamed into place, as Hudi does it: nobody sees half of a commit file.
		if err := os.WriteFile(p+".~", files[name], 0o600); err != nil {
			t.Fatal(err)
		}
		if at, ok := instantIn(name); ok {
			if err := os.Chtimes(p+".~", at, at); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Rename(p+".~", p); err != nil {
			t.Fatal(err)
		}
	}
}

// instantIn is when a file of the timeline was written, by its name.
func instantIn(name string) (time.Time, bool) {
	times, _, _ := strings.Cut(path.Base(name), ".")
	last := times[strings.LastIndex(times, "_")+1:]
	if !isTimeline(name) || len(last) != 17 {
		return time.Time{}, false
	}
	at, err := time.Parse("20060102150405.000", last[:14]+"."+last[14:])
	return at, err == nil
}

func isTimeline(name string) bool { return strings.HasPrefix(name, ".hoodie/") }

func (f *fixture) dir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, f.files)
	return dir
}

// upTo are the files of the table as it was after the first n writes. It holds only for tables whose every file is of one write.
func (f *fixture) upTo(n int) map[string][]byte {
	last := f.Timeline[n-1].Requested
	out := map[string][]byte{}
	for name, data := range f.files {
		i := strings.Index(name, last[:8]) // all of them are of one day
		if i < 0 || name[i:i+len(last)] <= last {
			out[name] = data
		}
	}
	return out
}

// clock is when the tests look at a table: a little after its last write.
func (f *fixture) clock(t testing.TB) func() time.Time {
	t.Helper()
	last := f.Timeline[len(f.Timeline)-1].Requested
	at, err := time.Parse("20060102150405.000", last[:14]+"."+last[14:])
	if err != nil {
		t.Fatal(err)
	}
	return func() time.Time { return at.Add(time.Minute) }
}

// fileStore opens a folder.
func fileStore(t testing.TB, dir string) storage.Store {
	t.Helper()
	s, err := filestore.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func openTree(t testing.TB, s storage.Store, o *views.Options) *views.Tree {
	t.Helper()
	tree, err := views.Open(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	})
	return tree
}

// find walks down from a node; elements are separated by slashes.
func find(ctx context.Context, n views.Node, p string) (views.Node, error) {
	for name := range strings.SplitSeq(p, "/") {
		d, ok := n.(views.Dir)
		if !ok {
			return nil, fmt.Errorf("%s: looked up in what is no folder", name)
		}
		var err error
		if n, err = d.Lookup(ctx, name); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func mustFind(t testing.TB, n views.Node, p string) views.Node {
	t.Helper()
	n, err := find(t.Context(), n, p)
	if err != nil {
		t.Fatalf("%s: %v", p, err)
	}
	return n
}

func names(t testing.TB, n views.Node) []string {
	t.Helper()
	entries, err := n.(views.Dir).Entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name)
	}
	return out
}

func content(ctx context.Context, n views.Node) (data []byte, err error) {
	h, err := n.(views.File).Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	return readAll(ctx, h)
}

func readAll(ctx context.Context, h views.Handle) (data []byte, err error) {
	buf := make([]byte, 1<<15)
	for {
		n, err := h.ReadAt(ctx, buf, int64(len(data)))
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return data, nil
		}
		data = append(data, buf[:n]...)
	}
}

func sumOf(data []byte) [32]byte { return sha256.Sum256(data) }

// a seen is what walking over a node showed.
type seen struct {
	attr views.Attr
	sum  [32]byte // of a file's content
	rows int64
	node views.Node
}

// walk looks at everything that is listed below a node, and checks of each node what must hold of all.
func walk(t testing.TB, n views.Node) map[string]seen {
	t.Helper()
	out := map[string]seen{}
	descend(t, n, "", out)
	return out
}

func descend(t testing.TB, n views.Node, at string, out map[string]seen) {
	t.Helper()
	attr, err := n.Attr(t.Context())
	if err != nil {
		t.Errorf("%s: %v", at, err)
		return
	}
	s := seen{attr: attr, node: n}
	if again, err := n.Attr(t.Context()); err != nil || attr.Frozen && again != attr || again.Inode != attr.Inode {
		t.Errorf("%s: attributes %+v, then %+v, %v", at, attr, again, err)
	}
	if attr.Inode < 2 || attr.ModTime.IsZero() || attr.Disk > attr.Size {
		t.Errorf("%s: %+v", at, attr)
	}
	switch n := n.(type) {
	case views.File:
		if attr.Dir {
			t.Errorf("%s: a file with the attributes of a folder", at)
		}
		data, err := content(t.Context(), n)
		if err != nil {
			t.Errorf("%s: %v", at, err)
			return
		}
		if attr.Frozen && int64(len(data)) != attr.Size {
			t.Errorf("%s: %d bytes, and a size of %d", at, len(data), attr.Size)
		}
		s.sum = sha256.Sum256(data)
		if strings.HasSuffix(at, ".parquet") {
			s.rows = rowsOf(t, at, data)
		}
	case views.Dir:
		if !attr.Dir {
			t.Errorf("%s: a folder with the attributes of a file", at)
		}
		entries, err := n.Entries(t.Context())
		if err != nil {
			t.Errorf("%s: %v", at, err)
			return
		}
		if !slices.IsSortedFunc(entries, func(a, b views.Entry) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("%s: not sorted: %v", at, entries)
		}
		for i, e := range entries {
			p := path.Join(at, e.Name)
			if i > 0 && entries[i-1].Name == e.Name || e.Name == "" || e.Name == "." || e.Name == ".." || len(e.Name) > 255 || strings.ContainsAny(e.Name, "/\x00") {
				t.Errorf("%s: entry %q", at, e.Name)
			}
			child, err := n.Lookup(t.Context(), e.Name)
			if err != nil {
				t.Errorf("%s: listed, but: %v", p, err)
				continue
			}
			if a, err := child.Attr(t.Context()); err != nil || a.Inode != e.Inode || a.Dir != e.Dir {
				t.Errorf("%s: listed as %+v, but %+v, %v", p, e, a, err)
			}
			descend(t, child, p, out)
		}
	default:
		t.Errorf("%s: neither file nor folder: %T", at, n)
	}
	out[at] = s
}

func rowsOf(t testing.TB, name string, data []byte) int64 {
	t.Helper()
	p, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return 0
	}
	return p.NumRows()
}

// rows are those of all files below a node.
func rows(t testing.TB, n views.Node) int {
	t.Helper()
	total := int64(0)
	for _, s := range walk(t, n) {
		total += s.rows
	}
	return int(total)
}

// files are the paths of the files among what was seen.
func files(m map[string]seen) []string {
	var out []string
	for p, s := range m {
		if !s.attr.Dir {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}
