package logfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/schema"
)

// parquetContent is the content of a Parquet data block: a whole Parquet file.
type parquetContent struct {
	block Block
	file  *pqfile.File
}

func openParquet(r io.ReaderAt, b Block) (content, error) {
	p := &parquetContent{block: b}
	var err error
	p.file, err = pqfile.Open(io.NewSectionReader(r, b.ContentOffset, b.ContentLength), b.ContentLength)
	if err != nil {
		return nil, p.wrap(err)
	}
	// The keys of as many records take a bit each, at the very least.
	if n := p.file.NumRows; n > 8*b.ContentLength {
		return nil, p.wrap(fmt.Errorf("%w: %d records in a content of %d bytes", pqfile.ErrCorrupt, n, b.ContentLength))
	}
	return p, nil
}

// wrap says where the Parquet file lies whose offsets an error names, and gives it this package's kind.
func (p *parquetContent) wrap(err error) error {
	where := fmt.Sprintf("log block at byte %d, Parquet file from byte %d", p.block.Offset, p.block.ContentOffset)
	switch {
	case errors.Is(err, pqfile.ErrCorrupt):
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, where, err)
	case errors.Is(err, pqfile.ErrUnsupported), errors.Is(err, pqfile.ErrTooLarge):
		return fmt.Errorf("%w: %s: %w", ErrUnsupported, where, err)
	}
	return fmt.Errorf("%s: %w", where, err)
}

func (p *parquetContent) schema() *schema.Message { return p.block.names.Message(p.file.Schema) }

func (p *parquetContent) count() int { return int(p.file.NumRows) }

func (p *parquetContent) names() []string {
	var out []string
	for _, n := range p.schema().Fields {
		out = append(out, n.Name)
	}
	return out
}

func (p *parquetContent) size() int64 { return p.block.ContentLength }

func (p *parquetContent) appendColumns(dst []*column.Vector, pass Pass) error {
	maps, err := schema.Project(p.schema(), pass.Target)
	if err != nil {
		return p.wrap(err)
	}
	rows := pass.rows(p.count())
	for i, l := range pass.Leaves {
		before := dst[i].Rows()
		if maps[l].Source < 0 {
			dst[i].AppendNulls(rows)
		} else if err := p.leaf(dst[i], maps[l], pass.Only); err != nil {
			return p.wrap(err)
		}
		if n := dst[i].Rows() - before; n != rows {
			return p.wrap(fmt.Errorf("%w: column %v: %d rows of %d, nulls where the view's schema can't hold them", schema.ErrInvalid, pass.Target.Leaves[l].Path, n, rows))
		}
	}
	if pass.Facts == nil {
		return nil
	}
	found, err := p.facts(pass.Target)
	copy(pass.Facts, found)
	return err
}

// leaf adds all rows of a column to a vector of the target's, or only some.
func (p *parquetContent) leaf(dst *column.Vector, m schema.LeafMap, only []int32) error {
	plain := column.New(p.schema().Leaves[m.Source].Leaf)
	bound, size := columnBound(p.block.ContentLength), int64(0)
	first := 0 // row of the page
	return p.pages(m.Source, func(c *pqfile.ChunkReader, page *pqfile.Page) error {
		if size += valueBytes(c, page); size > bound {
			return fmt.Errorf("%w: a column of more than %d bytes", pqfile.ErrTooLarge, bound)
		}
		from := page.Vector
		plain.Reset()
		switch {
		case only != nil:
			n, _ := slices.BinarySearch(only, int32(first+page.Rows))
			index := column.NewIndex(page.Vector)
			for _, r := range only[:n] {
				if err := c.Materialise(plain, page, index.Span(int(r)-first, int(r)-first+1)); err != nil {
					return err
				}
			}
			only, first = only[n:], first+page.Rows
			from = plain
		case page.Dict:
			if err := c.Materialise(plain, page, page.Vector.All()); err != nil {
				return err
			}
			from = plain
		}
		if err := m.Apply(dst, from); err != nil {
			return err
		}
		return checkOffsets(dst)
	})
}

// pages hands the pages of a column to f, in order.
func (p *parquetContent) pages(leaf int, f func(c *pqfile.ChunkReader, page *pqfile.Page) error) error {
	for g := range p.file.Groups() {
		c, err := p.file.Chunk(g, leaf)
		if err != nil {
			return err
		}
		for {
			page, err := c.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			if err := f(c, page); err != nil {
				return err
			}
		}
	}
	return nil
}

// valueBytes is how many bytes the values of a page take as a vector.
func valueBytes(c *pqfile.ChunkReader, page *pqfile.Page) int64 {
	if !page.Dict {
		return int64(len(page.Vector.Buf))
	}
	d := c.Dictionary()
	if d.Leaf.Kind != column.Bytes {
		return int64(page.Vector.Values()) * int64(d.Leaf.Width())
	}
	n := int64(0)
	for i := range page.Vector.Values() {
		n += int64(len(d.Value(int(binary.LittleEndian.Uint32(page.Vector.Value(i))))))
	}
	return n
}
