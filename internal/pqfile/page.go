package pqfile

import (
	"errors"
	"hash/crc32"

	"github.com/parquet-go/parquet-go/format"
)

const (
	// firstHeader is how much is looked at to find the end of a page header; few have statistics that make them longer.
	firstHeader = 256
	maxHeader   = 16 << 20
)

// rawPage is a page as it lies in the file.
type rawPage struct {
	at     int64 // file offset of the header
	header format.PageHeader
	bytes  []byte // header and body; valid until the next page is read
	body   []byte // compressed, the end of bytes
}

// entries is the number of levels of a data page.
func (p *rawPage) entries() int64 {
	if p.header.Type == format.DataPageV2 {
		return int64(p.header.DataPageHeaderV2.V.NumValues)
	}
	return int64(p.header.DataPageHeader.V.NumValues)
}

func (p *rawPage) encoding() format.Encoding {
	if p.header.Type == format.DataPageV2 {
		return p.header.DataPageHeaderV2.V.Encoding
	}
	return p.header.DataPageHeader.V.Encoding
}

// rawPage reads the next page. Its errors name the offset, its caller adds the column.
func (r *ChunkReader) rawPage() (*rawPage, error) {
	p := &r.raw
	*p = rawPage{at: r.src.pos}
	n, err := r.pageHeader(p)
	if err != nil {
		return nil, err
	}
	h := &p.header
	if left := r.src.left() - int64(n); h.CompressedPageSize < 0 || int64(h.CompressedPageSize) > left {
		return nil, corrupt("offset %d: page of %d bytes, %d are left in the chunk", p.at, h.CompressedPageSize, left)
	}
	if h.UncompressedPageSize < 0 {
		return nil, corrupt("offset %d: page of %d bytes", p.at, h.UncompressedPageSize)
	}
	if int64(h.UncompressedPageSize) > r.f.maxPage || int64(h.CompressedPageSize) > r.f.maxPage {
		return nil, tooLarge("offset %d: page of %d bytes", p.at, max(h.UncompressedPageSize, h.CompressedPageSize))
	}
	if p.bytes, err = r.src.peek(n + int(h.CompressedPageSize)); err != nil {
		return nil, err
	}
	p.body = p.bytes[n:]
	r.src.take(len(p.bytes))
	r.uncompressed += int64(n) + int64(h.UncompressedPageSize)
	if h.CRC != 0 {
		if sum := crc32.ChecksumIEEE(p.body); sum != uint32(h.CRC) {
			return nil, corrupt("offset %d: page with checksum %08x, expected %08x", p.at, sum, uint32(h.CRC))
		}
	}
	return p, nil
}

// pageHeader reads a header, and returns its length.
func (r *ChunkReader) pageHeader(p *rawPage) (int, error) {
	for size := firstHeader; ; size *= 8 {
		b, err := r.src.peek(size)
		if err != nil {
			return 0, err
		}
		n, err := thriftLen(b)
		if errors.Is(err, errShort) && int64(len(b)) < r.src.left() && size < maxHeader {
			continue
		}
		if err == nil {
			err = decodeThrift(b[:n], &p.header)
		}
		if err != nil {
			return 0, corrupt("offset %d: expected a page header: %v", p.at, err)
		}
		return n, checkHeader(p)
	}
}

func checkHeader(p *rawPage) error {
	h := &p.header
	var ok bool
	switch h.Type {
	case format.DataPage:
		ok = h.DataPageHeader.Valid && h.DataPageHeader.V.NumValues >= 0
	case format.DataPageV2:
		v := &h.DataPageHeaderV2.V
		ok = h.DataPageHeaderV2.Valid && v.NumValues >= 0 && v.RepetitionLevelsByteLength >= 0 && v.DefinitionLevelsByteLength >= 0
	case format.DictionaryPage:
		ok = h.DictionaryPageHeader.Valid && h.DictionaryPageHeader.V.NumValues >= 0
	default:
		ok = true
	}
	if !ok {
		return corrupt("offset %d: page header of type %v without what belongs to it", p.at, h.Type)
	}
	return nil
}
