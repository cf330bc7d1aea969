package schema_test

import (
	"bytes"
	"path"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/tabletest"
)

// baseFiles calls f with a Parquet file of each instant of a zipped table.
func baseFiles(t testing.TB, table string, f func(name string, p *parquet.File)) {
	t.Helper()
	seen := map[string]bool{}
	files := tabletest.Contents(t, table, func(name string) bool {
		instant := name[strings.LastIndexByte(name, '_')+1:]
		if !strings.HasSuffix(name, ".parquet") || strings.Contains(name, ".hoodie") || seen[instant] {
			return false
		}
		seen[instant] = true
		return true
	})
	for name, data := range files {
		p, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
		if err != nil {
			continue // some tables are damaged on purpose; pqfile's tests are about that
		}
		f(path.Join(tabletest.Name(table), name), p)
	}
}

// TestRealFiles reads the schemas of base files that Hudi wrote: a view that takes a file for its model serves the file as it is.
func TestRealFiles(t *testing.T) {
	files := 0
	for _, table := range tabletest.All(t) {
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
