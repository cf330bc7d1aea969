package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/schema"
)

// The same table under two schemas: a was renamed to z, b dropped and added again, and so on below records, lists and maps.
const (
	oldSchema = `{"version_id": 0, "type": "record", "max_column_id": 20, "fields": [
		{"id": 1, "name": "a", "optional": true, "type": "int"}, {"id": 2, "name": "b", "type": "string"},
		{"id": 3, "name": "st", "type": {"type": "record", "fields": [{"id": 4, "name": "x", "type": "int"}, {"id": 5, "name": "y", "type": "decimal(5, 2)"}]}},
		{"id": 6, "name": "l", "type": {"type": "array", "element_id": 7, "element_optional": true, "element": {"type": "record", "fields": [{"id": 8, "name": "x", "type": "int"}, {"id": 18, "name": "k", "type": "int"}]}}},
		{"id": 9, "name": "m", "type": {"type": "map", "key_id": 10, "value_id": 11, "key": "string", "value": {"type": "record", "fields": [{"id": 12, "name": "x", "type": "int"}]}}}]}`
	newSchema = `{"version_id": 20261130004025492, "type": "record", "max_column_id": 20, "fields": [
		{"id": 6, "name": "ls", "type": {"type": "array", "element_id": 7, "element": {"type": "record", "fields": [{"id": 8, "name": "xx", "type": "int"}, {"id": 18, "name": "k", "type": "int"}]}}},
		{"id": 3, "name": "st", "type": {"type": "record", "fields": [{"id": 5, "name": "x", "type": "string"}]}},
		{"id": 1, "name": "z", "type": "long"}, {"id": 15, "name": "b", "type": "int"},
		{"id": 9, "name": "m", "type": {"type": "map", "key_id": 10, "value_id": 11, "key": "string", "value": {"type": "record", "fields": [{"id": 12, "name": "xx", "type": "int"}]}}}]}`
)

func TestRenaming(t *testing.T) {
	r := &schema.Renaming{File: must(schema.ParseInternal(oldSchema))(t), Query: must(schema.ParseInternal(newSchema))(t)}
	num := func(name string) element { return leaf(optional, name, format.Int32) }
	for name, list := range map[string]element{
		"two levels":   group(optional, "l", group(repeated, "array", num("x"), num("k"))).as(deprecated.List),
		"three levels": group(optional, "l", group(repeated, "list", group(optional, "element", num("x"), num("k")))).as(deprecated.List),
	} {
		file := message(t, text(optional, "_hoodie_commit_time"), num("a"), text(optional, "b"), group(optional, "st", num("x"), text(optional, "y")), list,
			group(optional, "m", group(repeated, "key_value", text(required, "key"), group(optional, "value", num("x")))).as(deprecated.Map), text(optional, "foreign"))
		renamed := r.Message(file)
		var got []string
		for i, n := range renamed.Leaves {
			if n == nil || n.Index != i || n.Leaf != file.Leaves[i].Leaf {
				t.Fatalf("%s: leaf %d is %+v", name, i, n)
			}
		}
		target := must(schema.Target(avroRecord(t, avroField("_hoodie_commit_time", `"string"`), avroField("z", `"long"`), avroField("b", `"int"`),
			avroField("st", `{"type": "record", "name": "s", "fields": [{"name": "x", "type": "string"}]}`),
			avroField("ls", `{"type": "array", "items": {"type": "record", "name": "i", "fields": [{"name": "xx", "type": "int"}, {"name": "k", "type": "int"}, {"name": "x", "type": "int"}]}}`),
			avroField("m", `{"type": "map", "values": {"type": "record", "name": "v", "fields": [{"name": "xx", "type": "int"}]}}`)), nil))(t)
		for i, l := range must(schema.Project(renamed, target))(t) {
			from := "none"
			if !l.Nulls() {
				from = strings.Join(file.Leaves[l.Source].Path, ".")
			}
			got = append(got, fmt.Sprintf("%s<%s", target.Leaves[i].Path[0], from))
		}
		item := "l.list.element"
		if name == "two levels" {
			item = "l.array"
		}
		want := []string{
			"_hoodie_commit_time<_hoodie_commit_time", "z<a", "b<none", "st<st.y", "ls<" + item + ".x", "ls<" + item + ".k", "ls<none",
			"m<m.key_value.key", "m<m.key_value.value.x",
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s:\n%q\nwant\n%q", name, got, want)
		}
		// The Avro type of a log block of that time.
		typ := r.Type(must(file.Type())(t))
		z, _ := typ.Field("z")
		ls, _ := typ.Field("ls")
		if _, ok := typ.Field("b"); ok || z.Type == nil || ls.Type == nil || ls.Type.Elem.Fields[0].Name != "xx" || ls.Type.Elem.Fields[1].Name != "k" {
			t.Errorf("%s: as Avro: %+v", name, typ)
		}
	}
	var none *schema.Renaming
	m := message(t, num("a"))
	if none.Message(m) != m {
		t.Error("nothing to rename, and another schema")
	}
}

func TestSchemaHistory(t *testing.T) {
	all, err := schema.ParseHistory([]byte(`{"schemas": [` + newSchema + "," + oldSchema + `]}`))
	if err != nil || len(all) != 2 || all[0].Version != 20261130004025492 || all[1].Version != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	for _, text := range []string{``, `7`, `{"schemas": [null]}`, `{"schemas": [{"fields": []}]}`, `{"schemas": [{"version_id": "x"}]}`, `{"schemas": 7}`} {
		_, err := schema.ParseHistory([]byte(text))
		wantInvalid(t, err, "schema history")
	}
	for _, text := range []string{``, `null`, `{}`, `{"version_id": 1.5}`, `{"version_id": 1, "fields": [{"id": 1, "name": "a", "type": {"type": "nonsense"}}]}`, `{"version_id": 1, "fields": [{"id": 1, "name": "a", "type": null}]}`} {
		_, err := schema.ParseInternal(text)
		wantInvalid(t, err, "internal schema")
	}
}
