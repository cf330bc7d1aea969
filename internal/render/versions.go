package render

import (
	"context"
	"fmt"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/merge"
)

// versions shows the rows of a slice to a Merger.
type versions struct {
	in    *Input
	plan  *plan
	log   *merge.Log
	added *addedRecords
	seen  *rowView // the primitive columns of the records of the log files
	base  *rows    // at the base row that is being matched
}

func (in *Input) versions(p *plan, log *merge.Log) *versions {
	v := &versions{in: in, plan: p, log: log, added: &addedRecords{target: in.Target}}
	p.batches = append(p.batches, batch{name: "merger", data: v.added, first: p.records})
	return v
}

// primitives are the columns that a Merger can read.
func (in *Input) primitives() []int {
	var out []int
	for _, n := range in.Target.Fields {
		if n.Shape == schema.LeafShape {
			out = append(out, n.Index)
		}
	}
	return out
}

func (v *versions) Row(version int32) merge.Row { return rowVersion{v, version} }

func (v *versions) Add(values map[string]any) (int32, error) {
	for name, value := range values {
		n := v.in.Target.Leaf(name)
		if n == nil {
			return 0, fmt.Errorf("no primitive column %s", name)
		}
		if value == nil {
			continue
		}
		if _, err := n.Scalar.Bytes(value); err != nil {
			return 0, fmt.Errorf("column %s: %w", name, err)
		}
	}
	v.added.rows = append(v.added.rows, values)
	v.plan.records++
	return v.plan.records - 1, nil
}

type rowVersion struct {
	v  *versions
	id int32
}

func (r rowVersion) Value(name string) any {
	n := r.v.in.Target.Field(name)
	if n == nil {
		return nil
	}
	if n.Shape != schema.LeafShape {
		return merge.Nested{}
	}
	id := r.id
	for id >= merge.FirstComposite {
		c := r.v.log.Composites()[id-merge.FirstComposite]
		switch {
		case c.Choice.Set[name]:
			id = c.Choice.Added
		case c.Choice.Take[name]:
			id = c.Loser
		default:
			id = c.Winner
		}
	}
	b, ok := r.v.bytes(id, n)
	if !ok {
		return nil
	}
	return n.Scalar.Value(b)
}

// bytes finds a value. Columns were decoded once before to look for errors, so there are none here.
func (v *versions) bytes(id int32, n *schema.Node) ([]byte, bool) {
	if id == merge.BaseRow {
		return v.base.get(n.Index)
	}
	if first := v.plan.records - int32(len(v.added.rows)); id >= first {
		return v.added.value(int(id-first), n)
	}
	v.seen.at = int(id)
	return v.seen.get(n.Index)
}

// read decodes the primitive columns of all blocks.
func (v *versions) read(ctx context.Context) error {
	columns, err := v.plan.decode(ctx, v.in.Target, v.in.primitives(), nil)
	v.seen = &rowView{columns: columns}
	return err
}

// addedRecords are the records that a Merger made, as a block of their own.
type addedRecords struct {
	target *schema.Message
	rows   []map[string]any
}

func (a *addedRecords) Rows() int { return len(a.rows) }

func (a *addedRecords) Has(string) bool { return true }

func (a *addedRecords) value(row int, n *schema.Node) ([]byte, bool) {
	v := a.rows[row][n.Name]
	if v == nil || len(n.Path) > 1 {
		return nil, false
	}
	b, err := n.Scalar.Bytes(v)
	return b, err == nil
}

// AppendColumns is asked for all records, and for no facts: where there are such records, nothing is laid out in regions, or looked at in parts.
func (a *addedRecords) AppendColumns(dst []*column.Vector, p logfile.Pass) error {
	for i, l := range p.Leaves {
		n, v := p.Target.Leaves[l], dst[i]
		for row := range a.rows {
			b, ok := a.value(row, n)
			if !ok {
				v.AppendLevels(0, 0)
				continue
			}
			v.AppendLevels(0, n.Leaf.MaxDef)
			v.AppendValue(b)
		}
	}
	return nil
}
