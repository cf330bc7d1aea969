package schema_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// The scalars that casts are about.
var (
	boolean  = schema.Scalar{Kind: column.Bool}
	int32s   = schema.Scalar{Kind: column.Int32}
	int64s   = schema.Scalar{Kind: column.Int64}
	float    = schema.Scalar{Kind: column.Float}
	double   = schema.Scalar{Kind: column.Double}
	str      = schema.Scalar{Kind: column.Bytes, Text: true}
	raw      = schema.Scalar{Kind: column.Bytes}
	fixed4   = schema.Scalar{Kind: column.Fixed, Size: 4}
	date     = schema.Scalar{Kind: column.Int32, Logical: schema.Date}
	timeMs   = schema.Scalar{Kind: column.Int32, Logical: schema.TimeMillis}
	timeUs   = schema.Scalar{Kind: column.Int64, Logical: schema.TimeMicros}
	millis   = schema.Scalar{Kind: column.Int64, Logical: schema.TimestampMillis}
	micros   = schema.Scalar{Kind: column.Int64, Logical: schema.TimestampMicros}
	nanos    = schema.Scalar{Kind: column.Int64, Logical: schema.TimestampNanos}
	local    = schema.Scalar{Kind: column.Int64, Logical: schema.LocalTimestampMicros}
	int96    = schema.Scalar{Kind: column.Int96, Logical: schema.TimestampNanos}
	scalars  = []schema.Scalar{boolean, int32s, int64s, float, double, str, raw, fixed4, date, timeMs, timeUs, millis, micros, nanos, local, int96, dec(column.Int32, 7, 2), dec(column.Fixed, 20, 3)}
	dayMicro = int64(86400) * 1e6
)

func dec(k column.Kind, precision, scale int) schema.Scalar {
	s := schema.Scalar{Kind: k, Logical: schema.Decimal, Precision: precision, Scale: scale}
	if k == column.Fixed {
		s.Size = 16
	}
	return s
}

func i32(v int32) string   { return string(binary.LittleEndian.AppendUint32(nil, uint32(v))) }
func i64(v int64) string   { return string(binary.LittleEndian.AppendUint64(nil, uint64(v))) }
func f32(v float32) string { return i32(int32(math.Float32bits(v))) }
func f64(v float64) string { return i64(int64(math.Float64bits(v))) }
func i96(day int32, nanos int64) string {
	return i64(nanos) + i32(day+2440588)
}

func hexa(s string) string {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return string(b)
}

// cast runs one value through a cast.
func cast(from, to schema.Scalar, v string) (string, error) {
	c, err := schema.CastFor(from, to)
	if err != nil {
		return "", err
	}
	src, dst := column.New(column.Leaf{Kind: from.Kind, Size: from.Size}), column.New(column.Leaf{Kind: to.Kind, Size: to.Size})
	src.AppendValue([]byte(v))
	if c == nil {
		dst.AppendValues(src)
	} else if err := c(dst, src); err != nil {
		return "", err
	}
	if dst.Values() != 1 || dst.Leaf.Kind != column.Bytes && len(dst.Buf) != dst.Leaf.Width() {
		return "", fmt.Errorf("one value became %d of %d bytes", dst.Values(), len(dst.Buf))
	}
	return string(dst.Value(0)), nil
}

func TestCasts(t *testing.T) {
	for _, tt := range []struct {
		from, to schema.Scalar
		in, want string
	}{
		{int32s, int64s, i32(-1), i64(-1)},
		{int32s, int64s, i32(math.MinInt32), i64(math.MinInt32)},
		{int32s, float, i32(-7), f32(-7)},
		{int32s, double, i32(math.MaxInt32), f64(math.MaxInt32)},
		{int64s, float, i64(1 << 40), f32(1 << 40)},
		{int64s, float, i64(16777217), f32(16777216)},
		{int64s, double, i64(-1 << 53), f64(-1 << 53)},
		// A float widens to the double of the same decimal text.
		{float, double, f32(1.1), f64(1.1)},
		{float, double, f32(-0.1), f64(-0.1)},
		{float, double, f32(3.4028235e38), f64(3.4028235e38)},
		{float, double, f32(1.4e-45), f64(1.4e-45)},
		{float, double, f32(16777216), f64(16777216)},
		{float, double, f32(float32(math.Copysign(0, -1))), f64(math.Copysign(0, -1))},
		{float, double, f32(float32(math.Inf(1))), f64(math.Inf(1))},
		{float, double, f32(float32(math.Inf(-1))), f64(math.Inf(-1))},
		{float, double, f32(float32(math.NaN())), f64(math.NaN())},

		{int32s, str, i32(-2147483648), "-2147483648"},
		{int64s, str, i64(9223372036854775807), "9223372036854775807"},
		{date, str, i32(0), "1970-01-01"},
		{date, str, i32(-1), "1969-12-31"},
		{date, str, i32(-719162), "0001-01-01"},
		{date, str, i32(2932896), "9999-12-31"},
		{str, raw, "\xff\x00a", "\xff\x00a"},
		{raw, str, "\xff\x00a", "\xff\x00a"},
		{fixed4, raw, "abcd", "abcd"},
		{raw, fixed4, "abcd", "abcd"},
		{str, date, "1970-01-01", i32(0)},
		{str, date, "1969-12-31", i32(-1)},
		{str, date, "2024-2-29", i32(19782)},

		{int32s, dec(column.Int32, 7, 2), i32(-12345), i32(-1234500)},
		{int64s, dec(column.Int64, 18, 0), i64(-5), i64(-5)},
		{int64s, dec(column.Fixed, 38, 18), i64(-1), hexa("ffffffffffffffff f21f494c589c0000")},
		{double, dec(column.Int64, 18, 3), f64(1.0005), i64(1001)},
		{double, dec(column.Int64, 18, 3), f64(-1.0005), i64(-1001)},
		{double, dec(column.Int64, 18, 3), f64(1.00049), i64(1000)},
		{double, dec(column.Int64, 18, 3), f64(1e10), i64(1e13)},
		{double, dec(column.Int64, 18, 6), f64(1e-5), i64(10)},
		{float, dec(column.Int64, 18, 3), f32(1.1), i64(1100)},
		{str, dec(column.Int64, 18, 3), "-12.3456", i64(-12346)},
		{str, dec(column.Int64, 18, 3), "-12.3445", i64(-12345)},
		{str, dec(column.Int64, 18, 3), "+.5", i64(500)},
		{str, dec(column.Int64, 18, 3), "5.", i64(5000)},
		{str, dec(column.Int64, 18, 3), "1.5e+3", i64(1500000)},
		{str, dec(column.Int64, 18, 3), "15E-4", i64(2)},
		{str, dec(column.Bytes, 38, 0), "00000000000000000000000000000000000000000000000000001", "\x01"},
		// Every physical form of a decimal to every other, and to other scales.
		{dec(column.Int32, 7, 2), dec(column.Int64, 18, 4), i32(-12345), i64(-1234500)},
		{dec(column.Int32, 7, 2), dec(column.Fixed, 38, 2), i32(-12345), hexa("ffffffffffffffff ffffffffffffcfc7")},
		{dec(column.Int32, 7, 2), dec(column.Bytes, 7, 2), i32(-12345), hexa("cfc7")},
		{dec(column.Fixed, 20, 3), dec(column.Int32, 9, 2), hexa("0000000000000000 0000000000003039"), i32(1235)},
		{dec(column.Fixed, 20, 3), dec(column.Int32, 9, 2), hexa("ffffffffffffffff ffffffffffffcfc7"), i32(-1235)},
		{dec(column.Bytes, 20, 3), dec(column.Int32, 9, 2), hexa("cfc8"), i32(-1234)},
		{dec(column.Bytes, 20, 3), dec(column.Int64, 18, 3), "", i64(0)},
		{dec(column.Bytes, 20, 3), dec(column.Int64, 18, 3), hexa("ffffff80"), i64(-128)},
		{dec(column.Bytes, 20, 3), dec(column.Bytes, 20, 3), hexa("ffffff80"), hexa("ffffff80")}, // as it stands
		{dec(column.Int64, 18, 1), dec(column.Int64, 18, 0), i64(5), i64(1)},
		{dec(column.Int64, 18, 1), dec(column.Int64, 18, 0), i64(-5), i64(-1)},
		{dec(column.Int64, 18, 1), dec(column.Int64, 18, 0), i64(4), i64(0)},
		{raw, dec(column.Int64, 18, 2), hexa("ff85"), i64(-123)}, // a writer that dropped the annotation
		{dec(column.Int32, 7, 2), str, i32(-12345), "-123.45"},
		{dec(column.Int32, 7, 2), str, i32(5), "0.05"},
		{dec(column.Int32, 7, 0), str, i32(-5), "-5"},
		{dec(column.Int64, 18, 6), str, i64(0), "0.000000"},
		{dec(column.Int64, 18, 6), str, i64(1), "0.000001"},
		{dec(column.Int64, 18, 7), str, i64(1), "1E-7"},
		{dec(column.Int64, 18, 7), str, i64(0), "0E-7"},
		{dec(column.Int64, 18, 10), str, i64(-123), "-1.23E-8"},
		{dec(column.Int64, 18, 10), str, i64(12345), "0.0000012345"},

		{millis, micros, i64(-1), i64(-1000)},
		{micros, nanos, i64(-1), i64(-1000)},
		{micros, millis, i64(-2000), i64(-2)},
		{local, millis, i64(5000), i64(5)},
		{micros, local, i64(-1), i64(-1)},
		{int64s, micros, i64(-1), i64(-1)},
		{micros, int64s, i64(-1), i64(-1)},
		{int32s, millis, i32(-1), i64(-1)},
		{date, int64s, i32(-1), i64(-1)},

		{int96, micros, i96(0, 0), i64(0)},
		{int96, micros, i96(-1, 0), i64(-dayMicro)},
		{int96, micros, i96(-1, 86399_999_999_999), i64(-1)},
		{int96, micros, i96(0, 1999), i64(1)}, // Spark cuts off what is finer
		{int96, millis, i96(-1, 86399_999_999_999), i64(-1)},
		{int96, millis, i96(-719162, 1), i64(-719162 * 86400 * 1000)},
		{int96, nanos, i96(-1, 86399_999_999_999), i64(-1)},
		{int96, int96, i96(-1, 7), i96(-1, 7)},
		{micros, int96, i64(-1), i96(-1, 86399_999_999_000)},
		{micros, int96, i64(-dayMicro), i96(-1, 0)},
		{millis, int96, i64(-1), i96(-1, 86399_999_000_000)},
		{nanos, int96, i64(math.MinInt64), i96(-106752, 763_145_224_192)},
		{local, int96, i64(1), i96(0, 1000)},
	} {
		if got, err := cast(tt.from, tt.to, tt.in); err != nil || got != tt.want {
			t.Errorf("%v to %v: %x became %x, %v, want %x", tt.from, tt.to, tt.in, got, err, tt.want)
		}
	}
}

// Values that their new type can't hold, or that it would change.
func TestCastRefusesValues(t *testing.T) {
	for _, tt := range []struct {
		from, to schema.Scalar
		in       string
	}{
		{str, date, "yesterday"},
		{str, date, "2021-02-30"},
		{str, date, ""},
		{raw, fixed4, "abc"},
		{raw, fixed4, ""},
		{str, dec(column.Int64, 18, 3), ""},
		{str, dec(column.Int64, 18, 3), "."},
		{str, dec(column.Int64, 18, 3), ".-5"},
		{str, dec(column.Int64, 18, 3), "1_0"},
		{str, dec(column.Int64, 18, 3), "0x10"},
		{str, dec(column.Int64, 18, 3), "1E"},
		{str, dec(column.Int64, 18, 3), "1E5E5"},
		{str, dec(column.Int64, 18, 3), "1E999999999"},
		{str, dec(column.Int64, 18, 3), "1E-999999999"},
		{str, dec(column.Int64, 18, 3), strings.Repeat("9", 1<<20)},
		{double, dec(column.Int64, 18, 3), f64(math.NaN())},
		{double, dec(column.Int64, 18, 3), f64(math.Inf(-1))},
		{double, dec(column.Int64, 18, 3), f64(1e300)},
		{int32s, dec(column.Int32, 7, 2), i32(100000)},
		{int64s, dec(column.Fixed, 5, 0), i64(100000)},
		{dec(column.Int64, 18, 0), dec(column.Int32, 9, 0), i64(1 << 40)},
		{dec(column.Int64, 18, 0), dec(column.Int64, 5, 0), i64(-100000)},
		{dec(column.Int64, 18, 1), dec(column.Bytes, 2, 0), i64(995)}, // rounds to three digits
		{dec(column.Bytes, 20, 3), dec(column.Int64, 18, 3), strings.Repeat("\x7f", 100)},
		{millis, micros, i64(math.MaxInt64 / 999)},
		{millis, nanos, i64(math.MinInt64 / 999999)},
		{micros, millis, i64(-1)},
		{nanos, millis, i64(999_999)},
		{int96, micros, i96(math.MaxInt32-2440588, 0)},
		{int96, nanos, i96(106752, 0)},
		{millis, int96, i64(math.MaxInt64)},
		{millis, int96, i64(math.MinInt64)},
	} {
		if got, err := cast(tt.from, tt.to, tt.in); err == nil {
			t.Errorf("%v to %v: %.20q became %x", tt.from, tt.to, tt.in, got)
		} else {
			wantInvalid(t, err, "")
		}
	}
}

// TestCastPairs has every pair of kinds of scalars: what can become what.
func TestCastPairs(t *testing.T) {
	allowed := map[schema.Scalar][]schema.Scalar{
		boolean:                  {str},
		int32s:                   {int64s, float, double, str, date, timeMs, timeUs, millis, micros, nanos, local, dec(column.Int32, 7, 2), dec(column.Fixed, 20, 3)},
		int64s:                   {float, double, str, timeUs, millis, micros, nanos, local, dec(column.Int32, 7, 2), dec(column.Fixed, 20, 3)},
		float:                    {double, str, dec(column.Int32, 7, 2), dec(column.Fixed, 20, 3)},
		double:                   {str, dec(column.Int32, 7, 2), dec(column.Fixed, 20, 3)},
		str:                      {raw, fixed4, date, dec(column.Int32, 7, 2), dec(column.Fixed, 20, 3)},
		raw:                      {str, fixed4, dec(column.Int32, 7, 2), dec(column.Fixed, 20, 3)},
		fixed4:                   {raw, dec(column.Int32, 7, 2), dec(column.Fixed, 20, 3)},
		date:                     {int32s, int64s, float, double, str},
		timeMs:                   {int32s, int64s, float, double},
		timeUs:                   {int64s, float, double},
		millis:                   {int64s, float, double, micros, nanos, local, int96},
		micros:                   {int64s, float, double, millis, nanos, local, int96},
		nanos:                    {int64s, float, double, millis, micros, local, int96},
		local:                    {int64s, float, double, millis, micros, nanos, int96},
		int96:                    {millis, micros, nanos, local},
		dec(column.Int32, 7, 2):  {str, dec(column.Fixed, 20, 3)},
		dec(column.Fixed, 20, 3): {str, dec(column.Int32, 7, 2)},
	}
	for _, from := range scalars {
		for _, to := range scalars {
			_, err := schema.CastFor(from, to)
			want := from == to
			for _, s := range allowed[from] {
				want = want || s == to
			}
			if want != (err == nil) {
				t.Errorf("%v to %v: %v", from, to, err)
			}
			if err != nil {
				wantInvalid(t, err, "cannot become")
			}
			if from == to {
				if c, _ := schema.CastFor(from, to); c != nil {
					t.Errorf("%v needs a cast to itself", from)
				}
			}
		}
	}
}

func TestJavaText(t *testing.T) {
	for _, tt := range []struct {
		v    float64
		want string
	}{
		{0, "0.0"},
		{math.Copysign(0, -1), "-0.0"},
		{1, "1.0"},
		{-1.5, "-1.5"},
		{100, "100.0"},
		{0.001, "0.001"},
		{0.0009999, "9.999E-4"},
		{1e-5, "1.0E-5"},
		{-1.25e-5, "-1.25E-5"},
		{9999999, "9999999.0"},
		{9999999.999999998, "9999999.999999998"},
		{1e7, "1.0E7"},
		{12345678.9, "1.23456789E7"},
		{1e10, "1.0E10"},
		{1.0e23, "1.0E23"},
		{math.MaxFloat64, "1.7976931348623157E308"},
		{2.2250738585072014e-308, "2.2250738585072014E-308"},
		{4.9e-324, "4.9E-324"},
		{9.9e-324, "9.9E-324"},
		{2e-323, "2.0E-323"},
		{math.NaN(), "NaN"},
		{math.Inf(1), "Infinity"},
		{math.Inf(-1), "-Infinity"},
	} {
		if got, err := cast(double, str, f64(tt.v)); err != nil || got != tt.want {
			t.Errorf("double %v is %q, %v, want %q", tt.v, got, err, tt.want)
		}
		if got := double.TextOf([]byte(f64(tt.v))); got != tt.want {
			t.Errorf("double %v in a key is %q, want %q", tt.v, got, tt.want)
		}
	}
	for _, tt := range []struct {
		v    float32
		want string
	}{
		{1.1, "1.1"},
		{0.001, "0.001"},
		{1e7, "1.0E7"},
		{16777216, "1.6777216E7"},
		{1e-3 / 2, "5.0E-4"},
		{3.4028235e38, "3.4028235E38"},
		{1.4e-45, "1.4E-45"},
		{1.17549435e-38, "1.1754944E-38"},
		{float32(math.Inf(-1)), "-Infinity"},
	} {
		if got, err := cast(float, str, f32(tt.v)); err != nil || got != tt.want {
			t.Errorf("float %v is %q, %v, want %q", tt.v, got, err, tt.want)
		}
	}
}

func TestTextOf(t *testing.T) {
	for _, tt := range []struct {
		s        schema.Scalar
		in, want string
	}{
		{str, "a:b,ü", "a:b,ü"},
		{raw, "\x00", "\x00"},
		{fixed4, "abcd", "abcd"},
		{boolean, "\x01", "true"},
		{boolean, "\x00", "false"},
		{int32s, i32(-5), "-5"},
		{int64s, i64(-5), "-5"},
		{double, f64(1e10), "1.0E10"},
		{date, i32(-5), "-5"}, // times and dates go into keys as their numbers
		{micros, i64(-5), "-5"},
		{timeMs, i32(5), "5"},
		{dec(column.Int32, 7, 2), i32(-5), "-0.05"},
		{dec(column.Bytes, 7, 2), "\xfb", "-0.05"},
		{dec(column.Fixed, 20, 3), hexa("00000000000000000000000000000001"), "0.001"},
	} {
		if got := tt.s.TextOf([]byte(tt.in)); got != tt.want {
			t.Errorf("%v %x is %q, want %q", tt.s, tt.in, got, tt.want)
		}
	}
}

func TestParse(t *testing.T) {
	dayOf := func(y int, m time.Month, d int) int32 {
		return int32(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400)
	}
	for _, tt := range []struct {
		s        schema.Scalar
		in, want string
	}{
		{str, "a b", "a b"},
		{str, "", ""},
		{raw, "\xff", "\xff"},
		{boolean, "true", "\x01"},
		{boolean, "false", "\x00"},
		{int32s, "-7", i32(-7)},
		{int32s, "20200913", i32(20200913)},
		{int64s, "9223372036854775807", i64(math.MaxInt64)},
		{float, "1.5", f32(1.5)},
		{double, "-1.0E10", f64(-1e10)},
		{dec(column.Int32, 7, 2), "-12.345", i32(-1235)},
		{dec(column.Fixed, 20, 3), "-1", hexa("fffffffffffffffffffffffffffffc18")},
		{dec(column.Bytes, 20, 3), "1", hexa("03e8")},
		{date, "1970-01-01", i32(0)},
		{date, "1969-12-31", i32(-1)},
		{date, "2020/09/13", i32(dayOf(2020, 9, 13))},
		{date, "20200913", i32(dayOf(2020, 9, 13))},
		{date, "2020-09", i32(dayOf(2020, 9, 1))},
		{date, "2020", i32(dayOf(2020, 1, 1))},
		{date, "18518", i32(18518)}, // days, as the Avro form of a date
		{micros, "1600000000000000", i64(1600000000000000)},
		{micros, "-5", i64(-5)},
		{micros, "2020-09-13", i64(int64(dayOf(2020, 9, 13)) * dayMicro)},
		{millis, "2020/09/13/12", i64(int64(dayOf(2020, 9, 13))*86400*1000 + 12*3600*1000)},
	} {
		if got, err := tt.s.Parse(tt.in); err != nil || string(got) != tt.want {
			t.Errorf("%v of %q: %x, %v, want %x", tt.s, tt.in, got, err, tt.want)
		}
	}
	for _, tt := range []struct {
		s  schema.Scalar
		in string
	}{
		{boolean, ""},
		{boolean, "yes"},
		{int32s, ""},
		{int32s, "2147483648"},
		{int32s, "1.0"},
		{int64s, "0x10"},
		{float, "1e39"},
		{double, "x"},
		{dec(column.Int32, 7, 2), "1000000"},
		{dec(column.Int32, 7, 2), "x"},
		{date, "yesterday"},
		{date, "2021-02-30"},
		{date, ""},
		{nanos, "2999-01-01"},
		{fixed4, "abcd"},
		{int96, "2020-01-01"},
	} {
		_, err := tt.s.Parse(tt.in)
		if err == nil {
			t.Errorf("%v of %q: no error", tt.s, tt.in)
			continue
		}
		wantInvalid(t, err, "")
	}
}

// TestDecimalsByText compares rescaled decimals with the rounding of decimal text, and reads each form back.
func TestDecimalsByText(t *testing.T) {
	forms := []column.Kind{column.Int32, column.Int64, column.Bytes, column.Fixed}
	most := map[column.Kind]int{column.Int32: 9, column.Int64: 18, column.Bytes: 38, column.Fixed: 38}
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string) schema.Scalar {
			k := rapid.SampledFrom(forms).Draw(rt, name)
			precision := rapid.IntRange(1, most[k]).Draw(rt, "precision")
			return dec(k, precision, rapid.IntRange(0, precision).Draw(rt, "scale"))
		}
		from, to := draw("from"), draw("to")
		limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(from.Precision)), nil)
		v := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 16).Draw(rt, "value"))
		v.Rem(v, limit)
		if rapid.Bool().Draw(rt, "negative") {
			v.Neg(v)
		}
		plain := new(big.Rat).SetFrac(v, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(from.Scale)), nil))
		b, err := from.Parse(plain.FloatString(from.Scale))
		if err != nil {
			rt.Fatal(err)
		}
		if got := from.Unscaled(b); got.Cmp(v) != 0 {
			rt.Fatalf("%v of %v was read back as %v", from, v, got)
		}
		got, err := cast(from, to, string(b))
		// Rat rounds halves away from zero, as HALF_UP does.
		want, _ := new(big.Int).SetString(strings.Replace(plain.FloatString(to.Scale), ".", "", 1), 10)
		fits := want.CmpAbs(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(to.Precision)), nil)) < 0
		if fits != (err == nil) {
			rt.Fatalf("%v of %v to %v: %v", from, v, to, err)
		}
		if fits && to.Unscaled([]byte(got)).Cmp(want) != 0 {
			rt.Fatalf("%v of %v to %v: %v, want %v", from, v, to, to.Unscaled([]byte(got)), want)
		}
	})
}

// TestTimestampsByTime compares conversions with what package time makes of them.
func TestTimestampsByTime(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		us := rapid.Int64Range(-62135596800_000_000, 253402300799_999_999).Draw(rt, "microseconds")
		at := time.UnixMicro(us).UTC()
		old, err := cast(micros, int96, i64(us))
		if err != nil {
			rt.Fatal(err)
		}
		midnight := at.Truncate(24 * time.Hour)
		if want := i96(int32(floor(midnight.Unix(), 86400)), int64(at.Sub(midnight))); old != want {
			rt.Fatalf("%v as INT96: %x, want %x", at, old, want)
		}
		for _, to := range []schema.Scalar{micros, millis} {
			want := us
			if to == millis {
				want = at.UnixMilli()
			}
			if got, err := cast(int96, to, old); err != nil || got != i64(want) {
				rt.Fatalf("%v from INT96 as %v: %x, %v, want %x", at, to, got, err, i64(want))
			}
		}
		day := int32(floor(midnight.Unix(), 86400))
		name, err := cast(date, str, i32(day))
		if err != nil || name != at.Format(time.DateOnly) {
			rt.Fatalf("day of %v: %s, %v", at, name, err)
		}
		if back, err := cast(str, date, name); err != nil || back != i32(day) {
			rt.Fatalf("day %s: %x, %v, want %x", name, back, err, i32(day))
		}
	})
}

func floor(v, by int64) int64 {
	q := v / by
	if v%by < 0 {
		q--
	}
	return q
}
