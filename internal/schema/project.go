package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hudifs/hudifs/internal/column"
)

// LeafMap says how a leaf of a target schema gets its entries from the leaves of another one.
type LeafMap struct {
	// Source is the number of the leaf whose entries give the structure; -1 where the column is missing: every row is null.
	Source int

	levels []uint8 // the target's definition level for each of the source's; cannot where the target can't hold it
	rep    uint8   // entries of a deeper repetition are dropped: they lie below what the target knows
	bare   bool    // only the structure is taken: the target's leaf is missing in the source
	cast   Cast    // nil: values stay as they are
	target *Node
}

// cannot marks a definition level that the target can't express.
const cannot = 0xFF

// Identity says that source entries are the target's as they stand.
func (l LeafMap) Identity() bool {
	if l.Source < 0 || l.bare || l.cast != nil {
		return false
	}
	levels, ok := l.Levels()
	return ok && levels == nil
}

// Levels has the target's definition level for each of the source's, nil where they are the same. ok is false where that does not tell what
// becomes of the entries.
func (l LeafMap) Levels() (levels []uint8, ok bool) {
	if l.Source < 0 || slices.Contains(l.levels, cannot) {
		return nil, false
	}
	for i, d := range l.levels {
		if int(d) != i {
			return l.levels, true
		}
	}
	return nil, true
}

// ValuesKept says that values stay byte for byte as they are, whatever becomes of the levels.
func (l LeafMap) ValuesKept() bool { return l.Source >= 0 && !l.bare && l.cast == nil }

// Nulls says that the target's leaf has no value in any row.
func (l LeafMap) Nulls() bool { return l.Source < 0 || l.bare }

// Apply adds the rows of a source vector to one of the target's leaf.
func (l LeafMap) Apply(dst, src *column.Vector) error {
	if err := l.applyLevels(dst, src); err != nil || l.bare {
		return err
	}
	return l.ApplyValues(dst, src)
}

// ApplyIndexes adds the rows of a source vector whose values number those of a dictionary, to a vector of the same kind.
func (l LeafMap) ApplyIndexes(dst, src *column.Vector) error {
	if err := l.applyLevels(dst, src); err != nil || l.bare {
		return err
	}
	dst.AppendValues(src)
	return nil
}

// ApplyValues adds values alone, such as those of a dictionary.
func (l LeafMap) ApplyValues(dst, src *column.Vector) error {
	if l.cast == nil {
		dst.AppendValues(src)
		return nil
	}
	if err := l.cast(dst, src); err != nil {
		return fmt.Errorf("column %s: %w", strings.Join(l.target.Path, "."), err)
	}
	return nil
}

func (l LeafMap) applyLevels(dst, src *column.Vector) error {
	for i := range src.Entries() {
		rep, def := uint8(0), uint8(0)
		if src.Leaf.MaxRep > 0 {
			rep = src.Rep[i]
		}
		if src.Leaf.MaxDef > 0 {
			def = src.Def[i]
		}
		if rep > l.rep {
			continue
		}
		if int(def) >= len(l.levels) || l.levels[def] == cannot {
			return invalid("column %s: a null where the view's schema can't hold one", strings.Join(l.target.Path, "."))
		}
		dst.AppendLevels(rep, l.levels[def])
	}
	return nil
}

// Project finds for every leaf of the target the leaf of the source that it comes from, by name, and how. Columns of the source
// that the target lacks are left out; those that the source lacks are null.
func Project(source, target *Message) ([]LeafMap, error) {
	p := projector{out: make([]LeafMap, len(target.Leaves))}
	find := lookup(source.Fields)
	for _, t := range target.Fields {
		s := find(t.Name)
		if s == nil {
			if err := p.absent(t, nil, nil); err != nil {
				return nil, err
			}
			continue
		}
		if err := p.node(s, t, []uint8{0}); err != nil {
			return nil, fmt.Errorf("column %s: %w", t.Name, err)
		}
	}
	return p.out, nil
}

type projector struct{ out []LeafMap }

// node maps a node to its counterpart. levels has the target's definition level for each level of the source's parent; the
// last one is that of the parent being there.
func (p *projector) node(s, t *Node, levels []uint8) error {
	if s.Shape != t.Shape {
		return invalid("a %v cannot become a %v", s.Shape, t.Shape)
	}
	if (s.Repetition == Repeated) != (t.Repetition == Repeated) {
		return invalid("what is repeated cannot become what is not, nor the reverse")
	}
	levels = enter(levels, s.Repetition != Required, t.Repetition != Required)
	switch t.Shape {
	case LeafShape:
		cast, err := CastFor(s.Scalar, t.Scalar)
		if err != nil {
			return err
		}
		p.out[t.Index] = LeafMap{Source: s.Index, levels: levels, rep: t.MaxRep, cast: cast, target: t}
		return nil
	case StructShape:
		return p.fields(s, t, levels)
	case MapShape:
		return p.node2(s, t, levels)
	case ListShape:
	}
	sr, si := s.Item()
	tr, ti := t.Item()
	levels = enter(levels, true, true)
	if sr == si {
		si = asItem(sr)
	}
	if tr == ti {
		ti = asItem(tr)
	}
	return p.node(si, ti, levels)
}

// node2 maps the keys and values of a map by position: their names differ among writers.
func (p *projector) node2(s, t *Node, levels []uint8) error {
	sk, _ := s.Item()
	tk, _ := t.Item()
	levels = enter(levels, true, true)
	for i := range 2 {
		if err := p.node(sk.Children[i], tk.Children[i], levels); err != nil {
			return err
		}
	}
	return nil
}

func (p *projector) fields(s, t *Node, levels []uint8) error {
	find := lookup(s.Children)
	for _, tc := range t.Children {
		sc := find(tc.Name)
		if sc == nil {
			if err := p.absent(tc, s, levels); err != nil {
				return err
			}
			continue
		}
		if err := p.node(sc, tc, levels); err != nil {
			return fmt.Errorf("%s: %w", tc.Name, err)
		}
	}
	return nil
}

// absent maps the leaves of a node that the source lacks: null wherever the parent is there. The parent's structure is
// read off any leaf below it.
func (p *projector) absent(t, parent *Node, levels []uint8) error {
	if !t.canMiss() {
		return invalid("column %s is missing, and must not be null", t.Name)
	}
	p.missing(t, parent, levels)
	return nil
}

// canMiss tells whether the schema can show a parent without the node.
func (n *Node) canMiss() bool {
	if n.Repetition != Required {
		return true
	}
	for _, c := range n.Children {
		if !c.canMiss() {
			return false
		}
	}
	return n.Shape != LeafShape
}

func (p *projector) missing(t, parent *Node, levels []uint8) {
	if t.Shape != LeafShape {
		for _, c := range t.Children {
			p.missing(c, parent, levels)
		}
		return
	}
	m := LeafMap{Source: -1, target: t}
	if parent != nil {
		witness := parent
		for witness.Shape != LeafShape {
			witness = witness.Children[0]
		}
		m.Source, m.bare, m.rep = witness.Index, true, parent.MaxRep
		m.levels = append([]uint8(nil), levels...)
		// Whatever the witness knows beyond its parent, here the parent is there and the leaf is not.
		for len(m.levels) <= int(witness.MaxDef) {
			m.levels = append(m.levels, levels[len(levels)-1])
		}
	}
	p.out[t.Index] = m
}

// enter goes one node down: to the levels of a parent it adds those of a child that each side may or must have.
func enter(levels []uint8, source, target bool) []uint8 {
	out := append([]uint8(nil), levels...)
	there := out[len(out)-1]
	if target {
		if there != cannot {
			there++
		}
	}
	switch {
	case source && target:
		out = append(out, there)
	case source:
		// The source may lack what the target must have.
		out[len(out)-1] = cannot
		out = append(out, there)
	case target:
		out[len(out)-1] = there
	}
	return out
}
