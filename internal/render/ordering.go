package render

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/merge"
)

// ordering encodes the ordering values of one table: those of rows, by the leaves of the target schema that hold them, and
// those of delete blocks, which come wrapped in types of their own.
type ordering struct {
	leaves []*schema.Node // nil for a field that the table does not have
}

func newOrdering(target *schema.Message, fields []string) ordering {
	var o ordering
	for _, f := range fields {
		o.leaves = append(o.leaves, target.Find(f))
	}
	return o
}

// wanted are the numbers of the leaves that must be read.
func (o ordering) wanted() []int {
	var out []int
	for _, n := range o.leaves {
		if n != nil {
			out = append(out, n.Index)
		}
	}
	return out
}

// row encodes the ordering value of a row, given a way to get at its leaves. unordered says that it is what Hudi takes for
// no value: there is no field, or only one, and it is null or the 32-bit integer 0 (hudi-common: OrderingValues.isDefault).
func (o ordering) row(b []byte, value func(leaf int) ([]byte, bool)) (out []byte, unordered bool) {
	unordered = len(o.leaves) <= 1
	for _, n := range o.leaves {
		if n == nil {
			b = merge.AppendNull(b)
			continue
		}
		v, ok := value(n.Index)
		if !ok {
			b = merge.AppendNull(b)
			continue
		}
		if n.Scalar.Kind != column.Int32 || binary.LittleEndian.Uint32(v) != 0 {
			unordered = false
		}
		b = appendScalar(b, n.Scalar, v)
	}
	return b, unordered
}

// deleted encodes the ordering value of a delete block's entry. One of another type than the column's can't be compared
// with it; such a delete wins, as in Hudi.
func (o ordering) deleted(b []byte, values []logfile.OrderingValue) (out []byte, unordered bool) {
	if len(values) == 0 || len(values) == 1 && values[0].IsDefault() || len(values) != len(o.leaves) {
		return b, true
	}
	for i, v := range values {
		n := o.leaves[i]
		if n == nil || v.Kind == logfile.NullOrdering {
			b = merge.AppendNull(b)
			continue
		}
		var ok bool
		if b, ok = appendWrapped(b, n.Scalar, v); !ok {
			return b, true
		}
	}
	return b, false
}

func appendScalar(b []byte, s schema.Scalar, v []byte) []byte {
	switch {
	case s.Logical == schema.Decimal:
		return merge.AppendDecimal(b, rescaled(s.Unscaled(v), s.Scale, s.Scale))
	case s.Kind == column.Int96:
		days := int64(binary.LittleEndian.Uint32(v[8:])) - 2440588
		return merge.AppendInt(b, days*86_400_000_000+int64(binary.LittleEndian.Uint64(v))/1000)
	}
	switch s.Kind {
	case column.Bool:
		return merge.AppendInt(b, int64(v[0]))
	case column.Int32:
		return merge.AppendInt(b, micros(s, int64(int32(binary.LittleEndian.Uint32(v)))))
	case column.Int64:
		return merge.AppendInt(b, micros(s, int64(binary.LittleEndian.Uint64(v))))
	case column.Float:
		return merge.AppendFloat(b, float64(math.Float32frombits(binary.LittleEndian.Uint32(v))))
	case column.Double:
		return merge.AppendFloat(b, math.Float64frombits(binary.LittleEndian.Uint64(v)))
	default:
		return merge.AppendBytes(b, v)
	}
}

// micros brings times to the unit in which delete blocks have them.
func micros(s schema.Scalar, v int64) int64 {
	switch s.Logical {
	case schema.TimestampMillis, schema.LocalTimestampMillis, schema.TimeMillis:
		return v * 1000
	case schema.TimestampNanos, schema.LocalTimestampNanos:
		return v / 1000
	default:
		return v
	}
}

// rescaled brings a decimal to the scale in which all of its column are compared: that of delete blocks, or a larger one of the column.
func rescaled(v *big.Int, from, column int) *big.Int {
	to := max(logfile.DecimalScale, column)
	return new(big.Int).Mul(v, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(to-from)), nil))
}

func appendWrapped(b []byte, s schema.Scalar, v logfile.OrderingValue) ([]byte, bool) {
	switch v.Kind {
	case logfile.BoolOrdering, logfile.IntOrdering, logfile.LongOrdering, logfile.DateOrdering,
		logfile.TimeMicrosOrdering, logfile.TimestampMicrosOrdering:
		switch {
		case s.Logical == schema.Decimal:
			return b, false
		case s.Kind == column.Float || s.Kind == column.Double:
			return merge.AppendFloat(b, float64(v.Int)), true
		case s.Kind == column.Bytes || s.Kind == column.Fixed:
			return b, false
		}
		return merge.AppendInt(b, v.Int), true
	case logfile.FloatOrdering, logfile.DoubleOrdering:
		if s.Kind != column.Float && s.Kind != column.Double {
			return b, false
		}
		return merge.AppendFloat(b, v.Float), true
	case logfile.DecimalOrdering:
		if s.Logical != schema.Decimal {
			return b, false
		}
		return merge.AppendDecimal(b, rescaled(schema.BigEndian(v.Bytes), logfile.DecimalScale, s.Scale)), true
	case logfile.BytesOrdering, logfile.TextOrdering:
		if s.Kind != column.Bytes && s.Kind != column.Fixed || s.Logical == schema.Decimal {
			return b, false
		}
		return merge.AppendBytes(b, v.Bytes), true
	default:
		return b, false
	}
}
