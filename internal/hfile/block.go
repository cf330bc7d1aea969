package hfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// The kinds of blocks that are read.
const (
	dataMagic         = "DATABLK*"
	leafMagic         = "IDXLEAF2"
	intermediateMagic = "IDXINTE2"
	rootMagic         = "IDXROOT2"
	infoMagic         = "FILEINF2"
)

const (
	headerLen = 33
	// maxBlock bounds a decompressed block. They hold a megabyte, or one entry that is larger: the names of half a million files.
	maxBlock = 64 << 20
	// maxIndex bounds a block of an index or of the file info.
	maxIndex = 8 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is what a block says of itself.
type header struct {
	at       int64
	magic    string
	next     int64 // behind the block
	size     int64 // of the payload when it is decompressed
	checksum byte
	each     int64 // bytes of a checksum
	end      int64 // of the payload
}

// header reads the header of the block at an offset; the block must end at or before end.
func (f *File) header(at, end int64) (header, error) {
	h := header{at: at}
	if at < 0 || end-at < headerLen {
		return h, corrupt(at, "expected a block, %d bytes are left", end-at)
	}
	b, err := f.read(at, headerLen)
	if err != nil {
		return h, err
	}
	c := cursor{buf: b, base: at, flat: true}
	h.magic = string(c.take(8, "a magic"))
	h.next = at + headerLen + c.int32("a block size")
	h.size = c.int32("a payload size")
	c.int64("the offset of the block before")
	h.checksum = c.take(1, "a checksum type")[0]
	h.each = c.int32("the bytes of a checksum")
	h.end = at + c.int32("the size of a header and a payload")
	switch {
	case h.end < at+headerLen || h.next < h.end || h.next > end:
		return h, corrupt(at, "expected a block up to byte %d, found one of %d bytes with a payload up to byte %d", end, h.next-at, h.end)
	case h.size < 0 || h.size > maxBlock:
		return h, corrupt(at, "expected a payload of 0 to %d bytes, found %d", maxBlock, h.size)
	}
	return h, nil
}

// block is the payload of a block, with its checksums verified. It is a copy, or a part of the file that never changes.
func (f *File) block(h header) ([]byte, error) {
	if h.magic != dataMagic && h.size > maxIndex {
		return nil, corrupt(h.at, "expected a payload of 0 to %d bytes in a block %q, found %d", maxIndex, h.magic, h.size)
	}
	raw, err := f.read(h.at, h.next-h.at)
	if err != nil {
		return nil, err
	}
	if err := h.verify(raw); err != nil {
		return nil, err
	}
	payload, err := decompress(f.codec, raw[headerLen:h.end-h.at], h.size)
	if err != nil {
		return nil, fmt.Errorf("block at byte %d: %w", h.at, err)
	}
	return payload, nil
}

func (h *header) verify(raw []byte) error {
	var table *crc32.Table
	switch h.checksum {
	case 0:
		return nil
	case 1:
		table = crc32.IEEETable
	case 2:
		table = castagnoli
	default:
		return corrupt(h.at+24, "expected a checksum type from 0 to 2, found %d", h.checksum)
	}
	covered, sums := raw[:h.end-h.at], raw[h.end-h.at:]
	if h.each <= 0 || (int64(len(covered))+h.each-1)/h.each*4 != int64(len(sums)) {
		return corrupt(h.at, "expected a checksum for each %d of %d bytes, found %d bytes of them", h.each, len(covered), len(sums))
	}
	for p := int64(0); len(covered) > 0; p += h.each {
		part := covered[:min(h.each, int64(len(covered)))]
		if want, got := binary.BigEndian.Uint32(sums), crc32.Checksum(part, table); want != got {
			return corrupt(h.at+p, "expected %d bytes with checksum %08x, found %08x", len(part), want, got)
		}
		covered, sums = covered[len(part):], sums[4:]
	}
	return nil
}

// read gives bytes of the file, which callers must not change. The range must lie within the file.
func (f *File) read(at, n int64) ([]byte, error) {
	if at >= f.tailAt && at+n <= f.size {
		return f.tail[at-f.tailAt:][:n:n], nil
	}
	b := make([]byte, n)
	m, err := f.r.ReadAt(b, at)
	switch {
	case int64(m) == n:
		return b, nil
	case err == nil || errors.Is(err, io.EOF):
		return nil, corrupt(at+int64(m), "expected %d more bytes, the file ends", n-int64(m))
	}
	return nil, fmt.Errorf("HFile at byte %d: %w", at, err)
}
