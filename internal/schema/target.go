package schema

import (
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
)

// Target is the Parquet schema of a view of a table: the columns of the table's schema in its order, each in the form that
// the reference file has where that form holds the column's type, otherwise as Hudi's own writer would write it. Every column is
// optional. like may be nil.
func Target(table *Type, like *Message) (*Message, error) {
	if table.Kind != Record {
		return nil, invalid("a table's schema must be a record, not %v", table.Kind)
	}
	if n := table.size(maxFields); n > maxFields {
		return nil, invalid("a schema of more than %d columns", maxFields)
	}
	var forms []*Node
	if like != nil {
		forms = like.Fields
	}
	var fields []*Node
	find := lookup(forms)
	for _, f := range table.Fields {
		n, err := targetNode(f.Name, f.Type, find(f.Name))
		if err != nil {
			return nil, err
		}
		fields = append(fields, n)
	}
	return newMessage(fields)
}

// Text is the field of a column of text that a table's schema lacks.
func Text(name string) Field {
	return Field{Name: name, Type: &Type{Kind: String, Nullable: true}}
}

func targetNode(name string, t *Type, form *Node) (*Node, error) {
	switch t.Kind {
	case Record:
		return targetStruct(name, t, form)
	case Array:
		return targetList(name, t, form)
	case Map:
		return targetMap(name, t, form)
	case Union:
		return nil, invalid("column %s: a union of %d types has no Parquet form", name, len(t.Branches))
	default:
	}
	if t.Kind == Fixed && t.Size == 0 {
		return nil, invalid("column %s: a fixed of no bytes has no Parquet form", name)
	}
	natural, _ := t.Scalar()
	n := &Node{Name: name, Repetition: Optional, Shape: LeafShape, Scalar: canonical(natural)}
	if form != nil && form.Shape == LeafShape && holds(form.Scalar, natural) {
		n.Scalar, n.element = form.Scalar, form.element
		return n, nil
	}
	n.element = n.Scalar.element()
	return n, nil
}

// holds tells whether a physical form is one that Hudi's writers use for a type, so that a view may show it.
func holds(form, natural Scalar) bool {
	if form == natural {
		return true
	}
	switch {
	case natural.Logical == Decimal:
		return form.Logical == Decimal && form.Precision == natural.Precision && form.Scale == natural.Scale
	case form.Kind == column.Int96:
		return natural.Logical == TimestampMicros || natural.Logical == TimestampMillis
	case natural.Kind == column.Bytes:
		return form.Kind == column.Bytes && form.Text == natural.Text && form.Logical == None
	}
	return false
}

func targetStruct(name string, t *Type, form *Node) (*Node, error) {
	if len(t.Fields) == 0 {
		return nil, invalid("column %s: a record without fields has no Parquet form", name)
	}
	n := &Node{Name: name, Repetition: Optional, Shape: StructShape}
	var forms []*Node
	if form != nil && form.Shape == StructShape {
		forms = form.Children
	}
	find := lookup(forms)
	for _, f := range t.Fields {
		c, err := targetNode(f.Name, f.Type, find(f.Name))
		if err != nil {
			return nil, err
		}
		n.Children = append(n.Children, c)
	}
	return n, nil
}

func group(name string, r Repetition, s Shape, c deprecated.ConvertedType, l format.LogicalTypeValue, children ...*Node) *Node {
	n := &Node{Name: name, Repetition: r, Shape: s, Children: children}
	n.element.ConvertedType = thrift.New(c)
	n.element.LogicalType.Value = l
	return n
}

func targetList(name string, t *Type, form *Node) (*Node, error) {
	var repeated, item *Node
	if form != nil && form.Shape == ListShape {
		repeated, item = form.Item()
	}
	if repeated != nil && repeated == item {
		elem, err := targetNode(repeated.Name, t.Elem, asItem(repeated))
		if err != nil {
			return nil, err
		}
		elem.Repetition = Repeated
		if elem.Shape != LeafShape {
			elem.Shape = StructShape // as FromElements reads a repeated group; asItem sees the shape behind it
		}
		n := &Node{Name: name, Repetition: Optional, Shape: ListShape, Children: []*Node{elem}, element: form.element}
		if len(elem.Children) != 1 || elem.Children[0].Repetition == Repeated {
			return n, nil
		}
		// Readers such as DuckDB take a group of one field for the wrapping of a three-level list, whatever its name.
		repeated = nil
	}
	if repeated != nil {
		elem, err := targetNode(item.Name, t.Elem, item)
		if err != nil {
			return nil, err
		}
		inner := &Node{Name: repeated.Name, Repetition: Repeated, Shape: StructShape, Children: []*Node{elem}, element: repeated.element}
		return &Node{Name: name, Repetition: Optional, Shape: ListShape, Children: []*Node{inner}, element: form.element}, nil
	}
	elem, err := targetNode("element", t.Elem, nil)
	if err != nil {
		return nil, err
	}
	inner := &Node{Name: "list", Repetition: Repeated, Shape: StructShape, Children: []*Node{elem}}
	return group(name, Optional, ListShape, deprecated.List, &format.ListType{}, inner), nil
}

// asItem sees the repeated node of a two-level list as the element that it is. A list or map inside of such a list keeps its own shape.
func asItem(repeated *Node) *Node {
	n := *repeated
	n.Repetition = Required
	if n.Shape == StructShape {
		n.Shape = shapeOf(&n)
	}
	return &n
}

func targetMap(name string, t *Type, form *Node) (*Node, error) {
	kvName, keyName, valueName := "key_value", "key", "value"
	var keyForm, valueForm *Node
	outer := group(name, Optional, MapShape, deprecated.Map, &format.MapType{})
	inner := &Node{Repetition: Repeated, Shape: StructShape}
	if form != nil && form.Shape == MapShape {
		kv, _ := form.Item()
		keyForm, valueForm = kv.Children[0], kv.Children[1]
		kvName, keyName, valueName = kv.Name, keyForm.Name, valueForm.Name
		outer.element, inner.element = form.element, kv.element
	}
	inner.Name = kvName
	key, err := targetNode(keyName, &Type{Kind: String}, keyForm)
	if err != nil {
		return nil, err
	}
	key.Repetition = Required
	value, err := targetNode(valueName, t.Elem, valueForm)
	if err != nil {
		return nil, err
	}
	inner.Children = []*Node{key, value}
	outer.Children = []*Node{inner}
	return outer, nil
}
