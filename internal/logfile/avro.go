package logfile

import (
	"fmt"
	"io"
	"sync"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// avroContent is the content of an Avro data block. It is read for each pass, and not kept.
type avroContent struct {
	r     io.ReaderAt
	block Block
	rows  int
	typ   *schema.Type
}

func openAvro(r io.ReaderAt, b Block) (content, error) {
	typ, err := b.recordType()
	if err != nil {
		return nil, err
	}
	rows, err := readAvroCount(r, &b)
	if err != nil {
		return nil, err
	}
	return &avroContent{r: r, block: b, rows: rows, typ: typ}, nil
}

func (a *avroContent) count() int { return a.rows }

func (a *avroContent) names() []string {
	out := make([]string, len(a.typ.Fields))
	for i, f := range a.typ.Fields {
		out[i] = f.Name
	}
	return out
}

func (a *avroContent) size() int64 { return a.block.ContentLength }

func (a *avroContent) appendColumns(dst []*column.Vector, target *schema.Message, leaves []int, all Expected) error {
	c, program, err := compile(a.typ, target, leaves)
	if err != nil {
		return fmt.Errorf("log block at byte %d: %w", a.block.Offset, err)
	}
	if int64(a.rows) > (a.size()-avroHeadLen)/int64(avroLengthLen+c.least) {
		return corrupt(a.block.ContentOffset+4, "expected a number of records of %d bytes or more, found %d in a content of %d bytes", c.least, a.rows, a.size())
	}
	for i, l := range leaves {
		if k := c.sinks[l]; k.cast == nil {
			k.reserve(dst[i], all)
		} else {
			k.reserve(&column.Vector{}, Expected{a.rows, a.size()})
		}
	}
	if err := a.decode(program); err != nil {
		return err
	}
	for _, n := range c.bulk {
		for range a.rows {
			n.sink.level(0, n.def)
		}
	}
	for i, l := range leaves {
		if err := c.sinks[l].give(dst[i]); err != nil {
			return fmt.Errorf("log block at byte %d: column %v: %w", a.block.Offset, target.Leaves[l].Path, err)
		}
	}
	return nil
}

// contents are buffers that contents were read into, of maxPooled bytes at most.
var contents sync.Pool // of *[]byte

const maxPooled = 16 << 20

func (a *avroContent) decode(program []step) error {
	kept, _ := contents.Get().(*[]byte)
	if kept == nil {
		kept = new([]byte)
	}
	buf, err := readContent(a.r, &a.block, *kept)
	if err != nil {
		return err
	}
	if len(buf) <= maxPooled {
		*kept = buf
	}
	defer contents.Put(kept)
	d := decoder{base: a.block.ContentOffset}
	p := avroHeadLen
	for i := range a.rows {
		end, err := recordEnd(buf, p, &a.block)
		if err == nil {
			d.buf = buf[:end]
			if p = d.run(program, p+avroLengthLen, 0); p < 0 {
				err = d.err
			} else if p != end {
				err = corrupt(d.base+int64(p), "expected the end of the record at byte %d", d.base+int64(end))
			}
		}
		if err != nil {
			return fmt.Errorf("log block at byte %d, record %d: %w", a.block.Offset, i, err)
		}
	}
	if p != len(buf) {
		return corrupt(d.base+int64(p), "expected the end of the content of the block at byte %d, %d bytes are left", a.block.Offset, len(buf)-p)
	}
	return nil
}
