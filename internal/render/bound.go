package render

import (
	"fmt"
	"slices"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/schema"
)

// Bound promises a size: no rendering of the slice needs more bytes. It reads the heads of log blocks and, where they are
// Parquet, their footers and dictionaries; nothing is merged. ok is false where that does not tell.
func (in *Input) Bound() (size int64, ok bool, err error) {
	if err := in.prepare(); err != nil {
		return 0, false, err
	}
	if in.Merger != nil && len(in.Blocks) > 0 {
		return 0, false, nil // its values may be of any length
	}
	added, shared, err := in.added()
	if err != nil {
		return 0, false, err
	}
	groups := 1
	if in.Base != nil {
		groups = max(in.Base.Groups(), 1)
	}
	size, err = pqfile.FooterBound(in.Target, groups)
	if err != nil {
		return 0, false, err
	}
	size += int64(len(pqfile.Head))
	regions, err := in.inRegions(func() ([]pqfile.Added, int64, error) { return added, shared, nil })
	if err != nil {
		return 0, false, err
	}
	if regions {
		size += int64(in.apart()*groups+1) * (in.gap() + regionPage)
	}
	for g := range groups {
		for i, leaf := range in.Target.Leaves {
			n, ok := in.chunkBound(g, leaf, added[i])
			if !ok {
				return 0, false, nil
			}
			size += n
		}
		// Bytes whose column is unknown make pages of one column or another longer. perLeaf and one part in 500 are for headers of
		// pages that they fill.
		const perLeaf = 2048
		size += shared + shared/500 + perLeaf*int64(len(in.Target.Leaves))
		if in.mixed(g) {
			size += shared // a value may stand in a dictionary and in a plain page
		}
	}
	return size, true, nil
}

// mixed tells whether a column of text may have pages with a dictionary and without in one row group.
func (in *Input) mixed(g int) bool {
	if in.Base == nil || in.Base.Groups() == 0 {
		return false
	}
	return slices.ContainsFunc(in.Target.Leaves, func(leaf *schema.Node) bool {
		file, m := in.from(leaf)
		return leaf.Leaf.Kind == column.Bytes && m.Source >= 0 && (file != in.Base && !in.aligned || file.Column(g, m.Source).Mixed())
	})
}

// added is what the log files may add to each leaf, and the bytes of text that they may add to any.
func (in *Input) added() (added []pqfile.Added, shared int64, err error) {
	added = make([]pqfile.Added, len(in.Target.Leaves))
	for _, r := range in.Blocks {
		if r.Block.Type == logfile.DeleteBlock {
			continue
		}
		l := in.Logs[r.Log]
		e, err := logfile.Measure(l.Reader, *r.Block, in.Target)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", l.Name, err)
		}
		shared += e.Shared
		for i := range added {
			added[i].Rows += e.Rows
			added[i].Values += e.Leaves[i].Entries
			if in.Target.Leaves[i].Leaf.Kind == column.Bytes {
				added[i].Bytes += 2 * e.Leaves[i].Bytes
			}
		}
	}
	return added, shared, nil
}

func (in *Input) chunkBound(g int, leaf *schema.Node, add pqfile.Added) (int64, bool) {
	rows := int64(0)
	if in.Base != nil && in.Base.Groups() > 0 {
		rows = in.Base.GroupRows(g)
	}
	if v, ok := in.Constants[leaf.Index]; ok {
		add.Values, add.Bytes = rows+add.Rows, 2*int64(len(v))
		return pqfile.NewChunkBound(leaf, add), true
	}
	if v, ok := in.Fill[leaf.Index]; ok {
		add.Bytes += (rows + add.Rows) * int64(len(v)+4)
	}
	if in.Base == nil || in.Base.Groups() == 0 {
		return pqfile.NewChunkBound(leaf, add), true
	}
	file, m := in.from(leaf)
	switch {
	case m.Source < 0:
		if _, ok := in.Fill[leaf.Index]; ok {
			add.Values += rows
		} else {
			add.Nulls += rows
		}
		return pqfile.NewChunkBound(leaf, add), true
	case file != in.Base && !in.aligned:
		return 0, false
	case m.Nulls():
		return file.StructureBound(g, m.Source, leaf, add), true
	default:
		return file.ChunkBound(g, m.Source, leaf, add)
	}
}
