package pqfile

import (
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/bitpack/unsafecast"
	"github.com/parquet-go/parquet-go/encoding/bytestreamsplit"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
)

// plainDictionary is the older name of dictionaries in PLAIN and of pages of their indexes, which parquet-mr still gives them.
const plainDictionary = format.Encoding(2)

// isDictionary tells whether values of an encoding are dictionary indexes.
func isDictionary(e format.Encoding) bool {
	return e == plainDictionary || e == format.RLEDictionary
}

// appendValues decodes n values of an encoding other than the dictionary's to the end of v. limit is how large they may be.
func appendValues(v *column.Vector, src []byte, n int, enc format.Encoding, limit int64) error {
	if n == 0 {
		return nil
	}
	if w := int64(v.Leaf.Width()); w*int64(n) > limit {
		return tooLarge("%d values of %d bytes", n, w)
	}
	var err error
	switch v.Leaf.Kind {
	case column.Bool:
		err = appendBools(v, src, n, enc)
	case column.Bytes:
		err = appendByteArrays(v, src, n, enc, limit)
	default:
		err = appendFixed(v, src, n, enc, limit)
	}
	if err != nil {
		return fmt.Errorf("%d values of %v in %v: %w", n, v.Leaf, enc, err)
	}
	return nil
}

func appendBools(v *column.Vector, src []byte, n int, enc format.Encoding) error {
	switch enc {
	case format.Plain:
		if len(src) < (n+7)/8 {
			return sizeError(len(src), (n+7)/8)
		}
		v.Buf = unpackBits(v.Buf, src, n)
	case format.RLE:
		if len(src) < 4 || uint64(binary.LittleEndian.Uint32(src)) > uint64(len(src)-4) {
			return fmt.Errorf("expected a length within %d bytes", len(src))
		}
		var err error
		// Bits are levels of at most 1. Parquet-go's DecodeBoolean takes the byte of a run for eight values.
		v.Buf, err = appendLevels(v.Buf, src[4:4+binary.LittleEndian.Uint32(src)], 1, n, false)
		if err != nil {
			return err
		}
	default:
		return unsupported("encoding %v of booleans", enc)
	}
	v.SetValues(v.Values() + n)
	return nil
}

func appendFixed(v *column.Vector, src []byte, n int, enc format.Encoding, limit int64) error {
	w := v.Leaf.Width()
	size := n * w
	switch enc {
	case format.Plain:
		if len(src) < size {
			return sizeError(len(src), size)
		}
		v.Buf = append(v.Buf, src[:size]...)
	case format.ByteStreamSplit:
		if len(src) < size {
			return sizeError(len(src), size)
		}
		out, err := unsplit(src[:size], v.Leaf)
		if err != nil {
			return err
		}
		v.Buf = append(v.Buf, out...)
	case format.DeltaBinaryPacked:
		if v.Leaf.Kind != column.Int32 && v.Leaf.Kind != column.Int64 {
			return unsupported("encoding %v of %v", enc, v.Leaf)
		}
		out, err := deltaNumbers(src, n, w)
		if err != nil {
			return err
		}
		v.Buf = append(v.Buf, out...)
	case format.DeltaByteArray:
		if v.Leaf.Kind != column.Fixed {
			return unsupported("encoding %v of %v", enc, v.Leaf)
		}
		return appendDeltaByteArrays(v, src, n, limit)
	default:
		return unsupported("encoding %v of %v", enc, v.Leaf)
	}
	v.SetValues(v.Values() + n)
	return nil
}

func unsplit(src []byte, l column.Leaf) ([]byte, error) {
	e := &bytestreamsplit.Encoding{}
	switch l.Kind {
	case column.Float:
		out, err := e.DecodeFloat(nil, src)
		return unsafecast.Slice[byte](out), err
	case column.Double:
		out, err := e.DecodeDouble(nil, src)
		return unsafecast.Slice[byte](out), err
	case column.Int32:
		out, err := e.DecodeInt32(nil, src)
		return unsafecast.Slice[byte](out), err
	case column.Int64:
		out, err := e.DecodeInt64(nil, src)
		return unsafecast.Slice[byte](out), err
	case column.Fixed:
		return e.DecodeFixedLenByteArray(nil, src, l.Size)
	default:
		return nil, unsupported("encoding %v of %v", format.ByteStreamSplit, l)
	}
}

func appendByteArrays(v *column.Vector, src []byte, n int, enc format.Encoding, limit int64) error {
	switch enc {
	case format.Plain:
		return appendPlainByteArrays(v, src, n)
	case format.DeltaLengthByteArray:
		lengths, rest, err := deltaLengths(src, n)
		if err != nil {
			return err
		}
		total := int64(0)
		for _, l := range lengths {
			total += int64(l)
		}
		if total > int64(len(rest)) {
			return sizeError(len(rest), int(total))
		}
		openOffsets(v, n)
		at := uint32(len(v.Buf))
		for _, l := range lengths {
			at += uint32(l)
			v.Off = append(v.Off, at)
		}
		v.Buf = append(v.Buf, rest[:total]...)
		v.SetValues(v.Values() + n)
		return nil
	case format.DeltaByteArray:
		return appendDeltaByteArrays(v, src, n, limit)
	default:
		return unsupported("encoding %v of %v", enc, v.Leaf)
	}
}

// openOffsets prepares a vector of byte arrays for n more.
func openOffsets(v *column.Vector, n int) {
	if need := len(v.Off) + n + 1; cap(v.Off) < need {
		off := make([]uint32, len(v.Off), max(need, 2*cap(v.Off)))
		copy(off, v.Off)
		v.Off = off
	}
	if len(v.Off) == 0 {
		v.Off = append(v.Off, 0)
	}
}

func appendPlainByteArrays(v *column.Vector, src []byte, n int) error {
	if int64(n)*4 > int64(len(src)) {
		return sizeError(len(src), 4*n)
	}
	openOffsets(v, n)
	v.Buf = grow(v.Buf, len(v.Buf)+len(src)-4*n)
	buf, off, pos := v.Buf, v.Off, 0
	for i := range n {
		if len(src)-pos < 4 {
			return fmt.Errorf("expected the length of value %d at byte %d of %d", i, pos, len(src))
		}
		l := int(binary.LittleEndian.Uint32(src[pos:]))
		pos += 4
		if l > len(src)-pos {
			return fmt.Errorf("value %d of %d bytes at byte %d of %d", i, l, pos, len(src))
		}
		buf = append(buf, src[pos:pos+l]...)
		off = append(off, uint32(len(buf)))
		pos += l
	}
	v.Buf, v.Off = buf, off
	v.SetValues(v.Values() + n)
	return nil
}

// appendDeltaByteArrays joins prefixes and suffixes itself: a few bytes may expand without end, which the library would allocate.
func appendDeltaByteArrays(v *column.Vector, src []byte, n int, limit int64) error {
	prefixes, src, err := deltaLengths(src, n)
	if err != nil {
		return err
	}
	suffixes, src, err := deltaLengths(src, n)
	if err != nil {
		return err
	}
	total := int64(0)
	for i := range prefixes {
		if total += int64(prefixes[i]) + int64(suffixes[i]); total > limit {
			return tooLarge("more than %d bytes", limit)
		}
	}
	fixed := v.Leaf.Kind == column.Fixed
	if !fixed {
		openOffsets(v, n)
	}
	v.Buf = grow(v.Buf, len(v.Buf)+int(total))
	last := v.Buf[len(v.Buf):]
	for i := range prefixes {
		p, s := int(prefixes[i]), int(suffixes[i])
		if p > len(last) || s > len(src) || fixed && p+s != v.Leaf.Size {
			return fmt.Errorf("value %d of %d bytes of %d and %d of %d", i, p, len(last), s, len(src))
		}
		at := len(v.Buf)
		v.Buf = append(v.Buf, last[:p]...)
		v.Buf = append(v.Buf, src[:s]...)
		last, src = v.Buf[at:], src[s:]
		if !fixed {
			v.Off = append(v.Off, uint32(len(v.Buf)))
		}
	}
	v.SetValues(v.Values() + n)
	return nil
}

// gather adds the dictionary's values at the indexes to the end of dst.
func gather(dst, dict *column.Vector, indexes []byte, limit int64) error {
	ix := unsafecast.Slice[uint32](indexes)
	if dict.Leaf.Kind == column.Bytes {
		return gatherByteArrays(dst, dict, ix, limit)
	}
	w := dict.Leaf.Width()
	if int64(len(ix))*int64(w)+int64(len(dst.Buf)) > limit {
		return tooLarge("%d values of %d bytes", len(ix), w)
	}
	have := len(dst.Buf)
	dst.Buf = grow(dst.Buf, have+w*len(ix))[:have+w*len(ix)]
	out := dst.Buf[have:]
	switch w {
	case 4:
		from, to := unsafecast.Slice[uint32](dict.Buf), unsafecast.Slice[uint32](out)
		for i, x := range ix {
			to[i] = from[x]
		}
	case 8:
		from, to := unsafecast.Slice[uint64](dict.Buf), unsafecast.Slice[uint64](out)
		for i, x := range ix {
			to[i] = from[x]
		}
	default:
		for i, x := range ix {
			copy(out[i*w:(i+1)*w], dict.Buf[int(x)*w:])
		}
	}
	dst.SetValues(dst.Values() + len(ix))
	return nil
}

func gatherByteArrays(dst, dict *column.Vector, ix []uint32, limit int64) error {
	total := int64(len(dst.Buf))
	for _, x := range ix {
		if total += int64(dict.Off[x+1] - dict.Off[x]); total > limit {
			return tooLarge("%d values of more than %d bytes", len(ix), limit)
		}
	}
	openOffsets(dst, len(ix))
	dst.Buf = grow(dst.Buf, int(total))
	buf, off := dst.Buf, dst.Off
	for _, x := range ix {
		buf = append(buf, dict.Buf[dict.Off[x]:dict.Off[x+1]]...)
		off = append(off, uint32(len(buf)))
	}
	dst.Buf, dst.Off = buf, off
	dst.SetValues(dst.Values() + len(ix))
	return nil
}
