package schema

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hudifs/hudifs/internal/column"
)

// Parse reads a value from text, as partition folders have it, into the form in which vectors hold it.
func (s Scalar) Parse(text string) ([]byte, error) {
	if s.Logical == Decimal {
		return s.parseDecimal(text)
	}
	if t, ok := parseDate(text); ok {
		if per, ok := unitsPerSecond(s.Logical); ok && s.Kind == column.Int64 {
			v, ok := convertUnit(t.Unix(), 1, per)
			if !ok {
				return nil, invalid("%q overflows %v", text, s)
			}
			return binary.LittleEndian.AppendUint64(nil, uint64(v)), nil
		}
		if s.Logical == Date {
			return dateValue(t), nil
		}
	}
	v, err := s.parsePlain(text)
	if err != nil {
		return nil, invalid("%q is no value of %v", text, s)
	}
	return v, nil
}

func (s Scalar) parseDecimal(text string) ([]byte, error) {
	v, scale, err := parseDecimal(text)
	if err != nil {
		return nil, err
	}
	dst := column.New(column.Leaf{Kind: s.Kind, Size: s.Size})
	if err := appendDecimal(dst, s, rescale(v, scale, s.Scale)); err != nil {
		return nil, err
	}
	return dst.Value(0), nil
}

var withoutDashes = strings.NewReplacer("-", "", "/", "")

// parseDate reads a year, month, day or hour, whatever stands between the parts (spark: PartitionPathParser).
func parseDate(text string) (t time.Time, ok bool) {
	text = withoutDashes.Replace(text)
	layout, ok := map[int]string{4: "2006", 6: "200601", 8: "20060102", 10: "2006010215"}[len(text)]
	if !ok {
		return t, false
	}
	t, err := time.Parse(layout, text)
	return t, err == nil
}

// parsePlain reads a value of a physical type.
func (s Scalar) parsePlain(text string) ([]byte, error) {
	le := binary.LittleEndian
	switch s.Kind {
	case column.Bool:
		v, err := strconv.ParseBool(text)
		if v {
			return []byte{1}, err
		}
		return []byte{0}, err
	case column.Int32:
		v, err := strconv.ParseInt(text, 10, 32)
		return le.AppendUint32(nil, uint32(v)), err
	case column.Int64:
		v, err := strconv.ParseInt(text, 10, 64)
		return le.AppendUint64(nil, uint64(v)), err
	case column.Float:
		v, err := strconv.ParseFloat(text, 32)
		return le.AppendUint32(nil, math.Float32bits(float32(v))), err
	case column.Double:
		v, err := strconv.ParseFloat(text, 64)
		return le.AppendUint64(nil, math.Float64bits(v)), err
	case column.Bytes:
		return []byte(text), nil
	default:
		return nil, invalid("no text for %v", s)
	}
}
