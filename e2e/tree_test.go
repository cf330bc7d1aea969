package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The checks of this file hold for every table: testTable runs them.

// testListing lists the whole mount with ls. That must render nothing, and
// every size it shows must be the number of bytes that can then be read.
func testListing(t *testing.T, c caseFile, m mounted) {
	for _, dir := range names(t, m.dir) {
		before := m.renders(t)
		if out, err := exec.Command("ls", "-lR", m.path(dir)).CombinedOutput(); err != nil && !onlyRefused(string(out)) {
			t.Errorf("ls -lR %s: %v\n%s", dir, err, out)
		}
		if n := m.renders(t) - before; n != 0 {
			t.Errorf("ls -lR %s rendered %d files", dir, n)
		}
	}
	for _, view := range []string{"latest", "read_optimized"} {
		for name, size := range files(t, m.path(view)) {
			data, err := os.ReadFile(m.path(view, name))
			if err != nil {
				t.Errorf("%s/%s: %v", view, name, err)
			} else if int64(len(data)) != size {
				t.Errorf("%s/%s: listed with %d bytes, %d were read", view, name, size, len(data))
			}
		}
	}
}

// onlyRefused tells whether all that ls complains of are views that are there
// but can't be served.
func onlyRefused(out string) bool {
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "ls: ") && !strings.Contains(line, "Operation not supported") && !strings.Contains(line, "Stale file handle") {
			return false
		}
	}
	return true
}

// files returns the files below a view, by path, with the sizes that stat
// gives. A view that is refused has none.
func files(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	if _, err := os.ReadDir(dir); err != nil {
		return out
	}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !strings.HasSuffix(p, ".parquet") {
			return fmt.Errorf("%s is no Parquet file", p)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		out[rel] = info.Size()
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if len(out) == 0 {
		t.Errorf("%s holds no file: no engine could open it", dir)
	}
	return out
}

// testDefaults reads a view as people do who give no option.
func testDefaults(t *testing.T, dir string) {
	for _, engine := range []string{"pyarrow-default", "pandas-default", "duckdb-default"} {
		same(t, question{Engine: engine, Dir: dir, Types: true, Other: &question{Engine: "pyarrow", Dir: dir}})
	}
}

// testCommands holds `hudifs cp` and `hudifs cat` against the mount.
func testCommands(t *testing.T, table string, m mounted) {
	latest := m.path("latest")
	dest := filepath.Join(tempDir(t), "copy")
	if r := hudifs(t, "cp", table, "latest", dest); r.code != 0 {
		t.Errorf("cp: exit status %d\n%s", r.code, r.stderr)
	} else {
		same(t, question{Engine: "pyarrow", Dir: latest, Types: true, Other: &question{Engine: "pyarrow", Dir: dest}})
		if want, got := files(t, latest), files(t, dest); !slices.Equal(sorted(want), sorted(got)) {
			t.Errorf("cp made the files %v, the mount has %v", sorted(got), sorted(want))
		}
	}
	r := hudifs(t, "cat", table, "latest")
	if r.code != 0 {
		t.Errorf("cat: exit status %d\n%s", r.code, r.stderr)
		return
	}
	lines := filepath.Join(tempDir(t), "lines")
	if err := os.WriteFile(lines, []byte(r.stdout), 0o644); err != nil {
		t.Fatal(err)
	}
	same(t, question{Engine: "pyarrow", Dir: latest, Other: &question{Dir: lines}})
}

func sorted(files map[string]int64) []string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// testTwice mounts a second copy of the table with a second daemon: both must
// show the same views with the same names, sizes and bytes.
func testTwice(t *testing.T, c caseFile, m mounted) {
	second := mount(t, c.unpack(t))
	for _, dir := range []string{"asof", "incremental", "diff"} {
		if want, got := names(t, m.path(dir)), names(t, second.path(dir)); !slices.Equal(want, got) {
			t.Errorf("%s: one daemon lists %v, another %v", dir, want, got)
		}
	}
	for _, view := range []string{"latest", "read_optimized"} {
		sameBytes(t, m.path(view), second.path(view))
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
	}
	out := make([]string, 0, len(entries))
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// sameBytes compares two views file by file.
func sameBytes(t *testing.T, one, two string) {
	t.Helper()
	a, b := files(t, one), files(t, two)
	if !slices.Equal(sorted(a), sorted(b)) {
		t.Errorf("the files of %s are %v, those of %s are %v", one, sorted(a), two, sorted(b))
		return
	}
	for name, size := range a {
		if size != b[name] {
			t.Errorf("%s: %d bytes in %s, %d in %s", name, size, one, b[name], two)
			continue
		}
		x, err := os.ReadFile(filepath.Join(one, name))
		if err != nil {
			t.Error(err)
		}
		y, err := os.ReadFile(filepath.Join(two, name))
		if err != nil {
			t.Error(err)
		}
		if !bytes.Equal(x, y) {
			t.Errorf("%s: other bytes in %s than in %s", name, one, two)
		}
	}
}
