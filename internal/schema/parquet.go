package schema

import (
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
)

// Repetition is how often a node of a Parquet schema occurs in its parent.
type Repetition uint8

// The repetitions.
const (
	Required Repetition = iota
	Optional
	Repeated
)

// Shape is what a node is, whatever its form: a three-level list and a two-level list are both a ListShape.
type Shape uint8

// The shapes.
const (
	LeafShape Shape = iota
	StructShape
	ListShape
	MapShape
)

func (s Shape) String() string { return [...]string{"primitive", "struct", "list", "map"}[s] }

// Node is a node of a Parquet schema. Nodes are not changed once their Message is made.
type Node struct {
	Name       string
	Repetition Repetition
	Shape      Shape
	Children   []*Node
	// Scalar is the type of a leaf.
	Scalar Scalar
	// Leaf is the layout of a leaf's column.
	Leaf column.Leaf
	// Index is a leaf's number in its Message, -1 for groups.
	Index int
	// Path is a leaf's place in the schema.
	Path []string
	// MaxDef and MaxRep are the levels at which the node is present.
	MaxDef, MaxRep uint8

	element format.SchemaElement
}

// Message is a Parquet schema.
type Message struct {
	Fields []*Node
	Leaves []*Node
}

// Field finds a column by name.
func (m *Message) Field(name string) *Node { return named(m.Fields, name) }

// named finds a node among its siblings, nil where there is none.
func named(nodes []*Node, name string) *Node {
	for _, n := range nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// lookup finds nodes among siblings as named does, for who looks for many: of a hundred thousand columns each would look at all others.
func lookup(nodes []*Node) func(name string) *Node {
	const few = 16
	if len(nodes) <= few {
		return func(name string) *Node { return named(nodes, name) }
	}
	first := make(map[string]*Node, len(nodes))
	for _, n := range slices.Backward(nodes) {
		first[n.Name] = n
	}
	return func(name string) *Node { return first[name] }
}

// Leaf finds the leaf of a column that is primitive.
func (m *Message) Leaf(name string) *Node {
	if f := m.Field(name); f != nil && f.Shape == LeafShape {
		return f
	}
	return nil
}

// Find finds a primitive field by its dotted path through structs.
func (m *Message) Find(path string) *Node {
	if n := m.Leaf(path); n != nil {
		return n
	}
	fields := m.Fields
	var at *Node
	for name := range strings.SplitSeq(path, ".") {
		if at = named(fields, name); at == nil {
			return nil
		}
		fields = nil
		if at.Shape == StructShape {
			fields = at.Children
		}
	}
	if at.Shape != LeafShape {
		return nil
	}
	return at
}

// newMessage numbers the leaves of a tree and counts the levels of its nodes.
func newMessage(fields []*Node) (*Message, error) {
	m := &Message{Fields: fields}
	var walk func(n *Node, def, rep uint8, path []string) error
	walk = func(n *Node, def, rep uint8, path []string) error {
		if len(path) > maxDepth {
			return invalid("Parquet schema nested deeper than %d", maxDepth)
		}
		if n.Repetition != Required {
			def++
		}
		if n.Repetition == Repeated {
			rep++
		}
		n.MaxDef, n.MaxRep, n.Index = def, rep, -1
		path = append(slices.Clip(path), n.Name)
		if n.Shape == LeafShape {
			n.Index, n.Path = len(m.Leaves), path
			n.Leaf = column.Leaf{Kind: n.Scalar.Kind, Size: n.Scalar.Size, MaxRep: rep, MaxDef: def}
			m.Leaves = append(m.Leaves, n)
			return nil
		}
		for _, c := range n.Children {
			if err := walk(c, def, rep, path); err != nil {
				return err
			}
		}
		return nil
	}
	for _, f := range fields {
		if err := walk(f, 0, 0, nil); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// FromElements reads the schema of a Parquet footer.
func FromElements(elements []format.SchemaElement) (*Message, error) {
	if len(elements) == 0 {
		return nil, invalid("Parquet footer without a schema")
	}
	if len(elements) > maxFields {
		return nil, invalid("Parquet schema of %d elements", len(elements))
	}
	rest := elements[1:]
	var take func(depth int) (*Node, error)
	take = func(depth int) (*Node, error) {
		if len(rest) == 0 || depth > maxDepth {
			return nil, invalid("Parquet schema: an element counts more children than there are, or lies deeper than %d", maxDepth)
		}
		e := rest[0]
		rest = rest[1:]
		n, err := nodeOf(e)
		if err != nil {
			return nil, err
		}
		for range e.NumChildren.V {
			c, err := take(depth + 1)
			if err != nil {
				return nil, err
			}
			n.Children = append(n.Children, c)
		}
		if n.Shape != LeafShape {
			if len(n.Children) == 0 {
				return nil, invalid("Parquet group %s is empty", n.Name)
			}
			n.Shape = shapeOf(n)
		}
		return n, nil
	}
	var fields []*Node
	for range elements[0].NumChildren.V {
		n, err := take(0)
		if err != nil {
			return nil, err
		}
		fields = append(fields, n)
	}
	if len(rest) > 0 {
		return nil, invalid("Parquet schema: %d elements belong to no group", len(rest))
	}
	return newMessage(fields)
}

func nodeOf(e format.SchemaElement) (*Node, error) {
	e.FieldID = 0
	n := &Node{Name: e.Name, element: e}
	switch e.RepetitionType.V {
	case format.Required:
		n.Repetition = Required
	case format.Optional:
		n.Repetition = Optional
	case format.Repeated:
		n.Repetition = Repeated
	default:
		return nil, invalid("Parquet column %s: repetition %d", e.Name, e.RepetitionType.V)
	}
	if !e.Type.Valid {
		n.Shape = StructShape
		return n, nil
	}
	if e.NumChildren.V > 0 {
		return nil, invalid("Parquet column %s has a type and children", e.Name)
	}
	var err error
	n.Scalar, err = scalarOf(e)
	return n, err
}

// shapeOf tells lists and maps from structs. A repeated group that is itself an element stays a struct.
func shapeOf(n *Node) Shape {
	if len(n.Children) != 1 || n.Children[0].Repetition != Repeated || n.Repetition == Repeated {
		return StructShape
	}
	inner := n.Children[0]
	switch n.element.LogicalType.Value.(type) {
	case *format.ListType:
		return ListShape
	case *format.MapType:
		if len(inner.Children) == 2 {
			return MapShape
		}
	}
	if n.element.ConvertedType.Valid {
		switch n.element.ConvertedType.V {
		case deprecated.List:
			return ListShape
		case deprecated.Map, deprecated.MapKeyValue:
			if len(inner.Children) == 2 {
				return MapShape
			}
		default:
		}
	}
	return StructShape
}

// Item is the element of a list, or the key and value group of a map, and the repeated node it lies in; for a two-level
// list both are the same node (parquet-format: LogicalTypes.md, backward-compatibility rules for lists).
func (n *Node) Item() (repeated, item *Node) {
	repeated = n.Children[0]
	if n.Shape == MapShape {
		return repeated, repeated
	}
	switch {
	case repeated.Shape == LeafShape, len(repeated.Children) != 1, repeated.Children[0].Repetition == Repeated,
		repeated.Name == "array", repeated.Name == n.Name+"_tuple":
		return repeated, repeated
	}
	return repeated, repeated.Children[0]
}

// Elements is the schema as a Parquet footer states it.
func (m *Message) Elements() []format.SchemaElement {
	out := []format.SchemaElement{{Name: "hudifs", NumChildren: thrift.New(int32(len(m.Fields)))}}
	var walk func(n *Node)
	walk = func(n *Node) {
		e := n.element
		e.Name = n.Name
		e.RepetitionType = thrift.New(format.FieldRepetitionType(n.Repetition))
		if n.Shape != LeafShape {
			e.NumChildren = thrift.New(int32(len(n.Children)))
		}
		out = append(out, e)
		for _, c := range n.Children {
			walk(c)
		}
	}
	for _, f := range m.Fields {
		walk(f)
	}
	return out
}

// Admits tells whether a file of schema f can be served as it is in a view of schema m: the same leaf paths in the same
// order, with the same physical and logical types and list forms. Tighter nullability does no harm.
func (m *Message) Admits(f *Message) bool {
	if len(m.Fields) != len(f.Fields) {
		return false
	}
	for i, n := range m.Fields {
		if !n.admits(f.Fields[i]) {
			return false
		}
	}
	return true
}

func (n *Node) admits(f *Node) bool {
	if n.Name != f.Name || n.Shape != f.Shape || len(n.Children) != len(f.Children) || n.Scalar != f.Scalar {
		return false
	}
	if (n.Repetition == Repeated) != (f.Repetition == Repeated) || n.Repetition == Required && f.Repetition == Optional {
		return false
	}
	if n.Repetition == Repeated && n.Shape == StructShape && asItem(n).Shape != asItem(f).Shape {
		return false
	}
	for i, c := range n.Children {
		if !c.admits(f.Children[i]) {
			return false
		}
	}
	return true
}

// Type is the Avro type that a file of this schema holds, for tables that state none.
func (m *Message) Type() (*Type, error) {
	t := &Type{Kind: Record, Name: "table"}
	for _, n := range m.Fields {
		ft, err := n.avro()
		if err != nil {
			return nil, err
		}
		t.Fields = append(t.Fields, Field{Name: n.Name, Type: ft})
	}
	return t, nil
}

func (n *Node) avro() (*Type, error) {
	if n.Repetition == Repeated {
		return nil, invalid("column %s: repeated, but no list", n.Name)
	}
	t := &Type{Nullable: true, Logical: n.Scalar.Logical, Precision: n.Scalar.Precision, Scale: n.Scalar.Scale}
	switch n.Shape {
	case StructShape:
		t.Kind = Record
		for _, c := range n.Children {
			ct, err := c.avro()
			if err != nil {
				return nil, err
			}
			t.Fields = append(t.Fields, Field{Name: c.Name, Type: ct})
		}
		return t, nil
	case ListShape, MapShape:
		repeated, item := n.Item()
		t.Kind = Array
		if repeated == item {
			item = asItem(repeated)
		}
		if n.Shape == MapShape {
			t.Kind, item = Map, item.Children[1]
		}
		var err error
		t.Elem, err = item.avro()
		return t, err
	case LeafShape:
	}
	switch n.Scalar.Kind {
	case column.Bool:
		t.Kind = Boolean
	case column.Int32:
		t.Kind = Int
	case column.Int64:
		t.Kind = Long
	case column.Int96:
		t.Kind, t.Logical = Long, TimestampMicros
	case column.Float:
		t.Kind = Float
	case column.Double:
		t.Kind = Double
	case column.Bytes:
		t.Kind = Bytes
		if n.Scalar.Text {
			t.Kind = String
		}
	case column.Fixed:
		t.Kind, t.Size = Fixed, n.Scalar.Size
	}
	if t.Logical == Decimal && t.Kind != Fixed {
		t.Kind = Bytes
	}
	return t, nil
}
