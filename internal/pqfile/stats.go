package pqfile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"

	"github.com/parquet-go/parquet-go/encoding/thrift"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// maxStat is the length up to which a value is given as a minimum or maximum.
const maxStat = 64

// order is how the values of a scalar compare.
type order uint8

const (
	unordered order = iota
	signedLE        // 1, 4 or 8 bytes, little-endian
	float
	unsignedBytes
	signedBE // two's complement, big-endian
)

func orderOf(s schema.Scalar) order {
	switch s.Kind {
	case column.Bool, column.Int32, column.Int64:
		return signedLE
	case column.Float, column.Double:
		return float
	case column.Bytes:
		if s.Logical != schema.Decimal {
			return unsignedBytes
		}
	case column.Fixed:
		if s.Logical == schema.Decimal {
			return signedBE
		}
		return unsignedBytes
	case column.Int96:
	}
	return unordered
}

// MinMax gathers what is known about the smallest and largest value of a column chunk: from statistics of chunks that it takes values
// from, and from values. Readers skip row groups by it, so it may be wider than the values but never narrower; where that can't be
// known it says nothing.
//
// Some readers answer min and max by it, and take a column whose bounds are equal for a constant. They do so with numbers, whatever the flags say that tell
// whether a bound is exact (Rust's parquet crate reads those of byte arrays alone), so of numbers nothing is said but what is exact.
type MinMax struct {
	scalar   schema.Scalar
	order    order
	unknown  bool
	any      bool
	min, max limit
}

// limit is the smallest or largest value.
type limit struct {
	value []byte
	loose bool // the chunk may lack it
}

// NewMinMax is for a chunk without values so far.
func NewMinMax(s schema.Scalar) *MinMax {
	return &MinMax{scalar: s, order: orderOf(s)}
}

// AddVector adds the plain values of a vector.
func (m *MinMax) AddVector(v *column.Vector) {
	if m.unknown || m.order == unordered || v.Values() == 0 {
		return
	}
	switch m.order {
	case signedLE:
		m.addSigned(v)
	case float:
		m.addFloats(v)
	default:
		lo, hi := v.Value(0), v.Value(0)
		for i := 1; i < v.Values(); i++ {
			b := v.Value(i)
			if m.compare(b, lo) < 0 {
				lo = b
			} else if m.compare(b, hi) > 0 {
				hi = b
			}
		}
		m.add(limit{value: lo}, limit{value: hi})
	}
}

// AddRows adds the values of some rows of a vector of plain values; sure says that the chunk has all of them.
func (m *MinMax) AddRows(v *column.Vector, x *column.Index, rows []int32, sure bool) {
	if m.unknown || m.order == unordered || len(rows) == 0 {
		return
	}
	var lo, hi []byte
	found := false // lo and hi of an empty value may be nil
	for _, r := range rows {
		s := x.Span(int(r), int(r)+1)
		for i := s.V0; i < s.V1; i++ {
			b := v.Value(i)
			if m.order == float && isNaN(b) {
				m.unknown = true
				return
			}
			switch {
			case !found:
				lo, hi, found = b, b, true
			case m.less(b, lo):
				lo = b
			case m.less(hi, b):
				hi = b
			}
		}
	}
	if found {
		m.add(limit{lo, !sure}, limit{hi, !sure})
	}
}

// AddChunk adds the statistics of a chunk, rows of which go into this one. Without statistics nothing can be said any more. Values
// must be of the same scalar, and be added otherwise if they are not. left says what is known of the rows that do not go into it, nil that all do.
func (m *MinMax) AddChunk(f *File, group, leaf int, left *Left) {
	c, s := f.Column(group, leaf), f.Schema.Leaves[leaf].Scalar
	st := &c.Statistics
	if st.NullCount.Valid && st.NullCount.V == c.NumValues {
		return
	}
	lo, hi := st.MinValue, st.MaxValue
	if leaf >= len(f.Meta.ColumnOrders) || f.Meta.ColumnOrders[leaf].Value == nil {
		lo, hi = nil, nil
	}
	if lo == nil && hi == nil && m.order == signedLE {
		lo, hi = st.Min, st.Max
	}
	if s != m.scalar || !f.ordered[leaf] || lo == nil || hi == nil || !m.fits(lo) || !m.fits(hi) {
		m.unknown = true
		return
	}
	// Without a flag bounds of text may have been cut.
	loose := func(exact thrift.Null[bool], left bool) bool { return left || !exact.V && (exact.Valid || !m.number()) }
	m.add(limit{lo, loose(st.IsMinExact, left != nil && left.Min)}, limit{hi, loose(st.IsMaxExact, left != nil && left.Max)})
}

// Left is what is known of the rows that leave a chunk: whether its smallest or largest value may have left with them.
type Left struct {
	Min, Max bool
	bounds   *MinMax
}

// NewLeft watches the rows that leave a chunk.
func NewLeft(f *File, group, leaf int) *Left {
	m := NewMinMax(f.Schema.Leaves[leaf].Scalar)
	m.AddChunk(f, group, leaf, nil)
	return &Left{bounds: m, Min: m.unknown, Max: m.unknown}
}

// Value says that a row with a value leaves.
func (l *Left) Value(v []byte) {
	m := l.bounds
	if m.unknown || !m.any {
		return
	}
	l.Min = l.Min || m.compare(v, m.min.value) <= 0
	l.Max = l.Max || m.compare(v, m.max.value) >= 0
}

// Forget says that values were added of which nothing is known.
func (m *MinMax) Forget() { m.unknown = true }

func (m *MinMax) number() bool { return m.order == signedLE || m.order == float }

func (m *MinMax) fits(b []byte) bool {
	l := column.Leaf{Kind: m.scalar.Kind, Size: m.scalar.Size}
	return l.Kind == column.Bytes || len(b) == l.Width()
}

func (m *MinMax) add(lo, hi limit) {
	if m.order == float && (isNaN(lo.value) || isNaN(hi.value)) {
		m.unknown = true
		return
	}
	m.min.take(lo, !m.any || m.compare(lo.value, m.min.value) < 0, m.compare)
	m.max.take(hi, !m.any || m.compare(hi.value, m.max.value) > 0, m.compare)
	m.any = true
}

// take takes another limit if it is further out, or as far and surer.
func (l *limit) take(other limit, further bool, compare func(a, b []byte) int) {
	switch {
	case further:
		*l = limit{append([]byte{}, other.value...), other.loose} // not nil, even if empty
	case !other.loose && compare(other.value, l.value) == 0:
		l.loose = false
	}
}

func (m *MinMax) addSigned(v *column.Vector) {
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	switch v.Leaf.Width() {
	case 1:
		for _, b := range v.Buf[:v.Values()] {
			lo, hi = min(lo, int64(b)), max(hi, int64(b))
		}
	case 4:
		for b := v.Buf; len(b) >= 4; b = b[4:] {
			x := int64(int32(binary.LittleEndian.Uint32(b)))
			lo, hi = min(lo, x), max(hi, x)
		}
	default:
		for b := v.Buf; len(b) >= 8; b = b[8:] {
			x := int64(binary.LittleEndian.Uint64(b))
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	w := v.Leaf.Width()
	value := func(x int64) limit { return limit{value: binary.LittleEndian.AppendUint64(nil, uint64(x))[:w]} }
	m.add(value(lo), value(hi))
}

// addFloats gives up where there is a NaN: whether it counts as the largest value is a matter of the reader.
func (m *MinMax) addFloats(v *column.Vector) {
	lo, hi := math.Inf(1), math.Inf(-1)
	w := v.Leaf.Width()
	for b := v.Buf; len(b) >= w; b = b[w:] {
		x := floatOf(b[:w])
		if x != x {
			m.unknown = true
			return
		}
		lo, hi = min(lo, x), max(hi, x)
	}
	m.add(limit{value: floatBytes(lo, w)}, limit{value: floatBytes(hi, w)})
}

func floatOf(b []byte) float64 {
	if len(b) == 4 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

func floatBytes(x float64, width int) []byte {
	if width == 4 {
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x)))
	}
	return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x))
}

func isNaN(b []byte) bool { x := floatOf(b); return x != x }

func (m *MinMax) less(a, b []byte) bool {
	if m.order == unsignedBytes {
		return string(a) < string(b)
	}
	return m.compare(a, b) < 0
}

func (m *MinMax) compare(a, b []byte) int {
	switch m.order {
	case signedLE:
		return cmp.Compare(signed(a), signed(b))
	case float:
		return cmp.Compare(floatOf(a), floatOf(b)) // there are no NaNs
	case signedBE:
		// Of the same length: the sign decides, then the bytes do.
		if c := cmp.Compare(int8(a[0]), int8(b[0])); c != 0 {
			return c
		}
		return bytes.Compare(a, b)
	default:
		return bytes.Compare(a, b)
	}
}

func signed(b []byte) int64 {
	switch len(b) {
	case 1:
		return int64(b[0])
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	}
	return int64(binary.LittleEndian.Uint64(b))
}

// statistics states what is known, beside the number of nulls.
func (m *MinMax) statistics(nulls int64) Statistics {
	s := Statistics{NullCount: thrift.New(nulls)}
	if m == nil || m.unknown || !m.any || m.order == unordered || len(m.min.value) > maxStat || len(m.max.value) > maxStat {
		return s
	}
	if m.number() && (m.min.loose || m.max.loose) {
		return s
	}
	s.MinValue, s.MaxValue = m.min.value, m.max.value
	if m.order == float {
		s.MinValue, s.MaxValue = zero(s.MinValue, math.Copysign(0, -1)), zero(s.MaxValue, 0)
	}
	s.IsMinExact, s.IsMaxExact = thrift.New(!m.min.loose), thrift.New(!m.max.loose)
	return s
}

// zero gives a zero the sign that makes a bound cover both zeros.
func zero(b []byte, signed float64) []byte {
	if floatOf(b) == 0 {
		return floatBytes(signed, len(b))
	}
	return b
}
