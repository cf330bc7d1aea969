// Package merge decides what becomes of the rows of one file slice: which rows of the base file survive, which are
// replaced by a log record, and which log records are added. It knows only keys, ordering values and deletes, never the
// rows themselves, so that the columns can be built later and apart from each other.
//
//	log records, in order:   Put(a, 7) Put(b, 3) Delete(a) Put(c, 1)
//	base rows:               Match(a) = Drop    Match(b) = Replace by 1    Match(d) = Keep
//	at the end:              Inserts() = c
//
// Where a version has only some of its columns, or leaves some open, a row is put together: a Composite says from which two
// versions, and by what rule each column chooses between them.
//
// First the log records fold among themselves, then what is left meets the base rows: the order counts, and is Hudi's
// (hudi-common: BaseHoodieLogRecordReader, KeyBasedFileGroupRecordBuffer; of 0.x: HoodieMergedLogRecordScanner).
package merge

import (
	"bytes"
	"iter"
	"slices"
)

// Take says what the winner of two versions of a row takes over from the loser, column by column.
type Take uint8

// The ways to take columns over.
const (
	// TakeNothing: the winner stands as it is.
	TakeNothing Take = iota
	// TakeNulls: where the winner is null, the loser's value stays.
	TakeNulls
	// TakeUnavailable: where the winner holds the text that stands for a value its writer did not have, the loser's value stays.
	TakeUnavailable
)

// Weigh is how two versions of a row are weighed against each other.
type Weigh struct {
	// Ordering lets the larger ordering value win, and the newer version where they are equal; otherwise the newer one always wins.
	Ordering bool
	// Sequence weighs by Entry.Sequence; base rows then come with theirs.
	Sequence bool
	// OlderOnTie lets the older version win where ordering values are equal.
	OlderOnTie bool
	Take       Take
	// NewerMeta gives a row that was put together the meta fields of the newer version, whichever wins.
	NewerMeta bool
}

// Rules are the rules of one table.
type Rules struct {
	// Fold weighs log records among each other, Base what is left of them against base rows.
	Fold, Base Weigh
	// Legacy asks for what Hudi 0.x makes of deletes: a record after a delete always wins, and a delete always removes a base
	// row. Between log records a delete with an ordering value is weighed by it, whatever Fold says.
	Legacy bool
	// DeletesInOrder makes deletes act in commit order, whatever ordering values say: the newer of a delete and a row always wins.
	DeletesInOrder bool
	// PlainDeletes does so once a partial record has come, as in Hudi 1.0, but weighs a delete that is newer than a log record.
	PlainDeletes bool
	// DeletesByOrdering weighs a delete and a row by their ordering values, whatever Fold and Base say of two rows.
	DeletesByOrdering bool
	// DeletesBase lets a delete always remove a base row, whatever the ordering values.
	DeletesBase bool
}

// The rules of Hudi's merge modes (hudi-common: RecordMergeMode).
var (
	// CommitTime lets the later write win (COMMIT_TIME_ORDERING).
	CommitTime = Rules{}
	// EventTime lets the larger ordering value win (EVENT_TIME_ORDERING).
	EventTime = Rules{Fold: Weigh{Ordering: true}, Base: Weigh{Ordering: true}}
)

// Entry is one log record: a version of a row, or its deletion.
type Entry struct {
	// Record is the caller's number for it.
	Record int32
	Delete bool
	// Ordering is the ordering value, encoded so that bytes compare as the values do. Values of one slice are all encoded alike.
	Ordering []byte
	// Sequence is what rules with Weigh.Sequence weigh by instead of Ordering.
	Sequence []byte
	// Unordered marks a delete that came without an ordering value: it acts in commit order.
	Unordered bool
	// Partial marks a record that has only some of the columns: all others stay as the loser has them.
	Partial bool
}

// BaseRow stands in a Composite for the base row that it takes the place of.
const BaseRow = int32(-1)

// Composite is a row that is put together from two versions. Each is a record, another composite by its number, or BaseRow.
type Composite struct {
	Winner, Loser int32
	Take          Take
	// Meta is the version that gives the meta fields: Winner, or the newer one.
	Meta int32
	// Choice is what a Merger chose, nil without one.
	Choice *Choice
}

// FirstComposite is the number of the first composite: records have lower ones.
const FirstComposite = int32(1 << 30)

// Log folds the log records of a slice and meets them with the rows of its base file. It is not safe for concurrent use.
type Log struct {
	rules      Rules
	keys       table    // number the entries
	entries    []packed // in the order in which the keys came first
	values     []byte   // of the entries, by which they are weighed
	composites []Composite
	partial    bool // a partial record has come

	merger Merger // nil: rules decide
	rows   Rows
	err    error
}

// NewLog makes an empty log.
func NewLog(r Rules) *Log { return &Log{rules: r, keys: newTable()} }

// Reserve makes room for so many records and deletes to come.
func (l *Log) Reserve(entries int) {
	l.keys.reserve(entries)
	l.entries = slices.Grow(l.entries, entries)
}

// Restart forgets all keys, for others: composites go on being numbered. Who has more keys than go into memory deals them out among several turns.
func (l *Log) Restart() {
	l.keys, l.entries, l.values, l.partial = newTable(), l.entries[:0], l.values[:0], false
}

// Partial says that a partial record has come, whatever its key.
func (l *Log) Partial() { l.partial = true }

// Len is the number of keys.
func (l *Log) Len() int { return len(l.entries) }

// Composites are the rows that were put together, numbered from FirstComposite on.
func (l *Log) Composites() []Composite { return l.composites }

// Add folds a record or a delete, the next in log order. Its key and what it is weighed by are copied.
func (l *Log) Add(key []byte, e Entry) {
	l.partial = l.partial || e.Partial
	i, known := l.keys.add(key)
	if !known {
		l.entries = append(l.entries, l.pack(e))
		return
	}
	l.replace(&l.entries[i], l.fold(e, l.unpack(l.entries[i])))
}

// fold makes one entry of two of the same key.
func (l *Log) fold(newer, older Entry) Entry {
	if l.merger != nil {
		if newer.Delete || older.Delete {
			return newer
		}
		return l.merged(newer, older)
	}
	winner, loser := newer, older
	if !l.newerWins(newer, older) {
		winner, loser = older, newer
	}
	if winner.Delete || loser.Delete {
		return winner
	}
	return l.compose(l.rules.Fold, winner, loser, newer)
}

// compose puts a row together from two versions, where the winner takes something over.
func (l *Log) compose(w Weigh, winner, loser, newer Entry) Entry {
	if w.Take == TakeNothing && !winner.Partial {
		return winner
	}
	c := Composite{Winner: winner.Record, Loser: loser.Record, Take: w.Take, Meta: winner.Record}
	if w.NewerMeta {
		c.Meta = newer.Record
	}
	winner.Record = l.add(c)
	winner.Partial = winner.Partial && loser.Partial
	return winner
}

// add numbers a composite.
func (l *Log) add(c Composite) int32 {
	l.composites = append(l.composites, c)
	return FirstComposite + int32(len(l.composites)-1)
}

func (l *Log) newerWins(newer, older Entry) bool {
	if l.rules.Legacy {
		if older.Delete || newer.Delete && newer.Unordered {
			return true
		}
		return byOrdering(l.rules.Fold.value(newer), l.rules.Fold.value(older), l.rules.Fold.OlderOnTie && !newer.Delete)
	}
	switch {
	case (newer.Delete || older.Delete) && l.rules.DeletesInOrder, older.Delete && !newer.Delete && l.plainDeletes():
		return true
	case !l.rules.weighs(l.rules.Fold, newer.Delete || older.Delete):
		return true
	case older.Delete && older.Unordered:
		// Only a record lifts such a delete: a further delete changes nothing.
		return !newer.Delete
	case newer.Delete && newer.Unordered:
		return true
	}
	return byOrdering(l.rules.Fold.value(newer), l.rules.Fold.value(older), l.rules.Fold.OlderOnTie)
}

func (l *Log) plainDeletes() bool { return l.rules.PlainDeletes && l.partial }

// weighs tells whether ordering values count between two versions.
func (r Rules) weighs(w Weigh, deletes bool) bool {
	return w.Ordering || r.DeletesByOrdering && deletes
}

// value is what an entry is weighed by.
func (w Weigh) value(e Entry) []byte {
	if w.Sequence {
		return e.Sequence
	}
	return e.Ordering
}

func byOrdering(newer, older []byte, olderOnTie bool) bool {
	c := bytes.Compare(newer, older)
	return c > 0 || c == 0 && !olderOnTie
}

// Verdict is what becomes of a base row.
type Verdict uint8

// The verdicts.
const (
	Keep Verdict = iota
	Drop
	Replace
)

// Match meets a base row with the log: Find and Meet in one.
func (l *Log) Match(key, ordering []byte) (Verdict, int32) {
	i, ok := l.Find(key)
	if !ok {
		return Keep, 0
	}
	return l.Meet(i, ordering)
}

// Find looks for the log entry of a base row's key. A log entry meets only the first base row of its key: for further rows of the same key there is
// none, and they are kept.
func (l *Log) Find(key []byte) (entry int32, ok bool) {
	i, ok := l.keys.find(key)
	return i, ok && l.entries[i].flags&met == 0
}

// Meet meets a base row with the log entry that Find found for its key; on Replace it also gives the record or composite that takes the row's
// place.
func (l *Log) Meet(i int32, ordering []byte) (Verdict, int32) {
	l.entries[i].flags |= met
	e := l.unpack(l.entries[i])
	base := Entry{Record: BaseRow}
	if l.merger != nil && !e.Delete {
		e = l.merged(e, base)
		return verdictOf(e)
	}
	switch logWins := l.logWins(e, ordering); {
	case logWins && e.Delete:
		return Drop, 0
	case logWins:
		return Replace, l.compose(l.rules.Base, e, base, e).Record
	case e.Delete || l.rules.Base.Take == TakeNothing:
		return Keep, 0
	}
	return Replace, l.compose(l.rules.Base, base, e, e).Record
}

// verdictOf is what an entry that a Merger made of a base row means for it.
func verdictOf(e Entry) (Verdict, int32) {
	switch {
	case e.Delete:
		return Drop, 0
	case e.Record == BaseRow:
		return Keep, 0
	}
	return Replace, e.Record
}

// logWins tells whether a log entry beats a base row.
func (l *Log) logWins(e Entry, base []byte) bool {
	switch {
	case !l.rules.weighs(l.rules.Base, e.Delete):
		return true
	case e.Delete && (e.Unordered || l.rules.Legacy || l.rules.DeletesInOrder || l.rules.DeletesBase || l.plainDeletes()):
		return true
	}
	return byOrdering(l.rules.Base.value(e), base, l.rules.Base.OlderOnTie)
}

// Inserts are the records and composites whose keys met no base row, in log order. To be called after the last Match.
func (l *Log) Inserts() []int32 {
	var out []int32
	for _, record := range l.Unmet() {
		out = append(out, record)
	}
	return out
}

// Unmet gives the same, each with the number of its key among all, in the order in which they came.
func (l *Log) Unmet() iter.Seq2[int, int32] {
	return func(yield func(int, int32) bool) {
		for i, e := range l.entries {
			if e.flags&(deleted|met) == 0 && !yield(i, e.record) {
				return
			}
		}
	}
}
