package render

import (
	"context"
	"fmt"
	"slices"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/merge"
)

// Deletes says which records of data blocks are deletes besides those with _hoodie_is_deleted or a deleting
// _hoodie_operation: those whose Field holds the Marker.
type Deletes struct {
	Field, Marker string
	// MarkerOnly makes Field the only sign.
	MarkerOnly bool
}

// batch is one data block.
type batch struct {
	name  string // of the log file
	block *logfile.Block
	data  *logfile.Data
	first int32 // number of its first record
}

func (b *batch) wrap(err error) error {
	return fmt.Errorf("%s: block at offset %d: %w", b.name, b.block.Offset, err)
}

// What a plan says of a base row, where it is not the number of the record that takes its place.
const (
	keep = int32(-1)
	drop = int32(-2)
)

// plan is what becomes of the rows of a slice.
type plan struct {
	batches []batch
	// groups has an entry for each row of each row group of the base file; nil for a group that stays whole.
	groups  [][]int32
	inserts []int32
}

// checkEvery is how many rows are planned between two looks at the context.
const checkEvery = 1 << 16

// plan reads the keys of the slice and merges them.
func (in *Input) plan(ctx context.Context) (*plan, error) {
	p := &plan{}
	log := merge.NewLog(in.Rules)
	pl := planner{in: in, order: newOrdering(in.Target, in.Ordering)}
	var err error
	if len(in.Blocks) > 0 {
		if pl.keys, err = newKeyReader(in.Key, in.Target); err != nil {
			return nil, err
		}
	}
	next := int32(0)
	for _, r := range in.Blocks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b := batch{name: in.Logs[r.Log].Name, block: r.Block, first: next}
		if r.Block.Type == logfile.DeleteBlock {
			if err := pl.deletes(log, in.Logs[r.Log], &b); err != nil {
				return nil, err
			}
			continue
		}
		if b.data, err = logfile.OpenData(in.Logs[r.Log].Reader, *r.Block); err != nil {
			return nil, b.wrap(err)
		}
		if err := pl.records(log, &b); err != nil {
			return nil, b.wrap(err)
		}
		if next += int32(b.data.Rows()); next < b.first {
			return nil, b.wrap(fmt.Errorf("%w: more than 2^31 log records in one file slice", logfile.ErrUnsupported))
		}
		p.batches = append(p.batches, b)
	}
	if in.Base != nil {
		for g := range in.Base.Groups() {
			rows, err := pl.group(ctx, log, g)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", in.BaseName, err)
			}
			p.groups = append(p.groups, rows)
		}
	}
	p.inserts = log.Inserts()
	return p, nil
}

type planner struct {
	in    *Input
	keys  *keyReader
	order ordering
}

func (pl *planner) deletes(log *merge.Log, l Log, b *batch) error {
	deletes, err := logfile.Deletes(l.Reader, *b.block)
	if err != nil {
		return b.wrap(err)
	}
	for _, d := range deletes {
		e := merge.Entry{Delete: true}
		e.Ordering, e.Unordered = pl.order.deleted(nil, d.Ordering)
		log.Add([]byte(d.Key), e)
	}
	return nil
}

// records folds the records of a data block.
func (pl *planner) records(log *merge.Log, b *batch) error {
	want := append(pl.keys.wanted(), pl.order.wanted()...)
	flags := pl.flags()
	for _, f := range flags {
		want = append(want, f.leaf.Index)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	vectors, err := b.data.Columns(pl.in.Target, want)
	if err != nil {
		return err
	}
	row := newRowView(want, vectors)
	var key, ordering []byte
	for i := range b.data.Rows() {
		row.at = i
		e := merge.Entry{Record: b.first + int32(i)}
		var ok bool
		if key, ok = pl.keys.key(key[:0], row.get); !ok {
			return fmt.Errorf("%w: record %d has no record key", logfile.ErrCorrupt, i)
		}
		from := len(ordering)
		ordering, e.Unordered = pl.order.row(ordering, row.get)
		e.Ordering = ordering[from:len(ordering):len(ordering)]
		for _, f := range flags {
			if v, ok := row.get(f.leaf.Index); ok && f.deletes(v) {
				e.Delete = true
			}
		}
		e.Unordered = e.Unordered && e.Delete
		log.Add(key, e)
	}
	return nil
}

// flag is a column that marks deletes.
type flag struct {
	leaf    *schema.Node
	deletes func(v []byte) bool
}

func (pl *planner) flags() []flag {
	var out []flag
	d := pl.in.Deletes
	if d.Field != "" {
		if n := pl.in.Target.Find(d.Field); n != nil {
			out = append(out, flag{n, func(v []byte) bool { return text(n, v) == d.Marker }})
		}
	}
	if d.MarkerOnly {
		return out
	}
	if n := pl.in.Target.Leaf(schema.IsDeleted); n != nil && n.Scalar.Kind == column.Bool {
		out = append(out, flag{n, func(v []byte) bool { return v[0] != 0 }})
	}
	if n := pl.in.Target.Leaf(schema.Operation); n != nil {
		out = append(out, flag{n, func(v []byte) bool { return string(v) == "D" || string(v) == "-U" }})
	}
	return out
}

// rowView gets at the values of one row of several vectors.
type rowView struct {
	vectors map[int]*column.Vector
	index   map[int]*column.Index
	at      int
}

func newRowView(leaves []int, vectors []*column.Vector) *rowView {
	r := &rowView{vectors: map[int]*column.Vector{}, index: map[int]*column.Index{}}
	for i, l := range leaves {
		r.vectors[l], r.index[l] = vectors[i], column.NewIndex(vectors[i])
	}
	return r
}

func (r *rowView) get(leaf int) ([]byte, bool) {
	s := r.index[leaf].Span(r.at, r.at+1)
	if s.V1 == s.V0 {
		return nil, false
	}
	return r.vectors[leaf].Value(s.V0), true
}

// group meets the rows of a row group with the log.
func (pl *planner) group(ctx context.Context, log *merge.Log, g int) ([]int32, error) {
	in := pl.in
	if log.Len() == 0 && in.Only == nil {
		return nil, nil
	}
	time := in.Target.Leaf(schema.CommitTime)
	var want []int
	if log.Len() > 0 {
		want = append(pl.keys.wanted(), pl.order.wanted()...)
	}
	if in.Only != nil {
		want = append(want, time.Index)
	}
	rows, err := in.rows(g, want)
	if err != nil {
		return nil, err
	}
	out := make([]int32, in.Base.GroupRows(g))
	var key, ordering []byte
	for i := range out {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := rows.next(); err != nil {
			return nil, err
		}
		out[i] = keep
		if in.Only != nil {
			if v, ok := rows.get(time.Index); !ok || !pl.wanted(string(v)) {
				out[i] = drop
				continue
			}
		}
		if log.Len() == 0 {
			continue
		}
		var ok bool
		if key, ok = pl.keys.key(key[:0], rows.get); !ok {
			continue
		}
		ordering, _ = pl.order.row(ordering[:0], rows.get)
		switch verdict, record := log.Match(key, ordering); verdict {
		case merge.Drop:
			out[i] = drop
		case merge.Replace:
			out[i] = record
		case merge.Keep:
		}
	}
	return out, nil
}

func (pl *planner) wanted(commit string) bool {
	_, ok := slices.BinarySearch(pl.in.Only, commit)
	return ok
}
