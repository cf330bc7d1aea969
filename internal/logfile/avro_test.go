package logfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

func recordOf(fields string) string {
	return `{"type":"record","name":"r","fields":[` + fields + `]}`
}

func mustTarget(t testing.TB, text string) *schema.Message {
	t.Helper()
	typ, err := schema.ParseAvro(text)
	if err != nil {
		t.Fatal(err)
	}
	m, err := schema.Target(typ, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// show writes a vector as its entries: rep:def and the value, if there is one.
func show(v *column.Vector) string {
	var parts []string
	value := 0
	for i := range v.Entries() {
		s := ""
		if v.Leaf.MaxRep > 0 {
			s = fmt.Sprintf("%d:", v.Rep[i])
		}
		s += fmt.Sprint(v.Def[i])
		if v.Def[i] == v.Leaf.MaxDef {
			switch b := v.Value(value); v.Leaf.Kind {
			case column.Int32:
				s += fmt.Sprintf("=%d", int32(binary.LittleEndian.Uint32(b)))
			case column.Int64:
				s += fmt.Sprintf("=%d", int64(binary.LittleEndian.Uint64(b)))
			case column.Double:
				s += fmt.Sprintf("=%v", math.Float64frombits(binary.LittleEndian.Uint64(b)))
			case column.Bytes:
				s += fmt.Sprintf("=%s", b)
			default:
				s += fmt.Sprintf("=%x", b)
			}
			value++
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

func TestColumns(t *testing.T) {
	const (
		optional = `["null",`
		inner    = `{"type":"record","name":"s","fields":[{"name":"a","type":["null","int"]}]}`
		wider    = `{"type":"record","name":"s","fields":[{"name":"a","type":["null","long"]},{"name":"b","type":["null","string"]},{"name":"l","type":["null",{"type":"array","items":"int"}]}]}`
	)
	for _, c := range []struct {
		name, writer, target string
		records              [][]byte
		want                 []string // by leaf
	}{
		{
			"null first, null second, no union, a union of one",
			`{"name":"a","type":["null","int"]},{"name":"b","type":["int","null"]},{"name":"c","type":"int"},{"name":"d","type":["int"]}`,
			`{"name":"a","type":"int"},{"name":"b","type":"int"},{"name":"c","type":"int"},{"name":"d","type":"int"}`,
			[][]byte{{2, 2, 0, 4, 6, 0, 8}, {0, 2, 5, 0, 1}},
			[]string{"1=1 0", "1=2 0", "1=3 1=-3", "1=4 1=-1"},
		},
		{
			"columns that the records lack, and order",
			`{"name":"x","type":"string"},{"name":"a","type":"int"},{"name":"y","type":"double"},{"name":"b","type":"int"}`,
			`{"name":"b","type":"int"},{"name":"new","type":"string"},{"name":"a","type":"int"}`,
			[][]byte{{2, 'x', 2, 0, 0, 0, 0, 0, 0, 0, 0, 4}},
			[]string{"1=2", "0", "1=1"},
		},
		{
			"promotions",
			`{"name":"a","type":"int"},{"name":"b","type":"float"},{"name":"c","type":"int"},{"name":"d","type":"bytes"},{"name":"e","type":["null","int"]}`,
			`{"name":"a","type":"long"},{"name":"b","type":"double"},{"name":"c","type":"string"},{"name":"d","type":"string"},{"name":"e","type":"double"}`,
			[][]byte{{1, 0xcd, 0xcc, 0x8c, 0x3f, 20, 2, 'z', 0}},
			[]string{"1=-1", "1=1.1", "1=10", "1=z", "0"},
		},
		{
			"decimals", // of bytes, in the fixed form of Hudi's writer
			`{"name":"a","type":{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}}`,
			`{"name":"a","type":{"type":"bytes","logicalType":"decimal","precision":6,"scale":3}}`,
			[][]byte{{2, 0xFF}, {4, 1, 0}},
			[]string{"1=fffff6 1=000a00"},
		},
		{
			"enum and fixed",
			`{"name":"a","type":{"type":"enum","name":"e","symbols":["X","LONG"]}},{"name":"b","type":{"type":"fixed","name":"f","size":2}}`,
			`{"name":"a","type":"string"},{"name":"b","type":{"type":"fixed","name":"f","size":2}}`,
			[][]byte{{2, 1, 2}, {0, 3, 4}},
			[]string{"1=LONG 1=X", "1=0102 1=0304"},
		},
		{
			"fields that a struct lacks",
			`{"name":"s","type":` + optional + inner + `]}`,
			`{"name":"s","type":` + optional + wider + `]}`,
			[][]byte{{0}, {2, 0}, {2, 2, 6}},
			[]string{"0 1 2=3", "0 1 1", "0:0 0:1 0:1"},
		},
		{
			"fields that the struct of a list lacks",
			`{"name":"l","type":{"type":"array","items":` + inner + `}}`,
			`{"name":"l","type":{"type":"array","items":` + wider + `}}`,
			[][]byte{{0}, {4, 2, 2, 0, 0}},
			[]string{"0:1 0:4=1 1:3", "0:1 0:3 1:3", "0:1 0:3 1:3"},
		},
		{
			"lists of lists", // [[1,2],[]], [], [[3]]
			`{"name":"l","type":{"type":"array","items":{"type":"array","items":"int"}}}`,
			`{"name":"l","type":{"type":"array","items":{"type":"array","items":"int"}}}`,
			[][]byte{{4, 4, 2, 4, 0, 0, 0}, {0}, {2, 2, 6, 0, 0}},
			[]string{"0:5=1 2:5=2 1:3 0:1 0:5=3"},
		},
		{
			"lists in parts, with their sizes",
			`{"name":"l","type":{"type":"array","items":"int"}},{"name":"m","type":{"type":"map","values":["null","int"]}}`,
			`{"name":"l","type":{"type":"array","items":"int"}},{"name":"m","type":{"type":"map","values":"int"}}`,
			[][]byte{{2, 2, 3, 4, 4, 6, 0, 1, 8, 2, 'k', 2, 8, 2, 2, 'n', 0, 0}},
			[]string{"0:3=1 1:3=2 1:3=3", "0:2=k 1:2=n", "0:3=4 1:2"},
		},
		{
			"unions of several types beside what is wanted",
			`{"name":"u","type":["string","null","long"]},{"name":"a","type":"int"},{"name":"v","type":{"type":"array","items":["int","string"]}}`,
			`{"name":"a","type":"int"}`,
			[][]byte{{0, 2, 'x', 2, 0}, {2, 4, 0}, {4, 0xFF, 1, 6, 4, 0, 8, 2, 2, 'y', 0}},
			[]string{"1=1 1=2 1=3"},
		},
		{"no records", `{"name":"a","type":"int"}`, `{"name":"a","type":"int"}`, nil, []string{""}},
		{"no fields", ``, `{"name":"a","type":"int"}`, [][]byte{{}, {}}, []string{"0 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, _, err := openBytes(avroBlock(recordOf(c.writer), c.records))
			if err != nil {
				t.Fatal(err)
			}
			target := mustTarget(t, recordOf(c.target))
			var leaves []int
			for i := range target.Leaves {
				leaves = append(leaves, i)
			}
			vectors, err := d.Columns(target, leaves)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i, v := range vectors {
				if v.Leaf != target.Leaves[i].Leaf {
					t.Errorf("leaf %d is laid out as %v", i, v.Leaf)
				}
				got = append(got, show(v))
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestColumnsErrors(t *testing.T) {
	const a = `{"name":"a","type":"int"}`
	for _, c := range []struct {
		name, writer, target string
		record               []byte
		is                   error
		want                 string
	}{
		{"union of two types", `{"name":"a","type":["int","string"]}`, a, []byte{0, 2}, ErrUnsupported, "column a: a union of 2 types"},
		{"struct to number", `{"name":"a","type":{"type":"record","name":"s","fields":[` + a + `]}}`, a, []byte{2}, schema.ErrInvalid, "cannot become"},
		{"text to number", `{"name":"a","type":"string"}`, a, []byte{2, '1'}, schema.ErrInvalid, "column a"},
		{"items without content", `{"name":"x","type":{"type":"array","items":{"type":"record","name":"s","fields":[]}}},` + a, a, []byte{0, 2}, ErrUnsupported, "items without content"},
		{"a record too short", a, a, []byte{0x80}, ErrCorrupt, "expected a number"},
		{"a record too long", a, a, []byte{2, 2}, ErrCorrupt, "expected the end of the record"},
		{"an int of 33 bits", a, a, []byte{0xFE, 0xFF, 0xFF, 0xFF, 0x1F}, ErrCorrupt, "of 32 bits"},
		{"an endless number", `{"name":"x","type":"long"},` + a, a, bytes.Repeat([]byte{0xFF}, 12), ErrCorrupt, "column x"},
		{"a number of 65 bits", `{"name":"a","type":"long"}`, `{"name":"a","type":"long"}`, append(bytes.Repeat([]byte{0xFF}, 9), 2), ErrCorrupt, "expected a number"},
		{"a union's third branch", `{"name":"a","type":["null","int"]}`, a, []byte{4, 2}, ErrCorrupt, "the index of a union, found 0x04"},
		{"a skipped union's third branch", `{"name":"x","type":["null","int"]},` + a, a, []byte{4, 2, 2}, ErrCorrupt, "column x"},
		{"a third branch of two", `{"name":"x","type":["long","int"]},` + a, a, []byte{4, 2, 2}, ErrCorrupt, "a union of 2 types, found 2"},
		{"text beyond the record", `{"name":"a","type":"string"}`, `{"name":"a","type":"string"}`, []byte{4, 'x'}, ErrCorrupt, "expected a length, found 2"},
		{"text of negative length", `{"name":"a","type":"string"}`, `{"name":"a","type":"string"}`, []byte{1}, ErrCorrupt, "expected a length"},
		{"skipped text of negative length", `{"name":"x","type":"string"},` + a, a, []byte{1, 2}, ErrCorrupt, "column x"},
		{"skipped text beyond the record", `{"name":"x","type":"string"},` + a, a, []byte{4, 'x'}, ErrCorrupt, "column x"},
		{"a double beyond the record", `{"name":"a","type":["null","double"]}`, `{"name":"a","type":"double"}`, []byte{2, 1, 2, 3, 4, 5, 6, 7}, ErrCorrupt, "expected 8 bytes"},
		{"a union beyond the record", `{"name":"x","type":"string"},{"name":"a","type":["int","null"]}`, a, []byte{4, 'x', 'y'}, ErrCorrupt, "the record ends"},
		{"a skipped number beyond the record", a + `,{"name":"x","type":"int"}`, a, []byte{0x82, 1}, ErrCorrupt, "column x"},
		{"skipped fixed", `{"name":"x","type":["null","double"]},` + a, a, []byte{2, 1, 2}, ErrCorrupt, "expected 8 bytes"},
		{"a boolean of 2", `{"name":"a","type":"boolean"}`, `{"name":"a","type":"boolean"}`, []byte{2}, ErrCorrupt, "expected a boolean"},
		{"no such symbol", `{"name":"a","type":{"type":"enum","name":"e","symbols":["X"]}}`, `{"name":"a","type":"string"}`, []byte{2}, ErrCorrupt, "one of 1 symbols"},
		{"a huge list", `{"name":"l","type":{"type":"array","items":"int"}},` + a, a, []byte{0xFE, 0xFF, 0xFF, 0xFF, 0x0F, 2, 0, 2}, ErrCorrupt, "the count of a list"},
		{"a list's wrong size", `{"name":"l","type":{"type":"array","items":"int"}},` + a, a, []byte{1, 4, 2, 0, 2}, ErrCorrupt, "the end of a list's part"},
		{"the smallest count", `{"name":"l","type":{"type":"array","items":"int"}},` + a, a, append(bytes.Repeat([]byte{0xFF}, 9), 1, 0, 2), ErrCorrupt, "the count of a list"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, records := range [][][]byte{{c.record}, slices.Repeat([][]byte{c.record}, 2*atOnce)} {
				d, _, err := openBytes(avroBlock(recordOf(c.writer), records))
				if err == nil {
					_, err = d.Columns(mustTarget(t, recordOf(c.target)), []int{0})
				}
				if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%d records: got %v, want %v with %q", len(records), err, c.is, c.want)
				} else if errors.Is(err, ErrCorrupt) && !strings.Contains(err.Error(), "record 0: ") {
					t.Errorf("%d records: got %v, want record 0", len(records), err)
				}
			}
		})
	}
}

// TestRepeatedNumber reads one number as a list of one, where the target has no group for the list.
func TestRepeatedNumber(t *testing.T) {
	elements := mustTarget(t, recordOf(`{"name":"a","type":"int"}`)).Elements()
	elements[1].RepetitionType.Valid, elements[1].RepetitionType.V = true, format.Repeated
	target, err := schema.FromElements(elements)
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := openBytes(avroBlock(recordOf(`{"name":"a","type":"int"}`), slices.Repeat([][]byte{{2}, {4}}, 8)))
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := d.Columns(target, []int{0})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := show(vectors[0]), strings.TrimSpace(strings.Repeat("0:1=1 0:1=2 ", 8)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFirstFailure wants the first record that fails named, though fields of those behind it are decoded before its own.
func TestFirstFailure(t *testing.T) {
	text := recordOf(`{"name":"a","type":"string"},{"name":"b","type":["null","long"]},{"name":"c","type":{"type":"array","items":"int"}},{"name":"d","type":"double"}`)
	var (
		right   = []byte{2, 'x', 2, 4, 2, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8}
		inA     = []byte{1}
		inB     = []byte{2, 'x', 4}
		inC     = []byte{2, 'x', 2, 4, 2, 8, 0x80}
		inD     = []byte{2, 'x', 0, 0, 1, 2, 3}
		tooLong = append(bytes.Clone(right), 0)
	)
	for _, c := range []struct {
		name   string
		leaves []int
		only   []int32
		wrong  map[int][]byte
		want   string
	}{
		{"text", []int{0, 1, 2, 3}, nil, map[int][]byte{70: inA, 100: inA}, "record 70: column a"},
		{"text beyond the record", []int{0, 1, 2, 3}, nil, map[int][]byte{70: {40, 'x'}, 71: inA}, "record 70: column a"},
		{"the index of a union", []int{0, 1, 2, 3}, nil, map[int][]byte{71: inA, 70: inB}, "record 70: column b"},
		{"a list", []int{0, 1, 2, 3}, nil, map[int][]byte{72: inA, 71: inB, 70: inC}, "record 70: column c"},
		{"a double", []int{0, 1, 2, 3}, nil, map[int][]byte{73: inA, 72: inB, 71: inC, 70: inD}, "record 70: column d"},
		{"what is passed over", []int{3}, nil, map[int][]byte{72: inA, 71: inD, 70: inB}, "record 70: column b"},
		{"a record too long", []int{0, 1, 2, 3}, nil, map[int][]byte{71: inD, 70: tooLong, 72: tooLong}, "record 70: corrupt log file: at byte 1592: expected the end"},
		{"the first of all", []int{0, 1, 2, 3}, nil, map[int][]byte{0: inD, 1: inA}, "record 0: column d"},
		{"the last at once", []int{0, 1, 2, 3}, nil, map[int][]byte{atOnce - 1: inD, atOnce: inA}, "record 63: column d"},
		{"the next", []int{0, 1, 2, 3}, nil, map[int][]byte{atOnce: inD, atOnce + 1: inA}, "record 64: column d"},
		{"the last", []int{0, 1, 2, 3}, nil, map[int][]byte{199: inD}, "record 199: column d"},
		{"some records", []int{0, 1, 2, 3}, []int32{3, 70, 71, 150}, map[int][]byte{4: inA, 71: inB, 70: inC}, "record 70: column c"},
		{"beside some records", []int{0, 1, 2, 3}, []int32{3, 70, 71, 150}, map[int][]byte{4: inA, 199: inD}, ""},
		{"before a record beyond the content", []int{0, 1, 2, 3}, nil, map[int][]byte{70: inD, 72: nil}, "record 70: column d"},
		{"a record beyond the content", []int{0, 1, 2, 3}, nil, map[int][]byte{72: nil, 74: inA}, "record 72: corrupt log file: at byte 1611: expected the length"},
		{"before one that is passed over", []int{0, 1, 2, 3}, []int32{3, 70, 73}, map[int][]byte{70: inD, 72: nil}, "record 70: column d"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var records [][]byte
			length := -1 // where one stands that goes beyond the content
			for i, at := 0, headLen; i < 200; i++ {
				r, ok := c.wrong[i]
				if !ok {
					r = right
				}
				if ok && r == nil {
					length = at
				}
				records, at = append(records, r), at+avroLengthLen+len(r)
			}
			file := avroBlock(text, records)
			log, err := scanBytes(file)
			if err != nil {
				t.Fatal(err)
			}
			if length >= 0 {
				binary.BigEndian.PutUint32(file[log.Blocks[0].ContentOffset+int64(length):], 1<<30)
			}
			d, err := OpenData(bytes.NewReader(file), log.Blocks[0])
			if err != nil {
				t.Fatal(err)
			}
			p := Pass{Target: mustTarget(t, text), Leaves: c.leaves, Only: c.only}
			var dst []*column.Vector
			for _, l := range c.leaves {
				dst = append(dst, column.New(p.Target.Leaves[l].Leaf))
			}
			switch err := d.AppendColumns(dst, p); {
			case c.want == "" && err != nil, c.want != "" && err == nil:
				t.Errorf("got %v, want %q", err, c.want)
			case err != nil && (!errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestOpenDataErrors(t *testing.T) {
	content := func(words ...uint32) []byte {
		var b []byte
		for _, w := range words {
			b = binary.BigEndian.AppendUint32(b, w)
		}
		return b
	}
	header := map[HeaderKey]string{SchemaText: recordOf(`{"name":"a","type":"int"}`)}
	for _, c := range []struct {
		name   string
		typ    BlockType
		header map[HeaderKey]string
		bytes  []byte
		is     error
		want   string
	}{
		{"no content", AvroData, header, nil, ErrCorrupt, "the version and count"},
		{"version 0", AvroData, header, content(0, 0), ErrCorrupt, "expected a version"},
		{"version 4", AvroData, header, content(4, 0), ErrCorrupt, "expected a version"},
		{"a huge count", AvroData, header, content(3, 1<<31-1), ErrCorrupt, "expected a number of Avro records"},
		{"a count too large for its schema", AvroData, header, content(3, 1, 0), ErrCorrupt, "records of 1 bytes or more"},
		{"bytes behind", AvroData, header, content(3, 0, 0), ErrCorrupt, "4 bytes are left"},
		{"a record beyond the content", AvroData, header, append(content(3, 1, 2), 2), ErrCorrupt, "the length of a record"},
		{"no schema", AvroData, nil, content(3, 0), schema.ErrInvalid, "log block at byte 0"},
		{"the schema of a number", AvroData, map[HeaderKey]string{SchemaText: `"int"`}, content(3, 0), ErrCorrupt, "expected the schema of a record"},
		{"HFile", HFileData, header, nil, ErrUnsupported, "records of a HFile data block"},
		{"deletes", DeleteBlock, header, nil, ErrUnsupported, "records of a delete block"},
		{"no Parquet", ParquetData, header, []byte("PAR1 and no more"), ErrCorrupt, "Parquet file from byte"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, _, err := openBytes(rawBlock(1, int32(c.typ), c.header, c.bytes))
			if err == nil {
				_, err = d.Columns(mustTarget(t, recordOf(`{"name":"a","type":"int"}`)), []int{0})
			}
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %v with %q", err, c.is, c.want)
			}
		})
	}
}

// TestHostileSchema names a type of many fields many times: the program that reads it would have no end.
func TestHostileSchema(t *testing.T) {
	typ := `"int"`
	for i := range 40 {
		typ = fmt.Sprintf(`{"type":"record","name":"r%d","fields":[{"name":"a","type":%s},{"name":"b","type":"r%d"}]}`, i, typ, i-1)
		if i == 0 {
			typ = `{"type":"record","name":"r0","fields":[{"name":"a","type":"int"}]}`
		}
	}
	d, _, err := openBytes(avroBlock(typ, nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Columns(mustTarget(t, recordOf(`{"name":"x","type":"int"}`)), []int{0}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

// TestSchemaSharing holds the promise that the blocks of a file parse one schema once.
func TestSchemaSharing(t *testing.T) {
	block := avroBlock(recordOf(`{"name":"a","type":"int"}`), nil)
	log, err := scanBytes(append(bytes.Clone(block), block...))
	if err != nil {
		t.Fatal(err)
	}
	first, err := log.Blocks[0].recordType()
	if err != nil {
		t.Fatal(err)
	}
	if second, err := log.Blocks[1].recordType(); err != nil || second != first {
		t.Errorf("%p and %p, %v", first, second, err)
	}
}

// TestAllocations holds the promise that records cost no memory of their own.
func TestAllocations(t *testing.T) {
	records := make([][]byte, 10_000)
	for i := range records {
		records[i] = []byte{2, 6, 'k', 'e', 'y', 2, 4}
	}
	text := recordOf(`{"name":"k","type":["null","string"]},{"name":"v","type":["null","long"]}`)
	d, _, err := openBytes(avroBlock(text, records))
	if err != nil {
		t.Fatal(err)
	}
	target := mustTarget(t, text)
	if n := testing.AllocsPerRun(3, func() {
		if _, err := d.Columns(target, []int{0, 1}); err != nil {
			t.Fatal(err)
		}
	}); n > 100 {
		t.Errorf("%v allocations for %d records", n, len(records))
	}
}

// TestTwoLevelNested reads lists and maps that are the items of two-level lists, which only their types tell from structs.
func TestTwoLevelNested(t *testing.T) {
	text := recordOf(`{"name":"l","type":{"type":"array","items":{"type":"array","items":"int"}}},{"name":"m","type":{"type":"array","items":{"type":"map","values":"int"}}}`)
	typ, err := schema.ParseAvro(text)
	if err != nil {
		t.Fatal(err)
	}
	like, err := schema.FromElements(twoLevel(mustTarget(t, text).Elements()))
	if err != nil {
		t.Fatal(err)
	}
	target, err := schema.Target(typ, like)
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := openBytes(avroBlock(text, [][]byte{{4, 4, 2, 4, 0, 0, 0, 2, 2, 2, 'k', 8, 0, 0}, {0, 2, 0, 0}}))
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := d.Columns(target, []int{0, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"0:3=1 2:3=2 1:2 0:1", "0:3=k 0:2", "0:4=4 0:2"} {
		if got := show(vectors[i]); got != want {
			t.Errorf("%v: got %q, want %q", target.Leaves[i].Path, got, want)
		}
	}
}

// TestRequired refuses nulls for columns that must not have any.
func TestRequired(t *testing.T) {
	elements := mustTarget(t, recordOf(`{"name":"a","type":"int"},{"name":"s","type":{"type":"record","name":"s","fields":[{"name":"b","type":"int"},{"name":"c","type":"int"}]}}`)).Elements()
	for i := range elements[1:4] {
		elements[1+i].RepetitionType = elements[0].RepetitionType
		elements[1+i].RepetitionType.Valid, elements[1+i].RepetitionType.V = true, 0
	}
	target, err := schema.FromElements(elements) // required: a, s, s.b
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		writer string
		record []byte
		leaf   int
		want   string
	}{
		{`{"name":"a","type":["null","int"]}`, []byte{2, 4}, 0, ""},
		{`{"name":"a","type":["null","int"]}`, []byte{0}, 0, "column a"},
		{`{"name":"x","type":"int"}`, []byte{0}, 0, "is missing"},
		{`{"name":"x","type":"int"}`, []byte{0}, 1, "is missing"},
		{`{"name":"x","type":"int"}`, []byte{0}, 2, ""}, // s is there, without s.c
		{`{"name":"s","type":["null",{"type":"record","name":"s","fields":[{"name":"b","type":"int"}]}]}`, []byte{0}, 1, "column s"},
		{`{"name":"s","type":["null",{"type":"record","name":"s","fields":[{"name":"b","type":"int"}]}]}`, []byte{2, 8}, 2, ""},
	} {
		d, _, err := openBytes(avroBlock(recordOf(c.writer), [][]byte{c.record}))
		if err != nil {
			t.Fatal(err)
		}
		v, err := d.Columns(target, []int{c.leaf})
		switch {
		case c.want != "" && (!errors.Is(err, schema.ErrInvalid) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s, leaf %d: %v", c.writer, c.leaf, err)
		case c.want == "" && (err != nil || v[0].Rows() != 1):
			t.Errorf("%s, leaf %d: %v, %v", c.writer, c.leaf, v, err)
		}
	}
}

// TestMeasureCasts bounds values that grow when they are cast.
func TestMeasureCasts(t *testing.T) {
	writer := recordOf(`{"name":"a","type":"int"},{"name":"b","type":"double"},{"name":"c","type":{"type":"bytes","logicalType":"decimal","precision":30,"scale":30}},
		{"name":"d","type":{"type":"fixed","name":"f","size":4,"logicalType":"decimal","precision":9,"scale":9}},{"name":"e","type":{"type":"enum","name":"e","symbols":["A","A LONG ONE"]}},
		{"name":"g","type":"int"},{"name":"h","type":"string"},{"name":"i","type":{"type":"int","logicalType":"date"}}`)
	target := mustTarget(t, recordOf(`{"name":"a","type":"string"},{"name":"b","type":"string"},{"name":"c","type":"string"},{"name":"d","type":"string"},{"name":"e","type":"string"},
		{"name":"g","type":"double"},{"name":"h","type":"string"},{"name":"i","type":"string"}`))
	record := []byte{0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xEF, 0xFF, 2, 0xFF, 0x80, 0, 0, 0, 2, 2, 2, 'x', 0xFF, 0xFF, 0xFF, 0xFF, 0x0F}
	file := avroBlock(writer, [][]byte{record, record})
	d, b, err := openBytes(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []int
	for i := range target.Leaves {
		all = append(all, i)
	}
	vectors, err := d.Columns(target, all)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		t.Log(show(v))
	}
	checkExtent(t, "casts", file, b, target, vectors)
}
