package logfile

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

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
			if err := checkOnly(d, target, vectors); err != nil {
				t.Errorf("%s: block at %d: %v", name, b.Offset, err)
			}
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

// TestParquetForms reads a block whose columns are coded in ways that Hudi's writers don't choose today.
func TestParquetForms(t *testing.T) {
	type row struct {
		Delta string   `parquet:"delta,delta"`
		Dict  string   `parquet:"dict,dict"`
		Plain string   `parquet:"plain,plain"`
		N     int32    `parquet:"n"`
		L     []string `parquet:"l,list"`
	}
	var buf bytes.Buffer
	w := parquet.NewGenericWriter[row](&buf, parquet.MaxRowsPerRowGroup(40))
	for i := range 100 {
		text := strings.Repeat("the same ", 50) + strings.Repeat("x", i%7)
		if _, err := w.Write([]row{{text, text, text, int32(i), []string{text, ""}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file := rawBlock(1, int32(ParquetData), map[HeaderKey]string{InstantTime: "1"}, buf.Bytes())
	d, b, err := openBytes(file)
	if err != nil {
		t.Fatal(err)
	}
	target := mustTarget(t, recordOf(`{"name":"new","type":"string"},{"name":"n","type":"string"},{"name":"delta","type":"string"},{"name":"dict","type":"string"},
		{"name":"plain","type":"string"},{"name":"l","type":{"type":"array","items":"string"}}`))
	vectors, err := d.Columns(target, []int{0, 1, 2, 3, 4, 5})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", "99", strings.Repeat("the same ", 50) + "x", strings.Repeat("the same ", 50) + "x", strings.Repeat("the same ", 50) + "x", ""} {
		v := vectors[i]
		if v.Rows() != 100 {
			t.Errorf("%v: %d rows", target.Leaves[i].Path, v.Rows())
		}
		if v.Values() > 0 && string(v.Value(v.Values()-1)) != want {
			t.Errorf("%v: got %q, want %q", target.Leaves[i].Path, v.Value(v.Values()-1), want)
		}
	}
	if !d.Has("dict") || d.Has("new") {
		t.Error("Has is wrong")
	}
	checkExtent(t, "forms", file, b, target, vectors)
	if _, err := d.Columns(mustTarget(t, recordOf(`{"name":"plain","type":"int"}`)), []int{0}); !errors.Is(err, schema.ErrInvalid) {
		t.Errorf("text to a number: %v", err)
	}
	for n := range 40 { // damage within pages is an error, not a panic or a wrong row count
		broken := bytes.Clone(file)
		broken[int(b.ContentOffset)+n*buf.Len()/40] ^= 0xFF
		d, _, err := openBytes(broken)
		if err != nil {
			continue
		}
		if v, err := d.Columns(target, []int{2, 3, 4}); err == nil && v[0].Rows() != d.Rows() {
			t.Errorf("%d rows of %d", v[0].Rows(), d.Rows())
		}
	}
}
