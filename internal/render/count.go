package render

import (
	"fmt"
	"slices"

	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/schema"
)

// Count is the number of rows of a base file that were written at some instants, sorted.
func Count(base *pqfile.File, only []string) (int, error) {
	target, err := schema.Target(schema.WithMeta(&schema.Type{Kind: schema.Record}), base.Schema)
	if err != nil {
		return 0, err
	}
	in := &Input{Target: target, Base: base}
	if err := in.prepare(); err != nil {
		return 0, err
	}
	n := 0
	for g := range base.Groups() {
		c := cursor{src: in.source(g, target.Leaf(schema.CommitTime))}
		for row := range base.GroupRows(g) {
			v, ok, err := c.seek(row)
			if err != nil {
				return 0, fmt.Errorf("row group %d: %w", g, err)
			}
			if _, found := slices.BinarySearch(only, string(v)); ok && found {
				n++
			}
		}
	}
	return n, nil
}
