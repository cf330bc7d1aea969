package merge

import (
	"encoding/binary"
	"math"
	"math/big"
)

// The encoders below add an ordering value to a buffer in a form whose bytes compare as the values do. Several values
// after each other compare from left to right. A null is smaller than every value.

const (
	isNull  = 0
	isValue = 1
)

// AppendNull adds a value that is not there.
func AppendNull(b []byte) []byte { return append(b, isNull) }

// AppendInt adds a whole number: an integer, a date, a time, a boolean as 0 or 1.
func AppendInt(b []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(append(b, isValue), uint64(v)^1<<63)
}

// AppendFloat adds a floating-point number, in the order of Java's Double.compare: -0 before 0, NaN last.
func AppendFloat(b []byte, v float64) []byte {
	bits := math.Float64bits(v)
	switch {
	case math.IsNaN(v):
		bits = math.MaxUint64
	case bits>>63 == 1:
		bits = ^bits
	default:
		bits |= 1 << 63
	}
	return binary.BigEndian.AppendUint64(append(b, isValue), bits)
}

// AppendBytes adds text or bytes, compared byte for byte as unsigned.
func AppendBytes(b, v []byte) []byte {
	b = append(b, isValue)
	for _, c := range v {
		b = append(b, c)
		if c == 0 {
			b = append(b, 0xFF)
		}
	}
	return append(b, 0, 0)
}

// decimalWidth holds the unscaled value of any decimal of up to 76 digits.
const decimalWidth = 33

// AppendDecimal adds the unscaled value of a decimal. All decimals that are compared must have been brought to one scale.
func AppendDecimal(b []byte, unscaled *big.Int) []byte {
	v := new(big.Int).Add(unscaled, new(big.Int).Lsh(big.NewInt(1), 8*decimalWidth-1))
	var buf [decimalWidth]byte
	if v.Sign() < 0 || v.BitLen() > 8*decimalWidth {
		v.SetUint64(0)
	}
	return append(append(b, isValue), v.FillBytes(buf[:])...)
}
