package hfile

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrCorrupt is wrapped by every error about bytes that are not what the format wants.
var ErrCorrupt = errors.New("corrupt HFile")

// ErrUnsupported is wrapped by every error about legal content that this package can't read.
var ErrUnsupported = errors.New("unsupported HFile")

func corrupt(offset int64, format string, args ...any) error {
	return fmt.Errorf("%w: at byte %d: "+format, append([]any{ErrCorrupt, offset}, args...)...)
}

// cursor reads fields out of a buffer. Its error sticks: after one, everything reads as zero.
type cursor struct {
	buf []byte
	p   int
	// base is where buf begins in the file. Behind a codec an offset is that of the block, as no byte of the file answers.
	base int64
	flat bool
	err  error
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		at := c.base
		if c.flat {
			at += int64(c.p)
		} else {
			format += fmt.Sprintf(" (byte %d of the decompressed block)", c.p)
		}
		c.err = corrupt(at, format, args...)
	}
}

func (c *cursor) left() int { return len(c.buf) - c.p }

func (c *cursor) take(n int64, what string) []byte {
	if c.err != nil {
		return nil
	}
	if n < 0 || n > int64(c.left()) {
		c.fail("expected %s of %d bytes, found %d", what, n, c.left())
		return nil
	}
	b := c.buf[c.p : c.p+int(n) : c.p+int(n)]
	c.p += int(n)
	return b
}

func (c *cursor) int32(what string) int64 {
	if b := c.take(4, what); b != nil {
		return int64(int32(binary.BigEndian.Uint32(b)))
	}
	return 0
}

func (c *cursor) int64(what string) int64 {
	if b := c.take(8, what); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// varint reads a protobuf varint.
func (c *cursor) varint(what string) uint64 {
	if c.err != nil {
		return 0
	}
	v, n := binary.Uvarint(c.buf[c.p:])
	if n <= 0 {
		c.fail("expected %s", what)
		return 0
	}
	c.p += n
	return v
}

// vlong reads a number as Hadoop's WritableUtils writes it: one byte from -112 to 127 is itself, any other tells the sign and how
// many bytes follow.
func (c *cursor) vlong(what string) int64 {
	b := c.take(1, what)
	if b == nil {
		return 0
	}
	first := int(int8(b[0]))
	if first >= -112 {
		return int64(first)
	}
	n, negative := -112-first, first < -120
	if negative {
		n = -120 - first
	}
	var v int64
	for _, b := range c.take(int64(n), what) {
		v = v<<8 | int64(b)
	}
	if negative {
		return ^v
	}
	return v
}

// message reads the fields of a protobuf message: numbers as v, bytes as b.
func (c *cursor) message(field func(number uint64, v uint64, b []byte)) {
	for c.err == nil && c.left() > 0 {
		tag := c.varint("a field of a message")
		var v uint64
		var b []byte
		switch tag & 7 {
		case 0:
			v = c.varint("a number in a message")
		case 1:
			b = c.take(8, "a fixed number in a message")
		case 2:
			b = c.bytes("bytes in a message")
		case 5:
			b = c.take(4, "a fixed number in a message")
		default:
			c.fail("expected a field of a message, found wire type %d", tag&7)
		}
		if c.err == nil {
			field(tag>>3, v, b)
		}
	}
}

// bytes reads a varint and so many bytes.
func (c *cursor) bytes(what string) []byte {
	n := c.varint("the length of " + what)
	if n > uint64(c.left()) {
		c.fail("expected %s of %d bytes, found %d", what, n, c.left())
		return nil
	}
	return c.take(int64(n), what)
}
