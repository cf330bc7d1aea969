package pqfile

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// element makes schema elements in few words.
type element = format.SchemaElement

func leafElement(name string, r format.FieldRepetitionType, t format.Type, size int) element {
	e := element{Name: name, RepetitionType: thrift.New(r), Type: thrift.New(t)}
	if t == format.FixedLenByteArray {
		e.TypeLength = thrift.New(int32(size))
	}
	return e
}

func groupElement(name string, r format.FieldRepetitionType, children int) element {
	return element{Name: name, RepetitionType: thrift.New(r), NumChildren: thrift.New(int32(children))}
}

func text(e element) element {
	e.ConvertedType = thrift.New(deprecated.UTF8)
	e.LogicalType.Value = &format.StringType{}
	return e
}

func decimal(e element, precision, scale int32) element {
	e.ConvertedType = thrift.New(deprecated.Decimal)
	e.Precision, e.Scale = thrift.New(precision), thrift.New(scale)
	e.LogicalType.Value = &format.DecimalType{Precision: precision, Scale: scale}
	return e
}

func list(name string, item element) []element {
	outer := groupElement(name, format.Optional, 1)
	outer.ConvertedType = thrift.New(deprecated.List)
	outer.LogicalType.Value = &format.ListType{}
	return []element{outer, groupElement("list", format.Repeated, 1), item}
}

func message(t testing.TB, fields ...[]element) *schema.Message {
	t.Helper()
	m, err := schema.FromElements(slices.Concat(append([][]element{{groupElement("root", 0, len(fields))}}, fields...)...))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// shapes are columns of every kind and nesting.
var shapes = [][]element{
	{leafElement("b", format.Optional, format.Boolean, 0)},
	{leafElement("br", format.Required, format.Boolean, 0)},
	{leafElement("i", format.Optional, format.Int32, 0)},
	{leafElement("l", format.Required, format.Int64, 0)},
	{leafElement("n", format.Optional, format.Int96, 0)},
	{leafElement("f", format.Optional, format.Float, 0)},
	{leafElement("d", format.Required, format.Double, 0)},
	{text(leafElement("s", format.Optional, format.ByteArray, 0))},
	{leafElement("y", format.Required, format.ByteArray, 0)},
	{decimal(leafElement("c", format.Optional, format.FixedLenByteArray, 5), 10, 2)},
	{leafElement("x", format.Optional, format.FixedLenByteArray, 16)},
	list("ls", text(leafElement("element", format.Optional, format.ByteArray, 0))),
	list("li", leafElement("element", format.Required, format.Int32, 0)),
	slices.Concat([]element{groupElement("st", format.Optional, 1)}, list("deep", leafElement("element", format.Optional, format.Double, 0))),
	slices.Concat(list("ll", element{})[:2], list("element", leafElement("element", format.Optional, format.Int64, 0))),
}

// generator makes values of a leaf.
type generator struct {
	*rand.Rand
	leaf     column.Leaf
	path     []schema.Repetition
	nulls    float64
	distinct int // 0: any
	length   int // of byte arrays, at most
}

// pathOf has the repetitions of the nodes from the root to a leaf.
func pathOf(m *schema.Message, leaf *schema.Node) []schema.Repetition {
	var out []schema.Repetition
	nodes := m.Fields
	for _, name := range leaf.Path {
		for _, n := range nodes {
			if n.Name == name {
				out = append(out, n.Repetition)
				nodes = n.Children
				break
			}
		}
	}
	return out
}

// rows adds n rows to a vector.
func (g *generator) rows(v *column.Vector, n int) {
	for range n {
		g.walk(v, g.path, 0, 0, 0)
	}
}

func (g *generator) walk(v *column.Vector, path []schema.Repetition, rep, def, depth uint8) {
	if len(path) == 0 {
		v.AppendLevels(rep, def)
		v.AppendValue(g.value())
		return
	}
	switch path[0] {
	case schema.Required:
		g.walk(v, path[1:], rep, def, depth)
	case schema.Optional:
		if g.Float64() < g.nulls {
			v.AppendLevels(rep, def)
			return
		}
		g.walk(v, path[1:], rep, def+1, depth)
	case schema.Repeated:
		n := g.IntN(5)
		if n == 0 || g.Float64() < g.nulls {
			v.AppendLevels(rep, def)
			return
		}
		for i := range n {
			if i > 0 {
				rep = depth + 1
			}
			g.walk(v, path[1:], rep, def+1, depth+1)
		}
	}
}

// noise is where values come from: letters first, then any bytes.
var noise = func() []byte {
	b := make([]byte, 1<<17)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(r.Uint32())
		if i < len(b)/2 {
			b[i] = 'a' + b[i]%26
		}
	}
	return b
}()

func (g *generator) value() []byte {
	n, at, letters := g.leaf.Width(), g.IntN(len(noise)/4), 0
	if g.distinct > 0 {
		at = at % g.distinct * 13
	}
	switch g.leaf.Kind {
	case column.Bool:
		return []byte{noise[at] & 1}
	case column.Bytes:
		n = at % (g.length + 1)
	default:
		letters = len(noise) / 2
	}
	return noise[letters+at : letters+at+n]
}

// dictionary collects distinct values and numbers them.
type dictionary struct {
	values *column.Vector
	index  map[string]uint32
}

func newDictionary(l column.Leaf, from *column.Vector) *dictionary {
	l.MaxDef, l.MaxRep = 0, 0
	d := &dictionary{values: column.New(l), index: map[string]uint32{}}
	if from != nil {
		for i := range from.Values() {
			d.index[string(from.Value(i))] = uint32(i)
		}
		d.values.Append(from, from.All())
	}
	return d
}

func (d *dictionary) number(b []byte) uint32 {
	n, ok := d.index[string(b)]
	if !ok {
		n = uint32(d.values.Values())
		d.index[string(b)] = n
		d.values.AppendLevels(0, 0)
		d.values.AppendValue(b)
	}
	return n
}

// indexed turns plain values into indexes.
func (d *dictionary) indexed(v *column.Vector) *column.Vector {
	out := column.New(indexLeaf(v.Leaf))
	out.Rep, out.Def = slices.Clone(v.Rep), slices.Clone(v.Def)
	for i := range v.Values() {
		out.AppendValue(binary.LittleEndian.AppendUint32(nil, d.number(v.Value(i))))
	}
	return out
}

// span copies rows i to j of a vector.
func span(v *column.Vector, i, j int) *column.Vector {
	out := column.New(v.Leaf)
	out.Append(v, column.NewIndex(v).Span(i, j))
	return out
}

// fileOf puts chunks in a file of their size and footer.
func fileOf(t testing.TB, m *schema.Message, groups []Group, bodies [][]*bytes.Buffer) []byte {
	t.Helper()
	Place(groups, int64(len(Head)))
	out := bytes.NewBufferString(Head)
	for _, g := range bodies {
		for _, b := range g {
			out.Write(b.Bytes())
		}
	}
	foot, err := Footer(m, groups)
	if err != nil {
		t.Fatal(err)
	}
	return append(out.Bytes(), foot...)
}
