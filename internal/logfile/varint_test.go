package logfile

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"
)

// The two ways to read a number say the same of any bytes, wherever the record ends.
func TestNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "bytes")
		if rapid.Bool().Draw(t, "a number") {
			shift := rapid.IntRange(0, 63).Draw(t, "shift")
			b = append(binary.AppendVarint(nil, rapid.Int64().Draw(t, "number")>>shift), b...)
		}
		end := rapid.IntRange(0, len(b)).Draw(t, "end")
		record := b[:end:rapid.IntRange(end, len(b)).Draw(t, "capacity")]
		p := rapid.IntRange(0, end).Draw(t, "position")
		v, next := number(record, p)
		if want, behind := varint(record, p); v != want || next != behind {
			t.Fatalf("%v from %d: %d, ends at %d; expected %d and %d", record, p, v, next, want, behind)
		}
	})
}
