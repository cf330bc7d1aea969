package merge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hudifs/hudifs/merge"
)

// version is a version of a row, with its values at hand: what the package itself never sees. In the tables below it is written
//
//	7 a=1 b=. c=?     ordering value 7; a is 1, b null, c the text for a value that its writer did not have
//	7% a=1            a record that has no other columns than a
//	-7   -            a delete, with and without an ordering value
//	7/3 a=1           with a sequence of 3 besides
//
// m, the meta field, is where the version stands in the log, or base.
type version struct {
	deleted, partial, unordered bool
	ordering, sequence          int64
	columns                     map[string]string
}

var columnNames = []string{"a", "b", "c"}

func parseVersion(text, meta string) version {
	parts := strings.Fields(text)
	v := version{columns: map[string]string{"m": meta}}
	head := parts[0]
	head, v.partial = strings.TrimSuffix(head, "%"), strings.HasSuffix(head, "%")
	head, v.deleted = strings.TrimPrefix(head, "-"), strings.HasPrefix(head, "-")
	if head, sequence, ok := strings.Cut(head, "/"); ok {
		fmt.Sscan(sequence, &v.sequence)
		fmt.Sscan(head, &v.ordering)
	} else if head == "" {
		v.unordered = true
	} else {
		fmt.Sscan(head, &v.ordering)
	}
	for _, p := range parts[1:] {
		name, value, _ := strings.Cut(p, "=")
		v.columns[name] = value
	}
	if !v.partial && !v.deleted {
		for _, c := range columnNames {
			if _, ok := v.columns[c]; !ok {
				v.columns[c] = "."
			}
		}
	}
	return v
}

func (v version) entry(record int32) merge.Entry {
	e := merge.Entry{Record: record, Delete: v.deleted, Partial: v.partial, Unordered: v.unordered, Sequence: merge.AppendInt(nil, v.sequence)}
	if e.Ordering = merge.AppendInt(nil, v.ordering); v.unordered {
		e.Ordering = merge.AppendNull(nil)
	}
	return e
}

// String shows the row: columns that it does not have are null to a reader.
func (v version) String() string {
	out := ""
	for _, c := range append(columnNames, "m") {
		value, ok := v.columns[c]
		if !ok {
			value = "."
		}
		out += " " + c + "=" + value
	}
	return out[1:]
}

// fold runs a log over a base row, nil for none, and gives the row that comes out, or "gone".
func fold(r merge.Rules, base *version, log []version) string {
	l := merge.NewLog(r)
	for i, v := range log {
		l.Add([]byte("k"), v.entry(int32(i)))
	}
	var stands int32
	if base != nil {
		ordering := merge.AppendInt(nil, base.ordering)
		if r.Base.Sequence {
			ordering = merge.AppendInt(nil, base.sequence)
		}
		verdict, n := l.Match([]byte("k"), ordering)
		switch verdict {
		case merge.Keep:
			return base.String()
		case merge.Drop:
			return "gone"
		case merge.Replace:
			stands = n
		}
		if in := l.Inserts(); len(in) > 0 {
			return "inserted and replaced"
		}
	} else {
		in := l.Inserts()
		if len(in) == 0 {
			return "gone"
		}
		stands = in[0]
	}
	var resolve func(n int32) version
	resolve = func(n int32) version {
		switch {
		case n == merge.BaseRow:
			return *base
		case n < merge.FirstComposite:
			return log[n]
		}
		c := l.Composites()[n-merge.FirstComposite]
		out := together(resolve(c.Winner), resolve(c.Loser), c.Take)
		out.columns["m"] = resolve(c.Meta).columns["m"]
		return out
	}
	return resolve(stands).String()
}

// together puts a row together: each column of the winner, or where that leaves it open the loser's.
func together(winner, loser version, take merge.Take) version {
	out := winner
	out.partial = winner.partial && loser.partial
	out.columns = map[string]string{"m": winner.columns["m"]}
	for _, c := range columnNames {
		v, ok := winner.columns[c]
		open := !ok || take == merge.TakeNulls && v == "." || take == merge.TakeUnavailable && v == "?"
		if from, has := loser.columns[c]; open && has {
			v, ok = from, true
		}
		if ok {
			out.columns[c] = v
		}
	}
	return out
}

// mode is a way to merge, told version by version: which of two stands, and what it takes over.
type mode struct {
	name  string
	rules merge.Rules
	// newer and base tell which of two versions wins. A winner that is a delete, or meets one, stands alone.
	newer func(newer, older version) bool
	base  func(log, base version) bool
	// fold and final are what a winner takes over in the log, and where log and base meet.
	fold, final merge.Take
	newerMeta   bool
}

func always(version, version) bool { return true }

// eventTime: a delete without an ordering value acts in commit order, everything else by its value.
func eventTime(newer, older version) bool {
	switch {
	case older.deleted && older.unordered:
		return !newer.deleted
	case newer.deleted && newer.unordered:
		return true
	}
	return newer.ordering >= older.ordering
}

// preCombine is how 0.x folds: what follows a delete stands, and between rows the larger ordering value.
func preCombine(newer, older version) bool {
	return older.deleted || newer.deleted && newer.unordered || newer.ordering >= older.ordering
}

// unlessDeleted is how 0.x meets base rows: a delete always removes them.
func unlessDeleted(rows func(newer, older version) bool) func(version, version) bool {
	return func(newer, older version) bool { return newer.deleted || rows(newer, older) }
}

func modesUnderTest() []mode {
	ordered := merge.Weigh{Ordering: true}
	nulls := merge.Weigh{Ordering: true, Take: merge.TakeNulls}
	with := func(r merge.Rules, change func(*merge.Rules)) merge.Rules { change(&r); return r }
	takes := func(r merge.Rules, t merge.Take) merge.Rules {
		r.Fold.Take, r.Base.Take = t, t
		return r
	}
	ordering := func(n, o version) bool { return n.ordering >= o.ordering }
	return []mode{
		{"commit time", merge.CommitTime, always, always, 0, 0, false},
		{"event time", merge.EventTime, eventTime, eventTime, 0, 0, false},
		{"commit time, nulls", takes(merge.CommitTime, merge.TakeNulls), always, always, merge.TakeNulls, merge.TakeNulls, false},
		{"event time, nulls", takes(merge.EventTime, merge.TakeNulls), eventTime, eventTime, merge.TakeNulls, merge.TakeNulls, false},
		{"event time, unavailable", takes(merge.EventTime, merge.TakeUnavailable), eventTime, eventTime, merge.TakeUnavailable, merge.TakeUnavailable, false},
		{"0.x overwrite", merge.Rules{Legacy: true, Fold: ordered}, preCombine, always, 0, 0, false},
		{"0.x default", merge.Rules{Legacy: true, Fold: ordered, Base: ordered}, preCombine, unlessDeleted(ordering), 0, 0, false},
		{"0.x non-defaults", merge.Rules{Legacy: true, Fold: ordered, Base: merge.Weigh{Take: merge.TakeNulls}}, preCombine, always, 0, merge.TakeNulls, false},
		{
			"0.x partial", with(merge.Rules{Legacy: true, Fold: nulls, Base: nulls}, func(r *merge.Rules) { r.Fold.NewerMeta, r.Base.NewerMeta = true, true }),
			preCombine, unlessDeleted(ordering), merge.TakeNulls, merge.TakeNulls, true,
		},
		{
			"0.x MySQL",
			merge.Rules{Legacy: true, Fold: ordered, Base: merge.Weigh{Ordering: true, Sequence: true, OlderOnTie: true}},
			preCombine, unlessDeleted(func(n, o version) bool { return n.sequence > o.sequence }), 0, 0, false,
		},
		{
			"0.x first value", with(merge.Rules{Legacy: true, Fold: ordered, Base: ordered}, func(r *merge.Rules) { r.Fold.OlderOnTie, r.Base.OlderOnTie = true, true }),
			func(n, o version) bool {
				return o.deleted || n.deleted && (n.unordered || n.ordering >= o.ordering) || n.ordering > o.ordering
			},
			unlessDeleted(func(n, o version) bool { return n.ordering > o.ordering }), 0, 0, false,
		},
		{
			"1.x non-defaults, deletes in order", with(takes(merge.CommitTime, merge.TakeNulls), func(r *merge.Rules) { r.DeletesInOrder = true }),
			always, always, merge.TakeNulls, merge.TakeNulls, false,
		},
		{
			"1.x partial, deletes in order", with(merge.Rules{Fold: nulls, Base: nulls}, func(r *merge.Rules) { r.DeletesInOrder, r.Fold.NewerMeta, r.Base.NewerMeta = true, true, true }),
			func(n, o version) bool { return n.deleted || o.deleted || n.ordering >= o.ordering }, unlessDeleted(ordering), merge.TakeNulls, merge.TakeNulls, true,
		},
		{
			"1.x overwrite, deletes by ordering", with(merge.CommitTime, func(r *merge.Rules) { r.DeletesByOrdering = true }),
			func(n, o version) bool { return !n.deleted && !o.deleted || eventTime(n, o) },
			func(n, o version) bool { return !n.deleted || eventTime(n, o) }, 0, 0, false,
		},
		{
			"event time, deletes take base rows", with(merge.EventTime, func(r *merge.Rules) { r.DeletesBase = true }),
			eventTime, unlessDeleted(eventTime), 0, 0, false,
		},
	}
}

// naive merges one key as a mode is told.
func (m mode) naive(base *version, log []version) string {
	if len(log) == 0 {
		if base == nil {
			return "gone"
		}
		return base.String()
	}
	step := func(newer, older version, wins func(version, version) bool, take merge.Take) version {
		winner, loser := newer, older
		if !wins(newer, older) {
			winner, loser = older, newer
		}
		if winner.deleted || loser.deleted || take == merge.TakeNothing && !winner.partial {
			return winner
		}
		out := together(winner, loser, take)
		if m.newerMeta {
			out.columns["m"] = newer.columns["m"]
		}
		return out
	}
	e := log[0]
	for _, v := range log[1:] {
		e = step(v, e, m.newer, m.fold)
	}
	if base != nil {
		e = step(e, *base, m.base, m.final)
	}
	if e.deleted {
		return "gone"
	}
	return e.String()
}

// Whatever a log says of a key, each mode makes of it what a merge version by version does.
func TestModesAgainstANaiveMerge(t *testing.T) {
	draw := func(t *rapid.T, m mode, name, meta string, log bool) version {
		kind := 0
		if log {
			kind = rapid.IntRange(0, 5).Draw(t, name+" kind") // of six: a delete without ordering, one with, a partial record
		}
		text := fmt.Sprintf("%d/%d", rapid.IntRange(1, 4).Draw(t, name+" ordering"), rapid.IntRange(1, 3).Draw(t, name+" sequence"))
		switch kind {
		case 1:
			return parseVersion("-", meta)
		case 2:
			return parseVersion("-"+text, meta)
		case 3:
			if !m.rules.Legacy { // 0.x knows no partial records
				text += "%"
			}
		}
		for _, c := range columnNames {
			if strings.HasSuffix(strings.Fields(text)[0], "%") && rapid.Bool().Draw(t, name+" lacks") {
				continue
			}
			text += " " + c + "=" + rapid.SampledFrom([]string{".", "?", meta}).Draw(t, name+" "+c)
		}
		return parseVersion(text, meta)
	}
	for _, m := range modesUnderTest() {
		t.Run(m.name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				var base *version
				if rapid.Bool().Draw(rt, "base") {
					v := draw(rt, m, "base", "base", false)
					base = &v
				}
				var log []version
				for i := range rapid.IntRange(0, 6).Draw(rt, "records") {
					log = append(log, draw(rt, m, fmt.Sprint("record ", i), fmt.Sprint(i), true))
				}
				if got, want := fold(m.rules, base, log), m.naive(base, log); got != want {
					rt.Fatalf("base %+v\nlog %+v\n got %s\nwant %s", base, log, got, want)
				}
			})
		})
	}
}

// What Hudi itself was seen to make of some logs.
func TestRowsPutTogether(t *testing.T) {
	modes := map[string]merge.Rules{}
	for _, m := range modesUnderTest() {
		modes[m.name] = m.rules
	}
	for _, c := range []struct{ mode, base, log, want string }{
		// Nulls of the winner are filled, in the log and against the base; 0 and the empty text are values.
		{"commit time, nulls", "10 a=x b=y", "20 a=. b=z", "a=x b=z c=. m=0"},
		{"commit time, nulls", "10 a=x b=y", "20 a=0 b=", "a=0 b= c=. m=0"},
		{"commit time, nulls", "", "20 a=x b=y; 5 a=. b=z c=.", "a=x b=z c=. m=1"},
		{"event time, nulls", "10 a=. b=. c=1", "5 a=525 b=late", "a=525 b=late c=1 m=base"}, // a late row fills holes too
		{"event time, nulls", "10 a=1", "20 a=. b=2; 15 a=3 b=. c=4", "a=3 b=2 c=4 m=0"},
		{"event time, nulls", "10 a=1 b=2", "-; 5 a=. b=3", "a=1 b=2 c=. m=base"}, // the delete is forgotten when the log meets the base
		{"event time, nulls", "", "-30; 20 a=1", "gone"},
		// Only the text for an unavailable value gives way, in the log and against the base; nulls do not.
		{"event time, unavailable", "10 a=base b=b1", "20 a=? b=.", "a=base b=. c=. m=0"},
		{"event time, unavailable", "10 a=base", "20 a=newer; 30 a=? b=1", "a=newer b=1 c=. m=1"},
		{"event time, unavailable", "", "20 a=?", "a=? b=. c=. m=0"},
		// Partial records leave open what they do not have; a null that they have is a value.
		{"commit time", "10 a=1 b=2 c=3", "20% b=9", "a=1 b=9 c=3 m=0"},
		{"commit time", "10 a=1 b=2 c=3", "20% b=.; 30% a=7", "a=7 b=. c=3 m=1"},
		{"commit time", "10 a=1 b=2 c=3", "20% b=9; 30 a=5", "a=5 b=. c=. m=1"},
		{"commit time", "10 a=1", "20% b=9; -", "gone"},
		{"commit time", "", "20% b=9", "a=. b=9 c=. m=0"},
		{"event time", "10 a=1 b=2 c=3", "5% b=9", "a=1 b=2 c=3 m=base"},
		{"event time", "10 a=1 b=2 c=3", "20% b=9; 15% a=7 b=8", "a=7 b=9 c=3 m=0"}, // a late one fills what the winner lacks
		{"event time", "10 a=1 b=2 c=3", "20 a=7; 30% b=8", "a=7 b=8 c=. m=1"},
		// 0.x: meta fields of the newer one, even where the older one gives every value.
		{"0.x partial", "10 a=1 b=2 c=3", "5 a=9 b=9 c=9", "a=1 b=2 c=3 m=0"},
		{"0.x partial", "", "20 a=1 b=. c=3; 10 a=9 b=9 c=9", "a=1 b=9 c=3 m=1"},
		{"0.x partial", "10 a=1", "-5", "gone"},
		// 0.x: a whole row wins in the log, columns are laid over the base only.
		{"0.x non-defaults", "10 a=1 b=2 c=3", "20 a=. b=5; 25 a=. b=. c=6", "a=1 b=2 c=6 m=1"},
		{"1.x non-defaults, deletes in order", "10 a=1 b=2 c=3", "20 a=. b=5; 25 a=. b=. c=6", "a=1 b=5 c=6 m=1"},
		// A tie between sequences keeps the base row; a late delete removes it all the same.
		{"0.x MySQL", "1/7 a=1", "2/7 a=2", "a=1 b=. c=. m=base"},
		{"0.x MySQL", "1/7 a=1", "2/8 a=2", "a=2 b=. c=. m=0"},
		{"0.x MySQL", "1/7 a=1", "-2/3", "gone"},
		{"0.x first value", "1 a=1", "1 a=2", "a=1 b=. c=. m=base"},
		{"0.x first value", "", "1 a=1; 1 a=2; 2 a=3", "a=3 b=. c=. m=2"},
		// Deletes of tables of 0.x under the rules of 1.1 act in commit order, those of 1.0 by ordering values.
		{"1.x partial, deletes in order", "10 a=1", "20 a=2; -5", "gone"},
		{"1.x partial, deletes in order", "", "-30; 20 a=2", "a=2 b=. c=. m=1"},
		{"1.x overwrite, deletes by ordering", "10 a=1", "5 a=2", "a=2 b=. c=. m=0"},
		{"1.x overwrite, deletes by ordering", "10 a=1", "-5", "a=1 b=. c=. m=base"},
		{"1.x overwrite, deletes by ordering", "10 a=1", "-30; 20 a=2", "gone"},
		{"event time, deletes take base rows", "10 a=1", "-5", "gone"},
	} {
		rules, ok := modes[c.mode]
		if !ok {
			t.Fatalf("no mode %s", c.mode)
		}
		var base *version
		if c.base != "" {
			v := parseVersion(c.base, "base")
			base = &v
		}
		var log []version
		for i, s := range strings.Split(c.log, ";") {
			log = append(log, parseVersion(s, fmt.Sprint(i)))
		}
		if got := fold(rules, base, log); got != c.want {
			t.Errorf("%s: base %q, log %q: %s, want %s", c.mode, c.base, c.log, got, c.want)
		}
	}
}

// Once a partial record has come anywhere in the slice, deletes of 1.0 act in commit order, for all keys.
func TestPlainDeletes(t *testing.T) {
	for _, partial := range []bool{false, true} {
		r := merge.EventTime
		r.PlainDeletes = true
		l := merge.NewLog(r)
		if partial {
			l.Add([]byte("other"), parseVersion("1% a=1", "0").entry(0))
		}
		l.Add([]byte("k"), parseVersion("-30", "1").entry(1))
		l.Add([]byte("k"), parseVersion("20 a=1", "2").entry(2))
		l.Add([]byte("b"), parseVersion("-5", "3").entry(3))
		verdict, _ := l.Match([]byte("b"), merge.AppendInt(nil, 10))
		if got := verdict == merge.Drop; got != partial {
			t.Errorf("partial %v: a late delete removes the base row: %v", partial, got)
		}
		if got := slices.Contains(l.Inserts(), 2); got != partial {
			t.Errorf("partial %v: a row lifts a delete of a higher ordering value: %v", partial, got)
		}
	}
}
