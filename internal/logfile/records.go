package logfile

import (
	"encoding/binary"
	"io"
	"iter"
)

// Content of an Avro data block:
//
//	bytes  field
//	    4  version, 1 to 3, which are the same
//	    4  number of records
//	then for each record
//	    4  length
//	    n  the record's Avro encoding, in the schema of the block's header
const (
	avroLengthLen = 4
	avroVersion   = 3
)

// headLen is what comes before the records of an Avro data block, and before the entries of a delete block: a version and a number.
const headLen = 8

// readAvroCount reads the head alone.
func readAvroCount(r io.ReaderAt, b *Block) (int, error) {
	head := make([]byte, min(headLen, max(b.ContentLength, 0)))
	if err := readFull(r, head, b.ContentOffset); err != nil {
		return 0, err
	}
	return avroCount(head, b)
}

// avroCount reads the head of an Avro block's content, which may be all there is of it in buf.
func avroCount(buf []byte, b *Block) (int, error) {
	if len(buf) < headLen {
		return 0, corrupt(b.ContentOffset, "expected the version and count of Avro records, the content of the block at %d has %d bytes", b.Offset, len(buf))
	}
	if v := int32(binary.BigEndian.Uint32(buf)); v < 1 || v > avroVersion {
		return 0, corrupt(b.ContentOffset, "expected a version of Avro blocks from 1 to %d, found %d", avroVersion, v)
	}
	n := int32(binary.BigEndian.Uint32(buf[4:]))
	if n < 0 || int64(n) > (b.ContentLength-headLen)/avroLengthLen {
		return 0, corrupt(b.ContentOffset+4, "expected a number of Avro records, found %d in a content of %d bytes", n, b.ContentLength)
	}
	return int(n), nil
}

// Records gives the encoded records of an Avro block one by one, undecoded: those of archived timelines, whose
// schemas are no table's. Each is valid until the next. An error ends it.
func Records(r io.ReaderAt, b Block) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		n, err := readAvroCount(r, &b)
		if err != nil {
			yield(nil, err)
			return
		}
		w := newRecordWindow(r, &b, nil)
		for range n {
			record, err := w.next()
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(record, nil) {
				return
			}
		}
		if err := w.end(); err != nil {
			yield(nil, err)
		}
	}
}

// recordWindow passes over the records of an Avro block, with some of them in memory.
type recordWindow struct {
	r   io.ReaderAt
	b   *Block
	mem []byte
	buf []byte // the part of mem that was read
	at  int64  // of buf in the file
	p   int    // of the next record in buf
}

// recordsAtOnce is how many bytes of records are read at once.
const recordsAtOnce = 256 << 10

// newRecordWindow begins behind the head. It uses mem, if it is large enough.
func newRecordWindow(r io.ReaderAt, b *Block, mem []byte) *recordWindow {
	return &recordWindow{r: r, b: b, mem: mem, at: b.ContentOffset + headLen}
}

// left is how many bytes of the content are not passed.
func (w *recordWindow) left() int64 { return w.b.ContentOffset + w.b.ContentLength - w.at - int64(w.p) }

// fill sees that the next n bytes are in buf.
func (w *recordWindow) fill(n int) error {
	if n <= len(w.buf)-w.p {
		return nil
	}
	want := int(min(int64(max(n, recordsAtOnce)), w.left()))
	mem := w.mem
	if cap(mem) < want {
		mem = make([]byte, max(want, min(2*cap(mem), int(w.left()))))
	}
	mem = mem[:cap(mem)]
	have := copy(mem, w.buf[w.p:])
	w.at, w.p, w.mem, w.buf = w.at+int64(w.p), 0, mem, mem[:want]
	return readFull(w.r, w.buf[have:], w.at+int64(have))
}

// holds says that the next record is in memory: next and skip leave what they gave before where it is.
func (w *recordWindow) holds() bool {
	b := w.buf[w.p:]
	return len(b) >= avroLengthLen && int64(int32(binary.BigEndian.Uint32(b))) <= int64(len(b)-avroLengthLen)
}

// length reads the length of the next record.
func (w *recordWindow) length() (int, error) {
	if w.left() < avroLengthLen {
		return 0, corrupt(w.at+int64(w.p), "expected the length of a record, the content of the block at %d ends", w.b.Offset)
	}
	if err := w.fill(avroLengthLen); err != nil {
		return 0, err
	}
	n := int32(binary.BigEndian.Uint32(w.buf[w.p:]))
	if left := w.left() - avroLengthLen; n < 0 || int64(n) > left {
		return 0, corrupt(w.at+int64(w.p), "expected the length of a record, found %d with %d bytes left in the block at %d", n, left, w.b.Offset)
	}
	return int(n), nil
}

// next gives the next record, valid until the next call: those bytes of buf that end at p.
func (w *recordWindow) next() ([]byte, error) {
	n, err := w.length()
	if err != nil {
		return nil, err
	}
	if err := w.fill(avroLengthLen + n); err != nil {
		return nil, err
	}
	from := w.p + avroLengthLen
	w.p = from + n
	return w.buf[from:w.p:w.p], nil
}

// skip passes over the next record. What of it is not in memory is not read.
func (w *recordWindow) skip() error {
	n, err := w.length()
	if err != nil {
		return err
	}
	if n += avroLengthLen; n > len(w.buf)-w.p {
		w.at += int64(w.p + n)
		w.buf, w.p = nil, 0
		return nil
	}
	w.p += n
	return nil
}

// end expects that all was passed.
func (w *recordWindow) end() error {
	if n := w.left(); n != 0 {
		return corrupt(w.at+int64(w.p), "expected the end of the content of the block at byte %d, %d bytes are left", w.b.Offset, n)
	}
	return nil
}
