package pqfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
)

// EncodedPage is a data page of a flat column as it lies in the file. It is valid until the next page of its chunk is read.
type EncodedPage struct {
	Rows int
	// Dict says that the values number those of the chunk's dictionary.
	Dict bool

	chunk *ChunkReader
	raw   *rawPage
}

// NextEncoded returns the next page without decoding it, or io.EOF after the last one. The column must not be repeated. Pages are read
// either so or by Next.
func (r *ChunkReader) NextEncoded() (p *EncodedPage, err error) {
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
	if r.leaf.Leaf.MaxRep > 0 {
		return nil, errors.New("pages of a repeated column are not read as they are")
	}
	for r.entriesLeft > 0 {
		raw, err := r.rawPage()
		if err != nil {
			return nil, err
		}
		switch {
		case raw.header.Type == format.DictionaryPage:
			if err := r.readDictionary(raw); err != nil {
				return nil, at(raw.at, err)
			}
		case raw.header.Type != format.DataPage && raw.header.Type != format.DataPageV2, raw.entries() == 0:
		default:
			if err := r.claim(raw); err != nil {
				return nil, at(raw.at, err)
			}
			if raw.entries() > r.rowsLeft {
				return nil, corrupt("page at offset %d: %d rows, %d are left in the row group", raw.at, raw.entries(), r.rowsLeft)
			}
			r.rowsLeft -= raw.entries()
			if isDictionary(raw.encoding()) && r.dict == nil {
				r.dict = column.New(r.valueLeaf()) // parquet-mr writes none for a column of nulls
			}
			if isDictionary(raw.encoding()) {
				r.numbered++
			}
			r.encoded = EncodedPage{Rows: int(raw.entries()), Dict: isDictionary(raw.encoding()), chunk: r, raw: raw}
			return &r.encoded, nil
		}
	}
	if r.copied {
		if err := r.checkHeaders(); err != nil {
			return nil, err
		}
	}
	return nil, r.end()
}

// checkHeaders compares what the headers of the pages say with what the footer does. Of a page that was copied nothing else tells how large it is,
// and how its values are encoded.
func (r *ChunkReader) checkHeaders() error {
	if r.uncompressed != r.meta.TotalUncompressedSize {
		return corrupt("chunk ending at offset %d: pages of %d bytes where the footer counts %d", r.src.pos, r.uncompressed, r.meta.TotalUncompressedSize)
	}
	for _, s := range r.meta.EncodingStats {
		if s.PageType != format.DictionaryPage && isDictionary(s.Encoding) {
			r.numbered -= int64(s.Count)
		}
	}
	if r.numbered != 0 {
		return corrupt("chunk ending at offset %d: %d pages more with a dictionary's numbers than the footer counts", r.src.pos, r.numbered)
	}
	return nil
}

// Decode decodes the page. What it returns is valid until the next page is read.
func (p *EncodedPage) Decode() (out *Page, err error) {
	defer contain(&err, fmt.Sprintf("page at offset %d", p.raw.at))
	out, err = p.chunk.decode(p.raw)
	if err != nil {
		return nil, p.wrap(err)
	}
	out.Rows = p.Rows
	return out, nil
}

func (p *EncodedPage) wrap(err error) error { return p.chunk.wrap(at(p.raw.at, err)) }

// encodedParts are the levels and values of a page, decompressed but encoded.
type encodedParts struct {
	levels []byte // definition levels
	packed bool   // they are bit-packed alone
	values []byte
}

// parts decompresses the page.
func (p *EncodedPage) parts() (out encodedParts, err error) {
	r, raw := p.chunk, p.raw
	top := r.leaf.Leaf.MaxDef
	if raw.header.Type == format.DataPageV2 {
		return p.partsV2()
	}
	body, err := r.inflate(raw.body, int(raw.header.UncompressedPageSize))
	if err != nil || top == 0 {
		return encodedParts{values: body}, err
	}
	size := 0
	size, body, out.packed, err = levelsSize(body, top, p.Rows, raw.header.DataPageHeader.V.DefinitionLevelEncoding)
	if err != nil {
		return out, fmt.Errorf("definition levels: %w", err)
	}
	out.levels, out.values = body[:size], body[size:]
	return out, nil
}

func (p *EncodedPage) partsV2() (out encodedParts, err error) {
	rep, def, values, err := p.chunk.splitV2(p.raw)
	if err != nil {
		return out, err
	}
	if len(rep) > 0 {
		return out, corrupt("%d bytes of repetition levels in a column without", len(rep))
	}
	if p.chunk.leaf.Leaf.MaxDef > 0 {
		out.levels = def
	}
	out.values, err = p.chunk.valuesV2(p.raw, values)
	return out, err
}

// whole tells whether encoded levels say that no entry is null: a single run of the highest level.
func (e *encodedParts) whole(top uint8, entries int) bool {
	if top == 0 {
		return true
	}
	if e.packed {
		return false
	}
	head, n := binary.Uvarint(e.levels)
	return n > 0 && head&1 == 0 && head>>1 >= uint64(entries) && head>>1 < uint64(entries+slack) && n < len(e.levels) && e.levels[n] == top
}

// decodeLevels adds the definition levels of the page to dst.
func (e *encodedParts) decodeLevels(dst []byte, top uint8, entries int) ([]byte, error) {
	if top == 0 {
		return append(dst, make([]byte, entries)...), nil
	}
	dst, err := appendLevels(dst, e.levels, top, entries, e.packed)
	if err != nil {
		return dst, fmt.Errorf("definition levels: %w", err)
	}
	return dst, nil
}

// plainWalker walks byte arrays in PLAIN encoding.
type plainWalker struct {
	b   []byte
	pos int
}

// next passes n values, and returns their bytes with lengths.
func (w *plainWalker) next(n int) ([]byte, error) {
	from, pos, b := w.pos, w.pos, w.b
	for i := range n {
		if len(b)-pos < 4 {
			return nil, fmt.Errorf("expected the length of a value at byte %d of %d, %d are missing", pos, len(b), n-i)
		}
		l := int(binary.LittleEndian.Uint32(b[pos:]))
		if pos += 4; l > len(b)-pos {
			return nil, fmt.Errorf("value of %d bytes at byte %d of %d", l, pos, len(b))
		}
		pos += l
	}
	w.pos = pos
	return b[from:pos], nil
}

// present is how many of some entries have a value.
func present(levels []byte, top uint8) int { return bytes.Count(levels, []byte{top}) }

// Values are rows that come into the pages of a flat column, in the form of the chunk that is written.
type Values struct {
	// Plain has the rows themselves, Numbers their numbers in the chunk's dictionary; it is nil without a dictionary.
	Plain, Numbers *column.Vector
	// Index finds the rows of either.
	Index *column.Index
}

// Edit says what becomes of rows one behind the other: they are left out, or as many others take their place.
type Edit struct {
	Row, Rows int32
	// With is the first of the rows that take their place, which also lie one behind the other, or LeftOut.
	With int32
}

// LeftOut leaves rows out.
const LeftOut = int32(-1)

// End is the row behind.
func (e Edit) End() int { return int(e.Row) + int(e.Rows) }

// Edits are those of the rows of a page, in their order.
type Edits struct {
	// First is the number that the first row of the page has in List.
	First int
	List  []Edit
}

// Cut is the part of an edit that rows from one to another have of it.
func (e Edit) Cut(from, to int) Edit {
	if before := from - int(e.Row); before > 0 {
		e.Row, e.Rows = int32(from), e.Rows-int32(before)
		if e.With != LeftOut {
			e.With += int32(before)
		}
	}
	e.Rows = min(e.Rows, int32(to-int(e.Row)))
	return e
}
