package column

import "bytes"

// Walker goes through the rows of a vector in order, without an Index.
type Walker struct {
	v            *Vector
	entry, value int
}

// NewWalker begins at the first row.
func NewWalker(v *Vector) Walker { return Walker{v: v} }

// Next is where the next n rows lie; there must be so many.
func (w *Walker) Next(n int) Span {
	s := Span{E0: w.entry, V0: w.value}
	v := w.v
	if v.Leaf.MaxRep == 0 {
		w.entry += n
	} else {
		for range n {
			w.entry++
			for w.entry < len(v.Rep) && v.Rep[w.entry] != 0 {
				w.entry++
			}
		}
	}
	if v.values == v.Entries() {
		w.value += w.entry - s.E0
	} else {
		w.value += bytes.Count(v.Def[s.E0:w.entry], []byte{v.Leaf.MaxDef})
	}
	s.E1, s.V1 = w.entry, w.value
	return s
}
