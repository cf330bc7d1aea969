package column_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hudifs/hudifs/internal/column"
)

// entry is one entry of a column, by itself: the model that vectors are compared with.
type entry struct {
	rep, def uint8
	value    []byte // nil is none
}

func drawLeaf(t *rapid.T) column.Leaf {
	l := column.Leaf{
		Kind:   rapid.SampledFrom([]column.Kind{column.Bool, column.Int32, column.Int64, column.Int96, column.Float, column.Double, column.Bytes, column.Fixed}).Draw(t, "kind"),
		MaxRep: rapid.Uint8Range(0, 2).Draw(t, "max rep"),
	}
	if l.Kind == column.Fixed {
		l.Size = rapid.IntRange(1, 20).Draw(t, "size")
	}
	l.MaxDef = l.MaxRep + rapid.Uint8Range(0, 2).Draw(t, "max def")
	return l
}

func drawRows(t *rapid.T, l column.Leaf) [][]entry {
	var rows [][]entry
	for range rapid.IntRange(0, 6).Draw(t, "rows") {
		entries := 1
		if l.MaxRep > 0 {
			entries = rapid.IntRange(1, 4).Draw(t, "entries")
		}
		var row []entry
		for i := range entries {
			e := entry{def: rapid.Uint8Range(0, l.MaxDef).Draw(t, "def")}
			if i > 0 {
				e.rep = rapid.Uint8Range(1, l.MaxRep).Draw(t, "rep")
			}
			if e.def == l.MaxDef {
				n := l.Width()
				if l.Kind == column.Bytes {
					n = rapid.IntRange(0, 5).Draw(t, "length")
				}
				e.value = rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "value")
				if e.value == nil {
					e.value = []byte{}
				}
			}
			row = append(row, e)
		}
		rows = append(rows, row)
	}
	return rows
}

func add(v *column.Vector, rows [][]entry) {
	for _, row := range rows {
		for _, e := range row {
			v.AppendLevels(e.rep, e.def)
			if e.value != nil {
				v.AppendValue(e.value)
			}
		}
	}
}

// check compares a vector with the model by everything that it tells.
func check(t *rapid.T, v *column.Vector, rows [][]entry) {
	t.Helper()
	var reps, defs []byte
	var values [][]byte
	size := 0
	for _, e := range slices.Concat(rows...) {
		reps, defs = append(reps, e.rep), append(defs, e.def)
		if e.value != nil {
			values = append(values, e.value)
			size += len(e.value)
		}
	}
	entries := len(reps)
	if v.Leaf.MaxRep == 0 {
		reps = nil
	}
	if v.Leaf.MaxDef == 0 {
		defs = nil
	}
	if !bytes.Equal(v.Rep, reps) || !bytes.Equal(v.Def, defs) {
		t.Fatalf("levels %v %v, want %v %v", v.Rep, v.Def, reps, defs)
	}
	if v.Entries() != entries || v.Rows() != len(rows) || v.Values() != len(values) {
		t.Fatalf("%d entries, %d rows, %d values, want %d, %d, %d", v.Entries(), v.Rows(), v.Values(), entries, len(rows), len(values))
	}
	for i, want := range values {
		if !bytes.Equal(v.Value(i), want) {
			t.Fatalf("value %d is %x, want %x", i, v.Value(i), want)
		}
	}
	if v.All() != (column.Span{E1: entries, V1: len(values)}) {
		t.Fatalf("all of it is %v", v.All())
	}
	if least := len(reps) + len(defs) + size; v.Size() < least || v.Size() > least+4*(len(values)+1) {
		t.Fatalf("a size of %d for %d bytes and %d values", v.Size(), least, len(values))
	}
}

func TestVectorIsItsEntries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLeaf(t)
		v := column.New(l)
		for range 2 { // the second time in memory that was used
			rows := drawRows(t, l)
			add(v, rows)
			check(t, v, rows)
			v.Reset()
			check(t, v, nil)
		}
	})
}

// Rows are cut out of vectors, put together in any order, and appended to what is there.
func TestSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLeaf(t)
		rows := drawRows(t, l)
		src := column.New(l)
		add(src, rows)
		index := column.NewIndex(src)
		if index.Rows() != len(rows) {
			t.Fatalf("an index of %d rows, want %d", index.Rows(), len(rows))
		}
		dst := column.New(l)
		want := drawRows(t, l)
		add(dst, want)
		for range rapid.IntRange(0, 5).Draw(t, "spans") {
			i := rapid.IntRange(0, len(rows)).Draw(t, "from")
			j := rapid.IntRange(i, len(rows)).Draw(t, "to")
			dst.Append(src, index.Span(i, j))
			want = append(want, rows[i:j]...)
			if nulls := rapid.IntRange(0, 2).Draw(t, "nulls"); l.MaxDef > 0 {
				dst.AppendNulls(nulls)
				for range nulls {
					want = append(want, []entry{{}})
				}
			}
		}
		check(t, dst, want)
		if got := column.NewIndex(dst); got.Span(0, got.Rows()) != dst.All() {
			t.Fatalf("all rows are %v, all of it is %v", got.Span(0, got.Rows()), dst.All())
		}
		dst.Append(dst, dst.All())
		check(t, dst, slices.Concat(want, want))
		check(t, src, rows)
	})
}

// Values are appended apart from their levels, as those of a dictionary's page are.
func TestAppendValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLeaf(t)
		rows, before := drawRows(t, l), drawRows(t, l)
		src, dst := column.New(l), column.New(l)
		add(src, rows)
		add(dst, before)
		for _, e := range slices.Concat(rows...) {
			dst.AppendLevels(e.rep, e.def)
		}
		dst.AppendValues(src)
		check(t, dst, slices.Concat(before, rows))
	})
}

// A vector may be filled without its methods, which must then be told how many values there are.
func TestFilledDirectly(t *testing.T) {
	v := column.New(column.Leaf{Kind: column.Bytes})
	v.Buf, v.Off = []byte("abc"), []uint32{0, 1, 3}
	v.SetValues(2)
	if v.Entries() != 2 || v.Rows() != 2 || string(v.Value(1)) != "bc" {
		t.Errorf("%d entries, %d rows, %q", v.Entries(), v.Rows(), v.Value(1))
	}
	// Bytes that begin elsewhere than at 0, as where a page is taken out of a chunk.
	part, all := column.New(v.Leaf), column.New(v.Leaf)
	part.Buf, part.Off = v.Buf, v.Off[1:]
	part.SetValues(1)
	all.AppendValue([]byte("x"))
	all.Append(part, part.All())
	if all.Values() != 2 || string(all.Value(0)) != "x" || string(all.Value(1)) != "bc" {
		t.Errorf("%d values, %q, %q", all.Values(), all.Value(0), all.Value(1))
	}
}

func TestLeaves(t *testing.T) {
	for _, tt := range []struct {
		leaf  column.Leaf
		width int
		text  string
	}{
		{column.Leaf{Kind: column.Bool}, 1, "BOOLEAN"},
		{column.Leaf{Kind: column.Int32}, 4, "INT32"},
		{column.Leaf{Kind: column.Int64}, 8, "INT64"},
		{column.Leaf{Kind: column.Int96}, 12, "INT96"},
		{column.Leaf{Kind: column.Float}, 4, "FLOAT"},
		{column.Leaf{Kind: column.Double}, 8, "DOUBLE"},
		{column.Leaf{Kind: column.Bytes, Size: 7}, 0, "BYTE_ARRAY"},
		{column.Leaf{Kind: column.Fixed, Size: 7}, 7, "FIXED_LEN_BYTE_ARRAY(7)"},
	} {
		if tt.leaf.Width() != tt.width || fmt.Sprint(tt.leaf) != tt.text {
			t.Errorf("%v of width %d, want %s, %d", tt.leaf, tt.leaf.Width(), tt.text, tt.width)
		}
	}
}
