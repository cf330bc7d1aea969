package avro

import (
	"encoding/binary"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"

	"github.com/hudifs/hudifs/internal/hostiletest"
)

func TestAgainstGoavro(t *testing.T) {
	schema := `{"type":"record","name":"R","namespace":"a.b","fields":[
		{"name":"b","type":"boolean"},{"name":"i","type":"int"},{"name":"l","type":{"type":"long"}},{"name":"f","type":"float"},
		{"name":"d","type":"double"},{"name":"y","type":"bytes"},{"name":"s","type":{"type":"string","avro.java.string":"String"}},
		{"name":"x","type":{"type":"fixed","name":"F","size":3}},{"name":"e","type":{"type":"enum","name":"E","symbols":["A","B"]}},
		{"name":"n","type":["null","int"]},{"name":"m","type":{"type":"map","values":"long"}},
		{"name":"list","type":{"type":"array","items":["null",{"type":"record","name":"c.d.Inner","fields":[{"name":"again","type":["null","Inner"]}]}]}},
		{"name":"fixed2","type":"a.b.F"},{"name":"z","type":"null"}]}`
	codec, err := goavro.NewCodec(schema)
	if err != nil {
		t.Fatal(err)
	}
	native := map[string]any{
		"b": true, "i": -3, "l": int64(1) << 60, "f": float32(1.5), "d": -2.5, "y": []byte("yy"), "s": "text", "x": []byte("xxx"),
		"e": "B", "n": map[string]any{"int": 7}, "m": map[string]any{"k": 1, "l": -1}, "fixed2": []byte("FFF"), "z": nil,
		"list": []any{nil, map[string]any{"c.d.Inner": map[string]any{"again": map[string]any{"c.d.Inner": map[string]any{"again": nil}}}}},
	}
	data, err := codec.BinaryFromNative(nil, native)
	if err != nil {
		t.Fatal(err)
	}
	typ, err := parseSchema(0, schema)
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(0, data)
	got := plain(r.value(typ, 0, true))
	want := map[string]any{
		"b": true, "i": int64(-3), "l": int64(1) << 60, "f": 1.5, "d": -2.5, "y": []byte("yy"), "s": "text", "x": []byte("xxx"), "e": "B",
		"n": int64(7), "m": map[string]any{"k": int64(1), "l": int64(-1)}, "fixed2": []byte("FFF"), "z": nil,
		"list": []any{nil, map[string]any{"again": map[string]any{"again": nil}}},
	}
	if r.err != nil || r.pos != len(data) || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v, %v at %d\nwant %v", got, r.err, r.pos, want)
	}
	skip := NewReader(0, data)
	skip.value(typ, 0, false)
	if skip.err != nil || skip.pos != len(data) {
		t.Errorf("passing the value: %v at %d of %d", skip.err, skip.pos, len(data))
	}
	for n := range data {
		torn := NewReader(100, data[:n])
		torn.value(typ, 0, true)
		corrupt, ok := errors.AsType[*Error](torn.err)
		if !ok || corrupt.Offset < 100 || corrupt.Offset > int64(100+n) {
			t.Errorf("torn at %d: %v", n, torn.err)
		}
	}
}

// Blocks of arrays may give their size in bytes, after a negative count.
func TestBlocksWithSize(t *testing.T) {
	typ := &Type{Kind: Array, elem: &Type{Kind: Int}}
	r := NewReader(0, []byte{3, 4, 2, 4, 2, 6, 0})
	if got := r.value(typ, 0, true); r.err != nil || !reflect.DeepEqual(got, []any{int64(1), int64(2), int64(3)}) {
		t.Errorf("got %v, %v", got, r.err)
	}
}

func varint(n int64) string { return string(binary.AppendVarint(nil, n)) }

// What a hostile file claims must cost no more than what it holds.
func TestHostileContainers(t *testing.T) {
	wrap := func(schema, datum string) string {
		sync := strings.Repeat("s", syncLength)
		return Magic + varint(1) + varint(11) + "avro.schema" + varint(int64(len(schema))) + schema + varint(0) + sync +
			varint(1) + varint(int64(len(datum))) + datum + sync
	}
	field := func(typ string) string {
		return `{"type":"record","name":"R","fields":[{"name":"f","type":` + typ + `}]}`
	}
	for name, data := range map[string]string{
		"an array of two billion":     wrap(field(`{"type":"array","items":"long"}`), varint(1<<31)+"\x02"),
		"an array of nothings":        wrap(field(`{"type":"array","items":"null"}`), varint(1<<40)),
		"the smallest count":          wrap(field(`{"type":"array","items":"null"}`), varint(-1<<63)+varint(0)),
		"arrays of arrays of nothing": wrap(field(`{"type":"array","items":{"type":"array","items":"null"}}`), varint(1<<40)+strings.Repeat(varint(1<<40), 100)),
		"a map of nothings":           wrap(field(`{"type":"map","values":"null"}`), varint(1<<40)+strings.Repeat("\x00", 100)),
		"a record that holds itself":  wrap(field(`"R"`), ""),
		"empty records for ever":      wrap(field(`{"type":"array","items":{"type":"record","name":"E","fields":[]}}`), varint(1<<40)),
		"a fixed of two gigabytes":    wrap(field(`{"type":"fixed","name":"F","size":2147483647}`), "x"),
		"a long string":               wrap(field(`"string"`), varint(1<<40)),
		"a negative string":           wrap(field(`"string"`), varint(-5)),
		"a branch out of range":       wrap(field(`["null","int"]`), varint(2)),
		"a symbol out of range":       wrap(field(`{"type":"enum","name":"E","symbols":["A"]}`), varint(1)),
		"a schema without end":        wrap(strings.Repeat(`{"type":"array","items":`, 5000)+`"int"`+strings.Repeat("}", 5000), ""),
		"a deep JSON text":            wrap(strings.Repeat("[", 1_000_000), ""),
		"a missing type":              wrap(field(`"Q"`), ""),
		"no record":                   wrap(`"int"`, "\x02"),
		"fields of a wrong type":      wrap(`{"type":"record","name":"R","fields":[3]}`, ""),
		"a block beyond the end":      Magic + varint(0) + strings.Repeat("s", 16) + varint(1) + varint(1<<40),
		"a wrong sync marker":         wrap(field(`"int"`), "\x02")[:len(wrap(field(`"int"`), "\x02"))-1] + "x",
		"bytes left":                  wrap(field(`"int"`), "\x02\x02"),
		"nothings behind a number":    wrap(field(`{"type":"array","items":{"type":"record","name":"E","fields":[{"name":"n","type":"int"}`+strings.Repeat(`,{"name":"x","type":"null"}`, 1000)+`]}}`), varint(1<<16)+strings.Repeat("\x00", 1<<16)),
		"records within records":      wrap(field(strings.Repeat(`{"type":"record","name":"E","fields":[{"name":"n","type":`, 30)+`"int"`+strings.Repeat(`}]}`, 30)), strings.Repeat("\x00", 1<<20)),
		"a schema of two megabytes":   wrap(field(`"int"`)+strings.Repeat(" ", 2<<20), "\x02"),
	} {
		t.Run(name, func(t *testing.T) {
			hostiletest.Allocates(t, int64(1<<20+300*len(data)), func() {
				if _, err := Container([]byte(data), &Schemas{}); !errors.Is(err, ErrCorrupt) {
					t.Errorf("got %v, want ErrCorrupt", err)
				}
			})
		})
	}
}

// However large a file is, there is an end to the values that it may have.
func TestTooManyValues(t *testing.T) {
	if r := NewReader(0, make([]byte, maxValues)); r.budget > maxValues {
		t.Errorf("%d values are allowed", r.budget)
	}
}

func TestContainerCodec(t *testing.T) {
	data := Magic + varint(1) + varint(10) + "avro.codec" + varint(7) + "deflate" + varint(0) + strings.Repeat("s", syncLength)
	if _, err := Container([]byte(data), &Schemas{}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("got %v, want ErrUnsupported", err)
	}
}

func TestRecordPicksFields(t *testing.T) {
	typ, err := parseSchema(0, `{"type":"record","name":"a.R","fields":[{"name":"x","type":"string"},{"name":"y","type":["null","long"]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	data := []byte("\x02k\x02\x0e")
	whole := NewReader(0, data).Record(typ)
	y, ok := Value[int64](whole, "y")
	if whole.Name() != "R" || whole.Get("x") != "k" || y != 7 || !ok || whole.Get("z") != nil {
		t.Errorf("read %+v", whole)
	}
	if part := NewReader(0, data).Record(typ, "y"); part.Get("x") != nil || part.Get("y") != int64(7) {
		t.Errorf("read %+v", part)
	}
	if _, ok := Value[string](whole, "y"); ok {
		t.Error("a number is text")
	}
	var none *Record
	if none.Get("x") != nil {
		t.Error("a field of no record")
	}
}

// plain makes maps of records.
func plain(v any) any {
	switch v := v.(type) {
	case *Record:
		m := map[string]any{}
		for i, f := range v.typ.fields {
			m[f.name] = plain(v.values[i])
		}
		return m
	case map[string]any:
		m := map[string]any{}
		for key, item := range v {
			m[key] = plain(item)
		}
		return m
	case []any:
		list := []any{}
		for _, item := range v {
			list = append(list, plain(item))
		}
		return list
	}
	return v
}

func FuzzRecord(f *testing.F) {
	f.Add(`{"type":"record","name":"R","fields":[{"name":"m","type":["null",{"type":"map","values":"long"}]}]}`, []byte("\x02\x02\x02k\x04\x00"))
	f.Add(`{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"array","items":"null"}}]}`, []byte("\x7f\x02"))
	f.Add(`{"type":"record","name":"R","fields":[{"name":"r","type":"R"}]}`, []byte{})
	f.Fuzz(func(t *testing.T, schema string, data []byte) {
		typ, err := parseSchema(0, schema)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Error(err)
			}
			return
		}
		r := NewReader(0, data)
		rec := r.Record(typ)
		if (rec == nil) == (r.Err() == nil) || r.Err() != nil && !errors.Is(r.Err(), ErrCorrupt) {
			t.Errorf("%v, %v", rec, r.Err())
		}
		if len(data) == 0 {
			return
		}
		if skip := NewReader(0, data); typ.Kind == Struct && skip.Record(typ, "no such field") != nil && r.Err() == nil && skip.Rest() != r.Rest() {
			t.Errorf("%d bytes left after passing the fields, %d after decoding them", skip.Rest(), r.Rest())
		}
	})
}
