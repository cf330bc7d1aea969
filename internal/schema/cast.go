package schema

import (
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/hudifs/hudifs/internal/column"
)

// Cast adds the values of a source vector to a vector of another scalar, whose levels were added before.
type Cast func(dst, src *column.Vector) error

// CastFor finds how values of one scalar become those of another: nil where they stay byte for byte as they are, an error
// where Hudi's rules of evolution know no way. Only widening is allowed: no value changes or is lost.
func CastFor(from, to Scalar) (Cast, error) {
	switch {
	case to.Logical == Decimal:
		return castToDecimal(from, to)
	case to.Kind == column.Bytes && to.Logical == None:
		return castToBytes(from, to)
	case from.Kind == column.Int96 || to.Kind == column.Int96:
		return castInt96(from, to)
	case from.Logical == Decimal:
		return nil, invalid("%v cannot become %v", from, to)
	case to.Logical == Date && from.Text:
		return textToDate, nil
	case from.Kind == to.Kind && from.Size == to.Size:
		return castUnit(from, to)
	}
	return castNumber(from, to)
}

// CastBound bounds the bytes of values that were cast: so many, and so many bytes in all before.
func CastBound(from, to column.Leaf, values, bytes int64) int64 {
	// What one value can become, and one byte of it. Decimal digits take the most room: 2.41 for a byte, and up to 76 zeros
	// in front; text can hold an exponent that stands for 800 digits (see CastFor).
	const ofNumber, ofDecimal, ofText, perByte = 32, 96, 512, 3
	switch {
	case to.Kind != column.Bytes:
		return values * int64(to.Width())
	case from.Kind == column.Fixed:
		return values * (ofDecimal + perByte*int64(from.Size))
	case from.Kind == column.Bytes:
		return values*ofText + perByte*bytes
	case from.Kind == column.Int32 || from.Kind == column.Int64:
		return values * ofDecimal
	}
	return values * ofNumber
}

// castUnit converts between units of timestamps; one side without a meaning is taken at its word.
func castUnit(from, to Scalar) (Cast, error) {
	f, okF := unitsPerSecond(from.Logical)
	t, okT := unitsPerSecond(to.Logical)
	switch {
	case f == t && (okF || from.Logical == to.Logical), from.Logical == None, to.Logical == None:
		return nil, nil
	case !okF || !okT:
		return nil, invalid("%v cannot become %v", from, to)
	}
	return func(dst, src *column.Vector) error {
		for i := range src.Values() {
			v, ok := convertUnit(intValue(src.Value(i)), f, t)
			if !ok {
				return invalid("%d in %v has no counterpart in %v", intValue(src.Value(i)), from, to)
			}
			appendInt64(dst, v)
		}
		return nil
	}, nil
}

// convertUnit converts a number of one unit to another, ok false where that is no whole number of 64 bits.
func convertUnit(v, from, to int64) (out int64, ok bool) {
	if to >= from {
		by := to / from
		return v * by, v <= math.MaxInt64/by && v >= math.MinInt64/by
	}
	by := from / to
	return v / by, v%by == 0
}

// unitsPerSecond is the unit of a timestamp, ok false for all else.
func unitsPerSecond(l Logical) (int64, bool) {
	switch l {
	case TimestampMillis, LocalTimestampMillis:
		return 1e3, true
	case TimestampMicros, LocalTimestampMicros:
		return 1e6, true
	case TimestampNanos, LocalTimestampNanos:
		return 1e9, true
	default:
		return 0, false
	}
}

func floorDiv(v, d int64) int64 {
	q := v / d
	if v%d < 0 {
		q--
	}
	return q
}

func appendInt64(dst *column.Vector, v int64) {
	dst.AppendValue(binary.LittleEndian.AppendUint64(nil, uint64(v)))
}

// castNumber widens numbers. A float becomes the double of the same decimal text, so that 1.1 stays 1.1
// (hudi-common: HoodieAvroUtils.rewritePrimaryTypeWithDiffSchemaType).
func castNumber(from, to Scalar) (Cast, error) {
	switch {
	case from.Logical != None && to.Logical != None:
		// Days are no milliseconds, nor the time of day in one unit that in another.
	case from.Kind == column.Int32 && to.Kind == column.Int64:
		return eachValue(func(dst *column.Vector, b []byte) { appendInt64(dst, int64(int32(binary.LittleEndian.Uint32(b)))) }), nil
	case to.Kind == column.Float && (from.Kind == column.Int32 || from.Kind == column.Int64):
		return eachValue(func(dst *column.Vector, b []byte) {
			dst.AppendValue(binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(intValue(b)))))
		}), nil
	case to.Kind == column.Double && (from.Kind == column.Int32 || from.Kind == column.Int64):
		return eachValue(func(dst *column.Vector, b []byte) { appendInt64(dst, int64(math.Float64bits(float64(intValue(b))))) }), nil
	case from.Kind == column.Float && to.Kind == column.Double:
		return eachValue(func(dst *column.Vector, b []byte) {
			f := math.Float32frombits(binary.LittleEndian.Uint32(b))
			d, err := strconv.ParseFloat(javaFloat(float64(f), 32), 64)
			if err != nil {
				d = float64(f)
			}
			appendInt64(dst, int64(math.Float64bits(d)))
		}), nil
	case from.Kind == column.Bytes && to.Kind == column.Fixed:
		return func(dst, src *column.Vector) error {
			for i := range src.Values() {
				b := src.Value(i)
				if len(b) != to.Size {
					return invalid("%d bytes where %v is expected", len(b), to)
				}
				dst.AppendValue(b)
			}
			return nil
		}, nil
	}
	return nil, invalid("%v cannot become %v", from, to)
}

func eachValue(add func(dst *column.Vector, b []byte)) Cast {
	return func(dst, src *column.Vector) error {
		for i := range src.Values() {
			add(dst, src.Value(i))
		}
		return nil
	}
}

func intValue(b []byte) int64 {
	if len(b) == 4 {
		return int64(int32(binary.LittleEndian.Uint32(b)))
	}
	return int64(binary.LittleEndian.Uint64(b))
}

const julianEpoch = 2440588 // the Julian day of 1970-01-01

// castInt96 converts between the old timestamps of Spark and Impala (nanoseconds of the day, Julian day) and 64-bit ones. What is
// finer than the target's unit is cut off, as Spark does it.
func castInt96(from, to Scalar) (Cast, error) {
	if from.Kind == to.Kind {
		return nil, nil
	}
	if from.Kind == column.Int96 && to.Kind == column.Int64 {
		per, ok := unitsPerSecond(to.Logical)
		if !ok {
			return nil, invalid("%v cannot become %v", from, to)
		}
		return func(dst, src *column.Vector) error {
			for i := range src.Values() {
				b := src.Value(i)
				days := int64(int32(binary.LittleEndian.Uint32(b[8:]))) - julianEpoch
				v, fits := addDays(days, 86400*per, floorDiv(int64(binary.LittleEndian.Uint64(b)), 1e9/per))
				if !fits {
					return invalid("day %d of a %v overflows %v", days, from, to)
				}
				appendInt64(dst, v)
			}
			return nil
		}, nil
	}
	per, ok := unitsPerSecond(from.Logical)
	if !ok || from.Kind != column.Int64 {
		return nil, invalid("%v cannot become %v", from, to)
	}
	return func(dst, src *column.Vector) error {
		for i := range src.Values() {
			v := intValue(src.Value(i))
			perDay := 86400 * per
			days := floorDiv(v, perDay)
			if days+julianEpoch != int64(int32(days+julianEpoch)) {
				return invalid("%d in %v overflows %v", v, from, to)
			}
			ofDay := v % perDay
			if ofDay < 0 {
				ofDay += perDay
			}
			out := binary.LittleEndian.AppendUint64(nil, uint64(ofDay*(1e9/per)))
			dst.AppendValue(binary.LittleEndian.AppendUint32(out, uint32(days+julianEpoch)))
		}
		return nil
	}, nil
}

// addDays is days*perDay+rest, ok false where that is no number of 64 bits.
func addDays(days, perDay, rest int64) (v int64, ok bool) {
	sum := new(big.Int).Mul(big.NewInt(days), big.NewInt(perDay))
	sum.Add(sum, big.NewInt(rest))
	return sum.Int64(), sum.IsInt64()
}

// castToBytes turns values into text, or bytes into other bytes, which need no change.
func castToBytes(from, to Scalar) (Cast, error) {
	if from.Kind == column.Bytes && from.Logical != Decimal {
		return nil, nil
	}
	if from.Kind == column.Fixed && from.Logical != Decimal && !to.Text {
		return eachValue(func(dst *column.Vector, b []byte) { dst.AppendValue(b) }), nil
	}
	text := textOf(from)
	if !to.Text || text == nil {
		return nil, invalid("%v cannot become %v", from, to)
	}
	return eachValue(func(dst *column.Vector, b []byte) { dst.AppendValue([]byte(text(b))) }), nil
}

// textOf writes a value as Java's toString does, nil for types that never become text.
func textOf(s Scalar) func(b []byte) string {
	switch {
	case s.Logical == Decimal:
		return func(b []byte) string { return decimalText(s.Unscaled(b), s.Scale) }
	case s.Logical == Date:
		return func(b []byte) string { return time.Unix(intValue(b)*86400, 0).UTC().Format(time.DateOnly) }
	case s.Logical != None:
		return nil
	case s.Kind == column.Int32 || s.Kind == column.Int64:
		return func(b []byte) string { return strconv.FormatInt(intValue(b), 10) }
	case s.Kind == column.Float:
		return func(b []byte) string {
			return javaFloat(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 32)
		}
	case s.Kind == column.Double:
		return func(b []byte) string { return javaFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)), 64) }
	case s.Kind == column.Bool:
		return func(b []byte) string { return strconv.FormatBool(b[0] != 0) }
	}
	return nil
}

// TextOf writes a value of a primitive type as Java's toString does: the form that it has in a record key.
func (s Scalar) TextOf(b []byte) string {
	if s.Kind == column.Bytes || s.Kind == column.Fixed {
		if s.Logical != Decimal {
			return string(b)
		}
	}
	if s.Logical != Decimal {
		s.Logical = None // times and dates go into keys as their numbers
	}
	if text := textOf(s); text != nil {
		return text(b)
	}
	return string(b)
}

// javaFloat is Double.toString and Float.toString: at least one digit behind the point, E notation below 1e-3 and from 1e7 on.
func javaFloat(f float64, bits int) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	if a := math.Abs(f); a == 0 || a >= 1e-3 && a < 1e7 {
		s := strconv.FormatFloat(f, 'f', -1, bits)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mantissa, exp, _ := strings.Cut(strconv.FormatFloat(f, 'E', -1, bits), "E")
	if !strings.Contains(mantissa, ".") {
		// Java looks for the nearest text of two digits at least: the smallest double is 4.9E-324.
		mantissa, exp, _ = strings.Cut(strconv.FormatFloat(f, 'E', 1, bits), "E")
	}
	n, _ := strconv.Atoi(exp)
	return mantissa + "E" + strconv.Itoa(n)
}

func textToDate(dst, src *column.Vector) error {
	for i := range src.Values() {
		t, err := time.Parse("2006-1-2", string(src.Value(i)))
		if err != nil {
			return invalid("%q is no date", src.Value(i))
		}
		dst.AppendValue(dateValue(t))
	}
	return nil
}

func dateValue(t time.Time) []byte {
	return binary.LittleEndian.AppendUint32(nil, uint32(int32(floorDiv(t.Unix(), 86400))))
}

// castToDecimal brings numbers and decimals of any form to the scale and form of the target, rounding half up as Hudi does.
func castToDecimal(from, to Scalar) (Cast, error) {
	if from == to {
		return nil, nil
	}
	switch {
	case from.Logical == Decimal:
	case from.Kind == column.Bytes && !from.Text && from.Logical == None || from.Kind == column.Fixed:
		// A writer that dropped the annotation: the bytes are the unscaled value.
		from.Scale = to.Scale
	default:
		return castTextToDecimal(from, to)
	}
	return func(dst, src *column.Vector) error {
		for i := range src.Values() {
			if err := appendDecimal(dst, to, rescale(from.Unscaled(src.Value(i)), from.Scale, to.Scale)); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// castTextToDecimal takes numbers by their decimal text.
func castTextToDecimal(from, to Scalar) (Cast, error) {
	text := textOf(from)
	if from.Text {
		text = func(b []byte) string { return string(b) }
	}
	if text == nil || from.Logical != None || from.Kind == column.Bool {
		return nil, invalid("%v cannot become %v", from, to)
	}
	return func(dst, src *column.Vector) error {
		for i := range src.Values() {
			v, scale, err := parseDecimal(text(src.Value(i)))
			if err != nil {
				return err
			}
			if err := appendDecimal(dst, to, rescale(v, scale, to.Scale)); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// Unscaled reads the integer of a decimal from any of its physical forms.
func (s Scalar) Unscaled(b []byte) *big.Int {
	if s.Kind == column.Int32 || s.Kind == column.Int64 {
		return big.NewInt(intValue(b))
	}
	return BigEndian(b)
}

// BigEndian reads an integer in two's complement.
func BigEndian(b []byte) *big.Int {
	v := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v
}

func rescale(v *big.Int, from, to int) *big.Int {
	if to >= from {
		return new(big.Int).Mul(v, powerOfTen(to-from))
	}
	unit := powerOfTen(from - to)
	q, r := new(big.Int).QuoRem(v, unit, new(big.Int))
	if r.Abs(r).Lsh(r, 1).Cmp(unit) >= 0 {
		q.Add(q, big.NewInt(int64(v.Sign())))
	}
	return q
}

func powerOfTen(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

func appendDecimal(dst *column.Vector, to Scalar, v *big.Int) error {
	if v.CmpAbs(powerOfTen(to.Precision)) >= 0 {
		return invalid("decimal %v does not fit %v", v, to)
	}
	if to.Kind == column.Int32 || to.Kind == column.Int64 {
		width := 8 * dst.Leaf.Width()
		if v.BitLen() >= width {
			return invalid("decimal %v does not fit %v", v, to)
		}
		dst.AppendValue(binary.LittleEndian.AppendUint64(nil, uint64(v.Int64()))[:width/8])
		return nil
	}
	size := to.Size
	if to.Kind == column.Bytes {
		size = v.BitLen()/8 + 1
	}
	if v.BitLen() >= 8*size {
		return invalid("decimal %v does not fit %v", v, to)
	}
	if v.Sign() < 0 {
		v = new(big.Int).Add(v, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
	}
	dst.AppendValue(v.FillBytes(make([]byte, size)))
	return nil
}

// decimalText is BigDecimal.toString: plain, but for numbers that would have more than five zeros behind the point.
func decimalText(v *big.Int, scale int) string {
	s := new(big.Int).Abs(v).String()
	switch exp := len(s) - 1 - scale; {
	case scale == 0:
	case exp < -6:
		if len(s) > 1 {
			s = s[:1] + "." + s[1:]
		}
		s += "E" + strconv.Itoa(exp)
	default:
		if len(s) <= scale {
			s = strings.Repeat("0", scale+1-len(s)) + s
		}
		s = s[:len(s)-scale] + "." + s[len(s)-scale:]
	}
	if v.Sign() < 0 {
		s = "-" + s
	}
	return s
}

// parseDecimal reads decimal text, with or without an exponent.
func parseDecimal(text string) (*big.Int, int, error) {
	mantissa, exp, hasExp := strings.Cut(strings.ToUpper(text), "E")
	whole, frac, _ := strings.Cut(mantissa, ".")
	v, ok := new(big.Int), len(text) <= 400 && strings.Trim(frac, "0123456789") == ""
	if ok {
		v, ok = v.SetString(whole+frac, 10)
	}
	if !ok {
		return nil, 0, invalid("%q is no decimal number", text)
	}
	scale := len(frac)
	if hasExp {
		e, err := strconv.Atoi(exp)
		if err != nil || e > 400 || e < -400 {
			return nil, 0, invalid("%q is no decimal number", text)
		}
		scale -= e
	}
	if scale < 0 {
		v, scale = rescale(v, 0, -scale), 0
	}
	return v, scale, nil
}
