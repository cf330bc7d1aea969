package hudi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hudifs/hudifs/internal/timeline"
)

type queryKind uint8

const (
	latest queryKind = iota
	asOf
	incremental
	readOptimized
	difference
	changeData
)

// Query says which rows of a table are asked for. The zero value is the latest snapshot.
type Query struct {
	kind       queryKind
	at         string
	begin, end string
}

// Latest asks for the snapshot at the newest completed instant.
func Latest() Query { return Query{} }

// AsOf asks for the snapshot as of an instant: what had been requested until then, and is complete. The text is an instant of 14 or 17
// digits, a date, a time (2026-11-30 00:22:08 or 2026-11-30 00:22:08.095) in the timeline's zone, an RFC 3339 time, earliest or latest.
func AsOf(text string) Query { return Query{kind: asOf, at: text} }

// Incremental asks for the newest version of the records that were written after begin and not after end, as of end.
// Tables of version 7 and below measure by requested times, later ones by completion times. The texts are those of AsOf.
func Incremental(begin, end string) Query { return Query{kind: incremental, begin: begin, end: end} }

// ReadOptimized asks for the newest base files as they are, without what their log files hold.
func ReadOptimized() Query { return Query{kind: readOptimized} }

// Difference asks for the rows that differ between the table as of one instant and as of another: one row for each record key of a
// partition, with what was done to it and all columns before and after. The texts are those of AsOf, where 000 and earliest are
// before everything. The order of the two says in which direction the difference is taken.
func Difference(a, b string) Query { return Query{kind: difference, begin: a, end: b} }

// Changes asks for the change records of the writes that were requested after begin and not after end, by requested time on every table
// version: what was done to each row (op), by which write (ts_ms), and the row before and after as JSON text. The table must
// log changes. The texts are those of AsOf, where 000 and earliest are before everything.
func Changes(begin, end string) Query { return Query{kind: changeData, begin: begin, end: end} }

func (q Query) String() string {
	switch q.kind {
	case asOf:
		return "asof " + q.at
	case incremental:
		return "incremental " + q.begin + ".." + q.end
	case readOptimized:
		return "read_optimized"
	case difference:
		return "diff " + q.begin + ".." + q.end
	case changeData:
		return "cdc " + q.begin + ".." + q.end
	case latest:
	}
	return "latest"
}

// scope is what a query means on one state of a table.
type scope struct {
	// at limits instants by their requested time; "" does not.
	at string
	// until is the first instant that is no longer wanted; "" is none.
	until string
	// only are the instants whose records are wanted, sorted; nil is all.
	only     []string
	baseOnly bool
	// newest is the instant that the view shows the table at.
	newest string
	// writes are the instants of a range; later those that came after its end.
	writes, later []timeline.Instant
	// before and after are the states that a difference is between.
	before, after *View
}

func (s *scope) wants(instant string) bool {
	if s.at != "" && instant > s.at || s.until != "" && instant >= s.until {
		return false
	}
	return s.only == nil || s.isOwn(instant)
}

// isRange tells whether the view has what the writes of a range made, and nothing of others.
func (s *scope) isRange() bool { return len(s.only) > 0 && s.at != "" }

func (s *scope) isOwn(instant string) bool {
	_, own := slices.BinarySearch(s.only, instant)
	return own
}

// amid tells of a write that it was requested amid a range, and is none of it: it completed later. The files that its own files were made from
// have the rows of the range (spark: MergeOnReadIncrementalRelationV2, whose file system view has the files of the range's writes only).
func (s *scope) amid(instant string) bool {
	return s.isRange() && s.only[0] < instant && instant < s.at && !s.isOwn(instant)
}

// replaced tells whether the view shows what a write left that replaced file groups.
func (s *scope) replaced(by string) bool {
	if s.isRange() {
		return s.isOwn(by)
	}
	return s.at == "" || by <= s.at
}

// resolve finds out what a query means.
func (t *Table) resolve(ctx context.Context, st *state, q Query) (*scope, error) {
	switch q.kind {
	case asOf:
		return t.resolveAsOf(ctx, st, q.at)
	case incremental:
		return t.resolveRange(ctx, st, q.begin, q.end)
	case difference:
		return t.resolveDifference(ctx, st, q.begin, q.end)
	case changeData:
		return t.resolveChanges(ctx, st, q.begin, q.end)
	case latest, readOptimized:
	}
	return &scope{baseOnly: q.kind == readOptimized, newest: newestOf(st.tl.CompletedWrites())}, nil
}

func newestOf(writes []timeline.Instant) string {
	if len(writes) == 0 {
		return ""
	}
	return writes[len(writes)-1].Time
}

func (t *Table) parse(st *state, text string) (string, error) {
	i, err := st.tl.ParseTime(text, st.config.Location(t.opts.Zone))
	if errors.Is(err, timeline.ErrTime) {
		return "", fmt.Errorf("%w: %w", ErrBadName, err)
	}
	return i, err
}

func (t *Table) resolveAsOf(ctx context.Context, st *state, text string) (*scope, error) {
	at, err := t.parse(st, text)
	if err != nil {
		return nil, err
	}
	switch at {
	case timeline.Latest:
		return t.resolve(ctx, st, Latest())
	case timeline.Earliest:
		servable, err := t.servable(ctx, st)
		if err != nil {
			return nil, err
		}
		if len(servable) == 0 {
			return nil, fmt.Errorf("%w: the table has no instant yet", ErrRefused)
		}
		at = servable[0].Time
	}
	pending, ok, err := st.tl.FirstPendingWrite(ctx)
	if err != nil {
		return nil, class(err)
	}
	if ok && at >= pending.Time {
		return nil, fmt.Errorf("%w: as of %s: %s %s, requested before, is not complete: the answer could still change",
			ErrRefused, at, pending.Action, pending.Time)
	}
	retained, err := st.tl.EarliestRetained(ctx)
	if err != nil {
		return nil, class(err)
	}
	if retained != "" && at < retained {
		return nil, fmt.Errorf("%w: as of %s: the cleaner kept the files since %s only", ErrCleaned, at, retained)
	}
	s := &scope{at: at}
	for _, w := range st.tl.CompletedWrites() {
		if w.Time <= at {
			s.newest = w.Time
		}
	}
	return s, nil
}

// rangeTime is the time of an instant that ranges are measured in (spark: IncrementalRelationV1, V2).
func (st *state) rangeTime(i timeline.Instant) string {
	if st.config.Version >= 8 {
		return i.CompletionTime
	}
	return i.Time
}

func (t *Table) parseRange(st *state, begin, end string) (from, to string, err error) {
	if from, err = t.parse(st, begin); err != nil {
		return "", "", err
	}
	to, err = t.parse(st, end)
	return from, to, err
}

func (t *Table) resolveRange(ctx context.Context, st *state, begin, end string) (*scope, error) {
	from, to, err := t.parseRange(st, begin, end)
	if err != nil {
		return nil, err
	}
	if !st.config.PopulateMetaFields {
		return nil, fmt.Errorf("%w: incremental: the table has no meta fields (hoodie.populate.meta.fields=false), "+
			"so nothing tells when a row was written", ErrRefused)
	}
	writes, err := t.writes(ctx, st)
	if err != nil {
		return nil, err
	}
	s := &scope{only: []string{}}
	if begin == "earliest" {
		return s, t.checkEarliest(ctx, st)
	}
	for _, w := range writes {
		switch at := st.rangeTime(w); {
		case to != timeline.Latest && at > to:
			s.later = append(s.later, w)
		case at > from:
			s.only = append(s.only, w.Time)
			s.writes = append(s.writes, w)
		}
	}
	slices.Sort(s.only)
	if len(s.only) > 0 {
		s.at = s.only[len(s.only)-1]
		s.newest = s.at
	}
	return s, nil
}

// checkEarliest answers a range that begins at "earliest". Hudi compares the word as text, and no instant is greater: the range is
// empty. Where the cleaner has run, Hudi's releases differ in what they answer, so it is refused.
func (t *Table) checkEarliest(ctx context.Context, st *state) error {
	history, err := st.tl.History(ctx)
	if err != nil {
		return class(err)
	}
	if slices.ContainsFunc(history, func(i timeline.Instant) bool { return i.Action == timeline.ActionClean }) {
		return fmt.Errorf("%w: a range cannot begin at earliest; 000 is before every instant", ErrRefused)
	}
	return nil
}

// writes are the completed commits, delta commits and replace commits, archived ones too, by requested time.
func (t *Table) writes(ctx context.Context, st *state) ([]timeline.Instant, error) {
	history, err := st.tl.History(ctx)
	if err != nil {
		return nil, class(err)
	}
	return slices.DeleteFunc(slices.Clone(history), func(i timeline.Instant) bool { return !isWrite(i) }), nil
}

func isWrite(i timeline.Instant) bool {
	action := i.Action == timeline.ActionCommit || i.Action == timeline.ActionDeltaCommit || i.Action == timeline.ActionReplaceCommit
	return action && i.State == timeline.Completed
}

// changed tells whether a write changed rows of the table, other than a compaction or clustering.
func changed(i timeline.Instant) bool {
	service := i.Planned == timeline.ActionCompaction || i.Planned == timeline.ActionLogCompaction || i.Planned == timeline.ActionClustering
	return isWrite(i) && !service
}

// Instant is an instant of the timeline.
type Instant struct {
	Time           string `json:"requested"`
	CompletionTime string `json:"completed,omitempty"`
	Action         string `json:"action"`
	State          string `json:"state"`
	Archived       bool   `json:"archived,omitempty"`
}

func exported(i timeline.Instant) Instant {
	return Instant{Time: i.Time, CompletionTime: i.CompletionTime, Action: string(i.Action), State: i.State.String(), Archived: i.Archived}
}

// Timeline lists all instants, the oldest first, archived ones too.
func (t *Table) Timeline(ctx context.Context) ([]Instant, error) {
	st := t.current()
	history, err := st.tl.History(ctx)
	if err != nil {
		return nil, class(err)
	}
	all := slices.Clone(history)
	for _, i := range st.tl.Instants() {
		if i.State != timeline.Completed {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(a, b timeline.Instant) int { return cmp.Compare(a.Time, b.Time) })
	out := make([]Instant, len(all))
	for i, in := range all {
		out[i] = exported(in)
	}
	return out, nil
}

// servable are the instants that changed the table and can be shown as of.
func (t *Table) servable(ctx context.Context, st *state) ([]timeline.Instant, error) {
	retained, err := st.tl.EarliestRetained(ctx)
	if err != nil {
		return nil, class(err)
	}
	pending, isPending, err := st.tl.FirstPendingWrite(ctx)
	if err != nil {
		return nil, class(err)
	}
	writes, err := t.writes(ctx, st)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(writes, func(i timeline.Instant) bool {
		return !changed(i) || i.Time < retained || isPending && i.Time >= pending.Time
	}), nil
}

// Servable lists the instants that changed the table and that AsOf can show, oldest first.
func (t *Table) Servable(ctx context.Context) ([]Instant, error) {
	in, err := t.servable(ctx, t.current())
	if err != nil {
		return nil, err
	}
	out := make([]Instant, len(in))
	for i := range in {
		out[i] = exported(in[i])
	}
	return out, nil
}

// Steps lists the times between which Incremental can be asked, oldest first: the range times of the servable instants.
func (t *Table) Steps(ctx context.Context) ([]string, error) {
	st := t.current()
	if !st.config.PopulateMetaFields {
		return nil, nil
	}
	in, err := t.servable(ctx, st)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, i := range in {
		out = append(out, st.rangeTime(i))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Newest is the time of the newest completed write, "" where there is none.
func (t *Table) Newest() string { return newestOf(t.current().tl.CompletedWrites()) }

// ModTime is the time of the newest completed write.
func (t *Table) ModTime() time.Time {
	st := t.current()
	at, ok := timeline.TimeOf(newestOf(st.tl.CompletedWrites()), st.config.Location(t.opts.Zone))
	if !ok {
		return time.Unix(0, 0)
	}
	return at
}
