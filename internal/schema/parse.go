package schema

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"github.com/hudifs/hudifs/internal/column"
)

// Parse reads a value from text, as partition folders have it, into the form in which vectors hold it.
func (s Scalar) Parse(text string) ([]byte, error) {
	le := binary.LittleEndian
	switch {
	case s.Logical == Decimal:
		dst := column.New(column.Leaf{Kind: s.Kind, Size: s.Size})
		v, scale, err := parseDecimal(text)
		if err != nil {
			return nil, err
		}
		if err := appendDecimal(dst, s, rescale(v, scale, s.Scale)); err != nil {
			return nil, err
		}
		return dst.Value(0), nil
	case s.Logical == Date:
		if t, err := time.Parse(time.DateOnly, text); err == nil {
			return le.AppendUint32(nil, uint32(int32(floorDiv(t.Unix(), 86400)))), nil
		}
	}
	switch s.Kind {
	case column.Bool:
		v, err := strconv.ParseBool(text)
		if v {
			return []byte{1}, err
		}
		return []byte{0}, err
	case column.Int32:
		v, err := strconv.ParseInt(text, 10, 32)
		return le.AppendUint32(nil, uint32(v)), err
	case column.Int64:
		v, err := strconv.ParseInt(text, 10, 64)
		return le.AppendUint64(nil, uint64(v)), err
	case column.Float:
		v, err := strconv.ParseFloat(text, 32)
		return le.AppendUint32(nil, math.Float32bits(float32(v))), err
	case column.Double:
		v, err := strconv.ParseFloat(text, 64)
		return le.AppendUint64(nil, math.Float64bits(v)), err
	case column.Bytes:
		return []byte(text), nil
	default:
		return nil, invalid("no text for %v", s)
	}
}
