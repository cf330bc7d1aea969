package pqfile

import (
	"encoding/binary"
	"errors"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// The thrift decoder believes the sizes of lists and recurses as deep as its input says. So every structure is walked once
// before it is decoded: a list has at most as many elements as bytes follow, and nothing is nested deeper than Parquet's are.
const maxThriftDepth = 24

// Wire bytes that an element of a list of structs has at least. Decoded elements are up to this many times 32 bytes large,
// which bounds what a footer can make us allocate.
const (
	minStructBytes = 3
	minChunkBytes  = 16
)

// errShort says that a structure goes on after the bytes at hand.
var errShort = errors.New("the structure does not end")

type thriftWalker struct {
	b   []byte
	pos int
}

// thriftLen is the length of the compact-encoded structure at the start of b.
func thriftLen(b []byte) (int, error) {
	w := thriftWalker{b: b}
	err := w.structure(0)
	return w.pos, err
}

// decodeThrift decodes a structure into v, which will alias b.
func decodeThrift(b []byte, v any) error {
	n, err := thriftLen(b)
	if err != nil {
		return err
	}
	return thrift.NewDecoder(new(thrift.CompactProtocol).NewReaderFromBytes(b[:n])).Decode(v)
}

func (w *thriftWalker) structure(depth int) error {
	if depth > maxThriftDepth {
		return errors.New("nested too deep")
	}
	field := int64(0)
	for {
		head, err := w.next()
		if err != nil {
			return err
		}
		if head == 0 {
			return nil
		}
		if step := head >> 4; step > 0 {
			field += int64(step)
		} else {
			id, err := w.varint()
			if err != nil {
				return err
			}
			field = int64(id>>1) ^ -int64(id&1)
		}
		if err := w.value(head&0xF, field, depth); err != nil {
			return err
		}
	}
}

func (w *thriftWalker) value(kind byte, field int64, depth int) error {
	switch thrift.Type(kind) {
	case thrift.TRUE, thrift.FALSE:
		return nil
	case thrift.I8:
		return w.skip(1)
	case thrift.I16, thrift.I32, thrift.I64:
		_, err := w.varint()
		return err
	case thrift.DOUBLE:
		return w.skip(8)
	case thrift.BINARY:
		n, err := w.varint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case thrift.LIST, thrift.SET:
		return w.list(field, depth)
	case thrift.STRUCT:
		return w.structure(depth + 1)
	default: // Parquet's structures have no maps
		return errors.New("unknown type of field")
	}
}

func (w *thriftWalker) list(field int64, depth int) error {
	head, err := w.next()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = w.varint(); err != nil {
			return err
		}
	}
	least, kind := uint64(1), head&0xF
	if k := thrift.Type(kind); k == thrift.LIST || k == thrift.SET {
		return errors.New("a list of lists") // Parquet's structures have none
	} else if k == thrift.STRUCT {
		least = minStructBytes
		if depth == 1 && field == 1 {
			least = minChunkBytes // row groups are the only structs one level down whose first field is a list
		}
	}
	if n > uint64(len(w.b)-w.pos)/least {
		return errShort
	}
	for range n {
		if k := thrift.Type(kind); k == thrift.TRUE || k == thrift.FALSE {
			err = w.skip(1)
		} else {
			err = w.value(kind, 0, depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *thriftWalker) next() (byte, error) {
	if w.pos >= len(w.b) {
		return 0, errShort
	}
	w.pos++
	return w.b[w.pos-1], nil
}

func (w *thriftWalker) skip(n uint64) error {
	if n > uint64(len(w.b)-w.pos) {
		return errShort
	}
	w.pos += int(n)
	return nil
}

func (w *thriftWalker) varint() (uint64, error) {
	u, n := binary.Uvarint(w.b[w.pos:])
	if n == 0 {
		return 0, errShort
	}
	if n < 0 {
		return 0, errors.New("a number of more than 64 bits")
	}
	w.pos += n
	return u, nil
}
