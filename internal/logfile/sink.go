package logfile

import (
	"errors"

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
	// rows and content bound what it will hold: so many records, of so many bytes in all.
	rows, content int
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
	if done := len(s.def); done >= enough && done < s.rows {
		want = max(min(int(float64(need)/float64(done)*float64(s.rows)*1.06), s.content), need+need/4)
	}
	s.buf = append(make([]byte, 0, want), s.buf...)
}

// reserve makes room for an entry in each row, out of a content of a given size.
func (s *sink) reserve(rows, content int) {
	s.rows, s.content = rows, content
	if s.leaf.MaxRep > 0 {
		rows = 0 // who knows how long lists are
	}
	if s.leaf.MaxDef > 0 {
		s.def = make([]byte, 0, rows)
	}
	switch {
	case !s.fed:
	case s.leaf.Kind == column.Bytes:
		s.off = append(make([]uint32, 0, rows+1), 0)
	case s.leaf.Kind == column.Fixed:
		s.buf = make([]byte, 0, min(rows*s.leaf.Size, content))
	default:
		s.buf = make([]byte, 0, rows*s.leaf.Width())
	}
}

// vector hands over what the sink collected, in the form of the target's leaf.
func (s *sink) vector() (*column.Vector, error) {
	v := &column.Vector{Leaf: s.leaf, Rep: s.rep, Def: s.def, Buf: s.buf, Off: s.off}
	v.SetValues(s.values)
	if s.cast == nil {
		v.Leaf = s.node.Leaf
		return v, nil
	}
	out := column.New(s.node.Leaf)
	out.Rep, out.Def = s.rep, s.def
	if err := s.cast(out, v); err != nil {
		return nil, err
	}
	if out.Values() != v.Values() {
		return nil, errors.New("a cast changed the number of values")
	}
	return out, checkOffsets(out)
}
