package logfile

import (
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// Data are the records of a data block. It may be used by several goroutines at once.
type Data struct {
	content content
	has     func() map[string]bool // the columns
}

// content is what each kind of data block can do.
type content interface {
	count() int
	// names are those of the columns.
	names() []string
	appendColumns(dst []*column.Vector, p Pass) error
	// size is the length of the content in bytes.
	size() int64
}

// OpenData opens the records of an Avro or Parquet data block, or of one of change data. r is read again for each pass over them.
func OpenData(r io.ReaderAt, b Block) (*Data, error) {
	open := openAvro
	switch b.Type {
	case AvroData, CDCData:
	case ParquetData:
		open = openParquet
	default:
		return nil, unreadable(&b)
	}
	c, err := open(r, b)
	if err != nil {
		return nil, err
	}
	return &Data{c, sync.OnceValue(func() map[string]bool {
		has := map[string]bool{}
		for _, name := range c.names() {
			has[name] = true
		}
		return has
	})}, nil
}

func unreadable(b *Block) error {
	return fmt.Errorf("%w: log block at byte %d: records of a %v block", ErrUnsupported, b.Offset, b.Type)
}

// columnBound is how many bytes the values of one column may take, out of a content of a given size: names of enums and entries of
// dictionaries are longer than what stands for them.
func columnBound(content int64) int64 {
	const least, times = 64 << 20, 64
	return min(least+times*content, math.MaxUint32)
}

// checkOffsets refuses a column of text that is larger than its offsets reach: numbers may become longer as text.
func checkOffsets(v *column.Vector) error {
	if v.Leaf.Kind == column.Bytes && len(v.Buf) > math.MaxUint32 {
		return fmt.Errorf("%w: a column of %d bytes", ErrUnsupported, len(v.Buf))
	}
	return nil
}

// Rows is the number of records.
func (d *Data) Rows() int { return d.content.count() }

// Has tells whether the records have a column, even if it is null in all of them.
func (d *Data) Has(column string) bool { return d.has()[column] }

// Columns decodes some leaves of a target schema: for each a vector with an entry in every row, laid out as the target wants.
// Columns that the records lack are null. A null that the target can't hold is an error.
func (d *Data) Columns(target *schema.Message, leaves []int) ([]*column.Vector, error) {
	out := make([]*column.Vector, len(leaves))
	for i, l := range leaves {
		out[i] = column.New(target.Leaves[l].Leaf)
	}
	if err := d.AppendColumns(out, Pass{Target: target, Leaves: leaves, All: Expected{d.content.count(), d.content.size()}}); err != nil {
		return nil, err
	}
	return out, nil
}

// Pass is what is read of a block in one pass over its records.
type Pass struct {
	Target *schema.Message
	Leaves []int // of Target
	// All is what the vectors will hold in the end, of this and other blocks.
	All Expected
	// Only are the numbers of the records that are read, in their order; nil is all. What the others hold is not looked at.
	Only []int32
	// Facts, if not nil, get what is known of each leaf of Target; Avro records are walked through for those that are not decoded. Not to be
	// asked for with Only.
	Facts []Facts
}

// Expected is what several blocks have among them: so many records, of so many bytes.
type Expected struct {
	Rows  int
	Bytes int64
}

// rows is how many records are read of so many.
func (p *Pass) rows(all int) int {
	if p.Only != nil {
		return len(p.Only)
	}
	return all
}

// AppendColumns decodes as Columns does and adds to vectors, which get the records of other blocks too. After an error they are of no use.
func (d *Data) AppendColumns(dst []*column.Vector, p Pass) error {
	return d.content.appendColumns(dst, p)
}
