package render

import (
	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// windowBytes is how much encoded log content is decoded at once. Where the logs of a slice are larger, their columns are decoded a
// few at a time.
const windowBytes = 64 << 20

// records gives the columns of the log records that a plan takes, in the order in which it takes them: those that replace
// base rows, row group by row group, then the inserts.
type records struct {
	in      *Input
	batches []batch
	order   []int32
	from    []int // where the records of each row group begin in order; the inserts come last

	window int // leaves that are decoded at once
	lo, hi int // the leaves that taken has
	taken  []*column.Vector
	index  []*column.Index
}

func (in *Input) records(p *plan) *records {
	r := &records{in: in, batches: p.batches}
	for _, g := range p.groups {
		r.from = append(r.from, len(r.order))
		for _, a := range g {
			if a >= 0 {
				r.order = append(r.order, a)
			}
		}
	}
	r.from = append(r.from, len(r.order))
	r.order = append(r.order, p.inserts...)
	content := int64(1)
	for _, b := range p.batches {
		content += b.block.ContentLength
	}
	leaves := len(in.Target.Leaves)
	r.window = int(min(max(int64(leaves)*windowBytes/content, 1), int64(leaves)))
	return r
}

// leaf gives a column of all records, and the index of its rows.
func (r *records) leaf(n *schema.Node) (*column.Vector, *column.Index, error) {
	if n.Index < r.lo || n.Index >= r.hi {
		if err := r.decode(n.Index); err != nil {
			return nil, nil, err
		}
	}
	return r.taken[n.Index-r.lo], r.index[n.Index-r.lo], nil
}

func (r *records) decode(from int) error {
	r.lo, r.hi = from, min(from+r.window, len(r.in.Target.Leaves))
	r.taken, r.index = nil, nil
	var leaves []int
	for l := r.lo; l < r.hi; l++ {
		leaves = append(leaves, l)
	}
	all := make([][]*column.Vector, len(r.batches))
	for i, b := range r.batches {
		var err error
		if all[i], err = b.data.Columns(r.in.Target, leaves); err != nil {
			return b.wrap(err)
		}
	}
	of := r.batchOf()
	for i, l := range leaves {
		v := column.New(r.in.Target.Leaves[l].Leaf)
		index := make([]*column.Index, len(r.batches))
		for k, record := range r.order {
			b := of[k]
			if index[b] == nil {
				index[b] = column.NewIndex(all[b][i])
			}
			row := int(record - r.batches[b].first)
			v.Append(all[b][i], index[b].Span(row, row+1))
		}
		r.taken, r.index = append(r.taken, v), append(r.index, column.NewIndex(v))
	}
	return nil
}

// batchOf finds the block of each record in order.
func (r *records) batchOf() []int32 {
	var owner []int32
	for i, b := range r.batches {
		for range b.data.Rows() {
			owner = append(owner, int32(i))
		}
	}
	out := make([]int32, len(r.order))
	for k, record := range r.order {
		out[k] = owner[record]
	}
	return out
}
