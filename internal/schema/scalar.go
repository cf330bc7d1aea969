package schema

import (
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
)

// Scalar is the type of a leaf: its physical form and its meaning.
type Scalar struct {
	Kind             column.Kind
	Size             int // bytes, of Fixed
	Logical          Logical
	Precision, Scale int  // of Decimal
	Text             bool // Bytes that are text
}

func (s Scalar) String() string {
	l := column.Leaf{Kind: s.Kind, Size: s.Size}
	switch {
	case s.Logical == Decimal:
		return fmt.Sprintf("decimal(%d,%d) in %v", s.Precision, s.Scale, l)
	case s.Logical != None:
		return fmt.Sprintf("%v in %v", s.Logical, l)
	case s.Text:
		return "string"
	}
	return l.String()
}

// Scalar is the natural layout of a primitive Avro type, ok false for types that aren't primitive.
func (t *Type) Scalar() (s Scalar, ok bool) {
	s = Scalar{Logical: t.Logical, Precision: t.Precision, Scale: t.Scale}
	switch t.Kind {
	case Boolean:
		s.Kind = column.Bool
	case Int:
		s.Kind = column.Int32
	case Long:
		s.Kind = column.Int64
	case Float:
		s.Kind = column.Float
	case Double:
		s.Kind = column.Double
	case Bytes:
		s.Kind = column.Bytes
	case String, Enum:
		s.Kind, s.Text, s.Logical = column.Bytes, true, None
	case Fixed:
		s.Kind, s.Size = column.Fixed, t.Size
	default:
		return s, false
	}
	return s, true
}

func scalarOf(e format.SchemaElement) (Scalar, error) {
	// Parquet's types are numbered as column.Kind is.
	s := Scalar{Kind: column.Kind(e.Type.V)}
	switch {
	case e.Type.V < format.Boolean || e.Type.V > format.FixedLenByteArray:
		return s, invalid("Parquet column %s: type %d", e.Name, e.Type.V)
	case s.Kind == column.Int96:
		s.Logical = TimestampNanos
	case s.Kind == column.Fixed:
		s.Size = int(e.TypeLength.V)
		if s.Size <= 0 || s.Size > 1<<24 {
			return s, invalid("Parquet column %s: fixed length %d", e.Name, s.Size)
		}
	}
	if err := meaning(&s, e); err != nil {
		return s, err
	}
	if !s.fits() {
		return s, invalid("Parquet column %s: %v", e.Name, s)
	}
	if s.Logical == Decimal && (s.Precision < 1 || s.Precision > 76 || s.Scale < 0 || s.Scale > s.Precision) {
		return s, invalid("Parquet column %s: decimal(%d,%d)", e.Name, s.Precision, s.Scale)
	}
	return s, nil
}

// fits tells whether a meaning is one that Parquet allows for the physical form.
func (s Scalar) fits() bool {
	switch s.Logical {
	case Decimal:
		return s.Kind == column.Int32 || s.Kind == column.Int64 || s.Kind == column.Bytes || s.Kind == column.Fixed
	case Date, TimeMillis:
		return s.Kind == column.Int32
	case TimestampNanos:
		return s.Kind == column.Int64 || s.Kind == column.Int96
	case TimeMicros, TimestampMillis, TimestampMicros, LocalTimestampMillis, LocalTimestampMicros, LocalTimestampNanos:
		return s.Kind == column.Int64
	case UUID:
		return s.Kind == column.Fixed && s.Size == 16
	case None:
	}
	return !s.Text || s.Kind == column.Bytes
}

// meaning reads the annotation of a leaf, the logical type before the older converted type.
func meaning(s *Scalar, e format.SchemaElement) error {
	switch l := e.LogicalType.Value.(type) {
	case *format.StringType, *format.EnumType, *format.JsonType:
		s.Text = true
	case *format.DecimalType:
		s.Logical, s.Precision, s.Scale = Decimal, int(l.Precision), int(l.Scale)
	case *format.DateType:
		s.Logical = Date
	case *format.UUIDType:
		s.Logical = UUID
	case *format.TimeType:
		switch l.Unit.Value.(type) {
		case *format.MilliSeconds:
			s.Logical = TimeMillis
		case *format.MicroSeconds:
			s.Logical = TimeMicros
		default:
			return invalid("Parquet column %s: a time of day in nanoseconds", e.Name)
		}
	case *format.TimestampType:
		s.Logical = timestamp(l)
	case nil:
		converted(s, e)
	}
	return nil
}

func timestamp(l *format.TimestampType) Logical {
	unit := TimestampNanos
	switch l.Unit.Value.(type) {
	case *format.MilliSeconds:
		unit = TimestampMillis
	case *format.MicroSeconds:
		unit = TimestampMicros
	}
	if !l.IsAdjustedToUTC {
		unit += LocalTimestampMillis - TimestampMillis
	}
	return unit
}

func converted(s *Scalar, e format.SchemaElement) {
	if !e.ConvertedType.Valid {
		return
	}
	switch e.ConvertedType.V {
	case deprecated.UTF8, deprecated.Enum, deprecated.Json:
		s.Text = true
	case deprecated.Decimal:
		s.Logical, s.Precision, s.Scale = Decimal, int(e.Precision.V), int(e.Scale.V)
	case deprecated.Date:
		s.Logical = Date
	case deprecated.TimeMillis:
		s.Logical = TimeMillis
	case deprecated.TimeMicros:
		s.Logical = TimeMicros
	case deprecated.TimestampMillis:
		s.Logical = TimestampMillis
	case deprecated.TimestampMicros:
		s.Logical = TimestampMicros
	default:
	}
}

// element states a scalar as a Parquet schema element.
func (s Scalar) element() format.SchemaElement {
	e := format.SchemaElement{}
	e.Type = thrift.New(format.Type(s.Kind))
	if s.Kind == column.Fixed {
		e.TypeLength = thrift.New(int32(s.Size))
	}
	set := func(c deprecated.ConvertedType, l format.LogicalTypeValue) {
		e.ConvertedType = thrift.New(c)
		e.LogicalType.Value = l
	}
	unit := func(l Logical) format.TimeUnit {
		switch l {
		case TimeMillis, TimestampMillis, LocalTimestampMillis:
			return format.TimeUnit{Value: &format.MilliSeconds{}}
		case TimestampNanos, LocalTimestampNanos:
			return format.TimeUnit{Value: &format.NanoSeconds{}}
		default:
			return format.TimeUnit{Value: &format.MicroSeconds{}}
		}
	}
	switch s.Logical {
	case Decimal:
		set(deprecated.Decimal, &format.DecimalType{Precision: int32(s.Precision), Scale: int32(s.Scale)})
		e.Precision, e.Scale = thrift.New(int32(s.Precision)), thrift.New(int32(s.Scale))
	case Date:
		set(deprecated.Date, &format.DateType{})
	case TimeMillis:
		set(deprecated.TimeMillis, &format.TimeType{IsAdjustedToUTC: true, Unit: unit(s.Logical)})
	case TimeMicros:
		set(deprecated.TimeMicros, &format.TimeType{IsAdjustedToUTC: true, Unit: unit(s.Logical)})
	case TimestampMillis:
		set(deprecated.TimestampMillis, &format.TimestampType{IsAdjustedToUTC: true, Unit: unit(s.Logical)})
	case TimestampMicros:
		set(deprecated.TimestampMicros, &format.TimestampType{IsAdjustedToUTC: true, Unit: unit(s.Logical)})
	case TimestampNanos:
		if s.Kind == column.Int64 {
			e.LogicalType.Value = &format.TimestampType{IsAdjustedToUTC: true, Unit: unit(s.Logical)}
		}
	case LocalTimestampMillis, LocalTimestampMicros, LocalTimestampNanos:
		e.LogicalType.Value = &format.TimestampType{Unit: unit(s.Logical)}
	case UUID, None:
		if s.Text {
			set(deprecated.UTF8, &format.StringType{})
		}
	}
	return e
}

// canonical is the form in which a type is written where no base file gives another: that of Hudi's own Avro writer.
func canonical(s Scalar) Scalar {
	if s.Logical != Decimal {
		return s
	}
	s.Kind, s.Size = column.Fixed, decimalBytes(s.Precision)
	return s
}

// decimalBytes is the smallest number of bytes that holds any unscaled value of a precision.
func decimalBytes(precision int) int {
	return int(math.Ceil((float64(precision)*math.Log2(10) + 1) / 8))
}
