package render

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/spill"
)

// Fate is what the log files of a slice make of a row.
type Fate uint8

// The fates.
const (
	Kept     Fate = iota // a base row that stays as it is
	Replaced             // a base row in whose place another version is
	Dropped              // a base row that is gone
	Added                // a row that only the log files have
)

// Reader goes through the rows of a slice one by one, base rows first, each as it was in the base file and as it is after the merge. A column
// that is not asked for is not read. It heeds no Constants.
type Reader struct {
	m    *Merged
	keys *keyReader

	number  int // of the row group
	rows    int // of the base file in it
	row     int // behind the current one
	change  int // of the group's: those before are of earlier rows
	inserts int // of which the last one is the current row
	fate    Fate
	columns []*rowColumn // by leaf; nil for one that was not needed yet
}

// Read plans the merge, and makes a reader that stands before the first row.
func (in *Input) Read(ctx context.Context) (*Reader, error) {
	m, err := in.Merge(ctx)
	if err != nil {
		return nil, err
	}
	r := &Reader{m: m}
	if r.keys, err = newKeyReader(in.Key, in.Target); err != nil {
		return nil, err
	}
	r.enter(0)
	return r, nil
}

func (r *Reader) enter(group int) {
	r.number, r.row, r.rows, r.change = group, 0, 0, 0
	if r.m.in.Base != nil && len(r.m.plan.groups) > 0 {
		r.rows = int(r.m.in.Base.GroupRows(group))
	}
	r.columns = make([]*rowColumn, len(r.m.in.Target.Leaves))
}

// Next goes to the next row, or gives io.EOF.
func (r *Reader) Next(ctx context.Context) (Fate, error) {
	for r.row == r.rows && r.number+1 < r.m.Groups() {
		r.enter(r.number + 1)
	}
	if r.row%checkEvery == 0 && ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if r.row < r.rows {
		r.fate = r.verdict()
		r.row++
		return r.fate, nil
	}
	if r.inserts == len(r.m.plan.inserts) {
		return 0, io.EOF
	}
	r.inserts++
	r.fate = Added
	return r.fate, nil
}

func (r *Reader) verdict() Fate {
	changes := r.m.plan.groups[r.number]
	for r.change < len(changes) && changes[r.change].End() <= r.row {
		r.change++
	}
	switch {
	case r.change == len(changes) || int(changes[r.change].Row) > r.row:
		return Kept
	case changes[r.change].With == drop:
		return Dropped
	}
	return Replaced
}

// Before gives the current row's entries of a leaf in the base file, which must have the row. They are valid until the next row is read.
func (r *Reader) Before(leaf int) (*column.Vector, column.Span, error) {
	c, err := r.column(leaf)
	if err != nil {
		return nil, column.Span{}, err
	}
	k := r.row - 1 - c.at
	return c.before, c.beforeIndex.Span(k, k+1), nil
}

// After gives the current row's entries of a leaf after the merge, which must have left the row.
func (r *Reader) After(leaf int) (*column.Vector, column.Span, error) {
	c, err := r.column(leaf)
	if err != nil {
		return nil, column.Span{}, err
	}
	if r.fate == Added {
		if err := c.enterInsert(r.inserts - 1); err != nil {
			return nil, column.Span{}, c.wrap(err)
		}
		return c.logged.vector, c.logged.span(c.choose.choose(r.m.plan.inserts[r.inserts-1])), nil
	}
	k := r.row - 1 - c.at
	if c.place != nil {
		k = int(c.place[k])
	}
	return c.after, c.afterIndex.Span(k, k+1), nil
}

// Text is the current row's value of a primitive leaf, after the merge where that has left the row; ok is false for null.
func (r *Reader) Text(leaf int) (value string, ok bool, err error) {
	v, ok, err := r.value(leaf)
	if !ok || err != nil {
		return "", false, err
	}
	n := r.m.in.Target.Leaves[leaf]
	return text(n, v), true, nil
}

func (r *Reader) value(leaf int) (v []byte, ok bool, err error) {
	get := r.After
	if r.fate == Dropped {
		get = r.Before
	}
	vector, s, err := get(leaf)
	if err != nil || s.V1 == s.V0 {
		return nil, false, err
	}
	return vector.Value(s.V0), true, nil
}

// Key is the current row's record key; ok is false for a row that has none.
func (r *Reader) Key(b []byte) (key []byte, ok bool, err error) {
	key, ok = r.keys.key(b, func(leaf int) ([]byte, bool) {
		v, ok, failed := r.value(leaf)
		err = errors.Join(err, failed)
		return v, ok
	})
	return key, ok, err
}

// sharing is among how many columns the memory is divided that one of them alone would take. There may be more of them, but few of those are large.
const sharing = 8

// column is a leaf's column, at the page of the current row.
func (r *Reader) column(leaf int) (*rowColumn, error) {
	c := r.columns[leaf]
	if c == nil {
		c = &rowColumn{columnWriter: columnWriter{group: r.m.group(r.number), leaf: r.m.in.Target.Leaves[leaf], sharing: sharing}}
		r.columns[leaf] = c
		if err := c.start(); err != nil {
			return nil, c.wrap(err)
		}
	}
	if r.fate == Added {
		return c, nil
	}
	if err := c.seek(r.row - 1); err != nil {
		return nil, c.wrap(err)
	}
	return c, nil
}

// rowColumn reads a column of a row group page by page, before and after the merge.
type rowColumn struct {
	columnWriter
	at, rows    int // where the page begins among the base rows of the group, and how many it has
	before      *column.Vector
	beforeIndex *column.Index
	after       *column.Vector
	afterIndex  *column.Index
	place       []int32 // where each base row of the page is in after; nil where that is the same place
}

// seek goes to the page that has a row. Rows are asked for in their order.
func (c *rowColumn) seek(row int) error {
	for row >= c.at+c.rows {
		p, err := c.first, error(nil)
		if c.before != nil {
			p, err = c.src.next()
		}
		if c.done || errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: %d rows where the footer counts %d", pqfile.ErrCorrupt, c.at+c.rows, c.in.Base.GroupRows(c.number))
		}
		if err != nil {
			return err
		}
		if err := c.load(p); err != nil {
			return err
		}
	}
	return nil
}

func (c *rowColumn) load(p page) error {
	c.at, c.rows = c.at+c.rows, p.rows
	if err := c.enterRows(c.at, c.at+c.rows); err != nil {
		return err
	}
	if p.dict {
		v := column.New(c.leaf.Leaf)
		v.Rep, v.Def = p.vector.Rep, p.vector.Def
		for i := range p.vector.Values() {
			v.AppendValue(c.src.dict.Value(int(binary.LittleEndian.Uint32(p.vector.Value(i)))))
		}
		p.vector, p.dict = v, false
	}
	c.before, c.beforeIndex = p.vector, column.NewIndex(p.vector)
	c.after, c.afterIndex, c.place = c.merged(p, c.at), c.beforeIndex, nil
	if c.after == c.before {
		return nil
	}
	c.afterIndex = column.NewIndex(c.after)
	place := int32(0)
	fill := func(rows int, gone bool) {
		for range rows {
			c.place = append(c.place, place)
			if !gone {
				place++
			}
		}
	}
	for _, e := range between(c.changes, c.at, c.at+c.rows) {
		fill(int(e.Row)-c.at-len(c.place), false)
		fill(int(e.Rows), e.With == drop)
	}
	fill(c.rows-len(c.place), false)
	return nil
}

// LogKeys are the record keys that the log files of the slice have, those of deletes too; nil where they are too many to be in memory.
func (in *Input) LogKeys(ctx context.Context) (map[string]bool, error) {
	p := &plan{}
	blocks, err := in.open(p)
	if err != nil || entriesOf(blocks)*entryBytes > windowBytes {
		return nil, err
	}
	keys, err := newKeyReader(in.Key, in.Target)
	if err != nil {
		return nil, err
	}
	pl := planner{in: in, plan: p, want: keys.wanted()}
	out := map[string]bool{}
	for i := range blocks {
		b := &blocks[i]
		if b.data != nil {
			err := pl.eachView(ctx, b, func(row *rowView, from, to int) error {
				for row.at = range to - from {
					if key, ok := keys.key(nil, row.get); ok {
						out[string(key)] = true
					}
				}
				return nil
			})
			if err != nil {
				return nil, b.wrap(err)
			}
			continue
		}
		for d, err := range logfile.Deletes(b.reader, *b.block) {
			if err != nil {
				return nil, b.wrap(err)
			}
			out[string(d.Key)] = true
		}
	}
	return out, nil
}

// Keep renders the slice for the time being: a base file with the rows that are left of it, in memory if it is not large. close gives it back.
func (in *Input) Keep(ctx context.Context) (base *pqfile.File, closeFile func(), err error) {
	b := spill.New(windowBytes)
	defer func() {
		if err != nil {
			_ = b.Close() // the error before counts
		}
	}()
	f := pqfile.NewWriter(b, in.Target)
	if err := in.chunks(ctx, f); err != nil {
		return nil, nil, err
	}
	size, err := f.Needed()
	if err != nil {
		return nil, nil, err
	}
	if err := f.Finish(size); err != nil {
		return nil, nil, err
	}
	base, err = pqfile.Open(b, size)
	return base, func() { _ = b.Close() }, err // it has no name: nothing is left to be lost
}
