package logfile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"

	"github.com/hudifs/hudifs/internal/schema"
)

// randomSchema draws schemas of every kind that a record may have, and values of them for goavro to encode.
type randomSchema struct {
	t     *rapid.T
	names int
}

func (r *randomSchema) name() string {
	r.names++
	return fmt.Sprintf("n%d", r.names)
}

func (r *randomSchema) record(depth, least int) map[string]any {
	fields := []any{}
	for range rapid.IntRange(least, 5).Draw(r.t, "fields") {
		fields = append(fields, map[string]any{"name": r.name(), "type": r.typ(depth - 1)})
	}
	return map[string]any{"type": "record", "name": r.name(), "fields": fields}
}

func (r *randomSchema) typ(depth int) any {
	switch u := rapid.IntRange(0, 9).Draw(r.t, "union"); {
	case u < 3:
		return []any{"null", r.single(depth)}
	case u < 5:
		return []any{r.single(depth), "null"}
	case u == 5:
		return []any{"long", "null", map[string]any{"type": "array", "items": r.single(depth - 1)}, "string"}
	}
	return r.single(depth)
}

func (r *randomSchema) single(depth int) any {
	n := 11
	if depth <= 0 {
		n = 8
	}
	switch k := rapid.IntRange(0, n).Draw(r.t, "type"); k {
	case 7:
		return map[string]any{"type": "enum", "name": r.name(), "symbols": []any{"A", "LONGER", "_c"}}
	case 8:
		return map[string]any{"type": "fixed", "name": r.name(), "size": rapid.SampledFrom([]int{1, 3, 8, 16, short, short + 1}).Draw(r.t, "size")}
	case 9:
		return r.record(depth, 1)
	case 10:
		return map[string]any{"type": "array", "items": r.typ(depth - 1)}
	case 11:
		return map[string]any{"type": "map", "values": r.typ(depth - 1)}
	default:
		return []string{"boolean", "int", "long", "float", "double", "bytes", "string"}[k]
	}
}

// value draws a value of a type in goavro's form.
func (r *randomSchema) value(t *schema.Type) any {
	if t.Kind == schema.Union {
		i := rapid.IntRange(-1, len(t.Branches)-1).Draw(r.t, "branch")
		if i < 0 && t.Nullable {
			return nil
		}
		b := t.Branches[max(i, 0)]
		return map[string]any{unionName(b): r.value(b)}
	}
	if t.Nullable {
		if rapid.IntRange(0, 2).Draw(r.t, "null") == 0 {
			return nil
		}
		return map[string]any{unionName(t): r.present(t)}
	}
	return r.present(t)
}

// length is now and then one of text that is copied or written in another way than the next shorter.
func (r *randomSchema) length() int {
	return rapid.SampledFrom([]int{0, 0, 0, 0, short - 1, short, short + 1, 63, 64, 8191, 8192}).Draw(r.t, "length")
}

func (r *randomSchema) present(t *schema.Type) any {
	switch t.Kind {
	case schema.Boolean:
		return rapid.Bool().Draw(r.t, "bool")
	case schema.Int:
		return rapid.Int32().Draw(r.t, "int")
	case schema.Long:
		return rapid.Int64().Draw(r.t, "long")
	case schema.Float:
		return rapid.Float32().Draw(r.t, "float")
	case schema.Double:
		return rapid.Float64().Draw(r.t, "double")
	case schema.Bytes:
		if n := r.length(); n > 0 {
			return bytes.Repeat([]byte{rapid.Byte().Draw(r.t, "byte")}, n)
		}
		return rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(r.t, "bytes")
	case schema.String:
		if n := r.length(); n > 0 {
			return strings.Repeat("x", n)
		}
		return rapid.String().Draw(r.t, "string")
	case schema.Fixed:
		return rapid.SliceOfN(rapid.Byte(), t.Size, t.Size).Draw(r.t, "fixed")
	case schema.Enum:
		return rapid.SampledFrom(t.Symbols).Draw(r.t, "symbol")
	case schema.Record:
		m := map[string]any{}
		for _, f := range t.Fields {
			m[f.Name] = r.value(f.Type)
		}
		return m
	case schema.Array:
		l := []any{}
		for range rapid.IntRange(0, 3).Draw(r.t, "items") {
			l = append(l, r.value(t.Elem))
		}
		return l
	default: // a map
		m := map[string]any{}
		for i := range rapid.IntRange(0, 3).Draw(r.t, "entries") {
			m[fmt.Sprint(i, rapid.StringN(0, 5, -1).Draw(r.t, "key"))] = r.value(t.Elem)
		}
		return m
	}
}

// withoutUnions drops the fields that hold a union of several types, which no target can have. It gives nil where nothing is left.
func withoutUnions(t *schema.Type) *schema.Type {
	out := *t
	switch t.Kind {
	case schema.Union:
		return nil
	case schema.Record:
		out.Fields = nil
		for _, f := range t.Fields {
			if ft := withoutUnions(f.Type); ft != nil {
				f.Type = ft
				out.Fields = append(out.Fields, f)
			}
		}
		if len(out.Fields) == 0 {
			return nil
		}
	case schema.Array, schema.Map:
		if out.Elem = withoutUnions(t.Elem); out.Elem == nil {
			return nil
		}
	default:
	}
	return &out
}

// twoLevel rewrites the elements of a schema as Hudi's Avro writer has lists: the repeated node is the item.
func twoLevel(elements []format.SchemaElement) []format.SchemaElement {
	out := append([]format.SchemaElement(nil), elements...)
	for i := 0; i+2 <= len(out); i++ {
		if _, ok := out[i].LogicalType.Value.(*format.ListType); !ok || out[i+1].Name != "list" {
			continue
		}
		item := out[i+2]
		item.Name, item.RepetitionType = "array", thrift.New(format.Repeated)
		out = append(append(out[:i+1:i+1], item), out[i+3:]...)
	}
	return out
}

// hasNullItem finds what a two-level list can't hold.
func hasNullItem(v any, t *schema.Type, item bool) bool {
	if t.Nullable {
		m, ok := v.(map[string]any)
		if !ok {
			return item
		}
		v = m[unionName(t)]
	}
	switch t.Kind {
	case schema.Record:
		for _, f := range t.Fields {
			if hasNullItem(v.(map[string]any)[f.Name], f.Type, false) {
				return true
			}
		}
	case schema.Array:
		for _, e := range v.([]any) {
			// Lists of records of one field keep three levels.
			if hasNullItem(e, t.Elem, t.Elem.Kind != schema.Record || len(t.Elem.Fields) != 1) {
				return true
			}
		}
	case schema.Map:
		for _, e := range v.(map[string]any) {
			if hasNullItem(e, t.Elem, false) {
				return true
			}
		}
	default:
	}
	return false
}

// avroBlock builds a data block of encoded records.
func avroBlock(text string, records [][]byte) []byte {
	content := binary.BigEndian.AppendUint32(nil, avroVersion)
	content = binary.BigEndian.AppendUint32(content, uint32(len(records)))
	for _, r := range records {
		content = binary.BigEndian.AppendUint32(content, uint32(len(r)))
		content = append(content, r...)
	}
	return rawBlock(1, int32(AvroData), map[HeaderKey]string{InstantTime: "1", SchemaText: text}, content)
}

func openBytes(file []byte) (*Data, Block, error) {
	log, err := scanBytes(file)
	if err != nil {
		return nil, Block{}, err
	}
	d, err := OpenData(bytes.NewReader(file), log.Blocks[0])
	return d, log.Blocks[0], err
}

func TestRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := &randomSchema{t: rt}
		text, err := json.Marshal(r.record(3, 0))
		if err != nil {
			rt.Fatal(err)
		}
		codec, err := goavro.NewCodec(string(text))
		if err != nil {
			rt.Fatalf("goavro: %s: %v", text, err)
		}
		whole, err := schema.ParseAvro(string(text))
		if err != nil {
			rt.Fatal(err)
		}
		var records [][]byte
		var values []any
		for range rapid.IntRange(0, 4).Draw(rt, "records") {
			v := r.value(whole)
			record, err := codec.BinaryFromNative(nil, v)
			if err != nil {
				rt.Fatalf("goavro: %s: %v", text, err)
			}
			records, values = append(records, record), append(values, v)
		}
		if few := len(records); few > 0 && rapid.IntRange(0, 3).Draw(rt, "many") == 0 {
			for _, i := range rapid.SliceOfN(rapid.IntRange(0, few-1), atOnce-few-1, 3*atOnce).Draw(rt, "again") {
				records, values = append(records, records[i]), append(values, values[i])
			}
		}
		file := avroBlock(string(text), records)
		d, b, err := openBytes(file)
		if err != nil {
			rt.Fatal(err)
		}
		typ := withoutUnions(whole)
		if typ == nil {
			typ = &schema.Type{Kind: schema.Record}
		}
		target, err := schema.Target(typ, nil)
		if err != nil {
			rt.Fatal(err)
		}
		if err := checkAgainst(codec, d, typ, target, records); err != nil {
			rt.Fatalf("%s: %v", text, err)
		}
		checkTwoLevel(rt, codec, d, typ, target, records, values)
		checkRandomExtent(rt, file, b, d, target)
	})
}

func checkTwoLevel(rt *rapid.T, codec *goavro.Codec, d *Data, typ *schema.Type, target *schema.Message, records [][]byte, values []any) {
	if len(target.Fields) == 0 {
		return
	}
	like, err := schema.FromElements(twoLevel(target.Elements()))
	if err != nil {
		rt.Fatal(err)
	}
	two, err := schema.Target(typ, like)
	if err != nil {
		rt.Fatal(err)
	}
	err = checkAgainst(codec, d, typ, two, records)
	for _, v := range values {
		if hasNullItem(v, typ, false) {
			if !errors.Is(err, schema.ErrInvalid) {
				rt.Fatalf("a null in a two-level list: %v", err)
			}
			return
		}
	}
	if err != nil {
		rt.Fatalf("two-level lists: %v", err)
	}
}

func checkRandomExtent(rt *rapid.T, file []byte, b Block, d *Data, target *schema.Message) {
	all := make([]int, len(target.Leaves))
	for i := range all {
		all[i] = i
	}
	vectors, err := d.Columns(target, all)
	if err != nil {
		rt.Fatal(err)
	}
	e, err := Measure(bytes.NewReader(file), b, target)
	if err != nil {
		rt.Fatal(err)
	}
	over := int64(0)
	for i, v := range vectors {
		if int64(v.Entries()) > e.Leaves[i].Entries {
			rt.Fatalf("leaf %v: %d entries, measured %d", target.Leaves[i].Path, v.Entries(), e.Leaves[i].Entries)
		}
		over += max(0, int64(len(v.Buf))-e.Leaves[i].Bytes)
	}
	if over > e.Shared || int64(d.Rows()) != e.Rows {
		rt.Fatalf("%d rows and %d bytes more, measured %d and %d", d.Rows(), over, e.Rows, e.Shared)
	}
}
