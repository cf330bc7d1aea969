package pqfile

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/schema"
)

// createdBy has the form that parquet-mr parses: it ignores the statistics of files without. It is no build's real name, since the same
// rows must give the same bytes in every build.
const createdBy = "hudifs version 1.0.0 (build 1)"

// Head is what a file begins with; the first chunk lies behind it.
const Head = magic

// A Group is a row group: the chunks of all leaves, in their order.
type Group []*Chunk

// Place puts the chunks of a file behind each other from an offset on, at least len(Head), and returns where they end.
func Place(groups []Group, offset int64) int64 {
	for _, g := range groups {
		for _, c := range g {
			c.Offset = offset
			offset += c.Size
		}
	}
	return offset
}

// Footer makes the end of a file: the last bytes of it, of whatever length the file is.
func Footer(m *schema.Message, groups []Group) ([]byte, error) {
	meta := newMetaData(m)
	at := int64(len(Head))
	for i, g := range groups {
		rg, end, err := rowGroup(m, meta.Schema, g, at)
		if err != nil {
			return nil, fmt.Errorf("row group %d: %w", i, err)
		}
		rg.Ordinal = int16(min(i, math.MaxInt16))
		meta.RowGroups = append(meta.RowGroups, rg)
		meta.NumRows += rg.NumRows
		at = end
	}
	for i, l := range m.Leaves {
		withholdBounds(meta.RowGroups, i, NewMinMax(l.Scalar).number())
	}
	return tail(meta)
}

// withholdBounds takes care that a column for which one row group has values but no bounds has exact ones in none: engines that answer min and max from
// bounds do so from those row groups that have them (DataFusion). Of numbers no bounds are left then, of others such that are not exact.
func withholdBounds(groups []RowGroup, leaf int, number bool) {
	lacking := slices.ContainsFunc(groups, func(g RowGroup) bool {
		c := &g.Columns[leaf].MetaData
		return c.Statistics.MinValue == nil && c.Statistics.NullCount.V < c.NumValues
	})
	if !lacking {
		return
	}
	for g := range groups {
		st := &groups[g].Columns[leaf].MetaData.Statistics
		switch {
		case st.MinValue == nil:
		case number:
			*st = Statistics{NullCount: st.NullCount}
		default:
			st.IsMinExact, st.IsMaxExact = thrift.New(false), thrift.New(false)
		}
	}
}

func newMetaData(m *schema.Message) *FileMetaData {
	meta := &FileMetaData{Version: 1, Schema: m.Elements(), CreatedBy: createdBy, RowGroups: thrift.Slice[RowGroup]{}}
	for range m.Leaves {
		meta.ColumnOrders = append(meta.ColumnOrders, format.ColumnOrder{Value: &format.TypeDefinedOrder{}})
	}
	return meta
}

// tail is the encoded footer, its length and the magic number.
func tail(meta *FileMetaData) ([]byte, error) {
	b, err := thrift.Marshal(new(thrift.CompactProtocol), meta)
	if err != nil {
		return nil, err
	}
	if len(b) > maxFooter {
		return nil, tooLarge("footer of %d bytes", len(b))
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(b)))
	return append(b, magic...), nil
}

// rowGroup describes a group whose chunks lie from an offset on, one behind the other: Spark drops a row group whose first
// column is not its first bytes.
func rowGroup(m *schema.Message, elements []format.SchemaElement, g Group, at int64) (RowGroup, int64, error) {
	if len(g) != len(m.Leaves) || len(g) == 0 {
		return RowGroup{}, 0, fmt.Errorf("%d chunks for %d columns", len(g), len(m.Leaves))
	}
	ordered := orderedLeaves(elements)
	rg := RowGroup{NumRows: g[0].Rows, FileOffset: g[0].Offset}
	if rg.NumRows == 0 {
		return RowGroup{}, 0, fmt.Errorf("no rows")
	}
	for i, c := range g {
		name := strings.Join(m.Leaves[i].Path, ".")
		if c.leaf.Leaf != m.Leaves[i].Leaf || strings.Join(c.leaf.Path, ".") != name {
			return RowGroup{}, 0, fmt.Errorf("chunk of column %s in the place of %s", strings.Join(c.leaf.Path, "."), name)
		}
		if c.Rows != rg.NumRows {
			return RowGroup{}, 0, fmt.Errorf("column %s: %d rows, expected %d", name, c.Rows, rg.NumRows)
		}
		if c.Offset < at {
			return RowGroup{}, 0, fmt.Errorf("column %s: at offset %d, expected %d or more", name, c.Offset, at)
		}
		at = c.Offset + c.Size
		meta := c.meta
		meta.DataPageOffset += c.Offset
		if c.dict {
			meta.DictionaryPageOffset = c.Offset
		}
		if !ordered[i] {
			meta.Statistics = Statistics{NullCount: meta.Statistics.NullCount}
		}
		rg.Columns = append(rg.Columns, ColumnChunk{FileOffset: c.Offset, MetaData: meta})
		rg.TotalByteSize += meta.TotalUncompressedSize
		rg.TotalCompressedSize += meta.TotalCompressedSize
	}
	return rg, at, nil
}

// orderedLeaves tells for each leaf whether its annotation leaves its values in the order that MinMax uses. Unsigned numbers and
// intervals do not.
func orderedLeaves(elements []format.SchemaElement) []bool {
	var out []bool
	for i := range elements {
		e := &elements[i]
		if !e.Type.Valid {
			continue
		}
		ok := false
		switch l := e.LogicalType.Value.(type) {
		case nil:
			c := e.ConvertedType
			ok = !c.Valid || c.V != deprecated.Interval && (c.V < deprecated.Uint8 || c.V > deprecated.Uint64)
		case *format.IntType:
			ok = l.IsSigned
		case *format.StringType, *format.EnumType, *format.JsonType, *format.BsonType, *format.DecimalType, *format.DateType,
			*format.TimeType, *format.TimestampType, *format.UUIDType:
			ok = true
		}
		out = append(out, ok)
	}
	return out
}

// Finish makes a file of exactly size bytes out of chunks that lie at their offsets in w already: it writes the head and the footer. What is
// between the last chunk and the footer is left as it is, a hole. It fails with ErrOverflow where the two don't fit in.
func Finish(w io.WriterAt, size int64, m *schema.Message, groups []Group) error {
	b, err := Footer(m, groups)
	if err != nil {
		return err
	}
	end := int64(len(Head))
	for _, g := range groups {
		last := g[len(g)-1]
		end = max(end, last.Offset+last.Size)
	}
	if end+int64(len(b)) > size {
		return fmt.Errorf("%w: %d bytes of pages and %d of footer in %d", ErrOverflow, end, len(b), size)
	}
	if _, err := w.WriteAt([]byte(Head), 0); err != nil {
		return err
	}
	_, err = w.WriteAt(b, size-int64(len(b)))
	return err
}
