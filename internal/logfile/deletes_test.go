package logfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"

	"github.com/hudifs/hudifs/internal/hostiletest"
)

// deleteSchema is HoodieDeleteRecordList as release 1.1 has it, after its hudi-common: HoodieDeleteRecord.avsc.
const deleteSchema = `{"type":"record","name":"L","fields":[{"name":"deleteRecordList","type":{"type":"array","items":
{"type":"record","name":"R","fields":[
 {"name":"recordKey","type":["null","string"]},
 {"name":"partitionPath","type":["null","string"]},
 {"name":"orderingVal","type":["null",
  {"type":"record","name":"BooleanWrapper","fields":[{"name":"value","type":"boolean"}]},
  {"type":"record","name":"IntWrapper","fields":[{"name":"value","type":"int"}]},
  {"type":"record","name":"LongWrapper","fields":[{"name":"value","type":"long"}]},
  {"type":"record","name":"FloatWrapper","fields":[{"name":"value","type":"float"}]},
  {"type":"record","name":"DoubleWrapper","fields":[{"name":"value","type":"double"}]},
  {"type":"record","name":"BytesWrapper","fields":[{"name":"value","type":"bytes"}]},
  {"type":"record","name":"StringWrapper","fields":[{"name":"value","type":"string"}]},
  {"type":"record","name":"DateWrapper","fields":[{"name":"value","type":"int"}]},
  {"type":"record","name":"DecimalWrapper","fields":[{"name":"value","type":"bytes"}]},
  {"type":"record","name":"TimeMicrosWrapper","fields":[{"name":"value","type":"long"}]},
  {"type":"record","name":"TimestampMicrosWrapper","fields":[{"name":"value","type":"long"}]},
  {"type":"record","name":"ArrayWrapper","fields":[{"name":"wrappedValues","type":["null",{"type":"array","items":
   ["null","BooleanWrapper","IntWrapper","LongWrapper","FloatWrapper","DoubleWrapper","BytesWrapper","StringWrapper","DateWrapper",
    "DecimalWrapper","TimeMicrosWrapper","TimestampMicrosWrapper",
    {"type":"record","name":"LocalDateWrapper","fields":[{"name":"value","type":"int"}]}]}]}]}
 ]}]}}}]}`

func wrapped(name string, v any) map[string]any {
	return map[string]any{name: map[string]any{"value": v}}
}

func deleteBlock(version int32, payload []byte) []byte {
	content := binary.BigEndian.AppendUint32(nil, uint32(version))
	content = binary.BigEndian.AppendUint32(content, uint32(len(payload)))
	return rawBlock(1, int32(DeleteBlock), map[HeaderKey]string{InstantTime: "1"}, append(content, payload...))
}

func readDeletes(t testing.TB, file []byte) ([]Delete, error) {
	t.Helper()
	log, err := scanBytes(file)
	if err != nil || len(log.Blocks) != 1 {
		t.Fatalf("%v, %v", log, err)
	}
	return listDeletes(file, log.Blocks[0])
}

// listDeletes keeps all entries of a block.
func listDeletes(file []byte, b Block) (list []Delete, err error) {
	for d, err := range Deletes(bytes.NewReader(file), b) {
		if err != nil {
			return nil, err
		}
		list = append(list, Delete{append([]byte(nil), d.Key...), append([]byte(nil), d.Partition...), append([]OrderingValue(nil), d.Ordering...)})
	}
	return list, nil
}

func TestDeletes(t *testing.T) {
	codec, err := goavro.NewCodec(deleteSchema)
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		ordering any
		want     []OrderingValue
	}{
		{nil, nil},
		{wrapped("BooleanWrapper", true), []OrderingValue{{Kind: BoolOrdering, Int: 1}}},
		{wrapped("IntWrapper", int32(0)), []OrderingValue{{Kind: IntOrdering}}},
		{wrapped("IntWrapper", int32(math.MinInt32)), []OrderingValue{{Kind: IntOrdering, Int: math.MinInt32}}},
		{wrapped("LongWrapper", int64(math.MaxInt64)), []OrderingValue{{Kind: LongOrdering, Int: math.MaxInt64}}},
		{wrapped("FloatWrapper", float32(1.5)), []OrderingValue{{Kind: FloatOrdering, Float: 1.5}}},
		{wrapped("DoubleWrapper", -2.25), []OrderingValue{{Kind: DoubleOrdering, Float: -2.25}}},
		{wrapped("BytesWrapper", []byte{0, 255}), []OrderingValue{{Kind: BytesOrdering, Bytes: []byte{0, 255}}}},
		{wrapped("StringWrapper", "ü"), []OrderingValue{{Kind: TextOrdering, Bytes: []byte("ü")}}},
		{wrapped("DateWrapper", int32(-1)), []OrderingValue{{Kind: DateOrdering, Int: -1}}},
		{wrapped("DecimalWrapper", []byte{1, 2}), []OrderingValue{{Kind: DecimalOrdering, Bytes: []byte{1, 2}}}},
		{wrapped("TimeMicrosWrapper", int64(7)), []OrderingValue{{Kind: TimeMicrosOrdering, Int: 7}}},
		{wrapped("TimestampMicrosWrapper", int64(8)), []OrderingValue{{Kind: TimestampMicrosOrdering, Int: 8}}},
		{map[string]any{"ArrayWrapper": map[string]any{"wrappedValues": nil}}, nil},
		{
			map[string]any{"ArrayWrapper": map[string]any{"wrappedValues": map[string]any{"array": []any{
				wrapped("LongWrapper", int64(3)), nil, wrapped("StringWrapper", "x"), wrapped("LocalDateWrapper", int32(9)),
			}}}},
			[]OrderingValue{{Kind: LongOrdering, Int: 3}, {}, {Kind: TextOrdering, Bytes: []byte("x")}, {Kind: DateOrdering, Int: 9}},
		},
	}
	var list []any
	var want []Delete
	for i, c := range cases {
		key := strings.Repeat("k", i+1)
		partition := map[string]any{"string": "p=1"}
		d := Delete{Key: []byte(key), Partition: []byte("p=1"), Ordering: c.want}
		record := map[string]any{"recordKey": map[string]any{"string": key}, "partitionPath": partition, "orderingVal": c.ordering}
		if i == 0 {
			record["partitionPath"], d.Partition = nil, nil
		}
		list, want = append(list, record), append(want, d)
	}
	payload, err := codec.BinaryFromNative(nil, map[string]any{"deleteRecordList": list})
	if err != nil {
		t.Fatal(err)
	}
	got, err := readDeletes(t, deleteBlock(3, payload))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	for _, d := range got[:4] {
		if isDefault := d.Ordering == nil || d.Ordering[0].IsDefault(); isDefault != (len(d.Key) != 2 && len(d.Key) != 4) {
			t.Errorf("%v: IsDefault is wrong", d)
		}
	}
	for n := range payload {
		if _, err := readDeletes(t, deleteBlock(3, payload[:n])); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
}

func TestDeletesErrors(t *testing.T) {
	for _, c := range []struct {
		name    string
		version int32
		payload []byte
		is      error
		want    string
	}{
		{"none", 3, []byte{0}, nil, ""},
		{"version 1", 1, []byte{1}, ErrUnsupported, "Kryo"},
		{"version 2", 2, []byte{1}, ErrUnsupported, "Kryo"},
		{"version 4", 4, []byte{0}, ErrCorrupt, "expected version 3"},
		{"bytes behind", 3, []byte{0, 0}, ErrCorrupt, "expected the end of the block"},
		{"no key", 3, []byte{2, 0, 0, 0, 0}, ErrCorrupt, "expected a record key"},
		{"branch 13", 3, []byte{2, 2, 2, 'k', 0, 26, 0}, ErrCorrupt, "the type of an ordering value, found 13"},
		{"branch 2 of a key", 3, []byte{2, 4, 0}, ErrCorrupt, "expected a record key or null"},
		{"int of 33 bits", 3, []byte{2, 2, 2, 'k', 0, 4, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F, 0}, ErrCorrupt, "of 32 bits"},
		{"boolean 2", 3, []byte{2, 2, 2, 'k', 0, 2, 2, 0}, ErrCorrupt, "a boolean"},
		{"endless number", 3, bytes.Repeat([]byte{0xFF}, 20), ErrCorrupt, "the count of an array"},
		{"huge count", 3, []byte{0xFE, 0xFF, 0xFF, 0xFF, 0x0F, 0}, ErrCorrupt, "found one of"},
		{"part with its size", 3, []byte{1, 10, 2, 2, 'k', 0, 0, 0}, nil, ""},
		{"part with a wrong size", 3, []byte{1, 8, 2, 2, 'k', 0, 0, 0}, ErrCorrupt, "the end of an array's part"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readDeletes(t, deleteBlock(c.version, c.payload))
			if !errors.Is(err, c.is) || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %v with %q", err, c.is, c.want)
			}
		})
	}
	short := rawBlock(1, int32(DeleteBlock), nil, []byte{0, 0, 0})
	if _, err := readDeletes(t, short); !errors.Is(err, ErrCorrupt) {
		t.Errorf("no length: %v", err)
	}
	if _, err := readDeletes(t, instantBlock("1")); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a data block: %v", err)
	}
}

// Entries are read through a window: where it ends in the middle of one, and where one is longer, they come as they are. None of them stays in memory.
func TestManyDeletes(t *testing.T) {
	const entries = 200_000
	lengthOf := func(i int) int {
		if i%50_000 == 17 {
			return recordsAtOnce + i
		}
		return i % 97
	}
	keyOf := func(i int) string { return fmt.Sprintf("key-%d-%s", i, strings.Repeat("x", lengthOf(i))) }
	payload := binary.AppendVarint(nil, entries)
	for i := range entries {
		for _, text := range []string{keyOf(i), "p=1"} {
			payload = append(binary.AppendVarint(append(payload, 2), int64(len(text))), text...)
		}
		payload = binary.AppendVarint(binary.AppendVarint(payload, int64(LongOrdering)), int64(i))
	}
	file := deleteBlock(3, append(payload, 0))
	log, err := scanBytes(file)
	if err != nil {
		t.Fatal(err)
	}
	next, buf := 0, make([]byte, 32)
	hostiletest.Allocates(t, int64(len(file))/4, func() {
		for d, err := range Deletes(bytes.NewReader(file), log.Blocks[0]) {
			if err != nil {
				t.Fatal(err)
			}
			if len(d.Ordering) != 1 || d.Ordering[0].Int != int64(next) || bytes.Count(d.Key, []byte("x")) != lengthOf(next) || !bytes.HasPrefix(d.Key, strconv.AppendInt(append(buf[:0], "key-"...), int64(next), 10)) {
				t.Fatalf("entry %d: %.40q, %v", next, d.Key, d.Ordering)
			}
			next++
		}
	})
	if next != entries {
		t.Errorf("%d entries", next)
	}
	for d, err := range Deletes(bytes.NewReader(file), log.Blocks[0]) {
		if want := keyOf(0); err != nil || string(d.Key) != want {
			t.Errorf("%q, %v", d.Key, err)
		}
		break
	}
}
