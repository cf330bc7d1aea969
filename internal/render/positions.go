package render

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

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
		set := roaring64.New()
		r := base64.NewDecoder(base64.StdEncoding, strings.NewReader(text))
		if _, err := set.ReadFrom(r); err != nil {
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

// mostEntries bounds how many records or deletes the block has.
func (b *batch) mostEntries() uint64 {
	if b.data != nil {
		return uint64(b.data.Rows())
	}
	return uint64(b.block.ContentLength)
}

func positionKey(b []byte, position uint64) []byte { return binary.BigEndian.AppendUint64(b, position) }
