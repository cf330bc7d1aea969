package logfile

import (
	"encoding/binary"
	"math/bits"
)

// number reads what varint reads, without a branch for each of up to eight bytes. What lies behind b, up to its capacity, may be read.
func number(b []byte, p int) (v int64, next int) {
	if cap(b)-p < 8 {
		return varint(b, p)
	}
	u := binary.LittleEndian.Uint64(b[p : p+8])
	n := numberLen(u)
	if n > 8 || n > len(b)-p {
		return varint(b, p)
	}
	return numberIn(u), p + n
}

// more is set in each byte of a number that is not its last.
const more = 0x8080808080808080

// numberLen is how many bytes the number takes that begins with eight bytes: more than 8 where they are not all.
func numberLen(u uint64) int { return bits.TrailingZeros64(^u&more)/8 + 1 }

// numberIn is the number that begins with eight bytes, or takes them all.
func numberIn(u uint64) int64 {
	last := ^u & more
	u &= (last ^ (last - 1)) &^ more
	u = u&0x007f007f007f007f | u&0x7f007f007f007f00>>1
	u = u&0x00003fff00003fff | u&0x3fff00003fff0000>>2
	u = u&0x000000000fffffff | u&0x0fffffff00000000>>4
	return int64(u>>1) ^ -int64(u&1)
}

// varint reads a zigzag number of Avro at p and gives the position behind it, -1 where there is none.
func varint(b []byte, p int) (v int64, next int) {
	var u uint64
	for shift := uint(0); p < len(b); shift += 7 {
		c := b[p]
		p++
		if shift == 63 && c > 1 {
			return 0, -1
		}
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return int64(u>>1) ^ -int64(u&1), p
		}
	}
	return 0, -1
}
