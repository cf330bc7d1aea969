package logfile

import (
	"encoding/binary"
	"fmt"

	"github.com/hudifs/hudifs/internal/schema"
)

// decoder runs a program over records. A position of -1 says that it failed, and err how.
type decoder struct {
	buf  []byte // up to the end of the record
	base int64  // of buf in the file
	row  int    // of those that are decoded
	err  error
}

func (d *decoder) fail(p int, s *step, format string, args ...any) int {
	d.err = fmt.Errorf("column %s: %w", s.name, corrupt(d.base+int64(p), format, args...))
	return -1
}

// run decodes the fields of a record, or an item of a list, from p on. rep is the repetition level of the first entry.
func (d *decoder) run(steps []step, p int, rep uint8) int {
	for i := range steps {
		s := &steps[i]
		if s.presence.union {
			if p >= len(d.buf) || d.buf[p] != s.presence.value {
				if p = d.null(s, p, rep); p < 0 {
					return -1
				}
				continue
			}
			p++
		}
		if p = d.value(s, p, rep); p < 0 {
			return -1
		}
	}
	return p
}

// value decodes a field that is there.
func (d *decoder) value(s *step, p int, rep uint8) int {
	switch s.op {
	case pass:
		p = d.pass(s, p)
	case readBytes:
		p = d.bytes(s, p, rep)
	case readLong, readInt:
		p = d.number(s, p, rep)
	case readFixed, readBool:
		p = d.fixed(s, p, rep)
	case readEnum:
		p = d.enum(s, p, rep)
	case inRecord:
		p = d.run(s.body, p, rep)
	case inArray:
		p = d.array(s, p, rep)
	case addNulls:
		d.absent(s.nulls, rep)
	case skipUnion:
		p = d.union(s, p)
	}
	return p
}

// null is where a union has another index than that of its value.
func (d *decoder) null(s *step, p int, rep uint8) int {
	switch {
	case p >= len(d.buf):
		return d.fail(p, s, "expected the index of a union, the record ends")
	case d.buf[p] != s.presence.null:
		return d.fail(p, s, "expected the index of a union, found 0x%02x", d.buf[p])
	case s.noNull:
		d.err = fmt.Errorf("%w: column %s: at byte %d: a null where the view's schema can't hold one", schema.ErrInvalid, s.name, d.base+int64(p))
		return -1
	case s.sink != nil:
		s.sink.absent(d.row, rep, s.nullDef)
	case s.facts != nil:
		s.facts.Nulls++
	default:
		d.absent(s.nulls, rep)
	}
	return p + 1
}

func (d *decoder) absent(nulls []nullEntry, rep uint8) {
	for _, n := range nulls {
		n.sink.absent(d.row, rep, n.def)
	}
}

// pass passes over a value.
func (d *decoder) pass(s *step, p int) int {
	switch s.form {
	case varintForm:
		_, q := number(d.buf, p)
		if q < 0 {
			return d.fail(p, s, "expected a number")
		}
		return q
	case bytesForm:
		n, q := d.length(s, p)
		if q < 0 {
			return -1
		}
		if s.facts != nil {
			s.facts.Bytes += int64(n)
		}
		return q + n
	case fixedForm:
	}
	if s.width > len(d.buf)-p {
		return d.fail(p, s, "expected %d bytes, the record has %d left", s.width, len(d.buf)-p)
	}
	return p + s.width
}

// length reads the length of bytes that lie within the record, and gives the position behind it.
func (d *decoder) length(s *step, p int) (n, next int) {
	b := d.buf
	var v int64
	if p < len(b) && b[p] < 0x80 {
		v, next = int64(b[p]>>1)^-int64(b[p]&1), p+1
	} else if v, next = varint(b, p); next < 0 {
		return 0, d.fail(p, s, "expected a length")
	}
	if v < 0 || v > int64(len(b)-next) {
		return 0, d.fail(p, s, "expected a length, found %d with %d bytes left in the record", v, len(b)-next)
	}
	return int(v), next
}

func (d *decoder) bytes(s *step, p int, rep uint8) int {
	n, q := d.length(s, p)
	if q < 0 {
		return -1
	}
	k := s.sink
	k.add(d.buf, q, n, d.row)
	k.off = append(k.off, uint32(len(k.buf)))
	k.present(rep)
	return q + n
}

func (d *decoder) number(s *step, p int, rep uint8) int {
	v, q := number(d.buf, p)
	if q < 0 {
		return d.fail(p, s, "expected a number")
	}
	k := s.sink
	if s.op == readLong {
		k.buf = binary.LittleEndian.AppendUint64(k.buf, uint64(v))
	} else {
		if v != int64(int32(v)) {
			return d.fail(p, s, "expected a number of 32 bits, found %d", v)
		}
		k.buf = binary.LittleEndian.AppendUint32(k.buf, uint32(v))
	}
	k.present(rep)
	return q
}

func (d *decoder) fixed(s *step, p int, rep uint8) int {
	if s.width > len(d.buf)-p {
		return d.fail(p, s, "expected %d bytes, the record has %d left", s.width, len(d.buf)-p)
	}
	if s.op == readBool && d.buf[p] > 1 {
		return d.fail(p, s, "expected a boolean, found 0x%02x", d.buf[p])
	}
	k := s.sink
	switch b := d.buf[p:]; s.width {
	case 1:
		k.buf = append(k.buf, b[0])
	case 4:
		k.buf = binary.LittleEndian.AppendUint32(k.buf, binary.LittleEndian.Uint32(b))
	case 8:
		k.buf = binary.LittleEndian.AppendUint64(k.buf, binary.LittleEndian.Uint64(b))
	default:
		k.add(d.buf, p, s.width, d.row)
	}
	k.present(rep)
	return p + s.width
}

func (d *decoder) enum(s *step, p int, rep uint8) int {
	v, q := varint(d.buf, p)
	if q < 0 || v < 0 || v >= int64(len(s.symbols)) {
		return d.fail(p, s, "expected one of %d symbols, found %d", len(s.symbols), v)
	}
	k := s.sink
	// All other columns are no longer than what they are read from.
	if most := columnBound(k.all.Bytes); int64(len(k.buf)+len(s.symbols[v])) > most {
		return d.fail(p, s, "a column of more than %d bytes", most)
	}
	k.add(s.symbols[v], 0, len(s.symbols[v]), d.row)
	k.off = append(k.off, uint32(len(k.buf)))
	k.present(rep)
	return q
}

// array decodes an array or a map. It comes in parts, each with its count and behind a negative count its size.
func (d *decoder) array(s *step, p int, rep uint8) int {
	first := true
	for {
		n, q := varint(d.buf, p)
		if q < 0 {
			return d.fail(p, s, "expected the count of a list")
		}
		at, end := p, -1
		if p = q; n < 0 {
			size, q := varint(d.buf, p)
			if q < 0 || size < 0 || size > int64(len(d.buf)-q) {
				return d.fail(p, s, "expected the size of a list's part, found %d", size)
			}
			n, p, end = -n, q, q+int(size)
		}
		if n == 0 {
			break
		}
		if n < 0 || n > int64(len(d.buf)-p) {
			return d.fail(at, s, "expected the count of a list, found %d with %d bytes left in the record", n, len(d.buf)-p)
		}
		for ; n > 0; n-- {
			if p = d.run(s.body, p, rep); p < 0 {
				return -1
			}
			rep, first = s.itemRep, false
		}
		if end >= 0 && p != end {
			return d.fail(p, s, "expected the end of a list's part at byte %d", d.base+int64(end))
		}
	}
	if first {
		d.absent(s.empty, rep)
	}
	return p
}

// union skips a value of a union of several types.
func (d *decoder) union(s *step, p int) int {
	i, q := varint(d.buf, p)
	if q < 0 || i < 0 || i >= int64(len(s.branches)) {
		return d.fail(p, s, "expected the index of a union of %d types, found %d", len(s.branches), i)
	}
	return d.run(s.branches[i], q, 0)
}
