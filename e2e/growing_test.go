package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A growing table is one of ../testdata that is written anew, a write at a
// time, beside its mount. Its every file must be of one write.
type growing struct {
	dir    string
	whole  string   // all that is ever written
	writes []string // their instants
}

var (
	instant   = regexp.MustCompile(`\d{17}`)
	completed = regexp.MustCompile(`^(\d{17})_(\d{17})\.(commit|deltacommit)$`)
)

// grow makes a table of its first n writes.
func grow(t *testing.T, name string, n int) *growing {
	t.Helper()
	home := tempDir(t)
	g := &growing{dir: filepath.Join(home, name), whole: filepath.Join(home, "whole")}
	unpack(t, filepath.Join(env.root, "testdata", name, "table.zip"), g.whole)
	for _, name := range names(t, filepath.Join(g.whole, ".hoodie", "timeline")) {
		if m := completed.FindStringSubmatch(name); m != nil {
			g.writes = append(g.writes, m[1])
		}
	}
	if n > len(g.writes) {
		t.Fatalf("%s has %d writes", name, len(g.writes))
	}
	g.put(t, func(p string) bool { return !instant.MatchString(p) })
	for i := range n {
		g.begin(t, i+1)
		g.complete(t, i+1)
	}
	return g
}

// put writes the files that it is asked to, each at once.
func (g *growing) put(t *testing.T, which func(p string) bool) {
	t.Helper()
	for p := range everything(t, g.whole) {
		if !which(p) {
			continue
		}
		to := filepath.Join(g.dir, p)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to+".~", []byte(readFile(t, filepath.Join(g.whole, p))), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(to+".~", to); err != nil {
			t.Fatal(err)
		}
	}
}

// of is the number of the write that makes a file, 0 for what is there before.
func (g *growing) of(p string) int {
	at := instant.FindString(filepath.Base(p))
	if at == "" {
		return 0
	}
	n, _ := slices.BinarySearch(g.writes, at)
	return n + 1
}

// begin writes the files of a write, complete makes them count.
func (g *growing) begin(t *testing.T, n int) {
	t.Helper()
	g.put(t, func(p string) bool { return g.of(p) == n && !completed.MatchString(filepath.Base(p)) })
}

func (g *growing) complete(t *testing.T, n int) {
	t.Helper()
	g.put(t, func(p string) bool { return g.of(p) == n && completed.MatchString(filepath.Base(p)) })
}

func (g *growing) commit(t *testing.T, n int) {
	t.Helper()
	g.begin(t, n)
	g.complete(t, n)
}

// clean removes base files as Hudi's cleaner does, which plans it, does it and
// records it. earliest is the first write that stays readable as of then.
func (g *growing) clean(t *testing.T, earliest string, removed ...string) {
	t.Helper()
	paths, names, deleted := map[string][]map[string]any{}, map[string][]string{}, map[string]any{}
	for _, p := range removed {
		dir := filepath.Dir(p)
		paths[dir] = append(paths[dir], map[string]any{"filePath": "file:/elsewhere/" + p, "isBootstrapBaseFile": false})
		names[dir] = append(names[dir], filepath.Base(p))
	}
	for dir, names := range names {
		deleted[dir] = map[string]any{"policy": "KEEP_LATEST_COMMITS", "successDeleteFiles": names}
	}
	const at, end = "20301231000000000", "20301231000001000"
	record := func(name string, content map[string]any) {
		text, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		p := filepath.Join(g.dir, ".hoodie", "timeline", name)
		if err := os.WriteFile(p+".~", text, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(p+".~", p); err != nil {
			t.Fatal(err)
		}
	}
	record(at+".clean.requested", map[string]any{
		"earliestInstantToRetain":          map[string]any{"timestamp": earliest, "action": "commit", "state": "COMPLETED"},
		"filePathsToBeDeletedPerPartition": paths,
	})
	for _, p := range removed {
		if err := os.Remove(filepath.Join(g.dir, p)); err != nil {
			t.Fatal(err)
		}
	}
	record(at+"_"+end+".clean", map[string]any{"earliestCommitToRetain": earliest, "partitionMetadata": deleted})
}

// everything are the files below a folder, of whatever kind.
func everything(t *testing.T, dir string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		out[rel] = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// attribute is one of a file's or folder's extended attributes, empty where it
// has none of that name.
func attribute(t *testing.T, p, name string) string {
	t.Helper()
	value := make([]byte, 1<<12)
	n, err := syscall.Getxattr(p, "user.hudi."+name, value)
	if err != nil && err != syscall.ENODATA {
		t.Fatalf("%s of %s: %v", name, p, err)
	}
	return strings.TrimSpace(string(value[:max(n, 0)]))
}

// shows waits until latest is that of a write.
func (m mounted) shows(t *testing.T, write string) {
	t.Helper()
	eventually(t, "latest shows "+write, func() bool { return attribute(t, m.path("latest"), "instant") == write })
}
