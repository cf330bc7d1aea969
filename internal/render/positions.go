package render

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/hudifs/hudifs/internal/logfile"
)

// positions reads which base rows the entries of each block belong to: the i-th smallest position is that of the i-th entry. It is nil
// unless every block states them, and for the slice's own base file: otherwise keys tell (hudi-common:
// PositionBasedFileGroupRecordBuffer). They matter where several base rows have one key. all are those of the blocks together, sorted.
func (in *Input) positions(blocks []batch) (byBlock [][]uint64, all []uint64, err error) {
	if in.Base == nil || len(blocks) == 0 {
		return nil, nil, nil
	}
	for _, b := range blocks {
		if text, of := b.block.Positions(); text == "" || of != in.BaseInstant {
			return nil, nil, nil
		}
	}
	byBlock = make([][]uint64, len(blocks))
	union := roaring64.New()
	for i, b := range blocks {
		text, _ := b.block.Positions()
		set, err := bitmap(text)
		if err != nil {
			return nil, nil, b.wrap(fmt.Errorf("%w: record positions: %w", logfile.ErrCorrupt, err))
		}
		if n, most := set.GetCardinality(), b.mostEntries(); n > most {
			return nil, nil, b.wrap(fmt.Errorf("%w: %d record positions for %d entries at most", logfile.ErrCorrupt, n, most))
		}
		byBlock[i] = set.ToArray()
		union.Or(set)
	}
	return byBlock, union.ToArray(), nil
}

// bitmap reads a 64-bit roaring bitmap in Base64: the number of its parts, 8 bytes, and each part's upper 32 bits with a bitmap of the lower
// ones. The library takes memory for the parts before it has seen them, and trusts what they say of their sizes.
func bitmap(text string) (*roaring64.Bitmap, error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	const countLen, leastPart = 8, 4 + 8
	if len(b) < countLen {
		return nil, fmt.Errorf("expected %d bytes or more, found %d", countLen, len(b))
	}
	if n, most := binary.LittleEndian.Uint64(b), uint64(len(b)-countLen)/leastPart; n > most {
		return nil, fmt.Errorf("expected %d bitmaps at most in %d bytes, found %d", most, len(b), n)
	}
	set := roaring64.New()
	if _, err := set.ReadFrom(bytes.NewReader(b)); err != nil {
		return nil, err
	}
	return set, set.Validate()
}

// mostEntries bounds how many records or deletes the block has.
func (b *batch) mostEntries() uint64 {
	if b.data != nil {
		return uint64(b.data.Rows())
	}
	return uint64(b.block.ContentLength)
}

func positionKey(b []byte, position uint64) []byte { return binary.BigEndian.AppendUint64(b, position) }
