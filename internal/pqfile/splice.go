package pqfile

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
)

// Splice writes a page of another chunk as a data page, with some rows replaced or left out. levels has the definition level that each
// of the page's own becomes, nil where they stay. A page without edits is copied as it lies in the file where that is a page of this chunk's codec
// and not larger than the chunk's bound allows for; otherwise the edits are made in its encoded form. ok is false, and nothing is written, where it
// has a form that must be decoded.
func (c *ChunkWriter) Splice(p *EncodedPage, levels []uint8, edits Edits, with Values) (ok bool, err error) {
	if c.err != nil {
		return false, c.err
	}
	defer contain(&err, fmt.Sprintf("page at offset %d", p.raw.at))
	if !c.splices(p) {
		return false, nil
	}
	if len(edits.List) == 0 && levels == nil && c.copies(p) {
		c.err = c.copyPage(p)
	} else if err := c.splice(p, levels, edits, with); err != nil {
		return false, p.wrap(err) // nothing was written
	}
	if c.err != nil {
		c.err = fmt.Errorf("column %s: %w", strings.Join(c.leaf.Path, "."), c.err)
	}
	return true, c.err
}

// Replace writes what a page of another chunk was decoded and changed to.
func (c *ChunkWriter) Replace(decoded, changed *Page) error {
	c.sourceNulls += int64(decoded.Vector.Entries() - decoded.Vector.Values())
	return c.WritePage(changed)
}

// splices tells whether a page can be edited in its encoded form.
func (c *ChunkWriter) splices(p *EncodedPage) bool {
	from, to := p.chunk.leaf.Leaf, c.leaf.Leaf
	if from.Kind != to.Kind || from.Size != to.Size {
		return false
	}
	if p.Dict {
		return c.o.Dictionary != nil
	}
	return p.raw.encoding() == format.Plain
}

// pageKinds is how many kinds of pages FooterBound has room for.
const pageKinds = 4

// copies tells whether a page may be copied as it is.
func (c *ChunkWriter) copies(p *EncodedPage) bool {
	r, h := p.chunk, &p.raw.header
	if c.o.Codec != r.meta.Codec || c.leaf.Leaf != r.leaf.Leaf || int64(len(p.raw.body))+ourHeader > c.worst(p) {
		return false
	}
	if len(r.meta.EncodingStats) == 0 {
		return false // the header alone would say how the values are encoded, which no checksum covers
	}
	if c.kind(h.Type, p.raw.encoding()) == nil && len(c.pages) == pageKinds {
		return false
	}
	if h.Type == format.DataPageV2 {
		return false // its header tells where its levels end, which no checksum covers: only they themselves do
	}
	return c.leaf.Leaf.MaxDef == 0 || h.DataPageHeader.V.DefinitionLevelEncoding == format.RLE && r.meta.Statistics.NullCount.Valid
}

// worst is what the bound of the chunk has for a page at least.
func (c *ChunkWriter) worst(p *EncodedPage) int64 {
	n := int64(p.Rows)
	body := levelsBound(n, c.leaf.Leaf.MaxDef)
	switch {
	case p.Dict:
		body += indexesBound(n, int64(c.o.Dictionary.Values()))
	case c.leaf.Leaf.Kind == column.Bytes:
		body += int64(p.raw.header.UncompressedPageSize)
	default:
		body += plainFixed(c.leaf.Leaf, n)
	}
	return codecBound(body) + ourHeader
}

// copyPage writes the body of a page as it is, behind a header of our own: no checksum covers a header.
func (c *ChunkWriter) copyPage(p *EncodedPage) error {
	if err := c.begin(); err != nil {
		return err
	}
	raw := p.raw
	h := format.PageHeader{
		Type: raw.header.Type, UncompressedPageSize: raw.header.UncompressedPageSize, CompressedPageSize: raw.header.CompressedPageSize,
		CRC: int32(crc32.ChecksumIEEE(raw.body)),
		DataPageHeader: thrift.New(format.DataPageHeader{
			NumValues: int32(p.Rows), Encoding: raw.encoding(), DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
		}),
	}
	if c.leaf.Leaf.MaxDef > 0 {
		c.source = p.chunk.meta
	}
	p.chunk.copied = true
	var err error
	if size := int64(raw.header.UncompressedPageSize); c.region == nil {
		_, err = c.put(&h, raw.body, size)
	} else {
		c.packed, err = c.put(&h, append(c.packed[:0], raw.body...), size)
	}
	if err != nil {
		return err
	}
	c.chunk.Rows += int64(p.Rows)
	c.chunk.meta.NumValues += int64(p.Rows)
	c.count(raw.header.Type, raw.encoding())
	return nil
}

// splice makes the edits, and writes the page in our own form.
func (c *ChunkWriter) splice(p *EncodedPage, levels []uint8, edits Edits, with Values) error {
	if err := c.begin(); err != nil {
		return err
	}
	e, err := p.parts()
	if err != nil {
		return err
	}
	s := splicer{edits: edits, entries: p.Rows, from: with.Plain, index: with.Index, top: c.leaf.Leaf.MaxDef}
	if p.Dict {
		s.from = with.Numbers
	}
	def := c.defs[:0]
	values := p.Rows
	own := p.chunk.leaf.Leaf.MaxDef
	if s.whole = e.whole(own, p.Rows); !s.whole {
		if def, err = e.decodeLevels(def, own, p.Rows); err != nil {
			return err
		}
		values = present(def, own)
		for i, d := range def {
			if levels != nil {
				def[i] = levels[d]
			}
		}
		c.defs, s.def = def, def
	}
	c.body = c.body[:0]
	entries, nulls, err := c.spliceLevels(&s)
	if err != nil || entries == 0 {
		c.sourceNulls += int64(p.Rows - values)
		return err
	}
	encoding := format.Plain
	switch {
	case p.Dict:
		encoding = format.RLEDictionary
		err = c.spliceIndexes(&s, e.values, values)
	case c.leaf.Leaf.Kind == column.Bytes:
		c.body, err = s.byteArrays(c.body, e.values, values)
	case c.leaf.Leaf.Kind == column.Bool:
		if len(e.values) < (values+7)/8 {
			return sizeError(len(e.values), (values+7)/8)
		}
		c.unpacked = unpackBits(c.unpacked[:0], e.values, values)
		if c.spliced, err = s.fixed(c.spliced[:0], c.unpacked, values, 1); err == nil {
			c.body = packBits(c.body, c.spliced)
		}
	default:
		c.body, err = s.fixed(c.body, e.values, values, c.leaf.Leaf.Width())
	}
	if err != nil {
		return err
	}
	if int64(len(c.body)) > maxPage {
		return tooLarge("page of %d bytes", len(c.body))
	}
	c.sourceNulls += int64(p.Rows - values)
	c.err = c.dataPage(encoding, entries, nulls, entries)
	return nil
}

func (c *ChunkWriter) spliceIndexes(s *splicer, src []byte, values int) error {
	var err error
	if c.unpacked, err = appendIndexes(c.unpacked[:0], src, values, c.o.Dictionary.Values()); err != nil {
		return fmt.Errorf("%d indexes: %w", values, err)
	}
	if c.spliced, err = s.fixed(c.spliced[:0], c.unpacked, values, 4); err != nil {
		return err
	}
	if c.levels, err = encodeIndexes(c.levels, c.spliced); err != nil {
		return err
	}
	c.body = append(c.body, c.levels...)
	return nil
}

// spliceLevels adds the definition levels of the page to the body. It returns how many entries the page has, and how many of them are null.
func (c *ChunkWriter) spliceLevels(s *splicer) (entries, nulls int, err error) {
	entries = s.entries
	s.filled = s.whole
	for _, e := range s.edits.List {
		if e.With == LeftOut {
			entries -= int(e.Rows)
		} else if x := s.added(e); x.V1-x.V0 < int(e.Rows) {
			s.filled = false
		}
	}
	if s.top == 0 || entries == 0 {
		return entries, 0, nil
	}
	if s.filled {
		var b [binary.MaxVarintLen64 + 1]byte
		n := binary.PutUvarint(b[:], uint64(entries)<<1)
		b[n] = s.top
		c.body = binary.LittleEndian.AppendUint32(c.body, uint32(n+1))
		c.body = append(c.body, b[:n+1]...)
		return entries, 0, nil
	}
	def := c.spliced[:0]
	row := 0
	kept := func(to int) {
		if s.whole {
			for range to - row {
				def = append(def, s.top)
			}
		} else {
			def = append(def, s.def[row:to]...)
		}
	}
	for _, e := range s.edits.List {
		kept(s.row(e))
		if e.With != LeftOut {
			x := s.added(e)
			def = append(def, s.from.Def[x.E0:x.E1]...)
		}
		row = s.row(e) + int(e.Rows)
	}
	kept(s.entries)
	c.spliced = def
	return entries, entries - present(def, s.top), c.appendLevels(def, s.top)
}

// splicer makes edits in the values of a page.
type splicer struct {
	edits   Edits
	entries int
	whole   bool   // no entry is null
	def     []byte // the levels, where some are
	top     uint8
	from    *column.Vector
	index   *column.Index
	filled  bool // nor is one that comes in
}

// row is where an edit begins in the page.
func (s *splicer) row(e Edit) int { return int(e.Row) - s.edits.First }

// added is where the rows that an edit brings lie.
func (s *splicer) added(e Edit) column.Span { return s.index.Span(int(e.With), int(e.With+e.Rows)) }

// present is how many of the entries from a row to another have a value.
func (s *splicer) present(from, to int) int {
	if s.whole {
		return to - from
	}
	return present(s.def[from:to], s.top)
}

// fixed edits values of a fixed width.
func (s *splicer) fixed(dst, src []byte, values, width int) ([]byte, error) {
	if len(src) < values*width {
		return dst, sizeError(len(src), values*width)
	}
	if s.filled {
		return s.overwritten(dst, src[:values*width], width), nil
	}
	row, at := 0, 0
	for _, e := range s.edits.List {
		from := s.row(e)
		n := at + width*s.present(row, from)
		dst = append(dst, src[at:n]...)
		row = from + int(e.Rows)
		at = n + width*s.present(from, row)
		if e.With != LeftOut {
			x := s.added(e)
			dst = append(dst, s.from.Buf[x.V0*width:x.V1*width]...)
		}
	}
	return append(dst, src[at:values*width]...), nil
}

// overwritten edits values of a fixed width where each row has one: those that are replaced are copied with those around them first.
func (s *splicer) overwritten(dst, src []byte, width int) []byte {
	at, begin := 0, len(dst)
	for _, e := range s.edits.List {
		if e.With == LeftOut {
			from := width * s.row(e)
			dst = append(dst, src[at:from]...)
			at = from + width*int(e.Rows)
		}
	}
	dst = append(dst, src[at:]...)
	page := dst[begin:]
	gone := 0
	for _, e := range s.edits.List {
		if e.With == LeftOut {
			gone += width * int(e.Rows)
			continue
		}
		x := s.added(e)
		put(page[width*s.row(e)-gone:], s.from.Buf[width*x.V0:width*x.V1])
	}
	return dst
}

// put is copy, which takes longer for a number.
func put(dst, src []byte) {
	switch len(src) {
	case 4:
		*(*[4]byte)(dst) = [4]byte(src)
	case 8:
		*(*[8]byte)(dst) = [8]byte(src)
	default:
		copy(dst, src)
	}
}

// byteArrays edits byte arrays in PLAIN encoding.
func (s *splicer) byteArrays(dst, src []byte, values int) ([]byte, error) {
	dst = grow(dst, len(dst)+len(src)+len(src)/8) // new values are about as long as old ones
	w := plainWalker{b: src}
	row, left := 0, values
	for _, e := range s.edits.List {
		from := s.row(e)
		n := s.present(row, from)
		kept, err := w.next(n)
		if err != nil {
			return dst, err
		}
		dst = append(dst, kept...)
		row = from + int(e.Rows)
		gone := s.present(from, row)
		if _, err := w.next(gone); err != nil {
			return dst, err
		}
		left -= n + gone
		if e.With == LeftOut {
			continue
		}
		for x := s.added(e); x.V0 < x.V1; x.V0++ {
			v := s.from.Buf[s.from.Off[x.V0]:s.from.Off[x.V0+1]]
			dst = append(binary.LittleEndian.AppendUint32(dst, uint32(len(v))), v...)
		}
	}
	kept, err := w.next(left)
	return append(dst, kept...), err
}

// kind finds the count of pages of a kind.
func (c *ChunkWriter) kind(t format.PageType, e format.Encoding) *format.PageEncodingStats {
	for i := range c.pages {
		if k := &c.pages[i]; k.PageType == t && k.Encoding == e {
			return k
		}
	}
	return nil
}

func (c *ChunkWriter) count(t format.PageType, e format.Encoding) {
	if k := c.kind(t, e); k != nil {
		k.Count++
		return
	}
	c.pages = append(c.pages, format.PageEncodingStats{PageType: t, Encoding: e, Count: 1})
}

// begin writes the dictionary before the first page.
func (c *ChunkWriter) begin() error {
	if c.chunk.Size == 0 && c.o.Dictionary != nil {
		return c.writeDictionary()
	}
	return nil
}

// dataPage writes the body as a data page.
func (c *ChunkWriter) dataPage(encoding format.Encoding, entries, nulls, rows int) error {
	h := format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{
		NumValues: int32(entries), Encoding: encoding,
		DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
		Statistics: format.Statistics{NullCount: int64(nulls)},
	})}
	if err := c.emit(&h); err != nil {
		return err
	}
	c.count(format.DataPage, encoding)
	c.chunk.Rows += int64(rows)
	c.chunk.meta.NumValues += int64(entries)
	c.nulls += int64(nulls)
	return nil
}
