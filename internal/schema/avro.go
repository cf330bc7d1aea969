package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Limits on what a schema may hold: far beyond any real table, near enough to keep a hostile one harmless.
const (
	maxDepth  = 64
	maxFields = 100_000
)

// ParseAvro reads an Avro schema from its JSON text. Unknown attributes are ignored; names follow Avro's rules of scope,
// but may hold any characters, since Hudi's writers allow more than Avro's specification. A type that contains itself is an error:
// no Parquet schema can hold it.
func ParseAvro(text string) (*Type, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("%w: Avro schema at byte %d: %w", ErrInvalid, d.InputOffset(), err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: Avro schema at byte %d: expected the end of the text", ErrInvalid, d.InputOffset())
	}
	p := avroParser{named: map[string]*Type{}, open: map[string]bool{}}
	return p.parse(v, "", 0)
}

type avroParser struct {
	named  map[string]*Type
	open   map[string]bool // records whose fields are being read
	fields int
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
}

var avroPrimitives = map[string]Kind{
	"boolean": Boolean, "int": Int, "long": Long, "float": Float, "double": Double, "bytes": Bytes, "string": String,
}

func (p *avroParser) parse(v any, space string, depth int) (*Type, error) {
	if depth > maxDepth {
		return nil, invalid("Avro schema nested deeper than %d", maxDepth)
	}
	switch v := v.(type) {
	case string:
		if k, ok := avroPrimitives[v]; ok {
			return &Type{Kind: k}, nil
		}
		return p.reference(v, space)
	case []any:
		return p.union(v, space, depth)
	case map[string]any:
		return p.object(v, space, depth)
	}
	return nil, invalid("Avro schema: expected a name, an object or a list, found %T", v)
}

func (p *avroParser) reference(name, space string) (*Type, error) {
	for _, n := range []string{fullName(name, space), name} {
		if p.open[n] {
			return nil, invalid("Avro type %s contains itself", n)
		}
		if t, ok := p.named[n]; ok {
			return t, nil
		}
	}
	return nil, invalid("Avro type %q is not defined", name)
}

func fullName(name, space string) string {
	if strings.Contains(name, ".") || space == "" {
		return name
	}
	return space + "." + name
}

func (p *avroParser) union(list []any, space string, depth int) (*Type, error) {
	var branches []*Type
	null := -1
	for i, b := range list {
		if isNull(b) {
			if null >= 0 {
				return nil, invalid("Avro union with null twice")
			}
			null = i
			continue
		}
		t, err := p.parse(b, space, depth+1)
		if err != nil {
			return nil, err
		}
		if t.Nullable || t.Kind == Union {
			return nil, invalid("Avro union within a union")
		}
		branches = append(branches, t)
	}
	if len(branches) == 0 {
		return nil, invalid("Avro union without a type besides null")
	}
	if len(branches) > 1 {
		return &Type{Kind: Union, Branches: branches, Nullable: null >= 0, NullIndex: max(null, 0)}, nil
	}
	t := *branches[0]
	if null >= 0 {
		t.Nullable, t.NullIndex = true, null
		return &t, nil
	}
	// A union of one type still has its index on the wire.
	return &Type{Kind: Union, Branches: branches}, nil
}

// isNull knows the type null in both of its spellings.
func isNull(v any) bool {
	if o, ok := v.(map[string]any); ok {
		v = o["type"]
	}
	return v == "null"
}

func (p *avroParser) object(o map[string]any, space string, depth int) (*Type, error) {
	switch kind := o["type"].(type) {
	case string:
		switch kind {
		case "record", "error":
			return p.record(o, space, depth)
		case "enum", "fixed":
			return p.namedLeaf(o, kind, space)
		case "array", "map":
			return p.container(o, kind, space, depth)
		}
		t, err := p.parse(kind, space, depth+1)
		if err != nil {
			return nil, err
		}
		return annotate(t, o)
	case nil:
		return nil, invalid("Avro schema: an object without a type")
	default:
		t, err := p.parse(kind, space, depth+1)
		if err != nil {
			return nil, err
		}
		return annotate(t, o)
	}
}

func (p *avroParser) name(o map[string]any, space string) (string, string) {
	name, _ := o["name"].(string)
	if ns, ok := o["namespace"].(string); ok && !strings.Contains(name, ".") {
		space = ns
	}
	full := fullName(name, space)
	if i := strings.LastIndex(full, "."); i >= 0 {
		space = full[:i]
	}
	return full, space
}

func (p *avroParser) record(o map[string]any, space string, depth int) (*Type, error) {
	full, inner := p.name(o, space)
	fields, ok := o["fields"].([]any)
	if !ok {
		return nil, invalid("Avro record %s without fields", full)
	}
	p.open[full] = true
	t := &Type{Kind: Record, Name: full}
	seen := map[string]bool{}
	for _, f := range fields {
		m, _ := f.(map[string]any)
		name, ok := m["name"].(string)
		if !ok {
			return nil, invalid("Avro record %s: a field without a name", full)
		}
		if seen[name] {
			return nil, invalid("Avro record %s: two fields named %s", full, name)
		}
		seen[name] = true
		if p.fields++; p.fields > maxFields {
			return nil, invalid("Avro schema of more than %d fields", maxFields)
		}
		ft, err := p.parse(m["type"], inner, depth+1)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", name, err)
		}
		field := Field{Name: name, Type: ft}
		if d, ok := m["default"]; ok {
			field.Default = jsonText(d)
		}
		t.Fields = append(t.Fields, field)
	}
	delete(p.open, full)
	p.named[full] = t
	return t, nil
}

func jsonText(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}

func (p *avroParser) namedLeaf(o map[string]any, kind, space string) (*Type, error) {
	full, _ := p.name(o, space)
	t := &Type{Kind: Enum, Name: full}
	if kind == "fixed" {
		t.Kind = Fixed
		n, err := intOf(o, "size")
		if err != nil || n < 0 || n > 1<<24 {
			return nil, invalid("Avro fixed %s: size %v", full, o["size"])
		}
		t.Size = n
	}
	if symbols, ok := o["symbols"].([]any); ok {
		for _, s := range symbols {
			text, ok := s.(string)
			if !ok {
				return nil, invalid("Avro enum %s: a symbol that is no text", full)
			}
			t.Symbols = append(t.Symbols, text)
		}
	}
	t, err := annotate(t, o)
	if err != nil {
		return nil, err
	}
	p.named[full] = t
	return t, nil
}

func (p *avroParser) container(o map[string]any, kind, space string, depth int) (*Type, error) {
	t, attr := &Type{Kind: Array}, "items"
	if kind == "map" {
		t.Kind, attr = Map, "values"
	}
	elem, err := p.parse(o[attr], space, depth+1)
	if err != nil {
		return nil, err
	}
	t.Elem = elem
	return t, nil
}

func intOf(o map[string]any, key string) (int, error) {
	n, ok := o[key].(json.Number)
	if !ok {
		return 0, invalid("%s is no number", key)
	}
	v, err := n.Int64()
	if err != nil {
		return 0, invalid("%s is %s", key, n)
	}
	return int(v), nil
}

// annotate puts the logical type that an object states on a copy of a type. One that does not fit its type is ignored, as
// Avro's specification wants.
func annotate(t *Type, o map[string]any) (*Type, error) {
	text, _ := o["logicalType"].(string)
	if text == "" {
		return t, nil
	}
	out := *t
	switch {
	case text == "decimal" && (t.Kind == Bytes || t.Kind == Fixed):
		out.Logical = Decimal
		precision, err := intOf(o, "precision")
		if err != nil {
			return nil, err
		}
		if _, ok := o["scale"]; ok {
			if out.Scale, err = intOf(o, "scale"); err != nil {
				return nil, err
			}
		}
		out.Precision = precision
		if precision < 1 || precision > 76 || out.Scale < 0 || out.Scale > precision {
			return nil, invalid("decimal(%d,%d)", precision, out.Scale)
		}
	case text == "uuid" && t.Kind == String:
		out.Logical = UUID
	default:
		if l, ok := avroLogical[text]; ok && l.kind == t.Kind {
			out.Logical = l.logical
		}
	}
	return &out, nil
}

var avroLogical = map[string]struct {
	kind    Kind
	logical Logical
}{
	"date":                   {Int, Date},
	"time-millis":            {Int, TimeMillis},
	"time-micros":            {Long, TimeMicros},
	"timestamp-millis":       {Long, TimestampMillis},
	"timestamp-micros":       {Long, TimestampMicros},
	"timestamp-nanos":        {Long, TimestampNanos},
	"local-timestamp-millis": {Long, LocalTimestampMillis},
	"local-timestamp-micros": {Long, LocalTimestampMicros},
	"local-timestamp-nanos":  {Long, LocalTimestampNanos},
}
