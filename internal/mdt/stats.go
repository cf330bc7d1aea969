package mdt

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hudifs/hudifs/internal/avro"
	"github.com/hudifs/hudifs/internal/logfile"
)

const statsPartition = "column_stats"

// ColumnStat is what the metadata table says of one column of one file.
type ColumnStat struct {
	File, Column string
	// Min and Max are values as text; nil where there is none.
	Min, Max *string
	// Values counts rows, those without a value included.
	Values, Nulls int64
	// Size and Uncompressed are bytes of the column in the file.
	Size, Uncompressed int64
}

// ColumnStats are the statistics of the files for which want is true, ordered by file and column. Only files of the table should be
// wanted: records of others may be left over. It reads the whole partition. Without statistics the error is ErrUnavailable.
func (t *Table) ColumnStats(ctx context.Context, want func(file string) bool) ([]ColumnStat, error) {
	if !slices.Contains(t.data.Config().MetadataPartitions, statsPartition) {
		return nil, fmt.Errorf("%w: hoodie.table.metadata.partitions does not have %q", ErrUnavailable, statsPartition)
	}
	stats := map[string]*avro.Record{}
	err := t.records(ctx, statsPartition, []string{"type", "ColumnStatsMetadata"}, func(key string, rec *avro.Record) error {
		s, _ := avro.Value[*avro.Record](rec, "ColumnStatsMetadata")
		file, _ := avro.Value[string](s, "fileName")
		// A base file is written once, so the newest record of it is the whole truth.
		if deleted, _ := avro.Value[bool](s, "isDeleted"); deleted || s == nil {
			delete(stats, key)
		} else if want(file) {
			stats[key] = s
		}
		return nil
	})
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	out := make([]ColumnStat, 0, len(stats))
	for _, rec := range stats {
		out = append(out, statOf(rec))
	}
	slices.SortFunc(out, func(a, b ColumnStat) int {
		return cmp.Or(strings.Compare(a.File, b.File), strings.Compare(a.Column, b.Column))
	})
	return out, nil
}

func statOf(rec *avro.Record) ColumnStat {
	s := ColumnStat{Min: textOf(rec, "minValue"), Max: textOf(rec, "maxValue")}
	s.File, _ = avro.Value[string](rec, "fileName")
	s.Column, _ = avro.Value[string](rec, "columnName")
	s.Values, _ = avro.Value[int64](rec, "valueCount")
	s.Nulls, _ = avro.Value[int64](rec, "nullCount")
	s.Size, _ = avro.Value[int64](rec, "totalSize")
	s.Uncompressed, _ = avro.Value[int64](rec, "totalUncompressedSize")
	return s
}

// The types of a column since table version 9, by their number (hudi-common: ValueType), as far as the wrapper of a value does not
// say enough.
const (
	decimalType = iota + 10
	_
	dateType
	timeMillis
	timeMicros
	timestampMillis
	timestampMicros
	timestampNanos
	localMillis
	localMicros
	localNanos
)

// textOf is a bound as text. Its value lies in a record that is named after its type.
func textOf(rec *avro.Record, name string) *string {
	wrapper, _ := avro.Value[*avro.Record](rec, name)
	if wrapper == nil {
		return nil
	}
	valueType, _ := avro.Value[*avro.Record](rec, "valueType")
	ordinal, _ := avro.Value[int64](valueType, "typeOrdinal")
	var text string
	switch v := wrapper.Get("value").(type) {
	case nil:
		return nil
	case bool:
		text = strconv.FormatBool(v)
	case int64:
		text = numberText(v, wrapper.Name(), ordinal)
	case float64:
		text = strconv.FormatFloat(v, 'g', -1, floatBits[wrapper.Name()])
	case string:
		text = v
	case []byte:
		text = bytesText(v, wrapper.Name(), ordinal, valueType)
	default:
		return nil
	}
	return &text
}

var floatBits = map[string]int{"FloatWrapper": 32, "DoubleWrapper": 64}

func numberText(v int64, wrapper string, ordinal int64) string {
	const zone, local = "2006-01-02T15:04:05.999999999Z", "2006-01-02T15:04:05.999999999"
	at := func(t time.Time, layout string) string { return t.UTC().Format(layout) }
	switch {
	case wrapper == "DateWrapper" || wrapper == "LocalDateWrapper" || ordinal == dateType:
		return at(time.Unix(v*24*60*60, 0), time.DateOnly)
	case wrapper == "TimestampMicrosWrapper" || ordinal == timestampMicros:
		return at(time.UnixMicro(v), zone)
	case wrapper == "TimeMicrosWrapper" || ordinal == timeMicros:
		return at(time.UnixMicro(v), "15:04:05.999999")
	case ordinal == timeMillis:
		return at(time.UnixMilli(v), "15:04:05.999")
	case ordinal == timestampMillis:
		return at(time.UnixMilli(v), zone)
	case ordinal == timestampNanos:
		return at(time.Unix(0, v), zone)
	case ordinal == localMillis:
		return at(time.UnixMilli(v), local)
	case ordinal == localMicros:
		return at(time.UnixMicro(v), local)
	case ordinal == localNanos:
		return at(time.Unix(0, v), local)
	}
	return strconv.FormatInt(v, 10)
}

func bytesText(v []byte, wrapper string, ordinal int64, valueType *avro.Record) string {
	scale := -1
	switch {
	case wrapper == "DecimalWrapper":
		scale = logfile.DecimalScale
	case ordinal == decimalType:
		info, _ := avro.Value[string](valueType, "additionalInfo") // precision,scale
		_, after, _ := strings.Cut(info, ",")
		if n, err := strconv.Atoi(after); err == nil && n >= 0 && n <= maxScale {
			scale = n
		}
	}
	if scale < 0 {
		return hex.EncodeToString(v)
	}
	return decimalText(v, scale)
}

// decimalText is a decimal whose unscaled value is big-endian, in two's complement.
func decimalText(v []byte, scale int) string {
	n := new(big.Int).SetBytes(v)
	if len(v) > 0 && v[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
	}
	text := new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)).FloatString(scale)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// maxScale is that of Spark's decimals.
const maxScale = 38
