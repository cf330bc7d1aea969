package schema_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/schema"
)

func avroRecord(t testing.TB, fields ...string) *schema.Type {
	t.Helper()
	return must(schema.ParseAvro(`{"type": "record", "name": "t", "fields": [` + strings.Join(fields, ",") + `]}`))(t)
}

func avroField(name, typ string) string { return fmt.Sprintf(`{"name": %q, "type": %s}`, name, typ) }

const (
	decimalType = `{"type": "fixed", "name": "d", "size": 5, "logicalType": "decimal", "precision": 7, "scale": 2}`
	microsType  = `{"type": "long", "logicalType": "timestamp-micros"}`
	listType    = `{"type": "array", "items": ["null", "string"]}`
	pairType    = `{"type": "record", "name": "p", "fields": [{"name": "a", "type": "string"}, {"name": "b", "type": "int"}]}`
)

// Without a model each type has the form in which Hudi's own writer has it.
func TestTargetAlone(t *testing.T) {
	typ := avroRecord(t, avroField("i", `"int"`), avroField("s", `["null", "string"]`), avroField("d", decimalType),
		avroField("bd", `{"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 0}`), avroField("ts", microsType),
		avroField("l", listType), avroField("m", `{"type": "map", "values": "long"}`), avroField("p", pairType),
		avroField("e", `{"type": "enum", "name": "e", "symbols": ["A"]}`), avroField("u", `{"type": "string", "logicalType": "uuid"}`))
	m := must(schema.Target(typ, nil))(t)
	want := message(t, leaf(optional, "i", format.Int32), text(optional, "s"), leaf(optional, "d", format.FixedLenByteArray).length(4).decimal(7, 2),
		leaf(optional, "bd", format.FixedLenByteArray).length(9).decimal(20, 0), leaf(optional, "ts", format.Int64).as(deprecated.TimestampMicros),
		group(optional, "l", group(repeated, "list", text(optional, "element"))).as(deprecated.List),
		group(optional, "m", group(repeated, "key_value", text(required, "key"), leaf(optional, "value", format.Int64))).as(deprecated.Map),
		group(optional, "p", text(optional, "a"), leaf(optional, "b", format.Int32)), text(optional, "e"), text(optional, "u"))
	if diff := cmp.Diff(describe(want), describe(m)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	checkRoundTrip(t, m)
}

// A model gives its forms where they hold the type, and nothing else.
func TestTargetLike(t *testing.T) {
	list3 := group(optional, "c", group(repeated, "bag", text(optional, "array_element"))).as(deprecated.List)
	list2 := group(optional, "c", text(repeated, "array")).as(deprecated.List)
	plainList := group(optional, "c", group(repeated, "list", text(optional, "element"))).as(deprecated.List)
	fixed := leaf(optional, "c", format.FixedLenByteArray).length(4).decimal(7, 2)
	ts := leaf(optional, "c", format.Int64).as(deprecated.TimestampMicros)
	for _, tt := range []struct {
		name, typ  string
		like, want element
	}{
		{"no such column", `"int"`, text(optional, "x"), leaf(optional, "c", format.Int32)},
		{"the same", `"int"`, leaf(required, "c", format.Int32), leaf(optional, "c", format.Int32)},
		{"the type has widened", `"long"`, leaf(optional, "c", format.Int32), leaf(optional, "c", format.Int64)},
		{"enum for text", `"string"`, leaf(optional, "c", format.ByteArray).as(deprecated.Enum), leaf(optional, "c", format.ByteArray).as(deprecated.Enum)},
		{"bytes for text", `"string"`, leaf(optional, "c", format.ByteArray), text(optional, "c")},
		{"text for bytes", `"bytes"`, text(optional, "c"), leaf(optional, "c", format.ByteArray)},
		{"decimal in int", decimalType, leaf(optional, "c", format.Int32).decimal(7, 2), leaf(optional, "c", format.Int32).decimal(7, 2)},
		{"decimal in long", decimalType, leaf(optional, "c", format.Int64).decimal(7, 2), leaf(optional, "c", format.Int64).decimal(7, 2)},
		{"decimal in bytes", decimalType, leaf(optional, "c", format.ByteArray).decimal(7, 2), leaf(optional, "c", format.ByteArray).decimal(7, 2)},
		{
			"decimal in a longer fixed", decimalType, leaf(optional, "c", format.FixedLenByteArray).length(16).decimal(7, 2),
			leaf(optional, "c", format.FixedLenByteArray).length(16).decimal(7, 2),
		},
		{"decimal of another precision", decimalType, leaf(optional, "c", format.Int32).decimal(6, 2), fixed},
		{"decimal of another scale", decimalType, leaf(optional, "c", format.Int32).decimal(7, 1), fixed},
		{"bytes for a decimal", decimalType, leaf(optional, "c", format.ByteArray), fixed},
		{"old timestamp", microsType, leaf(optional, "c", format.Int96), leaf(optional, "c", format.Int96)},
		{"another unit", microsType, leaf(optional, "c", format.Int64).as(deprecated.TimestampMillis), ts},
		{"no unit", microsType, leaf(optional, "c", format.Int64), ts},
		{"old timestamp for a number", `"long"`, leaf(optional, "c", format.Int96), leaf(optional, "c", format.Int64)},
		{"list of three levels", listType, list3, list3},
		{"list of two levels", listType, list2, list2},
		{"no list", listType, text(optional, "c"), plainList},
		{
			"list of two levels, its records with a field more", `{"type": "array", "items": ` + pairType + `}`,
			group(optional, "c", group(repeated, "array", text(optional, "a"))).as(deprecated.List),
			group(optional, "c", group(repeated, "array", text(optional, "a"), leaf(optional, "b", format.Int32))).as(deprecated.List),
		},
		{
			"list of two levels that would look like one of three", `{"type": "array", "items": {"type": "record", "name": "p", "fields": [{"name": "a", "type": "string"}]}}`,
			group(optional, "c", group(repeated, "thing", text(optional, "a"), text(optional, "b"))).as(deprecated.List),
			group(optional, "c", group(repeated, "list", group(optional, "element", text(optional, "a")))).as(deprecated.List),
		},
		{
			"list of two levels of lists of two levels", `{"type": "array", "items": ` + listType + `}`,
			group(optional, "c", group(repeated, "array", text(repeated, "array")).as(deprecated.List)).as(deprecated.List),
			group(optional, "c", group(repeated, "array", text(repeated, "array")).as(deprecated.List)).as(deprecated.List),
		},
		{
			"list of two levels of maps", `{"type": "array", "items": {"type": "map", "values": "int"}}`,
			group(optional, "c", group(repeated, "array", group(repeated, "kv", text(required, "k"), leaf(optional, "v", format.Int32))).as(deprecated.Map)).as(deprecated.List),
			group(optional, "c", group(repeated, "array", group(repeated, "kv", text(required, "k"), leaf(optional, "v", format.Int32))).as(deprecated.Map)).as(deprecated.List),
		},
		{
			"list of records of one field: never two levels", `{"type": "array", "items": {"type": "record", "name": "r", "fields": [{"name": "x", "type": "int"}]}}`,
			group(optional, "c", group(repeated, "array", leaf(required, "x", format.Int32))).as(deprecated.List),
			group(optional, "c", group(repeated, "list", group(optional, "element", leaf(optional, "x", format.Int32)))).as(deprecated.List),
		},
		{
			"map", `{"type": "map", "values": ["null", "int"]}`,
			group(optional, "c", group(repeated, "map", text(required, "k"), leaf(required, "v", format.Int32)).as(deprecated.MapKeyValue)).as(deprecated.Map),
			group(optional, "c", group(repeated, "map", text(required, "k"), leaf(optional, "v", format.Int32)).as(deprecated.MapKeyValue)).as(deprecated.Map),
		},
		{
			"record: its order is the type's", pairType,
			group(required, "c", leaf(required, "b", format.Int32), text(required, "x"), text(required, "a")),
			group(optional, "c", text(optional, "a"), leaf(optional, "b", format.Int32)),
		},
		{"record: it was none", pairType, text(optional, "c"), group(optional, "c", text(optional, "a"), leaf(optional, "b", format.Int32))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			like := message(t, tt.like)
			m := must(schema.Target(avroRecord(t, avroField("c", tt.typ)), like))(t)
			want := message(t, tt.want)
			if diff := cmp.Diff(describe(want), describe(m)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got, want := m.Elements()[1].ConvertedType, elements(tt.want)[1].ConvertedType; got != want {
				t.Errorf("annotated %v, want %v", got, want)
			}
			checkRoundTrip(t, m)
		})
	}
}

func TestTargetRefuses(t *testing.T) {
	for _, tt := range []struct{ typ, want string }{
		{`["int", "string"]`, "union of 2 types"},
		{`{"type": "record", "name": "e", "fields": []}`, "without fields"},
		{`{"type": "array", "items": {"type": "record", "name": "e", "fields": []}}`, "without fields"},
		{`{"type": "map", "values": ["int", "string"]}`, "union"},
		{`{"type": "fixed", "name": "f", "size": 0}`, "no bytes"},
	} {
		_, err := schema.Target(avroRecord(t, avroField("c", tt.typ)), nil)
		wantInvalid(t, err, tt.want)
	}
	_, err := schema.Target(&schema.Type{Kind: schema.String}, nil)
	wantInvalid(t, err, "must be a record")
}

func TestDecimalBytes(t *testing.T) {
	for precision := 1; precision <= 76; precision++ {
		typ := avroRecord(t, avroField("c", fmt.Sprintf(`{"type": "bytes", "logicalType": "decimal", "precision": %d}`, precision)))
		size := must(schema.Target(typ, nil))(t).Leaves[0].Scalar.Size
		greatest := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(precision)), nil)
		greatest.Sub(greatest, big.NewInt(1))
		if want := greatest.BitLen()/8 + 1; size != want { // one bit for the sign
			t.Errorf("decimal(%d) in %d bytes, want %d", precision, size, want)
		}
	}
}

func TestAdmits(t *testing.T) {
	base := []element{
		leaf(optional, "i", format.Int32), text(optional, "s"),
		group(optional, "l", group(repeated, "list", text(optional, "element"))).as(deprecated.List),
		group(optional, "g", text(optional, "a"), text(optional, "b")),
		group(optional, "ll", group(repeated, "array", text(repeated, "array")).as(deprecated.List)).as(deprecated.List),
	}
	with := func(at int, e element) []element {
		out := append([]element(nil), base...)
		out[at] = e
		return out
	}
	for _, tt := range []struct {
		name string
		file []element
		want bool
	}{
		{"the same", base, true},
		{"a required column", with(0, leaf(required, "i", format.Int32)), true},
		{"the new annotation", with(1, leaf(optional, "s", format.ByteArray).logical(&format.StringType{})), true},
		{"required elements", with(2, group(required, "l", group(repeated, "list", text(required, "element"))).as(deprecated.List)), true},
		{"a column more", append(append([]element(nil), base...), text(optional, "x")), false},
		{"a column less", base[:4], false},
		{"another order", []element{base[1], base[0], base[2], base[3], base[4]}, false},
		{"another name", with(0, leaf(optional, "I", format.Int32)), false},
		{"another type", with(0, leaf(optional, "i", format.Int64)), false},
		{"another meaning", with(0, leaf(optional, "i", format.Int32).as(deprecated.Date)), false},
		{"no meaning", with(1, leaf(optional, "s", format.ByteArray)), false},
		{"another list", with(2, group(optional, "l", text(repeated, "array")).as(deprecated.List)), false},
		{"other names in a list", with(2, group(optional, "l", group(repeated, "list", text(optional, "item"))).as(deprecated.List)), false},
		{"no list", with(2, group(optional, "l", group(repeated, "list", text(optional, "element")))), false},
		{"a field less", with(3, group(optional, "g", text(optional, "a"))), false},
		{"fields in another order", with(3, group(optional, "g", text(optional, "b"), text(optional, "a"))), false},
		{"elements that are no lists", with(4, group(optional, "ll", group(repeated, "array", text(repeated, "array"))).as(deprecated.List)), false},
	} {
		if got := message(t, base...).Admits(message(t, tt.file...)); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	tight, loose := message(t, text(required, "a")), message(t, text(optional, "a"))
	if tight.Admits(loose) {
		t.Error("a column that must be there admits nulls")
	}
	fieldID := text(optional, "a")
	fieldID.FieldID = 7
	if !loose.Admits(message(t, fieldID)) {
		t.Error("a field id counts")
	}
	if got := message(t, fieldID).Elements()[1].FieldID; got != 0 {
		t.Errorf("a field id %d was handed on", got)
	}
}
