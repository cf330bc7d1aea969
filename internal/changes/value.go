package changes

import (
	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// value is a value of a row, put together from the columns that its leaves lie in.
type value struct {
	node *schema.Node
	null bool
	// bytes are those of a leaf.
	bytes []byte
	// items are the fields of a struct, the elements of a list, the keys and values of a map by turns.
	items []value
}

// leafReader gives a row's entries of a leaf.
type leafReader func(leaf int) (*column.Vector, column.Span, error)

// assembler puts the values of rows together.
type assembler struct {
	read    leafReader
	cursors []cursor // by leaf
	row     int
}

// cursor walks the entries of a leaf within a row.
type cursor struct {
	row int // the row that it is for
	v   *column.Vector
	s   column.Span
}

func (c *cursor) def() uint8 {
	if c.v.Leaf.MaxDef == 0 || c.s.E0 == c.s.E1 {
		return 0
	}
	return c.v.Def[c.s.E0]
}

// again tells whether the next entry goes on with the list of a repetition level.
func (c *cursor) again(rep uint8) bool {
	return c.s.E0 < c.s.E1 && c.v.Rep[c.s.E0] >= rep
}

func newAssembler(m *schema.Message) *assembler {
	return &assembler{cursors: make([]cursor, len(m.Leaves))}
}

// fields are the values of some fields of the row that read reads.
func (a *assembler) fields(fields []*schema.Node, read leafReader) ([]value, error) {
	a.read = read
	a.row++
	out := make([]value, len(fields))
	for i, f := range fields {
		var err error
		if out[i], err = a.take(f); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (a *assembler) cursor(leaf int) (*cursor, error) {
	c := &a.cursors[leaf]
	if c.row == a.row {
		return c, nil
	}
	var err error
	c.row = a.row
	c.v, c.s, err = a.read(leaf)
	return c, err
}

// take puts the next value of a node together.
func (a *assembler) take(n *schema.Node) (value, error) {
	first, err := a.cursor(firstLeaf(n).Index)
	if err != nil {
		return value{}, err
	}
	out := value{node: n}
	if n.Shape == schema.LeafShape {
		out.null = first.def() < n.Leaf.MaxDef
		if !out.null {
			out.bytes = first.v.Value(first.s.V0)
			first.s.V0++
		}
		first.s.E0++
		return out, nil
	}
	if first.def() < n.MaxDef {
		out.null = true
		return out, a.pass(n)
	}
	if n.Shape == schema.StructShape {
		out.items, err = a.each(n.Children, nil)
		return out, err
	}
	repeated, item := n.Item()
	if first.def() < repeated.MaxDef {
		return out, a.pass(n)
	}
	parts := []*schema.Node{item}
	if n.Shape == schema.MapShape {
		parts = repeated.Children
	}
	for {
		if out.items, err = a.each(parts, out.items); err != nil || !first.again(repeated.MaxRep) {
			return out, err
		}
	}
}

func (a *assembler) each(nodes []*schema.Node, to []value) ([]value, error) {
	for _, n := range nodes {
		v, err := a.take(n)
		if err != nil {
			return nil, err
		}
		to = append(to, v)
	}
	return to, nil
}

// pass leaves out the one entry that each leaf has where a node is null or empty.
func (a *assembler) pass(n *schema.Node) error {
	if n.Shape != schema.LeafShape {
		for _, c := range n.Children {
			if err := a.pass(c); err != nil {
				return err
			}
		}
		return nil
	}
	c, err := a.cursor(n.Index)
	if err == nil {
		c.s.E0++
	}
	return err
}

func firstLeaf(n *schema.Node) *schema.Node {
	for n.Shape != schema.LeafShape {
		n = n.Children[0]
	}
	return n
}
