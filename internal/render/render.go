// Package render turns a file slice into one Parquet file: it plans the merge from keys and ordering values alone, then
// builds each column by itself from the base file's column and the log records that the plan takes.
//
//	base rows      a b c d e          log    b' (newer)   -d   f
//	plan           keep, replace by b', keep, drop, keep; insert f
//	file           a b' c e f
//
// Rows stand in base order, inserts follow in log order. The same slice gives the same bytes every time. How many bytes is promised
// beforehand, from footers and block headers: what the file turns out smaller is a hole before its footer.
package render

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/merge"
)

// Version numbers the bytes that are rendered: it grows whenever the same slice would give other ones.
const Version = 1

// Input is a file slice, and how it is to be shown.
type Input struct {
	Target *schema.Message
	// Base is nil for a slice without a base file. BaseName is for errors.
	Base     *pqfile.File
	BaseName string
	Logs     []Log
	// Blocks are the blocks that count, in the order in which they are merged.
	Blocks []Ref

	Key      Key
	Ordering []string // ordering fields, the first one counting most
	Rules    merge.Rules
	Deletes  Deletes
	// Only are the instants whose base rows are wanted, sorted; nil is all.
	Only []string
	// Constants are the values of columns that are the same in all rows, by leaf; nil is null.
	Constants map[int][]byte

	maps []schema.LeafMap // from Base to Target
}

// Log is a log file.
type Log struct {
	Name   string // for errors
	Reader io.ReaderAt
}

func (in *Input) prepare() error {
	if in.Base == nil || in.maps != nil {
		return nil
	}
	var err error
	if in.maps, err = schema.Project(in.Base.Schema, in.Target); err != nil {
		return fmt.Errorf("%s: %w", in.BaseName, err)
	}
	return nil
}

// Render writes the file to w: size bytes, with a hole before the footer. Bound or Measure give the size.
func (in *Input) Render(ctx context.Context, w io.WriterAt, size int64) error {
	f := newFile(w, in.Target)
	if err := in.chunks(ctx, f); err != nil {
		return err
	}
	return f.finish(size)
}

// Measure renders without keeping anything, and gives the size that the file needs.
func (in *Input) Measure(ctx context.Context) (int64, error) {
	f := newFile(nowhere{}, in.Target)
	if err := in.chunks(ctx, f); err != nil {
		return 0, err
	}
	return f.needed()
}

type nowhere struct{}

func (nowhere) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

func (in *Input) chunks(ctx context.Context, f *file) error {
	if err := in.prepare(); err != nil {
		return err
	}
	p, err := in.plan(ctx)
	if err != nil {
		return err
	}
	r := in.records(p)
	groups := max(len(p.groups), 1)
	for g := range groups {
		out := group{in: in, plan: p, records: r, number: g, last: g == groups-1}
		if out.rows() == 0 {
			continue
		}
		f.beginGroup()
		for _, leaf := range in.Target.Leaves {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := out.write(f, leaf); err != nil {
				return err
			}
		}
	}
	return nil
}

// group writes a row group: one of the base file's, the last one with the inserts behind it.
type group struct {
	in      *Input
	plan    *plan
	records *records
	number  int
	last    bool
}

// verdicts has an entry for each base row of the group, nil where all are kept.
func (g *group) verdicts() []int32 {
	if len(g.plan.groups) == 0 {
		return nil
	}
	return g.plan.groups[g.number]
}

func (g *group) rows() int {
	n := 0
	if g.in.Base != nil && len(g.plan.groups) > 0 {
		n = int(g.in.Base.GroupRows(g.number))
		for _, a := range g.verdicts() {
			if a == drop {
				n--
			}
		}
	}
	if g.last {
		n += len(g.plan.inserts)
	}
	return n
}

// span is where the group's records lie among all records.
func (g *group) span() (from, to int) {
	from = g.records.from[g.number]
	if g.last {
		return from, len(g.records.order)
	}
	return from, g.records.from[g.number+1]
}

// write writes one column of the group.
func (g *group) write(f *file, leaf *schema.Node) error {
	if v, ok := g.in.Constants[leaf.Index]; ok {
		return g.constant(f, leaf, v)
	}
	c := columnWriter{group: g, leaf: leaf}
	if err := c.open(); err != nil {
		return c.wrap(err)
	}
	chunk := f.chunk(leaf, pqfile.ChunkOptions{Codec: format.Snappy, Dictionary: c.dict})
	if err := c.pages(chunk); err != nil {
		return c.wrap(err)
	}
	return f.endChunk(chunk, c.minMax())
}

func (g *group) constant(f *file, leaf *schema.Node, value []byte) error {
	o := pqfile.ChunkOptions{Codec: format.Snappy}
	m := pqfile.NewMinMax(leaf.Scalar)
	l := leaf.Leaf
	one := column.New(bare(l))
	if value != nil {
		one.AppendValue(value)
		m.AddVector(one)
	}
	dict := value != nil && l.Kind != column.Bool // Parquet has no dictionaries of booleans
	if dict {
		o.Dictionary = one
		l.Kind, l.Size = column.Int32, 0
		value = make([]byte, 4)
	}
	v := column.New(l)
	for range g.rows() {
		if value == nil {
			v.AppendLevels(0, 0)
			continue
		}
		v.AppendLevels(0, l.MaxDef)
		v.AppendValue(value)
	}
	chunk := f.chunk(leaf, o)
	if err := chunk.WriteRows(&pqfile.Page{Vector: v, Dict: dict}); err != nil {
		return err
	}
	return f.endChunk(chunk, m)
}

// columnWriter builds one column of one row group.
type columnWriter struct {
	*group
	leaf *schema.Node

	src   *source // nil without a base file
	first page    // the first page of src
	done  bool    // src had no page

	taken   *column.Vector // all records of the slice
	index   *column.Index
	indexes *column.Vector // the same, as numbers in dict; nil without one
	dict    *column.Vector
	at      int // the next record
}

func (c *columnWriter) wrap(err error) error {
	if errors.Is(err, pqfile.ErrCorrupt) && c.in.Base != nil {
		return fmt.Errorf("%s: %w", c.in.BaseName, err)
	}
	return err
}

// open reads the first page of the base column, which tells whether it has a dictionary, and the log records.
func (c *columnWriter) open() error {
	var err error
	if c.taken, c.index, err = c.records.leaf(c.leaf); err != nil {
		return err
	}
	c.at, _ = c.span()
	if c.in.Base == nil || len(c.plan.groups) == 0 {
		return nil
	}
	if c.src, err = c.in.source(c.number, c.leaf); err != nil {
		return err
	}
	if c.first, err = c.src.next(); errors.Is(err, io.EOF) {
		c.done = true
		return nil
	}
	if err == nil && c.src.dict != nil {
		c.extend()
	}
	return err
}

// extend makes the dictionary of the chunk: that of the base column, and behind it the values of the group's records.
func (c *columnWriter) extend() {
	c.dict = column.New(c.src.dict.Leaf)
	c.dict.AppendValues(c.src.dict)
	from, to := c.span()
	if from == to {
		return
	}
	l := c.leaf.Leaf
	l.Kind, l.Size = column.Int32, 0
	c.indexes = column.New(l)
	known := make(map[string]uint32, c.dict.Values())
	for i := range c.dict.Values() {
		known[string(c.dict.Value(i))] = uint32(i)
	}
	c.indexes.Rep, c.indexes.Def = c.taken.Rep, c.taken.Def
	s := c.index.Span(from, to)
	c.indexes.Buf = make([]byte, 4*c.taken.Values())
	c.indexes.SetValues(c.taken.Values())
	for i := s.V0; i < s.V1; i++ {
		v := c.taken.Value(i)
		n, ok := known[string(v)]
		if !ok {
			n = uint32(c.dict.Values())
			known[string(v)] = n
			c.dict.AppendValue(v)
		}
		binary.LittleEndian.PutUint32(c.indexes.Buf[4*i:], n)
	}
}

// pages writes the pages of the base column as the plan changes them, then the inserts.
func (c *columnWriter) pages(w *pqfile.ChunkWriter) error {
	row := 0
	for p := c.first; c.src != nil && !c.done; {
		out := c.merged(p, row)
		row += p.rows
		if err := w.WritePage(&pqfile.Page{Vector: out, Dict: p.dict}); err != nil {
			return err
		}
		var err error
		if p, err = c.src.next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
	}
	if c.src != nil && row != int(c.in.Base.GroupRows(c.number)) {
		return fmt.Errorf("%w: %d rows where the footer counts %d", pqfile.ErrCorrupt, row, c.in.Base.GroupRows(c.number))
	}
	if !c.last || len(c.plan.inserts) == 0 {
		return nil
	}
	v, dict := c.taken, c.indexes != nil
	if dict {
		v = c.indexes
	}
	rest := column.New(v.Leaf)
	rest.Append(v, c.index.Span(c.at, len(c.records.order)))
	return w.WriteRows(&pqfile.Page{Vector: rest, Dict: dict})
}

// merged is a page as the plan changes it.
func (c *columnWriter) merged(p page, row int) *column.Vector {
	verdicts := c.verdicts()
	if verdicts == nil {
		return p.vector
	}
	verdicts = verdicts[row : row+p.rows]
	if kept(verdicts) {
		return p.vector
	}
	from := c.taken
	if p.dict {
		from = c.indexes
	}
	x := column.NewIndex(p.vector)
	out := column.New(p.vector.Leaf)
	for i := 0; i < len(verdicts); {
		j := i
		switch a := verdicts[i]; {
		case a == keep:
			for j < len(verdicts) && verdicts[j] == keep {
				j++
			}
			out.Append(p.vector, x.Span(i, j))
		case a == drop:
			j++
		default:
			for j < len(verdicts) && verdicts[j] >= 0 {
				j++
			}
			out.Append(from, c.index.Span(c.at, c.at+j-i))
			c.at += j - i
		}
		i = j
	}
	return out
}

func kept(verdicts []int32) bool {
	for _, a := range verdicts {
		if a != keep {
			return false
		}
	}
	return true
}

// minMax is what is known of the column's values: those of the base column and of the records.
func (c *columnWriter) minMax() *pqfile.MinMax {
	m := pqfile.NewMinMax(c.leaf.Scalar)
	if c.src != nil && !c.src.by.Nulls() {
		m.AddChunk(c.in.Base, c.number, c.src.by.Source)
	}
	from, to := c.span()
	s := c.index.Span(from, to)
	v := column.New(bare(c.leaf.Leaf))
	v.Append(c.taken, column.Span{V0: s.V0, V1: s.V1})
	m.AddVector(v)
	return m
}
