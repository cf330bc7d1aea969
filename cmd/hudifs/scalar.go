package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// scalar writes the values of a leaf column.
type scalar struct {
	text func(dst []byte, v parquet.Value) []byte
	// literal says that the text stands in JSON without quotes: numbers and truth values.
	literal bool
}

func (s scalar) appendJSON(dst []byte, v parquet.Value) []byte {
	at := len(dst)
	dst = s.text(dst, v)
	if last := len(dst) - 1; s.literal && last >= at && dst[last] != 'N' && dst[last] != 'y' {
		return dst
	}
	return appendQuoted(dst[:at], string(dst[at:])) // also NaN and Infinity, which JSON has no number for
}

// annotation is what a schema element says about its meaning, whether in today's form or in the one before.
func annotation(e *format.SchemaElement) format.LogicalTypeValue {
	if e.LogicalType.Value != nil || !e.ConvertedType.Valid {
		return e.LogicalType.Value
	}
	millis, micros := format.TimeUnit{Value: new(format.MilliSeconds)}, format.TimeUnit{Value: new(format.MicroSeconds)}
	switch e.ConvertedType.V {
	case deprecated.UTF8, deprecated.Enum, deprecated.Json:
		return new(format.StringType)
	case deprecated.List:
		return new(format.ListType)
	case deprecated.Map, deprecated.MapKeyValue:
		return new(format.MapType)
	case deprecated.Decimal:
		return &format.DecimalType{Scale: e.Scale.V, Precision: e.Precision.V}
	case deprecated.Date:
		return new(format.DateType)
	case deprecated.TimeMillis:
		return &format.TimeType{Unit: millis}
	case deprecated.TimeMicros:
		return &format.TimeType{Unit: micros}
	case deprecated.TimestampMillis:
		return &format.TimestampType{IsAdjustedToUTC: true, Unit: millis}
	case deprecated.TimestampMicros:
		return &format.TimestampType{IsAdjustedToUTC: true, Unit: micros}
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		return &format.IntType{BitWidth: 64}
	default:
		return nil
	}
}

// scalarOf says how a leaf's values are written.
func scalarOf(e *format.SchemaElement) scalar {
	switch a := annotation(e).(type) {
	case *format.DecimalType:
		return scalar{literal: true, text: func(dst []byte, v parquet.Value) []byte {
			return appendDecimal(dst, unscaled(v), int(a.Scale))
		}}
	case *format.DateType:
		return scalar{text: func(dst []byte, v parquet.Value) []byte {
			return time.Unix(int64(v.Int32())*86400, 0).UTC().AppendFormat(dst, time.DateOnly)
		}}
	case *format.TimeType:
		return clock("15:04:05", a.Unit)
	case *format.TimestampType:
		if a.IsAdjustedToUTC {
			return clock("2006-01-02T15:04:05Z", a.Unit)
		}
		return clock("2006-01-02T15:04:05", a.Unit)
	case *format.StringType, *format.EnumType, *format.JsonType:
		return scalar{text: appendBytes}
	case *format.UUIDType:
		return scalar{text: appendUUID}
	case *format.IntType:
		if !a.IsSigned {
			return scalar{literal: true, text: appendUnsigned}
		}
	case *format.Float16Type:
		return scalar{literal: true, text: appendHalf}
	}
	return plainScalar(e.Type.V)
}

// plainScalar writes the values of a physical type.
func plainScalar(t format.Type) scalar {
	switch t {
	case format.Boolean:
		return scalar{literal: true, text: func(dst []byte, v parquet.Value) []byte { return strconv.AppendBool(dst, v.Boolean()) }}
	case format.Int32:
		return scalar{literal: true, text: func(dst []byte, v parquet.Value) []byte {
			return strconv.AppendInt(dst, int64(v.Int32()), 10)
		}}
	case format.Int64:
		return scalar{literal: true, text: func(dst []byte, v parquet.Value) []byte { return strconv.AppendInt(dst, v.Int64(), 10) }}
	case format.Int96:
		return scalar{text: appendInt96}
	case format.Float:
		return scalar{literal: true, text: func(dst []byte, v parquet.Value) []byte {
			return appendFloat(dst, float64(v.Float()), 32)
		}}
	case format.Double:
		return scalar{literal: true, text: func(dst []byte, v parquet.Value) []byte { return appendFloat(dst, v.Double(), 64) }}
	default:
		return scalar{text: func(dst []byte, v parquet.Value) []byte {
			return base64.StdEncoding.AppendEncode(dst, v.ByteArray())
		}}
	}
}

func appendBytes(dst []byte, v parquet.Value) []byte { return append(dst, v.ByteArray()...) }

func appendUnsigned(dst []byte, v parquet.Value) []byte {
	if v.Kind() == parquet.Int32 {
		return strconv.AppendUint(dst, uint64(v.Uint32()), 10)
	}
	return strconv.AppendUint(dst, v.Uint64(), 10)
}

// clock writes times in a layout, with six digits of a second, or nine where the column has them.
func clock(layout string, unit format.TimeUnit) scalar {
	step := time.Microsecond
	if unit.Value != nil {
		step = unit.Value.Duration()
	}
	fraction := ".000000"
	if step < time.Microsecond {
		fraction = ".000000000"
	}
	const seconds = "05"
	at := bytes.LastIndex([]byte(layout), []byte(seconds)) + len(seconds)
	layout = layout[:at] + fraction + layout[at:]
	perSecond := int64(time.Second / step)
	return scalar{text: func(dst []byte, v parquet.Value) []byte {
		var n int64
		if v.Kind() == parquet.Int32 {
			n = int64(v.Int32())
		} else {
			n = v.Int64()
		}
		return time.Unix(n/perSecond, n%perSecond*int64(step)).UTC().AppendFormat(dst, layout)
	}}
}

// appendInt96 writes a timestamp of the old form: nanoseconds of the day, then the Julian day.
func appendInt96(dst []byte, v parquet.Value) []byte {
	const epoch = 2440588
	i := v.Int96()
	nanos := int64(uint64(i[1])<<32 | uint64(i[0]))
	layout := "2006-01-02T15:04:05.000000Z"
	if nanos%1000 != 0 {
		layout = "2006-01-02T15:04:05.000000000Z"
	}
	return time.Unix((int64(i[2])-epoch)*86400, nanos).UTC().AppendFormat(dst, layout)
}

// appendFloat writes the shortest number that reads back as the same, in the form of JSON, with a point or an exponent: readers take
// 1 for an integer, and -0 for 0.
func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(dst, f, 'e', -1, bits)
	}
	at := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, bits)
	if bytes.IndexByte(dst[at:], '.') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

// appendHalf writes an IEEE 754 binary16.
func appendHalf(dst []byte, v parquet.Value) []byte {
	bits := binary.LittleEndian.Uint16(v.ByteArray())
	sign, exponent, mantissa := 1.0, int(bits>>10&31), float64(bits&1023)
	if bits>>15 == 1 {
		sign = -1
	}
	switch exponent {
	case 0:
		return appendFloat(dst, sign*math.Ldexp(mantissa, -24), 32)
	case 31:
		if mantissa != 0 {
			return appendFloat(dst, math.NaN(), 32)
		}
		return appendFloat(dst, sign*math.Inf(1), 32)
	}
	return appendFloat(dst, sign*math.Ldexp(1024+mantissa, exponent-25), 32)
}

// unscaled is a decimal's number without its point.
func unscaled(v parquet.Value) *big.Int {
	switch v.Kind() {
	case parquet.Int32:
		return big.NewInt(int64(v.Int32()))
	case parquet.Int64:
		return big.NewInt(v.Int64())
	default:
		b := v.ByteArray() // big-endian two's complement
		n := new(big.Int).SetBytes(b)
		if len(b) > 0 && b[0]&0x80 != 0 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(len(b))*8))
		}
		return n
	}
}

func appendDecimal(dst []byte, n *big.Int, scale int) []byte {
	if n.Sign() < 0 {
		dst = append(dst, '-')
	}
	digits := new(big.Int).Abs(n).Append(nil, 10)
	if scale <= 0 {
		return append(dst, digits...)
	}
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = append(bytes.Repeat([]byte("0"), missing), digits...)
	}
	point := len(digits) - scale
	dst = append(dst, digits[:point]...)
	dst = append(dst, '.')
	return append(dst, digits[point:]...)
}

func appendUUID(dst []byte, v parquet.Value) []byte {
	b := v.ByteArray()
	const digits = "0123456789abcdef"
	for i, c := range b {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, digits[c>>4], digits[c&15])
	}
	return dst
}

// appendQuoted writes a JSON string. Bytes that are no UTF-8 become U+FFFD.
func appendQuoted(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', byte(c))
		case c == '\n':
			dst = append(dst, `\n`...)
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			dst = utf8.AppendRune(dst, c)
		}
	}
	return append(dst, '"')
}

// appendCSVField quotes where RFC 4180 asks for it, and the empty string, so that it differs from null.
func appendCSVField(dst, text []byte) []byte {
	if len(text) > 0 && !bytes.ContainsAny(text, "\",\r\n") {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	dst = append(dst, bytes.ReplaceAll(text, []byte(`"`), []byte(`""`))...)
	return append(dst, '"')
}
