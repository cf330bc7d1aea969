package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/hudifs/hudifs/views"
)

var born = time.Date(2026, 11, 30, 0, 22, 8, 0, time.UTC)

type memDir map[string]views.Node

func (d memDir) Attr(context.Context) (views.Attr, error) {
	return views.Attr{Dir: true, ModTime: born}, nil
}

func (d memDir) Xattrs(context.Context) (map[string]string, error) { return nil, nil }

func (d memDir) Lookup(_ context.Context, name string) (views.Node, error) {
	if n, ok := d[name]; ok {
		return n, nil
	}
	return nil, fs.ErrNotExist
}

func (d memDir) Entries(context.Context) ([]views.Entry, error) {
	var list []views.Entry
	for _, name := range slices.Sorted(maps.Keys(d)) {
		_, isFile := d[name].(views.File)
		list = append(list, views.Entry{Name: name, Dir: !isFile})
	}
	return list, nil
}

// refusedDir is a view that has no answer.
type refusedDir struct{ memDir }

func (refusedDir) Entries(context.Context) ([]views.Entry, error) {
	return nil, fmt.Errorf("cleaned up to 7: %w", views.ErrRefused)
}

func (refusedDir) Xattrs(context.Context) (map[string]string, error) {
	return map[string]string{"user.hudi.error": "cleaned up to 7"}, nil
}

type memFile struct {
	content []byte
	err     error
}

func (f *memFile) Attr(context.Context) (views.Attr, error) {
	return views.Attr{Size: int64(len(f.content)), Disk: int64(len(f.content)), ModTime: born}, nil
}
func (f *memFile) Xattrs(context.Context) (map[string]string, error) { return nil, nil }
func (f *memFile) Open(context.Context) (views.Handle, error)        { return f, f.err }
func (f *memFile) Close() error                                      { return nil }
func (f *memFile) ReadAt(_ context.Context, p []byte, off int64) (int, error) {
	return copy(p, f.content[min(off, int64(len(f.content))):]), nil
}

// numbers is a file with a column n.
func numbers(t *testing.T, n ...int32) *memFile {
	var rows []parquet.Row
	for _, n := range n {
		rows = append(rows, parquet.Row{num(n, 0, 0, 0)})
	}
	return &memFile{content: parquetFile(t, parquet.Group{"n": i32}, rows, nil)}
}

func testTree(t *testing.T) memDir {
	return memDir{
		"latest":  memDir{"berlin": memDir{"a.parquet": numbers(t, 1, 2), "b.parquet": numbers(t, 3)}, "oslo": memDir{"c.parquet": numbers(t, 4)}},
		"damaged": memDir{"a.parquet": numbers(t, 1), "b.parquet": &memFile{err: errors.New("bad block")}},
		"asof":    memDir{"7": refusedDir{}},
		".hudi": memDir{
			"status":   &memFile{content: []byte(`{"renders":0}`)},
			"timeline": &memFile{content: []byte(`[{"requested":"1","completed":"2","action":"commit","state":"completed","more":1},{"requested":"3","action":"commit","state":"inflight"}]`)},
		},
	}
}

func TestFind(t *testing.T) {
	root := testTree(t)
	for path, want := range map[string]error{
		"": nil, "/": nil, "latest": nil, "/latest//berlin/": nil, "latest/./oslo/c.parquet": nil,
		"none": fs.ErrNotExist, "latest/..": fs.ErrNotExist, "latest/oslo/c.parquet/x": fs.ErrNotExist,
	} {
		if _, err := find(t.Context(), root, path); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%q: %v, want %v", path, err, want)
		}
	}
}

func TestCat(t *testing.T) {
	root := testTree(t)
	for _, c := range []struct {
		path string
		o    catOptions
		want string
		fail string
	}{
		{path: "latest", o: catOptions{limit: -1}, want: `{"n":1} {"n":2} {"n":3} {"n":4} `},
		{path: "latest/berlin/b.parquet", o: catOptions{limit: -1}, want: `{"n":3} `},
		{path: "latest", o: catOptions{limit: 3}, want: `{"n":1} {"n":2} {"n":3} `},
		{path: "latest", o: catOptions{limit: 0}},
		{path: "latest", o: catOptions{format: "csv", limit: -1}, want: "n 1 2 3 4 "},
		{path: "latest", o: catOptions{format: "csv", limit: 0}, want: "n "},
		{path: "damaged", o: catOptions{limit: -1}, want: `{"n":1} `, fail: "damaged/b.parquet: bad block"},
		{path: "damaged", o: catOptions{limit: 1}, want: `{"n":1} `},
		{path: ".hudi/status", o: catOptions{limit: -1}, want: `{"renders":0}`},
		{path: ".hudi", o: catOptions{limit: -1}, fail: "name a view"},
		{path: "asof/7", o: catOptions{limit: -1}, fail: "cleaned up to 7"},
	} {
		node, err := find(t.Context(), root, c.path)
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		w := bufio.NewWriter(&buf)
		err = cat(t.Context(), w, node, c.path, c.o)
		w.Flush()
		if got := strings.ReplaceAll(buf.String(), "\n", " "); got != c.want {
			t.Errorf("%s %+v: %q, want %q", c.path, c.o, got, c.want)
		}
		if c.fail == "" && err != nil || c.fail != "" && (err == nil || !strings.Contains(err.Error(), c.fail)) {
			t.Errorf("%s %+v: %v, want %q", c.path, c.o, err, c.fail)
		}
	}
}

func TestList(t *testing.T) {
	root := testTree(t)
	for _, c := range []struct {
		path string
		long bool
		want string
	}{
		{"", false, ".hudi/\nasof/\ndamaged/\nlatest/\n"},
		{"latest/berlin", false, "a.parquet\nb.parquet\n"},
		{".hudi/status", true, "            13  2026-11-30T00:22:08Z  status\n"},
		{"asof", true, "             0  2026-11-30T00:22:08Z  7/  (cleaned up to 7)\n"},
	} {
		node, err := find(t.Context(), root, c.path)
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		if err := list(t.Context(), &buf, node, filepath.Base(c.path), c.long); err != nil || buf.String() != c.want {
			t.Errorf("%s: %q, %v; want %q", c.path, buf.String(), err, c.want)
		}
	}
}

func TestTimeline(t *testing.T) {
	var buf bytes.Buffer
	if err := showTimeline(t.Context(), &buf, testTree(t), false); err != nil {
		t.Fatal(err)
	}
	const want = "REQUESTED  COMPLETED  ACTION  STATE\n1          2          commit  completed\n3                     commit  inflight\n"
	if buf.String() != want {
		t.Errorf("got\n%s", buf.String())
	}
}

func TestCopyView(t *testing.T) {
	root := testTree(t)
	root["latest"].(memDir)["oslo"].(memDir)["sparse.parquet"] = &memFile{content: append(make([]byte, 1<<22), "footer"...)}
	dest := filepath.Join(t.TempDir(), "copy")
	if err := copyView(t.Context(), root["latest"], dest); err != nil {
		t.Fatal(err)
	}
	for name, f := range root["latest"].(memDir)["oslo"].(memDir) {
		got, err := os.ReadFile(filepath.Join(dest, "oslo", name))
		if err != nil || !bytes.Equal(got, f.(*memFile).content) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	info, err := os.Stat(filepath.Join(dest, "oslo", "sparse.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Blocks > 1024 || !info.ModTime().Equal(born) {
		t.Errorf("%d blocks, %v", st.Blocks, info.ModTime())
	}
	if err := copyView(t.Context(), root["latest"], dest); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a full folder: %v", err)
	}
}

// A copy that fails leaves nothing.
func TestCopyViewFails(t *testing.T) {
	root := testTree(t)
	for _, path := range []string{"damaged", "asof/7", ".hudi", ".hudi/status"} {
		node, err := find(t.Context(), root, path)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := copyView(t.Context(), node, filepath.Join(dir, "copy")); err == nil {
			t.Errorf("%s was copied", path)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s left %v", path, left)
		}
	}
}

func TestExitStatus(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("x"), exitFailed},
		{fmt.Errorf("x: %w", usageError{errors.New("y")}), exitUsage},
		{fmt.Errorf("x: %w", views.ErrRefused), exitRefused},
		{fmt.Errorf("x: %w", fs.ErrNotExist), exitNotFound},
		{daemonError{7}, 7},
	} {
		if got := exitStatus(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}
