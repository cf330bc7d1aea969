package merge

import "fmt"

// A Merger weighs two versions of a row of a table whose payload class or record merger is none of Hudi's own: what that class does
// on the writer's side, done again for readers. It sees versions of one key, never deletes: a delete that is newer always
// wins, and so does a row that is newer than a delete. It must give the same result for the same versions at any time, on any host.
type Merger interface {
	// Merge makes one version out of two. Its error makes the file slice unreadable.
	Merge(older, newer Row) (Result, error)
}

// Row is a version of a row.
type Row interface {
	// Value is that of a column: nil for null, otherwise a bool, int32, int64, float32, float64, string, []byte or, for decimals, a
	// *big.Rat. Dates and times are numbers in the column's unit. Columns that are not primitive give a Nested, null or not.
	Value(column string) any
}

// Nested stands for the value of a column that is not primitive. It can only be taken over whole.
type Nested struct{}

// Side is one of two versions.
type Side uint8

// The sides.
const (
	Newer Side = iota
	Older
)

// Result is a version made of two.
type Result struct {
	// Delete drops the row; nothing else counts then.
	Delete bool
	// From is the version that the columns come from.
	From Side
	// Take names columns that come from the other version.
	Take []string
	// Values are new values of primitive columns, of the types that Row.Value gives.
	Values map[string]any
}

// Rows is where a Log with a Merger finds the versions.
type Rows interface {
	// Row gives the version with the number of a record or composite, or BaseRow: the base row that is being matched.
	Row(version int32) Row
	// Add makes a record that has only the values that are given, and returns its number.
	Add(values map[string]any) (int32, error)
}

// Choice says which columns of a Composite do not come from the winner.
type Choice struct {
	Take  map[string]bool // from the loser
	Set   map[string]bool // from the record Added
	Added int32
}

// WithMerger makes the log merge by m instead of its rules, where two rows meet. An error is kept for Err.
func (l *Log) WithMerger(m Merger, rows Rows) { l.merger, l.rows = m, rows }

// Err is the first error of the Merger.
func (l *Log) Err() error { return l.err }

// merged lets the Merger make one entry of two.
func (l *Log) merged(newer, older Entry) Entry {
	if l.err != nil {
		return newer
	}
	r, err := l.merger.Merge(l.rows.Row(older.Record), l.rows.Row(newer.Record))
	if err != nil {
		l.err = fmt.Errorf("merger %T: %w", l.merger, err)
		return newer
	}
	out, winner, loser := newer, newer.Record, older.Record
	if r.From == Older {
		winner, loser = loser, winner
	}
	switch out.Record = winner; {
	case r.Delete:
		out.Delete = true
		return out
	case len(r.Take) == 0 && len(r.Values) == 0:
		return out
	}
	c := Composite{Winner: winner, Loser: loser, Meta: winner, Choice: &Choice{Take: map[string]bool{}, Set: map[string]bool{}}}
	for _, t := range r.Take {
		c.Choice.Take[t] = true
	}
	if len(r.Values) > 0 {
		if c.Choice.Added, l.err = l.rows.Add(r.Values); l.err != nil {
			return newer
		}
		for name := range r.Values {
			c.Choice.Set[name] = true
		}
	}
	out.Record = l.add(c)
	return out
}
