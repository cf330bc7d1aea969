package pqfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// table is the content of a file: for each row group, a vector a leaf.
type table [][]*column.Vector

// readOurs reads a file with this package, checking on the way that pages are whole rows.
func readOurs(data []byte) (table, error) {
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	return readFile(f)
}

func readFile(f *File) (table, error) {
	var out table
	for g := range f.Groups() {
		var group []*column.Vector
		for i, l := range f.Schema.Leaves {
			r, err := f.Chunk(g, i)
			if err != nil {
				return nil, err
			}
			v := column.New(l.Leaf)
			for {
				p, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					return nil, err
				}
				if p.Rows != p.Vector.Rows() || p.Rows == 0 || l.Leaf.MaxRep > 0 && p.Vector.Rep[0] != 0 {
					return nil, fmt.Errorf("page of %d rows claims %d", p.Vector.Rows(), p.Rows)
				}
				if err := r.Materialise(v, p, p.Vector.All()); err != nil {
					return nil, err
				}
			}
			group = append(group, v)
		}
		out = append(out, group)
	}
	return out, nil
}

// readParquetGo reads a file with parquet-go's own reader.
func readParquetGo(data []byte, m *schema.Message) (table, error) {
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	var out table
	for _, rg := range f.RowGroups() {
		var group []*column.Vector
		for i, c := range rg.ColumnChunks() {
			v := column.New(m.Leaves[i].Leaf)
			if err := appendPages(v, c); err != nil {
				return nil, fmt.Errorf("parquet-go: column %d: %w", i, err)
			}
			group = append(group, v)
		}
		out = append(out, group)
	}
	return out, nil
}

func appendPages(v *column.Vector, c parquet.ColumnChunk) error {
	pages := c.Pages()
	defer pages.Close()
	buf := make([]parquet.Value, 1000)
	for {
		p, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		values := p.Values()
		for {
			n, err := values.ReadValues(buf)
			for _, x := range buf[:n] {
				appendParquetValue(v, x)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
		}
	}
}

func appendParquetValue(v *column.Vector, x parquet.Value) {
	v.AppendLevels(uint8(x.RepetitionLevel()), uint8(x.DefinitionLevel()))
	if x.IsNull() {
		return
	}
	switch v.Leaf.Kind {
	case column.Bool:
		b := byte(0)
		if x.Boolean() {
			b = 1
		}
		v.AppendValue([]byte{b})
	case column.Int32:
		v.AppendValue(binary.LittleEndian.AppendUint32(nil, uint32(x.Int32())))
	case column.Int64:
		v.AppendValue(binary.LittleEndian.AppendUint64(nil, uint64(x.Int64())))
	case column.Int96:
		y := x.Int96()
		b := binary.LittleEndian.AppendUint32(nil, y[0])
		v.AppendValue(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, y[1]), y[2]))
	case column.Float:
		v.AppendValue(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x.Float())))
	case column.Double:
		v.AppendValue(binary.LittleEndian.AppendUint64(nil, math.Float64bits(x.Double())))
	default:
		v.AppendValue(x.ByteArray())
	}
}

// joined puts the row groups of a table behind each other.
func (t table) joined(m *schema.Message) table {
	var group []*column.Vector
	for i, l := range m.Leaves {
		v := column.New(l.Leaf)
		for _, g := range t {
			v.Append(g[i], g[i].All())
		}
		group = append(group, v)
	}
	return table{group}
}

// differs says where two tables differ, "" if they don't.
func differs(m *schema.Message, a, b table) string {
	if len(a) != len(b) {
		return fmt.Sprintf("%d row groups, expected %d", len(b), len(a))
	}
	for g := range a {
		for i, l := range m.Leaves {
			if d := differsVector(a[g][i], b[g][i]); d != "" {
				return fmt.Sprintf("row group %d, column %s (%v): %s", g, strings.Join(l.Path, "."), l.Scalar, d)
			}
		}
	}
	return ""
}

func differsVector(a, b *column.Vector) string {
	switch {
	case a.Entries() != b.Entries():
		return fmt.Sprintf("%d entries, expected %d", b.Entries(), a.Entries())
	case !bytes.Equal(a.Rep, b.Rep):
		return "repetition levels differ"
	case !bytes.Equal(a.Def, b.Def):
		return "definition levels differ"
	case a.Values() != b.Values():
		return fmt.Sprintf("%d values, expected %d", b.Values(), a.Values())
	}
	for i := range a.Values() {
		if !bytes.Equal(a.Value(i), b.Value(i)) {
			return fmt.Sprintf("value %d is %x, expected %x", i, b.Value(i), a.Value(i))
		}
	}
	return ""
}

// verify reads a file that this package wrote with three readers and compares all of it.
func verify(t testing.TB, data []byte, m *schema.Message, want table) {
	t.Helper()
	got, err := readOurs(data)
	if err != nil {
		t.Fatalf("pqfile: %v", err)
	}
	if d := differs(m, want, got); d != "" {
		t.Fatalf("pqfile: %s", d)
	}
	if got, err = readParquetGo(data, m); err != nil {
		t.Fatalf("parquet-go: %v", err)
	}
	if d := differs(m, want, got); d != "" {
		t.Fatalf("parquet-go: %s", d)
	}
	if len(want) == 0 {
		return
	}
	want = want.joined(m)
	var entries []int64
	for _, v := range want[0] {
		entries = append(entries, int64(v.Entries()))
	}
	if got, err = readXitongsys(data, m, entries); err != nil {
		t.Fatalf("xitongsys: %v", err)
	}
	if d := differs(m, want, got); d != "" {
		t.Fatalf("xitongsys: %s", d)
	}
}
