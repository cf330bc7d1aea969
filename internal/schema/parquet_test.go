package schema_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

func TestScalars(t *testing.T) {
	millis, micros, nanos := format.TimeUnit{Value: &format.MilliSeconds{}}, format.TimeUnit{Value: &format.MicroSeconds{}}, format.TimeUnit{Value: &format.NanoSeconds{}}
	for _, tt := range []struct {
		name string
		e    element
		want string
	}{
		{"bool", leaf(required, "c", format.Boolean), "BOOLEAN"},
		{"int", leaf(required, "c", format.Int32), "INT32"},
		{"long", leaf(required, "c", format.Int64), "INT64"},
		{"old timestamp", leaf(required, "c", format.Int96), "timestamp-nanos in INT96"},
		{"float", leaf(required, "c", format.Float), "FLOAT"},
		{"double", leaf(required, "c", format.Double), "DOUBLE"},
		{"bytes", leaf(required, "c", format.ByteArray), "BYTE_ARRAY"},
		{"fixed", leaf(required, "c", format.FixedLenByteArray).length(7), "FIXED_LEN_BYTE_ARRAY(7)"},
		{"text", text(required, "c"), "string"},
		{"text, the new way", leaf(required, "c", format.ByteArray).logical(&format.StringType{}), "string"},
		{"enum", leaf(required, "c", format.ByteArray).as(deprecated.Enum), "string"},
		{"enum, the new way", leaf(required, "c", format.ByteArray).logical(&format.EnumType{}), "string"},
		{"json", leaf(required, "c", format.ByteArray).logical(&format.JsonType{}), "string"},
		{"uuid", leaf(required, "c", format.FixedLenByteArray).length(16).logical(&format.UUIDType{}), "uuid in FIXED_LEN_BYTE_ARRAY(16)"},
		{"decimal in int", leaf(required, "c", format.Int32).decimal(9, 2), "decimal(9,2) in INT32"},
		{"decimal in long", leaf(required, "c", format.Int64).decimal(18, 0), "decimal(18,0) in INT64"},
		{"decimal in bytes", leaf(required, "c", format.ByteArray).decimal(20, 20), "decimal(20,20) in BYTE_ARRAY"},
		{"decimal in fixed", leaf(required, "c", format.FixedLenByteArray).length(16).decimal(38, 18), "decimal(38,18) in FIXED_LEN_BYTE_ARRAY(16)"},
		{
			"the new annotation counts",
			leaf(required, "c", format.Int32).decimal(9, 2).logical(&format.DecimalType{Precision: 8, Scale: 1}), "decimal(8,1) in INT32",
		},
		{"date", leaf(required, "c", format.Int32).as(deprecated.Date), "date in INT32"},
		{"date, the new way", leaf(required, "c", format.Int32).logical(&format.DateType{}), "date in INT32"},
		{"time in ms", leaf(required, "c", format.Int32).as(deprecated.TimeMillis), "time-millis in INT32"},
		{"time in µs", leaf(required, "c", format.Int64).logical(&format.TimeType{Unit: micros}), "time-micros in INT64"},
		{"timestamp in ms", leaf(required, "c", format.Int64).as(deprecated.TimestampMillis), "timestamp-millis in INT64"},
		{"timestamp in µs", leaf(required, "c", format.Int64).as(deprecated.TimestampMicros), "timestamp-micros in INT64"},
		{"timestamp in ns", leaf(required, "c", format.Int64).logical(&format.TimestampType{IsAdjustedToUTC: true, Unit: nanos}), "timestamp-nanos in INT64"},
		{"local timestamp in ms", leaf(required, "c", format.Int64).logical(&format.TimestampType{Unit: millis}), "local-timestamp-millis in INT64"},
		{"local timestamp in µs", leaf(required, "c", format.Int64).logical(&format.TimestampType{Unit: micros}), "local-timestamp-micros in INT64"},
		{"local timestamp in ns", leaf(required, "c", format.Int64).logical(&format.TimestampType{Unit: nanos}), "local-timestamp-nanos in INT64"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := message(t, tt.e)
			if got := m.Leaves[0].Scalar.String(); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			checkRoundTrip(t, m)
		})
	}
}

// Each meaning of a leaf on a form that can't hold it, and other footers that no writer makes.
func TestFromElementsRefuses(t *testing.T) {
	nanos := &format.TimeType{Unit: format.TimeUnit{Value: &format.NanoSeconds{}}}
	deep := text(optional, "leaf")
	for range 100 {
		deep = group(optional, "g", deep)
	}
	lying := elements(group(optional, "g", text(optional, "a")))
	lying[1].NumChildren = thrift.New(int32(1 << 30))
	orphan := elements(text(optional, "a"))
	orphan[0].NumChildren = thrift.New(int32(0))
	negative := elements(group(optional, "g", text(optional, "a")))
	negative[1].NumChildren = thrift.New(int32(-1))
	for _, tt := range []struct {
		name string
		list []format.SchemaElement
		want string
	}{
		{"nothing", nil, "without a schema"},
		{"more children than there are", lying, "more children"},
		{"fewer children than there are", orphan, "belong to no group"},
		{"a negative number of children", negative, "empty"},
		{"an empty group", elements(element{SchemaElement: group(optional, "g").SchemaElement}), "empty"},
		{"too deep", elements(deep), "deeper"},
		{"a leaf with children", elements(element{SchemaElement: text(optional, "a").SchemaElement, children: []element{text(optional, "b")}}), "a type and children"},
		{"an unknown repetition", elements(text(77, "a")), "repetition 77"},
		{"an unknown type", elements(leaf(optional, "a", 77)), "type 77"},
		{"a negative type", elements(leaf(optional, "a", -1)), "type -1"},
		{"fixed of no length", elements(leaf(optional, "a", format.FixedLenByteArray)), "fixed length 0"},
		{"fixed of a huge length", elements(leaf(optional, "a", format.FixedLenByteArray).length(1 << 30)), "fixed length"},
		{"decimal of no digits", elements(leaf(optional, "a", format.Int32).decimal(0, 0)), "decimal(0,0)"},
		{"decimal of a negative scale", elements(leaf(optional, "a", format.Int32).decimal(5, -1)), "decimal(5,-1)"},
		{"decimal of too many digits", elements(leaf(optional, "a", format.ByteArray).decimal(1000, 0)), "decimal(1000,0)"},
		{"decimal in a double", elements(leaf(optional, "a", format.Double).decimal(5, 2)), "DOUBLE"},
		{"decimal in a bool", elements(leaf(optional, "a", format.Boolean).decimal(5, 2)), "BOOLEAN"},
		{"date in a bool", elements(leaf(optional, "a", format.Boolean).as(deprecated.Date)), "BOOLEAN"},
		{"date in bytes", elements(leaf(optional, "a", format.ByteArray).as(deprecated.Date)), "BYTE_ARRAY"},
		{"date in a long", elements(leaf(optional, "a", format.Int64).as(deprecated.Date)), "INT64"},
		{"date in an old timestamp", elements(leaf(optional, "a", format.Int96).as(deprecated.Date)), "INT96"},
		{"timestamp in an int", elements(leaf(optional, "a", format.Int32).as(deprecated.TimestampMicros)), "INT32"},
		{"time in a long of ms", elements(leaf(optional, "a", format.Int64).as(deprecated.TimeMillis)), "INT64"},
		{"time in nanoseconds", elements(leaf(optional, "a", format.Int64).logical(nanos)), "nanoseconds"},
		{"text in a long", elements(leaf(optional, "a", format.Int64).as(deprecated.UTF8)), "string"},
		{"uuid in text", elements(leaf(optional, "a", format.ByteArray).logical(&format.UUIDType{})), "uuid"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := schema.FromElements(tt.list)
			wantInvalid(t, err, tt.want)
		})
	}
}

// lists are all forms in which files have a list of texts, and how far down each puts its element.
var lists = []struct {
	name string
	e    element
	two  bool // the repeated node is the element
}{
	{"three levels", group(optional, "l", group(repeated, "list", text(optional, "element"))).as(deprecated.List), false},
	{"three levels, required element", group(optional, "l", group(repeated, "list", text(required, "element"))).as(deprecated.List), false},
	{"three levels, the new way", group(optional, "l", group(repeated, "list", text(optional, "element"))).logical(&format.ListType{}), false},
	{"three levels, Hive's names", group(optional, "l", group(repeated, "bag", text(optional, "array_element"))).as(deprecated.List), false},
	{"two levels", group(optional, "l", text(repeated, "array")).as(deprecated.List), true},
	{"two levels, another name", group(optional, "l", text(repeated, "element")).as(deprecated.List), true},
	{"two levels of groups", group(optional, "l", group(repeated, "element", text(optional, "a"), text(optional, "b"))).as(deprecated.List), true},
	{"two levels of groups of one field, by Avro's name", group(optional, "l", group(repeated, "array", text(optional, "a"))).as(deprecated.List), true},
	{"two levels of groups of one field, by Thrift's name", group(optional, "l", group(repeated, "l_tuple", text(optional, "a"))).as(deprecated.List), true},
	{"somebody else's tuple", group(optional, "l", group(repeated, "m_tuple", text(optional, "a"))).as(deprecated.List), false},
	{
		"two levels of two levels, by Avro's name",
		group(optional, "l", group(repeated, "array", text(repeated, "array")).as(deprecated.List)).as(deprecated.List), true,
	},
	{
		"two levels of two levels",
		group(optional, "l", group(repeated, "element", text(repeated, "element")).as(deprecated.List)).as(deprecated.List), true,
	},
}

// ambiguous tells whether there is a two-level list of groups of one field, which some readers take for a three-level one.
func ambiguous(nodes []*schema.Node) bool {
	return slices.ContainsFunc(nodes, func(n *schema.Node) bool {
		if n.Shape == schema.ListShape {
			if r, item := n.Item(); r == item && len(r.Children) == 1 && r.Children[0].Repetition != schema.Repeated {
				return true
			}
		}
		return ambiguous(n.Children)
	})
}

func TestListForms(t *testing.T) {
	for _, tt := range lists {
		t.Run(tt.name, func(t *testing.T) {
			m := message(t, tt.e)
			l := m.Field("l")
			if l.Shape != schema.ListShape {
				t.Fatalf("a %v", l.Shape)
			}
			repeated, item := l.Item()
			if repeated.Repetition != schema.Repeated || (repeated == item) != tt.two {
				t.Errorf("element %q in repeated %q", item.Name, repeated.Name)
			}
			typ, err := m.Type()
			if err != nil {
				t.Fatal(err)
			}
			if typ.Fields[0].Type.Kind != schema.Array {
				t.Errorf("its type: %+v", typ.Fields[0].Type)
			}
			if like := must(schema.Target(typ, m))(t); like.Admits(m) == ambiguous(m.Fields) {
				t.Errorf("a view with this model admits it: %v\n%s%s", like.Admits(m), describe(like), describe(m))
			}
			checkRoundTrip(t, m)
		})
	}
}

func TestNoLists(t *testing.T) {
	for _, tt := range []struct {
		name string
		e    element
		want schema.Shape
	}{
		{"no annotation", group(optional, "l", group(repeated, "list", text(optional, "element"))), schema.StructShape},
		{"nothing repeated", group(optional, "l", text(optional, "element")).as(deprecated.List), schema.StructShape},
		{"two fields", group(optional, "l", text(repeated, "a"), text(optional, "b")).as(deprecated.List), schema.StructShape},
		{"a map of keys alone", group(optional, "l", group(repeated, "key_value", text(required, "key"))).as(deprecated.Map), schema.StructShape},
		{"a map", group(optional, "l", group(repeated, "key_value", text(required, "key"), text(optional, "value"))).as(deprecated.Map), schema.MapShape},
		{
			"a map of the two-level era",
			group(optional, "l", group(repeated, "map", text(required, "key"), text(optional, "value")).as(deprecated.MapKeyValue)).as(deprecated.Map),
			schema.MapShape,
		},
		{"a map, by its first annotation", group(optional, "l", group(repeated, "map", text(required, "key"), text(optional, "value"))).as(deprecated.MapKeyValue), schema.MapShape},
		{
			"a map, the new way",
			group(optional, "l", group(repeated, "key_value", text(required, "key"), text(optional, "value"))).logical(&format.MapType{}),
			schema.MapShape,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := message(t, tt.e)
			if got := m.Field("l").Shape; got != tt.want {
				t.Errorf("a %v, want a %v", got, tt.want)
			}
			checkRoundTrip(t, m)
		})
	}
}

// A field that repeats without being a list is none of Avro's types, and must not be taken for its first value.
func TestBareRepetition(t *testing.T) {
	for _, e := range []element{text(repeated, "a"), group(repeated, "a", text(optional, "b")), group(optional, "g", text(repeated, "a"))} {
		m := message(t, e)
		_, err := m.Type()
		wantInvalid(t, err, "repeated")
		once := e
		once.RepetitionType = thrift.New(optional)
		if len(once.children) > 0 && e.RepetitionType.V == optional {
			once.children = []element{text(optional, "a")}
		}
		_, err = schema.Project(m, message(t, once))
		wantInvalid(t, err, "repeated")
		_, err = schema.Project(message(t, once), m)
		wantInvalid(t, err, "repeated")
	}
}

func TestFind(t *testing.T) {
	m := message(t, text(optional, "a"), text(optional, "b.c"), group(optional, "b", text(optional, "c"), group(required, "d", text(optional, "e"))),
		group(optional, "l", group(repeated, "list", text(optional, "element"))).as(deprecated.List))
	for _, tt := range []struct {
		path string
		leaf int // -1: none
	}{
		{"a", 0},
		{"b.c", 1},
		{"b.d.e", 3},
		{"", -1},
		{".", -1},
		{"b", -1},
		{"b.", -1},
		{"b.x", -1},
		{"b.d", -1},
		{"a.x", -1},
		{"l", -1},
		{"l.list.element", -1},
		{"x", -1},
	} {
		switch n := m.Find(tt.path); {
		case n == nil && tt.leaf >= 0:
			t.Errorf("%q was not found", tt.path)
		case n != nil && n.Index != tt.leaf:
			t.Errorf("%q is leaf %d, want %d", tt.path, n.Index, tt.leaf)
		}
	}
	if m.Leaf("b") != nil || m.Leaf("a") != m.Leaves[0] {
		t.Error("Leaf finds groups, or no leaf")
	}
}

func TestTypeOfFile(t *testing.T) {
	m := message(t,
		leaf(required, "i", format.Int32), leaf(optional, "ts", format.Int96), text(optional, "s"), leaf(optional, "b", format.ByteArray),
		leaf(optional, "f", format.FixedLenByteArray).length(3), leaf(optional, "d", format.Int32).decimal(7, 2),
		leaf(optional, "e", format.FixedLenByteArray).length(5).decimal(11, 3), leaf(optional, "bool", format.Boolean),
		leaf(optional, "float", format.Float), leaf(optional, "double", format.Double), leaf(optional, "day", format.Int32).as(deprecated.Date),
		group(optional, "st", leaf(required, "x", format.Int64)),
		group(optional, "l", group(repeated, "array", text(required, "a"), text(required, "b"))).as(deprecated.List),
		group(optional, "m", group(repeated, "key_value", text(required, "key"), leaf(optional, "value", format.Int32))).as(deprecated.Map),
	)
	typ, err := m.Type()
	if err != nil {
		t.Fatal(err)
	}
	null := func(t schema.Type) *schema.Type { t.Nullable = true; return &t }
	str := null(schema.Type{Kind: schema.String})
	want := &schema.Type{Kind: schema.Record, Name: "table", Fields: []schema.Field{
		{Name: "i", Type: null(schema.Type{Kind: schema.Int})},
		{Name: "ts", Type: null(schema.Type{Kind: schema.Long, Logical: schema.TimestampMicros})},
		{Name: "s", Type: str},
		{Name: "b", Type: null(schema.Type{Kind: schema.Bytes})},
		{Name: "f", Type: null(schema.Type{Kind: schema.Fixed, Size: 3})},
		{Name: "d", Type: null(schema.Type{Kind: schema.Bytes, Logical: schema.Decimal, Precision: 7, Scale: 2})},
		{Name: "e", Type: null(schema.Type{Kind: schema.Fixed, Size: 5, Logical: schema.Decimal, Precision: 11, Scale: 3})},
		{Name: "bool", Type: null(schema.Type{Kind: schema.Boolean})},
		{Name: "float", Type: null(schema.Type{Kind: schema.Float})},
		{Name: "double", Type: null(schema.Type{Kind: schema.Double})},
		{Name: "day", Type: null(schema.Type{Kind: schema.Int, Logical: schema.Date})},
		{Name: "st", Type: null(schema.Type{Kind: schema.Record, Fields: []schema.Field{{Name: "x", Type: null(schema.Type{Kind: schema.Long})}}})},
		{Name: "l", Type: null(schema.Type{Kind: schema.Array, Elem: null(schema.Type{Kind: schema.Record, Fields: []schema.Field{{Name: "a", Type: str}, {Name: "b", Type: str}}})})},
		{Name: "m", Type: null(schema.Type{Kind: schema.Map, Elem: null(schema.Type{Kind: schema.Int})})},
	}}
	if diff := cmp.Diff(want, typ); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if like := must(schema.Target(typ, m))(t); !like.Admits(m) {
		t.Errorf("a view with this model does not admit it:\n%s%s", describe(like), describe(m))
	}
}

// decode makes a list of schema elements out of bytes, three or more each.
func decode(data []byte) []format.SchemaElement {
	var out []format.SchemaElement
	for len(data) >= 4 && len(out) < 500 {
		e := format.SchemaElement{
			Name:           [...]string{"a", "b", "array", "a_tuple", "list"}[data[0]%5],
			RepetitionType: thrift.New(format.FieldRepetitionType(data[1] % 4)),
		}
		if kind := data[2] % 16; kind < 10 {
			e.Type = thrift.New(format.Type(int(kind) - 1))
		} else {
			e.NumChildren = thrift.New(int32(int8(data[3]) / 16))
		}
		switch a := data[2] / 16; {
		case a == 15:
			e.LogicalType.Value = &format.ListType{}
		case a == 14:
			e.LogicalType.Value = &format.MapType{}
		case a > 0:
			e.ConvertedType = thrift.New(deprecated.ConvertedType(data[3] % 24))
		}
		e.TypeLength, e.Precision, e.Scale = thrift.New(int32(data[3])), thrift.New(int32(data[0])), thrift.New(int32(data[1]))
		data = data[4:]
		out = append(out, e)
	}
	return out
}

func FuzzElements(f *testing.F) {
	f.Add(binary.LittleEndian.AppendUint64(nil, 0x10_0b_01_00_10_0b_00_00))
	f.Add([]byte{0, 0, 10, 0x7f, 0, 1, 0xfa, 0x10, 0, 2, 10, 0x10, 2, 1, 7, 0, 0, 1, 0xea, 0x10, 0, 2, 10, 0x20, 0, 0, 7, 0, 1, 1, 7, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := schema.FromElements(decode(data))
		if err != nil {
			wantInvalid(t, err, "")
			return
		}
		checkRoundTrip(t, m)
		if !unique(m) {
			return // of two columns of one name the first counts
		}
		if maps, err := schema.Project(m, m); err != nil {
			t.Errorf("a schema does not become itself: %v\n%s", err, describe(m))
		} else {
			for i, l := range maps {
				if l.Source != i || !l.Identity() {
					t.Errorf("leaf %d of a schema comes from %d of itself:\n%s", i, l.Source, describe(m))
				}
			}
		}
		typ, err := m.Type()
		if err != nil {
			wantInvalid(t, err, "")
			return
		}
		target, err := schema.Target(typ, m)
		if err != nil {
			wantInvalid(t, err, "")
			return
		}
		checkRoundTrip(t, target)
		maps, err := schema.Project(m, target)
		if err != nil {
			wantInvalid(t, err, "") // such as a key that may be null
			return
		}
		for i, l := range maps {
			dst := column.New(target.Leaves[i].Leaf)
			src := column.New(m.Leaves[l.Source].Leaf)
			src.AppendLevels(0, src.Leaf.MaxDef)
			src.AppendValue(make([]byte, src.Leaf.Width()))
			if err := l.Apply(dst, src); err != nil || dst.Entries() != 1 {
				t.Errorf("a zero of %v as %v: %v", m.Leaves[l.Source].Scalar, target.Leaves[i].Scalar, err)
			}
		}
	})
}

// unique tells whether no group has two fields of one name.
func unique(m *schema.Message) bool {
	var walk func(nodes []*schema.Node) bool
	walk = func(nodes []*schema.Node) bool {
		seen := map[string]bool{}
		for _, n := range nodes {
			if seen[n.Name] || !walk(n.Children) {
				return false
			}
			seen[n.Name] = true
		}
		return true
	}
	return walk(m.Fields)
}
