package render

import (
	"cmp"
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"sync"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/merge"
)

// windowBytes is how much encoded log content is decoded at once. Where the logs of a slice are larger, their columns are decoded a
// few at a time.
var windowBytes = int64(64 << 20)

// records gives the columns of the log records: those of all blocks, one behind the other.
type records struct {
	in   *Input
	plan *plan
	// taken are the records that the plan takes: those that go into rows of the base file, row group by row group, then those of the inserts. Not
	// where the log is large.
	taken []int32
	from  []int // where the records of each row group begin in taken; the inserts come last

	window int // leaves that are decoded at once

	// single decodes a column when it is asked for, alone: the first few, as somebody may want no others.
	single  bool
	singles int

	kept map[int]*recordColumn // by leaf: those that the plan has decoded

	mu      sync.Mutex
	columns map[int]*recordColumn // by leaf: those that were decoded last
}

// recordColumn is a column of all records, or of some.
type recordColumn struct {
	vector  *column.Vector
	index   *column.Index
	numbers ranks // those of the records; empty is all
}

// all tells whether it has all records: each is where its number says.
func (c *recordColumn) all() bool { return c.numbers.bits == nil }

// row is where a record is. Of records that follow each other, as far as they are there, that is so of their places too.
func (c *recordColumn) row(record int32) int {
	if c.all() {
		return int(record)
	}
	return c.numbers.of(record)
}

func (c *recordColumn) span(record int32) column.Span {
	row := c.row(record)
	return c.index.Span(row, row+1)
}

// nulls is in how many of some records it is null.
func (c *recordColumn) nulls(records []int32) int64 {
	n := int64(0)
	for _, r := range records {
		if s := c.span(r); s.V0 == s.V1 {
			n++
		}
	}
	return n
}

func (in *Input) records(p *plan) *records {
	r := &records{in: in, plan: p, kept: p.kept, columns: map[int]*recordColumn{}, window: in.window(p.content)}
	if p.large {
		return r
	}
	r.taken = make([]int32, 0, p.records)
	for _, g := range p.groups {
		r.from = append(r.from, len(r.taken))
		for _, c := range g {
			r.taken = p.appendTaken(r.taken, c)
		}
	}
	r.from = append(r.from, len(r.taken))
	for _, a := range p.inserts {
		r.taken = p.appendRecords(r.taken, a)
	}
	return r
}

// window is how many leaves of the records of a content are decoded at once.
func (in *Input) window(content int64) int {
	leaves := int64(len(in.Target.Leaves))
	return int(min(max(leaves*windowBytes/max(content, 1), 1), leaves))
}

// appendTaken adds the records of a change.
func (p *plan) appendTaken(records []int32, c change) []int32 {
	if c.With == drop {
		return records
	}
	for i := range c.Rows {
		records = p.appendRecords(records, c.With+i)
	}
	return records
}

// appendRecords adds a record, or all records that a composite is put together from.
func (p *plan) appendRecords(records []int32, a int32) []int32 {
	for a >= merge.FirstComposite {
		c := p.composites[a-merge.FirstComposite]
		records = p.appendRecords(records, c.Winner)
		if c.Choice != nil && len(c.Choice.Set) > 0 {
			records = p.appendRecords(records, c.Choice.Added)
		}
		a = c.Loser
	}
	if a >= 0 {
		records = append(records, a)
	}
	return records
}

// batchOf is the number of the block that has a record.
func (r *records) batchOf(record int32) int {
	i, found := slices.BinarySearchFunc(r.plan.batches, record, func(b batch, record int32) int { return cmp.Compare(b.first, record) })
	if !found {
		return i - 1
	}
	for i+1 < len(r.plan.batches) && r.plan.batches[i+1].first == record {
		i++ // blocks without records come before
	}
	return i
}

// leaf gives a column of all records. Where it is not there yet, those behind it are decoded with it, as many as go at once: who reads the columns
// in their order decodes each record once.
func (r *records) leaf(n *schema.Node) (*recordColumn, error) {
	if c := r.kept[n.Index]; c != nil {
		return c, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.columns[n.Index]; c != nil {
		return c, nil
	}
	leaves := r.with(n)
	if r.window < len(r.in.Target.Leaves) {
		clear(r.columns)
	}
	if err := r.decode(leaves); err != nil {
		return nil, err
	}
	return r.columns[n.Index], nil
}

// fewSingles is how many columns are decoded each by itself: it takes about as long to pass over all fields of the records a few times as to decode them.
const fewSingles = 3

// all says that all columns will be asked for.
func (r *records) all() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.singles = fewSingles
}

// with lists what is decoded with a column.
func (r *records) with(n *schema.Node) (leaves []int) {
	from, all := n.Index, len(r.in.Target.Leaves)
	if r.single {
		if r.singles++; r.singles <= fewSingles || r.window < all {
			return []int{n.Index}
		}
		from = 0
	}
	for l := from; l < min(from+r.window, all); l++ {
		if r.kept[l] == nil && r.columns[l] == nil {
			leaves = append(leaves, l)
		}
	}
	return leaves
}

func (r *records) decode(leaves []int) error {
	columns, err := r.plan.decode(context.Background(), r.in.Target, leaves, nil)
	maps.Copy(r.columns, columns)
	return err
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

	logged *recordColumn
	base   value // of the current base row
	// looked says that the value of the base row was looked at.
	looked bool
}

// value is what choosing needs to know of a base row's value.
type value struct {
	null        bool
	unavailable bool
}

func (c *columnWriter) chooser() *chooser {
	ch := &chooser{plan: c.plan, records: c.records, unusable: []byte(c.in.Unavailable)}
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
		return a, c.has == nil || a == merge.BaseRow || c.has[c.records.batchOf(a)]
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
		v = look(c.logged.vector, c.logged.span(a), c.unusable, nil)
	} else {
		c.looked = true
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
