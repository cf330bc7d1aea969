package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// asJSON is a text as it stands in JSON, without the quotes.
func asJSON(t *testing.T, text string) string {
	t.Helper()
	out, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(out[1 : len(out)-1])
}

// renameIn gives a partition another name in all commits of a table of version 6.
// Its folder is the caller's business.
func renameIn(t *testing.T, table, partition, name string) {
	t.Helper()
	for _, commit := range names(t, filepath.Join(table, ".hoodie")) {
		if filepath.Ext(commit) != ".commit" {
			continue
		}
		p := filepath.Join(table, ".hoodie", commit)
		text := readFile(t, p)
		text = strings.ReplaceAll(text, `"`+partition+`"`, `"`+asJSON(t, name)+`"`)
		text = strings.ReplaceAll(text, `"`+partition+`/`, `"`+asJSON(t, name)+`/`)
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// odd are names that a file system takes.
var odd = []string{
	`it's`, `"quoted"`, "back`tick", "100%", "%2F", "%2E%2E", "%", "a\nb", "a\tb", "\x01", "\x7f", " blank ", "..x", "...", ".. ", ".hidden", "_under",
	"-rf", "*", "[a-z]?", `a\b`, "$HOME", "a=b", "=", "a:b", "#1", "ünïcødé", "e\u0301", "\u202egnp.exe", "世界🦆", "\uFEFF", strings.Repeat("x", 255), strings.Repeat("世", 85),
}

// TestOddNames: tables and partitions have whatever names a file system takes,
// and each shows all files of its own.
func TestOddNames(t *testing.T) {
	warehouse := filepath.Join(tempDir(t), "warehouse")
	where := map[string]string{}
	for _, name := range odd {
		folder := name
		if strings.HasPrefix(name, ".") { // which a warehouse does not look into
			folder = "t" + name
		}
		dir := filepath.Join(warehouse, folder)
		where[name] = folder
		unpack(t, filepath.Join(env.root, "testdata", "t6_cow_partitioned", "table.zip"), dir)
		renameIn(t, dir, "north", name)
		if err := os.Rename(filepath.Join(dir, "north"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	want := sums(t, mount(t, table(t, "t6_cow_partitioned")).path("latest", "north"))
	m := mount(t, warehouse)
	if got := names(t, m.dir); len(got) != len(odd) {
		t.Errorf("%d tables: %q", len(got), got)
	}
	for _, name := range odd {
		latest := m.path(where[name], "latest")
		var shown []string
		for _, p := range names(t, latest) {
			if p != "south" && p != "west" {
				shown = append(shown, p)
			}
		}
		if len(shown) != 1 {
			t.Errorf("%q is shown as %q", name, shown)
			continue
		}
		if got := sums(t, filepath.Join(latest, shown[0])); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: %d files, want %d", name, len(got), len(want))
		}
		if strings.ContainsAny(shown[0][:1], "._") || strings.Contains(shown[0], "=") {
			t.Errorf("%q is shown as %q, of which engines think something", name, shown[0])
		}
	}
}

// TestEnginesReadOddNames: what is shown of odd names no engine takes for a
// pattern, a hidden file or a column, and all read all rows.
func TestEnginesReadOddNames(t *testing.T) {
	needEngines(t)
	good := table(t, "t6_cow_partitioned")
	north := ask(t, question{Do: "same", Engine: "pyarrow", Dir: mount(t, good).path("latest", "north"), Other: &question{Engine: "pyarrow", Dir: mount(t, good).path("latest", "north")}}).Rows
	all := ask(t, question{Do: "same", Engine: "pyarrow", Dir: mount(t, good).path("latest"), Other: &question{Engine: "pyarrow", Dir: mount(t, good).path("latest")}}).Rows
	// Files of committed writes count wherever they lie: one more copy of a partition for each name.
	for _, name := range odd {
		if err := os.CopyFS(filepath.Join(good, name), os.DirFS(filepath.Join(good, "north"))); err != nil {
			t.Fatal(err)
		}
	}
	m := mount(t, good)
	for _, engine := range []string{"pyarrow", "pyarrow-default", "pandas-default", "duckdb", "duckdb-default", "polars"} {
		a := ask(t, question{Do: "same", Engine: engine, Dir: m.path("latest"), Other: &question{Engine: "pyarrow", Dir: m.path("latest")}})
		if a.Failed != "" || len(a.Problems) > 0 || a.Rows != all+len(odd)*north || north == 0 {
			t.Errorf("%s: %d rows, want %d and %d times %d: %s %q", engine, a.Rows, all, len(odd), north, a.Failed, a.Problems)
		}
	}
}

// watchAll hears of everything that is opened or read below some folders.
func watchAll(t *testing.T, dirs ...string) (heard func() []string) {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	watched := map[int32]string{}
	for _, top := range dirs {
		err := filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			wd, err := syscall.InotifyAddWatch(fd, p, syscall.IN_OPEN|syscall.IN_ACCESS)
			watched[int32(wd)] = p
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	heard = func() []string {
		var out []string
		buf := make([]byte, 64<<10)
		for {
			n, err := syscall.Read(fd, buf)
			if errors.Is(err, syscall.EAGAIN) {
				slices.Sort(out)
				return slices.Compact(out)
			}
			if err != nil {
				t.Fatal(err)
			}
			for rest := buf[:n]; len(rest) > 0; {
				e := (*syscall.InotifyEvent)(unsafe.Pointer(&rest[0]))
				out = append(out, watched[e.Wd])
				rest = rest[syscall.SizeofInotifyEvent+int(e.Len):]
			}
		}
	}
	heard() // who walked through it just now
	return heard
}

// TestNothingOutside: whatever a table says, and wherever its links lead, no file
// outside of its folder is opened, and nothing of it is shown.
func TestNothingOutside(t *testing.T) {
	// Outside lies a partition with all its files, as in the table, and a timeline.
	type place struct{ table, outside string }
	link := func(t *testing.T, from, to string) {
		t.Helper()
		if err := os.RemoveAll(from); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	linkAll := func(pattern, to string) func(*testing.T, place) {
		return func(t *testing.T, p place) {
			found, err := filepath.Glob(filepath.Join(p.table, pattern))
			if err != nil || len(found) == 0 {
				t.Fatalf("%s: %v", pattern, err)
			}
			for _, f := range found {
				link(t, f, filepath.Join(p.outside, to, filepath.Base(f)))
			}
		}
	}
	gone := func(t *testing.T, p place) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(p.table, "north")); err != nil {
			t.Fatal(err)
		}
	}
	named := func(name func(place) string) func(*testing.T, place) {
		return func(t *testing.T, p place) {
			gone(t, p)
			renameIn(t, p.table, "north", name(p))
		}
	}
	for _, c := range []struct {
		name, table string
		harm        func(*testing.T, place)
		unmounted   bool // it can't be mounted
	}{
		{"commits that climb out", "t6_cow_partitioned", named(func(place) string { return "../outside/north" }), false},
		{"commits that climb out later", "t6_cow_partitioned", named(func(place) string { return "south/../../outside/north" }), false},
		{"commits with absolute paths", "t6_cow_partitioned", named(func(p place) string { return filepath.Join(p.outside, "north") }), false},
		{"commits with addresses", "t6_cow_partitioned", named(func(p place) string { return "file://" + filepath.Join(p.outside, "north") }), false},
		{"a partition that is a link", "t6_cow_partitioned", func(t *testing.T, p place) {
			link(t, filepath.Join(p.table, "north"), filepath.Join(p.outside, "north"))
		}, false},
		{"a partition that is a relative link", "t6_cow_partitioned", func(t *testing.T, p place) {
			link(t, filepath.Join(p.table, "north"), "../outside/north")
		}, false},
		{"base files that are links", "t6_cow_partitioned", linkAll("north/*.parquet", "north"), false},
		{"commits that are links", "t6_cow_partitioned", linkAll(".hoodie/*.commit", ".hoodie"), false},
		{"log files that are links", "t9_mor_logs", linkAll("north/.*.log.*", "north"), false},
		{"a timeline that is a link", "t9_mor_logs", func(t *testing.T, p place) {
			link(t, filepath.Join(p.table, ".hoodie", "timeline"), filepath.Join(p.outside, ".hoodie", "timeline"))
		}, false},
		{"a folder of metadata that is a link", "t9_mor_logs", func(t *testing.T, p place) {
			link(t, filepath.Join(p.table, ".hoodie"), filepath.Join(p.outside, ".hoodie"))
		}, true},
		{"properties that are a link", "t9_mor_logs", func(t *testing.T, p place) {
			link(t, filepath.Join(p.table, ".hoodie", "hoodie.properties"), filepath.Join(p.outside, ".hoodie", "hoodie.properties"))
		}, true},
		{"a timeline elsewhere", "t9_mor_logs", func(t *testing.T, p place) {
			property("hoodie.timeline.path", "../../outside/.hoodie/timeline")(t, p.table)
		}, true},
		{"a history elsewhere", "t9_mor_logs", func(t *testing.T, p place) {
			property("hoodie.timeline.history.path", "../../../outside/.hoodie/timeline")(t, p.table)
		}, true},
		{"an archive elsewhere", "t6_cow_partitioned", func(t *testing.T, p place) {
			property("hoodie.archivelog.folder", "../../outside/.hoodie")(t, p.table)
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := tempDir(t)
			p := place{filepath.Join(home, "table"), filepath.Join(home, "outside")}
			archive := filepath.Join(env.root, "testdata", c.table, "table.zip")
			unpack(t, archive, p.table)
			unpack(t, archive, p.outside)
			c.harm(t, p)
			heard := watchAll(t, p.outside)
			m, r := tryMount(t, nil, p.table)
			if (r.code != 0) != c.unmounted {
				t.Errorf("exit status %d: %s", r.code, r.stderr)
			}
			if r.code != 0 {
				wantOneLine(t, "mount", r)
			} else {
				readEverything(t, m)
			}
			if got := heard(); len(got) > 0 {
				t.Errorf("opened outside of the table: %q", got)
			}
			readFile(t, filepath.Join(p.outside, ".hoodie", "hoodie.properties"))
			if len(heard()) == 0 {
				t.Error("what is opened outside is not heard of")
			}
		})
	}
}

// readEverything opens all that a mount lists, and more. What can't be read is
// an error, and the daemon lives on.
func readEverything(t *testing.T, m mounted) {
	t.Helper()
	tops := []string{m.dir, m.path("diff", "000..latest"), m.path("cdc", "000..latest"), m.path("incremental", "000..latest")}
	read := 0
	for _, top := range tops {
		_ = filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil //nolint:nilerr // a view may be refused
			}
			if data, err := os.ReadFile(p); err == nil && len(data) > 0 {
				read++
			}
			return nil
		})
	}
	for _, name := range []string{"../outside", "..", "north/../../outside"} {
		_, _ = os.ReadDir(m.dir + "/latest/" + name)
	}
	if readFile(t, m.path(".hudi", "status")); read < 3 {
		t.Errorf("only %d files could be read", read)
	}
}
