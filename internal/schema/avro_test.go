package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hudifs/hudifs/internal/schema"
)

func TestParseAvro(t *testing.T) {
	str := func(nullable bool, at int) *schema.Type {
		return &schema.Type{Kind: schema.String, Nullable: nullable, NullIndex: at}
	}
	record := func(name string, fields ...schema.Field) *schema.Type {
		return &schema.Type{Kind: schema.Record, Name: name, Fields: fields}
	}
	long := &schema.Type{Kind: schema.Long}
	point := record("a.b.point", schema.Field{Name: "x", Type: long})
	for _, tt := range []struct {
		name, text string
		want       *schema.Type
	}{
		{"primitive", `"string"`, str(false, 0)},
		{"primitive as an object", `{"type": "string", "avro.java.string": "String"}`, str(false, 0)},
		{"primitive in objects within objects", `{"type": {"type": {"type": "long"}}}`, long},
		{"null first", `["null", "string"]`, str(true, 0)},
		{"null last, as in create.schema", `["string", "null"]`, str(true, 1)},
		{"null as an object", `[{"type": "null"}, "string"]`, str(true, 0)},
		{"a union as a type attribute", `{"type": ["null", "string"]}`, str(true, 0)},
		{
			"union of several types", `["null", "long", "string"]`,
			&schema.Type{Kind: schema.Union, Nullable: true, Branches: []*schema.Type{long, str(false, 0)}},
		},
		{
			"null in the middle", `["long", "null", "string"]`,
			&schema.Type{Kind: schema.Union, Nullable: true, NullIndex: 1, Branches: []*schema.Type{long, str(false, 0)}},
		},
		{"union of one type, which has its index on the wire", `["long"]`, &schema.Type{Kind: schema.Union, Branches: []*schema.Type{long}}},
		{"array", `{"type": "array", "items": "long"}`, &schema.Type{Kind: schema.Array, Elem: long}},
		{"map", `{"type": "map", "values": ["null", "string"]}`, &schema.Type{Kind: schema.Map, Elem: str(true, 0)}},
		{
			"enum", `{"type": "enum", "name": "e", "symbols": ["A", "B"]}`,
			&schema.Type{Kind: schema.Enum, Name: "e", Symbols: []string{"A", "B"}},
		},
		{
			"defaults as text", `{"type": "record", "name": "r", "fields": [
				{"name": "n", "type": ["null", "string"], "default": null},
				{"name": "i", "type": "long", "default": 12345678901234567890},
				{"name": "s", "type": "string", "default": "<&>"}, {"name": "", "type": "long"}]}`,
			record("r", schema.Field{Name: "n", Type: str(true, 0), Default: "null"},
				schema.Field{Name: "i", Type: long, Default: "12345678901234567890"},
				schema.Field{Name: "s", Type: str(false, 0), Default: `"<&>"`}, schema.Field{Name: "", Type: long}),
		},
		{
			"namespace reaches inwards, and a name by itself is looked up in it",
			`{"type": "record", "name": "t", "namespace": "a.b", "fields": [
				{"name": "p", "type": {"type": "record", "name": "point", "fields": [{"name": "x", "type": "long"}]}},
				{"name": "q", "type": "point"}, {"name": "r", "type": "a.b.point"}]}`,
			record("a.b.t", schema.Field{Name: "p", Type: point}, schema.Field{Name: "q", Type: point}, schema.Field{Name: "r", Type: point}),
		},
		{
			"a dotted name brings its own namespace",
			`{"type": "record", "name": "a.b.t", "namespace": "ignored", "fields": [
				{"name": "p", "type": {"type": "record", "name": "point", "fields": [{"name": "x", "type": "long"}]}}]}`,
			record("a.b.t", schema.Field{Name: "p", Type: point}),
		},
		{
			"an empty namespace ends the enclosing one",
			`{"type": "record", "name": "a.b.t", "fields": [
				{"name": "p", "type": {"type": "fixed", "size": 2, "name": "f", "namespace": ""}}, {"name": "q", "type": "f"}]}`,
			record("a.b.t", schema.Field{Name: "p", Type: &schema.Type{Kind: schema.Fixed, Name: "f", Size: 2}},
				schema.Field{Name: "q", Type: &schema.Type{Kind: schema.Fixed, Name: "f", Size: 2}}),
		},
		{
			"one name in two namespaces",
			`{"type": "record", "name": "t", "fields": [
				{"name": "p", "type": {"type": "enum", "name": "n.e", "symbols": ["A"]}},
				{"name": "q", "type": {"type": "enum", "name": "e", "symbols": ["B"]}}, {"name": "r", "type": "n.e"}]}`,
			record("t", schema.Field{Name: "p", Type: &schema.Type{Kind: schema.Enum, Name: "n.e", Symbols: []string{"A"}}},
				schema.Field{Name: "q", Type: &schema.Type{Kind: schema.Enum, Name: "e", Symbols: []string{"B"}}},
				schema.Field{Name: "r", Type: &schema.Type{Kind: schema.Enum, Name: "n.e", Symbols: []string{"A"}}}),
		},
		{
			"characters that Avro forbids in names",
			`{"type": "record", "name": "ta ble-1", "fields": [{"name": "ünï cödé.$", "type": "long"}]}`,
			record("ta ble-1", schema.Field{Name: "ünï cödé.$", Type: long}),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := schema.ParseAvro(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseAvroLogicalTypes(t *testing.T) {
	for _, tt := range []struct {
		typ, attributes string
		want            schema.Logical
	}{
		{"int", `"logicalType": "date"`, schema.Date},
		{"int", `"logicalType": "time-millis"`, schema.TimeMillis},
		{"long", `"logicalType": "time-micros"`, schema.TimeMicros},
		{"long", `"logicalType": "timestamp-millis"`, schema.TimestampMillis},
		{"long", `"logicalType": "timestamp-micros"`, schema.TimestampMicros},
		{"long", `"logicalType": "timestamp-nanos"`, schema.TimestampNanos},
		{"long", `"logicalType": "local-timestamp-millis"`, schema.LocalTimestampMillis},
		{"long", `"logicalType": "local-timestamp-micros"`, schema.LocalTimestampMicros},
		{"long", `"logicalType": "local-timestamp-nanos"`, schema.LocalTimestampNanos},
		{"string", `"logicalType": "uuid"`, schema.UUID},
		{"bytes", `"logicalType": "decimal", "precision": 38, "scale": 18`, schema.Decimal},
		{"bytes", `"logicalType": "decimal", "precision": 5`, schema.Decimal},
		// What does not fit its type is ignored.
		{"long", `"logicalType": "date"`, schema.None},
		{"int", `"logicalType": "timestamp-micros"`, schema.None},
		{"string", `"logicalType": "decimal", "precision": 5`, schema.None},
		{"bytes", `"logicalType": "uuid"`, schema.None},
		{"long", `"logicalType": "of-the-future"`, schema.None},
		{"long", `"logicalType": 7`, schema.None},
	} {
		// Both where it stands and as a union's branch, with the attribute at either place.
		for _, form := range []string{`{"type": %q, %s}`, `["null", {"type": %q, %s}]`, `{"type": {"type": %q}, %s}`} {
			text := fmt.Sprintf(form, tt.typ, tt.attributes)
			got, err := schema.ParseAvro(text)
			if err != nil || got.Logical != tt.want || got.Nullable != strings.HasPrefix(form, "[") {
				t.Errorf("%s: %+v, %v, want %v", text, got, err, tt.want)
			}
		}
	}
	dec, err := schema.ParseAvro(`{"type": "fixed", "size": 16, "name": "f", "logicalType": "decimal", "precision": 38, "scale": 18}`)
	if want := (&schema.Type{Kind: schema.Fixed, Name: "f", Size: 16, Logical: schema.Decimal, Precision: 38, Scale: 18}); err != nil || cmp.Diff(want, dec) != "" {
		t.Errorf("a fixed decimal: %+v, %v", dec, err)
	}
}

// hostileAvro has texts that are no schemas, with what must be said about them.
var hostileAvro = []struct{ name, text, want string }{
	{"nothing", ``, "byte 0"},
	{"no JSON", `{"type": `, "byte"},
	{"two texts", `"int" "int"`, "end of the text"},
	{"number", `7`, "expected a name"},
	{"absent", `null`, "expected a name"},
	{"unknown name", `"nonsense"`, "not defined"},
	{"null alone", `"null"`, "not defined"},
	{"object without a type", `{"name": "x"}`, "without a type"},
	{"record without fields", `{"type": "record", "name": "r"}`, "without fields"},
	{"fields of another kind", `{"type": "record", "name": "r", "fields": {"a": 1}}`, "without fields"},
	{"field that is no object", `{"type": "record", "name": "r", "fields": ["a"]}`, "without a name"},
	{"field without a type", `{"type": "record", "name": "r", "fields": [{"name": "a"}]}`, "field a"},
	{"two fields of one name", `{"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}, {"name": "a", "type": "int"}]}`, "two fields"},
	{"array without items", `{"type": "array"}`, "expected a name"},
	{"map without values", `{"type": "map"}`, "expected a name"},
	{"empty union", `[]`, "without a type"},
	{"union of null alone", `["null"]`, "without a type"},
	{"null twice", `["null", "null", "int"]`, "null twice"},
	{"union within a union", `["null", ["null", "int"]]`, "within a union"},
	{"union within a union, hidden", `["string", {"type": ["int"]}]`, "within a union"},
	{"itself", `{"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", "r"]}]}`, "contains itself"},
	{"itself, by its full name", `{"type": "record", "name": "n.r", "fields": [{"name": "a", "type": {"type": "array", "items": "n.r"}}]}`, "contains itself"},
	{"a use before its definition", `{"type": "record", "name": "r", "fields": [{"name": "a", "type": "f"}, {"name": "b", "type": {"type": "fixed", "name": "f", "size": 1}}]}`, "not defined"},
	{"fixed without a size", `{"type": "fixed", "name": "f"}`, "size"},
	{"fixed of a negative size", `{"type": "fixed", "name": "f", "size": -1}`, "size"},
	{"fixed of a huge size", `{"type": "fixed", "name": "f", "size": 1e300}`, "size"},
	{"symbol that is no text", `{"type": "enum", "name": "e", "symbols": [1]}`, "no text"},
	{"decimal without a precision", `{"type": "bytes", "logicalType": "decimal"}`, "precision"},
	{"decimal of no digits", `{"type": "bytes", "logicalType": "decimal", "precision": 0}`, "decimal(0,0)"},
	{"decimal of a scale beyond its precision", `{"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3}`, "decimal(2,3)"},
	{"decimal of a thousand digits", `{"type": "bytes", "logicalType": "decimal", "precision": 1000}`, "decimal(1000,0)"},
	{"too deep", strings.Repeat(`{"type": "array", "items": `, 100) + `"int"` + strings.Repeat("}", 100), "deeper"},
	{"too deep in brackets", strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "deeper"},
}

func TestParseAvroRefuses(t *testing.T) {
	for _, tt := range hostileAvro {
		t.Run(tt.name, func(t *testing.T) {
			_, err := schema.ParseAvro(tt.text)
			wantInvalid(t, err, tt.want)
		})
	}
}

// bomb is a schema of n records, each of which holds the one before twice.
func bomb(n int) string {
	var b strings.Builder
	b.WriteString(`{"type": "record", "name": "t", "fields": [{"name": "f0", "type": {"type": "record", "name": "r0", "fields": [{"name": "x", "type": "int"}]}}`)
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, `, {"name": "f%d", "type": {"type": "record", "name": "r%d", "fields": [{"name": "a", "type": "r%d"}, {"name": "b", "type": "r%d"}]}}`, i, i, i-1, i-1)
	}
	b.WriteString("]}")
	return b.String()
}

func TestSchemaThatExplodes(t *testing.T) {
	for _, n := range []int{14, 20, 60, 2000} {
		typ, err := schema.ParseAvro(bomb(n))
		if err != nil {
			t.Fatal(err)
		}
		m, err := schema.Target(typ, nil)
		if n == 14 {
			if err != nil || len(m.Leaves) != 1<<14-1 {
				t.Errorf("%d levels: %v", n, err)
			}
			continue
		}
		wantInvalid(t, err, "columns")
	}
}

func TestMetaFields(t *testing.T) {
	typ, err := schema.ParseAvro(`{"type": "record", "name": "t", "fields": [{"name": "id", "type": "int"},
		{"name": "_hoodie_operation", "type": "string"}, {"name": "_hoodie_commit_time", "type": "long"},
		{"name": "_hoodie_is_deleted", "type": "boolean"}, {"name": "_hoodie_record_keys", "type": "int"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	names := func(t *schema.Type) string {
		var out []string
		for _, f := range t.Fields {
			out = append(out, f.Name)
		}
		return strings.Join(out, " ")
	}
	want := "_hoodie_commit_time _hoodie_commit_seqno _hoodie_record_key _hoodie_partition_path _hoodie_file_name _hoodie_operation " +
		"id _hoodie_is_deleted _hoodie_record_keys"
	with := schema.WithMeta(typ)
	if got := names(with); got != want {
		t.Errorf("with meta fields: %s", got)
	}
	if f, _ := with.Field(schema.CommitTime); f.Type.Kind != schema.String || !f.Type.Nullable {
		t.Errorf("the commit time is a %+v", f.Type)
	}
	if got := names(schema.WithMeta(with)); got != want {
		t.Errorf("with meta fields, twice: %s", got)
	}
	if got := names(schema.WithoutMeta(with)); got != "id _hoodie_is_deleted _hoodie_record_keys" {
		t.Errorf("without meta fields: %s", got)
	}
	if got := names(typ); !strings.HasPrefix(got, "id _hoodie_operation") {
		t.Errorf("the schema itself was changed: %s", got)
	}
}

func FuzzAvroSchema(f *testing.F) {
	for _, tt := range hostileAvro {
		f.Add(tt.text)
	}
	f.Add(bomb(60))
	f.Add(`{"type":"record","name":"a.t","fields":[{"name":"d","type":["null",{"type":"fixed","name":"f","size":5,"logicalType":"decimal","precision":10,"scale":2}]},
		{"name":"m","type":{"type":"map","values":{"type":"array","items":["null","f"]}}},{"name":"ts","type":[{"type":"long","logicalType":"timestamp-micros"},"null"]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		typ, err := schema.ParseAvro(text)
		if err != nil {
			wantInvalid(t, err, "")
			return
		}
		if typ.Kind != schema.Record {
			return
		}
		m, err := schema.Target(schema.WithMeta(typ), nil)
		if err != nil {
			wantInvalid(t, err, "")
			return
		}
		if len(m.Leaves) > 100_000+5 {
			t.Fatalf("%d bytes of schema became %d columns", len(text), len(m.Leaves))
		}
		checkRoundTrip(t, m)
	})
}
