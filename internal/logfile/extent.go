package logfile

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/schema"
)

// Extent bounds from above what the records of a data block hold, in the form of a target schema, without decoding them.
type Extent struct {
	Rows   int64
	Leaves []LeafExtent // by leaf of the target
	// Shared are bytes that the leaves of Kind Bytes have among them beside their own: an Avro block tells how long its
	// records are, but not their fields.
	Shared int64
}

// LeafExtent bounds a leaf: its entries, and the bytes of its values as a column.Vector holds them in Buf.
type LeafExtent struct{ Entries, Bytes int64 }

// Measure bounds the records of a data block. Of an Avro block it reads the first bytes; of a Parquet block the footer, and
// the dictionaries of the columns of Kind Bytes.
func Measure(r io.ReaderAt, b Block, target *schema.Message) (Extent, error) {
	switch b.Type {
	case AvroData:
		return measureAvro(r, b, target)
	case ParquetData:
		c, err := openParquet(r, b)
		if err != nil {
			return Extent{}, err
		}
		return c.(*parquetContent).measure(target)
	default:
		return Extent{}, unreadable(&b)
	}
}

func measureAvro(r io.ReaderAt, b Block, target *schema.Message) (Extent, error) {
	typ, err := b.recordType()
	if err != nil {
		return Extent{}, err
	}
	rows, err := readAvroCount(r, &b)
	if err != nil {
		return Extent{}, err
	}
	return measureRecords(typ, rows, &b, target)
}

func (a *avroContent) measure(target *schema.Message) (Extent, error) {
	return measureRecords(a.typ, a.rows, &a.block, target)
}

func measureRecords(typ *schema.Type, rows int, b *Block, target *schema.Message) (Extent, error) {
	all := make([]int, len(target.Leaves))
	for i := range all {
		all[i] = i
	}
	c, _, err := compile(typ, target, all, nil)
	if err != nil {
		return Extent{}, fmt.Errorf("log block at byte %d: %w", b.Offset, err)
	}
	e := Extent{Rows: int64(rows), Leaves: make([]LeafExtent, len(all))}
	records := b.ContentLength - headLen - avroLengthLen*e.Rows
	for i, k := range c.sinks {
		l := &e.Leaves[i]
		if l.Entries = e.Rows; k.node.MaxRep > 0 {
			l.Entries += records // an item of a list takes a byte at least
		}
		text, symbols := k.cast == nil && k.leaf.Kind == column.Bytes, l.Entries*int64(k.longest)
		switch {
		case !k.fed:
		case text && k.longest == 0:
			e.Shared = records
		case text:
			l.Bytes = symbols
		default:
			l.Bytes = schema.CastBound(k.leaf, k.node.Leaf, l.Entries, max(records, symbols))
		}
	}
	return e, nil
}

func (p *parquetContent) measure(target *schema.Message) (Extent, error) {
	maps, err := schema.Project(p.schema(), target)
	if err != nil {
		return Extent{}, p.wrap(err)
	}
	e := Extent{Rows: p.file.NumRows, Leaves: make([]LeafExtent, len(maps))}
	for i, m := range maps {
		l := &e.Leaves[i]
		if m.Source < 0 {
			l.Entries = e.Rows
			continue
		}
		for g := range p.file.Groups() {
			l.Entries += p.file.Column(g, m.Source).NumValues
		}
		to := target.Leaves[i].Leaf
		switch {
		case m.Nulls():
			continue
		case to.Kind == column.Bytes && p.schema().Leaves[m.Source].Leaf.Kind == column.Bytes:
			if l.Bytes, err = p.text(m.Source); err != nil {
				return Extent{}, p.wrap(err)
			}
		}
		if !m.ValuesKept() || to.Kind != column.Bytes {
			l.Bytes = schema.CastBound(p.schema().Leaves[m.Source].Leaf, to, l.Entries, l.Bytes)
		}
	}
	return e, nil
}

// Facts are what is known of a column of records without reading its values.
type Facts struct {
	// Bytes is what the values hold as a column, for Kind Bytes: exactly so for text of Avro records, else as Measure bounds it.
	Bytes int64
	// Nulls is in how many records the column is null: at least that, where it is below 0 or the column is nested.
	Nulls int64
}

// factsOfColumn are those of a column that was decoded.
func factsOfColumn(v *column.Vector) Facts {
	f := Facts{Nulls: int64(v.Entries() - v.Values())}
	if v.Leaf.Kind == column.Bytes {
		f.Bytes = int64(len(v.Buf))
	}
	return f
}

func (p *parquetContent) facts(target *schema.Message) ([]Facts, error) {
	e, err := p.measure(target)
	if err != nil {
		return nil, err
	}
	out := factsOf(&e, target)
	maps, err := schema.Project(p.schema(), target)
	if err != nil {
		return nil, p.wrap(err)
	}
	for i, m := range maps {
		out[i].Nulls = p.nulls(m)
	}
	return out, nil
}

// nulls is the number of nulls of a column, -1 where the footer does not tell.
func (p *parquetContent) nulls(m schema.LeafMap) int64 {
	if m.Nulls() {
		return p.file.NumRows
	}
	n := int64(0)
	for g := range p.file.Groups() {
		st := &p.file.Column(g, m.Source).Statistics
		if !st.NullCount.Valid {
			return -1
		}
		n += st.NullCount.V
	}
	return n
}

func factsOf(e *Extent, target *schema.Message) []Facts {
	out := make([]Facts, len(target.Leaves))
	for i, l := range e.Leaves {
		if target.Leaves[i].Leaf.Kind == column.Bytes {
			out[i].Bytes = l.Bytes
		}
	}
	return out
}

// text bounds the bytes of all values of a column of Kind Bytes.
func (p *parquetContent) text(leaf int) (int64, error) {
	total := int64(0)
	for g := range p.file.Groups() {
		meta := p.file.Column(g, leaf)
		dictionary, other := false, false
		for _, e := range meta.Encoding {
			switch e {
			case format.PlainDictionary, format.RLEDictionary: //nolint:staticcheck // old writers use the deprecated one
				dictionary = true
			case format.Plain, format.RLE, format.BitPacked: // of a dictionary, of levels
			default:
				other = true
			}
		}
		if other {
			// Encodings that leave out what values share: only the values themselves tell.
			return p.textDecoded(leaf)
		}
		// Plain pages hold no more than all pages do.
		total += meta.TotalUncompressedSize
		if dictionary {
			longest, err := p.longest(g, leaf)
			if err != nil {
				return 0, err
			}
			total += longest * meta.NumValues
		}
	}
	return total, nil
}

// longest is the length of the longest value in the dictionary of a chunk.
func (p *parquetContent) longest(group, leaf int) (int64, error) {
	c, err := p.file.Chunk(group, leaf)
	if err != nil {
		return 0, err
	}
	if _, err := c.Next(); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	longest := 0
	if d := c.Dictionary(); d != nil {
		for i := range d.Values() {
			longest = max(longest, len(d.Value(i)))
		}
	}
	return int64(longest), nil
}

func (p *parquetContent) textDecoded(leaf int) (int64, error) {
	total := int64(0)
	err := p.pages(leaf, func(c *pqfile.ChunkReader, page *pqfile.Page) error {
		total += valueBytes(c, page)
		return nil
	})
	return total, err
}
