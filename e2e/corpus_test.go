package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A caseFile is what of case.json the tests use; ../testdata/README.md tells
// what it means.
type caseFile struct {
	Name     string
	Symlinks [][2]string
	Views    []view
	dir      string
}

type view struct {
	Kind, Instant, Begin, End string
	Golden, Error, Doubt      string   // Error: why Hudi refuses it
	BeginInclusive            bool     `json:"begin_inclusive"`
	ErrorOKRows               bool     `json:"error_ok_rows"` // Hudi's refusal is an accident, an answer is welcome
	RefusalOK                 bool     `json:"refusal_ok"`    // Hudi's answer is incomplete, a refusal is welcome
	IgnoreColumns             []string `json:"ignore_columns"`
	TextColumns               []string `json:"text_columns"`
}

// path returns where the view lies in a mount.
func (v view) path() (string, error) {
	switch v.Kind {
	case "snapshot":
		return "latest", nil
	case "asof":
		return filepath.Join("asof", v.Instant), nil
	case "read_optimized":
		return "read_optimized", nil
	case "incremental", "cdc":
		begin, end := v.Begin, v.End
		if v.BeginInclusive && len(begin) == len(instantForm) { // a mount never includes the begin
			at, err := parseInstant(begin)
			if err != nil {
				return "", err
			}
			begin = formatInstant(at.Add(-time.Millisecond))
		}
		if begin == "" {
			begin = "000"
		}
		if end == "" {
			end = "latest"
		}
		return filepath.Join(v.Kind, begin+".."+end), nil
	}
	return "", fmt.Errorf("unknown kind of view %q", v.Kind)
}

const instantForm = "20060102150405000"

func parseInstant(s string) (time.Time, error) {
	return time.Parse("20060102150405.000", s[:14]+"."+s[14:])
}

func formatInstant(at time.Time) string {
	return strings.Replace(at.Format("20060102150405.000"), ".", "", 1)
}

// tornButReplaced is a table with a torn block of a completed write, all of whose rows were written again later. Hudi's answer is right by luck,
// which can't be known without the block; the same table of version 9 allows the refusal.
const tornButReplaced = "x6_broken_log_torn_first"

func (v view) refusable() bool {
	return v.Error != "" || v.Doubt != "" || v.RefusalOK
}

// TestCorpus mounts every table and holds every view against Hudi's answer,
// with each engine; then everything else that must be true of every table.
func TestCorpus(t *testing.T) {
	needFUSE(t)
	needEngines(t)
	run := func(root, pattern string, test func(*testing.T, caseFile)) {
		cases := findCases(t, root, pattern)
		if len(cases) == 0 {
			t.Errorf("no case found below %s", root)
		}
		for _, c := range cases {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				test(t, c)
			})
		}
	}
	run(filepath.Join(env.root, "testdata"), "*", testTable)
	shared := filepath.Join(env.root, "..", "shared", "corpus")
	if _, err := os.Stat(shared); err != nil {
		t.Run("shared", func(t *testing.T) {
			t.Skipf("only the tables of testdata were tested: the larger collection is not beside the repository: %v", err)
		})
		return
	}
	run(shared, "v*", testTable) // timeline, slices, services, partitions
	run(shared, "p*", testTable) // a peer's test tables
	run(shared, "x*", testViews) // the rules of merging and of schemas, bootstrap, change data, damage
}

func findCases(t *testing.T, root, pattern string) []caseFile {
	t.Helper()
	var cases []caseFile
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "case.json" {
			return err
		}
		if ok, err := filepath.Match(pattern, filepath.Base(filepath.Dir(p))); !ok {
			return err
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		c := caseFile{dir: filepath.Dir(p)}
		if err := json.Unmarshal(text, &c); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		if c.Name == tornButReplaced {
			for i := range c.Views {
				c.Views[i].RefusalOK = true
			}
		}
		cases = append(cases, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func (c caseFile) unpack(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(tempDir(t), c.Name)
	unpack(t, filepath.Join(c.dir, "table.zip"), dir)
	for _, link := range c.Symlinks {
		if err := os.Symlink(link[1], filepath.Join(dir, link[0])); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// mount mounts a case's table, with the source files of a bootstrapped one. It gives no mount where that is refused and Hudi refuses too.
func (c caseFile) mount(t *testing.T) (table string, m mounted, ok bool) {
	t.Helper()
	table = c.unpack(t)
	var flags []string
	if source := filepath.Join(c.dir, "bootstrap_source.zip"); exists(source) {
		dir := filepath.Join(tempDir(t), "source")
		unpack(t, source, dir)
		flags = append(flags, "--bootstrap-base", dir)
	}
	m, r := tryMount(t, nil, table, flags...)
	if r.code == 0 {
		return table, m, true
	}
	for _, v := range c.Views {
		if !v.refusable() {
			t.Fatalf("mount: exit status %d, but Hudi answers\n%s%s", r.code, r.stdout, r.stderr)
		}
	}
	return "", mounted{}, false
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// testViews holds every view of a table against Hudi's answer, with each engine.
func testViews(t *testing.T, c caseFile) {
	if _, m, ok := c.mount(t); ok {
		c.testViews(t, m)
	}
}

func (c caseFile) testViews(t *testing.T, m mounted) {
	for _, engine := range []string{"pyarrow", "duckdb", "polars"} {
		t.Run(engine, func(t *testing.T) {
			for _, v := range c.Views {
				testView(t, engine, c, m, v)
			}
		})
	}
}

// testTable does with one table, on one mount, all that must hold of every table.
func testTable(t *testing.T, c caseFile) {
	table, m, ok := c.mount(t)
	if !ok {
		return
	}
	t.Run("listing", func(t *testing.T) { testListing(t, c, m) })
	c.testViews(t, m)
	if _, err := os.ReadDir(m.path("latest")); err != nil {
		return // refused, which the views above judged
	}
	t.Run("defaults", func(t *testing.T) { testDefaults(t, m.path("latest")) })
	t.Run("footers", func(t *testing.T) { testFooters(t, m.path("latest")) })
	t.Run("commands", func(t *testing.T) { testCommands(t, table, m) })
	t.Run("twice", func(t *testing.T) { testTwice(t, c, m) })
}

// testFooters asks engines what they may answer from footers, and holds that against the rows: some take a bound for a value, or a missing number
// of nulls for none.
func testFooters(t *testing.T, dir string) {
	t.Helper()
	const files = 2
	for _, engine := range []string{"datafusion", "duckdb"} {
		a := ask(t, question{Do: "footers", Engine: engine, Dir: dir, Files: files})
		for _, p := range a.Problems {
			t.Errorf("%s: %s", engine, p)
		}
	}
}

func testView(t *testing.T, engine string, c caseFile, m mounted, v view) {
	t.Helper()
	if v.Doubt != "" {
		return
	}
	rel, err := v.path()
	if err != nil {
		t.Fatal(err)
	}
	q := question{Do: "count", Engine: engine, Dir: m.path(rel), Ignore: v.IgnoreColumns, Text: v.TextColumns}
	if v.Golden != "" {
		q.Do, q.Golden = "golden", filepath.Join(c.dir, v.Golden)
	}
	a := ask(t, q)
	switch {
	case a.Failed != "":
		if !v.refusable() {
			t.Errorf("%s: %s", rel, a.Failed)
		}
	case v.Error != "":
		if !v.ErrorOKRows {
			t.Errorf("%s: Hudi refuses this (%.80s), here are %d rows", rel, v.Error, a.Rows)
		}
	default:
		for _, p := range a.Problems {
			t.Errorf("%s: %s", rel, p)
		}
	}
}
