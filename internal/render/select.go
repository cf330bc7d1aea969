package render

import (
	"slices"

	"github.com/hudifs/hudifs/internal/logfile"
)

// Ref names a block of a slice: the log file's number in the slice, and the block.
type Ref struct {
	Log   int
	Block *logfile.Block
}

// Select finds the blocks that count among the log files of a slice, in the order in which they are merged. accept tells which
// instants do. A rollback takes away the blocks of its target that came before it, whatever its own instant; a block of a log
// compaction stands in for those that it was made of (hudi-common: BaseHoodieLogRecordReader).
func Select(logs []*logfile.Log, accept func(instant string) bool) []Ref {
	var out []Ref
	for i, l := range logs {
		for j := range l.Blocks {
			b := &l.Blocks[j]
			switch {
			case b.IsRollback():
				out = slices.DeleteFunc(out, func(r Ref) bool { return r.Block.Instant() == b.Target() })
			case b.Type == logfile.Command || b.Type == logfile.CDCData:
			case accept(b.Instant()):
				out = append(out, Ref{i, b})
			}
		}
	}
	return compacted(out)
}

// compacted puts the block of each log compaction in the place of the newest block that it was made of, and drops those.
func compacted(refs []Ref) []Ref {
	if !slices.ContainsFunc(refs, func(r Ref) bool { return r.Block.CompactedTimes() != nil }) {
		return refs
	}
	var order []string
	of := map[string][]Ref{}
	for _, r := range refs {
		t := r.Block.Instant()
		if of[t] == nil {
			order = append(order, t)
		}
		of[t] = append(of[t], r)
	}
	into := map[string]string{} // an instant, and the topmost one that has its records
	done := map[string]bool{}
	var out [][]Ref
	for _, t := range slices.Backward(order) {
		if merged := of[t][0].Block.CompactedTimes(); merged != nil {
			top := t
			if above, ok := into[t]; ok {
				top = above
			}
			for _, m := range merged {
				into[m] = top
			}
			continue
		}
		top, ok := into[t]
		if !ok {
			top = t
		}
		if !done[top] {
			done[top] = true
			out = append(out, of[top])
		}
	}
	slices.Reverse(out)
	return slices.Concat(out...)
}
