package schema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// wantInvalid fails unless err says what is wrong, and is of the class that callers know.
func wantInvalid(t testing.TB, err error, part string) {
	t.Helper()
	if !errors.Is(err, schema.ErrInvalid) || !strings.Contains(err.Error(), part) {
		t.Errorf("error %v, want an ErrInvalid with %q", err, part)
	}
}

// describe writes a message as a tree, with everything that reading a footer finds out.
func describe(m *schema.Message) string {
	var b strings.Builder
	var walk func(n *schema.Node, indent string)
	walk = func(n *schema.Node, indent string) {
		fmt.Fprintf(&b, "%s%s %s %v", indent, [...]string{"required", "optional", "repeated"}[n.Repetition], n.Name, n.Shape)
		if n.Shape == schema.LeafShape {
			fmt.Fprintf(&b, " %v, column %d %v", n.Scalar, n.Index, n.Leaf)
		}
		fmt.Fprintf(&b, " (r%d d%d)\n", n.MaxRep, n.MaxDef)
		for _, c := range n.Children {
			walk(c, indent+" ")
		}
	}
	for _, f := range m.Fields {
		walk(f, "")
	}
	return b.String()
}

// checkRoundTrip writes a schema as a footer has it and reads it back.
func checkRoundTrip(t testing.TB, m *schema.Message) {
	t.Helper()
	back, err := schema.FromElements(m.Elements())
	if err != nil {
		t.Errorf("a schema of ours can't be read back: %v\n%s", err, describe(m))
		return
	}
	if diff := cmp.Diff(describe(m), describe(back)); diff != "" {
		t.Errorf("written and read back (-before +after):\n%s", diff)
	}
	if !m.Admits(back) || !back.Admits(m) {
		t.Errorf("a schema does not admit itself:\n%s", describe(m))
	}
}

// element is a node of a Parquet schema as a footer lists it, with its children.
type element struct {
	format.SchemaElement
	children []element
}

func elements(fields ...element) []format.SchemaElement {
	out := []format.SchemaElement{{Name: "spark_schema", NumChildren: thrift.New(int32(len(fields)))}}
	var walk func(e element)
	walk = func(e element) {
		if len(e.children) > 0 {
			e.NumChildren = thrift.New(int32(len(e.children)))
		}
		out = append(out, e.SchemaElement)
		for _, c := range e.children {
			walk(c)
		}
	}
	for _, f := range fields {
		walk(f)
	}
	return out
}

func message(t testing.TB, fields ...element) *schema.Message {
	t.Helper()
	return must(schema.FromElements(elements(fields...)))(t)
}

func leaf(r format.FieldRepetitionType, name string, typ format.Type) element {
	return element{SchemaElement: format.SchemaElement{Name: name, RepetitionType: thrift.New(r), Type: thrift.New(typ)}}
}

func text(r format.FieldRepetitionType, name string) element {
	return leaf(r, name, format.ByteArray).as(deprecated.UTF8)
}

func group(r format.FieldRepetitionType, name string, children ...element) element {
	return element{SchemaElement: format.SchemaElement{Name: name, RepetitionType: thrift.New(r)}, children: children}
}

// as annotates an element the old way.
func (e element) as(c deprecated.ConvertedType) element {
	e.ConvertedType = thrift.New(c)
	return e
}

// logical annotates an element the new way.
func (e element) logical(l format.LogicalTypeValue) element {
	e.LogicalType.Value = l
	return e
}

func (e element) decimal(precision, scale int32) element {
	e.Precision, e.Scale = thrift.New(precision), thrift.New(scale)
	return e.as(deprecated.Decimal)
}

func (e element) length(n int32) element {
	e.TypeLength = thrift.New(n)
	return e
}

const (
	required = format.Required
	optional = format.Optional
	repeated = format.Repeated
)

// dump writes the entries of a vector: repetition, definition, value.
func dump(v *column.Vector) string {
	var b strings.Builder
	value := 0
	for i := range v.Entries() {
		rep, def := byte(0), byte(0)
		if v.Leaf.MaxRep > 0 {
			rep = v.Rep[i]
		}
		if v.Leaf.MaxDef > 0 {
			def = v.Def[i]
		}
		fmt.Fprintf(&b, "%d/%d", rep, def)
		if def == v.Leaf.MaxDef {
			fmt.Fprintf(&b, "=%x", v.Value(value))
			value++
		}
		b.WriteByte(' ')
	}
	if value != v.Values() {
		fmt.Fprintf(&b, "and %d values too many", v.Values()-value)
	}
	return b.String()
}
