// Package render turns a file slice into one Parquet file: it plans the merge from keys and ordering values alone, then
// builds each column by itself from the base file's column and the log records that the plan takes.
//
//	base rows      a b c d e          log    b' (newer)   -d   f
//	plan           keep, replace by b', keep, drop, keep; insert f
//	file           a b' c e f
//
// Rows stand in base order, inserts follow in log order. The same slice gives the same bytes every time. How many bytes is promised
// beforehand, from footers and block headers: what the file turns out smaller is a hole before its footer.
//
// The columns of the log records are decoded together, as many as go into windowBytes; those of a log that is much larger each in windows of records that go along
// with the pages, its keys merged in turns. So memory does not grow with the log, beside some 20 bytes of plan for each record, 36 where it has a position;
// time does, by passes over it.
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
const Version = 8

// Input is a file slice, and how it is to be shown.
type Input struct {
	Target *schema.Message
	// Base is nil for a slice without a base file. BaseName is for errors.
	Base        *pqfile.File
	BaseName    string
	BaseInstant string
	// Data has the data columns of a base file that is the skeleton of a bootstrapped table: row i belongs to row i. nil without.
	Data     *pqfile.File
	DataName string
	// BaseNames are the names that the base file's columns have in Target, where they are others.
	BaseNames *schema.Renaming
	Logs      []Log
	// Blocks are the blocks that count, in the order in which they are merged.
	Blocks []Ref

	Key      Key
	Ordering []string // ordering fields, the first one counting most
	Rules    merge.Rules
	Merger   merge.Merger // instead of Rules; nil without one
	Deletes  Deletes
	// Sequence is a column of two numbers with a point between them, by which records are weighed against base rows; "" is the
	// ordering value.
	Sequence string
	// Pruning are the columns that readers skip files by more than by others: what their values may be is said of every file.
	Pruning []string
	// Unavailable is the text that stands for a value which a record's writer did not have.
	Unavailable string
	// Only are the instants whose base rows are wanted, sorted; nil is all. OnlyAfter has base rows of other instants meet the log
	// records nevertheless, as 0.x does, but for those of row groups and pages whose bounds tell that they have none of the wanted ones.
	Only      []string
	OnlyAfter bool
	// Keys are the record keys whose rows are wanted; nil is all. What has another key is as if it were not there.
	Keys map[string]bool
	// Constants are the values of columns that are the same in all rows, by leaf; nil is null.
	Constants map[int][]byte
	// Fill are the values of columns where a row has none, by leaf.
	Fill map[int][]byte

	maps     []schema.LeafMap // from Base to Target
	dataMaps []schema.LeafMap // from Data to Target
	aligned  bool             // Data has the row groups of Base
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
	if in.maps, err = schema.Project(in.BaseNames.Message(in.Base.Schema), in.Target); err != nil {
		return fmt.Errorf("%s: %w", in.BaseName, err)
	}
	if in.Data == nil {
		return nil
	}
	if in.Data.NumRows != in.Base.NumRows {
		return fmt.Errorf("%s: %w: %d rows for a skeleton of %d, %s", in.DataName, pqfile.ErrCorrupt, in.Data.NumRows, in.Base.NumRows, in.BaseName)
	}
	if in.dataMaps, err = schema.Project(in.BaseNames.Message(in.Data.Schema), in.Target); err != nil {
		return fmt.Errorf("%s: %w", in.DataName, err)
	}
	in.aligned = in.Data.Groups() == in.Base.Groups()
	for g := 0; in.aligned && g < in.Base.Groups(); g++ {
		in.aligned = in.Data.GroupRows(g) == in.Base.GroupRows(g)
	}
	return nil
}

// Render writes the file to w: size bytes, with a hole before the footer. Bound or Measure give the size.
func (in *Input) Render(ctx context.Context, w io.WriterAt, size int64) error {
	if regions, err := in.InRegions(); err != nil {
		return err
	} else if regions {
		return in.renderInRegions(ctx, w, size)
	}
	f := pqfile.NewWriter(w, in.Target)
	if err := in.chunks(ctx, f); err != nil {
		return err
	}
	return f.Finish(size)
}

// Measure renders without keeping anything, and gives the size that the file needs.
func (in *Input) Measure(ctx context.Context) (int64, error) {
	if regions, err := in.InRegions(); err != nil {
		return 0, err
	} else if regions {
		l, err := in.Layout(ctx, nowhere{})
		if err != nil {
			return 0, err
		}
		return l.Needed(), nil
	}
	f := pqfile.NewWriter(nowhere{}, in.Target)
	if err := in.chunks(ctx, f); err != nil {
		return 0, err
	}
	return f.Needed()
}

type nowhere struct{}

func (nowhere) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

func (in *Input) chunks(ctx context.Context, f *pqfile.Writer) error {
	if err := in.prepare(); err != nil {
		return err
	}
	p, err := in.plan(ctx, nil)
	if err != nil {
		return err
	}
	r, codecs := in.records(p), in.codecs(p)
	groups := max(len(p.groups), 1)
	for g := range groups {
		out := group{in: in, plan: p, records: r, codecs: codecs, number: g, last: g == groups-1}
		if out.rows() == 0 {
			continue
		}
		f.BeginGroup()
		if err := out.columns(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// group writes a row group: one of the base file's, the last one with the inserts behind it.
type group struct {
	in      *Input
	plan    *plan
	records *records
	codecs  []format.CompressionCodec // by leaf; nil where it is the same for all
	number  int
	last    bool
}

func (g *group) rows() int {
	n := 0
	if g.in.Base != nil && len(g.plan.groups) > 0 {
		n = int(g.in.Base.GroupRows(g.number)) - g.plan.dropped[g.number]
	}
	if g.last {
		n += len(g.plan.inserts)
	}
	return n
}

// taken are the records that go into a column of the group.
func (g *group) taken(leaf *schema.Node) []int32 {
	r := g.records
	from, to := r.from[g.number], len(r.taken)
	if !g.last {
		to = r.from[g.number+1]
	}
	if leaf == g.plan.key {
		from = min(r.from[len(r.from)-1], to) // rows that stay keep theirs
	}
	return r.taken[from:to]
}

// starter starts a chunk, somewhere.
type starter func(leaf *schema.Node, o pqfile.ChunkOptions) *pqfile.ChunkWriter

// encode writes one column of the group, all but the end of the chunk. known tells what is known about its values.
func (g *group) encode(start starter, leaf *schema.Node) (chunk *pqfile.ChunkWriter, known func() *pqfile.MinMax, err error) {
	if v, ok := g.in.Constants[leaf.Index]; ok {
		return g.constant(start, leaf, v)
	}
	c := columnWriter{group: g, leaf: leaf}
	if err := c.openEncoded(); err != nil {
		return nil, nil, c.wrap(err)
	}
	o := pqfile.ChunkOptions{Codec: format.Snappy, Dictionary: c.dict}
	if g.codecs != nil {
		o.Codec = g.codecs[leaf.Index]
	}
	chunk = start(leaf, o)
	if c.encoded != nil {
		err = c.splice(chunk)
	} else {
		err = c.pages(chunk)
	}
	if err != nil {
		return nil, nil, c.wrap(err)
	}
	return chunk, c.minMax, nil
}

func (g *group) constant(start starter, leaf *schema.Node, value []byte) (*pqfile.ChunkWriter, func() *pqfile.MinMax, error) {
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
	chunk := start(leaf, o)
	err := constantPages(l, value, g.rows(), func(v *column.Vector) error { return chunk.WriteRows(&pqfile.Page{Vector: v, Dict: dict}) })
	return chunk, func() *pqfile.MinMax { return m }, err
}

// constantPages hands on vectors of so many rows in all with the same value, null where it is nil.
func constantPages(l column.Leaf, value []byte, rows int, take func(*column.Vector) error) error {
	v := column.New(l)
	for left := rows; left > 0; left -= v.Entries() {
		if n := min(left, pqfile.PageRows); n != v.Entries() {
			v.Reset()
			for range n {
				if value == nil {
					v.AppendLevels(0, 0)
					continue
				}
				v.AppendLevels(0, l.MaxDef)
				v.AppendValue(value)
			}
		}
		if err := take(v); err != nil {
			return err
		}
	}
	return nil
}

// columnWriter builds one column of one row group.
type columnWriter struct {
	*group
	leaf *schema.Node

	src     *source             // nil without a base file
	first   page                // the first page of src
	encoded *pqfile.EncodedPage // the first page of src where pages are spliced, nil elsewhere
	done    bool                // src had no page
	changes []change            // of the base column

	choose  *chooser
	logged  *recordColumn  // all records of the slice, or those of the window: each with a value where there is one for those without
	window  window         // of a large log
	sharing int            // how many columns have windows at the same time; 0 is one
	seen    *pqfile.MinMax // of all windows; nil elsewhere
	indexes *column.Vector // logged as numbers in dict; nil without one
	dict    *column.Vector
	// extended adds to dict the values of records; nil where there are none.
	extended *dictionary
	fill     *column.Vector // one row with the value for rows that have none; nil without one
	filling  *column.Vector // the same, as a number in dict
	filled   bool           // a row of the base file got it
	scratch  column.Vector  // for pages: one is written before the next is made
	edits    []pqfile.Edit  // those of a page
}

func (c *columnWriter) wrap(err error) error {
	if !errors.Is(err, pqfile.ErrCorrupt) || c.src == nil {
		return err
	}
	name := c.in.BaseName
	if c.src.file == c.in.Data {
		name = c.in.DataName
	}
	return fmt.Errorf("%s: %w", name, err)
}

// open readies the column, and its dictionary where the base column has one.
func (c *columnWriter) open() error {
	if err := c.start(); err != nil {
		return err
	}
	if c.src != nil && c.src.dict != nil {
		return c.extend()
	}
	return nil
}

// start reads the log records and the first page of the base column, which tells whether it has a dictionary.
func (c *columnWriter) start() error {
	err := c.ready()
	if err != nil || c.src == nil {
		return err
	}
	c.first, err = c.src.next()
	return c.begun(err)
}

// begun is how the first page of the base column came.
func (c *columnWriter) begun(err error) error {
	if errors.Is(err, io.EOF) {
		c.done = true
		return nil
	}
	return err
}

// ready reads the log records and finds the base column.
func (c *columnWriter) ready() error {
	c.choose, c.fill = c.chooser(), c.in.fill(c.leaf)
	if c.plan.large {
		c.seen = pqfile.NewMinMax(c.leaf.Scalar)
	} else {
		logged, err := c.records.leaf(c.leaf)
		if err != nil {
			return err
		}
		c.use(logged)
	}
	if c.in.Base != nil && len(c.plan.groups) > 0 {
		c.src, c.changes = c.in.source(c.number, c.leaf), c.plan.changes(c.number, c.leaf)
	}
	return nil
}

// use takes log records for the column. Which version of a row counts is chosen by the values that they had.
func (c *columnWriter) use(logged *recordColumn) {
	c.choose.logged, c.logged = logged, logged.filled(c.fill)
}

// extend makes the dictionary of the chunk: that of the base column, and behind it the values of the group's records.
func (c *columnWriter) extend() error {
	c.dict = column.New(c.src.dict.Leaf)
	c.dict.AppendValues(c.src.dict)
	if !c.plan.large && len(c.taken(c.leaf)) == 0 && c.fill == nil {
		return nil
	}
	c.extended = newDictionary(c.dict)
	if !c.plan.large {
		c.numberAll(c.taken(c.leaf))
	} else if err := c.eachWindow(func() {}); err != nil {
		return err
	}
	if c.fill != nil {
		c.filling = column.New(c.numberLeaf())
		c.filling.AppendLevels(0, c.filling.Leaf.MaxDef)
		c.filling.AppendValue(binary.LittleEndian.AppendUint32(nil, c.extended.number(c.fill.Value(0))))
	}
	return nil
}

// numberAll numbers the values of records, in their order.
func (c *columnWriter) numberAll(records []int32) {
	v := c.logged.vector
	c.indexes = column.New(c.numberLeaf())
	c.indexes.Rep, c.indexes.Def = v.Rep, v.Def
	c.indexes.Buf = make([]byte, 4*v.Values())
	c.indexes.SetValues(v.Values())
	for _, record := range records {
		s := c.logged.span(record)
		for i := s.V0; i < s.V1; i++ {
			binary.LittleEndian.PutUint32(c.indexes.Buf[4*i:], c.extended.number(v.Value(i)))
		}
	}
}

// numberLeaf is the leaf with numbers for values.
func (c *columnWriter) numberLeaf() column.Leaf {
	l := c.leaf.Leaf
	l.Kind, l.Size = column.Int32, 0
	return l
}

// pageTaker takes the pages of a column: a chunk that is being written, or who reads it.
type pageTaker interface {
	WritePage(p *pqfile.Page) error
}

// pages gives away the pages of the base column as the plan changes them, then the inserts.
func (c *columnWriter) pages(w pageTaker) error {
	row := 0
	for p := c.first; c.src != nil && !c.done; {
		if err := c.enterRows(row, row+p.rows); err != nil {
			return err
		}
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
	return c.rest(w, row)
}

// rest gives away the inserts, behind so many base rows.
func (c *columnWriter) rest(w pageTaker, row int) error {
	if c.src != nil && row != int(c.in.Base.GroupRows(c.number)) {
		return fmt.Errorf("%w: %d rows where the footer counts %d", pqfile.ErrCorrupt, row, c.in.Base.GroupRows(c.number))
	}
	if !c.last || len(c.plan.inserts) == 0 {
		return nil
	}
	dict := c.extended != nil
	page := column.New(c.leaf.Leaf)
	if dict {
		page.Leaf = c.numberLeaf()
	}
	rows := 0
	for n, a := range c.plan.inserts {
		if err := c.enterInsert(n); err != nil {
			return err
		}
		c.appendVersion(page, a, dict)
		if rows++; n < len(c.plan.inserts)-1 && !pqfile.FullPage(page, rows) {
			continue
		}
		if err := w.WritePage(&pqfile.Page{Vector: page, Dict: dict}); err != nil {
			return err
		}
		page.Reset()
		rows = 0
	}
	return nil
}

// appendVersion adds a row's value of the column, as the log has it.
func (c *columnWriter) appendVersion(out *column.Vector, a int32, dict bool) {
	from := c.logged.vector
	if dict {
		from = c.indexes
	}
	out.Append(from, c.logged.span(c.choose.choose(a)))
}

// merged is a page as the plan changes it.
func (c *columnWriter) merged(p page, row int) *column.Vector {
	changes := between(c.changes, row, row+p.rows)
	if len(changes) == 0 {
		return c.fillRows(p.vector, p.dict)
	}
	w := column.NewWalker(p.vector)
	out := &c.scratch
	out.Reset()
	out.Leaf = p.vector.Leaf
	at := row
	for _, e := range changes {
		out.Append(p.vector, w.Next(int(e.Row)-at))
		base := w.Next(int(e.Rows))
		at = e.End()
		switch a := e.With; {
		case a == drop:
		case a < merge.FirstComposite:
			for i := range e.Rows {
				c.appendVersion(out, a+i, p.dict)
			}
		default:
			c.choose.base = look(p.vector, base, c.choose.unusable, c.dictOf(p))
			if c.choose.choose(a) == merge.BaseRow {
				out.Append(p.vector, base)
			} else {
				c.appendVersion(out, a, p.dict)
			}
		}
	}
	out.Append(p.vector, w.Next(row+p.rows-at))
	return c.fillRows(out, p.dict)
}

func (c *columnWriter) dictOf(p page) *column.Vector {
	if p.dict {
		return c.src.dict
	}
	return nil
}

// fillRows gives base rows that have no value the one for them.
func (c *columnWriter) fillRows(v *column.Vector, dict bool) *column.Vector {
	if c.fill == nil || v.Values() == v.Entries() {
		return v
	}
	c.filled = true
	fill := c.fill
	if dict {
		fill = c.filling
	}
	return filled(v, fill)
}

// minMax is what is known of the column's values: those of the base column and of the records.
func (c *columnWriter) minMax() *pqfile.MinMax {
	m := c.seen
	if m == nil {
		m = pqfile.NewMinMax(c.leaf.Scalar)
		m.AddRows(c.logged.vector, c.logged.index, c.taken(c.leaf), c.whole())
	}
	switch {
	case c.src == nil || c.src.by.Nulls():
	case c.src.file == c.in.Base || c.in.aligned:
		m.AddChunk(c.src.file, c.number, c.src.by.Source, c.left(c.leaf))
	default:
		m.Forget()
	}
	if c.filled {
		m.AddRows(c.fill, column.NewIndex(c.fill), []int32{0}, true)
	}
	return m
}

// whole tells whether each record that is taken becomes a row as it is.
func (g *group) whole() bool { return len(g.plan.composites) == 0 }

// left is what is known of the base rows that do not stay as they are.
func (g *group) left(leaf *schema.Node) *pqfile.Left {
	if len(g.plan.changes(g.number, leaf)) == 0 {
		return nil
	}
	for _, column := range g.plan.left[g.number] {
		if column.leaf == leaf.Index {
			return column.rows
		}
	}
	return &pqfile.Left{Min: true, Max: true}
}
