package logfile

import (
	"fmt"
	"slices"

	"github.com/hudifs/hudifs/internal/schema"
)

// A record is decoded by a program: the fields of its schema in order, each a step that puts the field into a column or passes over it.
type step struct {
	op       op
	presence presence
	noNull   bool // the target can't hold a null here
	form     form
	width    int // bytes of a fixed value
	name     string

	sink    *sink
	facts   *Facts // counts nulls and, of text, bytes of what is passed over; nil where nobody asks
	nullDef uint8
	// nulls are the entries that the columns of a group get where it is null, empty those where a list is empty.
	nulls, empty []nullEntry
	symbols      [][]byte
	itemRep      uint8    // repetition level of all items but the first
	body         []step   // of a record, an array's item, or a map's key and value
	branches     [][]step // of a union
}

// form is how a value that is passed over is written.
type form uint8

const (
	varintForm form = iota
	bytesForm
	fixedForm
)

type op uint8

const (
	pass op = iota
	skipUnion
	readBool
	readInt
	readLong
	readFixed
	readBytes
	readEnum
	addNulls
	inRecord
	inArray // and maps, whose items are a key and a value
)

// presence is how a value's union with null looks: the indexes of the value and of null, one byte each as they are written.
type presence struct {
	union       bool
	value, null byte
}

var (
	plain      = presence{}
	nullFirst  = presence{true, 2, 0}
	nullSecond = presence{true, 0, 2}
	// sole is that of a union of one type, which has an index nevertheless.
	sole = presence{true, 0, 0}
)

func (p presence) nullable() bool { return p.value != p.null }

type nullEntry struct {
	sink *sink
	def  uint8
}

// maxSteps bounds the programs of hostile schemas, which can name a type of many fields many times.
const maxSteps = 1 << 16

type compiler struct {
	wanted []bool // by leaf of the target
	sinks  []*sink
	// bulk are the columns that the schema lacks: every row is null.
	bulk  []nullEntry
	steps int
	// facts are gathered of the leaves that have no sink, by leaf; nil where nobody asks.
	facts []Facts
	// least is the smallest number of bytes that a record takes.
	least int
}

// compile makes the program that takes the wanted leaves of a target out of the records of a type. It has a sink for each
// leaf of the target, nil for those that are not wanted.
func compile(t *schema.Type, target *schema.Message, leaves []int, facts []Facts) (c *compiler, program []step, err error) {
	c = &compiler{wanted: make([]bool, len(target.Leaves)), sinks: make([]*sink, len(target.Leaves)), facts: facts}
	for i := range c.wanted {
		c.wanted[i] = facts != nil
	}
	for _, i := range leaves {
		c.wanted[i] = true
		n := target.Leaves[i]
		c.sinks[i] = &sink{node: n, leaf: n.Leaf}
	}
	program, c.least, err = c.fields(t, target.Fields, "", func(n *schema.Node) error { return c.absent(n, &c.bulk) })
	return c, program, err
}

// cut leaves out what passes over the fields behind the last one that is wanted. Their bytes are looked at when all columns are decoded.
func cut(program []step) (short []step, whole bool) {
	n := len(program)
	for n > 0 && program[n-1].op == pass {
		n--
	}
	return program[:n], n == len(program)
}

func (c *compiler) wants(n *schema.Node) bool {
	if n.Shape == schema.LeafShape {
		return c.wanted[n.Index]
	}
	return slices.ContainsFunc(n.Children, c.wants)
}

// spend counts the steps of the program, and refuses one that has no end.
func (c *compiler) spend() error {
	if c.steps++; c.steps > maxSteps {
		return fmt.Errorf("%w: a schema of more than %d fields", ErrUnsupported, maxSteps)
	}
	return nil
}

// fields compiles the fields of a record, whose counterparts are among nodes. missing gets the wanted nodes that have none.
// least is the smallest number of bytes that the record takes.
func (c *compiler) fields(t *schema.Type, nodes []*schema.Node, path string, missing func(*schema.Node) error) (steps []step, least int, err error) {
	byName := make(map[string]*schema.Node, len(nodes))
	for _, n := range nodes {
		if c.wants(n) {
			byName[n.Name] = n
		}
	}
	for _, f := range t.Fields {
		var more []step
		var bytes int
		if n := byName[f.Name]; n != nil {
			more, bytes, err = c.value(f.Type, n, join(path, f.Name))
		} else {
			more, bytes, err = c.skip(f.Type, join(path, f.Name))
		}
		if err != nil {
			return nil, 0, err
		}
		delete(byName, f.Name)
		steps, least = append(steps, more...), least+bytes
	}
	for _, n := range nodes {
		if byName[n.Name] != n {
			continue
		}
		if err := missing(n); err != nil {
			return nil, 0, err
		}
	}
	return steps, least, nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func presenceOf(t *schema.Type) (*schema.Type, presence) {
	switch {
	case t.Kind == schema.Union && len(t.Branches) == 1 && !t.Nullable:
		return t.Branches[0], sole
	case !t.Nullable || t.Kind == schema.Union:
		return t, plain
	case t.NullIndex == 0:
		return t, nullFirst
	}
	return t, nullSecond
}

// skip compiles the way past a value that nobody wants.
func (c *compiler) skip(t *schema.Type, path string) ([]step, int, error) {
	if err := c.spend(); err != nil {
		return nil, 0, err
	}
	t, p := presenceOf(t)
	s := step{presence: p, name: path}
	least := 1
	switch t.Kind {
	case schema.Boolean:
		s.form, s.width = fixedForm, 1
	case schema.Int, schema.Long, schema.Enum:
		s.form = varintForm
	case schema.Float:
		s.form, s.width, least = fixedForm, 4, 4
	case schema.Double:
		s.form, s.width, least = fixedForm, 8, 8
	case schema.Fixed:
		s.form, s.width, least = fixedForm, t.Size, t.Size
	case schema.Bytes, schema.String:
		s.form = bytesForm
	case schema.Union:
		s.op = skipUnion
		return c.skipUnion(t, s, path)
	case schema.Record:
		body, bytes, err := c.fields(t, nil, path, nil)
		if p == plain || err != nil {
			return body, bytes, err
		}
		s.op, s.body, least = inRecord, body, bytes
	case schema.Array, schema.Map:
		var key []step
		if t.Kind == schema.Map {
			key = []step{{form: bytesForm, name: path + ".key"}}
		}
		item, bytes, err := c.skip(t.Elem, path+".element")
		if err != nil {
			return nil, 0, err
		}
		s.op, s.body = inArray, append(key, item...)
		if err := checkItem(len(key)+bytes, path); err != nil {
			return nil, 0, err
		}
	}
	if p != plain {
		least = 1
	}
	return []step{s}, least, nil
}

func (c *compiler) skipUnion(t *schema.Type, s step, path string) ([]step, int, error) {
	for i, b := range t.Branches {
		if t.Nullable && i == t.NullIndex {
			s.branches = append(s.branches, nil)
		}
		body, _, err := c.skip(b, path)
		if err != nil {
			return nil, 0, err
		}
		s.branches = append(s.branches, body)
	}
	if t.Nullable && t.NullIndex == len(t.Branches) {
		s.branches = append(s.branches, nil)
	}
	return []step{s}, 1, nil
}

// checkItem refuses lists whose items take no bytes: their counts could keep the decoder busy for ever.
func checkItem(least int, path string) error {
	if least == 0 {
		return fmt.Errorf("%w: column %s: a list of items without content", ErrUnsupported, path)
	}
	return nil
}

// value compiles the way of a value into the columns below a node of the target.
func (c *compiler) value(t *schema.Type, n *schema.Node, path string) ([]step, int, error) {
	if err := c.spend(); err != nil {
		return nil, 0, err
	}
	t, p := presenceOf(t)
	s := step{presence: p, name: path}
	if p.nullable() {
		s.noNull = n.Repetition != schema.Optional
		c.below(n, n.MaxDef-1, &s.nulls)
	}
	shape := map[schema.Kind]schema.Shape{schema.Record: schema.StructShape, schema.Array: schema.ListShape, schema.Map: schema.MapShape}[t.Kind]
	if t.Kind == schema.Union {
		return nil, 0, fmt.Errorf("%w: column %s: a union of %d types", ErrUnsupported, path, len(t.Branches))
	}
	if n.Repetition == schema.Repeated && shape != schema.LeafShape {
		n = asItem(n, shape)
	}
	if n.Shape != shape {
		return nil, 0, fmt.Errorf("%w: column %s: a %v of Avro cannot become a %v", schema.ErrInvalid, path, t.Kind, n.Shape)
	}
	switch shape {
	case schema.StructShape:
		return c.structure(t, n, s, path)
	case schema.ListShape, schema.MapShape:
		return c.list(t, n, s, path)
	case schema.LeafShape:
	}
	return c.leaf(t, n, s, path)
}

// asItem sees the repeated node of a two-level list as the list or map that its items are. The node alone can't tell them from structs.
func asItem(n *schema.Node, shape schema.Shape) *schema.Node {
	if n.Shape != schema.StructShape || len(n.Children) != 1 || n.Children[0].Repetition != schema.Repeated {
		return n
	}
	item := *n
	item.Shape = shape
	return &item
}

func (c *compiler) structure(t *schema.Type, n *schema.Node, s step, path string) ([]step, int, error) {
	missing := step{op: addNulls, name: s.name}
	body, least, err := c.fields(t, n.Children, path, func(child *schema.Node) error { return c.absent(child, &missing.nulls) })
	if err != nil {
		return nil, 0, err
	}
	if len(missing.nulls) > 0 {
		body = append(body, missing)
	}
	if s.presence == plain {
		return body, least, nil
	}
	s.op, s.body = inRecord, body
	return []step{s}, 1, nil
}

func (c *compiler) list(t *schema.Type, n *schema.Node, s step, path string) ([]step, int, error) {
	repeated, item := n.Item()
	if len(n.Children) != 1 || repeated.Repetition != schema.Repeated || item != repeated && item.Repetition == schema.Repeated ||
		n.Shape == schema.MapShape && len(repeated.Children) != 2 {
		return nil, 0, fmt.Errorf("%w: column %s: a list or map of an unknown form", schema.ErrInvalid, path)
	}
	s.op, s.itemRep = inArray, repeated.MaxRep
	c.below(n, repeated.MaxDef-1, &s.empty)
	least := 0
	if n.Shape == schema.MapShape {
		// Keys are required, values lie beside them.
		key, _, err := c.either(&schema.Type{Kind: schema.String}, repeated.Children[0], path+".key")
		if err != nil {
			return nil, 0, err
		}
		s.body, item, least = key, repeated.Children[1], 1
	}
	body, bytes, err := c.either(t.Elem, item, path+".element")
	if err != nil {
		return nil, 0, err
	}
	s.body = append(s.body, body...)
	return []step{s}, 1, checkItem(least+bytes, path)
}

// either reads a value if anything of it is wanted.
func (c *compiler) either(t *schema.Type, n *schema.Node, path string) ([]step, int, error) {
	if c.wants(n) {
		return c.value(t, n, path)
	}
	return c.skip(t, path)
}

func (c *compiler) leaf(t *schema.Type, n *schema.Node, s step, path string) ([]step, int, error) {
	k := c.sinks[n.Index]
	if k == nil {
		return c.factsOf(t, n, path)
	}
	from, _ := t.Scalar()
	cast, err := schema.CastFor(from, n.Scalar)
	if err != nil {
		return nil, 0, fmt.Errorf("column %s: %w", path, err)
	}
	k.cast, k.leaf.Kind, k.leaf.Size, k.fed = cast, from.Kind, from.Size, true
	s.sink, s.nullDef, s.width = k, n.MaxDef-1, k.leaf.Width()
	least := 1
	switch t.Kind {
	case schema.Boolean:
		s.op = readBool
	case schema.Int:
		s.op = readInt
	case schema.Long:
		s.op = readLong
	case schema.Enum:
		s.op = readEnum
		for _, text := range t.Symbols {
			s.symbols = append(s.symbols, []byte(text))
			k.longest = max(k.longest, len(text))
		}
	case schema.Bytes, schema.String:
		s.op = readBytes
	default:
		s.op, least = readFixed, s.width
	}
	if s.presence != plain {
		least = 1
	}
	return []step{s}, least, nil
}

// factsOf passes over a value, counts where it is null and, of text, its bytes.
func (c *compiler) factsOf(t *schema.Type, n *schema.Node, path string) ([]step, int, error) {
	steps, least, err := c.skip(t, path)
	if err == nil && len(steps) == 1 && steps[0].op == pass {
		steps[0].facts = &c.facts[n.Index]
	}
	return steps, least, err
}

// below lists the wanted columns below a node with the level they get where it is null or empty.
func (c *compiler) below(n *schema.Node, def uint8, to *[]nullEntry) {
	if n.Shape == schema.LeafShape {
		if k := c.sinks[n.Index]; k != nil {
			*to = append(*to, nullEntry{k, def})
		}
		return
	}
	for _, child := range n.Children {
		c.below(child, def, to)
	}
}

// absent lists the wanted columns below a node that the record's schema lacks, with the level they get where its parent is there.
func (c *compiler) absent(n *schema.Node, to *[]nullEntry) error {
	switch {
	case !c.wants(n):
		return nil
	case n.Repetition != schema.Required:
		c.below(n, n.MaxDef-1, to)
		return nil
	case n.Shape == schema.LeafShape:
		return fmt.Errorf("%w: column %v is missing in the records, and must not be null", schema.ErrInvalid, n.Path)
	}
	for _, child := range n.Children {
		if err := c.absent(child, to); err != nil {
			return err
		}
	}
	return nil
}
