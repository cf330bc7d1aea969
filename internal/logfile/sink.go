package logfile

import (
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
	values   int
	// fed says that a step reads values into it.
	fed bool
	// longest is the length of the longest symbol of an enum.
	longest int
	// all is what it will hold in the end.
	all Expected
}

func (s *sink) level(rep, def uint8) {
	if s.leaf.MaxDef > 0 {
		s.def = append(s.def, def)
	}
	if s.leaf.MaxRep > 0 {
		s.rep = append(s.rep, rep)
	}
}

// add appends the bytes of a value.
func (s *sink) add(b []byte) {
	n := len(s.buf)
	if len(b) > cap(s.buf)-n {
		s.grow(len(b))
	}
	s.buf = s.buf[:n+len(b)]
	copy(s.buf[n:], b)
}

// grow makes room for n bytes more: for all rows to come, if they are like those before.
func (s *sink) grow(n int) {
	need := len(s.buf) + n
	want := max(2*need, 64)
	const enough = 64 // rows to judge by
	if done := len(s.def); done >= enough && done < s.all.Rows {
		want = max(min(int(float64(need)/float64(done)*float64(s.all.Rows)*1.06), int(s.all.Bytes)), need+need/4)
	}
	s.buf = append(make([]byte, 0, want), s.buf...)
}

// reserve takes what is there already, and makes room for an entry in each row.
func (s *sink) reserve(there *column.Vector, all Expected) {
	s.all = all
	s.rep, s.def, s.buf, s.off, s.values = there.Rep, there.Def, there.Buf, there.Off, there.Values()
	rows := all.Rows
	if s.leaf.MaxRep > 0 {
		rows = 0 // who knows how long lists are
	}
	if s.leaf.MaxDef > 0 {
		s.def = slices.Grow(s.def, max(rows-len(s.def), 0))
	}
	switch {
	case !s.fed:
	case s.leaf.Kind == column.Bytes:
		if s.off = slices.Grow(s.off, max(rows+1-len(s.off), 1)); len(s.off) == 0 {
			s.off = append(s.off, 0)
		}
	case s.leaf.Kind == column.Fixed:
		s.buf = slices.Grow(s.buf, max(min(rows*s.leaf.Size, int(all.Bytes))-len(s.buf), 0))
	default:
		s.buf = slices.Grow(s.buf, max(rows*s.leaf.Width()-len(s.buf), 0))
	}
}

// give hands over what the sink collected, in the form of the target's leaf: it adds to dst, or has taken what was there.
func (s *sink) give(dst *column.Vector) error {
	v := &column.Vector{Leaf: s.leaf, Rep: s.rep, Def: s.def, Buf: s.buf, Off: s.off}
	v.SetValues(s.values)
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
