package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/hostiletest"
	"github.com/hudifs/hudifs/internal/schema"
)

// TestDeepSchemas: nesting without end is refused before anything is made of it.
func TestDeepSchemas(t *testing.T) {
	const levels = 9_000 // of the 10,000 that a JSON text may have
	nest := func(open string) string { return strings.Repeat(open, levels) + `"int"` + strings.Repeat("}", levels) }
	avro := `{"type":"record","name":"r","fields":[{"name":"a","type":` + nest(`{"type":"array","items":`) + `}]}`
	internal := `{"version_id":1,"fields":[{"id":1,"name":"a","type":` + nest(`{"type":"array","element":`) + `}]}`
	quotes := `{"version_id":1,"fields":[{"id":1,"name":"a\"` + strings.Repeat("[", levels) + `","type":"int"}]}`
	for name, parse := range map[string]func() error{
		"avro":     func() error { _, err := schema.ParseAvro(avro); return err },
		"internal": func() error { _, err := schema.ParseInternal(internal); return err },
		"history":  func() error { _, err := schema.ParseHistory([]byte(`{"schemas":[` + internal + `]}`)); return err },
	} {
		hostiletest.Allocates(t, 16<<20, func() { wantInvalid(t, parse(), "deeper") })
		if t.Failed() {
			t.Fatal(name)
		}
	}
	if _, err := schema.ParseInternal(quotes); err != nil {
		t.Errorf("brackets in a name: %v", err)
	}
}

// TestWideSchemas would not end in any time worth waiting for if each column looked at all others.
func TestWideSchemas(t *testing.T) {
	const columns = 30_000
	var avro, internal strings.Builder
	for i := range columns {
		if i > 0 {
			avro.WriteByte(',')
			internal.WriteByte(',')
		}
		fmt.Fprintf(&avro, `{"name":"a column with a long name %d","type":["null","int"]}`, i)
		fmt.Fprintf(&internal, `{"id":%d,"name":"a column with a long name %d","type":"int"}`, i, i)
	}
	typ, err := schema.ParseAvro(`{"type":"record","name":"r","fields":[{"name":"s","type":{"type":"record","name":"s","fields":[` + avro.String() + `]}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	fields := `[` + internal.String() + `]`
	names, err := schema.ParseInternal(`{"version_id":1,"fields":[{"id":-1,"name":"s","type":{"type":"record","fields":` + fields + `}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // once as a column, once as the table
		target, err := schema.Target(typ, nil)
		if err != nil {
			t.Fatal(err)
		}
		if target, err = schema.Target(typ, target); err != nil {
			t.Fatal(err)
		}
		renamed := (&schema.Renaming{File: names, Query: names}).Message(target)
		maps, err := schema.Project(renamed, target)
		if err != nil || len(maps) != columns || maps[columns-1].Source != columns-1 || !renamed.Admits(target) {
			t.Fatalf("%d leaves, %v", len(maps), err)
		}
		typ = typ.Fields[0].Type
		if names, err = schema.ParseInternal(`{"version_id":1,"fields":` + fields + `}`); err != nil {
			t.Fatal(err)
		}
	}
}
