package logfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
)

// OrderingKind is the type that an ordering value of a delete was wrapped in.
type OrderingKind uint8

// The kinds of ordering values, in the order of the union in which they stand on disk. It decides how they are read, so
// it can only grow at its end.
const (
	NullOrdering OrderingKind = iota
	BoolOrdering
	IntOrdering
	LongOrdering
	FloatOrdering
	DoubleOrdering
	BytesOrdering
	TextOrdering
	DateOrdering            // days
	DecimalOrdering         // unscaled, of DecimalScale
	TimeMicrosOrdering      // microseconds of the day
	TimestampMicrosOrdering // microseconds, whatever the unit of the column
	arrayOrdering           // several ordering fields; since table version 9
	unionEnd
)

// localDate takes the place of the array in the union of the values inside of one.
const localDate = arrayOrdering

func (k OrderingKind) String() string {
	return [...]string{
		"null", "boolean", "int", "long", "float", "double", "bytes", "string", "date", "decimal", "time-micros", "timestamp-micros", "array",
	}[k]
}

// DecimalScale is the scale to which writers bring every decimal ordering value.
const DecimalScale = 15

// OrderingValue is one ordering value of a delete. Which field is set depends on Kind.
type OrderingValue struct {
	Kind  OrderingKind
	Int   int64   // booleans (0, 1), ints, longs, dates and times
	Float float64 // floats and doubles
	// Bytes are bytes, text in UTF-8, or the unscaled value of a decimal, big-endian.
	Bytes []byte
}

// IsDefault tells whether the value is what writers put where there is no ordering field or no value of it: null or the int 0.
func (v OrderingValue) IsDefault() bool {
	return v.Kind == NullOrdering || v.Kind == IntOrdering && v.Int == 0
}

// Delete is one entry of a delete block.
type Delete struct {
	Key, Partition []byte
	// Ordering has a value for each ordering field of the table, or is empty where the writer gave null.
	Ordering []OrderingValue
}

// deleteVersion is the only version of delete blocks that is read. Those before are Java objects serialised by Kryo,
// written by releases older than 0.12.
const deleteVersion = 3

// Deletes reads the content of a delete block. Each entry is valid until the next. An error ends it.
//
//	bytes  field
//	    4  version, 3
//	    4  length
//	    n  an Avro record with one field, an array of {recordKey, partitionPath, orderingVal}
func Deletes(r io.ReaderAt, b Block) iter.Seq2[Delete, error] {
	return func(yield func(Delete, error) bool) {
		if err := openDeletes(r, &b); err != nil {
			yield(Delete{}, err)
			return
		}
		d := deleteReader{w: newRecordWindow(r, &b, nil)}
		entries := 0
		d.blocks(func() {
			if d.entry(); d.err != nil {
				return
			}
			if entries++; !yield(d.out, nil) {
				d.err = errStopped
			}
		})
		if d.err == nil && d.w.left() > 0 {
			d.fail("the end of the block")
		}
		if d.err != nil && !errors.Is(d.err, errStopped) {
			yield(Delete{}, fmt.Errorf("delete block at byte %d, entry %d: %w", b.Offset, entries, d.err))
		}
	}
}

// openDeletes looks at what comes before the entries.
func openDeletes(r io.ReaderAt, b *Block) error {
	if b.Type != DeleteBlock {
		return fmt.Errorf("%w: log block at byte %d: a %v block has no deletes", ErrUnsupported, b.Offset, b.Type)
	}
	if b.ContentLength < headLen {
		return corrupt(b.ContentOffset, "expected the version and length of deletes, the content of the block at %d has %d bytes", b.Offset, b.ContentLength)
	}
	head := make([]byte, headLen)
	if err := readFull(r, head, b.ContentOffset); err != nil {
		return err
	}
	if v := int32(binary.BigEndian.Uint32(head)); v != deleteVersion {
		if v == 1 || v == 2 {
			return fmt.Errorf("%w: log block at byte %d: deletes of version %d, serialised by Kryo", ErrUnsupported, b.Offset, v)
		}
		return corrupt(b.ContentOffset, "expected version %d of a delete block, found %d", deleteVersion, v)
	}
	if n, left := int32(binary.BigEndian.Uint32(head[4:])), b.ContentLength-headLen; int64(n) != left {
		return corrupt(b.ContentOffset+4, "expected deletes of %d bytes, found the length %d", left, n)
	}
	return nil
}

// errStopped says that nobody asks for more entries.
var errStopped = errors.New("stopped")

// deleteReader decodes Avro values. Its error sticks: after one, everything reads as zero.
type deleteReader struct {
	w   *recordWindow
	err error
	out Delete // the current entry, whose memory the next one gets
}

func (d *deleteReader) fail(expected string) {
	if d.err == nil {
		d.err = corrupt(d.at(), "expected %s", expected)
	}
}

// at is the position in the file.
func (d *deleteReader) at() int64 { return d.w.at + int64(d.w.p) }

// ahead sees that the next n bytes are there, or as many as are left.
func (d *deleteReader) ahead(n int64) bool {
	if d.err == nil {
		d.err = d.w.fill(int(min(n, d.w.left())))
	}
	return d.err == nil
}

func (d *deleteReader) long(what string) int64 {
	if !d.ahead(binary.MaxVarintLen64) {
		return 0
	}
	v, next := varint(d.w.buf, d.w.p)
	if next < 0 {
		d.fail(what)
		return 0
	}
	d.w.p = next
	return v
}

func (d *deleteReader) int(what string) int64 {
	v := d.long(what)
	if v != int64(int32(v)) {
		d.fail(what + " of 32 bits")
	}
	return v
}

// take gives the next n bytes, valid until the next call.
func (d *deleteReader) take(n int64, what string) []byte {
	if d.err != nil {
		return nil
	}
	if n < 0 || n > d.w.left() {
		d.fail(fmt.Sprintf("%s, found one of %d bytes with %d left", what, n, d.w.left()))
		return nil
	}
	if !d.ahead(n) {
		return nil
	}
	b := d.w.buf[d.w.p:][:n]
	d.w.p += int(n)
	return b
}

func (d *deleteReader) bytes(what string) []byte { return d.take(d.long(what), what) }

// optional reads the branch of a union with null in front.
func (d *deleteReader) optional(what string) bool {
	switch d.long(what) {
	case 0:
		return false
	case 1:
		return d.err == nil
	}
	d.fail(what + " or null")
	return false
}

// blocks reads an array. Each item takes a byte at least, so that no count can keep it busy for longer than the content is.
func (d *deleteReader) blocks(item func()) {
	for d.err == nil {
		n := d.long("the count of an array")
		end := int64(-1)
		if n < 0 {
			size := d.long("the size of an array")
			if n = -n; size < 0 || size > d.w.left() {
				d.fail("the size of an array")
				return
			}
			end = d.at() + size
		}
		if n == 0 {
			return
		}
		if n < 0 || n > d.w.left() {
			d.fail(fmt.Sprintf("an array, found one of %d items with %d bytes left", n, d.w.left()))
			return
		}
		for ; n > 0 && d.err == nil; n-- {
			item()
		}
		if end >= 0 && end != d.at() {
			d.fail(fmt.Sprintf("the end of an array's part at byte %d", end))
		}
	}
}

func (d *deleteReader) entry() {
	e := &d.out
	*e = Delete{e.Key[:0], e.Partition[:0], e.Ordering[:0]}
	if !d.optional("a record key") {
		d.fail("a record key")
		return
	}
	e.Key = append(e.Key, d.bytes("a record key")...)
	if d.optional("a partition path") {
		e.Partition = append(e.Partition, d.bytes("a partition path")...)
	}
	switch k := d.kind(); k {
	case NullOrdering:
	case arrayOrdering:
		if d.optional("ordering values") {
			d.blocks(func() { d.item() })
		}
	default:
		d.value(k)
	}
}

func (d *deleteReader) kind() OrderingKind {
	k := d.long("the type of an ordering value")
	if k < 0 || k >= int64(unionEnd) {
		d.fail(fmt.Sprintf("the type of an ordering value, found %d", k))
		return NullOrdering
	}
	return OrderingKind(k)
}

// item reads one of several ordering values.
func (d *deleteReader) item() {
	k := d.kind()
	if k == localDate {
		k = DateOrdering
	}
	d.value(k)
}

func (d *deleteReader) value(k OrderingKind) {
	v := OrderingValue{Kind: k}
	switch k {
	case BoolOrdering:
		if b := d.take(1, "a boolean"); b != nil {
			v.Int = int64(b[0])
		}
		if v.Int > 1 {
			d.fail("a boolean")
		}
	case IntOrdering, DateOrdering:
		v.Int = d.int("an int")
	case LongOrdering, TimeMicrosOrdering, TimestampMicrosOrdering:
		v.Int = d.long("a long")
	case FloatOrdering:
		if b := d.take(4, "a float"); b != nil {
			v.Float = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
	case DoubleOrdering:
		if b := d.take(8, "a double"); b != nil {
			v.Float = math.Float64frombits(binary.LittleEndian.Uint64(b))
		}
	case BytesOrdering, TextOrdering, DecimalOrdering:
		v.Bytes = bytes.Clone(d.bytes("an ordering value"))
	case NullOrdering, arrayOrdering, unionEnd:
	}
	if d.err == nil {
		d.out.Ordering = append(d.out.Ordering, v)
	}
}
