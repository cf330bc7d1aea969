package render

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/schema"
)

// page is a run of whole rows of one column, in the form of the target. Where dict is set, the values number those of the source's
// dictionary.
type page struct {
	vector *column.Vector
	dict   bool
	rows   int
}

// source reads one column of one row group of the base file in the form of the target.
type source struct {
	in   *Input
	leaf *schema.Node
	by   schema.LeafMap
	left int // rows of a column that the file lacks
	file *pqfile.File
	// chunks are the column chunks that the rows lie in: one, unless the column comes from a file with other row groups.
	chunks []int
	skip   int64 // rows of the first chunk that come before
	take   int64 // rows to be read
	chunk  *pqfile.ChunkReader
	began  bool
	dict   *column.Vector // the dictionary's values as the target has them; nil where the first page came without one
}

// from is the file that a column comes from: the base file, or the data file of a base file that is a skeleton.
func (in *Input) from(leaf *schema.Node) (*pqfile.File, schema.LeafMap) {
	if in.Data != nil && !schema.IsMeta(leaf.Path[0]) {
		return in.Data, in.dataMaps[leaf.Index]
	}
	return in.Base, in.maps[leaf.Index]
}

func (in *Input) source(group int, leaf *schema.Node) *source {
	s := &source{in: in, leaf: leaf, take: in.Base.GroupRows(group)}
	s.file, s.by = in.from(leaf)
	if s.by.Source < 0 {
		s.left = int(s.take)
		return s
	}
	if s.file == in.Base || in.aligned {
		s.chunks = []int{group}
		return s
	}
	first, start := int64(0), int64(0)
	for g := range group {
		first += in.Base.GroupRows(g)
	}
	for g := range s.file.Groups() {
		rows := s.file.GroupRows(g)
		if start < first+s.take && start+rows > first {
			if len(s.chunks) == 0 {
				s.skip = first - start
			}
			s.chunks = append(s.chunks, g)
		}
		start += rows
	}
	return s
}

// next gives the next page, or io.EOF.
func (s *source) next() (page, error) {
	if s.by.Source < 0 {
		n := min(s.left, pqfile.PageRows)
		if n == 0 {
			return page{}, io.EOF
		}
		s.left -= n
		v := column.New(s.leaf.Leaf)
		v.AppendNulls(n)
		return page{vector: v, rows: n}, nil
	}
	if s.file != s.in.Base && !s.in.aligned {
		return s.nextPart()
	}
	p, err := s.read()
	if err != nil {
		return page{}, err
	}
	return s.mapped(p)
}

// mapped is a page of the base file in the form of the target.
func (s *source) mapped(p *pqfile.Page) (page, error) {
	out := page{vector: p.Vector, dict: p.Dict, rows: p.Rows}
	if !s.began && s.chunk.Dictionary() != nil && !s.by.Nulls() {
		s.dict = column.New(bare(s.leaf.Leaf))
		if err := s.by.ApplyValues(s.dict, s.chunk.Dictionary()); err != nil {
			return page{}, err
		}
	}
	s.began = true
	if p.Dict && s.dict == nil && !s.by.Nulls() {
		out.vector, out.dict = withoutValues(p.Vector, s.file.Schema.Leaves[s.by.Source].Leaf), false
	}
	if s.by.Identity() {
		return out, nil
	}
	l, from := s.leaf.Leaf, out.vector
	if out.dict && !s.by.Nulls() {
		l.Kind, l.Size = column.Int32, 0
		out.vector = column.New(l)
		return out, s.by.ApplyIndexes(out.vector, from)
	}
	out.vector, out.dict = column.New(l), false
	return out, s.by.Apply(out.vector, from)
}

// withoutValues is a page of numbers of no dictionary, which can have none: parquet-mr writes such of nulls alone.
func withoutValues(numbers *column.Vector, leaf column.Leaf) *column.Vector {
	v := column.New(leaf)
	v.Rep, v.Def = numbers.Rep, numbers.Def
	return v
}

// read reads the next page of the chunks.
func (s *source) read() (*pqfile.Page, error) {
	for {
		if s.chunk == nil {
			if len(s.chunks) == 0 {
				return nil, io.EOF
			}
			var err error
			if s.chunk, err = s.file.Chunk(s.chunks[0], s.by.Source); err != nil {
				return nil, err
			}
			s.chunks = s.chunks[1:]
		}
		p, err := s.chunk.Next()
		if errors.Is(err, io.EOF) && len(s.chunks) > 0 {
			s.chunk = nil
			continue
		}
		return p, err
	}
}

// nextPart gives the part of the next page that lies in the row group, as plain values: chunks have dictionaries of their own.
func (s *source) nextPart() (page, error) {
	for s.take > 0 {
		p, err := s.read()
		if err != nil {
			return page{}, err
		}
		from := min(s.skip, int64(p.Rows))
		to := min(from+s.take, int64(p.Rows))
		if s.skip -= from; from == to {
			continue
		}
		s.take -= to - from
		plain := column.New(s.file.Schema.Leaves[s.by.Source].Leaf)
		if err := s.chunk.Materialise(plain, p, column.NewIndex(p.Vector).Span(int(from), int(to))); err != nil {
			return page{}, err
		}
		v := column.New(s.leaf.Leaf)
		return page{vector: v, rows: int(to - from)}, s.by.Apply(v, plain)
	}
	return page{}, io.EOF
}

// bare is a leaf without levels: that of a dictionary.
func bare(l column.Leaf) column.Leaf { return column.Leaf{Kind: l.Kind, Size: l.Size} }

// cursor walks the rows of a primitive column.
type cursor struct {
	src *source
	page
	at         int64 // the row that the page begins with
	row, value int   // of the page
}

// seek goes to a row, the same one or a later one than before, and gives its value: ok is false for null.
func (c *cursor) seek(row int64) (v []byte, ok bool, err error) {
	for row-c.at >= int64(c.rows) {
		c.at += int64(c.rows)
		if c.page, err = c.src.next(); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, false, err
		}
		c.row, c.value = 0, 0
	}
	to, l := int(row-c.at), c.vector.Leaf
	if whole := c.vector.Values() == c.vector.Entries(); whole {
		c.value = to
	} else {
		c.value += bytes.Count(c.vector.Def[c.row:to], []byte{l.MaxDef})
		if c.vector.Def[to] != l.MaxDef {
			c.row = to
			return nil, false, nil
		}
	}
	c.row = to
	v = c.vector.Value(c.value)
	if c.dict {
		v = c.src.dict.Value(int(binary.LittleEndian.Uint32(v)))
	}
	return v, true, nil
}

// rows walks some primitive columns of a row group together. Pages without a row that is looked at are not decoded.
type rows struct {
	leaves  []int
	cursors []*cursor
	row     int64 // the current one
	err     error
}

func (in *Input) rows(group int, leaves []int) *rows {
	slices.Sort(leaves)
	r := &rows{leaves: slices.Compact(leaves)}
	for _, l := range r.leaves {
		r.cursors = append(r.cursors, &cursor{src: in.source(group, in.Target.Leaves[l])})
	}
	return r
}

// enter goes to a row behind the current one. It gives the error of the rows before.
func (r *rows) enter(row int64) error {
	r.row = row
	return r.err
}

// get is the current row's value of a leaf, ok false for null.
func (r *rows) get(leaf int) (v []byte, ok bool) {
	for i, l := range r.leaves { // there are few
		if l != leaf || r.err != nil {
			continue
		}
		if v, ok, r.err = r.cursors[i].seek(r.row); v == nil && ok {
			v = []byte{}
		}
		return v, ok
	}
	return nil, false
}
