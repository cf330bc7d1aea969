package schema_test

import (
	"math"
	"math/big"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

func TestValues(t *testing.T) {
	for _, tt := range []struct {
		s    schema.Scalar
		v    any
		want string
	}{
		{boolean, true, "\x01"},
		{boolean, false, "\x00"},
		{int32s, int32(-5), i32(-5)},
		{int64s, int64(math.MinInt64), i64(math.MinInt64)},
		{float, float32(-1.5), f32(-1.5)},
		{double, -1.5, f64(-1.5)},
		{str, "ü", "ü"},
		{raw, []byte{0xff}, "\xff"},
		{fixed4, []byte("abcd"), "abcd"},
		{date, int32(-1), i32(-1)},
		{micros, int64(-1), i64(-1)},
		{int96, []byte(i96(0, 1)), i96(0, 1)},
		{dec(column.Int32, 7, 2), big.NewRat(-5, 100), i32(-5)},
		{dec(column.Bytes, 20, 3), big.NewRat(1, 8), "\x7d"},
		{dec(column.Fixed, 20, 3), big.NewRat(-1, 1), hexa("fffffffffffffffffffffffffffffc18")},
	} {
		b, err := tt.s.Bytes(tt.v)
		if err != nil || string(b) != tt.want {
			t.Errorf("%v of %v: %x, %v, want %x", tt.s, tt.v, b, err, tt.want)
		}
		back := tt.s.Value(b)
		if r, ok := back.(*big.Rat); ok && r.Cmp(tt.v.(*big.Rat)) == 0 {
			continue
		}
		if !reflect.DeepEqual(back, tt.v) {
			t.Errorf("%v of %x: %v, want %v", tt.s, b, back, tt.v)
		}
	}
	for _, tt := range []struct {
		s schema.Scalar
		v any
	}{
		{int32s, 5},
		{int32s, int64(5)},
		{int64s, int32(5)},
		{float, 1.5},
		{double, float32(1.5)},
		{str, []byte("x")},
		{raw, "x"},
		{boolean, "true"},
		{fixed4, []byte("abc")},
		{int96, []byte("abc")},
		{int32s, nil},
		{int32s, big.NewRat(1, 1)},
		{dec(column.Int32, 7, 2), int32(5)},
		{dec(column.Bytes, 7, 2), []byte{1}},
		{dec(column.Int32, 7, 2), big.NewRat(1, 3)},
		{dec(column.Int32, 7, 2), big.NewRat(1, 1000)},
		{dec(column.Int32, 7, 2), big.NewRat(100000, 1)},
	} {
		b, err := tt.s.Bytes(tt.v)
		if err == nil {
			t.Errorf("%v of %T %v: %x", tt.s, tt.v, tt.v, b)
			continue
		}
		wantInvalid(t, err, "")
	}
}

func TestImages(t *testing.T) {
	rows := []element{leaf(optional, "id", format.Int64), group(optional, "l", group(repeated, "array", text(optional, "x"), text(optional, "y"))).as(deprecated.List)}
	m := message(t, rows...)
	before := describe(m)
	got := must(schema.Images("op", []string{"before", "after"}, m))(t)
	want := message(t, text(optional, "op"), group(optional, "before", rows...), group(optional, "after", rows...))
	if diff := cmp.Diff(describe(want), describe(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if describe(m) != before {
		t.Error("the schema of the rows was changed")
	}
	checkRoundTrip(t, got)
	if none := must(schema.Images("op", []string{"before"}, &schema.Message{}))(t); len(none.Fields) != 1 {
		t.Errorf("of rows without columns:\n%s", describe(none))
	}
}
