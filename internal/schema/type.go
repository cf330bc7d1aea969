package schema

import "slices"

// Kind is what a Type is, after Avro's names.
type Kind uint8

// The kinds of types.
const (
	Boolean Kind = iota
	Int
	Long
	Float
	Double
	Bytes
	String
	Fixed
	Enum
	Record
	Array
	Map
	Union // of several types besides null
)

func (k Kind) String() string {
	return [...]string{"boolean", "int", "long", "float", "double", "bytes", "string", "fixed", "enum", "record", "array", "map", "union"}[k]
}

// Logical is the meaning put on a primitive type.
type Logical uint8

// The logical types.
const (
	None Logical = iota
	Decimal
	Date
	TimeMillis
	TimeMicros
	TimestampMillis
	TimestampMicros
	TimestampNanos
	LocalTimestampMillis
	LocalTimestampMicros
	LocalTimestampNanos
	UUID
)

func (l Logical) String() string {
	return [...]string{
		"", "decimal", "date", "time-millis", "time-micros", "timestamp-millis", "timestamp-micros", "timestamp-nanos",
		"local-timestamp-millis", "local-timestamp-micros", "local-timestamp-nanos", "uuid",
	}[l]
}

// Type is an Avro type. Types are not changed once made, and may be shared.
type Type struct {
	Kind    Kind
	Logical Logical
	// Nullable says that the type stood in a union with null, NullIndex at which position (0 or, of two, 1).
	Nullable  bool
	NullIndex int
	Name      string // full name of a record, enum or fixed
	Precision int    // of decimals
	Scale     int
	Size      int      // bytes of a fixed
	Fields    []Field  // of a record
	Elem      *Type    // items of an array, values of a map
	Symbols   []string // of an enum
	Branches  []*Type  // of a union, null left out
}

// Field is a field of a record.
type Field struct {
	Name string
	Type *Type
	// Default is the field's default as JSON text, "" where there is none.
	Default string
}

// size counts the types that a type is made of, each as often as it is used, up to a limit: records that are used twice on each level
// grow without bounds.
func (t *Type) size(limit int) int {
	n := 1
	for _, f := range t.Fields {
		if n > limit {
			return n
		}
		n += f.Type.size(limit - n)
	}
	if t.Elem != nil {
		n += t.Elem.size(limit - n)
	}
	return n
}

// Field finds a field of a record by name.
func (t *Type) Field(name string) (Field, bool) {
	for _, f := range t.Fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// The meta fields that Hudi puts before the columns of every table (hudi-common: HoodieRecord.HOODIE_META_COLUMNS).
const (
	CommitTime    = "_hoodie_commit_time"
	CommitSeqno   = "_hoodie_commit_seqno"
	RecordKey     = "_hoodie_record_key"
	PartitionPath = "_hoodie_partition_path"
	FileName      = "_hoodie_file_name"
	Operation     = "_hoodie_operation"
	IsDeleted     = "_hoodie_is_deleted"
)

var metaFields = []string{CommitTime, CommitSeqno, RecordKey, PartitionPath, FileName}

// IsMeta tells whether a column is one of Hudi's meta fields.
func IsMeta(name string) bool {
	return name == Operation || slices.Contains(metaFields, name)
}

// WithMeta puts the meta fields in front of a table's columns; those that the record has already are moved there.
// _hoodie_operation stays only where the record has it.
func WithMeta(t *Type) *Type {
	out := *t
	out.Fields = nil
	for _, m := range metaFields {
		out.Fields = append(out.Fields, Field{Name: m, Type: &Type{Kind: String, Nullable: true}, Default: "null"})
	}
	if f, ok := t.Field(Operation); ok {
		out.Fields = append(out.Fields, f)
	}
	for _, f := range t.Fields {
		if !IsMeta(f.Name) {
			out.Fields = append(out.Fields, f)
		}
	}
	return &out
}

// WithoutMeta leaves the meta fields out.
func WithoutMeta(t *Type) *Type {
	out := *t
	out.Fields = nil
	for _, f := range t.Fields {
		if !IsMeta(f.Name) {
			out.Fields = append(out.Fields, f)
		}
	}
	return &out
}
