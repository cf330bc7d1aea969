package schema_test

import (
	"archive/zip"
	"bytes"
	"io"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/hudifs/hudifs/internal/schema"
)

// tables are the zipped tables that lie beside or in the repository.
func tables(t testing.TB) []string {
	t.Helper()
	root := filepath.Join("..", "..")
	var all []string
	for _, pattern := range []string{
		filepath.Join(root, "testdata", "*", "table.zip"),
		filepath.Join(root, "..", "shared", "corpus", "*", "table.zip"),
		filepath.Join(root, "..", "shared", "corpus", "peer", "*", "table.zip"),
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			t.Logf("NOT TESTED: no table at %s", pattern)
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		t.Skip("SKIPPED: there are no real tables")
	}
	return all
}

// baseFiles calls f with a Parquet file of each instant of a zipped table.
func baseFiles(t testing.TB, table string, f func(name string, p *parquet.File)) {
	t.Helper()
	z, err := zip.OpenReader(table)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	seen := map[string]bool{}
	for _, e := range z.File {
		instant := e.Name[strings.LastIndexByte(e.Name, '_')+1:]
		if !strings.HasSuffix(e.Name, ".parquet") || strings.Contains(e.Name, ".hoodie") || seen[instant] {
			continue
		}
		seen[instant] = true
		r, err := e.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			t.Fatal(err)
		}
		p, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
		if err != nil {
			continue // some tables are damaged on purpose; pqfile's tests are about that
		}
		f(path.Join(filepath.Base(filepath.Dir(table)), e.Name), p)
	}
}

// TestRealFiles reads the schemas of base files that Hudi wrote: a view that takes a file for its model serves the file as it is.
func TestRealFiles(t *testing.T) {
	files := 0
	for _, table := range tables(t) {
		baseFiles(t, table, func(name string, p *parquet.File) {
			m, err := schema.FromElements(p.Metadata().Schema)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			text, ok := p.Lookup("parquet.avro.schema")
			if !ok {
				typ, err := m.Type()
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				checkModel(t, name, typ, m)
				return
			}
			files++
			typ, err := schema.ParseAvro(text)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			checkModel(t, name, typ, m)
		})
	}
	t.Logf("%d files with an Avro schema", files)
	if files == 0 {
		t.Error("no file had an Avro schema: nothing was tested")
	}
}

func checkModel(t *testing.T, name string, typ *schema.Type, m *schema.Message) {
	t.Helper()
	like, err := schema.Target(typ, m)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if like.Admits(m) == ambiguous(m.Fields) {
		t.Errorf("%s: admitted by a view that has it for its model: %v\n%s\n%s", name, like.Admits(m), describe(like), describe(m))
	}
	for _, target := range []*schema.Message{like, must(schema.Target(typ, nil))(t)} {
		maps, err := schema.Project(m, target)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, l := range maps {
			if l.Source < 0 || l.Nulls() || target == like && !l.ValuesKept() {
				t.Errorf("%s: column %v: source %d, values kept %v", name, target.Leaves[i].Path, l.Source, l.ValuesKept())
			}
		}
		checkRoundTrip(t, target)
	}
	checkRoundTrip(t, m)
}
