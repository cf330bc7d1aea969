package render

import (
	"encoding/binary"
	"slices"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/merge"
)

// windowBytes is how much encoded log content is decoded at once. Where the logs of a slice are larger, their columns are decoded a
// few at a time.
const windowBytes = 64 << 20

// records gives the columns of the log records that a plan takes, in the order in which it takes them: those that go into
// rows of the base file, row group by row group, then those of the inserts.
type records struct {
	in      *Input
	batches []batch
	order   []int32
	place   []int32 // where each record is in order
	of      []int32 // the block of each in order
	from    []int   // where the records of each row group begin in order; the inserts come last

	content int64 // bytes of the encoded records
	window  int   // leaves that are decoded at once
	lo, hi  int   // the leaves that taken has
	taken   []*column.Vector
	index   []*column.Index
}

func (in *Input) records(p *plan) *records {
	r := &records{in: in, batches: p.batches, place: make([]int32, p.records)}
	for _, g := range p.groups {
		r.from = append(r.from, len(r.order))
		for _, a := range g {
			r.take(p, a)
		}
	}
	r.from = append(r.from, len(r.order))
	for _, a := range p.inserts {
		r.take(p, a)
	}
	r.findBlocks(p)
	content := int64(0)
	for _, b := range p.batches {
		if b.block != nil {
			content += b.block.ContentLength
		}
	}
	r.content = content
	leaves := len(in.Target.Leaves)
	r.window = int(min(max(int64(leaves)*windowBytes/max(content, 1), 1), int64(leaves)))
	return r
}

// take adds a record, or all records that a composite is put together from.
func (r *records) take(p *plan, a int32) {
	for a >= merge.FirstComposite {
		c := p.composites[a-merge.FirstComposite]
		r.take(p, c.Winner)
		if c.Choice != nil && len(c.Choice.Set) > 0 {
			r.take(p, c.Choice.Added)
		}
		a = c.Loser
	}
	if a < 0 {
		return
	}
	r.place[a] = int32(len(r.order))
	r.order = append(r.order, a)
}

func (r *records) findBlocks(p *plan) {
	owner := make([]int32, 0, p.records)
	for i, b := range r.batches {
		for range b.data.Rows() {
			owner = append(owner, int32(i))
		}
	}
	r.of = make([]int32, len(r.order))
	for k, record := range r.order {
		r.of[k] = owner[record]
	}
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
	for i, l := range leaves {
		v := column.New(r.in.Target.Leaves[l].Leaf)
		size := 0
		for _, vectors := range all {
			size += len(vectors[i].Buf)
		}
		v.Reserve(len(r.order), size)
		index := make([]*column.Index, len(r.batches))
		for k, record := range r.order {
			b := r.of[k]
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

// partial tells whether a block's records have only some of the columns.
func (b *batch) partial() bool { return b.block != nil && b.block.Partial() }

// chooser finds out which version of a row gives the value of one column.
type chooser struct {
	plan     *plan
	records  *records
	top      string // the top-level column
	meta     bool   // it is a meta field
	has      []bool // blocks that have the column; nil where none is partial
	text     bool   // a column that the text for an unavailable value may stand in
	unusable []byte // that text

	taken *column.Vector
	index *column.Index
	base  value // of the current base row
}

// value is what choosing needs to know of a base row's value.
type value struct {
	null        bool
	unavailable bool
}

func (c *columnWriter) chooser() *chooser {
	ch := &chooser{plan: c.plan, records: c.records, taken: c.taken, index: c.index, unusable: []byte(c.in.Unavailable)}
	top := c.leaf.Path[0]
	ch.top, ch.meta = top, schema.IsMeta(top)
	ch.text = len(c.leaf.Path) == 1 && c.leaf.Leaf.Kind == column.Bytes && c.in.Unavailable != ""
	if slices.ContainsFunc(c.plan.batches, func(b batch) bool { return b.partial() }) {
		for i := range c.plan.batches {
			b := &c.plan.batches[i]
			// A column that came into the table after a block was written is null there, not left open.
			ch.has = append(ch.has, !b.partial() || b.data.Has(top))
		}
	}
	return ch
}

// choose finds the record that gives the column's value of a record or composite, or merge.BaseRow.
func (c *chooser) choose(a int32) int32 {
	r, _ := c.resolve(a)
	return r
}

// resolve does so, and tells whether that version has the column at all. It looks at each version that a composite was put together from
// once: there may be as many as a key has log records.
func (c *chooser) resolve(a int32) (record int32, has bool) {
	if a < merge.FirstComposite {
		return a, c.has == nil || a == merge.BaseRow || c.has[c.records.of[c.records.place[a]]]
	}
	m := c.plan.composites[a-merge.FirstComposite]
	switch {
	case m.Choice != nil && m.Choice.Set[c.top]:
		return m.Choice.Added, true
	case m.Choice != nil && m.Choice.Take[c.top]:
		return c.resolve(m.Loser)
	case c.meta && m.Meta != m.Winner:
		return c.resolve(m.Meta)
	}
	record, has = c.resolve(m.Winner)
	if has && !c.open(record, m.Take) {
		return record, true
	}
	if loser, ok := c.resolve(m.Loser); ok {
		return loser, true
	}
	return record, has
}

// open tells whether a version that has the column leaves its value to another one.
func (c *chooser) open(a int32, take merge.Take) bool {
	if take == merge.TakeNothing || take == merge.TakeUnavailable && !c.text {
		return false
	}
	v := c.base
	if a != merge.BaseRow {
		k := int(c.records.place[a])
		v = look(c.taken, c.index.Span(k, k+1), c.unusable, nil)
	}
	if take == merge.TakeNulls {
		return v.null
	}
	return v.unavailable
}

// look reads what choosing needs of a row's value. A column is null where its outermost level is.
func look(v *column.Vector, s column.Span, unusable []byte, dict *column.Vector) value {
	out := value{null: v.Leaf.MaxDef > 0 && v.Def[s.E0] == 0}
	if s.V1 > s.V0 && len(unusable) > 0 && s.E1 == s.E0+1 {
		b := v.Value(s.V0)
		if dict != nil {
			b = dict.Value(int(binary.LittleEndian.Uint32(b)))
		}
		out.unavailable = string(b) == string(unusable)
	}
	return out
}
