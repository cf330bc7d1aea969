package pqfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

func vectorOf(s schema.Scalar, values ...[]byte) *column.Vector {
	v := column.New(column.Leaf{Kind: s.Kind, Size: s.Size})
	for _, b := range values {
		v.AppendValue(b)
	}
	return v
}

func i32(x int32) []byte   { return binary.LittleEndian.AppendUint32(nil, uint32(x)) }
func i64(x int64) []byte   { return binary.LittleEndian.AppendUint64(nil, uint64(x)) }
func f64(x float64) []byte { return i64(int64(math.Float64bits(x))) }
func f32(x float32) []byte { return i32(int32(math.Float32bits(x))) }

func TestMinMax(t *testing.T) {
	dec := schema.Scalar{Kind: column.Fixed, Size: 2, Logical: schema.Decimal, Precision: 4}
	str := schema.Scalar{Kind: column.Bytes, Text: true}
	long := []byte(strings.Repeat("m", maxStat+1))
	negZero := math.Copysign(0, -1)
	for _, c := range []struct {
		name     string
		scalar   schema.Scalar
		values   [][]byte
		min, max []byte // nil: nothing is said
	}{
		{"bool", schema.Scalar{Kind: column.Bool}, [][]byte{{1}, {0}}, []byte{0}, []byte{1}},
		{"int", schema.Scalar{Kind: column.Int32}, [][]byte{i32(5), i32(-7), i32(6)}, i32(-7), i32(6)},
		{"long", schema.Scalar{Kind: column.Int64}, [][]byte{i64(5), i64(math.MinInt64)}, i64(math.MinInt64), i64(5)},
		{"int96", schema.Scalar{Kind: column.Int96}, [][]byte{make([]byte, 12)}, nil, nil},
		{"double", schema.Scalar{Kind: column.Double}, [][]byte{f64(2), f64(-3)}, f64(-3), f64(2)},
		{"NaN", schema.Scalar{Kind: column.Double}, [][]byte{f64(2), f64(math.NaN())}, nil, nil},
		{"zeros", schema.Scalar{Kind: column.Float}, [][]byte{f32(0), f32(0)}, f32(float32(negZero)), f32(0)},
		{"negative zero", schema.Scalar{Kind: column.Double}, [][]byte{f64(negZero), f64(-1)}, f64(-1), f64(0)},
		{"infinite", schema.Scalar{Kind: column.Double}, [][]byte{f64(math.Inf(-1))}, f64(math.Inf(-1)), f64(math.Inf(-1))},
		{"text is unsigned", str, [][]byte{[]byte("z"), []byte("é"), []byte("a")}, []byte("a"), []byte("é")},
		{"empty text", str, [][]byte{{}, []byte("a")}, []byte{}, []byte("a")},
		{"long text", str, [][]byte{long, []byte("a")}, nil, nil},
		{"long text in the middle", str, [][]byte{long, []byte("a"), []byte("z")}, []byte("a"), []byte("z")},
		{"decimal is signed", dec, [][]byte{{0, 1}, {0xFF, 0xFE}, {0x7F, 0}, {0x80, 1}}, []byte{0x80, 1}, []byte{0x7F, 0}},
		{"decimal in bytes", schema.Scalar{Kind: column.Bytes, Logical: schema.Decimal, Precision: 4}, [][]byte{{1}}, nil, nil},
		{"fixed is unsigned", schema.Scalar{Kind: column.Fixed, Size: 1}, [][]byte{{0x80}, {1}}, []byte{1}, []byte{0x80}},
		{"nothing", str, nil, nil, nil},
	} {
		m := NewMinMax(c.scalar)
		for _, b := range c.values {
			m.AddVector(vectorOf(c.scalar, b))
		}
		whole := NewMinMax(c.scalar)
		whole.AddVector(vectorOf(c.scalar, c.values...))
		for _, m := range []*MinMax{m, whole} {
			s := m.statistics(3)
			if !bytes.Equal(s.MinValue, c.min) || !bytes.Equal(s.MaxValue, c.max) || (s.MinValue == nil) != (c.min == nil) || s.NullCount.V != 3 {
				t.Errorf("%s: %x to %x, expected %x to %x", c.name, s.MinValue, s.MaxValue, c.min, c.max)
			}
			if c.min != nil && !s.IsMinExact.V {
				t.Errorf("%s: not exact", c.name)
			}
		}
	}
}

// TestMinMaxOfChunks joins statistics of a file with values.
func TestMinMaxOfChunks(t *testing.T) {
	m := message(t, shapes[3])
	data := simpleFile(t, m)
	open := func(change func(f *File, s *Statistics)) *File {
		f, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		change(f, &f.Meta.RowGroups[0].Columns[0].MetaData.Statistics)
		return f
	}
	for _, c := range []struct {
		name     string
		change   func(f *File, s *Statistics)
		min, max []byte
	}{
		{"values between", func(_ *File, s *Statistics) { s.MinValue, s.MaxValue = i64(-10), i64(10) }, i64(-10), i64(10)},
		{"value above", func(_ *File, s *Statistics) { s.MinValue, s.MaxValue = i64(-10), i64(2) }, i64(-10), i64(3)},
		{"none", func(_ *File, s *Statistics) { s.MinValue, s.MaxValue = nil, nil }, nil, nil},
		{"one side", func(_ *File, s *Statistics) { s.MinValue = nil }, nil, nil},
		{"deprecated pair", func(_ *File, s *Statistics) { *s = Statistics{Min: i64(-10), Max: i64(10)} }, i64(-10), i64(10)},
		{"wrong width", func(_ *File, s *Statistics) { s.MinValue = []byte{1} }, nil, nil},
		{"no order", func(f *File, s *Statistics) { f.Meta.ColumnOrders = nil }, nil, nil},
		{"unsigned", func(f *File, s *Statistics) { f.ordered[0] = false }, nil, nil},
		{"all null", func(_ *File, s *Statistics) { *s = Statistics{NullCount: thrift.New[int64](100)} }, i64(3), i64(3)},
	} {
		mm := NewMinMax(m.Leaves[0].Scalar)
		mm.AddVector(vectorOf(m.Leaves[0].Scalar, i64(3)))
		mm.AddChunk(open(c.change), 0, 0, nil)
		s := mm.statistics(0)
		if !bytes.Equal(s.MinValue, c.min) || !bytes.Equal(s.MaxValue, c.max) {
			t.Errorf("%s: %x to %x, expected %x to %x", c.name, s.MinValue, s.MaxValue, c.min, c.max)
		}
	}
}

// TestBoundsOfNumbersAreExact: nothing is said of numbers where a bound may be wider than the values. Of text it is, and that it is so.
func TestBoundsOfNumbersAreExact(t *testing.T) {
	long, text := schema.Scalar{Kind: column.Int64}, schema.Scalar{Kind: column.Bytes, Text: true}
	value := func(s schema.Scalar, v int64) []byte {
		if s == text {
			return fmt.Appendf(nil, "%03d", v)
		}
		return i64(v)
	}
	for _, s := range []schema.Scalar{long, text} {
		kind := format.Int64
		if s == text {
			kind = format.ByteArray
		}
		e := leafElement("c", format.Required, kind, 0)
		if s == text {
			e.ConvertedType = thrift.New(deprecated.UTF8)
			e.LogicalType.Value = &format.StringType{}
		}
		data := simpleFile(t, message(t, []element{e}))
		for _, c := range []struct {
			name     string
			inexact  bool // as the chunk, of values from 10 to 20, says
			left     []int64
			unknown  bool // which rows left
			add      int64
			sure     bool
			min, max bool // exact
		}{
			{name: "all stay", add: 15, sure: true, min: true, max: true},
			{name: "all stay, inexact before", inexact: true, add: 15, sure: true},
			{name: "some leave", left: []int64{11, 19}, add: 15, sure: true, min: true, max: true},
			{name: "the least leaves", left: []int64{11, 10}, add: 15, sure: true, max: true},
			{name: "the greatest leaves", left: []int64{20}, add: 15, sure: true, min: true},
			{name: "the greatest leaves, and comes again", left: []int64{20}, add: 20, sure: true, min: true, max: true},
			{name: "the greatest leaves, and may come again", left: []int64{20}, add: 20, min: true},
			{name: "a greater one comes", left: []int64{20}, add: 21, sure: true, min: true, max: true},
			{name: "a greater one may come", left: []int64{11}, add: 21, min: true},
			{name: "any may have left", unknown: true, add: 15, sure: true},
			{name: "any may have left, a greater one comes", unknown: true, add: 21, sure: true, max: true},
		} {
			f, err := Open(bytes.NewReader(data), int64(len(data)))
			if err != nil {
				t.Fatal(err)
			}
			f.Meta.RowGroups[0].Columns[0].MetaData.Statistics = Statistics{MinValue: value(s, 10), MaxValue: value(s, 20)}
			if st := &f.Meta.RowGroups[0].Columns[0].MetaData.Statistics; c.inexact || s == text {
				st.IsMinExact, st.IsMaxExact = thrift.New(!c.inexact), thrift.New(!c.inexact)
			}
			var left *Left
			if c.left != nil {
				left = NewLeft(f, 0, 0)
			}
			for _, v := range c.left {
				left.Value(value(s, v))
			}
			if c.unknown {
				left = &Left{Min: true, Max: true}
			}
			m, v := NewMinMax(s), vectorOf(s, value(s, c.add))
			m.AddRows(v, column.NewIndex(v), []int32{0}, c.sure)
			m.AddChunk(f, 0, 0, left)
			st := m.statistics(0)
			if s == long && (!c.min || !c.max) {
				if st.MinValue != nil || st.MaxValue != nil {
					t.Errorf("%s: from %x to %x", c.name, st.MinValue, st.MaxValue)
				}
				continue
			}
			if want := value(s, max(c.add, 20)); !bytes.Equal(st.MinValue, value(s, 10)) || !bytes.Equal(st.MaxValue, want) || st.IsMinExact.V != c.min || st.IsMaxExact.V != c.max {
				t.Errorf("%v, %s: %+v", s.Kind, c.name, st)
			}
		}
	}
}

// TestUnsignedColumnsHaveNoStatistics guards the one order that a scalar does not show.
func TestUnsignedColumnsHaveNoStatistics(t *testing.T) {
	e := leafElement("u", format.Required, format.Int64, 0)
	e.ConvertedType = thrift.New(deprecated.Uint64)
	e.LogicalType.Value = &format.IntType{BitWidth: 64}
	data := simpleFile(t, message(t, []element{e}))
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	s := f.Column(0, 0).Statistics
	if s.MinValue != nil || s.MaxValue != nil || !s.NullCount.Valid {
		t.Errorf("statistics %+v", s)
	}
}
