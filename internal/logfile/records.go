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
	avroHeadLen   = 8
	avroLengthLen = 4
	avroVersion   = 3
)

// readContent reads the whole content of a block, into buf if that is large enough.
func readContent(r io.ReaderAt, b *Block, buf []byte) ([]byte, error) {
	if b.ContentLength < 0 {
		return nil, corrupt(b.Offset, "expected a content length, found %d", b.ContentLength)
	}
	if int64(cap(buf)) < b.ContentLength {
		buf = make([]byte, b.ContentLength)
	}
	buf = buf[:b.ContentLength]
	if err := readFull(r, buf, b.ContentOffset); err != nil {
		return nil, err
	}
	return buf, nil
}

// readAvroCount reads the head alone.
func readAvroCount(r io.ReaderAt, b *Block) (int, error) {
	head := make([]byte, min(avroHeadLen, max(b.ContentLength, 0)))
	if err := readFull(r, head, b.ContentOffset); err != nil {
		return 0, err
	}
	return avroCount(head, b)
}

// avroCount reads the head of an Avro block's content, which may be all there is of it in buf.
func avroCount(buf []byte, b *Block) (int, error) {
	if len(buf) < avroHeadLen {
		return 0, corrupt(b.ContentOffset, "expected the version and count of Avro records, the content of the block at %d has %d bytes", b.Offset, len(buf))
	}
	if v := int32(binary.BigEndian.Uint32(buf)); v < 1 || v > avroVersion {
		return 0, corrupt(b.ContentOffset, "expected a version of Avro blocks from 1 to %d, found %d", avroVersion, v)
	}
	n := int32(binary.BigEndian.Uint32(buf[4:]))
	if n < 0 || int64(n) > (b.ContentLength-avroHeadLen)/avroLengthLen {
		return 0, corrupt(b.ContentOffset+4, "expected a number of Avro records, found %d in a content of %d bytes", n, b.ContentLength)
	}
	return int(n), nil
}

// Records gives the encoded records of an Avro block one by one, undecoded: those of archived timelines, whose
// schemas are no table's. An error ends it.
func Records(r io.ReaderAt, b Block) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		buf, err := readContent(r, &b, nil)
		if err != nil {
			yield(nil, err)
			return
		}
		n, err := avroCount(buf, &b)
		if err != nil {
			yield(nil, err)
			return
		}
		p := avroHeadLen
		for range n {
			end, err := recordEnd(buf, p, &b)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(buf[p+avroLengthLen:end:end], nil) {
				return
			}
			p = end
		}
		if p != len(buf) {
			yield(nil, corrupt(b.ContentOffset+int64(p), "expected the end of the block at %d, %d bytes are left", b.Offset, len(buf)-p))
		}
	}
}

// recordEnd reads the length of the record at p.
func recordEnd(buf []byte, p int, b *Block) (int, error) {
	if len(buf)-p < avroLengthLen {
		return 0, corrupt(b.ContentOffset+int64(p), "expected the length of a record, the content of the block at %d ends", b.Offset)
	}
	n := int32(binary.BigEndian.Uint32(buf[p:]))
	if n < 0 || int(n) > len(buf)-p-avroLengthLen {
		return 0, corrupt(b.ContentOffset+int64(p), "expected the length of a record, found %d with %d bytes left in the block at %d", n, len(buf)-p-avroLengthLen, b.Offset)
	}
	return p + avroLengthLen + int(n), nil
}
