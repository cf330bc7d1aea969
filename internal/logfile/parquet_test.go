package logfile

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// TestParquetBlocks reads the Parquet blocks of the real tables, and checks the bounds of all data blocks.
func TestParquetBlocks(t *testing.T) {
	rows, values := 0, 0
	eachLog(t, func(name string, content []byte) {
		log, err := scanBytes(content)
		if err != nil {
			return
		}
		for _, b := range log.Blocks {
			if b.Type != ParquetData && b.Type != AvroData || strings.Contains(name, "_broken_") || strings.Contains(b.Schema(), "HoodieArchivedMetaEntry") {
				continue
			}
			typ, err := b.recordType()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			d, err := OpenData(bytes.NewReader(content), b)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if d.Has("no such column") || !d.Has(typ.Fields[0].Name) {
				t.Errorf("%s: Has is wrong", name)
			}
			target := targetOf(t, d, typ)
			all := make([]int, len(target.Leaves))
			for i := range all {
				all[i] = i
			}
			vectors, err := d.Columns(target, all)
			if err != nil {
				t.Errorf("%s: block at %d: %v", name, b.Offset, err)
				continue
			}
			checkExtent(t, name, content, b, target, vectors)
			if b.Type == ParquetData {
				rows += d.Rows()
				values += checkKeys(t, name, target, vectors)
			}
		}
	})
	if rows == 0 || values < rows {
		t.Errorf("%d rows with %d keys in Parquet blocks", rows, values)
	}
	t.Logf("%d rows in Parquet blocks", rows)
}

// targetOf is the target of a block alone: in its own form where it is Parquet.
func targetOf(t *testing.T, d *Data, typ *schema.Type) *schema.Message {
	t.Helper()
	var like *schema.Message
	if p, ok := d.content.(*parquetContent); ok {
		like = p.file.Schema
	}
	target, err := schema.Target(typ, like)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func checkExtent(t *testing.T, name string, content []byte, b Block, target *schema.Message, vectors []*column.Vector) {
	t.Helper()
	e, err := Measure(bytes.NewReader(content), b, target)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	shared := int64(0)
	for i, v := range vectors {
		if int64(v.Rows()) != e.Rows || int64(v.Entries()) > e.Leaves[i].Entries {
			t.Errorf("%s: leaf %v: %d rows and %d entries, measured %d and %d", name, target.Leaves[i].Path, v.Rows(), v.Entries(), e.Rows, e.Leaves[i].Entries)
		}
		if over := int64(len(v.Buf)) - e.Leaves[i].Bytes; over > 0 {
			shared += over
		}
		if v.Leaf.Kind != column.Bytes && int64(len(v.Buf)) > e.Leaves[i].Bytes {
			t.Errorf("%s: leaf %v: %d bytes, measured %d", name, target.Leaves[i].Path, len(v.Buf), e.Leaves[i].Bytes)
		}
	}
	if shared > e.Shared {
		t.Errorf("%s: %d bytes beyond those of the leaves, measured %d", name, shared, e.Shared)
	}
}

// checkKeys looks for the keys of the records: there and as they were written.
func checkKeys(t *testing.T, name string, target *schema.Message, vectors []*column.Vector) int {
	t.Helper()
	n := target.Leaf(schema.RecordKey)
	if n == nil {
		return 0
	}
	v := vectors[n.Index]
	for i := range v.Values() {
		if len(v.Value(i)) == 0 {
			t.Errorf("%s: an empty key", name)
		}
	}
	return v.Values()
}
