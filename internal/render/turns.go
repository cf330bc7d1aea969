package render

import (
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/merge"
)

// turns deal the record keys of a slice out among passes over it, where they are so many that the log of the merge would take too much memory: each
// turn merges the keys of one class. What a slice becomes does not depend on how many there are.
type turns struct {
	count, at int
	keys      int // about how many a turn has at most
	seed      maphash.Seed

	entry   int64   // the number of the current log record or delete, among all of the slice
	firsts  []int64 // the entry with which each key of the turn came
	inserts []insert
}

// insert is a row that only the log has, and the entry with which its key came.
type insert struct {
	entry int64
	to    int32
}

const (
	// entryBytes is about what the log of the merge takes for a key of usual length.
	entryBytes = 100
	// deleteBytes is about what a delete takes in a block.
	deleteBytes = 32
	// maxTurns bounds the time that is given for memory.
	maxTurns = 64
)

// newTurns decides how many there are.
func newTurns(in *Input, blocks []batch) *turns {
	t := &turns{count: 1, at: -1, seed: maphash.MakeSeed()}
	entries := entriesOf(blocks)
	if in.Merger == nil {
		t.count += int(min(entries*entryBytes/windowBytes, maxTurns-1))
	}
	t.keys = int(entries) / t.count
	return t
}

// entriesOf is about how many records and deletes blocks have.
func entriesOf(blocks []batch) (entries int64) {
	for _, b := range blocks {
		if b.data != nil {
			entries += int64(b.data.Rows())
		} else if b.block.Type == logfile.DeleteBlock {
			entries += b.block.ContentLength / deleteBytes
		}
	}
	return entries
}

// next begins a turn, if there is one left.
func (t *turns) next() bool {
	t.at++
	t.entry, t.firsts = -1, t.firsts[:0]
	return t.at < t.count
}

// has tells whether a key is merged in this turn.
func (t *turns) has(key []byte) bool {
	return t.count == 1 || maphash.Bytes(t.seed, key)%uint64(t.count) == uint64(t.at)
}

// came notes that the key of the current entry had not come before.
func (t *turns) came() {
	if t.count > 1 {
		t.firsts = append(t.firsts, t.entry)
	}
}

// end takes over the inserts of the turn.
func (t *turns) end(p *plan, log *merge.Log) {
	if t.count == 1 {
		p.inserts = log.Inserts()
		return
	}
	for key, record := range log.Unmet() {
		t.inserts = append(t.inserts, insert{t.firsts[key], record})
	}
}

// join puts what the turns have found in order.
func (t *turns) join(p *plan) {
	if t.count == 1 {
		return
	}
	slices.SortFunc(t.inserts, func(a, b insert) int { return cmp.Compare(a.entry, b.entry) })
	for _, i := range t.inserts {
		p.inserts = append(p.inserts, i.to)
	}
	for g, changes := range p.groups {
		slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.Row, b.Row) })
		joined := changes[:0]
		for _, c := range changes {
			joined = appendChange(joined, c)
		}
		p.groups[g] = joined
	}
}
