package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// at is a value with its levels, in the leaf column that nextColumn counts.
func at(v parquet.Value, rep, def, column int) parquet.Value { return v.Level(rep, def, column) }

func num(n int32, rep, def, column int) parquet.Value {
	return at(parquet.Int32Value(n), rep, def, column)
}

func text(s string, rep, def, column int) parquet.Value {
	return at(parquet.ByteArrayValue([]byte(s)), rep, def, column)
}

func null(rep, def, column int) parquet.Value { return at(parquet.NullValue(), rep, def, column) }

// parquetFile writes rows, and lets edit change the schema that the footer tells: parquet-go writes only today's forms.
func parquetFile(t *testing.T, root parquet.Node, rows []parquet.Row, edit func(map[string]*format.SchemaElement)) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := parquet.NewWriter(&buf, parquet.NewSchema("row", root))
	for i, row := range rows {
		if _, err := w.WriteRows([]parquet.Row{row}); err != nil {
			t.Fatal(err)
		}
		if i == 0 && len(rows) > 2 { // rows in two row groups
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if edit == nil {
		return buf.Bytes()
	}
	file := buf.Bytes()
	length := int(binary.LittleEndian.Uint32(file[len(file)-8:]))
	body, footer := file[:len(file)-8-length], file[len(file)-8-length:len(file)-8]
	var meta format.FileMetaData
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), footer, &meta); err != nil {
		t.Fatal(err)
	}
	byName := map[string]*format.SchemaElement{}
	for i := range meta.Schema {
		byName[meta.Schema[i].Name] = &meta.Schema[i]
	}
	edit(byName)
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), &meta)
	if err != nil {
		t.Fatal(err)
	}
	out := append(bytes.Clone(body), footer...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(footer)))
	return append(out, "PAR1"...)
}

func converted(e *format.SchemaElement, c deprecated.ConvertedType) {
	e.LogicalType = format.LogicalType{}
	e.ConvertedType = thrift.New(c)
}

func int96(julianDay uint32, nanos int64) parquet.Value {
	return parquet.Int96Value(deprecated.Int96{uint32(nanos), uint32(nanos >> 32), julianDay})
}

var i32 = parquet.Leaf(parquet.Int32Type)

// rowCases have a file's schema and rows, and the JSON of each row.
var rowCases = []struct {
	name string
	root parquet.Group
	rows []parquet.Row
	edit func(map[string]*format.SchemaElement)
	want string
}{
	{
		name: "nulls and levels",
		root: parquet.Group{"a": parquet.Optional(parquet.Group{"x": parquet.Optional(i32), "y": i32})},
		rows: []parquet.Row{{null(0, 0, 0), null(0, 0, 1)}, {null(0, 1, 0), num(2, 0, 1, 1)}, {num(1, 0, 2, 0), num(2, 0, 1, 1)}},
		want: `{"a":null} {"a":{"x":null,"y":2}} {"a":{"x":1,"y":2}}`,
	},
	{
		name: "list of three levels",
		root: parquet.Group{"a": parquet.Optional(parquet.List(parquet.Optional(i32))), "b": i32},
		rows: []parquet.Row{
			{null(0, 0, 0), num(1, 0, 0, 1)},
			{null(0, 1, 0), num(2, 0, 0, 1)},
			{num(1, 0, 3, 0), null(1, 2, 0), num(3, 1, 3, 0), num(3, 0, 0, 1)},
		},
		want: `{"a":null,"b":1} {"a":[],"b":2} {"a":[1,null,3],"b":3}`,
	},
	{
		name: "list of two levels, as parquet-avro writes it",
		root: parquet.Group{"a": parquet.Optional(parquet.Group{"array": parquet.Repeated(i32)})},
		rows: []parquet.Row{{null(0, 0, 0)}, {null(0, 1, 0)}, {num(1, 0, 2, 0), num(2, 1, 2, 0)}},
		edit: func(e map[string]*format.SchemaElement) { converted(e["a"], deprecated.List) },
		want: `{"a":null} {"a":[]} {"a":[1,2]}`,
	},
	{
		name: "two-level list of records with one field",
		root: parquet.Group{"a": parquet.Group{"array": parquet.Repeated(parquet.Group{"x": parquet.Optional(i32)})}},
		rows: []parquet.Row{{null(0, 0, 0)}, {num(1, 0, 2, 0), null(1, 1, 0)}},
		edit: func(e map[string]*format.SchemaElement) { converted(e["a"], deprecated.List) },
		want: `{"a":[]} {"a":[{"x":1},{"x":null}]}`,
	},
	{
		name: "list of lists of two levels",
		root: parquet.Group{"a": parquet.Group{"array": parquet.Repeated(parquet.Group{"b": parquet.Repeated(i32)})}},
		rows: []parquet.Row{{num(1, 0, 2, 0), num(2, 2, 2, 0), null(1, 1, 0), num(3, 1, 2, 0)}},
		edit: func(e map[string]*format.SchemaElement) {
			converted(e["a"], deprecated.List)
			converted(e["array"], deprecated.List)
		},
		want: `{"a":[[1,2],[],[3]]}`,
	},
	{
		name: "repeated without a list around it",
		root: parquet.Group{"a": parquet.Repeated(i32), "b": parquet.Repeated(parquet.Group{"x": i32})},
		rows: []parquet.Row{{num(1, 0, 1, 0), num(2, 1, 1, 0), null(0, 0, 1)}, {null(0, 0, 0), num(3, 0, 1, 1)}},
		want: `{"a":[1,2],"b":[]} {"a":[],"b":[{"x":3}]}`,
	},
	{
		name: "map",
		root: parquet.Group{"a": parquet.Optional(parquet.Map(parquet.String(), parquet.Optional(i32)))},
		rows: []parquet.Row{
			{null(0, 0, 0), null(0, 0, 1)},
			{null(0, 1, 0), null(0, 1, 1)},
			{text("k\"", 0, 2, 0), text("l", 1, 2, 0), num(1, 0, 3, 1), null(1, 2, 1)},
		},
		want: `{"a":null} {"a":{}} {"a":{"k\"":1,"l":null}}`,
	},
	{
		name: "map of the old form with numbers for keys",
		root: parquet.Group{"a": parquet.Group{"map": parquet.Repeated(parquet.Group{"key": i32, "value": i32})}},
		rows: []parquet.Row{{num(1, 0, 1, 0), num(2, 1, 1, 0), num(3, 0, 1, 1), num(4, 1, 1, 1)}},
		edit: func(e map[string]*format.SchemaElement) { converted(e["a"], deprecated.MapKeyValue) },
		want: `{"a":{"1":3,"2":4}}`,
	},
	{
		name: "decimals",
		root: parquet.Group{
			"a": parquet.Decimal(2, 9, parquet.Int32Type), "b": parquet.Decimal(0, 18, parquet.Int64Type),
			"c": parquet.Decimal(18, 38, parquet.FixedLenByteArrayType(16)), "d": parquet.Decimal(3, 10, parquet.ByteArrayType),
		},
		rows: []parquet.Row{{
			num(-5, 0, 0, 0), at(parquet.Int64Value(math.MaxInt64), 0, 0, 1),
			at(parquet.FixedLenByteArrayValue(append(bytes.Repeat([]byte{0xff}, 15), 0xfe)), 0, 0, 2), text("\x00\x80", 0, 0, 3),
		}},
		want: `{"a":-0.05,"b":9223372036854775807,"c":-0.000000000000000002,"d":0.128}`,
	},
	{
		name: "decimal of the old form",
		root: parquet.Group{"a": parquet.Leaf(parquet.ByteArrayType)},
		rows: []parquet.Row{{text("\x30\x39", 0, 0, 0)}},
		edit: func(e map[string]*format.SchemaElement) {
			converted(e["a"], deprecated.Decimal)
			e["a"].Scale, e["a"].Precision = thrift.New(int32(2)), thrift.New(int32(5))
		},
		want: `{"a":123.45}`,
	},
	{
		name: "times",
		root: parquet.Group{
			"a": parquet.Date(), "b": parquet.Timestamp(parquet.Microsecond), "c": parquet.TimestampAdjusted(parquet.Millisecond, false),
			"d": parquet.Timestamp(parquet.Nanosecond), "e": parquet.Leaf(parquet.Int96Type), "f": parquet.Time(parquet.Millisecond),
		},
		rows: []parquet.Row{{
			num(-1, 0, 0, 0), at(parquet.Int64Value(-1), 0, 0, 1), at(parquet.Int64Value(1_769_817_600_123), 0, 0, 2),
			at(parquet.Int64Value(1), 0, 0, 3), at(int96(2440589, 1500), 0, 0, 4), num(3_723_004, 0, 0, 5),
		}},
		want: `{"a":"1969-12-31","b":"1969-12-31T23:59:59.999999Z","c":"2026-01-31T00:00:00.123000",` +
			`"d":"1970-01-01T00:00:00.000000001Z","e":"1970-01-02T00:00:00.000001500Z","f":"01:02:03.004000"}`,
	},
	{
		name: "timestamp of the old form",
		root: parquet.Group{"a": parquet.Leaf(parquet.Int64Type)},
		rows: []parquet.Row{{at(parquet.Int64Value(1_000_001), 0, 0, 0)}},
		edit: func(e map[string]*format.SchemaElement) { converted(e["a"], deprecated.TimestampMicros) },
		want: `{"a":"1970-01-01T00:00:01.000001Z"}`,
	},
	{
		name: "numbers",
		root: parquet.Group{
			"a": parquet.Leaf(parquet.FloatType), "b": parquet.Leaf(parquet.DoubleType), "c": parquet.Uint(64), "d": parquet.Leaf(parquet.BooleanType),
		},
		rows: []parquet.Row{
			{at(parquet.FloatValue(0.1), 0, 0, 0), at(parquet.DoubleValue(math.Copysign(0, -1)), 0, 0, 1), at(parquet.Int64Value(-1), 0, 0, 2), at(parquet.BooleanValue(true), 0, 0, 3)},
			{at(parquet.FloatValue(float32(math.NaN())), 0, 0, 0), at(parquet.DoubleValue(math.Inf(-1)), 0, 0, 1), at(parquet.Int64Value(1), 0, 0, 2), at(parquet.BooleanValue(false), 0, 0, 3)},
			{at(parquet.FloatValue(1), 0, 0, 0), at(parquet.DoubleValue(1e300), 0, 0, 1), at(parquet.Int64Value(1), 0, 0, 2), at(parquet.BooleanValue(false), 0, 0, 3)},
		},
		want: `{"a":0.1,"b":-0.0,"c":18446744073709551615,"d":true} {"a":"NaN","b":"-Infinity","c":1,"d":false} {"a":1.0,"b":1e+300,"c":1,"d":false}`,
	},
	{
		name: "bytes",
		root: parquet.Group{"a": parquet.String(), "b": parquet.Leaf(parquet.ByteArrayType), "c": parquet.UUID()},
		rows: []parquet.Row{{
			text("ü\"\\\n\x01\xff", 0, 0, 0), text("\x00\xff", 0, 0, 1), at(parquet.FixedLenByteArrayValue([]byte("0123456789abcdef")), 0, 0, 2),
		}},
		want: `{"a":"ü\"\\\n\u0001` + "\ufffd" + `","b":"AP8=","c":"30313233-3435-3637-3839-616263646566"}`,
	},
}

func TestRowsAsJSON(t *testing.T) {
	for _, c := range rowCases {
		t.Run(c.name, func(t *testing.T) {
			file := parquetFile(t, c.root, c.rows, c.edit)
			rows, err := openRows(bytes.NewReader(file), int64(len(file)), nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for rows.next() {
				line := rows.appendJSON(nil)
				if !json.Valid(line) {
					t.Errorf("not JSON: %s", line)
				}
				got = append(got, string(line))
			}
			if err := rows.close(); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestRowsAsCSV(t *testing.T) {
	root := parquet.Group{
		"a": parquet.Optional(parquet.String()), "b": parquet.Optional(parquet.List(i32)), "c": parquet.Date(), "d": parquet.Optional(i32),
	}
	file := parquetFile(t, root, []parquet.Row{
		{text("x,\"y\"\n", 0, 1, 0), num(1, 0, 2, 1), num(2, 1, 2, 1), num(0, 0, 0, 2), num(7, 0, 1, 3)},
		{text("", 0, 1, 0), null(0, 1, 1), num(1, 0, 0, 2), null(0, 0, 3)},
		{null(0, 0, 0), null(0, 0, 1), num(2, 0, 0, 2), null(0, 0, 3)},
	}, nil)
	for _, c := range []struct {
		columns []string
		want    string
	}{
		{nil, "\"x,\"\"y\"\"\n\",\"[1,2]\",1970-01-01,7|\"\",[],1970-01-02,|,,1970-01-03,|"},
		{[]string{"d", "a"}, "7,\"x,\"\"y\"\"\n\"|,\"\"|,|"},
	} {
		rows, err := openRows(bytes.NewReader(file), int64(len(file)), c.columns)
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		for rows.next() {
			got = append(rows.appendCSV(got), '|')
		}
		if err := rows.close(); err != nil || string(got) != c.want {
			t.Errorf("%v: got %q, %v; want %q", c.columns, got, err, c.want)
		}
	}
	if _, err := openRows(bytes.NewReader(file), int64(len(file)), []string{"e"}); exitStatus(err) != exitUsage || !strings.Contains(err.Error(), "a, b, c, d") {
		t.Errorf("unknown column: %v", err)
	}
}

// A cut or changed file is an error, never fewer rows.
func TestRowsOfDamagedFile(t *testing.T) {
	root := parquet.Group{"a": parquet.Optional(parquet.List(parquet.Optional(i32)))}
	file := parquetFile(t, root, []parquet.Row{{num(1, 0, 3, 0), num(2, 1, 3, 0)}}, nil)
	if _, err := openRows(bytes.NewReader(file[:len(file)-1]), int64(len(file)-1), nil); err == nil {
		t.Error("a cut file opens")
	}
	broken := bytes.Clone(file)
	for i := 4; i < 40; i++ {
		broken[i] = 0xff
	}
	rows, err := openRows(bytes.NewReader(broken), int64(len(broken)), nil)
	if err != nil {
		return
	}
	for rows.next() {
		rows.appendJSON(nil)
	}
	if rows.close() == nil {
		t.Error("a damaged page is read")
	}
}
