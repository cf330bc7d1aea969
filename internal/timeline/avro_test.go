package timeline

import (
	"encoding/binary"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/linkedin/goavro/v2"
)

func TestAvroAgainstGoavro(t *testing.T) {
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
	typ, err := parseAvroSchema("f", 0, schema)
	if err != nil {
		t.Fatal(err)
	}
	r := newAvroReader("f", 0, data)
	got := plain(r.value(typ, 0, true))
	want := map[string]any{
		"b": true, "i": int64(-3), "l": int64(1) << 60, "f": 1.5, "d": -2.5, "y": []byte("yy"), "s": "text", "x": []byte("xxx"), "e": "B",
		"n": int64(7), "m": map[string]any{"k": int64(1), "l": int64(-1)}, "fixed2": []byte("FFF"), "z": nil,
		"list": []any{nil, map[string]any{"again": map[string]any{"again": nil}}},
	}
	if r.err != nil || r.pos != len(data) || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v, %v at %d\nwant %v", got, r.err, r.pos, want)
	}
	skip := newAvroReader("f", 0, data)
	skip.value(typ, 0, false)
	if skip.err != nil || skip.pos != len(data) {
		t.Errorf("passing the value: %v at %d of %d", skip.err, skip.pos, len(data))
	}
	for n := range data {
		torn := newAvroReader("f", 100, data[:n])
		torn.value(typ, 0, true)
		corrupt, ok := errors.AsType[*CorruptError](torn.err)
		if !ok || corrupt.Offset < 100 || corrupt.Offset > int64(100+n) {
			t.Errorf("torn at %d: %v", n, torn.err)
		}
	}
}

// Blocks of arrays may give their size in bytes, after a negative count.
func TestAvroBlocksWithSize(t *testing.T) {
	typ := &avroType{kind: avroArray, elem: &avroType{kind: avroInt}}
	r := newAvroReader("f", 0, []byte{3, 4, 2, 4, 2, 6, 0})
	if got := r.value(typ, 0, true); r.err != nil || !reflect.DeepEqual(got, []any{int64(1), int64(2), int64(3)}) {
		t.Errorf("got %v, %v", got, r.err)
	}
}

func varint(n int64) string { return string(binary.AppendVarint(nil, n)) }

// What a hostile file claims must cost no more than what it holds.
func TestHostileContainers(t *testing.T) {
	wrap := func(schema, datum string) string {
		sync := strings.Repeat("s", syncLength)
		return containerMagic + varint(1) + varint(11) + "avro.schema" + varint(int64(len(schema))) + schema + varint(0) + sync +
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
		"a block beyond the end":      containerMagic + varint(0) + strings.Repeat("s", 16) + varint(1) + varint(1<<40),
		"a wrong sync marker":         wrap(field(`"int"`), "\x02")[:len(wrap(field(`"int"`), "\x02"))-1] + "x",
		"bytes left":                  wrap(field(`"int"`), "\x02\x02"),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err := readContainer("f", []byte(data), &avroSchemas{})
			runtime.ReadMemStats(&after)
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("got %v, want ErrCorrupt", err)
			}
			if bytes := after.TotalAlloc - before.TotalAlloc; bytes > uint64(1<<20+300*len(data)) {
				t.Errorf("%d bytes for a file of %d", bytes, len(data))
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestContainerCodec(t *testing.T) {
	data := containerMagic + varint(1) + varint(10) + "avro.codec" + varint(7) + "deflate" + varint(0) + strings.Repeat("s", syncLength)
	if _, err := readContainer("f", []byte(data), &avroSchemas{}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("got %v, want ErrUnsupported", err)
	}
}

func FuzzCommitMetadata(f *testing.F) {
	f.Add([]byte(""))
	for _, name := range []string{"v6.deltacommit", "v9.deltacommit", "v9.replacecommit"} {
		f.Add([]byte(realFile(f, name)))
	}
	f.Add([]byte(`{"partitionToWriteStats":{"p":[{"fileId":"a","cdcStats":{"x":1},"logFiles":["l"]}]},"extraMetadata":{"schema":"s"},"partitionToReplaceFileIds":{"p":["x"]}}`))
	f.Add([]byte(container(f, replacePlanSchema, map[string]any{"operationType": text("CLUSTER")})))
	f.Add([]byte(container(f, cleanSchema, map[string]any{"earliestCommitToRetain": "1"})))
	f.Add([]byte(container(f, commitSchema, map[string]any{
		"partitionToWriteStats": map[string]any{"map": map[string]any{"p": []any{map[string]any{"fileId": text("a"), "prevCommit": text("null"), "numWrites": map[string]any{"long": 7}}}}},
		"extraMetadata":         map[string]any{"map": map[string]any{"schema": "s"}},
	})))
	f.Fuzz(func(t *testing.T, data []byte) {
		tl := &Timeline{memo: &memo{}}
		c, err := tl.sniff("f", data)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
				t.Error(err)
			}
			return
		}
		fields := &fields{file: c.file}
		commit := parseCommit(fields, c.rec)
		if len(commit.Stats) > 8*len(data)+1024 {
			t.Errorf("%d write stats from %d bytes", len(commit.Stats), len(data))
		}
		if fields.err != nil && !errors.Is(fields.err, ErrCorrupt) {
			t.Error(fields.err)
		}
	})
}
