package pqfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strings"
	"sync"

	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// Page is a run of whole rows of a column chunk.
type Page struct {
	// Vector holds the rows. Where Dict is set its values are of Kind Int32 and number the values of the chunk's dictionary.
	Vector *column.Vector
	Dict   bool
	Rows   int
}

// ChunkReader reads a column chunk page by page.
type ChunkReader struct {
	f       *File
	leaf    *schema.Node
	meta    *ColumnMetaData
	group   int
	aligned bool // pages begin with rows

	src         window
	raw         rawPage
	body        []byte
	dict        *column.Vector
	entriesLeft int64
	rowsLeft    int64

	vec, carry *column.Vector
	carryDict  bool
	carried    Page  // the carry as a page of its own
	ready      *Page // read, but to be returned after the carry
	encoded    EncodedPage
	// uncompressed are the bytes of the pages so far, decompressed and with their headers; copied says that some were not decompressed.
	uncompressed int64
	copied       bool
	numbered     int64 // pages of numbers in the dictionary
	err          error
}

// Chunk opens a column chunk.
func (f *File) Chunk(group, leaf int) (*ChunkReader, error) {
	if group < 0 || group >= f.Groups() || leaf < 0 || leaf >= len(f.Schema.Leaves) {
		return nil, fmt.Errorf("no column chunk %d in row group %d", leaf, group)
	}
	c := &f.Meta.RowGroups[group].Columns[leaf]
	r := &ChunkReader{
		f: f, leaf: f.Schema.Leaves[leaf], meta: &c.MetaData, group: group,
		aligned:     c.OffsetIndexOffset > 0, // an offset index exists only where pages begin with rows
		entriesLeft: c.MetaData.NumValues, rowsLeft: f.GroupRows(group),
	}
	switch r.meta.Codec {
	case format.Uncompressed, format.Snappy, format.Gzip, format.Zstd, format.Lz4Raw, format.Brotli:
	default:
		return nil, r.wrap(unsupported("codec %v", r.meta.Codec))
	}
	start, end := r.meta.span()
	r.src = window{r: f.r, pos: start, end: end}
	r.vec, r.carry = column.New(r.leaf.Leaf), column.New(r.leaf.Leaf)
	return r, nil
}

func (r *ChunkReader) wrap(err error) error {
	return fmt.Errorf("row group %d, column %s: %w", r.group, strings.Join(r.leaf.Path, "."), err)
}

// Dictionary is the chunk's dictionary: plain values without levels, in the order of their numbers. It is complete with the first page, and nil
// where the chunk has none; that of a column of nulls may be empty. It must not be changed.
func (r *ChunkReader) Dictionary() *column.Vector { return r.dict }

// Next returns the next page, or io.EOF after the last one. The page is valid until Next is called again.
func (r *ChunkReader) Next() (p *Page, err error) {
	if r.err != nil {
		return nil, r.err
	}
	defer func() {
		if err != nil && !errors.Is(err, io.EOF) {
			err = r.wrap(err)
		}
		r.fail(err)
	}()
	defer contain(&err, fmt.Sprintf("offset %d", r.src.pos))
	return r.next()
}

// fail ends the reader, if there is an error.
func (r *ChunkReader) fail(err error) {
	if r.err = err; err != nil {
		r.src.release()
		if cap(r.body) > 0 && cap(r.body) <= maxPooled {
			body := r.body[:0]
			bodies.Put(&body)
		}
		r.body = nil
	}
}

// bodies are buffers for pages of chunks that are done, of maxPooled bytes at most.
var bodies sync.Pool // of *[]byte

const maxPooled = 4 << 20

func (r *ChunkReader) next() (*Page, error) {
	for {
		p, err := r.rows()
		if err != nil {
			return nil, err
		}
		if p == nil {
			return nil, r.end()
		}
		if r.leaf.Leaf.MaxRep > 0 && p != &r.carried && !r.aligned && r.entriesLeft > 0 && r.raw.header.Type == format.DataPage {
			r.cut(p)
		}
		if p.Rows = p.Vector.Rows(); p.Rows == 0 {
			continue
		}
		if int64(p.Rows) > r.rowsLeft {
			return nil, corrupt("page before offset %d: %d rows, %d are left in the row group", r.src.pos, p.Rows, r.rowsLeft)
		}
		r.rowsLeft -= int64(p.Rows)
		return p, nil
	}
}

// rows returns the next page with all rows that end in it or go on after it, nil after the last.
func (r *ChunkReader) rows() (*Page, error) {
	if p := r.ready; p != nil {
		r.ready = nil
		return p, nil
	}
	p, aligned, err := r.decoded()
	if p == nil || err != nil || r.leaf.Leaf.MaxRep == 0 {
		return p, err
	}
	carrying := r.carry.Entries() > 0
	begins := p.Vector.Rep[0] == 0
	switch {
	case !begins && (aligned || !carrying):
		return nil, corrupt("page before offset %d: begins in the middle of a row", r.src.pos)
	case !carrying:
		return p, nil
	case begins && p.Dict != r.carryDict:
		// The row before can't share this page, and need not.
		r.ready = p
		r.carried = Page{Vector: r.carry, Dict: r.carryDict}
		r.carry = column.New(r.leaf.Leaf)
		return &r.carried, nil
	}
	return r.join(p)
}

// end checks that the chunk held what the footer says.
func (r *ChunkReader) end() error {
	if r.rowsLeft != 0 {
		return corrupt("chunk ending at offset %d: %d rows are missing", r.src.pos, r.rowsLeft)
	}
	return io.EOF
}

// cut moves the last row of a page to the carry.
func (r *ChunkReader) cut(p *Page) {
	v := p.Vector
	at := len(v.Rep) - 1
	for v.Rep[at] != 0 {
		at--
	}
	values := v.Values()
	if v.Leaf.MaxDef > 0 {
		values = count(v.Def[:at], v.Leaf.MaxDef)
	}
	r.carry.Leaf, r.carryDict = v.Leaf, p.Dict
	r.carry.Reset()
	r.carry.Append(v, column.Span{E0: at, E1: v.Entries(), V0: values, V1: v.Values()})
	truncate(v, at, values)
}

func truncate(v *column.Vector, entries, values int) {
	v.Rep, v.Def = v.Rep[:min(entries, len(v.Rep))], v.Def[:min(entries, len(v.Def))]
	if v.Leaf.Kind == column.Bytes {
		if len(v.Off) > 0 {
			v.Off = v.Off[:values+1]
			v.Buf = v.Buf[:v.Off[values]]
		}
	} else {
		v.Buf = v.Buf[:values*v.Leaf.Width()]
	}
	v.SetValues(values)
}

// join puts the carry before a page. Where only one of them has dictionary indexes, a row lies in both, and both become plain.
func (r *ChunkReader) join(p *Page) (*Page, error) {
	head := &Page{Vector: r.carry, Dict: r.carryDict}
	if p.Dict != head.Dict {
		for _, x := range []*Page{head, p} {
			plain := column.New(r.leaf.Leaf)
			if err := r.materialise(plain, x, x.Vector.All()); err != nil {
				return nil, err
			}
			x.Vector, x.Dict = plain, false
		}
	}
	if size := int64(head.Vector.Size()) + int64(p.Vector.Size()); size > r.f.maxPage {
		return nil, tooLarge("page before offset %d: a row of %d bytes or more", r.src.pos, size)
	}
	head.Vector.Append(p.Vector, p.Vector.All())
	// The page's own vector is free now, and takes the next carry.
	r.carry = p.Vector
	r.carry.Reset()
	r.vec = column.New(r.leaf.Leaf)
	return head, nil
}

// decoded reads pages until one that has entries, and decodes it: nil at the end of the chunk.
func (r *ChunkReader) decoded() (p *Page, aligned bool, err error) {
	for r.entriesLeft > 0 {
		raw, err := r.rawPage()
		if err != nil {
			return nil, false, err
		}
		switch raw.header.Type {
		case format.DictionaryPage:
			err = r.readDictionary(raw)
		case format.DataPage, format.DataPageV2:
			if raw.entries() == 0 {
				continue
			}
			if err = r.claim(raw); err == nil {
				p, err = r.decode(raw)
			}
		default:
			continue // index pages were never defined
		}
		if err != nil {
			return nil, false, at(raw.at, err)
		}
		if p != nil {
			return p, r.aligned || raw.header.Type == format.DataPageV2, nil
		}
	}
	return nil, false, nil
}

// at names the page in an error about its content. Such errors mean damage, whatever library found it.
func at(offset int64, err error) error {
	if errors.Is(err, ErrUnsupported) || errors.Is(err, ErrTooLarge) || errors.Is(err, ErrCorrupt) {
		return fmt.Errorf("page at offset %d: %w", offset, err)
	}
	return corrupt("page at offset %d: %v", offset, err)
}

// inflate returns the decoded bytes of a page or of a part of it.
func (r *ChunkReader) inflate(src []byte, size int) ([]byte, error) {
	if r.meta.Codec == format.Uncompressed {
		if len(src) != size {
			return nil, sizeError(len(src), size)
		}
		return src, nil
	}
	if size == 0 {
		return nil, nil // some writers compress nothing to nothing, which is no valid block
	}
	if int64(size) > plausible(r.meta.Codec, len(src)) {
		return nil, fmt.Errorf("%d bytes of %v can't be %d", len(src), r.meta.Codec, size)
	}
	if size > largePage {
		return inflateLarge(r.meta.Codec, src, size)
	}
	if r.body == nil {
		if b, ok := bodies.Get().(*[]byte); ok {
			r.body = *b
		}
	}
	r.body = grow(r.body[:0], size+padding)[:size]
	return r.body, decompress(r.meta.Codec, r.body, src)
}

// valueLeaf is the layout of the values of the dictionary: the column's without levels.
func (r *ChunkReader) valueLeaf() column.Leaf {
	l := r.leaf.Leaf
	l.MaxDef, l.MaxRep = 0, 0
	return l
}

func (r *ChunkReader) readDictionary(raw *rawPage) error {
	h := &raw.header.DictionaryPageHeader.V
	if r.dict != nil {
		return corrupt("expected one dictionary in the chunk, found another")
	}
	if h.Encoding != format.Plain && h.Encoding != plainDictionary {
		return unsupported("dictionary in %v", h.Encoding)
	}
	body, err := r.inflate(raw.body, int(raw.header.UncompressedPageSize))
	if err != nil {
		return err
	}
	dict := column.New(r.valueLeaf())
	if err := appendValues(dict, body, int(h.NumValues), format.Plain, r.f.maxPage); err != nil {
		return fmt.Errorf("dictionary: %w", err)
	}
	r.dict = dict
	return nil
}

// claim takes the entries of a data page from those that are left in the chunk.
func (r *ChunkReader) claim(raw *rawPage) error {
	n := raw.entries()
	if n > r.entriesLeft {
		return corrupt("%d values, %d are left in the chunk", n, r.entriesLeft)
	}
	r.entriesLeft -= n
	return nil
}

// decode reads the levels and values of a data page.
func (r *ChunkReader) decode(raw *rawPage) (*Page, error) {
	n := raw.entries()
	if n*int64(2+r.leaf.Leaf.Width()) > r.f.maxPage {
		return nil, tooLarge("%d values", n)
	}
	v := r.vec
	v.Leaf = r.leaf.Leaf
	dict := isDictionary(raw.encoding())
	if dict {
		v.Leaf = indexLeaf(v.Leaf)
	}
	v.Reset()
	var values []byte
	var err error
	if raw.header.Type == format.DataPageV2 {
		values, err = r.levelsV2(v, raw, int(n))
	} else {
		values, err = r.levelsV1(v, raw, int(n))
	}
	if err != nil {
		return nil, err
	}
	present := int(n)
	if v.Leaf.MaxDef > 0 {
		present = count(v.Def, v.Leaf.MaxDef)
	}
	if dict {
		if r.dict == nil {
			r.dict = column.New(r.valueLeaf()) // parquet-mr writes none for a column of nulls
		}
		if v.Buf, err = appendIndexes(v.Buf, values, present, r.dict.Values()); err != nil {
			return nil, fmt.Errorf("%d indexes: %w", present, err)
		}
		v.SetValues(present)
	} else if err := appendValues(v, values, present, raw.encoding(), r.f.maxPage); err != nil {
		return nil, err
	}
	return &Page{Vector: v, Dict: dict}, nil
}

// levelsV1 reads the levels at the start of a page, and returns what follows them.
func (r *ChunkReader) levelsV1(v *column.Vector, raw *rawPage, n int) ([]byte, error) {
	body, err := r.inflate(raw.body, int(raw.header.UncompressedPageSize))
	if err != nil {
		return nil, err
	}
	h := &raw.header.DataPageHeader.V
	if v.Leaf.MaxRep > 0 {
		if v.Rep, body, err = levelsOf(v.Rep, body, v.Leaf.MaxRep, n, h.RepetitionLevelEncoding); err != nil {
			return nil, fmt.Errorf("repetition levels: %w", err)
		}
	}
	if v.Leaf.MaxDef > 0 {
		if v.Def, body, err = levelsOf(v.Def, body, v.Leaf.MaxDef, n, h.DefinitionLevelEncoding); err != nil {
			return nil, fmt.Errorf("definition levels: %w", err)
		}
	}
	return body, nil
}

func levelsOf(dst, body []byte, top uint8, n int, enc format.Encoding) (levels, rest []byte, err error) {
	size, body, packed, err := levelsSize(body, top, n, enc)
	if err != nil {
		return dst, nil, err
	}
	levels, err = appendLevels(dst, body[:size], top, n, packed)
	return levels, body[size:], err
}

// levelsSize finds the levels at the start of a body: the first size bytes of what is left of it.
func levelsSize(body []byte, top uint8, n int, enc format.Encoding) (size int, rest []byte, packed bool, err error) {
	switch enc {
	case format.RLE:
		if len(body) < 4 || uint64(binary.LittleEndian.Uint32(body)) > uint64(len(body)-4) {
			return 0, nil, false, fmt.Errorf("expected a length within %d bytes", len(body))
		}
		return int(binary.LittleEndian.Uint32(body)), body[4:], false, nil
	case format.BitPacked:
		if size = (n*bits.Len8(top) + 7) / 8; size > len(body) {
			return 0, nil, false, sizeError(len(body), size)
		}
		return size, body, true, nil
	default:
		return 0, nil, false, unsupported("levels in %v", enc)
	}
}

// levelsV2 reads the levels, which lie before the compressed part of a page, and returns the values.
func (r *ChunkReader) levelsV2(v *column.Vector, raw *rawPage, n int) ([]byte, error) {
	rep, def, values, err := r.splitV2(raw)
	if err != nil {
		return nil, err
	}
	if v.Leaf.MaxRep > 0 {
		if v.Rep, err = appendLevels(v.Rep, rep, v.Leaf.MaxRep, n, false); err != nil {
			return nil, fmt.Errorf("repetition levels: %w", err)
		}
	}
	if v.Leaf.MaxDef > 0 {
		if v.Def, err = appendLevels(v.Def, def, v.Leaf.MaxDef, n, false); err != nil {
			return nil, fmt.Errorf("definition levels: %w", err)
		}
	}
	return r.valuesV2(raw, values)
}

// splitV2 gives the parts of a page of version 2.
func (r *ChunkReader) splitV2(raw *rawPage) (rep, def, values []byte, err error) {
	h := &raw.header.DataPageHeaderV2.V
	nRep, nDef := int64(h.RepetitionLevelsByteLength), int64(h.DefinitionLevelsByteLength)
	if nRep+nDef > int64(len(raw.body)) || int64(raw.header.UncompressedPageSize) < nRep+nDef {
		return nil, nil, nil, corrupt("levels of %d and %d bytes in a page of %d", nRep, nDef, raw.header.UncompressedPageSize)
	}
	rep, def, values = raw.body[:nRep], raw.body[nRep:nRep+nDef], raw.body[nRep+nDef:]
	n, l := int(raw.entries()), r.leaf.Leaf
	return rep, def, values, errors.Join(fills(rep, l.MaxRep, n), fills(def, l.MaxDef, n))
}

// fills tells whether n levels take all of some bytes: where they end stands in the header, which no checksum covers.
func fills(levels []byte, top uint8, n int) error {
	if top == 0 {
		return nil
	}
	used, err := hybrid(levels, bits.Len8(top), n)
	if err == nil && len(used) < len(levels) {
		err = corrupt("levels of %d bytes, of which %d hold %d levels", len(levels), len(used), n)
	}
	return err
}

// valuesV2 decompresses the values of a page of version 2.
func (r *ChunkReader) valuesV2(raw *rawPage, values []byte) ([]byte, error) {
	h := &raw.header.DataPageHeaderV2.V
	size := int64(raw.header.UncompressedPageSize) - int64(h.RepetitionLevelsByteLength) - int64(h.DefinitionLevelsByteLength)
	if h.IsCompressed.Valid && !h.IsCompressed.V {
		if int64(len(values)) != size {
			return nil, sizeError(len(values), int(size))
		}
		return values, nil
	}
	return r.inflate(values, int(size))
}

// Materialise adds the rows of a span of a page to dst as plain values, whatever the page holds. It fails with ErrTooLarge where that
// were more than a vector of 1 GiB.
func (r *ChunkReader) Materialise(dst *column.Vector, p *Page, s column.Span) error {
	if err := r.materialise(dst, p, s); err != nil {
		return r.wrap(err)
	}
	return nil
}

func (r *ChunkReader) materialise(dst *column.Vector, p *Page, s column.Span) error {
	v := p.Vector
	if !p.Dict {
		if size := int64(dst.Size()) + int64(valueBytes(v, s)) + 2*int64(s.E1-s.E0); size > r.f.maxPage {
			return tooLarge("vector of %d bytes", size)
		}
		dst.Append(v, s)
		return nil
	}
	if v.Leaf.MaxRep > 0 {
		dst.Rep = append(dst.Rep, v.Rep[s.E0:s.E1]...)
	}
	if v.Leaf.MaxDef > 0 {
		dst.Def = append(dst.Def, v.Def[s.E0:s.E1]...)
	}
	if s.V0 == s.V1 {
		return nil
	}
	return gather(dst, r.dict, v.Buf[4*s.V0:4*s.V1], r.f.maxPage)
}
