package logfile

import (
	"bytes"
	"errors"
	"slices"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// sink collects one column, in the layout of the record's own type and with the levels of the target's.
type sink struct {
	node     *schema.Node
	cast     schema.Cast
	leaf     column.Leaf
	rep, def []byte
	buf      []byte
	off      []uint32
	// entries and values are what it held before this block.
	entries, values int
	// fed says that a step reads values into it.
	fed bool
	// longest is the length of the longest symbol of an enum.
	longest int
	// all is what it will hold in the end.
	all Expected
}

// level adds an entry of a row, which may have many.
func (s *sink) level(rep, def uint8) {
	s.rep = append(s.rep, rep)
	s.def = append(s.def, def)
}

// present says that a row, or an entry of it, has a value, which was added. Where rows have one entry each their levels say so already.
func (s *sink) present(rep uint8) {
	if s.leaf.MaxRep > 0 {
		s.level(rep, s.leaf.MaxDef)
	}
}

// absent says that a row of the block, or an entry of it, has no value.
func (s *sink) absent(row int, rep, def uint8) {
	if s.leaf.MaxRep == 0 {
		s.def[s.entries+row] = def
		return
	}
	s.level(rep, def)
}

// short is how many bytes are copied in one at most, whether all of them are meant or not.
const short = 32

// add appends the n bytes at q as a value of a row. What lies behind b, up to its capacity, may be read.
func (s *sink) add(b []byte, q, n, row int) {
	at := len(s.buf)
	if n > cap(s.buf)-at {
		s.grow(n, row)
	}
	if n <= short && short <= cap(b)-q && short <= cap(s.buf)-at {
		*(*[short]byte)(s.buf[at : at+short]) = *(*[short]byte)(b[q : q+short])
		s.buf = s.buf[:at+n]
		return
	}
	s.buf = s.buf[:at+n]
	copy(s.buf[at:], b[q:])
}

// grow makes room for n bytes more, after so many rows of the block: for all rows to come, if they are like those before.
func (s *sink) grow(n, row int) {
	need := len(s.buf) + n
	want := max(2*need, 64)
	const enough = 64 // rows to judge by
	if done := s.entries + row; s.leaf.MaxRep == 0 && done >= enough && done < s.all.Rows {
		want = max(min(int(float64(need)/float64(done)*float64(s.all.Rows)*1.06), int(s.all.Bytes)), need+need/4)
	}
	s.buf = append(make([]byte, 0, want), s.buf...)
}

// reserve takes what is there already, and makes room for an entry in each of the block's rows, and in all of them.
func (s *sink) reserve(there *column.Vector, rows int, all Expected) {
	s.all = all
	s.rep, s.def, s.buf, s.off, s.entries, s.values = there.Rep, there.Def, there.Buf, there.Off, there.Entries(), there.Values()
	room := max(all.Rows, s.entries+rows)
	switch {
	case s.leaf.MaxRep > 0:
		room = 0 // who knows how long lists are
	case s.leaf.MaxDef > 0:
		s.def = slices.Grow(s.def, room-s.entries)[:s.entries+rows]
		fill(s.def[s.entries:], s.leaf.MaxDef)
	}
	switch {
	case !s.fed:
	case s.leaf.Kind == column.Bytes:
		if s.off = slices.Grow(s.off, max(room+1-len(s.off), 1)); len(s.off) == 0 {
			s.off = append(s.off, 0)
		}
	case s.leaf.Kind == column.Fixed:
		s.buf = slices.Grow(s.buf, max(min(room*s.leaf.Size, int(all.Bytes))-len(s.buf), 0))
	default:
		s.buf = slices.Grow(s.buf, max(room*s.leaf.Width()-len(s.buf), 0))
	}
}

func fill(b []byte, with byte) {
	if len(b) == 0 {
		return
	}
	b[0] = with
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

// count is how many values it holds, after so many rows of the block.
func (s *sink) count(rows int) int {
	if s.leaf.MaxDef == 0 {
		return s.values + rows
	}
	return s.values + bytes.Count(s.def[s.entries:], []byte{s.leaf.MaxDef})
}

// give hands over what the sink collected of so many rows, in the form of the target's leaf: it adds to dst, or has taken what was there.
func (s *sink) give(dst *column.Vector, rows int) error {
	v := &column.Vector{Leaf: s.leaf, Rep: s.rep, Def: s.def, Buf: s.buf, Off: s.off}
	v.SetValues(s.count(rows))
	if s.cast == nil {
		v.Leaf = s.node.Leaf
		*dst = *v
		return checkOffsets(dst)
	}
	out := column.New(s.node.Leaf)
	out.Rep, out.Def = s.rep, s.def
	if err := s.cast(out, v); err != nil {
		return err
	}
	if out.Values() != v.Values() {
		return errors.New("a cast changed the number of values")
	}
	if dst.Entries() == 0 {
		*dst = *out
	} else {
		dst.Append(out, out.All())
	}
	return checkOffsets(dst)
}
