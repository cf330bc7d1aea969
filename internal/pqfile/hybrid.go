package pqfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/parquet-go/bitpack/unsafecast"
	"github.com/parquet-go/parquet-go/encoding/bitpacked"
	"github.com/parquet-go/parquet-go/encoding/rle"

	"github.com/hudifs/hudifs/internal/column"
)

// slack is how many values more than asked for a hybrid stream may hold: bit-packed runs come in groups of eight.
const slack = 8

// hybrid returns the part of an RLE/bit-packed stream that holds its first n values. The decoder allocates whatever a run claims, so
// runs are added up before it sees them. width is at least 1.
func hybrid(src []byte, width, n int) ([]byte, error) {
	pos := 0
	for n > 0 {
		head, k := binary.Uvarint(src[pos:])
		if k <= 0 {
			return nil, fmt.Errorf("expected the head of a run at byte %d of %d, %d values are missing", pos, len(src), n)
		}
		pos += k
		count, size := head>>1, (width+7)/8
		if head&1 == 1 {
			groups := count
			if groups > uint64(len(src)) {
				return nil, fmt.Errorf("run of %d groups in %d bytes", groups, len(src))
			}
			count, size = 8*groups, int(groups)*width
			if size > len(src)-pos && (n*width+7)/8 <= len(src)-pos {
				// Parquet-mr accepts a last run whose padding is missing, so somebody wrote such.
				padded := make([]byte, pos+size, pos+size+padding)
				copy(padded, src)
				src = padded
			}
		} else if count >= uint64(n+slack) {
			return nil, fmt.Errorf("run of %d values where %d are missing", count, n)
		}
		if size > len(src)-pos {
			return nil, fmt.Errorf("run of %d values in %d bytes, %d are left", count, size, len(src)-pos)
		}
		pos += size
		n -= int(count)
	}
	return src[:pos], nil
}

// appendLevels decodes n levels of at most top.
func appendLevels(dst, src []byte, top uint8, n int, packed bool) ([]byte, error) {
	width := bits.Len8(top)
	var err error
	if !packed {
		if src, err = hybrid(src, width, n); err != nil {
			return dst, err
		}
	}
	have := len(dst)
	dst = grow(dst, have+n+8*slack)
	var out []byte
	if packed {
		out, err = (&bitpacked.Encoding{BitWidth: width}).DecodeLevels(dst[have:], src)
	} else {
		out, err = (&rle.Encoding{BitWidth: width}).DecodeLevels(dst[have:], src)
	}
	if err != nil {
		return dst[:have], err
	}
	if len(out) < n {
		return dst[:have], fmt.Errorf("%d levels, expected %d", len(out), n)
	}
	dst = append(dst[:have], out[:n]...)
	if int(top) != 1<<width-1 {
		for _, l := range dst[have:] {
			if l > top {
				return dst[:have], fmt.Errorf("level %d above %d", l, top)
			}
		}
	}
	return dst, nil
}

// appendIndexes decodes n dictionary indexes, all below size, to the end of dst.
func appendIndexes(dst, src []byte, n, size int) ([]byte, error) {
	if n == 0 {
		return dst, nil
	}
	if len(src) == 0 {
		return dst, fmt.Errorf("expected the bit width of %d indexes", n)
	}
	width := int(src[0])
	if width > 32 {
		return dst, fmt.Errorf("indexes of %d bits", width)
	}
	have := len(dst)
	dst = grow(dst, have+4*(n+8*slack))
	if width == 0 {
		clear(dst[have : have+4*n])
	} else {
		stream, err := hybrid(src[1:], width, n)
		if err != nil {
			return dst[:have], err
		}
		out, err := (&rle.Encoding{BitWidth: width}).DecodeInt32(unsafecast.Slice[int32](dst[have:have]), stream)
		if err != nil {
			return dst[:have], err
		}
		if len(out) < n {
			return dst[:have], fmt.Errorf("%d indexes, expected %d", len(out), n)
		}
		if b := unsafecast.Slice[byte](out[:n]); &b[0] != &dst[:have+1][have] {
			dst = append(dst[:have], b...)
		}
	}
	dst = dst[:have+4*n]
	indexes := unsafecast.Slice[uint32](dst[have:])
	if int(union(indexes)) < size {
		return dst, nil
	}
	if top := slices.Max(indexes); int(top) >= size {
		return dst[:have], fmt.Errorf("index %d into a dictionary of %d values", top, size)
	}
	return dst, nil
}

// union has the bits of all numbers: nothing among them is larger, and it is found faster than the largest.
func union(x []uint32) uint32 {
	var bits uint64
	for _, pair := range unsafecast.Slice[uint64](x) {
		bits |= pair
	}
	if len(x)%2 == 1 {
		bits |= uint64(x[len(x)-1])
	}
	return uint32(bits) | uint32(bits>>32)
}

// grow makes room for n bytes in all, without changing the length.
func grow(b []byte, n int) []byte {
	if cap(b) >= n {
		return b
	}
	out := make([]byte, len(b), max(n, 2*cap(b)))
	copy(out, b)
	return out
}

// count is how many levels are equal to one.
func count(levels []byte, one uint8) int { return bytes.Count(levels, []byte{one}) }

// encodeLevels is the hybrid encoding of levels of at most top.
func encodeLevels(dst, levels []byte, top uint8) ([]byte, error) {
	return (&rle.Encoding{BitWidth: bits.Len8(top)}).EncodeLevels(dst, levels)
}

// levelsBound is the most that encodeLevels makes of n levels in one page, length prefix included: it runs over words of eight levels,
// each of which takes the width and a head of one byte (longer heads belong to longer runs), and writes each of the last n%8 as a
// run of two bytes.
func levelsBound(n int64, top uint8) int64 {
	if top == 0 {
		return 0
	}
	return n/8*int64(1+bits.Len8(top)) + 2*(n%8) + 4
}

// encodeIndexes is the RLE_DICTIONARY encoding: a byte of bit width, then the hybrid encoding.
func encodeIndexes(dst, indexes []byte) ([]byte, error) {
	return (&rle.DictionaryEncoding{}).EncodeInt32(dst, unsafecast.Slice[int32](indexes))
}

// indexesBound is the most that encodeIndexes makes of n indexes below size in one page, by the same reasoning: runs of the
// last n%8 take a head and up to 4 bytes.
func indexesBound(n, size int64) int64 {
	width := int64(bits.Len64(uint64(max(size-1, 0))))
	width = min(width, 32)
	return 1 + n/8*(1+width) + 5*(n%8) + maxVarint
}

// maxVarint is the length of a head for the longest run: that of indexes without bits.
const maxVarint = 5

// unpackBits adds n bits to dst, a byte each.
func unpackBits(dst, src []byte, n int) []byte {
	have := len(dst)
	dst = grow(dst, have+n+8)[:have+n+8]
	for i := 0; i < n; i += 8 {
		copy(dst[have+i:], spread[src[i/8]][:])
	}
	return dst[:have+n]
}

// spread has the bits of each byte as bytes.
var spread = func() (t [256][8]byte) {
	for b := range t {
		for i := range 8 {
			t[b][i] = byte(b >> i & 1)
		}
	}
	return t
}()

// packBits adds values of one byte, 0 or 1, to dst as bits.
func packBits(dst, src []byte) []byte {
	for len(src) >= 8 {
		// The product gathers the lowest bits of eight bytes in the highest byte.
		dst = append(dst, byte(binary.LittleEndian.Uint64(src)&0x0101010101010101*0x0102040810204080>>56))
		src = src[8:]
	}
	if len(src) > 0 {
		var last byte
		for i, v := range src {
			last |= v & 1 << i
		}
		dst = append(dst, last)
	}
	return dst
}

// indexLeaf is the layout of a vector of dictionary indexes.
func indexLeaf(l column.Leaf) column.Leaf {
	return column.Leaf{Kind: column.Int32, MaxRep: l.MaxRep, MaxDef: l.MaxDef}
}
