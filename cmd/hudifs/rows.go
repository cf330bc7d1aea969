package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// rows reads a Parquet file row by row and writes each as text. Only the chosen columns are read.
type rows struct {
	file    *parquet.File
	columns []*field
	cursors []*cursor // by leaf; nil where it was not chosen
	group   int       // the next row group
	left    int64     // rows of the current one
	scratch []byte
	err     error
}

// field is a node of the file's schema.
type field struct {
	name               string
	optional, repeated bool
	// def and rep are the levels of a value that is there, and of a further element.
	def, rep int
	shape    shape
	children []*field
	leaf     int // the first leaf at or below
	leaves   int
	scalar   scalar
}

// shape is how a field's value looks in JSON.
type shape int

const (
	atom     shape = iota
	record         // {"field": value}
	sequence       // [value]: the only child is repeated, and is the element or holds it
	mapped         // {"key": value}: the only child is a repeated pair
)

// openRows opens a file for the named top-level columns, in that order, or for all.
func openRows(r io.ReaderAt, size int64, only []string) (*rows, error) {
	f, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	elements := f.Metadata().Schema
	if len(elements) == 0 {
		return nil, errors.New("file without a schema")
	}
	b := schemaBuilder{rest: elements}
	root, err := b.next(0, 0)
	if err != nil {
		return nil, err
	}
	columns := root.children
	if len(only) > 0 {
		columns = nil
		for _, name := range only {
			i := slices.IndexFunc(root.children, func(c *field) bool { return c.name == name })
			if i < 0 {
				return nil, usageError{fmt.Errorf("no column %q; there are %s", name, fieldNames(root.children))}
			}
			columns = append(columns, root.children[i])
		}
	}
	return &rows{file: f, columns: columns, cursors: make([]*cursor, b.leaves)}, nil
}

func fieldNames(fields []*field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return strings.Join(names, ", ")
}

// schemaBuilder makes a tree of a schema's elements, which lie in depth-first order.
type schemaBuilder struct {
	rest   []format.SchemaElement
	leaves int
}

func (b *schemaBuilder) next(def, rep int) (*field, error) {
	if len(b.rest) == 0 {
		return nil, errors.New("schema ends within a group")
	}
	e := b.rest[0]
	b.rest = b.rest[1:]
	f := &field{name: e.Name, leaf: b.leaves}
	if e.RepetitionType.Valid {
		f.optional = e.RepetitionType.V == format.Optional
		f.repeated = e.RepetitionType.V == format.Repeated
	}
	if f.optional || f.repeated {
		def++
	}
	if f.repeated {
		rep++
	}
	f.def, f.rep = def, rep
	if e.Type.Valid {
		b.leaves++
		f.leaves = 1
		f.scalar = scalarOf(&e)
		return f, nil
	}
	for range e.NumChildren.V {
		child, err := b.next(def, rep)
		if err != nil {
			return nil, err
		}
		f.children = append(f.children, child)
	}
	f.leaves = b.leaves - f.leaf
	f.shape = shapeOf(f, annotation(&e))
	return f, nil
}

// shapeOf recognises lists and maps, also in the forms that old writers gave them.
func shapeOf(f *field, a format.LogicalTypeValue) shape {
	if len(f.children) != 1 || !f.children[0].repeated {
		return record
	}
	switch a.(type) {
	case *format.ListType:
		return sequence
	case *format.MapType:
		if n := len(f.children[0].children); n == 1 || n == 2 {
			return mapped
		}
	}
	return record
}

// element is what a list's repeated child stands for: a wrapper around the element, or in two-level lists the element itself.
// The rules are those of the format's backward compatibility section.
func (f *field) element() *field {
	repeated := f.children[0]
	if len(repeated.children) != 1 || repeated.children[0].repeated ||
		repeated.name == "array" || repeated.name == f.name+"_tuple" {
		return repeated
	}
	return repeated.children[0]
}

// next goes to the next row. It is false at the end, and after an error.
func (r *rows) next() bool {
	for r.left == 0 {
		r.closeGroup()
		groups := r.file.RowGroups()
		if r.err != nil || r.group == len(groups) {
			return false
		}
		g := groups[r.group]
		r.group++
		r.left = g.NumRows()
		chunks := g.ColumnChunks()
		for _, c := range r.columns {
			for leaf := c.leaf; leaf < c.leaf+c.leaves; leaf++ {
				if r.cursors[leaf] == nil {
					r.cursors[leaf] = &cursor{pages: chunks[leaf].Pages()}
				}
			}
		}
	}
	r.left--
	return r.err == nil
}

func (r *rows) closeGroup() {
	for i, c := range r.cursors {
		if c != nil {
			r.err = errors.Join(r.err, c.close())
			r.cursors[i] = nil
		}
	}
}

// appendJSON writes the row as a JSON object.
func (r *rows) appendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	for i, c := range r.columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendQuoted(dst, c.name), ':')
		dst = r.field(dst, c)
	}
	return append(dst, '}')
}

// appendCSV writes the row as CSV: text for scalars, JSON for what is nested, nothing for null.
func (r *rows) appendCSV(dst []byte) []byte {
	for i, c := range r.columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch {
		case c.optional && r.peek(c.leaf).DefinitionLevel() < c.def:
			r.skip(c)
		case c.shape == atom && !c.repeated:
			r.scratch = c.scalar.text(r.scratch[:0], r.take(c.leaf))
			dst = appendCSVField(dst, r.scratch)
		default:
			r.scratch = r.field(r.scratch[:0], c)
			dst = appendCSVField(dst, r.scratch)
		}
	}
	return dst
}

// field writes a child of a record.
func (r *rows) field(dst []byte, f *field) []byte {
	if f.repeated { // without a list around it
		return r.elements(dst, f, '[', ']', func(dst []byte) []byte { return r.content(dst, f) })
	}
	return r.value(dst, f)
}

// value writes a field that may be null.
func (r *rows) value(dst []byte, f *field) []byte {
	if f.optional && r.peek(f.leaf).DefinitionLevel() < f.def {
		r.skip(f)
		return append(dst, "null"...)
	}
	return r.content(dst, f)
}

// content writes a field that is there.
func (r *rows) content(dst []byte, f *field) []byte {
	switch f.shape {
	case sequence:
		repeated, element := f.children[0], f.element()
		return r.elements(dst, repeated, '[', ']', func(dst []byte) []byte {
			if element == repeated {
				return r.content(dst, element)
			}
			return r.value(dst, element)
		})
	case mapped:
		pair := f.children[0]
		return r.elements(dst, pair, '{', '}', func(dst []byte) []byte { return r.pair(dst, pair) })
	case record:
		dst = append(dst, '{')
		for i, c := range f.children {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendQuoted(dst, c.name), ':')
			dst = r.field(dst, c)
		}
		return append(dst, '}')
	default:
		return f.scalar.appendJSON(dst, r.take(f.leaf))
	}
}

// pair writes a map's entry. What is no text becomes it, since JSON knows no other keys.
func (r *rows) pair(dst []byte, pair *field) []byte {
	key := r.value(nil, pair.children[0])
	if len(key) > 0 && key[0] != '"' {
		dst = appendQuoted(dst, string(key))
	} else {
		dst = append(dst, key...)
	}
	dst = append(dst, ':')
	if len(pair.children) == 1 {
		return append(dst, "null"...)
	}
	return r.field(dst, pair.children[1])
}

// elements writes the elements of a repeated field.
func (r *rows) elements(dst []byte, f *field, begin, end byte, each func([]byte) []byte) []byte {
	dst = append(dst, begin)
	if r.peek(f.leaf).DefinitionLevel() < f.def {
		r.skip(f)
		return append(dst, end)
	}
	for first := true; r.err == nil && (first || r.peek(f.leaf).RepetitionLevel() == f.rep); first = false {
		if !first {
			dst = append(dst, ',')
		}
		dst = each(dst)
	}
	return append(dst, end)
}

// skip passes over a value that is not there: each leaf tells so once.
func (r *rows) skip(f *field) {
	for leaf := f.leaf; leaf < f.leaf+f.leaves; leaf++ {
		r.take(leaf)
	}
}

// peek is a leaf's next value; after the last one it is the zero value, which begins a row.
func (r *rows) peek(leaf int) parquet.Value {
	v, err := r.cursors[leaf].peek()
	if err != nil && !errors.Is(err, io.EOF) && r.err == nil {
		r.err = err
	}
	return v
}

// take is a leaf's next value, which must be there. It is good until the next take of this leaf.
func (r *rows) take(leaf int) parquet.Value {
	v, err := r.cursors[leaf].peek()
	if err != nil && r.err == nil {
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("column %d has fewer values than the row group has rows", leaf)
		}
		r.err = err
	}
	r.cursors[leaf].at++
	return v
}

// close ends the reading, and says what went wrong in it.
func (r *rows) close() error {
	r.closeGroup()
	return r.err
}

// cursor walks through a column chunk's values.
type cursor struct {
	pages   parquet.Pages
	page    parquet.Page
	values  parquet.ValueReader
	buf     [256]parquet.Value
	at, end int
}

func (c *cursor) peek() (parquet.Value, error) {
	for c.at >= c.end {
		if c.values == nil {
			page, err := c.pages.ReadPage()
			if err != nil {
				return parquet.Value{}, err
			}
			c.page, c.values = page, page.Values()
		}
		n, err := c.values.ReadValues(c.buf[:])
		c.at, c.end = 0, n
		if err != nil && !errors.Is(err, io.EOF) {
			return parquet.Value{}, err
		}
		if n == 0 {
			parquet.Release(c.page)
			c.page, c.values = nil, nil
		}
	}
	return c.buf[c.at], nil
}

func (c *cursor) close() error {
	if c.page != nil {
		parquet.Release(c.page)
	}
	return c.pages.Close()
}
