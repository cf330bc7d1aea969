package pqfile

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// filterable has a row group of the texts, each page of two rows, with bounds in a column index. A text of "" is null.
func filterable(t *testing.T, texts ...string) *File {
	t.Helper()
	type row struct {
		S *string `parquet:"s,optional,plain"`
		N int64   `parquet:"n"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b, parquet.PageBufferSize(1))
	for i := 0; i < len(texts); i += 2 {
		var rows []row
		for n, s := range texts[i:min(i+2, len(texts))] {
			r := row{N: int64(n)}
			if s != "" {
				r.S = &s
			}
			rows = append(rows, r)
		}
		if _, err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFiltered(t *testing.T) {
	whole := []RowRange{{0, 9}}
	for _, c := range []struct {
		name     string
		from, to string
		change   func(*ColumnChunk)
		want     []RowRange
	}{
		{name: "below", from: "0", to: "A", want: nil},
		{name: "above", from: "x", to: "z", want: nil},
		{name: "the first page alone", from: "0", to: "a1", want: []RowRange{{0, 2}}},
		{name: "the last page alone", from: "g", to: "z", want: []RowRange{{8, 9}}},
		{name: "a gap between pages", from: "b1", to: "b2", want: nil},
		{name: "both ends count", from: "b", to: "e", want: []RowRange{{0, 4}, {6, 8}}},
		{name: "pages apart from each other", from: "a", to: "f", want: []RowRange{{0, 4}, {6, 8}}},
		{name: "all but nulls", from: "a", to: "z", want: []RowRange{{0, 4}, {6, 9}}},
		{name: "no column index", from: "b1", to: "b2", change: func(c *ColumnChunk) { c.ColumnIndexOffset = 0 }, want: whole},
		{name: "no offset index", from: "b1", to: "b2", change: func(c *ColumnChunk) { c.OffsetIndexOffset = 0 }, want: whole},
		{name: "no column index, other values", from: "x", to: "z", change: func(c *ColumnChunk) { c.ColumnIndexOffset = 0 }, want: nil},
		{name: "no bounds", from: "x", to: "z", change: func(c *ColumnChunk) {
			c.ColumnIndexOffset, c.MetaData.Statistics = 0, Statistics{}
		}, want: whole},
		{name: "nulls alone", from: "a", to: "z", change: func(c *ColumnChunk) { c.MetaData.Statistics.NullCount.V = 9 }, want: nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := filterable(t, "a", "b", "d", "c", "", "", "e", "f", "g")
			if c.change != nil {
				c.change(&f.Meta.RowGroups[0].Columns[0])
			}
			got, err := f.Filtered(0, 0, []byte(c.from), []byte(c.to))
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%v, %v, want %v", got, err, c.want)
			}
		})
	}
	if got, err := filterable(t, "a").Filtered(0, 1, []byte("x"), []byte("z")); err != nil || !reflect.DeepEqual(got, []RowRange{{0, 1}}) {
		t.Errorf("of numbers: %v, %v, want all rows", got, err)
	}
}

func TestDamagedPageIndex(t *testing.T) {
	for name, c := range map[string]struct {
		change func(c *ColumnChunk)
		want   error
	}{
		"a column index before the file":    {func(c *ColumnChunk) { c.ColumnIndexOffset = -8 }, ErrCorrupt},
		"a column index behind the file":    {func(c *ColumnChunk) { c.ColumnIndexOffset = 1 << 62 }, ErrCorrupt},
		"an offset index of no bytes":       {func(c *ColumnChunk) { c.OffsetIndexLength = 0 }, ErrCorrupt},
		"an offset index of negative bytes": {func(c *ColumnChunk) { c.OffsetIndexLength = -1 }, ErrCorrupt},
		"a column index that is cut":        {func(c *ColumnChunk) { c.ColumnIndexLength -= 3 }, ErrCorrupt},
		"pages in place of a column index":  {func(c *ColumnChunk) { c.ColumnIndexOffset = c.MetaData.DataPageOffset }, ErrCorrupt},
		"an offset index in place of a column index": {func(c *ColumnChunk) {
			c.ColumnIndexOffset, c.ColumnIndexLength = c.OffsetIndexOffset, c.OffsetIndexLength
		}, ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			f := filterable(t, "a", "b", "c", "d", "e", "f")
			c.change(&f.Meta.RowGroups[0].Columns[0])
			rows, err := f.Filtered(0, 0, []byte("a"), []byte("b"))
			if !errors.Is(err, c.want) {
				t.Errorf("%v, %v, want %v", rows, err, c.want)
			}
		})
	}
	f := filterable(t, "a", "b", "c", "d")
	f.Meta.RowGroups[0].NumRows = 2
	if rows, err := f.Filtered(0, 0, []byte("a"), []byte("b")); !errors.Is(err, ErrCorrupt) {
		t.Errorf("pages behind the rows of the group: %v, %v, want ErrCorrupt", rows, err)
	}
}
