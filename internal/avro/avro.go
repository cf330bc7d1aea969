package avro

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
)

// ErrCorrupt is wrapped by every error about bytes or schemas that are not what the format wants.
var ErrCorrupt = errors.New("damaged")

// ErrUnsupported is wrapped by every error about legal content that this package can't read.
var ErrUnsupported = errors.New("not supported")

// Error says where bytes are not what the format demands. It is an ErrCorrupt.
type Error struct {
	Offset int64
	Reason string // what was expected
}

func (e *Error) Error() string {
	return fmt.Sprintf("%v at byte %d: %s", ErrCorrupt, e.Offset, e.Reason)
}

// Unwrap makes it an ErrCorrupt.
func (e *Error) Unwrap() error { return ErrCorrupt }

func corrupt(offset int64, format string, args ...any) error {
	return &Error{offset, fmt.Sprintf(format, args...)}
}

// Kind is what a type is.
type Kind uint8

// The kinds of types.
const (
	Null Kind = iota
	Boolean
	Int
	Long
	Float
	Double
	Bytes
	String
	Fixed
	Enum
	Array
	Map
	Union
	Struct // a record
)

var primitives = map[string]Kind{
	"null": Null, "boolean": Boolean, "int": Int, "long": Long, "float": Float, "double": Double,
	"bytes": Bytes, "string": String,
}

// Type is a node of a parsed schema. Named types may be shared, and may hold themselves.
type Type struct {
	Kind     Kind
	Name     string // of a named type, without its namespace
	fields   []field
	index    map[string]int
	elem     *Type   // of an array or map
	branches []*Type // of a union
	symbols  []string
	size     int // of a fixed
}

type field struct {
	name string
	typ  *Type
}

// Record is a decoded record. Values are nil, bool, int64, float64, string (also for enums), []byte, []any,
// map[string]any and *Record; a union is the value of its branch.
type Record struct {
	typ    *Type
	values []any
}

// Name is that of the record's type, without its namespace.
func (r *Record) Name() string { return r.typ.Name }

// Get is the value of a field, nil for one that the record lacks: fields come and go between releases. It may be called on a nil
// record, which has none.
func (r *Record) Get(name string) any {
	if r == nil {
		return nil
	}
	if i, ok := r.typ.index[name]; ok && i < len(r.values) {
		return r.values[i]
	}
	return nil
}

// Value is a field of a known type; ok is false where it is null, missing, or of another type.
func Value[T any](r *Record, name string) (v T, ok bool) {
	v, ok = r.Get(name).(T)
	return v, ok
}

const (
	// maxDepth bounds schemas and values alike. Hudi's own metadata is less than 12 levels deep.
	maxDepth = 64
	// maxSchema bounds the text of a schema. Those of Hudi's own metadata take less than 100 KB.
	maxSchema = 1 << 20
	// maxValues bounds what is decoded at once. A commit takes about 50 for each file that it wrote.
	maxValues = 1 << 24
)

// Schemas remembers parsed schemas: every metadata file carries its own copy of the same text. Its zero value is ready, and
// may be used from many goroutines.
type Schemas struct {
	mu     sync.Mutex
	parsed map[string]*Type // guarded by mu
}

// Parse parses a schema that stands at an offset.
func (s *Schemas) Parse(offset int64, text string) (*Type, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.parsed[text]; ok {
		return t, nil
	}
	t, err := parseSchema(offset, text)
	if err != nil {
		return nil, err
	}
	const most = 64
	if s.parsed == nil || len(s.parsed) >= most {
		s.parsed = map[string]*Type{}
	}
	s.parsed[text] = t
	return t, nil
}

func parseSchema(offset int64, text string) (*Type, error) {
	if len(text) > maxSchema {
		return nil, corrupt(offset, "expected an Avro schema of at most %d bytes, found %d", maxSchema, len(text))
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return nil, corrupt(offset, "expected an Avro schema: %v", err)
	}
	b := &builder{offset: offset, named: map[string]*Type{}}
	t := b.build(v, "", 0)
	return t, b.err
}

type builder struct {
	offset int64
	named  map[string]*Type
	err    error
}

func (b *builder) fail(format string, args ...any) *Type {
	if b.err == nil {
		b.err = corrupt(b.offset, "Avro schema: "+format, args...)
	}
	return &Type{}
}

func (b *builder) build(v any, namespace string, depth int) *Type {
	if depth > maxDepth {
		return b.fail("nested more than %d levels deep", maxDepth)
	}
	switch v := v.(type) {
	case string:
		return b.reference(v, namespace)
	case []any:
		t := &Type{Kind: Union}
		for _, branch := range v {
			t.branches = append(t.branches, b.build(branch, namespace, depth+1))
		}
		return t
	case map[string]any:
		return b.complex(v, namespace, depth)
	}
	return b.fail("expected a type, found %T", v)
}

func (b *builder) reference(name, namespace string) *Type {
	if kind, ok := primitives[name]; ok {
		return &Type{Kind: kind}
	}
	if t, ok := b.named[fullName(name, namespace)]; ok {
		return t
	}
	if t, ok := b.named[name]; ok {
		return t
	}
	return b.fail("type %q is not defined", name)
}

func (b *builder) complex(m map[string]any, namespace string, depth int) *Type {
	kind, ok := m["type"].(string)
	if !ok {
		return b.build(m["type"], namespace, depth+1)
	}
	switch kind {
	case "array":
		return &Type{Kind: Array, elem: b.build(m["items"], namespace, depth+1)}
	case "map":
		return &Type{Kind: Map, elem: b.build(m["values"], namespace, depth+1)}
	case "record", "error", "enum", "fixed":
	default:
		return b.reference(kind, namespace)
	}
	t := &Type{}
	name, _ := m["name"].(string)
	if own, ok := m["namespace"].(string); ok {
		namespace = own
	}
	full := fullName(name, namespace)
	namespace, t.Name = cutLast(full)
	b.named[full] = t
	switch kind {
	case "enum":
		t.Kind = Enum
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
		t.Kind, t.size = Fixed, int(size)
	default:
		b.record(t, m, namespace, depth)
	}
	return t
}

func (b *builder) record(t *Type, m map[string]any, namespace string, depth int) {
	t.Kind, t.index = Struct, map[string]int{}
	fields, ok := m["fields"].([]any)
	if !ok {
		b.fail("record without fields")
	}
	for _, f := range fields {
		m, _ := f.(map[string]any)
		name, _ := m["name"].(string)
		t.index[name] = len(t.fields)
		t.fields = append(t.fields, field{name: name, typ: b.build(m["type"], namespace, depth+1)})
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

// Reader decodes binary Avro. Its first error sticks; after it every value is nil.
type Reader struct {
	base   int64 // offset of buf in the file
	buf    []byte
	pos    int
	budget int // values that may still be decoded
	err    error
}

// NewReader makes a reader of bytes that lie at an offset of their file. It allows for as many values as the bytes can
// honestly hold: only null and empty records take none, and nothing may be built from them at will.
func NewReader(base int64, buf []byte) *Reader {
	return &Reader{base: base, buf: buf, budget: min(8*len(buf)+1024, maxValues)}
}

// Err is the first error.
func (r *Reader) Err() error { return r.err }

// Offset is where the next value begins in the file.
func (r *Reader) Offset() int64 { return r.base + int64(r.pos) }

// Rest is how many bytes are left.
func (r *Reader) Rest() int { return len(r.buf) - r.pos }

func (r *Reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = corrupt(r.base+int64(r.pos), format, args...)
	}
}

// Take is the next n bytes, nil where there are not that many. what says what they are, for the error.
func (r *Reader) Take(n int64, what string) []byte {
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

func (r *Reader) long() int64 {
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

// Value decodes a value of type t.
func (r *Reader) Value(t *Type) any { return r.value(t, 0, true) }

// Record decodes a record: only the fields that are named, where any are. It is nil after an error.
func (r *Reader) Record(t *Type, fields ...string) *Record {
	if t.Kind != Struct {
		r.fail("expected a schema of a record")
		return nil
	}
	return r.record(t, 0, func(name string) bool { return len(fields) == 0 || slices.Contains(fields, name) })
}

// value decodes one value of type t, or passes it where build is false.
func (r *Reader) value(t *Type, depth int, build bool) any {
	r.budget--
	if r.budget < 0 || depth > maxDepth {
		r.fail("more values than %d bytes have room for, more than %d, or more than %d levels of them", len(r.buf), maxValues, maxDepth)
	}
	if r.err != nil {
		return nil
	}
	switch t.Kind {
	case Array, Map:
		return r.blocks(t, depth, build)
	case Union:
		branch := r.long()
		if branch < 0 || branch >= int64(len(t.branches)) {
			r.fail("expected one of %d union branches, found number %d", len(t.branches), branch)
			return nil
		}
		return r.value(t.branches[branch], depth+1, build)
	case Struct:
		if rec := r.record(t, depth, func(string) bool { return build }); rec != nil {
			return rec
		}
		return nil
	default:
		return r.scalar(t, build)
	}
}

// record decodes the fields that want names. It returns nil after an error.
func (r *Reader) record(t *Type, depth int, want func(field string) bool) *Record {
	rec := &Record{typ: t, values: make([]any, 0, min(len(t.fields), len(r.buf)-r.pos+1))}
	for _, f := range t.fields {
		rec.values = append(rec.values, r.value(f.typ, depth+1, want(f.name)))
		if r.err != nil {
			return nil
		}
	}
	return rec
}

func (r *Reader) scalar(t *Type, build bool) any {
	switch t.Kind {
	case Boolean:
		b := r.Take(1, "a boolean")
		return len(b) == 1 && b[0] != 0
	case Int, Long:
		return r.long()
	case Float:
		if b := r.Take(4, "a float"); b != nil {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
	case Double:
		if b := r.Take(8, "a double"); b != nil {
			return math.Float64frombits(binary.LittleEndian.Uint64(b))
		}
	case Bytes:
		return r.Take(r.long(), "bytes")
	case String:
		if b := r.Take(r.long(), "a string"); build {
			return string(b)
		}
	case Fixed:
		return r.Take(int64(t.size), "a fixed")
	case Enum:
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
func (r *Reader) blocks(t *Type, depth int, build bool) any {
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
			if t.Kind == Map {
				key = string(r.Take(r.long(), "a map key"))
			}
			at := r.pos
			v := r.value(t.elem, depth+1, build)
			if r.pos == at && t.Kind == Array {
				r.fail("expected the items of an array, found some without content")
			}
			switch {
			case !build:
			case t.Kind == Map:
				entries[key] = v
			default:
				items = append(items, v)
			}
		}
	}
	if t.Kind == Map {
		return entries
	}
	return items
}
