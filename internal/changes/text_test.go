package changes

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// textOf renders a record of one column, of an Avro type, in both ways. entries are those of its leaves.
func textOf(t *testing.T, avroType string, leaves ...*column.Vector) (record, row string) {
	t.Helper()
	table, err := schema.ParseAvro(`{"type":"record","name":"r","fields":[{"name":"c","type":` + avroType + `,"default":null}]}`)
	if err != nil {
		t.Fatal(err)
	}
	target, err := schema.Target(table, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(leaves) != len(target.Leaves) {
		t.Fatalf("%d columns, want %d", len(leaves), len(target.Leaves))
	}
	fields, err := newAssembler(target).fields(target.Fields, func(leaf int) (*column.Vector, column.Span, error) {
		v := leaves[leaf]
		v.Leaf = target.Leaves[leaf].Leaf
		return v, v.All(), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(appendRecord(nil, table, fields, bytesHash)), string(appendRow(nil, fields, []int{0}))
}

// leaf makes the entries of a column: levels, in pairs of repetition and definition, and values.
func leaf(kind column.Kind, size int, levels []byte, values ...[]byte) *column.Vector {
	v := column.New(column.Leaf{Kind: kind, Size: size, MaxRep: 9, MaxDef: 9})
	for i := 0; i < len(levels); i += 2 {
		v.AppendLevels(levels[i], levels[i+1])
	}
	for _, b := range values {
		v.AppendValue(b)
	}
	return v
}

var there = []byte{0, 1} // of a column that is not nested

func i32(v int32) []byte   { return binary.LittleEndian.AppendUint32(nil, uint32(v)) }
func i64(v int64) []byte   { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }
func f64(v float64) []byte { return i64(int64(math.Float64bits(v))) }
func f32(v float32) []byte { return i32(int32(math.Float32bits(v))) }

// TestPrimitives has what Hudi's releases were seen to print.
func TestPrimitives(t *testing.T) {
	decimal := `["null",{"type":"fixed","name":"d","size":5,"logicalType":"decimal","precision":10,"scale":2}]`
	asBytes := `["null",{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}]`
	text := `["null","string"]`
	for _, c := range []struct {
		name, typ   string
		vector      *column.Vector
		record, row string
	}{
		{"null", text, leaf(column.Bytes, 0, []byte{0, 0}), `{"c": null}`, `{}`},
		{"text", text, leaf(column.Bytes, 0, there, []byte("plain")), `{"c": "plain"}`, `{"c":"plain"}`},
		{"no text", text, leaf(column.Bytes, 0, there, []byte{}), `{"c": ""}`, `{"c":""}`},
		{
			"escapes", text, leaf(column.Bytes, 0, there, []byte("q\" b\\ s/ \n\t\r\b\f\x01\x1f")),
			`{"c": "q\" b\\ s/ \n\t\r\b\f\u0001\u001F"}`, `{"c":"q\" b\\ s/ \n\t\r\b\f\u0001\u001F"}`,
		},
		{
			"characters that only Avro escapes", text, leaf(column.Bytes, 0, there, []byte("\x7f\u0080\u009f \u2000\u20ff")),
			`{"c": "\u007F\u0080\u009F \u2000\u20FF"}`, "{\"c\":\"\x7f\u0080\u009f \u2000\u20ff\"}",
		},
		{"far characters", text, leaf(column.Bytes, 0, there, []byte("åäö 漢字 😀")), `{"c": "åäö 漢字 😀"}`, `{"c":"åäö 漢字 😀"}`},
		{"boolean", `["null","boolean"]`, leaf(column.Bool, 0, there, []byte{1}), `{"c": true}`, `{"c":true}`},
		{"int", `["null","int"]`, leaf(column.Int32, 0, there, i32(-7)), `{"c": -7}`, `{"c":-7}`},
		{"long", `["null","long"]`, leaf(column.Int64, 0, there, i64(math.MinInt64)), `{"c": -9223372036854775808}`, `{"c":-9223372036854775808}`},
		{"float", `["null","float"]`, leaf(column.Float, 0, there, f32(1e-7)), `{"c": 1.0E-7}`, `{"c":1.0E-7}`},
		{"double", `["null","double"]`, leaf(column.Double, 0, there, f64(100)), `{"c": 100.0}`, `{"c":100.0}`},
		{"negative zero", `["null","double"]`, leaf(column.Double, 0, there, f64(math.Copysign(0, -1))), `{"c": -0.0}`, `{"c":-0.0}`},
		{"no number", `["null","double"]`, leaf(column.Double, 0, there, f64(math.NaN())), `{"c": "NaN"}`, `{"c":"NaN"}`},
		{"infinity", `["null","float"]`, leaf(column.Float, 0, there, f32(float32(math.Inf(-1)))), `{"c": "-Infinity"}`, `{"c":"-Infinity"}`},
		{"date", `["null",{"type":"int","logicalType":"date"}]`, leaf(column.Int32, 0, there, i32(-1)), `{"c": -1}`, `{"c":-1}`},
		{
			"microseconds", `["null",{"type":"long","logicalType":"timestamp-micros"}]`, leaf(column.Int64, 0, there, i64(-1499999755)),
			`{"c": -1499999755}`, `{"c":-1499999755}`,
		},
		{
			"milliseconds", `["null",{"type":"long","logicalType":"timestamp-millis"}]`, leaf(column.Int64, 0, there, i64(-2)),
			`{"c": -2}`, `{"c":-2000}`,
		},
		{"decimal", decimal, leaf(column.Fixed, 5, there, []byte{0xff, 0xff, 0xff, 0xff, 0x38}), `{"c": [-1, -1, -1, -1, 56]}`, `{"c":{"zero":false}}`},
		{"decimal zero", decimal, leaf(column.Fixed, 5, there, make([]byte, 5)), `{"c": [0, 0, 0, 0, 0]}`, `{"c":{"zero":true}}`},
		{"decimal in bytes", asBytes, leaf(column.Fixed, 5, there, []byte{0xff, 0xff, 0xff, 0xff, 0x38}), `{"c": "ÿ8"}`, `{"c":{"zero":false}}`},
		{
			"bytes", `["null","bytes"]`, leaf(column.Bytes, 0, there, []byte("\x89\x00\xff\"\\\nA")),
			`{"c": "\u0089\u0000ÿ\"\\\nA"}`, `{"c":"iQD/IlwKQQ=="}`,
		},
		{"no bytes", `["null","bytes"]`, leaf(column.Bytes, 0, there, []byte{}), `{"c": ""}`, `{"c":""}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			record, row := textOf(t, c.typ, c.vector)
			if record != c.record || row != c.row {
				t.Errorf("\nrecord %s\nwant   %s\nrow    %s\nwant   %s", record, c.record, row, c.row)
			}
		})
	}
}

func TestNested(t *testing.T) {
	list := `["null",{"type":"array","items":["null","int"]}]`
	structs := `["null",{"type":"array","items":{"type":"record","name":"p","fields":[{"name":"x","type":["null","int"]},{"name":"y","type":["null",{"type":"array","items":"string"}]}]}}]`
	dict := `["null",{"type":"map","values":["null","int"]}]`
	wide := `["null",{"type":"record","name":"w","fields":[{"name":"a","type":["null","int"]},{"name":"b","type":["null","int"]},{"name":"c","type":["null","int"]},` +
		`{"name":"e","type":["null","int"]},{"name":"f","type":["null","int"]},{"name":"g","type":["null","int"]}]}]`
	key := func(levels []byte, keys ...string) *column.Vector {
		v := leaf(column.Bytes, 0, levels)
		for _, k := range keys {
			v.AppendValue([]byte(k))
		}
		return v
	}
	one := func(def byte, v int32) *column.Vector {
		if def < 2 {
			return leaf(column.Int32, 0, []byte{0, def})
		}
		return leaf(column.Int32, 0, []byte{0, def}, i32(v))
	}
	for _, c := range []struct {
		name, typ   string
		vectors     []*column.Vector
		record, row string
	}{
		{"null list", list, []*column.Vector{leaf(column.Int32, 0, []byte{0, 0})}, `{"c": null}`, `{}`},
		{"empty list", list, []*column.Vector{leaf(column.Int32, 0, []byte{0, 1})}, `{"c": []}`, `{"c":[]}`},
		{"list", list, []*column.Vector{leaf(column.Int32, 0, []byte{0, 3, 1, 2, 1, 3}, i32(1), i32(3))}, `{"c": [1, null, 3]}`, `{"c":[1,null,3]}`},
		{
			"structs with lists", structs,
			[]*column.Vector{
				leaf(column.Int32, 0, []byte{0, 4, 1, 3, 1, 4}, i32(1), i32(3)),
				key([]byte{0, 6, 2, 6, 1, 4, 1, 3}, "a", "b"),
			},
			`{"c": [{"x": 1, "y": ["a", "b"]}, {"x": null, "y": []}, {"x": 3, "y": null}]}`, `{"c":[{"x":1,"y":["a","b"]},{"y":[]},{"x":3}]}`,
		},
		{
			"map in the order of Java's hashes", dict,
			[]*column.Vector{
				key([]byte{0, 2, 1, 2, 1, 2, 1, 2}, "k0", "k1", "k2", "k3"),
				leaf(column.Int32, 0, []byte{0, 3, 1, 2, 1, 3, 1, 3}, i32(0), i32(2), i32(3)),
			},
			`{"c": {"k3": 3, "k0": 0, "k1": null, "k2": 2}}`, `{"c":{"k0":0,"k2":2,"k3":3}}`,
		},
		{
			"map in the order of Scala's hashes", dict,
			[]*column.Vector{
				key([]byte{0, 2, 1, 2, 1, 2, 1, 2, 1, 2}, "k3", "k4", "k0", "k1", "k2"),
				leaf(column.Int32, 0, []byte{0, 3, 1, 3, 1, 3, 1, 2, 1, 3}, i32(3), i32(4), i32(0), i32(2)),
			},
			`{"c": {"k3": 3, "k4": 4, "k0": 0, "k1": null, "k2": 2}}`, `{"c":{"k2":2,"k0":0,"k4":4,"k3":3}}`,
		},
		{
			"wide struct", wide,
			[]*column.Vector{one(2, 1), one(2, 2), one(1, 0), one(2, 4), one(2, 5), one(2, 6)},
			`{"c": {"a": 1, "b": 2, "c": null, "e": 4, "f": 5, "g": 6}}`, `{"c":{"e":4,"f":5,"a":1,"b":2,"g":6}}`,
		},
		{"null struct", wide, []*column.Vector{one(0, 0), one(0, 0), one(0, 0), one(0, 0), one(0, 0), one(0, 0)}, `{"c": null}`, `{}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			record, row := textOf(t, c.typ, c.vectors...)
			if record != c.record || row != c.row {
				t.Errorf("\nrecord %s\nwant   %s\nrow    %s\nwant   %s", record, c.record, row, c.row)
			}
		})
	}
}

// TestColumnOrder0 has the order in which Hudi 0.15 was seen to print the columns of tables.
func TestColumnOrder0(t *testing.T) {
	meta := []string{"_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name"}
	for _, c := range []struct{ columns, want []string }{
		{
			[]string{"id", "ts", "v", "name", "part"},
			[]string{"_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name", "_hoodie_commit_seqno", "v", "part", "name", "_hoodie_commit_time", "ts", "id"},
		},
		{
			[]string{
				"id", "ts", "part", "flag", "tiny", "small", "big", "f", "d", "dec_small", "dec_mid", "dec_wide", "dec_neg", "day", "at", "atn", "raw", "words",
				"points", "counts", "address", "lookup", "wide", "decs", "days", "bins", "txt",
			},
			[]string{
				"raw", "dec_wide", "_hoodie_record_key", "_hoodie_partition_path", "lookup", "_hoodie_file_name", "points", "_hoodie_commit_seqno", "address", "decs",
				"dec_small", "words", "d", "wide", "small", "flag", "days", "part", "at", "tiny", "bins", "counts", "_hoodie_commit_time", "dec_mid", "atn", "f", "big", "ts",
				"txt", "dec_neg", "day", "id",
			},
		},
	} {
		names := append(append([]string(nil), meta...), c.columns...)
		var got []string
		for _, i := range mutableMapOrder(names) {
			got = append(got, names[i])
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	}
}

func TestHashes(t *testing.T) {
	for _, c := range []struct {
		text         string
		utf16, bytes int32
	}{
		{"", 0, 0},
		{"id", 3355, 3355},
		{"polygenelubricants", math.MinInt32, math.MinInt32},
		{"é", 233, -61*31 - 87},
		{"😀", 0xd83d*31 + 0xde00, ((-16*31-97)*31-104)*31 - 128},
	} {
		if got := stringHash(c.text); got != c.utf16 {
			t.Errorf("%q: hash of text %d, want %d", c.text, got, c.utf16)
		}
		if got := bytesHash(c.text); got != c.bytes {
			t.Errorf("%q: hash of bytes %d, want %d", c.text, got, c.bytes)
		}
	}
}
