package logfile

// varint reads a zigzag number of Avro at p and gives the position behind it, -1 where there is none.
func varint[T string | []byte](b T, p int) (v int64, next int) {
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
