package hfile

import (
	"encoding/binary"
	"fmt"
	"io"
)

const (
	trailerLen   = 4096
	trailerMagic = `TRABLK"$`
	version      = 3
	// tailLen is what opening a file reads: the trailer, and of most files the load-on-open section, or everything.
	tailLen = 64 << 10
)

// File is an open HFile. It may be used by several goroutines at once.
type File struct {
	r    io.ReaderAt
	size int64
	// tail is the end of the file, from tailAt on.
	tail   []byte
	tailAt int64

	trailer
	info map[string][]byte

	index []child // the root index of the data
	// doubt says why the index must not be used; nil where it can be.
	doubt error
	// stamped says that each entry ends with the number that HBase calls its memstore timestamp.
	stamped bool
}

type trailer struct {
	infoAt, loadAt int64
	indexed        uint64 // entries in the root index
	entries        uint64
	levels         uint64
	codec          codec
}

// Open reads the trailer, the file info and the root index of a file.
func Open(r io.ReaderAt, size int64) (*File, error) {
	f := &File{r: r, size: size, tailAt: size}
	if size < trailerLen {
		return nil, corrupt(0, "expected a trailer of %d bytes, the file has %d", trailerLen, size)
	}
	n := min(size, tailLen)
	tail, err := f.read(size-n, n)
	if err != nil {
		return nil, err
	}
	f.tail, f.tailAt = tail, size-n
	if err := f.readTrailer(); err != nil {
		return nil, err
	}
	if err := f.readInfo(); err != nil {
		return nil, err
	}
	switch v, stated := f.info["KEY_VALUE_VERSION"]; {
	case stated && len(v) == 4:
		f.stamped = binary.BigEndian.Uint32(v) == 1
	case stated:
		return nil, corrupt(f.infoAt, "expected KEY_VALUE_VERSION of 4 bytes, found %d", len(v))
	}
	if _, tagged := f.info["MAX_TAGS_LEN"]; tagged {
		return nil, fmt.Errorf("%w: entries with tags", ErrUnsupported)
	}
	f.readRoot()
	return f, nil
}

// Len is the number of entries.
func (f *File) Len() uint64 { return f.entries }

// Info is an entry of the file info, nil for one that is not there. Callers must not change it.
func (f *File) Info(key string) []byte { return f.info[key] }

func (f *File) readTrailer() error {
	at := f.size - trailerLen
	b, err := f.read(at, trailerLen)
	if err != nil {
		return err
	}
	c := cursor{buf: b, base: at, flat: true}
	if m := string(c.take(int64(len(trailerMagic)), "a magic")); m != trailerMagic {
		return corrupt(at, "expected the magic %q, found %q", trailerMagic, m)
	}
	if v := binary.BigEndian.Uint32(b[trailerLen-4:]) & 0xffffff; v != version {
		return fmt.Errorf("%w: version %d, expected %d", ErrUnsupported, v, version)
	}
	c.buf = b[:trailerLen-4]
	body := c.bytes("a trailer")
	m := cursor{buf: body, base: at + int64(c.p-len(body)), flat: true, err: c.err}
	f.levels, f.codec = 1, none
	m.message(func(number, v uint64, _ []byte) {
		switch number {
		case 1:
			f.infoAt = int64(v)
		case 2:
			f.loadAt = int64(v)
		case 5:
			f.indexed = v
		case 7:
			f.entries = v
		case 8:
			f.levels = v
		case 12:
			f.codec = codec(v)
		}
	})
	switch {
	case m.err != nil:
		return m.err
	case f.loadAt < 0 || f.loadAt > at:
		return corrupt(at, "expected the load-on-open section before byte %d, found it at %d", at, f.loadAt)
	case f.infoAt < f.loadAt || f.infoAt > at:
		return corrupt(at, "expected the file info between bytes %d and %d, found it at %d", f.loadAt, at, f.infoAt)
	}
	return nil
}

func (f *File) readInfo() error {
	h, err := f.header(f.infoAt, f.size-trailerLen)
	if err != nil {
		return err
	}
	if h.magic != infoMagic {
		return corrupt(h.at, "expected the magic %q, found %q", infoMagic, h.magic)
	}
	payload, err := f.block(h)
	if err != nil {
		return err
	}
	c := f.cursor(h, payload)
	if m := string(c.take(4, "a magic")); m != "PBUF" {
		return corrupt(h.at+headerLen, "expected the magic %q, found %q", "PBUF", m)
	}
	c.buf = c.buf[:c.p+len(c.bytesAhead("the file info"))]
	f.info = map[string][]byte{}
	c.message(func(number, _ uint64, pair []byte) {
		if number != 1 {
			return
		}
		var key, value []byte
		p := cursor{buf: pair, base: h.at}
		p.message(func(number, _ uint64, b []byte) {
			switch number {
			case 1:
				key = b
			case 2:
				value = b
			}
		})
		if p.err != nil {
			c.err = p.err
			return
		}
		f.info[string(key)] = value
	})
	return c.err
}

// bytesAhead is what bytes would read, behind the length that it reads.
func (c *cursor) bytesAhead(what string) []byte {
	b := c.bytes(what)
	c.p -= len(b)
	return b
}

// cursor reads the payload of a block.
func (f *File) cursor(h header, payload []byte) *cursor {
	if f.codec == none {
		return &cursor{buf: payload, base: h.at + headerLen, flat: true}
	}
	return &cursor{buf: payload, base: h.at}
}
