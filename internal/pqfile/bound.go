package pqfile

import (
	"math"
	"strings"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// Added counts what goes into a column chunk beside the rows of its source. A row that replaces another counts as well.
type Added struct {
	Rows   int64 // rows; bounds follow from Values, of which there are as many or more
	Values int64 // entries of the column in these rows, nulls included: Rows, where it is not repeated
	Bytes  int64 // the sum of the lengths of the values, for columns of BYTE_ARRAY
	Nulls  int64 // entries beside Values that are null for certain
}

const (
	// ourHeader is the most that our page headers take: 8 numbers of at most 5 bytes, and as many heads of fields.
	ourHeader = 64
	// leastHeader is the least that the header of a data page takes: ten fields of two bytes, less what defaults to one.
	leastHeader = 17
)

// ChunkBound is the most bytes that a chunk of the leaf to takes that is written from a chunk of this file: without some
// rows, with others added, its pages kept as they are (dictionary pages with dictionary indexes, the others plain), or cut where WriteRows would cut.
// It is false where the footer doesn't tell.
func (f *File) ChunkBound(group, leaf int, to *schema.Node, add Added) (int64, bool) {
	b, ok := f.bounded(group, leaf, to, add, -1)
	return b.total(), ok
}

// RegionBound is the same for a chunk that fills a region, of a column whose values stay as they are: no more than ChunkBound in all. It reads the
// head of the dictionary.
func (f *File) RegionBound(group, leaf int, to *schema.Node, add Added) (Region, error) {
	dictionary, err := f.dictionarySize(group, leaf)
	if err != nil {
		return Region{}, err
	}
	b, ok := f.bounded(group, leaf, to, add, dictionary)
	if !ok {
		return Region{}, unsupported("a region for a chunk of no known size")
	}
	return b.region(encodingsOf(f.Column(group, leaf)).dict), nil
}

// NewRegionBound is NewChunkBound for a chunk without a dictionary that fills a region.
func NewRegionBound(to *schema.Node, add Added) Region {
	b := newBounded(to, add)
	b.dictionary = 0
	return b.region(false)
}

// dictionarySize is what the dictionary of a chunk takes decompressed, 0 without one.
func (f *File) dictionarySize(group, leaf int) (int64, error) {
	m := f.Column(group, leaf)
	if m.DictionaryPageOffset == 0 || !encodingsOf(m).dict {
		return 0, nil
	}
	r, err := f.Chunk(group, leaf)
	if err != nil {
		return 0, err
	}
	defer r.src.release()
	p := &rawPage{at: r.src.pos}
	head := make([]byte, min(firstHeader, r.src.left()))
	if err := readAt(f.r, head, r.src.pos); err != nil {
		return 0, r.wrap(err)
	}
	if err := decodeThrift(head, &p.header); err != nil {
		return 0, r.wrap(corrupt("offset %d: expected a page header: %v", p.at, err))
	}
	if n := int64(p.header.UncompressedPageSize); p.header.Type == format.DictionaryPage && n >= 0 && n <= m.TotalUncompressedSize {
		return n, nil
	}
	return 0, r.wrap(corrupt("offset %d: expected a dictionary of at most %d bytes", p.at, m.TotalUncompressedSize))
}

// bounded is what the size of a chunk follows from. inDictionary is what its dictionary takes now, -1 where that is not known.
func (f *File) bounded(group, leaf int, to *schema.Node, add Added, inDictionary int64) (bounded, bool) {
	rc := &f.Meta.RowGroups[group].Columns[leaf]
	c, from := &rc.MetaData, f.Schema.Leaves[leaf]
	e := encodingsOf(c)
	b := bounded{top: to.Leaf, entries: c.NumValues + add.Values + add.Nulls, sourcePages: e.pages}
	size := c.TotalUncompressedSize
	if from.Leaf.MaxRep > 0 {
		b.sourcePages *= 2 // a row that spans two pages of different kinds may need one of its own
	}
	ok := true
	switch {
	case to.Leaf.Kind == column.Bytes && from.Leaf.Kind != column.Bytes:
		distinct := size / int64(max(from.Leaf.Width(), 1))
		if e.dict {
			b.values = schema.CastBound(from.Leaf, to.Leaf, distinct, size) + 4*distinct
		}
		if e.plain {
			b.values += schema.CastBound(from.Leaf, to.Leaf, c.NumValues, size) + 4*c.NumValues
		}
		b.values += 2 * (add.Bytes + 4*add.Values) // a value may go into the dictionary and into a plain page
		b.dictionary = distinct + add.Values
	case to.Leaf.Kind == column.Bytes:
		// A row may begin in a dictionary page and end in a plain one: its values are spelled out then.
		spelled := from.Leaf.MaxRep > 0 && e.dict && e.plain && rc.OffsetIndexOffset == 0
		ok = !spelled && from.Scalar.Logical == to.Scalar.Logical && b.byteArrays(c, e, add, inDictionary)
	default:
		width := int64(max(from.Leaf.Width(), 1))
		if from.Leaf.Kind == column.Bytes {
			width = 4
		}
		in := size
		if inDictionary >= 0 {
			in = inDictionary
		}
		b.dictionary = in/width + add.Values
		if e.dict {
			b.inDictionary = b.dictionary * int64(to.Leaf.Width())
		}
		if e.plain {
			b.values += plainFixed(to.Leaf, b.entries)
		}
	}
	if !e.dict {
		b.dictionary = 0
	}
	return b, ok
}

// byteArrays adds what byte arrays of a chunk take, and is false where the footer doesn't tell.
func (b *bounded) byteArrays(c *ColumnMetaData, e encodings, add Added, inDictionary int64) bool {
	size := c.TotalUncompressedSize
	if e.prefixed {
		if size = c.SizeStatistics.UnencodedByteArrayDataBytes; size <= 0 {
			return false
		}
		size += c.TotalUncompressedSize // a dictionary may have values that no row has
	}
	if e.lengths || e.prefixed {
		size += 4 * c.NumValues
	}
	b.values = size + add.Bytes + 4*add.Values
	if e.dict && e.plain {
		b.values += add.Bytes + 4*add.Values // a value may go into the dictionary and into a plain page
	}
	b.dictionary = c.TotalUncompressedSize/4 + add.Values
	if e.dict && inDictionary >= 0 {
		b.inDictionary = inDictionary + add.Bytes + 4*add.Values
		b.values -= b.inDictionary
		b.dictionary = inDictionary/4 + add.Values
	}
	return true
}

// StructureBound is the same for a chunk that takes only the levels of one of this file: the values of all source rows are null.
func (f *File) StructureBound(group, leaf int, to *schema.Node, add Added) int64 {
	c := f.Column(group, leaf)
	add.Nulls += c.NumValues
	b := newBounded(to, add)
	b.sourcePages = 2 * encodingsOf(c).pages
	return b.total()
}

// NewChunkBound is the same for a chunk whose rows are all added, in pages as WriteRows makes them: plain ones, or dictionary pages.
func NewChunkBound(to *schema.Node, add Added) int64 {
	b := newBounded(to, add)
	return b.total()
}

func newBounded(to *schema.Node, add Added) bounded {
	b := bounded{top: to.Leaf, entries: add.Values + add.Nulls, dictionary: add.Values, values: plainFixed(to.Leaf, add.Values)}
	if to.Leaf.Kind == column.Bytes {
		b.values = add.Bytes + 4*add.Values
	}
	return b
}

// bounded has what the size of a chunk follows from.
type bounded struct {
	top         column.Leaf
	entries     int64
	sourcePages int64
	values      int64 // bytes of values in plain pages and, where that is not known apart, in the dictionary
	// dictionary are the entries of the dictionary, 0 without one, inDictionary the bytes of their values.
	dictionary, inDictionary int64
}

func plainFixed(l column.Leaf, n int64) int64 {
	if l.Kind == column.Bool {
		return n/8 + 1
	}
	return n * int64(l.Width())
}

func (b *bounded) total() int64 {
	return b.size(b.inDictionary) + regionSlack
}

// size is what the data pages take at most, with so many bytes of a dictionary.
func (b *bounded) size(dictionary int64) int64 {
	// Each page may end in a broken group of eight levels, indexes or bits.
	perPage := levelsBound(7, b.top.MaxRep) + levelsBound(7, b.top.MaxDef) + 1
	body := dictionary + b.values + levelsBound(b.entries, b.top.MaxRep) + levelsBound(b.entries, b.top.MaxDef)
	if b.dictionary > 0 {
		perPage += indexesBound(7, b.dictionary)
		body += indexesBound(b.entries, b.dictionary)
	}
	pages := b.sourcePages + b.entries/PageRows + body/PageBytes + 3
	body += pages * perPage
	return body + 5*(body/maxBlock) + pages*(codecBound(0)+ourHeader)
}

// region is what a chunk takes with room for what fills it.
func (b *bounded) region(dictionary bool) Region {
	r := Region{Size: b.total()}
	if dictionary {
		r.Dictionary = max(b.inDictionary, int64(b.top.Width())+4)
		r.Dictionary = codecBound(r.Dictionary) + ourHeader + paddingRoom
		r.Size = r.Dictionary + b.size(0) + paddingRoom
	}
	return r
}

// encodings says what a chunk's data pages may hold.
type encodings struct {
	dict     bool // dictionary indexes
	plain    bool // anything else
	lengths  bool // byte arrays without the four bytes of their lengths
	prefixed bool // byte arrays without the bytes they share with the one before
	pages    int64
}

// Pages is about how many data pages a chunk has.
func (m *ColumnMetaData) Pages() int64 { return encodingsOf(m).pages }

// PageKinds tells whether some data pages of a chunk may have plain values when they are edited or decoded, and others dictionary indexes.
func (m *ColumnMetaData) PageKinds() (plain, dictionary bool) {
	e := encodingsOf(m)
	return e.plain, e.dict
}

// Mixed tells whether some data pages of a chunk may have dictionary indexes, and others not.
func (m *ColumnMetaData) Mixed() bool {
	e := encodingsOf(m)
	return e.dict && e.plain
}

func encodingsOf(c *ColumnMetaData) (e encodings) {
	see := func(enc format.Encoding) {
		if isDictionary(enc) {
			e.dict = true
			return
		}
		e.plain = true
		e.lengths = e.lengths || enc == format.DeltaLengthByteArray
		e.prefixed = e.prefixed || enc == format.DeltaByteArray
	}
	ok := len(c.EncodingStats) > 0
	for _, s := range c.EncodingStats {
		if s.PageType == format.DataPage || s.PageType == format.DataPageV2 {
			see(s.Encoding)
			e.pages += int64(s.Count)
			ok = ok && s.Count >= 0
		}
	}
	if ok && e.pages > 0 {
		return e
	}
	// The list of encodings has those of levels and of the dictionary page too.
	e = encodings{plain: true, pages: min(c.TotalUncompressedSize/leastHeader, c.NumValues)}
	for _, enc := range c.Encoding {
		see(enc)
	}
	return e
}

// FooterBound is the most bytes that Footer makes for a number of row groups.
func FooterBound(m *schema.Message, groups int) (int64, error) {
	meta := newMetaData(m)
	meta.NumRows = math.MinInt64 // as long as numbers get
	empty, err := tail(meta)
	if err != nil {
		return 0, err
	}
	long := []byte(strings.Repeat("x", maxStat))
	rg := RowGroup{TotalByteSize: math.MinInt64, NumRows: math.MinInt64, FileOffset: math.MinInt64, TotalCompressedSize: math.MinInt64, Ordinal: math.MinInt16}
	for _, l := range m.Leaves {
		c := ColumnMetaData{
			PathInSchema: l.Path,
			NumValues:    math.MinInt64, TotalUncompressedSize: math.MinInt64, TotalCompressedSize: math.MinInt64,
			DataPageOffset: math.MinInt64, DictionaryPageOffset: math.MinInt64,
			Statistics: Statistics{
				NullCount: thrift.New(int64(math.MinInt64)), MinValue: long, MaxValue: long,
				IsMinExact: thrift.New(true), IsMaxExact: thrift.New(true),
			},
		}
		for range pageKinds + 2 { // levels and the dictionary count as well
			c.Encoding = append(c.Encoding, math.MinInt32)
			c.EncodingStats = append(c.EncodingStats, format.PageEncodingStats{Count: math.MinInt32})
		}
		rg.Columns = append(rg.Columns, ColumnChunk{FileOffset: math.MinInt64, MetaData: c})
	}
	meta.RowGroups = append(meta.RowGroups, rg)
	one, err := tail(meta)
	if err != nil {
		return 0, err
	}
	// The length of a long list takes up to five bytes more.
	return int64(len(empty)) + int64(groups)*int64(len(one)-len(empty)) + 5, nil
}
