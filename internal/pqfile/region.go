package pqfile

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// Region is a part of a file that a chunk takes wholly, whatever its pages turn out to need: where the chunks of a file lie is then known before any is
// made, and each can be made when somebody reads it. What is left of it is behind the last page's own bytes, in a frame that Zstandard's decoders
// skip: the one place where every reader bears it.
type Region struct {
	// Offset is where it begins in the file.
	Offset int64
	// Size is the number of its bytes, of which Dictionary are those of the dictionary page; 0 without one.
	Size, Dictionary int64
}

// MaxRegion is the most that a region takes: its last page must be one.
const MaxRegion = 1 << 30

// padding itself takes the head of a frame, and a longer page header: paddingRoom for the dictionary and for the rest. regionSlack is what a bound
// has for both, and for what else comes from telling them apart.
const (
	paddingRoom = 64
	regionSlack = 4 * paddingRoom
)

// NewRegionWriter starts a chunk that fills a region of the file w, which must be a hole. Its codec is Zstandard, by name: a region has the room that
// its pages take as they are, so those that are not copied are stored.
func NewRegionWriter(w io.WriterAt, leaf *schema.Node, o ChunkOptions, r Region) *ChunkWriter {
	o.Codec, o.stored = format.Zstd, true
	if r.Dictionary > 0 && (o.Dictionary == nil || o.Dictionary.Values() == 0) {
		// The footer says that there is a dictionary. It may have values that no row has.
		l := column.Leaf{Kind: leaf.Leaf.Kind, Size: leaf.Leaf.Size}
		o.Dictionary = column.New(l)
		o.Dictionary.AppendValue(make([]byte, l.Width()))
	}
	t := &regionWriter{region: r}
	c := NewChunkWriter(t, leaf, o)
	t.out = alignedWriter{w: w, at: r.Offset, buf: c.unwritten[:0]}
	c.region, t.body = t, c.spare
	return c
}

// regionWriter writes the pages of a chunk into its region. It holds the last page back, which must fill the rest.
type regionWriter struct {
	region Region
	out    alignedWriter
	header []byte // of the page that is held back
	body   []byte
}

func (t *regionWriter) Write(p []byte) (int, error) { return t.out.Write(p) }

// alignedWriter writes what it gets one behind the other, in pieces that end where a block of a file ends: large ones without copying them.
type alignedWriter struct {
	w   io.WriterAt
	at  int64  // where buf begins
	buf []byte // what is not written yet, less than a block
}

const writeBlock = 16 << 10

// pos is behind what it got.
func (a *alignedWriter) pos() int64 { return a.at + int64(len(a.buf)) }

func (a *alignedWriter) Write(p []byte) (int, error) {
	size := len(p)
	for len(p) > 0 {
		toEnd := writeBlock - a.pos()%writeBlock // of the block
		if len(a.buf) == 0 && int64(len(p)) >= toEnd {
			n := toEnd + (int64(len(p))-toEnd)/writeBlock*writeBlock
			if _, err := a.w.WriteAt(p[:n], a.at); err != nil {
				return 0, err
			}
			a.at, p = a.at+n, p[n:]
			continue
		}
		n := min(toEnd, int64(len(p)))
		a.buf, p = append(a.buf, p[:n]...), p[n:]
		if n == toEnd {
			if err := a.flush(); err != nil {
				return 0, err
			}
		}
	}
	return size, nil
}

func (a *alignedWriter) flush() error {
	if len(a.buf) == 0 {
		return nil
	}
	_, err := a.w.WriteAt(a.buf, a.at)
	a.at, a.buf = a.pos(), a.buf[:0]
	return err
}

// skip leaves a hole.
func (a *alignedWriter) skip(n int64) error {
	err := a.flush()
	a.at += n
	return err
}

// page takes a page, the dictionary first if there is one. It keeps the body, and returns a buffer to use instead.
func (t *regionWriter) page(header, body []byte, dictionary bool) (instead []byte, err error) {
	if err := t.release(); err != nil {
		return body, err
	}
	t.header = append(t.header, header...)
	t.body, instead = body, t.body
	if dictionary {
		return instead, t.fill(t.region.Offset + t.region.Dictionary)
	}
	return instead, nil
}

// release writes the page that was held back as it is.
func (t *regionWriter) release() error {
	_, err := t.Write(t.header)
	if err == nil {
		_, err = t.Write(t.body)
	}
	t.header, t.body = t.header[:0], t.body[:0]
	return err
}

// finish writes the last page.
func (t *regionWriter) finish() error {
	if err := t.fill(t.region.Offset + t.region.Size); err != nil {
		return err
	}
	return t.out.flush()
}

const (
	skippableMagic = 0x184D2A50
	skippableHead  = 8
)

// fill writes the page that was held back so that it ends at an offset.
func (t *regionWriter) fill(end int64) error {
	var h format.PageHeader
	if err := decodeThrift(t.header, &h); err != nil {
		return err
	}
	body := t.body
	// A header takes the more bytes the larger the size is that it states. With a checksum it takes others again, so that one of both fits.
	for _, checksum := range []bool{false, true} {
		size := int64(len(body)) + skippableHead
		for range maxVarint {
			h.CompressedPageSize, h.CRC = int32(size), 0
			if checksum {
				h.CRC = int32(paddedChecksum(body, size))
			}
			header, err := marshal(&h)
			if err != nil {
				return err
			}
			left := end - t.out.pos() - int64(len(header))
			if left == size {
				return t.writePadded(header, body, size)
			}
			if size = left; size < int64(len(body))+skippableHead || size > MaxRegion {
				break
			}
		}
	}
	return fmt.Errorf("%w: a page of %d bytes at offset %d, in a region that ends at %d", ErrOverflow, len(t.header)+len(t.body), t.out.pos(), end)
}

func (t *regionWriter) writePadded(header, body []byte, size int64) error {
	for _, p := range [][]byte{header, body, skippable(size - int64(len(body)))} {
		if _, err := t.Write(p); err != nil {
			return err
		}
	}
	t.header, t.body = t.header[:0], t.body[:0]
	return t.out.skip(size - int64(len(body)) - skippableHead)
}

// skippable is the head of a frame of so many bytes that is skipped.
func skippable(size int64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, skippableMagic)
	return binary.LittleEndian.AppendUint32(b, uint32(size-skippableHead))
}

func paddedChecksum(body []byte, size int64) uint32 {
	sum := crc32.ChecksumIEEE(body)
	sum = crc32.Update(sum, crc32.IEEETable, skippable(size-int64(len(body))))
	var zeros [4096]byte
	for left := size - int64(len(body)) - skippableHead; left > 0; left -= int64(len(zeros)) {
		sum = crc32.Update(sum, crc32.IEEETable, zeros[:min(left, int64(len(zeros)))])
	}
	return sum
}

// RegionChunk describes a chunk that fills a region and is not made yet.
type RegionChunk struct {
	Leaf   *schema.Node
	Region Region
	Rows   int64 // and entries: the column is not repeated
	// Plain and Indexed say that it may have pages of either kind.
	Plain, Indexed bool
	// Nulls is the number of its nulls, less than 0 where that is not known yet. Nothing is said of the column then: readers take bounds without a number
	// of nulls to mean that there are none (Rust's parquet crate).
	Nulls int64
	// MinMax is what is known of its values, nil for nothing.
	MinMax *MinMax
}

// Chunk is the chunk's description for the footer.
func (r *RegionChunk) Chunk() *Chunk {
	c := &Chunk{Size: r.Region.Size, Offset: r.Region.Offset, Rows: r.Rows, leaf: r.Leaf, dict: r.Region.Dictionary > 0}
	c.meta = ColumnMetaData{
		Type: physical[r.Leaf.Leaf.Kind], PathInSchema: r.Leaf.Path, Codec: format.Zstd, NumValues: r.Rows,
		TotalUncompressedSize: r.Region.Size, TotalCompressedSize: r.Region.Size, DataPageOffset: r.Region.Dictionary,
		Encoding: []format.Encoding{format.RLE},
	}
	if r.Nulls >= 0 {
		c.meta.Statistics = r.MinMax.statistics(r.Nulls)
	}
	if r.Plain || c.dict {
		c.meta.Encoding = append(c.meta.Encoding, format.Plain)
	}
	if r.Indexed {
		c.meta.Encoding = append(c.meta.Encoding, format.RLEDictionary, plainDictionary)
	}
	return c
}

func marshal(h *format.PageHeader) ([]byte, error) {
	return thrift.Marshal(new(thrift.CompactProtocol), h)
}
