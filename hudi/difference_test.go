package hudi_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/internal/tabletest"
)

var (
	seed  = flag.Uint64("seed", 0, "seed of the pairs of instants that are compared; 0 draws one")
	pairs = flag.Int("pairs", 1, "how many pairs of instants are compared in each table; in those of testdata four times as many")
)

// leaf is a column of a relation.
type leaf struct {
	path     string
	kind     parquet.Kind
	rep, def int
}

// meta tells whether the column counts for nothing when rows are compared.
func (l leaf) meta() bool {
	return strings.HasPrefix(l.path, "_hoodie_") && l.path != "_hoodie_is_deleted"
}

// alike tells whether values of two columns have texts that can be compared: numbers of all widths do.
func (l leaf) alike(o leaf) bool {
	number := func(k parquet.Kind) bool {
		return k == parquet.Int32 || k == parquet.Int64 || k == parquet.Float || k == parquet.Double
	}
	return l.path == o.path && l.rep == o.rep && l.def == o.def && (l.kind == o.kind || number(l.kind) && number(o.kind))
}

// record is a row: the levels and values of each leaf as text.
type record struct {
	partition string
	cells     []string
}

// relation is what a view holds.
type relation struct {
	leaves []leaf
	rows   []record
	any    bool // a state before everything has no schema, and fits each
}

// memory takes a rendered file.
type memory []byte

func (m memory) WriteAt(p []byte, off int64) (int, error) { return copy(m[off:], p), nil }

// read reads all rows of a view with a Parquet reader that is not ours.
func read(ctx context.Context, v *hudi.View) (*relation, error) {
	partitions, err := v.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	out := &relation{}
	for _, p := range partitions {
		files, err := v.Files(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			size, _, err := f.Size(ctx)
			if err != nil {
				return nil, err
			}
			m := make(memory, size)
			if err := f.Render(ctx, m); err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name(), err)
			}
			if err := out.add(m, p); err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name(), err)
			}
		}
	}
	return out, nil
}

func (r *relation) add(file []byte, partition string) error {
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return err
	}
	var leaves []leaf
	for _, path := range f.Schema().Columns() {
		c, _ := f.Schema().Lookup(path...)
		leaves = append(leaves, leaf{strings.Join(path, "."), c.Node.Type().Kind(), c.MaxRepetitionLevel, c.MaxDefinitionLevel})
	}
	if r.leaves != nil && !slices.Equal(r.leaves, leaves) {
		return fmt.Errorf("schema %v, that of other files of the view is %v", leaves, r.leaves)
	}
	r.leaves = leaves
	for _, g := range f.RowGroups() {
		rows := make([]record, g.NumRows())
		for i := range rows {
			rows[i] = record{partition, make([]string, len(leaves))}
		}
		for c, chunk := range g.ColumnChunks() {
			row := -1
			err := values(chunk, func(v parquet.Value) {
				if v.RepetitionLevel() == 0 {
					row++
				}
				rows[row].cells[c] += cell(v)
			})
			if err != nil || row != len(rows)-1 {
				return fmt.Errorf("column %s: %d of %d rows, %w", leaves[c].path, row+1, len(rows), err)
			}
		}
		r.rows = append(r.rows, rows...)
	}
	return nil
}

func values(chunk parquet.ColumnChunk, take func(parquet.Value)) error {
	pages := chunk.Pages()
	defer pages.Close()
	buf := make([]parquet.Value, 256)
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for r := page.Values(); ; {
			n, err := r.ReadValues(buf)
			for _, v := range buf[:n] {
				take(v)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
		}
	}
}

// cell is an entry of a column as text: its levels one digit each, its value with its length.
func cell(v parquet.Value) string {
	text := ""
	switch {
	case v.IsNull():
	case v.Kind() == parquet.Boolean:
		text = strconv.FormatBool(v.Boolean())
	case v.Kind() == parquet.Int32:
		text = strconv.Itoa(int(v.Int32()))
	case v.Kind() == parquet.Int64:
		text = strconv.Itoa(int(v.Int64()))
	case v.Kind() == parquet.Float:
		text = strconv.FormatFloat(float64(v.Float()), 'f', -1, 64)
	case v.Kind() == parquet.Double:
		text = strconv.FormatFloat(v.Double(), 'f', -1, 64)
	case v.Kind() == parquet.Int96:
		text = v.Int96().String()
	default:
		text = string(v.ByteArray())
	}
	return fmt.Sprintf("%d%d%d:%s", v.RepetitionLevel(), v.DefinitionLevel(), len(text), text)
}

// difference is a view of one, taken apart.
type difference struct {
	op            []string
	before, after *relation // the cells of a row are nil where it has no image
}

func takeApart(r *relation) (*difference, error) {
	if len(r.leaves) == 0 || r.leaves[0].path != "_hudi_op" || len(r.leaves)%2 != 1 {
		return nil, fmt.Errorf("columns %v", r.leaves)
	}
	d := &difference{before: &relation{}, after: &relation{}}
	n := len(r.leaves) / 2
	for i, side := range []*relation{d.before, d.after} {
		for _, l := range r.leaves[1+i*n : 1+(i+1)*n] {
			path, ok := strings.CutPrefix(l.path, []string{"before.", "after."}[i])
			if !ok {
				return nil, fmt.Errorf("column %s", l.path)
			}
			side.leaves = append(side.leaves, leaf{path, l.kind, l.rep, l.def - 1})
		}
	}
	for _, row := range r.rows {
		op := row.cells[0][strings.Index(row.cells[0], ":")+1:]
		d.op = append(d.op, op)
		for i, side := range []*relation{d.before, d.after} {
			image, there := record{partition: row.partition}, 0
			for c := range n {
				text, ok := lifted(row.cells[1+i*n+c])
				image.cells = append(image.cells, text)
				if ok {
					there++
				}
			}
			want := op == "u" || op == "d" && i == 0 || op == "i" && i == 1
			if (there > 0) != want || there != 0 && there != n {
				return nil, fmt.Errorf("operation %q: %d of %d columns of image %d are there", op, there, n, i)
			}
			if there == 0 {
				image.cells = nil
			}
			side.rows = append(side.rows, image)
		}
	}
	return d, nil
}

// lifted takes a cell out of a struct; ok is false where the struct is null.
func lifted(cell string) (text string, ok bool) {
	for len(cell) > 0 {
		colon := strings.Index(cell, ":")
		length, _ := strconv.Atoi(cell[2:colon])
		end := colon + 1 + length
		if cell[1] == '0' {
			return "", false
		}
		text += cell[:1] + string(cell[1]-1) + cell[2:end]
		cell = cell[end:]
	}
	return text, true
}

// common are the columns of a relation that others have too: data columns alone, or all.
func common(first *relation, data bool, others ...*relation) []string {
	var out []string
	for _, l := range first.leaves {
		shared := !data || !l.meta()
		for _, o := range others {
			shared = shared && (o.any || slices.ContainsFunc(o.leaves, l.alike))
		}
		if shared {
			out = append(out, l.path)
		}
	}
	return out
}

// texts are the rows of a relation in some columns, counted. Rows without cells are left out.
func (r *relation) texts(columns []string, into map[string]int, by int) {
	var at []int
	for _, c := range columns {
		at = append(at, slices.IndexFunc(r.leaves, func(l leaf) bool { return l.path == c }))
	}
	for _, row := range r.rows {
		if row.cells == nil {
			continue
		}
		text := row.partition
		for _, i := range at {
			text += "|" + row.cells[i]
		}
		if into[text] += by; into[text] == 0 {
			delete(into, text)
		}
	}
}

// check holds a difference against the states that it is between.
func check(a, b *relation, d *difference, keys []string) error {
	shared := common(d.after, true, a, b)
	if len(shared) == 0 {
		return errors.New("the states have no column in common")
	}
	sum := map[string]int{}
	a.texts(shared, sum, 1)
	d.before.texts(shared, sum, -1)
	d.after.texts(shared, sum, 1)
	b.texts(shared, sum, -1)
	for row, n := range sum {
		return fmt.Errorf("%d rows are wrong, one is %+d times %.500q", len(sum), n, row)
	}
	// Images are rows of their states, meta fields too.
	for i, side := range []*relation{d.before, d.after} {
		state := []*relation{a, b}[i]
		all := common(side, false, state)
		have, want := map[string]int{}, map[string]int{}
		state.texts(all, have, 1)
		side.texts(all, want, 1)
		for row, n := range want {
			if have[row] < n {
				return fmt.Errorf("image %d is no row of its state: %.500q", i, row)
			}
		}
	}
	return checkLeast(a, b, d, keys)
}

// checkLeast checks that nothing is in a difference that does not differ, and no key more often than it must be.
func checkLeast(a, b *relation, d *difference, keys []string) error {
	columns := common(d.after, true)
	times, unique := map[string]int{}, true
	for _, state := range []*relation{a, b} {
		seen := map[string]int{}
		if len(common(state, false, &relation{leaves: d.after.leaves})) > 0 {
			state.texts(keys, seen, 1)
		}
		for _, n := range seen {
			unique = unique && n == 1
		}
	}
	deleted, inserted := map[string]int{}, map[string]int{}
	for i := range d.op {
		var images [2]string
		key := ""
		for side, r := range []*relation{d.before, d.after} {
			one := &relation{leaves: r.leaves, rows: r.rows[i : i+1]}
			texts, by := map[string]int{}, map[string]int{}
			one.texts(columns, texts, 1)
			one.texts(keys, by, 1)
			for images[side] = range texts {
			}
			for key = range by {
			}
		}
		times[key]++
		if unique && times[key] > 1 {
			return fmt.Errorf("key %q occurs more than once", key)
		}
		switch d.op[i] {
		case "u":
			if images[0] == images[1] {
				return fmt.Errorf("an update of nothing: %.500q", images[0])
			}
		case "d":
			deleted[key+images[0]]++
		case "i":
			inserted[key+images[1]]++
		}
	}
	for row := range deleted {
		if inserted[row] > 0 {
			return fmt.Errorf("deleted and inserted again: %.500q", row)
		}
	}
	return nil
}

// compareStates reads two states and the difference between them, and holds one against the other.
func compareStates(ctx context.Context, table *hudi.Table, a, b string) (rows int, err error) {
	var states [2]*relation
	var unread, refused error
	for i, at := range []string{a, b} {
		states[i] = &relation{any: true}
		if at == "000" {
			continue
		}
		v, err := table.View(ctx, hudi.AsOf(at))
		if err == nil {
			_, err = v.Partitions(ctx)
		}
		if err != nil {
			refused = err
			continue
		}
		if states[i], err = read(ctx, v); err != nil {
			unread = err
		}
	}
	v, err := table.View(ctx, hudi.Difference(a, b))
	if err == nil {
		_, err = v.Partitions(ctx)
	}
	switch {
	case refused != nil && err == nil:
		return 0, fmt.Errorf("a state is refused, its difference is not: %w", refused)
	case refused != nil || err == nil && unread != nil:
		return 0, errSkip // what can't be read may be the same in both states
	case err != nil:
		return 0, err
	}
	r, err := read(ctx, v)
	if err != nil {
		return 0, err
	}
	d, err := takeApart(r)
	if err != nil {
		return 0, err
	}
	keys := []string{"_hoodie_record_key"}
	if table.Info().Properties["hoodie.populate.meta.fields"] == "false" {
		keys = table.Info().RecordKeys
	}
	return len(d.op), check(states[0], states[1], d, keys)
}

var errSkip = errors.New("a state can't be read")

// openReal opens a zipped table, with the files that it was bootstrapped from.
func openReal(t *testing.T, file string) (*hudi.Table, error) {
	t.Helper()
	var o hudi.Options
	source := filepath.Join(filepath.Dir(file), "bootstrap_source.zip")
	if _, err := os.Stat(source); err == nil {
		o.BootstrapSource = unzip(t, source)
	}
	return hudi.Open(t.Context(), unzip(t, file), &o)
}

// As of a, with the difference between a and b, is as of b: for pairs of instants of every table, in both directions.
func TestDifferences(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-seed=%d", *seed)
	tables, compared, rows, skipped := 0, 0, 0, 0
	for _, file := range tabletest.All(t) {
		table, err := openReal(t, file)
		if err != nil {
			continue
		}
		instants, err := table.Differences(t.Context())
		if err != nil || len(instants) == 0 {
			continue
		}
		tables++
		r := rand.New(rand.NewPCG(*seed, uint64(len(tabletest.Name(file)))))
		points := slices.Concat([]string{"000"}, instants, []string{"latest"})
		n := *pairs
		if strings.HasPrefix(file, filepath.Join(tabletest.Root(t), "testdata")) {
			n *= 4
		}
		for range n {
			i := r.IntN(len(points) - 1)
			j := i + 1 + r.IntN(len(points)-i-1)
			if r.IntN(4) == 0 {
				i, j = j, i
			}
			n, err := compareStates(t.Context(), table, points[i], points[j])
			switch {
			case errors.Is(err, errSkip):
				skipped++
			case err != nil:
				t.Errorf("%s: %s..%s: %v", tabletest.Name(file), points[i], points[j], err)
			default:
				compared++
				rows += n
			}
		}
	}
	t.Logf("%d tables, %d pairs of instants, %d rows that differ; %d pairs with a state that can't be read", tables, compared, rows, skipped)
}

// Compaction and clustering move rows, and change none: the difference to the write before is empty, but has a schema.
func TestServicesChangeNothing(t *testing.T) {
	services := 0
	for _, file := range tabletest.All(t) {
		table, err := openReal(t, file)
		if err != nil {
			continue
		}
		if table.Info().Properties["hoodie.table.cdc.enabled"] == "true" {
			continue // Hudi 1.0 compacts tables that log changes without a look at ordering values
		}
		if table.Info().Version >= 8 && table.Info().Properties["hoodie.table.initial.version"] < "8" {
			continue // compacted by the rules of before its upgrade, read by those of now
		}
		for _, step := range serviceSteps(t, table) {
			v, err := table.View(t.Context(), hudi.Difference(step[0], step[1]))
			var r *relation
			if err == nil {
				r, err = read(t.Context(), v)
			}
			if errors.Is(err, hudi.ErrRefused) || errors.Is(err, hudi.ErrCleaned) || errors.Is(err, hudi.ErrCorrupt) {
				continue
			}
			if err != nil || len(r.rows) > 0 || len(r.leaves) == 0 {
				t.Errorf("%s: %v: %v, %.1000v", tabletest.Name(file), step, err, r)
			}
			services++
		}
	}
	t.Logf("%d compactions and clusterings", services)
}

// serviceSteps are the writes that are no changes, each with the write before. Those that ran while another write did are left out: they may hold
// less or more than the write before.
func serviceSteps(t *testing.T, table *hudi.Table) (steps [][2]string) {
	t.Helper()
	instants, err := table.Timeline(t.Context())
	if err != nil {
		return nil
	}
	changes, err := table.Differences(t.Context())
	if err != nil {
		return nil
	}
	last, done := "", ""
	for k, i := range instants {
		if i.State != "completed" || i.Action != "commit" && i.Action != "deltacommit" && i.Action != "replacecommit" {
			continue
		}
		if len(changes) > 0 && i.Time > changes[0] && i.Time < changes[len(changes)-1] && !slices.Contains(changes, i.Time) &&
			done <= i.Time && (k+1 == len(instants) || instants[k+1].Time >= i.CompletionTime) {
			steps = append(steps, [2]string{last, i.Time})
		}
		last, done = i.Time, max(done, i.CompletionTime)
	}
	return steps
}
