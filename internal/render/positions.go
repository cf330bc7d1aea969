package render

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/hudifs/hudifs/internal/logfile"
)

// maxPositions is more rows than a file slice can have.
const maxPositions = 1 << 31

// positions reads which base rows the entries of each block belong to: the i-th smallest position is that of the i-th entry. It is nil
// unless every block states them, and for the slice's own base file: otherwise keys tell (hudi-common:
// PositionBasedFileGroupRecordBuffer). They matter where several base rows have one key.
func (in *Input) positions(blocks []batch) ([][]uint64, error) {
	if in.Base == nil || len(blocks) == 0 {
		return nil, nil
	}
	for _, b := range blocks {
		if text, of := b.block.Positions(); text == "" || of != in.BaseInstant {
			return nil, nil
		}
	}
	out := make([][]uint64, len(blocks))
	for i, b := range blocks {
		text, _ := b.block.Positions()
		set := roaring64.New()
		r := base64.NewDecoder(base64.StdEncoding, strings.NewReader(text))
		if _, err := set.ReadFrom(r); err != nil {
			return nil, b.wrap(fmt.Errorf("%w: record positions: %w", logfile.ErrCorrupt, err))
		}
		if set.GetCardinality() > maxPositions {
			return nil, b.wrap(fmt.Errorf("%w: %d record positions", logfile.ErrCorrupt, set.GetCardinality()))
		}
		out[i] = set.ToArray()
	}
	return out, nil
}

func positionKey(b []byte, position uint64) []byte { return binary.BigEndian.AppendUint64(b, position) }
