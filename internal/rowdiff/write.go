package rowdiff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/schema"
)

// write writes all row groups.
func (in *Input) write(ctx context.Context, f *pqfile.Writer, r *Result) error {
	for pairs := range slices.Chunk(r.pairs, r.groupRows) {
		f.BeginGroup()
		if err := writeOps(f, in.Output.Leaves[0], pairs); err != nil {
			return err
		}
		at := 1
		for side, sources := range in.sides() {
			g := &gathered{table: in.Table, place: make([]int32, len(pairs))}
			if err := g.gather(ctx, sources, r.rows[side], wantedOf(pairs, side)); err != nil {
				return err
			}
			for i := range g.columns {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := g.write(f, in.Output.Leaves[at], i); err != nil {
					return err
				}
				at++
			}
		}
	}
	return nil
}

func writeOps(f *pqfile.Writer, leaf *schema.Node, pairs []pair) error {
	v := column.New(leaf.Leaf)
	for _, p := range pairs {
		op := opUpdate
		switch {
		case p.before == none:
			op = opInsert
		case p.after == none:
			op = opDelete
		}
		v.AppendLevels(0, leaf.Leaf.MaxDef)
		v.AppendValue([]byte(op))
	}
	return writeColumn(f, leaf, v)
}

func writeColumn(f *pqfile.Writer, leaf *schema.Node, v *column.Vector) error {
	c := f.Chunk(leaf, pqfile.ChunkOptions{Codec: format.Snappy})
	if err := c.WriteRows(&pqfile.Page{Vector: v}); err != nil {
		return err
	}
	m := pqfile.NewMinMax(leaf.Scalar)
	m.AddVector(v)
	return f.EndChunk(c, m)
}

// wanted is a row of a state that goes into a row of the difference.
type wanted struct {
	row int64
	out int32
}

func wantedOf(pairs []pair, side int) []wanted {
	var out []wanted
	for i, p := range pairs {
		row := p.before
		if side == 1 {
			row = p.after
		}
		if row != none {
			out = append(out, wanted{row, int32(i)})
		}
	}
	slices.SortFunc(out, func(a, b wanted) int { return cmp.Compare(a.row, b.row) })
	return out
}

// upTo cuts off those before a row.
func upTo(want []wanted, row int64) (before, rest []wanted) {
	n, _ := slices.BinarySearchFunc(want, row, func(w wanted, row int64) int { return cmp.Compare(w.row, row) })
	return want[:n], want[n:]
}

// gathered are the rows of a state that go into a row group.
type gathered struct {
	table   *schema.Message
	columns []*column.Vector // in the order of the state
	place   []int32          // which of the gathered rows each row of the group takes, none for nothing
}

// gather reads the rows that are wanted.
func (g *gathered) gather(ctx context.Context, sources []Source, rows []int64, want []wanted) error {
	for i := range g.place {
		g.place[i] = none
	}
	for i, w := range want {
		g.place[w.out] = int32(i)
	}
	for _, leaf := range g.table.Leaves {
		g.columns = append(g.columns, column.New(leaf.Leaf))
	}
	first := int64(0)
	for i, open := range sources {
		var here []wanted
		here, want = upTo(want, first+rows[i])
		if len(here) > 0 {
			if err := g.source(ctx, open, here, first); err != nil {
				return err
			}
		}
		first += rows[i]
	}
	return nil
}

// source reads wanted rows of a source, whose first row has a number.
func (g *gathered) source(ctx context.Context, open Source, want []wanted, first int64) error {
	rows, done, err := open(ctx)
	if err != nil {
		return err
	}
	defer done()
	for number := range rows.Groups() {
		n := int64(rows.Rows(number))
		var here []wanted
		here, want = upTo(want, first+n)
		for i, leaf := range g.table.Leaves {
			if len(here) == 0 {
				break
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			p := picker{to: g.columns[i], want: here, at: first}
			if err := rows.Column(number, leaf, p.pick); err != nil && !errors.Is(err, errDone) {
				return err
			}
			if len(p.want) > 0 {
				return fmt.Errorf("%w: row group %d has changed while it was read", pqfile.ErrCorrupt, number)
			}
		}
		first += n
	}
	return nil
}

// errDone ends the reading of a column of which the rest is not wanted.
var errDone = errors.New("done")

// picker picks the rows of a column that are wanted.
type picker struct {
	to   *column.Vector
	want []wanted
	at   int64
}

func (p *picker) pick(v *column.Vector) error {
	from := p.at
	p.at += int64(v.Rows())
	var here []wanted
	if here, p.want = upTo(p.want, p.at); len(here) > 0 {
		x := column.NewIndex(v)
		for len(here) > 0 {
			n := 1
			for n < len(here) && here[n].row == here[n-1].row+1 {
				n++
			}
			i := int(here[0].row - from)
			p.to.Append(v, x.Span(i, i+n))
			here = here[n:]
		}
	}
	if len(p.want) == 0 {
		return errDone
	}
	return nil
}

// write writes a column of the rows, below the struct that they are in.
func (g *gathered) write(f *pqfile.Writer, leaf *schema.Node, i int) error {
	v := g.columns[i]
	g.columns[i] = nil
	v.Leaf = leaf.Leaf
	for e := range v.Def {
		v.Def[e]++ // the struct is there
	}
	x := column.NewIndex(v)
	out := column.New(leaf.Leaf)
	for from := 0; from < len(g.place); {
		to := from + 1
		k := int(g.place[from])
		if k == none {
			out.AppendNulls(1)
			from = to
			continue
		}
		for to < len(g.place) && int(g.place[to]) == k+to-from {
			to++
		}
		out.Append(v, x.Span(k, k+to-from))
		from = to
	}
	return writeColumn(f, leaf, out)
}
