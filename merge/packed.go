package merge

import "encoding/binary"

// packed is an Entry as a Log keeps it: there are as many as log records.
type packed struct {
	at     int // of the values in Log.values: Ordering and Sequence, each behind its length
	record int32
	flags  flags
}

type flags uint8

const (
	deleted flags = 1 << iota
	unordered
	partial
	met // it has met a base row
)

func flagsOf(e Entry) (f flags) {
	if e.Delete {
		f |= deleted
	}
	if e.Unordered {
		f |= unordered
	}
	if e.Partial {
		f |= partial
	}
	return f
}

// pack keeps an entry.
func (l *Log) pack(e Entry) packed {
	at := len(l.values)
	if l.values == nil {
		l.values = make([]byte, 0, min(len(e.Ordering)+len(e.Sequence)+2, usual)*cap(l.entries)) // most are as long as the first
	}
	l.values = appendValue(appendValue(l.values, e.Ordering), e.Sequence)
	return packed{at, e.Record, flagsOf(e)}
}

// replace keeps an entry in the place of another one: its values too, where they are as long.
func (l *Log) replace(p *packed, e Entry) {
	old := l.unpack(*p)
	if len(old.Ordering) != len(e.Ordering) || len(old.Sequence) != len(e.Sequence) {
		*p = l.pack(e)
		return
	}
	copy(old.Ordering, e.Ordering)
	copy(old.Sequence, e.Sequence)
	p.record, p.flags = e.Record, flagsOf(e)
}

func (l *Log) unpack(p packed) Entry {
	e := Entry{Record: p.record, Delete: p.flags&deleted != 0, Unordered: p.flags&unordered != 0, Partial: p.flags&partial != 0}
	var rest []byte
	e.Ordering, rest = cutValue(l.values[p.at:])
	e.Sequence, _ = cutValue(rest)
	return e
}

func appendValue(b, v []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(v))), v...)
}

func cutValue(b []byte) (v, rest []byte) {
	n, at := binary.Uvarint(b)
	end := at + int(n)
	return b[at:end:end], b[end:]
}
