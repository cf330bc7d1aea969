package pqfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// The size of pages that WriteRows makes: what parquet-mr makes, so that readers find pages of a size they are used to.
const (
	PageRows  = 20_000
	PageBytes = 1 << 20
)

// ChunkOptions say how a chunk is written.
type ChunkOptions struct {
	// Codec is Uncompressed (the zero value), Snappy, Zstd or Gzip.
	Codec format.CompressionCodec
	// Dictionary has the values that pages with Dict set refer to. It must be complete before the first page is written.
	Dictionary *column.Vector

	stored bool // pages are left as they are within the frames of the codec
}

// Chunk is a column chunk that was written, and does not know yet where in the file it lies.
type Chunk struct {
	// Size is the number of bytes written.
	Size int64
	// Offset is where the chunk begins in the file: to be set before the footer is made, by Place or otherwise.
	Offset int64
	// Rows is the number of rows.
	Rows int64

	leaf *schema.Node
	meta ColumnMetaData // offsets count from the chunk's start
	dict bool           // a dictionary page comes first
}

// ChunkWriter writes a column chunk, page by page as it gets them: bytes that depend on the pages and options alone.
type ChunkWriter struct {
	w     io.Writer
	leaf  *schema.Node
	o     ChunkOptions
	chunk Chunk
	pages []format.PageEncodingStats // of data pages
	err   error

	nulls int64
	// source is a chunk that pages of unknown nulls were copied from, nil without such. sourceNulls are those of its other pages.
	source      *ColumnMetaData
	sourceNulls int64

	region *regionWriter // nil for a chunk of any size
	*buffers
}

// buffers are what a ChunkWriter works with, one page after the other.
type buffers struct {
	body, levels            []byte
	packed, spare           []byte // of a page, and of the one that a region holds back
	unwritten               []byte // of a region
	defs, unpacked, spliced []byte
	header                  bytes.Buffer
	encoder                 *thrift.Encoder
}

var bufferPool = sync.Pool{New: func() any {
	b := &buffers{}
	b.encoder = thrift.NewEncoder(new(thrift.CompactProtocol).NewWriter(&b.header))
	return b
}}

// NewChunkWriter starts a column chunk of a leaf.
func NewChunkWriter(w io.Writer, leaf *schema.Node, o ChunkOptions) *ChunkWriter {
	if o.Dictionary != nil && o.Dictionary.Values() == 0 {
		o.Dictionary = nil // pages that refer to nothing can as well be plain
	}
	c := &ChunkWriter{w: w, leaf: leaf, o: o, buffers: bufferPool.Get().(*buffers)}
	c.chunk.leaf = leaf
	return c
}

// WritePage writes a page as a data page. A page without entries is left out.
func (c *ChunkWriter) WritePage(p *Page) error {
	if c.err == nil {
		if c.err = c.writePage(p); c.err != nil {
			c.err = fmt.Errorf("column %s: %w", strings.Join(c.leaf.Path, "."), c.err)
		}
	}
	return c.err
}

func (c *ChunkWriter) writePage(p *Page) error {
	if p.Vector.Entries() == 0 {
		return nil
	}
	if err := c.checkPage(p); err != nil {
		return err
	}
	return c.writeUnchecked(p)
}

func (c *ChunkWriter) writeUnchecked(p *Page) error {
	v := p.Vector
	entries := v.Entries()
	if err := c.begin(); err != nil {
		return err
	}
	var err error
	c.body = c.body[:0]
	if err := c.appendLevels(v.Rep, v.Leaf.MaxRep); err != nil {
		return err
	}
	if err := c.appendLevels(v.Def, v.Leaf.MaxDef); err != nil {
		return err
	}
	encoding := format.Plain
	if p.Dict && c.o.Dictionary != nil {
		encoding = format.RLEDictionary
		if c.levels, err = encodeIndexes(c.levels, v.Buf); err != nil {
			return err
		}
		c.body = append(c.body, c.levels...)
	} else if !p.Dict {
		c.body = appendPlain(c.body, v)
	}
	return c.dataPage(encoding, entries, entries-v.Values(), v.Rows())
}

// checkPage refuses what would make a file that reads back as something else.
func (c *ChunkWriter) checkPage(p *Page) error {
	v, want := p.Vector, c.leaf.Leaf
	if p.Dict {
		want = indexLeaf(want)
	}
	switch {
	case v.Leaf != want:
		return fmt.Errorf("page of %v with levels up to %d and %d, expected %v with %d and %d",
			v.Leaf, v.Leaf.MaxRep, v.Leaf.MaxDef, want, want.MaxRep, want.MaxDef)
	case want.MaxDef > 0 && count(v.Def, want.MaxDef) != v.Values():
		return fmt.Errorf("page of %d values with levels for %d", v.Values(), count(v.Def, want.MaxDef))
	case want.MaxRep > 0 && (len(v.Rep) != len(v.Def) || v.Rep[0] != 0):
		return errors.New("page that does not begin with a row")
	case p.Dict && c.o.Dictionary == nil && v.Values() > 0:
		return errors.New("page of indexes in a chunk without a dictionary")
	case int64(v.Size())+4*int64(v.Values()) > maxPage:
		return tooLarge("page of %d bytes", v.Size())
	}
	return nil
}

func (c *ChunkWriter) appendLevels(levels []byte, top uint8) error {
	if top == 0 {
		return nil
	}
	var err error
	if c.levels, err = encodeLevels(c.levels, levels, top); err != nil {
		return err
	}
	c.body = binary.LittleEndian.AppendUint32(c.body, uint32(len(c.levels)))
	c.body = append(c.body, c.levels...)
	return nil
}

// appendPlain adds a vector's values in PLAIN encoding.
func appendPlain(dst []byte, v *column.Vector) []byte {
	switch v.Leaf.Kind {
	case column.Bool:
		return packBits(dst, v.Buf[:v.Values()])
	case column.Bytes:
		dst = grow(dst, len(dst)+len(v.Buf)+4*v.Values())
		for i := range v.Values() {
			b := v.Buf[v.Off[i]:v.Off[i+1]]
			dst = append(binary.LittleEndian.AppendUint32(dst, uint32(len(b))), b...)
		}
		return dst
	default:
		return append(dst, v.Buf[:v.Values()*v.Leaf.Width()]...)
	}
}

func (c *ChunkWriter) writeDictionary() error {
	d := c.o.Dictionary
	want := c.leaf.Leaf
	want.MaxDef, want.MaxRep = 0, 0
	if d.Leaf != want {
		return fmt.Errorf("dictionary of %v with levels up to %d and %d", d.Leaf, d.Leaf.MaxRep, d.Leaf.MaxDef)
	}
	if int64(d.Size())+4*int64(d.Values()) > maxPage {
		return tooLarge("dictionary of %d bytes", d.Size())
	}
	c.body = appendPlain(c.body[:0], d)
	return c.emit(&format.PageHeader{Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{
		NumValues: int32(d.Values()), Encoding: format.Plain,
	})})
}

// emit compresses the body and writes it after its header.
func (c *ChunkWriter) emit(h *format.PageHeader) error {
	out, err := c.compress()
	if err != nil {
		return err
	}
	if len(c.body) > math.MaxInt32 || len(out) > math.MaxInt32 {
		return tooLarge("page of %d bytes", len(c.body))
	}
	h.UncompressedPageSize, h.CompressedPageSize = int32(len(c.body)), int32(len(out))
	h.CRC = int32(crc32.ChecksumIEEE(out))
	size := int64(len(c.body))
	if c.o.Codec == format.Uncompressed {
		c.body, err = c.put(h, out, size)
	} else {
		c.packed, err = c.put(h, out, size)
	}
	if err != nil {
		return err
	}
	if h.Type == format.DictionaryPage {
		c.chunk.meta.DataPageOffset = c.chunk.Size
		c.chunk.dict = true
	}
	return nil
}

// put writes a page of so many bytes decompressed. It keeps its body, and returns a buffer to use instead.
func (c *ChunkWriter) put(h *format.PageHeader, body []byte, uncompressed int64) (instead []byte, err error) {
	c.header.Reset()
	if err := c.encoder.Encode(h); err != nil {
		return body, err
	}
	c.chunk.Size += int64(c.header.Len() + len(body))
	c.chunk.meta.TotalUncompressedSize += int64(c.header.Len()) + uncompressed
	if c.region != nil {
		return c.region.page(c.header.Bytes(), body, h.Type == format.DictionaryPage)
	}
	if _, err := c.w.Write(c.header.Bytes()); err != nil {
		return body, err
	}
	_, err = c.w.Write(body)
	return body, err
}

func (c *ChunkWriter) compress() ([]byte, error) {
	if c.o.stored {
		return stored(c.o.Codec, c.packed[:0], c.body)
	}
	return compress(c.o.Codec, c.packed, c.body)
}

// WriteRows writes rows that have no page yet: as pages of PageRows rows or, if that comes first, PageBytes bytes or a row more. Each call ends a
// page, so it should be called once for a run of rows, not for every row.
func (c *ChunkWriter) WriteRows(p *Page) error {
	v := p.Vector
	x := column.NewIndex(v)
	part := &Page{Vector: column.New(v.Leaf), Dict: p.Dict}
	for from := 0; from < x.Rows(); {
		to := from + 1
		for to < x.Rows() && !fullPage(v, x.Span(from, to), to-from) {
			to++
		}
		part.Vector.Reset()
		part.Vector.Append(v, x.Span(from, to))
		if err := c.WritePage(part); err != nil {
			return err
		}
		from = to
	}
	return c.err
}

// FullPage tells whether a vector of so many rows has enough for a page: WriteRows cuts where it has.
func FullPage(v *column.Vector, rows int) bool { return fullPage(v, v.All(), rows) }

func fullPage(v *column.Vector, s column.Span, rows int) bool {
	return rows >= PageRows || valueBytes(v, s) >= PageBytes
}

// valueBytes is the size of the values of a span in PLAIN encoding.
func valueBytes(v *column.Vector, s column.Span) int {
	n := s.V1 - s.V0
	if v.Leaf.Kind != column.Bytes {
		return n * v.Leaf.Width()
	}
	if n == 0 {
		return 0
	}
	return 4*n + int(v.Off[s.V1]-v.Off[s.V0])
}

// Close ends the chunk. m says what is known about the values; nil, nothing.
func (c *ChunkWriter) Close(m *MinMax) (*Chunk, error) {
	if c.err != nil {
		return nil, c.err
	}
	if c.region != nil {
		if err := c.region.finish(); err != nil {
			return nil, fmt.Errorf("column %s: %w", strings.Join(c.leaf.Path, "."), err)
		}
		c.chunk.Size, c.chunk.Offset = c.region.region.Size, c.region.region.Offset
		c.spare, c.unwritten = c.region.body, c.region.out.buf
	}
	bufferPool.Put(c.buffers)
	c.buffers, c.err = nil, errors.New("the chunk is closed")
	meta := &c.chunk.meta
	meta.Type = physical[c.leaf.Leaf.Kind]
	meta.PathInSchema = c.leaf.Path
	meta.Codec = c.o.Codec
	meta.TotalCompressedSize = c.chunk.Size
	if c.source != nil {
		c.nulls += c.source.Statistics.NullCount.V - c.sourceNulls
		if c.nulls < 0 || c.nulls > meta.NumValues {
			return nil, corrupt("column %s: %d nulls where the footer counts %d", strings.Join(c.leaf.Path, "."), c.sourceNulls, c.source.Statistics.NullCount.V)
		}
	}
	meta.Statistics = m.statistics(c.nulls)
	meta.Encoding = append(meta.Encoding, format.RLE)
	if c.chunk.dict {
		meta.Encoding = append(meta.Encoding, format.Plain)
		meta.EncodingStats = append(meta.EncodingStats, format.PageEncodingStats{PageType: format.DictionaryPage, Encoding: format.Plain, Count: 1})
	}
	for _, k := range c.pages {
		if !slices.Contains(meta.Encoding, k.Encoding) {
			meta.Encoding = append(meta.Encoding, k.Encoding)
		}
		meta.EncodingStats = append(meta.EncodingStats, k)
	}
	chunk := c.chunk
	return &chunk, nil
}
