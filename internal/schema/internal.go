package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// Internal is a schema of a table with schema-on-read evolution, in which every column has an id for life: whatever its name
// and place become, the id stays, and a column that is dropped and added again has another one (hudi-common: InternalSchema).
type Internal struct {
	// Version is the instant of the change that made it, 0 for the schema before the first one.
	Version int64
	root    internalType
}

type internalField struct {
	ID   int          `json:"id"`
	Name string       `json:"name"`
	Type internalType `json:"type"`
}

// internalType is a nested type; a primitive one is empty, for its name says nothing that files do not say better.
type internalType struct {
	fields []internalField
	elem   *internalType // of an array, values of a map
}

func (t *internalType) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return nil
	}
	var raw struct {
		Type    string          `json:"type"`
		Fields  []internalField `json:"fields"`
		Element *internalType   `json:"element"`
		Value   *internalType   `json:"value"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	switch raw.Type {
	case "record":
		t.fields = raw.Fields
	case "array":
		t.elem = raw.Element
	case "map":
		t.elem = raw.Value
	default:
		return fmt.Errorf("type %q", raw.Type)
	}
	return nil
}

// UnmarshalJSON reads the schema as commits and schema histories have it.
func (s *Internal) UnmarshalJSON(b []byte) error {
	var raw struct {
		Version json.Number     `json:"version_id"`
		Fields  []internalField `json:"fields"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	v, err := strconv.ParseInt(raw.Version.String(), 10, 64)
	if err != nil {
		return fmt.Errorf("version_id %q", raw.Version)
	}
	s.Version, s.root.fields = v, raw.Fields
	return nil
}

// ParseInternal reads the latest_schema of a commit.
func ParseInternal(text string) (*Internal, error) {
	if err := checkNesting([]byte(text)); err != nil {
		return nil, err
	}
	s := &Internal{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		return nil, invalid("internal schema: %v", err)
	}
	return s, nil
}

// ParseHistory reads the content of a schemacommit file: all schemas that the table has had.
func ParseHistory(text []byte) ([]*Internal, error) {
	if err := checkNesting(text); err != nil {
		return nil, err
	}
	var raw struct {
		Schemas []*Internal `json:"schemas"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, invalid("schema history: %v", err)
	}
	if slices.Contains(raw.Schemas, nil) {
		return nil, invalid("schema history: null for a schema")
	}
	return raw.Schemas, nil
}

// checkNesting refuses a JSON text that is nested deeper than that of any schema: each level is read once for every level that it lies in.
func checkNesting(text []byte) error {
	const deepest = 4 * maxDepth
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > deepest {
				return invalid("internal schema: at byte %d: nested deeper than %d", i, deepest)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// Renaming gives the columns of a file, written under one schema, the names that they have under another. nil changes nothing.
type Renaming struct{ File, Query *Internal }

// gone marks a name that no column of the other schema can have: that of a column which is no longer there.
const gone = "\x00"

// names finds the new name of each field of a record, and what goes on below it.
func (r *Renaming) names(file, query *internalType) func(name string) (string, *internalType, *internalType) {
	if file == nil {
		return func(name string) (string, *internalType, *internalType) { return name, nil, nil }
	}
	fields := make(map[string]*internalField, len(file.fields))
	for i := range slices.Backward(file.fields) {
		fields[file.fields[i].Name] = &file.fields[i]
	}
	now := map[int]*internalField{}
	if query != nil {
		for i := range slices.Backward(query.fields) {
			now[query.fields[i].ID] = &query.fields[i]
		}
	}
	return func(name string) (string, *internalType, *internalType) {
		f := fields[name]
		switch {
		case f == nil && IsMeta(name):
			return name, nil, nil
		case f == nil || now[f.ID] == nil:
			return gone + name, nil, nil
		}
		return now[f.ID].Name, &f.Type, &now[f.ID].Type
	}
}

func elemOf(t *internalType) *internalType {
	if t == nil {
		return nil
	}
	return t.elem
}

// Type renames the fields of an Avro type.
func (r *Renaming) Type(t *Type) *Type {
	if r == nil {
		return t
	}
	return r.avro(t, &r.File.root, &r.Query.root)
}

func (r *Renaming) avro(t *Type, file, query *internalType) *Type {
	if file == nil {
		return t
	}
	out := *t
	if t.Elem != nil {
		out.Elem = r.avro(t.Elem, elemOf(file), elemOf(query))
	}
	out.Fields = nil
	name := r.names(file, query)
	for _, f := range t.Fields {
		var below, to *internalType
		f.Name, below, to = name(f.Name)
		f.Type = r.avro(f.Type, below, to)
		out.Fields = append(out.Fields, f)
	}
	return &out
}

// Message renames the columns of a Parquet schema. Leaves keep their numbers.
func (r *Renaming) Message(m *Message) *Message {
	if r == nil {
		return m
	}
	out := &Message{Leaves: make([]*Node, len(m.Leaves))}
	out.Fields = r.nodes(out, m.Fields, &r.File.root, &r.Query.root)
	return out
}

func (r *Renaming) nodes(out *Message, nodes []*Node, file, query *internalType) []*Node {
	name := r.names(file, query)
	var renamed []*Node
	for _, n := range nodes {
		to, below, target := name(n.Name)
		c := r.node(out, n, below, target)
		c.Name = to
		renamed = append(renamed, c)
	}
	return renamed
}

func (r *Renaming) node(out *Message, n *Node, file, query *internalType) *Node {
	c := *n
	switch n.Shape {
	case LeafShape:
		out.Leaves[n.Index] = &c
	case StructShape:
		c.Children = r.nodes(out, n.Children, file, query)
	case ListShape:
		repeated, item := n.Item()
		inner := *repeated
		if repeated == item {
			whole := r.node(out, asItem(repeated), elemOf(file), elemOf(query))
			inner.Children = whole.Children
			if whole.Shape == LeafShape {
				out.Leaves[n.leafBelow().Index] = &inner
			}
		} else {
			inner.Children = []*Node{r.node(out, item, elemOf(file), elemOf(query))}
		}
		c.Children = []*Node{&inner}
	case MapShape:
		kv := *n.Children[0]
		kv.Children = []*Node{r.node(out, kv.Children[0], nil, nil), r.node(out, kv.Children[1], elemOf(file), elemOf(query))}
		c.Children = []*Node{&kv}
	}
	return &c
}

// leafBelow is the first leaf of a node.
func (n *Node) leafBelow() *Node {
	for n.Shape != LeafShape {
		n = n.Children[0]
	}
	return n
}
