package hudi

import (
	"context"
	"errors"

	"github.com/hudifs/hudifs/internal/mdt"
)

// ColumnStat is what a table's metadata says of one column of one base file.
type ColumnStat struct {
	Partition, File, Column string
	// Min and Max bound the values, as text; nil where nothing is known. On tables before version 9 a timestamp in milliseconds, or one without
	// a zone, is a bare number.
	Min, Max *string
	// Rows counts those without a value too, which Nulls does alone.
	Rows, Nulls int64
	// Size and Uncompressed are the bytes of the column in the file.
	Size, Uncompressed int64
}

// ColumnStats are the statistics that the metadata table has of the base files of the newest snapshot, ordered by file and column. There are none
// where the table does not keep them.
func (t *Table) ColumnStats(ctx context.Context) ([]ColumnStat, error) {
	v, err := t.View(ctx, Latest())
	if err != nil {
		return nil, err
	}
	if v.st.metadata == nil {
		return nil, nil
	}
	c, err := v.load(ctx)
	if err != nil {
		return nil, err
	}
	partition := map[string]string{} // by base file
	for p, files := range c.files {
		for _, f := range files {
			if f.base != nil {
				partition[f.base.Name] = p
			}
		}
	}
	stats, err := v.st.metadata.table.ColumnStats(ctx, func(file string) bool {
		_, shown := partition[file]
		return shown
	})
	if errors.Is(err, mdt.ErrUnavailable) {
		return nil, nil
	}
	if err != nil {
		return nil, class(err)
	}
	out := make([]ColumnStat, len(stats))
	for i, s := range stats {
		out[i] = ColumnStat{
			Partition: partition[s.File], File: s.File, Column: s.Column, Min: s.Min, Max: s.Max, Rows: s.Values, Nulls: s.Nulls,
			Size: s.Size, Uncompressed: s.Uncompressed,
		}
	}
	return out, nil
}
