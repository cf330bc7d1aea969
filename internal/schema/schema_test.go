package schema_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/hudifs/hudifs/internal/schema"
)

func TestDbg(t *testing.T) {
	files, _ := filepath.Glob("/tmp/c/*/*/*.parquet")
	n := 0
	for _, f := range files {
		h, err := os.Open(f)
		if err != nil {
			continue
		}
		st, _ := h.Stat()
		p, err := parquet.OpenFile(h, st.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
		if err != nil {
			continue
		}
		m, err := schema.FromElements(p.Metadata().Schema)
		if err != nil {
			t.Errorf("%s %v", f, err)
			continue
		}
		n++
		txt, ok := p.Lookup("parquet.avro.schema")
		if !ok {
			continue
		}
		ty, err := schema.ParseAvro(txt)
		if err != nil {
			t.Errorf("%s %v", f, err)
			continue
		}
		tg, err := schema.Target(ty, m)
		if err != nil {
			t.Errorf("%s %v", f, err)
			continue
		}
		if !tg.Admits(m) {
			t.Errorf("not admitted: %s", f)
		}
		tg2, err := schema.Target(ty, nil)
		if err != nil {
			t.Errorf("%s %v", f, err)
			continue
		}
		pr, err := schema.Project(m, tg2)
		if err != nil {
			t.Errorf("%s %v", f, err)
		}
		pr, err = schema.Project(m, tg)
		for i, x := range pr {
			if !x.ValuesKept() {
				t.Errorf("%s leaf %d", f, i)
			}
		}
		h.Close()
	}
	t.Log(n)
}
