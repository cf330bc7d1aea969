package pqfile

import (
	"bytes"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
)

// maxIndex limits a column index or an offset index: decoded it takes up to some 25 times as much.
const maxIndex = 4 << 20

// RowRange are rows of a row group, numbered from 0: From and those behind it, without To.
type RowRange struct{ From, To int64 }

// Filtered are the rows of a row group that parquet-mr reads where it is asked for those with values of a leaf from one to another, both
// included, and before it looks at a value: none where the chunk's statistics rule such values out, without the pages of which its column index does
// (RowGroupFilter and ColumnIndexFilter of parquet-mr, without its Bloom filters). Neighbouring pages make one range. Leaves of other types
// than byte arrays are never filtered.
func (f *File) Filtered(group, leaf int, from, to []byte) (rows []RowRange, err error) {
	defer contain(&err, "column index")
	c := &f.Meta.RowGroups[group].Columns[leaf]
	all := RowRange{0, f.GroupRows(group)}
	st := &c.MetaData.Statistics
	if st.NullCount.Valid && st.NullCount.V == c.MetaData.NumValues {
		return nil, nil
	}
	if f.Schema.Leaves[leaf].Leaf.Kind != column.Bytes || !f.ordered[leaf] || leaf >= len(f.Meta.ColumnOrders) || f.Meta.ColumnOrders[leaf].Value == nil {
		return []RowRange{all}, nil
	}
	if st.MinValue != nil && st.MaxValue != nil && !overlap(st.MinValue, st.MaxValue, from, to) {
		return nil, nil
	}
	if c.ColumnIndexOffset == 0 || c.OffsetIndexOffset == 0 {
		return []RowRange{all}, nil
	}
	index, first, err := f.pageIndex(group, leaf)
	if err != nil {
		return nil, err
	}
	for i := range first {
		if index.NullPages[i] || !overlap(index.MinValues[i], index.MaxValues[i], from, to) {
			continue
		}
		page := RowRange{first[i], all.To}
		if i+1 < len(first) {
			page.To = first[i+1]
		}
		if n := len(rows); n > 0 && rows[n-1].To == page.From {
			rows[n-1].To = page.To
		} else {
			rows = append(rows, page)
		}
	}
	return rows, nil
}

func overlap(least, most, from, to []byte) bool {
	return bytes.Compare(most, from) >= 0 && bytes.Compare(least, to) <= 0
}

// pageIndex reads the column index of a chunk, and from its offset index the numbers of the first rows of its pages.
func (f *File) pageIndex(group, leaf int) (index *format.ColumnIndex, first []int64, err error) {
	c, name := &f.Meta.RowGroups[group].Columns[leaf], strings.Join(f.Schema.Leaves[leaf].Path, ".")
	index = &format.ColumnIndex{}
	if err := f.structure(c.ColumnIndexOffset, c.ColumnIndexLength, index, "the column index of column "+name); err != nil {
		return nil, nil, err
	}
	offsets := &format.OffsetIndex{}
	if err := f.structure(c.OffsetIndexOffset, c.OffsetIndexLength, offsets, "the offset index of column "+name); err != nil {
		return nil, nil, err
	}
	n := len(offsets.PageLocations)
	if len(index.NullPages) != n || len(index.MinValues) != n || len(index.MaxValues) != n {
		return nil, nil, corrupt("offset %d: column %s: expected a column index of %d pages, found %d, %d and %d", c.ColumnIndexOffset, name, n,
			len(index.NullPages), len(index.MinValues), len(index.MaxValues))
	}
	for _, p := range offsets.PageLocations {
		first = append(first, p.FirstRowIndex)
	}
	rows := f.GroupRows(group)
	if rows == 0 && n == 0 {
		return index, nil, nil
	}
	ascending := slices.IsSortedFunc(first, func(a, b int64) int {
		if a < b {
			return -1
		}
		return 1
	})
	if n == 0 || first[0] != 0 || !ascending || first[n-1] >= rows {
		return nil, nil, corrupt("offset %d: column %s: expected pages of %d rows in all, the first of row 0", c.OffsetIndexOffset, name, rows)
	}
	return index, first, nil
}

// structure decodes one that lies outside of the footer.
func (f *File) structure(offset int64, length int32, v any, what string) error {
	if offset < int64(len(magic)) || length <= 0 || offset > f.size-int64(length) {
		return corrupt("%s: %d bytes at offset %d are not within the file", what, length, offset)
	}
	if length > maxIndex {
		return tooLarge("%s: %d bytes", what, length)
	}
	b := make([]byte, length)
	if err := readAt(f.r, b, offset); err != nil {
		return err
	}
	if err := decodeThrift(b, v); err != nil {
		return corrupt("offset %d: expected %s: %v", offset, what, err)
	}
	return nil
}
