// Package merge decides what becomes of the rows of one file slice: which rows of the base file survive, which are
// replaced by a log record, and which log records are added. It knows only keys, ordering values and deletes, never the
// rows themselves, so that the columns can be built later and apart from each other.
//
//	log records, in order:   Put(a, 7) Put(b, 3) Delete(a) Put(c, 1)
//	base rows:               Match(a) = Drop    Match(b) = Replace by 1    Match(d) = Keep
//	at the end:              Inserts() = c
//
// First the log records fold among themselves, then what is left meets the base rows: the order counts, and is Hudi's
// (hudi-common: BaseHoodieLogRecordReader, KeyBasedFileGroupRecordBuffer; of 0.x: HoodieMergedLogRecordScanner).
package merge

import "bytes"

// Mode is how two versions of a row are weighed (hudi-common: RecordMergeMode).
type Mode uint8

// The merge modes.
const (
	// CommitTime lets the later write win (COMMIT_TIME_ORDERING).
	CommitTime Mode = iota
	// EventTime lets the larger ordering value win, the later write where they are equal (EVENT_TIME_ORDERING).
	EventTime
)

func (m Mode) String() string {
	if m == EventTime {
		return "EVENT_TIME_ORDERING"
	}
	return "COMMIT_TIME_ORDERING"
}

// Rules are the rules of one table.
type Rules struct {
	Mode Mode
	// Legacy asks for the rules of Hudi 0.x, for tables of version 7 and below: log records are always weighed among each other by
	// their ordering values, a record after a delete always wins, and a delete always removes a base row; Mode only says how a record
	// meets a base row (hudi-common 0.15: OverwriteWithLatestAvroPayload is CommitTime, DefaultHoodieRecordPayload EventTime).
	Legacy bool
}

// Entry is one log record: a version of a row, or its deletion.
type Entry struct {
	// Record is the caller's number for it.
	Record int32
	Delete bool
	// Ordering is the ordering value, encoded so that bytes compare as the values do. Values of one slice are all encoded alike.
	Ordering []byte
	// Unordered marks a delete that came without an ordering value: it acts in commit order.
	Unordered bool
}

// Log folds the log records of a slice and meets them with the rows of its base file. It is not safe for concurrent use.
type Log struct {
	rules   Rules
	index   map[string]int32 // into entries
	entries []Entry          // in the order in which the keys came first
	met     []bool           // entries that have met a base row
}

// NewLog makes an empty log.
func NewLog(r Rules) *Log { return &Log{rules: r, index: map[string]int32{}} }

// Len is the number of keys.
func (l *Log) Len() int { return len(l.entries) }

// Add folds a record or a delete, the next in log order. The key is copied; the ordering value must stay as it is.
func (l *Log) Add(key []byte, e Entry) {
	i, ok := l.index[string(key)]
	if !ok {
		l.index[string(key)] = int32(len(l.entries))
		l.entries = append(l.entries, e)
		l.met = append(l.met, false)
		return
	}
	if l.replaces(e, l.entries[i]) {
		l.entries[i] = e
	}
}

// replaces tells whether a newer entry takes the place of an older one of the same key.
func (l *Log) replaces(newer, older Entry) bool {
	if l.rules.Legacy {
		if older.Delete || newer.Delete && newer.Unordered {
			return true
		}
		return bytes.Compare(newer.Ordering, older.Ordering) >= 0
	}
	switch {
	case l.rules.Mode == CommitTime:
		return true
	case older.Delete && older.Unordered:
		// Only a record lifts such a delete: a further delete changes nothing.
		return !newer.Delete
	case newer.Delete && newer.Unordered:
		return true
	}
	return bytes.Compare(newer.Ordering, older.Ordering) >= 0
}

// Verdict is what becomes of a base row.
type Verdict uint8

// The verdicts.
const (
	Keep Verdict = iota
	Drop
	Replace
)

// Match meets a base row with the log; on Replace it also gives the record that takes the row's place. A log record meets
// only the first base row of its key: further rows of the same key are kept.
func (l *Log) Match(key, ordering []byte) (Verdict, int32) {
	i, ok := l.index[string(key)]
	if !ok || l.met[i] {
		return Keep, 0
	}
	l.met[i] = true
	e := l.entries[i]
	if l.wins(e, ordering) {
		if e.Delete {
			return Drop, 0
		}
		return Replace, e.Record
	}
	return Keep, 0
}

// wins tells whether a log entry beats a base row.
func (l *Log) wins(e Entry, base []byte) bool {
	switch {
	case l.rules.Mode == CommitTime:
		return true
	case e.Delete && (e.Unordered || l.rules.Legacy):
		return true
	}
	return bytes.Compare(e.Ordering, base) >= 0
}

// Inserts are the records whose keys met no base row, in log order. To be called after the last Match.
func (l *Log) Inserts() []int32 {
	var out []int32
	for i, e := range l.entries {
		if !e.Delete && !l.met[i] {
			out = append(out, e.Record)
		}
	}
	return out
}
