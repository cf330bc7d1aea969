package render

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/schema"
)

// Merged is a slice whose merge is planned. Its rows, those of the file that Render makes and in their order, can be read column by column,
// one column at a time.
type Merged struct {
	in      *Input
	plan    *plan
	records *records
}

// Merge plans the merge of the slice.
func (in *Input) Merge(ctx context.Context) (*Merged, error) { return in.merge(ctx, nil) }

func (in *Input) merge(ctx context.Context, keep []int) (*Merged, error) {
	if err := in.prepare(); err != nil {
		return nil, err
	}
	p, err := in.plan(ctx, keep)
	if err != nil {
		return nil, err
	}
	return &Merged{in: in, plan: p, records: in.records(p)}, nil
}

// Groups is the number of row groups.
func (m *Merged) Groups() int { return max(len(m.plan.groups), 1) }

func (m *Merged) group(number int) *group {
	return &group{in: m.in, plan: m.plan, records: m.records, number: number, last: number == m.Groups()-1}
}

// Rows is the number of rows of a row group.
func (m *Merged) Rows(group int) int { return m.group(group).rows() }

// Column gives a column of a row group: vectors of whole rows, each of them valid until take returns. To read the columns of a group in their order
// is cheaper than any other order.
func (m *Merged) Column(group int, leaf *schema.Node, take func(*column.Vector) error) error {
	g := m.group(group)
	if v, ok := m.in.Constants[leaf.Index]; ok {
		return constantPages(leaf.Leaf, v, g.rows(), take)
	}
	c := columnWriter{group: g, leaf: leaf}
	if err := c.open(); err != nil {
		return c.wrap(err)
	}
	return c.wrap(c.pages(&plainPages{take: take, dict: c.dict, plain: column.New(leaf.Leaf)}))
}

// plainPages hands pages on with the values that their numbers stand for.
type plainPages struct {
	take  func(*column.Vector) error
	dict  *column.Vector
	plain *column.Vector
}

func (s *plainPages) WritePage(p *pqfile.Page) error {
	v := p.Vector
	if v.Entries() == 0 {
		return nil
	}
	if p.Dict {
		if s.dict == nil && v.Values() > 0 {
			return fmt.Errorf("%w: a page of numbers in a chunk without a dictionary", pqfile.ErrCorrupt)
		}
		v = s.plain
		v.Reset()
		v.Rep, v.Def = append(v.Rep, p.Vector.Rep...), append(v.Def, p.Vector.Def...)
		for i := range p.Vector.Values() {
			v.AppendValue(s.dict.Value(int(binary.LittleEndian.Uint32(p.Vector.Value(i)))))
		}
	}
	return s.take(v)
}
