package timeline

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"
	"sync"
)

// Metadata files are decoded here, not with goavro, which trusts them: it allocates for the number of items that an array
// claims, runs out of stack on a record that holds itself, and names no offset. Neither can be recovered from. The tests
// hold this decoder against goavro.

type avroKind uint8

const (
	avroNull avroKind = iota
	avroBoolean
	avroInt
	avroLong
	avroFloat
	avroDouble
	avroBytes
	avroString
	avroFixed
	avroEnum
	avroArray
	avroMap
	avroUnion
	avroRecordKind
)

var avroPrimitives = map[string]avroKind{
	"null": avroNull, "boolean": avroBoolean, "int": avroInt, "long": avroLong, "float": avroFloat, "double": avroDouble,
	"bytes": avroBytes, "string": avroString,
}

// avroType is a node of a parsed schema. Named types may be shared, and may hold themselves.
type avroType struct {
	kind     avroKind
	fields   []avroField // of a record
	index    map[string]int
	elem     *avroType   // of an array or map
	branches []*avroType // of a union
	symbols  []string    // of an enum
	size     int         // of a fixed
}

type avroField struct {
	name string
	typ  *avroType
}

// avroRecord is a decoded record. Values are nil, bool, int64, float64, string (also for enums), []byte, []any,
// map[string]any and *avroRecord; a union is the value of its branch.
type avroRecord struct {
	typ    *avroType
	values []any
}

// maxAvroDepth bounds schemas and values alike. Hudi's own metadata is less than 12 levels deep.
const maxAvroDepth = 64

// avroSchemas remembers parsed schemas: every commit file carries its own copy of the same text.
type avroSchemas struct {
	mu     sync.Mutex
	parsed map[string]*avroType
}

func (s *avroSchemas) parse(file string, offset int64, text string) (*avroType, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.parsed[text]; ok {
		return t, nil
	}
	t, err := parseAvroSchema(file, offset, text)
	if err != nil {
		return nil, err
	}
	const most = 64
	if s.parsed == nil || len(s.parsed) >= most {
		s.parsed = map[string]*avroType{}
	}
	s.parsed[text] = t
	return t, nil
}

func parseAvroSchema(file string, offset int64, text string) (*avroType, error) {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return nil, corruptf(file, offset, "expected an Avro schema: %v", err)
	}
	b := &avroBuilder{file: file, offset: offset, named: map[string]*avroType{}}
	t := b.build(v, "", 0)
	return t, b.err
}

type avroBuilder struct {
	file   string
	offset int64
	named  map[string]*avroType
	err    error
}

func (b *avroBuilder) fail(format string, args ...any) *avroType {
	if b.err == nil {
		b.err = corruptf(b.file, b.offset, "Avro schema: "+format, args...)
	}
	return &avroType{}
}

func (b *avroBuilder) build(v any, namespace string, depth int) *avroType {
	if depth > maxAvroDepth {
		return b.fail("nested more than %d levels deep", maxAvroDepth)
	}
	switch v := v.(type) {
	case string:
		return b.reference(v, namespace)
	case []any:
		t := &avroType{kind: avroUnion}
		for _, branch := range v {
			t.branches = append(t.branches, b.build(branch, namespace, depth+1))
		}
		return t
	case map[string]any:
		return b.complex(v, namespace, depth)
	}
	return b.fail("expected a type, found %T", v)
}

func (b *avroBuilder) reference(name, namespace string) *avroType {
	if kind, ok := avroPrimitives[name]; ok {
		return &avroType{kind: kind}
	}
	if t, ok := b.named[fullName(name, namespace)]; ok {
		return t
	}
	if t, ok := b.named[name]; ok {
		return t
	}
	return b.fail("type %q is not defined", name)
}

func (b *avroBuilder) complex(m map[string]any, namespace string, depth int) *avroType {
	kind, ok := m["type"].(string)
	if !ok {
		return b.build(m["type"], namespace, depth+1)
	}
	switch kind {
	case "array":
		return &avroType{kind: avroArray, elem: b.build(m["items"], namespace, depth+1)}
	case "map":
		return &avroType{kind: avroMap, elem: b.build(m["values"], namespace, depth+1)}
	case "record", "error", "enum", "fixed":
	default:
		return b.reference(kind, namespace)
	}
	t := &avroType{}
	name, _ := m["name"].(string)
	if own, ok := m["namespace"].(string); ok {
		namespace = own
	}
	full := fullName(name, namespace)
	namespace, _ = cutLast(full)
	b.named[full] = t
	switch kind {
	case "enum":
		t.kind = avroEnum
		symbols, _ := m["symbols"].([]any)
		for _, symbol := range symbols {
			text, _ := symbol.(string)
			t.symbols = append(t.symbols, text)
		}
	case "fixed":
		size, _ := m["size"].(float64)
		if size < 0 || size > math.MaxInt32 || size != math.Trunc(size) {
			return b.fail("fixed type %q of size %v", full, size)
		}
		t.kind, t.size = avroFixed, int(size)
	default:
		b.record(t, m, namespace, depth)
	}
	return t
}

func (b *avroBuilder) record(t *avroType, m map[string]any, namespace string, depth int) {
	t.kind, t.index = avroRecordKind, map[string]int{}
	fields, ok := m["fields"].([]any)
	if !ok {
		b.fail("record without fields")
	}
	for _, f := range fields {
		field, _ := f.(map[string]any)
		name, _ := field["name"].(string)
		t.index[name] = len(t.fields)
		t.fields = append(t.fields, avroField{name: name, typ: b.build(field["type"], namespace, depth+1)})
	}
}

func fullName(name, namespace string) string {
	if namespace == "" || strings.Contains(name, ".") {
		return name
	}
	return namespace + "." + name
}

func cutLast(name string) (namespace, rest string) {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return "", name
}

// avroReader decodes binary Avro. Its first error sticks; after it every value is nil.
type avroReader struct {
	file   string
	base   int64 // offset of buf in the file
	buf    []byte
	pos    int
	budget int // values that may still be decoded
	err    error
}

// newAvroReader allows for as many values as the bytes can honestly hold: only null and empty records take none, and
// nothing may be built from them at will.
func newAvroReader(file string, base int64, buf []byte) *avroReader {
	return &avroReader{file: file, base: base, buf: buf, budget: 8*len(buf) + 1024}
}

func (r *avroReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = corruptf(r.file, r.base+int64(r.pos), format, args...)
	}
}

func (r *avroReader) take(n int64, what string) []byte {
	if n < 0 || n > int64(len(r.buf)-r.pos) {
		r.fail("expected %d bytes of %s, found %d", n, what, len(r.buf)-r.pos)
	}
	if r.err != nil {
		return nil
	}
	b := r.buf[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return b
}

func (r *avroReader) long() int64 {
	if r.err != nil {
		return 0
	}
	u, n := binary.Uvarint(r.buf[r.pos:])
	if n <= 0 {
		r.fail("expected a variable length number")
		return 0
	}
	r.pos += n
	return int64(u>>1) ^ -int64(u&1)
}

// value decodes one value of type t, or passes it where build is false.
func (r *avroReader) value(t *avroType, depth int, build bool) any {
	r.budget--
	if r.budget < 0 || depth > maxAvroDepth {
		r.fail("more values than the file has room for, or more than %d levels of them", maxAvroDepth)
	}
	if r.err != nil {
		return nil
	}
	switch t.kind {
	case avroArray, avroMap:
		return r.blocks(t, depth, build)
	case avroUnion:
		branch := r.long()
		if branch < 0 || branch >= int64(len(t.branches)) {
			r.fail("expected one of %d union branches, found number %d", len(t.branches), branch)
			return nil
		}
		return r.value(t.branches[branch], depth+1, build)
	case avroRecordKind:
		return r.record(t, depth, func(string) bool { return build })
	default:
		return r.scalar(t, build)
	}
}

// record decodes the fields that want names. It returns nil after an error.
func (r *avroReader) record(t *avroType, depth int, want func(field string) bool) any {
	rec := &avroRecord{typ: t, values: make([]any, 0, min(len(t.fields), len(r.buf)-r.pos+1))}
	for _, f := range t.fields {
		rec.values = append(rec.values, r.value(f.typ, depth+1, want(f.name)))
		if r.err != nil {
			return nil
		}
	}
	return rec
}

func (r *avroReader) scalar(t *avroType, build bool) any {
	switch t.kind {
	case avroBoolean:
		b := r.take(1, "a boolean")
		return len(b) == 1 && b[0] != 0
	case avroInt, avroLong:
		return r.long()
	case avroFloat:
		if b := r.take(4, "a float"); b != nil {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
	case avroDouble:
		if b := r.take(8, "a double"); b != nil {
			return math.Float64frombits(binary.LittleEndian.Uint64(b))
		}
	case avroBytes:
		return r.take(r.long(), "bytes")
	case avroString:
		if b := r.take(r.long(), "a string"); build {
			return string(b)
		}
	case avroFixed:
		return r.take(int64(t.size), "a fixed")
	case avroEnum:
		n := r.long()
		if n < 0 || n >= int64(len(t.symbols)) {
			r.fail("expected one of %d symbols, found number %d", len(t.symbols), n)
			return nil
		}
		return t.symbols[n]
	default: // null
	}
	return nil
}

// blocks decodes an array or a map: blocks of a count and as many items, until the count is zero. A negative count is
// followed by the block's size in bytes.
func (r *avroReader) blocks(t *avroType, depth int, build bool) any {
	items, entries := []any{}, map[string]any{}
	for {
		n := r.long()
		if n < 0 {
			n = -n
			r.long()
		}
		if n == 0 || r.err != nil {
			break
		}
		for ; n != 0 && r.err == nil; n-- {
			var key string
			if t.kind == avroMap {
				key = string(r.take(r.long(), "a map key"))
			}
			v := r.value(t.elem, depth+1, build)
			switch {
			case !build:
			case t.kind == avroMap:
				entries[key] = v
			default:
				items = append(items, v)
			}
		}
	}
	if t.kind == avroMap {
		return entries
	}
	return items
}
