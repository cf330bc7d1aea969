package hudi_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/internal/fsview"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/storage/storagetest"
)

// seeded starts everything that is random in these tests. HUDIFS_SEED repeats a run.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	n := uint64(time.Now().UnixNano())
	if text := os.Getenv("HUDIFS_SEED"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("HUDIFS_SEED=%d", n)
	return rand.New(rand.NewPCG(n, 0))
}

// refused tells whether a query has no answer for a reason that lies in the table.
func refused(err error) bool {
	return errors.Is(err, hudi.ErrRefused) || errors.Is(err, hudi.ErrCleaned) || errors.Is(err, hudi.ErrUnsupported)
}

// equivalence is one table under test.
type equivalence struct {
	*realTable
	r       *rand.Rand
	o       *hudi.Options
	table   *hudi.Table
	history []hudi.Instant // all, oldest first
	stats   *tally
}

// tally counts what was compared, so that a test that compares nothing fails.
type tally struct{ compared, rows, refused, left map[string]int }

func (c *tally) leave(what, why string) { c.left[what+": "+why]++ }

func newTally() *tally {
	return &tally{map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}}
}

// TestEquivalences asks for the same rows in different ways. What a table can't be asked is found out from its properties, and counted.
func TestEquivalences(t *testing.T) {
	r := seeded(t)
	stats := newTally()
	eachRealTable(t, func(t *testing.T, real *realTable) {
		e := &equivalence{realTable: real, r: rand.New(rand.NewPCG(r.Uint64(), 1)), o: &hudi.Options{}, stats: stats}
		e.o.BootstrapSource = real.bootstrapSource(t)
		var err error
		if e.table, err = hudi.Open(t.Context(), real.store(), e.o); err != nil {
			stats.leave("all", "can't be opened")
			return
		}
		if e.history, err = e.table.Timeline(t.Context()); err != nil {
			stats.leave("all", "damaged timeline")
			return
		}
		servable, err := e.table.Servable(t.Context())
		if err != nil || len(servable) == 0 {
			stats.leave("all", "no instant can be shown")
			return
		}
		e.latestIsTheLastInstant(t)
		i := servable[e.r.IntN(len(servable))]
		e.cutBack(t, i)
		e.wholeRange(t, i)
		if testing.Short() {
			return
		}
		e.foldedSteps(t, servable)
		e.services(t)
	})
	for what, n := range stats.compared {
		t.Logf("%s: %d compared with %d rows, %d refused", what, n, stats.rows[what], stats.refused[what])
		if stats.rows[what] == 0 {
			t.Errorf("%s: no row was compared", what)
		}
	}
	for what, n := range stats.left {
		t.Logf("NOT COMPARED: %d, %s", n, what)
	}
}

// ask answers a query, nil where it is refused or the table is damaged.
func (e *equivalence) ask(t *testing.T, s *storagetest.Mem, q hudi.Query, what string) *answer {
	t.Helper()
	a, err := ask(t.Context(), s, e.o, q)
	switch {
	case err == nil:
		e.stats.compared[what]++
		e.stats.rows[what] += a.count()
		return a
	case refused(err):
		e.stats.refused[what]++
	case errors.Is(err, hudi.ErrCorrupt):
		e.stats.leave(what, "damaged table")
	default:
		t.Errorf("%s: %v: %v", what, q, err)
	}
	return nil
}

func (e *equivalence) same(t *testing.T, what string, got, want *answer, without ...string) {
	t.Helper()
	if g, w := got.text(without...), want.text(without...); g != w {
		t.Errorf("%s:\n%s", what, unshared(g, w))
	}
	if g, w := logical(got.schema), logical(want.schema); !slices.Equal(g, w) {
		t.Errorf("%s: columns %q, want %q", what, g, w)
	}
}

// logical is a schema without the physical forms: a table service may write other ones than the writer before it.
func logical(schema []string) []string {
	out := slices.Clone(schema)
	for i := range out {
		out[i], _, _ = strings.Cut(strings.ReplaceAll(out[i], "/array", "/list/element"), " in ")
	}
	return out
}

func (e *equivalence) latestIsTheLastInstant(t *testing.T) {
	newest := e.table.Newest()
	const what = "latest = as of the last instant"
	if newest == "" {
		return
	}
	if a := e.ask(t, e.store(), hudi.AsOf(newest), what); a != nil {
		if b := e.ask(t, e.store(), hudi.Latest(), what); b != nil {
			e.same(t, what, a, b)
		}
	}
}

func write(i hudi.Instant) bool {
	return i.Action == "commit" || i.Action == "deltacommit" || i.Action == "replacecommit"
}

// overlapping tells whether some write began before another one that was requested earlier was complete.
func (e *equivalence) overlapping(t *testing.T) bool {
	done := e.completions(t)
	last := ""
	for _, i := range e.history {
		if !write(i) || i.State != "completed" {
			continue
		}
		if i.Time < last {
			return true
		}
		end := i.CompletionTime
		if noted := done[i.Time]; noted != "" {
			end = noted
		}
		last = max(last, end)
	}
	return false
}

// cutBack compares the table as of an instant with a copy that never got any further.
func (e *equivalence) cutBack(t *testing.T, i hudi.Instant) {
	const what = "as of i = a copy cut back to i"
	if e.overlapping(t) {
		e.stats.leave(what, "overlapping writes")
		return
	}
	if slices.ContainsFunc(e.history, func(h hudi.Instant) bool { return h.Time > i.Time && h.Archived }) {
		e.stats.leave(what, "later instants are archived")
		return
	}
	whole := e.ask(t, e.store(), hudi.AsOf(i.Time), what)
	if whole == nil {
		return
	}
	if part := e.ask(t, e.cut(t, i.Time), hudi.Latest(), what); part != nil {
		e.same(t, what+" ("+i.Time+")", whole, part)
		if !slices.Equal(whole.schema, part.schema) {
			t.Errorf("%s (%s): columns %q, want %q", what, i.Time, whole.schema, part.schema)
		}
	}
}

// cut copies the table without what came after an instant.
func (e *equivalence) cut(t *testing.T, at string) *storagetest.Mem {
	version := e.table.Info().Version
	out := map[string][]byte{}
	for p, data := range e.files {
		dir, name := path.Split(p)
		switch {
		case strings.HasPrefix(p, ".hoodie/metadata/"):
			continue // it would tell of later files
		case dir == ".hoodie/" || dir == ".hoodie/timeline/" || dir == ".hoodie/.schema/":
			if n := strings.IndexAny(name, "._"); n >= 14 && name[:n] > at {
				continue
			}
		case strings.HasPrefix(p, ".hoodie/"):
		default:
			if b, ok := fsview.ParseBase(name, fsview.Parquet); ok && b.Instant > at {
				continue
			}
			if l, ok := logfile.ParseName(name); ok {
				if l.Instant > at {
					continue
				}
				if version < 8 {
					data = cutLog(t, data, at)
				}
			}
		}
		out[p] = data
	}
	return storagetest.NewMem(out)
}

// cutLog is a log file without the blocks that came after an instant: up to table version 7 a file holds those of several.
func cutLog(t *testing.T, data []byte, at string) []byte {
	l, err := logfile.Scan(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return data
	}
	for _, b := range l.Blocks {
		if b.Instant() > at {
			return data[:b.Offset]
		}
	}
	return data
}

// rangeTime is the time of an instant that ranges are measured in.
func (e *equivalence) rangeTime(i hudi.Instant) string {
	if e.table.Info().Version >= 8 {
		return i.CompletionTime
	}
	return i.Time
}

// wholeRange compares everything that was ever written until an instant with the table as of it. A range keeps rows that are merged with
// nothing outside of it, so a range of everything leaves nothing out.
func (e *equivalence) wholeRange(t *testing.T, i hudi.Instant) {
	const what = "everything up to i = as of i"
	if e.overlapping(t) {
		e.stats.leave(what, "overlapping writes")
		return
	}
	a := e.ask(t, e.store(), hudi.Incremental("000", e.rangeTime(i)), what)
	if a == nil {
		return
	}
	b := e.ask(t, e.store(), hudi.AsOf(i.Time), what)
	if b == nil {
		return
	}
	if !slices.Equal(logical(a.schema), logical(b.schema)) {
		e.stats.leave(what, "the columns changed since")
		return
	}
	e.same(t, what+" ("+i.Time+")", a, b, e.droppedColumns()...)
}

// droppedColumns are the partition columns that the files of the table lack: 0.x shows them in snapshots, but not in every range.
func (e *equivalence) droppedColumns() []string {
	info := e.table.Info()
	if info.Version >= 8 || info.Properties["hoodie.datasource.write.drop.partition.columns"] != "true" {
		return nil
	}
	return info.PartitionFields
}

// foldedSteps goes through the ranges between neighbouring instants: the newest version of each key that they give, of which the table as of
// the last one has all that were not deleted. A late version that lost against an earlier one is among them too.
func (e *equivalence) foldedSteps(t *testing.T, servable []hudi.Instant) {
	const what = "steps folded = as of the last one"
	if why := e.unfoldable(t); why != "" {
		e.stats.leave(what, why)
		return
	}
	// From the beginning: a row that was deleted may come back when a later one of its key loses against it.
	servable = servable[:min(len(servable), 2+e.r.IntN(5))]
	last := servable[len(servable)-1]
	whole := e.ask(t, e.store(), hudi.AsOf(last.Time), what)
	if whole == nil {
		return
	}
	ignored := append(e.droppedColumns(), "_hoodie_file_name")
	versions := map[string]map[string]string{} // by partition and key, then by commit time
	begin := "000"
	for _, i := range servable {
		then, err := e.table.View(t.Context(), hudi.AsOf(i.Time))
		if err != nil {
			t.Fatal(err)
		}
		columns, err := then.Schema(t.Context())
		if err != nil || !slices.Equal(logical(columns), logical(whole.schema)) {
			e.stats.leave(what, "the columns changed since")
			return
		}
		end := e.rangeTime(i)
		step := e.ask(t, e.store(), hudi.Incremental(begin, end), what)
		if step == nil {
			return
		}
		if !slices.Equal(step.schema, whole.schema) {
			// When 0.15 rewrites a file with decimals in INT64, it gets their scale wrong.
			e.stats.leave(what, "the physical forms changed since")
			return
		}
		for p, rows := range step.rows {
			for _, r := range rows {
				k := p + " " + r.key()
				if versions[k] == nil {
					versions[k] = map[string]string{}
				}
				if _, ok := versions[k][r["_hoodie_commit_time"]]; ok {
					e.stats.leave(what, "duplicate keys")
					return
				}
				versions[k][r["_hoodie_commit_time"]] = r.without(ignored...).String()
			}
		}
		begin = end
	}
	wrong := 0
	commitTime := e.table.Info().MergeMode == "COMMIT_TIME_ORDERING"
	for p, rows := range whole.rows {
		for _, r := range rows {
			v := versions[p+" "+r.key()]
			written := r["_hoodie_commit_time"]
			if got, want := v[written], r.without(ignored...).String(); got != want {
				if wrong++; wrong > 3 {
					return
				}
				t.Errorf("%s: %s: the range of its commit has\n %q, want\n %q", what, r.key(), got, want)
			}
			if commitTime {
				for later := range v {
					if later > written {
						t.Errorf("%s: %s: written at %s, but the table has %s", what, r.key(), later, written)
					}
				}
			}
		}
	}
}

// unfoldable says why the versions of a row in a table can't be told apart by their commit times.
func (e *equivalence) unfoldable(t *testing.T) string {
	info := e.table.Info()
	partial := info.Properties["hoodie.table.partial.update.mode"] != ""
	for _, class := range []string{"PartialUpdate", "OverwriteNonDefaults", "PostgresDebezium"} {
		partial = partial || strings.Contains(info.MergeMode, class)
	}
	for p, data := range e.files {
		if _, ok := logfile.ParseName(path.Base(p)); !ok || strings.HasPrefix(p, ".hoodie/") {
			continue
		}
		l, err := logfile.Scan(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			continue
		}
		for _, b := range l.Blocks {
			partial = partial || b.Partial()
		}
	}
	switch {
	case partial:
		return "rows are put together from several versions"
	case e.overlapping(t):
		return "overlapping writes"
	case slices.ContainsFunc(e.history, func(i hudi.Instant) bool { return e.planned(i, "logcompaction") }):
		return "log compaction writes rows anew"
	}
	return ""
}

// services compares the rows before and after each table service.
func (e *equivalence) services(t *testing.T) {
	const what = "rows before = after a table service"
	if e.overlapping(t) {
		e.stats.leave(what, "overlapping writes")
		return
	}
	info := e.table.Info()
	if info.Version == 8 && info.Properties["hoodie.table.cdc.enabled"] == "true" {
		e.stats.leave(what, "1.0 compacts tables with change logging by other rules than it reads them")
		return
	}
	if info.Version >= 8 && info.Properties["hoodie.table.initial.version"] < "8" {
		e.stats.leave(what, "an upgrade compacts by the rules of the version before")
		return
	}
	type service struct {
		before string
		hudi.Instant
	}
	var services []service
	before := ""
	for _, i := range e.history {
		if !write(i) || i.State != "completed" {
			continue
		}
		if before != "" && e.service(i) {
			services = append(services, service{before, i})
		}
		before = i.Time
	}
	for range min(len(services), 2) {
		s := services[e.r.IntN(len(services))]
		a := e.ask(t, e.store(), hudi.AsOf(s.before), what)
		b := e.ask(t, e.store(), hudi.AsOf(s.Time), what)
		if a == nil || b == nil {
			continue
		}
		ignored := []string{"_hoodie_file_name"}
		if e.planned(s.Instant, "logcompaction") {
			ignored = append(ignored, "_hoodie_commit_time", "_hoodie_commit_seqno") // its blocks are written anew
		}
		e.same(t, fmt.Sprintf("%s %s", what, s.Time), b, a, ignored...)
	}
}

// planned tells whether an instant has a plan of a kind.
func (e *equivalence) planned(i hudi.Instant, kind string) bool {
	_, old := e.files[".hoodie/"+i.Time+"."+kind+".requested"]
	_, current := e.files[".hoodie/timeline/"+i.Time+"."+kind+".requested"]
	return old || current
}

// service tells whether an instant is a compaction, log compaction or clustering: their plans have names of their own.
func (e *equivalence) service(i hudi.Instant) bool {
	if e.planned(i, "compaction") || e.planned(i, "logcompaction") || e.planned(i, "clustering") {
		return true
	}
	// Up to version 8 a clustering was a replacecommit like others.
	for p, data := range e.files {
		if strings.HasSuffix(p, i.Time+".replacecommit") && bytes.Contains(data, []byte(`"operationType" : "CLUSTER"`)) {
			return true
		}
	}
	return false
}
