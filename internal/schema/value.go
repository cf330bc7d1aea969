package schema

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/hudifs/hudifs/internal/column"
)

// Value is a value of a vector as a Go value: bool, int32, int64, float32, float64, string for text, []byte, *big.Rat for
// decimals. Times stay numbers in the column's unit; those of 96 bits are bytes.
func (s Scalar) Value(b []byte) any {
	if s.Logical == Decimal {
		return new(big.Rat).SetFrac(s.Unscaled(b), powerOfTen(s.Scale))
	}
	le := binary.LittleEndian
	switch s.Kind {
	case column.Bool:
		return b[0] != 0
	case column.Int32:
		return int32(le.Uint32(b))
	case column.Int64:
		return int64(le.Uint64(b))
	case column.Float:
		return math.Float32frombits(le.Uint32(b))
	case column.Double:
		return math.Float64frombits(le.Uint64(b))
	default:
		if s.Text {
			return string(b)
		}
		return append([]byte(nil), b...)
	}
}

// Bytes is the reverse of Value. It fails for a value of another type, or one that does not fit.
func (s Scalar) Bytes(v any) ([]byte, error) {
	le := binary.LittleEndian
	switch v := v.(type) {
	case *big.Rat:
		if s.Logical == Decimal {
			return s.decimal(v)
		}
	case bool:
		if s.Kind == column.Bool {
			if v {
				return []byte{1}, nil
			}
			return []byte{0}, nil
		}
	case int32:
		if s.Kind == column.Int32 && s.Logical != Decimal {
			return le.AppendUint32(nil, uint32(v)), nil
		}
	case int64:
		if s.Kind == column.Int64 && s.Logical != Decimal {
			return le.AppendUint64(nil, uint64(v)), nil
		}
	case float32:
		if s.Kind == column.Float {
			return le.AppendUint32(nil, math.Float32bits(v)), nil
		}
	case float64:
		if s.Kind == column.Double {
			return le.AppendUint64(nil, math.Float64bits(v)), nil
		}
	case string:
		if s.Text {
			return []byte(v), nil
		}
	case []byte:
		width := column.Leaf{Kind: s.Kind, Size: s.Size}.Width()
		if !s.Text && s.Logical != Decimal && (s.Kind == column.Bytes || (s.Kind == column.Fixed || s.Kind == column.Int96) && len(v) == width) {
			return v, nil
		}
	}
	return nil, invalid("%T is no value of %v", v, s)
}

func (s Scalar) decimal(v *big.Rat) ([]byte, error) {
	scaled := new(big.Rat).Mul(v, new(big.Rat).SetInt(powerOfTen(s.Scale)))
	if !scaled.IsInt() {
		return nil, invalid("%s has more than %d digits behind the point", v.RatString(), s.Scale)
	}
	if scaled.Num().CmpAbs(powerOfTen(s.Precision)) >= 0 {
		return nil, invalid("%s has more than %d digits", v.RatString(), s.Precision)
	}
	dst := column.New(column.Leaf{Kind: s.Kind, Size: s.Size})
	if err := appendDecimal(dst, s, scaled.Num()); err != nil {
		return nil, err
	}
	return dst.Value(0), nil
}
