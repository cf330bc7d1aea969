package pqfile

import (
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/bitpack/unsafecast"
	"github.com/parquet-go/parquet-go/encoding/delta"
)

// deltaLen is the length of the DELTA_BINARY_PACKED stream of n numbers at the start of src. The decoder allocates what the
// stream claims to hold and hands bit widths to assembler, so both are checked before.
func deltaLen(src []byte, n, maxWidth int) (int, error) {
	pos := 0
	var head [3]uint64
	for i := range head {
		v, k := binary.Uvarint(src[pos:])
		if k <= 0 {
			return 0, fmt.Errorf("expected the head of a delta stream in %d bytes", len(src))
		}
		head[i], pos = v, pos+k
	}
	block, minis, total := head[0], head[1], head[2]
	if block == 0 || block > 1<<16 || block%128 != 0 || minis == 0 || block%minis != 0 || block/minis%32 != 0 {
		return 0, fmt.Errorf("delta blocks of %d numbers in %d parts", block, minis)
	}
	if total != uint64(n) {
		return 0, fmt.Errorf("delta stream of %d numbers, expected %d", total, n)
	}
	_, k := binary.Varint(src[pos:])
	if k <= 0 {
		return 0, fmt.Errorf("expected the first number at byte %d of %d", pos, len(src))
	}
	pos += k
	mini := int(block / minis)
	for left := n - 1; left > 0; {
		_, k := binary.Varint(src[pos:])
		if k <= 0 || int(minis) > len(src)-pos-k {
			return 0, fmt.Errorf("expected the head of a delta block at byte %d of %d", pos, len(src))
		}
		widths := src[pos+k : pos+k+int(minis)]
		pos += k + int(minis)
		for _, w := range widths {
			if left <= 0 {
				break // the widths of parts that hold nothing mean nothing
			}
			if int(w) > maxWidth || mini*int(w)/8 > len(src)-pos {
				return 0, fmt.Errorf("%d deltas of %d bits at byte %d of %d", mini, w, pos, len(src))
			}
			pos += mini * int(w) / 8
			left -= mini
		}
	}
	return pos, nil
}

// deltaLengths decodes a stream of n numbers that must not be negative, and returns what follows it.
func deltaLengths(src []byte, n int) ([]int32, []byte, error) {
	used, err := deltaLen(src, n, 32)
	if err != nil {
		return nil, nil, err
	}
	out, err := (&delta.BinaryPackedEncoding{}).DecodeInt32(nil, padded(src[:used]))
	if err != nil {
		return nil, nil, err
	}
	if len(out) != n {
		return nil, nil, fmt.Errorf("%d lengths, expected %d", len(out), n)
	}
	for _, v := range out {
		if v < 0 {
			return nil, nil, fmt.Errorf("length %d", v)
		}
	}
	return out, src[used:], nil
}

// padded is b with room behind it.
func padded(b []byte) []byte {
	if cap(b)-len(b) >= padding {
		return b
	}
	return append(make([]byte, 0, len(b)+padding), b...)
}

// deltaNumbers decodes n numbers of 4 or 8 bytes.
func deltaNumbers(src []byte, n, width int) ([]byte, error) {
	used, err := deltaLen(src, n, 8*width)
	if err != nil {
		return nil, err
	}
	src = padded(src[:used])
	var out []byte
	if width == 4 {
		var v []int32
		v, err = (&delta.BinaryPackedEncoding{}).DecodeInt32(nil, src)
		out = unsafecast.Slice[byte](v)
	} else {
		var v []int64
		v, err = (&delta.BinaryPackedEncoding{}).DecodeInt64(nil, src)
		out = unsafecast.Slice[byte](v)
	}
	if err == nil && len(out) != n*width {
		err = sizeError(len(out), n*width)
	}
	return out, err
}
