package render

import (
	"math"
	"slices"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/schema"
)

// window says for which base rows of the group, or for which inserts, a column has its log records decoded. Where the log is large it moves along with the
// pages, so that what is in memory does not depend on how many records there are.
type window struct{ rows, inserts span }

type span struct{ from, to int }

func (s span) has(from, to int) bool { return s.from <= from && to <= s.to }

// enterRows sees that the records are decoded which go into base rows from one to another.
func (c *columnWriter) enterRows(from, to int) error {
	if !c.plan.large || c.window.rows.has(from, to) {
		return nil
	}
	most := c.records.atOnce(c.leaf, max(c.sharing, 1))
	var taken []int32
	end := math.MaxInt
	for _, change := range c.changes[firstBehind(c.changes, from):] {
		full := max(int(change.Row)+most-len(taken), to) // no records go in from this row on
		if full <= int(change.Row) {
			end = int(change.Row)
			break
		}
		if change.With == drop {
			continue
		}
		taken = c.plan.appendTaken(taken, change.Cut(from, full))
		if full < change.End() {
			end = full
			break
		}
	}
	c.window = window{rows: span{from, end}}
	return c.decode(taken)
}

// enterInsert sees that the records of an insert are decoded.
func (c *columnWriter) enterInsert(number int) error {
	if !c.plan.large || c.window.inserts.has(number, number+1) {
		return nil
	}
	most := c.records.atOnce(c.leaf, max(c.sharing, 1))
	var taken []int32
	end := number
	for ; end < len(c.plan.inserts) && (end == number || len(taken) < most); end++ {
		taken = c.plan.appendRecords(taken, c.plan.inserts[end])
	}
	c.window = window{inserts: span{number, end}}
	return c.decode(taken)
}

// eachWindow moves the window once over all rows of the group.
func (c *columnWriter) eachWindow(f func()) error {
	if c.src != nil {
		for row, rows := 0, int(c.in.Base.GroupRows(c.number)); row < rows; row = c.window.rows.to {
			if err := c.enterRows(row, row+1); err != nil {
				return err
			}
			f()
		}
	}
	for n := 0; c.last && n < len(c.plan.inserts); n = c.window.inserts.to {
		if err := c.enterInsert(n); err != nil {
			return err
		}
		f()
	}
	return nil
}

// decode decodes the records that a window takes, in the order of its rows.
func (c *columnWriter) decode(taken []int32) error {
	into := column.New(c.leaf.Leaf)
	if c.choose.logged != nil {
		into = c.choose.logged.vector // of the window before
		into.Reset()
	}
	logged, err := c.records.some(c.leaf, newRanks(taken, c.plan.records), into)
	if err != nil {
		return err
	}
	c.use(logged)
	if c.extended != nil {
		c.numberAll(taken)
	}
	for i, record := range taken {
		taken[i] = int32(logged.row(record))
	}
	c.seen.AddRows(c.logged.vector, c.logged.index, taken, c.whole())
	return nil
}

// recordBytes is what a record takes in a column beside the bytes of its values: its number, levels, offset, and places in indexes.
const recordBytes = 4 + 2 + 4 + 4 + 4

// atOnce is about how many records of a column take windowBytes, or the part of it that one of several columns has.
func (r *records) atOnce(n *schema.Node, sharing int) int {
	all := max(int64(r.plan.records), 1)
	each := recordBytes + int64(n.Leaf.Width()) + r.plan.facts[n.Index].Bytes/all
	if n.Leaf.MaxRep > 0 {
		each += r.plan.content / all * recordBytes // a list may have an entry for each byte
	}
	return int(max(windowBytes/each/int64(sharing), 1))
}

// some decodes a column of some records into v.
func (r *records) some(n *schema.Node, numbers ranks, v *column.Vector) (*recordColumn, error) {
	left := numbers.sorted()
	pass := logfile.Pass{Target: r.in.Target, Leaves: []int{n.Index}, All: logfile.Expected{Rows: len(left), Bytes: r.plan.content}}
	for i := range r.plan.batches {
		b := &r.plan.batches[i]
		k, _ := slices.BinarySearch(left, b.first+int32(b.data.Rows()))
		if k == 0 {
			continue
		}
		pass.Only = slices.Grow(pass.Only[:0], k)
		for _, number := range left[:k] {
			pass.Only = append(pass.Only, number-b.first)
		}
		if err := b.data.AppendColumns([]*column.Vector{v}, pass); err != nil {
			return nil, b.wrap(err)
		}
		left = left[k:]
	}
	return &recordColumn{vector: v, index: column.NewIndex(v), numbers: numbers}, nil
}
