package logfile

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"

	"github.com/hudifs/hudifs/internal/schema"
)

// FuzzScan: whatever the bytes, blocks and damage cover the file without a gap, and what is in them fails as it should.
func FuzzScan(f *testing.F) {
	deletes := deleteBlock(3, []byte{2, 2, 2, 'k', 0, 4, 2, 0})
	data := avroBlock(recordOf(`{"name":"a","type":["null","string"]}`), [][]byte{{0}, {2, 2, 'x'}})
	f.Add(data)
	f.Add(append(bytes.Clone(data), deletes...))
	f.Add(append(bytes.Clone(data[:len(data)-5]), deletes...))
	f.Add(append(bytes.Clone(deletes), "#HUDI#"...))
	f.Add(rawBlock(1, int32(ParquetData), map[HeaderKey]string{SchemaText: recordOf(``)}, []byte("PAR1")))
	f.Add(rawBlock(1, 0, map[HeaderKey]string{CommandType: "0", TargetInstantTime: "1"}, nil))
	target := mustTarget(f, recordOf(`{"name":"a","type":["null","string"]}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		log, err := scanBytes(file)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
		at := int64(0)
		blocks, damage := log.Blocks, log.Damage
		for at < int64(len(file)) {
			switch {
			case len(blocks) > 0 && blocks[0].Offset == at:
				at, blocks = blocks[0].End, blocks[1:]
			case len(damage) > 0 && damage[0].Offset == at:
				at, damage = damage[0].End, damage[1:]
			default:
				t.Fatalf("nothing covers byte %d", at)
			}
		}
		for _, b := range log.Blocks {
			r := bytes.NewReader(file)
			if _, err := listDeletes(file, b); err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
				t.Fatal(err)
			}
			d, err := OpenData(r, b)
			if err != nil {
				continue
			}
			vectors, err := d.Columns(target, []int{0})
			if err == nil && vectors[0].Rows() != d.Rows() {
				t.Fatalf("%d rows of %d", vectors[0].Rows(), d.Rows())
			}
		}
	})
}

var fuzzSchemas = []string{
	recordOf(`{"name":"a","type":["null","string"]},{"name":"b","type":["long","null"]},{"name":"c","type":"int"},{"name":"d","type":"boolean"},{"name":"e","type":"bytes"}`),
	recordOf(`{"name":"l","type":["null",{"type":"array","items":["null","long"]}]},{"name":"m","type":{"type":"map","values":{"type":"array","items":"string"}}}`),
	recordOf(`{"name":"s","type":["null",{"type":"record","name":"s","fields":[{"name":"x","type":"double"},{"name":"y","type":["null","float"]}]}]},{"name":"t","type":{"type":"array","items":"s"}}`),
	recordOf(`{"name":"u","type":["int","null","string"]},{"name":"e","type":{"type":"enum","name":"en","symbols":["A","B"]}},{"name":"f","type":["null",{"type":"fixed","name":"fi","size":3}]}`),
}

// FuzzAvro: what decodes, goavro decodes to the same; and a record's columns are the same whether read alone or together.
func FuzzAvro(f *testing.F) {
	const many = 128
	var codecs []*goavro.Codec
	for i, text := range fuzzSchemas {
		c, err := goavro.NewCodec(text)
		if err != nil {
			f.Fatal(err)
		}
		codecs = append(codecs, c)
		f.Add(uint8(i), []byte{0, 2, 2, 1, 0}, []byte{2, 2, 'x', 2, 4, 0, 0})
		f.Add(uint8(i+many), []byte{0, 2, 2, 1, 0}, []byte{2, 2, 'x', 2, 4, 0, 0})
	}
	f.Add(uint8(1), []byte{2, 4, 2, 2, 0, 0, 2, 2, 'k', 2, 2, 'v', 0, 0}, []byte{0, 0})
	f.Add(uint8(2), []byte{0, 1, 24, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0}, []byte{2, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0})
	f.Add(uint8(3), []byte{4, 2, 'x', 0, 2, 1, 2, 3}, []byte{2, 2, 0})
	f.Fuzz(func(t *testing.T, which uint8, a, b []byte) {
		text := fuzzSchemas[int(which)%len(fuzzSchemas)]
		records := [][]byte{a, b}
		if which >= many {
			records = slices.Repeat(records, atOnce)
		}
		d, _, err := openBytes(avroBlock(text, records))
		if err != nil {
			t.Skip()
		}
		typ := withoutUnions(d.content.(*avroContent).typ)
		target, err := schema.Target(typ, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = checkAgainst(codecs[int(which)%len(codecs)], d, typ, target, records)
		if err != nil && !errors.Is(err, ErrCorrupt) && !strings.Contains(err.Error(), "duplicate key") {
			t.Fatal(err)
		}
	})
}

// FuzzDeletes: what decodes, goavro decodes to as many deletes with the same keys.
func FuzzDeletes(f *testing.F) {
	codec, err := goavro.NewCodec(deleteSchema)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{0})
	f.Add([]byte{2, 2, 2, 'k', 2, 2, 'p', 4, 0, 0})
	f.Add([]byte{2, 2, 2, 'k', 0, 24, 2, 4, 6, 8, 24, 2, 0, 0})
	f.Add([]byte{1, 10, 2, 2, 'k', 0, 0, 0})
	f.Fuzz(func(t *testing.T, payload []byte) {
		got, err := readDeletes(t, deleteBlock(3, payload))
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		v, rest, err := codec.NativeFromBinary(payload)
		if err != nil || len(rest) > 0 {
			t.Fatalf("goavro: %v, %d bytes are left", err, len(rest))
		}
		want := v.(map[string]any)["deleteRecordList"].([]any)
		if len(got) != len(want) {
			t.Fatalf("%d deletes, want %d", len(got), len(want))
		}
		for i, w := range want {
			if key := w.(map[string]any)["recordKey"].(map[string]any)["string"]; string(got[i].Key) != key {
				t.Fatalf("delete %d: key %q, want %q", i, got[i].Key, key)
			}
		}
	})
}
