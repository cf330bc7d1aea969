package render

import (
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/merge"
)

// openEncoded is open for a column that is written to a file: where its pages can be spliced, they are read as they are.
func (c *columnWriter) openEncoded() error {
	if err := c.ready(); err != nil || c.src == nil {
		return err
	}
	var err error
	if c.in.splices(c.leaf) {
		c.encoded, err = c.src.nextEncoded()
	} else {
		c.first, err = c.src.next()
	}
	if err := c.begun(err); err != nil {
		return err
	}
	if c.src.dict != nil {
		return c.extend()
	}
	return nil
}

// splices tells whether the pages of a base column can be edited in their encoded form: those of a flat column whose values stay as
// they are, and none of which is to be filled in. Pages of unusual encodings are decoded nevertheless.
func (in *Input) splices(leaf *schema.Node) bool {
	if in.Base == nil || in.Base.Groups() == 0 {
		return false
	}
	file, by := in.from(leaf)
	if _, fill := in.Fill[leaf.Index]; !by.ValuesKept() || fill && in.lacks(leaf) || leaf.Leaf.MaxRep > 0 || file != in.Base && !in.aligned {
		return false
	}
	_, ok := by.Levels()
	return ok
}

// nextEncoded gives the next page as it lies in the file.
func (s *source) nextEncoded() (*pqfile.EncodedPage, error) {
	if s.chunk == nil {
		var err error
		if s.chunk, err = s.file.Chunk(s.chunks[0], s.by.Source); err != nil {
			return nil, err
		}
		s.chunks = nil
	}
	p, err := s.chunk.NextEncoded()
	if err == nil && !s.began {
		s.began, s.dict = true, s.chunk.Dictionary()
	}
	return p, err
}

// splice writes the pages of the base column with the changes of the plan, then the inserts.
func (c *columnWriter) splice(w *pqfile.ChunkWriter) error {
	edits, _ := editLists.Get().(*[]pqfile.Edit)
	if edits == nil {
		edits = new([]pqfile.Edit)
	}
	c.edits = *edits
	defer func() {
		*edits = c.edits
		editLists.Put(edits)
	}()
	levels, _ := c.src.by.Levels()
	row := 0
	for p := c.encoded; !c.done; {
		err := c.enterRows(row, row+p.Rows)
		if err != nil {
			return err
		}
		edits, spliced := c.edit(row, p.Rows)
		if spliced {
			with := pqfile.Values{Plain: c.logged.vector, Numbers: c.indexes, Index: c.logged.index}
			spliced, err = w.Splice(p, levels, pqfile.Edits{First: row, List: edits}, with)
		}
		if err == nil && !spliced {
			err = c.rewrite(w, p, row)
		}
		if err != nil {
			return err
		}
		row += p.Rows
		if p, err = c.src.nextEncoded(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
	}
	return c.rest(w, row)
}

// editLists are those of columns that are done.
var editLists sync.Pool // of *[]pqfile.Edit

// edit gives the changes of a page as edits of this column. It is false where the values of base rows decide.
func (c *columnWriter) edit(row, rows int) ([]pqfile.Edit, bool) {
	changes := between(c.changes, row, row+rows)
	if c.whole() && c.logged.all() {
		return changes, true
	}
	c.edits = slices.Grow(c.edits[:0], len(changes))
	c.choose.looked = false
	for _, e := range changes {
		if e.With != drop {
			record := c.choose.choose(e.With)
			if c.choose.looked {
				return nil, false
			}
			if record == merge.BaseRow {
				continue
			}
			e.With = int32(c.logged.row(record))
		}
		c.edits = append(c.edits, e)
	}
	return c.edits, true
}

// rewrite writes a page decoded.
func (c *columnWriter) rewrite(w *pqfile.ChunkWriter, p *pqfile.EncodedPage, row int) error {
	decoded, err := p.Decode()
	if err != nil {
		return err
	}
	mapped, err := c.src.mapped(decoded)
	if err != nil {
		return err
	}
	if mapped.dict && c.dict == nil {
		// Writers leave out the dictionary of a column of nulls. Log records may bring values.
		nulls := column.New(c.leaf.Leaf)
		nulls.Rep, nulls.Def = mapped.vector.Rep, mapped.vector.Def
		mapped.vector, mapped.dict = nulls, false
	}
	return w.Replace(decoded, &pqfile.Page{Vector: c.merged(mapped, row), Dict: mapped.dict})
}

// codecs are what the columns are written in, by leaf: as the base column is, where enough of its pages can be copied, else what costs the least.
// There are readers that take the codec of a column in the first row group for that of all (parquet-go 0.32), so it is one.
func (in *Input) codecs(p *plan) []format.CompressionCodec {
	out := make([]format.CompressionCodec, len(in.Target.Leaves))
	for i, leaf := range in.Target.Leaves {
		out[i] = format.Snappy
		if _, ok := in.Constants[i]; ok || !in.splices(leaf) || len(p.groups) == 0 {
			continue
		}
		out[i] = in.codec(p, leaf)
	}
	return out
}

// copyFrom is the part of the pages from which on it pays to copy those that stay, though the others must then be written in a codec that
// takes more time.
const copyFrom = 0.25

func (in *Input) codec(p *plan, leaf *schema.Node) format.CompressionCodec {
	file, by := in.from(leaf)
	var compressed, size, pages, touched int64
	codec := file.Column(0, by.Source).Codec
	copied := by.Identity() && pqfile.Writes(codec)
	for g := range p.groups {
		meta := file.Column(g, by.Source)
		copied = copied && meta.Codec == codec
		compressed += meta.TotalCompressedSize
		size += meta.TotalUncompressedSize
		n := max(meta.Pages(), 1)
		pages += n
		touched += touchedPages(p.changes(g, leaf), max(file.GroupRows(g)/n, 1))
	}
	if copied && float64(pages-touched) >= copyFrom*float64(pages) {
		return codec
	}
	worthIt := 0.75
	switch codec {
	case format.Uncompressed:
		return format.Uncompressed
	case format.Zstd, format.Gzip, format.Brotli:
		worthIt = 0.4 // they also shorten what never repeats, which Snappy can't
	default:
	}
	if float64(compressed) > worthIt*float64(size) {
		return format.Uncompressed
	}
	return format.Snappy
}

// touchedPages is in how many pages of so many rows there are changes.
func touchedPages(changes []change, rows int64) int64 {
	n, last := int64(0), int64(-1)
	for _, e := range changes {
		from, to := max(int64(e.Row)/rows, last+1), int64(e.End()-1)/rows
		if to > last {
			n += to - from + 1
			last = to
		}
	}
	return n
}
