package logfile

import (
	"fmt"
	"io"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// avroContent is the content of an Avro data block.
type avroContent struct {
	block Block
	buf   []byte
	rows  int
	typ   *schema.Type
}

func openAvro(r io.ReaderAt, b Block) (content, error) {
	typ, err := b.recordType()
	if err != nil {
		return nil, err
	}
	buf, err := readContent(r, &b)
	if err != nil {
		return nil, err
	}
	rows, err := avroCount(buf, &b)
	if err != nil {
		return nil, err
	}
	return &avroContent{block: b, buf: buf, rows: rows, typ: typ}, nil
}

func (a *avroContent) count() int { return a.rows }

func (a *avroContent) names() []string {
	out := make([]string, len(a.typ.Fields))
	for i, f := range a.typ.Fields {
		out[i] = f.Name
	}
	return out
}

func (a *avroContent) size() int64 { return int64(len(a.buf)) }

func (a *avroContent) appendColumns(dst []*column.Vector, target *schema.Message, leaves []int, all Expected) error {
	c, program, err := compile(a.typ, target, leaves)
	if err != nil {
		return fmt.Errorf("log block at byte %d: %w", a.block.Offset, err)
	}
	if a.rows > (len(a.buf)-avroHeadLen)/(avroLengthLen+c.least) {
		return corrupt(a.block.ContentOffset+4, "expected a number of records of %d bytes or more, found %d in a content of %d bytes", c.least, a.rows, len(a.buf))
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

func (a *avroContent) decode(program []step) error {
	d := decoder{base: a.block.ContentOffset}
	p := avroHeadLen
	for i := range a.rows {
		end, err := recordEnd(a.buf, p, &a.block)
		if err == nil {
			d.buf = a.buf[:end]
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
	if p != len(a.buf) {
		return corrupt(d.base+int64(p), "expected the end of the content of the block at byte %d, %d bytes are left", a.block.Offset, len(a.buf)-p)
	}
	return nil
}
