package render

import (
	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// fill is one row with the value that a column has where a row has none; nil without one.
func (in *Input) fill(leaf *schema.Node) *column.Vector {
	value, ok := in.Fill[leaf.Index]
	if !ok {
		return nil
	}
	v := column.New(leaf.Leaf)
	v.AppendLevels(0, leaf.Leaf.MaxDef)
	v.AppendValue(value)
	return v
}

// lacks tells whether rows of the base file may have no value of a column that it has.
func (in *Input) lacks(leaf *schema.Node) bool {
	file, by := in.from(leaf)
	if file.Schema.Leaves[by.Source].MaxDef == 0 {
		return false
	}
	for g := range file.Groups() {
		if nulls := file.Column(g, by.Source).Statistics.NullCount; !nulls.Valid || nulls.V > 0 {
			return true
		}
	}
	return false
}

// filled is the column with a value for the records that have none.
func (c *recordColumn) filled(fill *column.Vector) *recordColumn {
	if fill == nil || c.vector.Values() == c.vector.Entries() {
		return c
	}
	v := filled(c.vector, fill)
	return &recordColumn{vector: v, index: column.NewIndex(v), numbers: c.numbers}
}

// filled puts a row's value in the place of what has none in a flat column.
func filled(v, fill *column.Vector) *column.Vector {
	out := column.New(v.Leaf)
	value := 0
	for i := range v.Entries() {
		if v.Def[i] < v.Leaf.MaxDef {
			out.Append(fill, fill.All())
			continue
		}
		out.Append(v, column.Span{E0: i, E1: i + 1, V0: value, V1: value + 1})
		value++
	}
	return out
}
