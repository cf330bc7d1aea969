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

func (a *avroContent) appendColumns(dst []*column.Vector, p Pass) error {
	target, facts, rows := p.Target, p.Facts, p.rows(a.rows)
	c, program, err := compile(a.typ, target, p.Leaves, facts)
	if err != nil {
		return fmt.Errorf("log block at byte %d: %w", a.block.Offset, err)
	}
	if int64(a.rows) > (a.size()-headLen)/int64(avroLengthLen+c.least) {
		return corrupt(a.block.ContentOffset+4, "expected a number of records of %d bytes or more, found %d in a content of %d bytes", c.least, a.rows, a.size())
	}
	for i, l := range p.Leaves {
		if k := c.sinks[l]; k.cast == nil {
			k.reserve(dst[i], rows, p.All)
		} else {
			k.reserve(&column.Vector{}, rows, Expected{rows, a.size()})
		}
	}
	whole := true
	if facts == nil && len(p.Leaves) < len(target.Leaves) {
		program, whole = cut(program)
	}
	if err := a.decode(program, p.Only, whole); err != nil {
		return err
	}
	for _, n := range c.bulk {
		for row := range rows {
			n.sink.absent(row, 0, n.def)
		}
	}
	for i, l := range p.Leaves {
		before := factsOfColumn(dst[i])
		if err := c.sinks[l].give(dst[i], rows); err != nil {
			return fmt.Errorf("log block at byte %d: column %v: %w", a.block.Offset, target.Leaves[l].Path, err)
		}
		if facts != nil {
			facts[l] = factsOfColumn(dst[i])
			facts[l].Bytes -= before.Bytes
			facts[l].Nulls -= before.Nulls
		}
	}
	if facts == nil {
		return nil
	}
	return a.bound(facts, target)
}

// bound puts what Measure says in the place of what was counted of anything but text, and counts the columns that the records lack.
func (a *avroContent) bound(facts []Facts, target *schema.Message) error {
	e, err := a.measure(target)
	if err != nil {
		return err
	}
	for i, f := range factsOf(&e, target) {
		if f.Bytes > 0 || target.Leaves[i].Leaf.Kind != column.Bytes {
			facts[i].Bytes = f.Bytes // no text, which was bounded among all
		}
		if _, ok := a.typ.Field(target.Leaves[i].Path[0]); !ok {
			facts[i].Nulls = int64(a.rows)
		}
	}
	return nil
}

// recordBuffers are those of blocks that were passed, of maxPooled bytes at most.
var recordBuffers sync.Pool // of *[]byte

const maxPooled = 4 << 20

// decode runs the program over all records, or only some. whole says that it goes to their ends.
func (a *avroContent) decode(program []step, only []int32, whole bool) error {
	mem, _ := recordBuffers.Get().(*[]byte)
	if mem == nil {
		mem = new([]byte)
	}
	w := newRecordWindow(a.r, &a.block, *mem)
	defer func() {
		if len(w.mem) <= maxPooled {
			*mem = w.mem
		}
		recordBuffers.Put(mem)
	}()
	b := batch{program: program, whole: whole}
	fail := func(record int, err error) error {
		return fmt.Errorf("log block at byte %d, record %d: %w", a.block.Offset, record, err)
	}
	flush := func() error {
		row, err := b.decode(w.buf, w.at)
		if err != nil && only != nil {
			row = int(only[row])
		}
		if err != nil {
			return fail(row, err)
		}
		return nil
	}
	rows := a.rows
	if only != nil {
		rows = len(only)
	}
	for i := 0; b.rows() < rows; i++ {
		if b.full() || !w.holds() {
			if err := flush(); err != nil {
				return err
			}
		}
		if only != nil && int(only[b.rows()]) != i {
			if err := w.skip(); err != nil {
				return fail(i, err)
			}
			continue
		}
		record, err := w.next()
		if err != nil {
			return fail(i, err)
		}
		b.add(w.p-len(record), w.p)
	}
	if err := flush(); err != nil || only != nil {
		return err
	}
	return w.end()
}
