package logfile

import (
	"encoding/binary"
	"slices"
)

// atOnce is how many records are decoded at once: as many as a word has bits.
const atOnce = 64

// batch is records that lie in memory together. They are decoded field by field rather than one by one: what a field needs is looked up once for all of
// them, and the processor foresees the branches of its form. Values out of the ordinary are left to the decoder of single ones.
type batch struct {
	decoder
	program []step
	whole   bool // the program goes to the ends of the records
	mem     []byte
	first   int // row of the first
	n       int // of records that did not fail
	// pos is how far each record is decoded, end where it ends.
	pos, end [atOnce]uint32
}

func (b *batch) full() bool { return b.n == atOnce }

// rows is how many records were decoded or added.
func (b *batch) rows() int { return b.first + b.n }

// add adds a record that lies from p to end.
func (b *batch) add(p, end int) {
	b.pos[b.n], b.end[b.n] = uint32(p), uint32(end)
	b.n++
}

// decode runs the program over the records that were added, which lie in mem at base in the file. Of the records that fail it tells the first.
func (b *batch) decode(mem []byte, base int64) (row int, err error) {
	b.mem, b.base = mem, base
	for i := range b.program {
		s := &b.program[i]
		if !s.simple() {
			b.each(b.program[i : i+1])
			continue
		}
		var nulls uint64
		if s.presence.union {
			nulls = b.unions(s)
		}
		switch {
		case s.op == readBytes:
			b.readBytes(s, nulls)
		case s.op == readInt, s.op == readLong:
			b.readNumbers(s, nulls)
		case s.op != pass:
			b.readFixed(s, nulls)
		case s.form == varintForm:
			b.passNumbers(s, nulls)
		case s.form == bytesForm:
			b.passBytes(s, nulls)
		default:
			b.passFixed(s, nulls)
		}
	}
	for j := 0; j < b.n && b.whole; j++ {
		if p, end := b.pos[j], b.end[j]; p != end {
			b.n, b.err = j, corrupt(base+int64(p), "expected the end of the record at byte %d", base+int64(end))
		}
	}
	b.first, b.n = b.first+b.n, 0
	return b.first, b.err
}

// simple says that a field has one value in each record, of a form that batches know.
func (s *step) simple() bool {
	switch s.op {
	case pass:
		return true
	case readBool, readInt, readLong, readFixed, readBytes:
		return s.sink.leaf.MaxRep == 0
	default:
		return false
	}
}

// each decodes a field that is not simple.
func (b *batch) each(field []step) {
	for j := 0; j < b.n; j++ {
		b.buf, b.row = b.mem[:b.end[j]], b.first+j
		b.moved(j, b.run(field, int(b.pos[j]), 0))
	}
}

// single decodes a value of record j alone.
func (b *batch) single(s *step, j int) {
	b.buf, b.row = b.mem[:b.end[j]], b.first+j
	b.moved(j, b.value(s, int(b.pos[j]), 0))
}

// moved says how far record j is decoded now. Where that failed, it and those behind it are dropped: those before it may fail yet.
func (b *batch) moved(j, p int) {
	if p < 0 {
		b.n = j
		return
	}
	b.pos[j] = uint32(p)
}

// unions passes over the indexes of a union, and tells which records have a null, a bit for each.
func (b *batch) unions(s *step) (nulls uint64) {
	mem, value := b.mem, s.presence.value
	for j := 0; j < b.n; j++ {
		p := b.pos[j]
		if p < b.end[j] && mem[p] == value {
			b.pos[j] = p + 1
			continue
		}
		nulls |= 1 << j
		b.buf, b.row = mem[:b.end[j]], b.first+j
		b.moved(j, b.null(s, int(p), 0))
	}
	return nulls
}

func (b *batch) passNumbers(s *step, nulls uint64) {
	mem := b.mem
	for j := 0; j < b.n; j++ {
		if nulls>>j&1 != 0 {
			continue
		}
		p, end := int(b.pos[j]), int(b.end[j])
		if p+8 <= len(mem) {
			if n := numberLen(binary.LittleEndian.Uint64(mem[p:])); n <= 8 && n <= end-p {
				b.pos[j] = uint32(p + n)
				continue
			}
		}
		b.single(s, j)
	}
}

func (b *batch) passBytes(s *step, nulls uint64) {
	mem, total := b.mem, 0
	for j := 0; j < b.n; j++ {
		if nulls>>j&1 != 0 {
			continue
		}
		p, end := int(b.pos[j]), int(b.end[j])
		if p < end && mem[p]&longOrNegative == 0 {
			if n := int(mem[p] / 2); n < end-p {
				total += n
				b.pos[j] = uint32(p + 1 + n)
				continue
			}
		}
		b.single(s, j)
	}
	if s.facts != nil {
		s.facts.Bytes += int64(total)
	}
}

// longOrNegative are the bits of a number's first byte that say that it has another, or is below 0.
const longOrNegative = 0x81

func (b *batch) passFixed(s *step, nulls uint64) {
	for j := 0; j < b.n; j++ {
		switch {
		case nulls>>j&1 != 0:
		case s.width <= int(b.end[j]-b.pos[j]):
			b.pos[j] += uint32(s.width)
		default:
			b.single(s, j)
		}
	}
}

func (b *batch) readBytes(s *step, nulls uint64) {
	mem, k := b.mem, s.sink
	out, off := k.buf, k.off
	for j := 0; j < b.n; j++ {
		if nulls>>j&1 != 0 {
			continue
		}
		p, end, at := int(b.pos[j]), int(b.end[j]), len(out)
		if p < end && mem[p]&longOrNegative == 0 {
			n := int(mem[p] / 2)
			if p++; n <= end-p && n <= cap(out)-at {
				out = out[:at+n]
				if n <= short && short <= len(mem)-p && short <= cap(out)-at {
					*(*[short]byte)(out[at : at+short]) = *(*[short]byte)(mem[p : p+short])
				} else {
					copy(out[at:], mem[p:])
				}
				off = append(off, uint32(at+n))
				b.pos[j] = uint32(p + n)
				continue
			}
		}
		k.buf, k.off = out, off
		b.single(s, j)
		out, off = k.buf, k.off
	}
	k.buf, k.off = out, off
}

func (b *batch) readNumbers(s *step, nulls uint64) {
	mem, k := b.mem, s.sink
	out := slices.Grow(k.buf, b.n*s.width)
	for j := 0; j < b.n; j++ {
		if nulls>>j&1 != 0 {
			continue
		}
		p, end, at := int(b.pos[j]), int(b.end[j]), len(out)
		if p+8 <= len(mem) {
			u := binary.LittleEndian.Uint64(mem[p:])
			if n := numberLen(u); n <= 8 && n <= end-p {
				v := numberIn(u)
				if s.op == readLong {
					out = out[:at+8]
					binary.LittleEndian.PutUint64(out[at:], uint64(v))
					b.pos[j] = uint32(p + n)
					continue
				}
				if v == int64(int32(v)) {
					out = out[:at+4]
					binary.LittleEndian.PutUint32(out[at:], uint32(v))
					b.pos[j] = uint32(p + n)
					continue
				}
			}
		}
		k.buf = out
		b.single(s, j)
		out = k.buf
	}
	k.buf = out
}

func (b *batch) readFixed(s *step, nulls uint64) {
	mem, k, width := b.mem, s.sink, s.width
	out := k.buf
	for j := 0; j < b.n; j++ {
		if nulls>>j&1 != 0 {
			continue
		}
		p, end, at := int(b.pos[j]), int(b.end[j]), len(out)
		if width <= short && width <= end-p && short <= len(mem)-p && short <= cap(out)-at && (s.op == readFixed || mem[p] <= 1) {
			*(*[short]byte)(out[at : at+short]) = *(*[short]byte)(mem[p : p+short])
			out = out[:at+width]
			b.pos[j] = uint32(p + width)
			continue
		}
		k.buf = out
		b.single(s, j)
		out = k.buf
	}
	k.buf = out
}
