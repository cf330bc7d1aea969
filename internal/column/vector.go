// Package column holds the values of one leaf column over a run of rows in Dremel form: a repetition and a definition
// level an entry, and the values of the entries that are not null.
//
//	rows          [1, 2]   null   []   [null, 3]
//	repetition     0  1     0     0     0    1
//	definition     3  3     0     1     2    3       (optional list of optional elements: 3 = a value is there)
//	values         1  2                      3
//
// Values of fixed width lie in one buffer, little-endian as in Parquet's PLAIN encoding; byte arrays in one buffer
// with offsets. It is the form in which Parquet pages, Avro log records and rendered files meet.
package column

import (
	"fmt"
	"slices"
)

// Kind is the physical type of a leaf, as Parquet has them.
type Kind uint8

// The physical types.
const (
	Bool   Kind = iota // one byte a value, 0 or 1 (in memory; Parquet packs bits)
	Int32              // 4 bytes
	Int64              // 8 bytes
	Int96              // 12 bytes
	Float              // 4 bytes
	Double             // 8 bytes
	Bytes              // variable width
	Fixed              // Leaf.Size bytes
)

func (k Kind) String() string {
	return [...]string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}[k]
}

// Leaf says how the values of a column are laid out.
type Leaf struct {
	Kind   Kind
	Size   int   // bytes a value, for Fixed
	MaxRep uint8 // repetition levels run from 0 to MaxRep
	MaxDef uint8 // an entry has a value when its definition level is MaxDef
}

// Width is the number of bytes of a value in memory, 0 for Bytes.
func (l Leaf) Width() int {
	switch l.Kind {
	case Bool:
		return 1
	case Int32, Float:
		return 4
	case Int64, Double:
		return 8
	case Int96:
		return 12
	case Fixed:
		return l.Size
	case Bytes:
	}
	return 0
}

func (l Leaf) String() string {
	if l.Kind == Fixed {
		return fmt.Sprintf("%v(%d)", l.Kind, l.Size)
	}
	return l.Kind.String()
}

// Vector is a run of entries of one leaf column. The zero value of everything but Leaf is an empty vector.
type Vector struct {
	Leaf Leaf
	// Rep has a level for each entry; it is nil where MaxRep is 0.
	Rep []byte
	// Def has a level for each entry; it is nil where MaxDef is 0.
	Def []byte
	// Buf holds the values: Width bytes each, or for Bytes those between two Off.
	Buf []byte
	// Off bounds the values of a Bytes column: value i is Buf[Off[i]:Off[i+1]]. It is empty or has one more entry than there are values.
	Off []uint32

	values int
}

// New makes an empty vector of a leaf.
func New(l Leaf) *Vector { return &Vector{Leaf: l} }

// Reset empties the vector and keeps its memory.
func (v *Vector) Reset() {
	v.Rep, v.Def, v.Buf, v.Off, v.values = v.Rep[:0], v.Def[:0], v.Buf[:0], v.Off[:0], 0
}

// Reserve makes room for entries and for bytes of values that will be added.
func (v *Vector) Reserve(entries, bytes int) {
	if v.Leaf.MaxRep > 0 {
		v.Rep = slices.Grow(v.Rep, entries)
	}
	if v.Leaf.MaxDef > 0 {
		v.Def = slices.Grow(v.Def, entries)
	}
	if v.Leaf.Kind == Bytes {
		v.Off = slices.Grow(v.Off, entries+1)
	}
	v.Buf = slices.Grow(v.Buf, bytes)
}

// Values is the number of entries that are not null.
func (v *Vector) Values() int { return v.values }

// SetValues says how many values Buf and Off hold, after they were filled directly.
func (v *Vector) SetValues(n int) { v.values = n }

// Entries is the number of entries: values and nulls.
func (v *Vector) Entries() int {
	if v.Leaf.MaxDef > 0 {
		return len(v.Def)
	}
	return v.values
}

// Rows is the number of rows that begin in the vector.
func (v *Vector) Rows() int {
	if v.Leaf.MaxRep == 0 {
		return v.Entries()
	}
	n := 0
	for _, r := range v.Rep {
		if r == 0 {
			n++
		}
	}
	return n
}

// Size is the memory that the vector's content takes, in bytes.
func (v *Vector) Size() int { return len(v.Rep) + len(v.Def) + len(v.Buf) + 4*len(v.Off) }

// Value is the i-th value, aliasing the vector's buffer.
func (v *Vector) Value(i int) []byte {
	if v.Leaf.Kind == Bytes {
		return v.Buf[v.Off[i]:v.Off[i+1]]
	}
	w := v.Leaf.Width()
	return v.Buf[i*w : (i+1)*w]
}

// AppendLevels adds the levels of an entry; where def is MaxDef, a value must be added next.
func (v *Vector) AppendLevels(rep, def uint8) {
	if v.Leaf.MaxRep > 0 {
		v.Rep = append(v.Rep, rep)
	}
	if v.Leaf.MaxDef > 0 {
		v.Def = append(v.Def, def)
	}
}

// AppendValue adds a value, whose levels were added before. Width must fit, unless the column is of Bytes.
func (v *Vector) AppendValue(b []byte) {
	v.Buf = append(v.Buf, b...)
	v.closeValue()
}

// closeValue counts the value whose bytes were just appended to Buf.
func (v *Vector) closeValue() {
	if v.Leaf.Kind == Bytes {
		if len(v.Off) == 0 {
			v.Off = append(v.Off, 0)
		}
		v.Off = append(v.Off, uint32(len(v.Buf)))
	}
	v.values++
}

// Span is a run of whole rows of a vector: entries E0 to E1, values V0 to V1.
type Span struct{ E0, E1, V0, V1 int }

// All spans the whole vector.
func (v *Vector) All() Span { return Span{0, v.Entries(), 0, v.values} }

// Append adds the entries and values of a span of another vector of the same leaf.
func (v *Vector) Append(src *Vector, s Span) {
	if v.Leaf.MaxRep > 0 {
		v.Rep = append(v.Rep, src.Rep[s.E0:s.E1]...)
	}
	if v.Leaf.MaxDef > 0 {
		v.Def = append(v.Def, src.Def[s.E0:s.E1]...)
	}
	if s.V1 == s.V0 {
		return
	}
	if v.Leaf.Kind != Bytes {
		w := v.Leaf.Width()
		v.Buf = append(v.Buf, src.Buf[s.V0*w:s.V1*w]...)
		v.values += s.V1 - s.V0
		return
	}
	if len(v.Off) == 0 {
		v.Off = append(v.Off, 0)
	}
	from := src.Off[s.V0]
	shift := uint32(len(v.Buf)) - from
	v.Buf = append(v.Buf, src.Buf[from:src.Off[s.V1]]...)
	for _, o := range src.Off[s.V0+1 : s.V1+1] {
		v.Off = append(v.Off, o+shift)
	}
	v.values += s.V1 - s.V0
}

// AppendNulls adds n rows that are null at the top.
func (v *Vector) AppendNulls(n int) {
	for range n {
		v.AppendLevels(0, 0)
	}
}

// Index finds rows of a vector by number.
type Index struct {
	rows         int
	entry, value []uint32 // where row i begins, one more at the end; nil where that is i
}

// NewIndex reads the levels of a vector once.
func NewIndex(v *Vector) *Index {
	n := v.Entries()
	if v.Leaf.MaxRep == 0 {
		return newFlatIndex(v, n)
	}
	x := &Index{}
	val := uint32(0)
	for i := range n {
		if v.Rep[i] == 0 {
			x.entry, x.value = append(x.entry, uint32(i)), append(x.value, val)
		}
		if v.Leaf.MaxDef == 0 || v.Def[i] == v.Leaf.MaxDef {
			val++
		}
	}
	x.rows = len(x.entry)
	x.entry, x.value = append(x.entry, uint32(n)), append(x.value, val)
	return x
}

func newFlatIndex(v *Vector, n int) *Index {
	x := &Index{rows: n}
	if v.values == n {
		return x
	}
	x.value = make([]uint32, n+1)
	val := uint32(0)
	for i, d := range v.Def {
		x.value[i] = val
		if d == v.Leaf.MaxDef {
			val++
		}
	}
	x.value[n] = val
	return x
}

// Rows is the number of rows.
func (x *Index) Rows() int { return x.rows }

// Span is where rows i to j (exclusive) lie.
func (x *Index) Span(i, j int) Span {
	s := Span{i, j, i, j}
	if x.entry != nil {
		s.E0, s.E1 = int(x.entry[i]), int(x.entry[j])
	}
	if x.value != nil {
		s.V0, s.V1 = int(x.value[i]), int(x.value[j])
	}
	return s
}

// AppendValues adds all values of another vector of the same kind and width, whose levels were added before.
func (v *Vector) AppendValues(src *Vector) {
	s := Span{V1: src.values}
	levels := v.Leaf
	v.Leaf.MaxRep, v.Leaf.MaxDef = 0, 0
	v.Append(src, s)
	v.Leaf = levels
}
