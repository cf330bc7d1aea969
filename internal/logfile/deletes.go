package logfile

import (
	"encoding/binary"
	"fmt"
	"io"
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
	Key, Partition string
	// Ordering has a value for each ordering field of the table, or is nil where the writer gave null.
	Ordering []OrderingValue
}

// deleteVersion is the only version of delete blocks that is read. Those before are Java objects serialised by Kryo,
// written by releases older than 0.12.
const deleteVersion = 3

// Deletes reads the content of a delete block.
//
//	bytes  field
//	    4  version, 3
//	    4  length
//	    n  an Avro record with one field, an array of {recordKey, partitionPath, orderingVal}
func Deletes(r io.ReaderAt, b Block) ([]Delete, error) {
	if b.Type != DeleteBlock {
		return nil, fmt.Errorf("%w: log block at byte %d: a %v block has no deletes", ErrUnsupported, b.Offset, b.Type)
	}
	buf, err := readContent(r, &b)
	if err != nil {
		return nil, err
	}
	if len(buf) < 8 {
		return nil, corrupt(b.ContentOffset, "expected the version and length of deletes, the content of the block at %d has %d bytes", b.Offset, len(buf))
	}
	if v := int32(binary.BigEndian.Uint32(buf)); v != deleteVersion {
		if v == 1 || v == 2 {
			return nil, fmt.Errorf("%w: log block at byte %d: deletes of version %d, serialised by Kryo", ErrUnsupported, b.Offset, v)
		}
		return nil, corrupt(b.ContentOffset, "expected version %d of a delete block, found %d", deleteVersion, v)
	}
	if n := int32(binary.BigEndian.Uint32(buf[4:])); int64(n) != int64(len(buf)-8) {
		return nil, corrupt(b.ContentOffset+4, "expected deletes of %d bytes, found the length %d", len(buf)-8, n)
	}
	d := deleteReader{text: string(buf), p: 8, base: b.ContentOffset}
	d.values = make([]OrderingValue, 0, 16)
	d.blocks(func() { d.entry() })
	if d.err == nil && d.p != len(d.text) {
		d.fail("the end of the block")
	}
	if d.err != nil {
		return nil, fmt.Errorf("delete block at byte %d, entry %d: %w", b.Offset, len(d.out), d.err)
	}
	return d.out, nil
}

// deleteReader decodes Avro values. Its error sticks: after one, everything reads as zero.
type deleteReader struct {
	text string // the whole content; keys are parts of it
	p    int
	base int64 // of text in the file
	err  error

	out    []Delete
	values []OrderingValue // the orderings of many deletes, in one piece of memory
}

func (d *deleteReader) fail(expected string) {
	if d.err == nil {
		d.err = corrupt(d.base+int64(d.p), "expected %s", expected)
	}
}

func (d *deleteReader) long(what string) int64 {
	if d.err != nil {
		return 0
	}
	v, next := varint(d.text, d.p)
	if next < 0 {
		d.fail(what)
		return 0
	}
	d.p = next
	return v
}

func (d *deleteReader) int(what string) int64 {
	v := d.long(what)
	if v != int64(int32(v)) {
		d.fail(what + " of 32 bits")
	}
	return v
}

func (d *deleteReader) take(n int64, what string) string {
	if d.err != nil {
		return ""
	}
	if n < 0 || n > int64(len(d.text)-d.p) {
		d.fail(fmt.Sprintf("%s, found one of %d bytes with %d left", what, n, len(d.text)-d.p))
		return ""
	}
	s := d.text[d.p:][:n]
	d.p += int(n)
	return s
}

func (d *deleteReader) bytes(what string) string { return d.take(d.long("the length of "+what), what) }

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
		end := -1
		if n < 0 {
			size := d.long("the size of an array")
			if n = -n; size < 0 || size > int64(len(d.text)-d.p) {
				d.fail("the size of an array")
				return
			}
			end = d.p + int(size)
		}
		if n == 0 {
			return
		}
		if n < 0 || n > int64(len(d.text)-d.p) {
			d.fail(fmt.Sprintf("an array, found one of %d items with %d bytes left", n, len(d.text)-d.p))
			return
		}
		for ; n > 0 && d.err == nil; n-- {
			item()
		}
		if end >= 0 && end != d.p {
			d.fail(fmt.Sprintf("the end of an array's part at byte %d", d.base+int64(end)))
		}
	}
}

func (d *deleteReader) entry() {
	var e Delete
	if !d.optional("a record key") {
		d.fail("a record key")
		return
	}
	e.Key = d.bytes("a record key")
	if d.optional("a partition path") {
		e.Partition = d.bytes("a partition path")
	}
	from := len(d.values)
	switch k := d.kind(); k {
	case NullOrdering:
	case arrayOrdering:
		if d.optional("ordering values") {
			d.blocks(func() { d.item() })
		}
	default:
		d.value(k)
	}
	if d.err != nil {
		return
	}
	if len(d.values) > from {
		e.Ordering = d.values[from:len(d.values):len(d.values)]
	}
	d.out = append(d.out, e)
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
		if b := d.take(1, "a boolean"); b != "" {
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
		if b := d.take(4, "a float"); b != "" {
			v.Float = float64(math.Float32frombits(binary.LittleEndian.Uint32([]byte(b))))
		}
	case DoubleOrdering:
		if b := d.take(8, "a double"); b != "" {
			v.Float = math.Float64frombits(binary.LittleEndian.Uint64([]byte(b)))
		}
	case BytesOrdering, TextOrdering, DecimalOrdering:
		v.Bytes = []byte(d.bytes("an ordering value"))
	case NullOrdering, arrayOrdering, unionEnd:
	}
	if d.err == nil {
		d.values = append(d.values, v)
	}
}
