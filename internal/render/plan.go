package render

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/merge"
)

// Deletes says which records of data blocks are deletes besides those with _hoodie_is_deleted or a deleting
// _hoodie_operation: those whose Field holds the Marker.
type Deletes struct {
	Field, Marker string
	// FoldCase finds the marker in capitals and small letters.
	FoldCase bool
	// MarkerOnly makes Field the only sign.
	MarkerOnly bool
}

// batch is one data block.
type batch struct {
	name   string // of the log file
	reader io.ReaderAt
	block  *logfile.Block // nil for records that a Merger made
	data   block
	first  int32 // number of its first record
}

// block has records: those of a data block, mostly.
type block interface {
	Rows() int
	Has(column string) bool
	AppendColumns(dst []*column.Vector, p logfile.Pass) error
}

func (b *batch) wrap(err error) error {
	if b.block == nil {
		return err
	}
	return fmt.Errorf("%s: block at offset %d: %w", b.name, b.block.Offset, err)
}

// change is what a plan makes of rows of a row group: they are left out, or log records take their place. A composite takes that of one row.
type change = pqfile.Edit

// drop is what a plan says of base rows that are left out.
const drop = pqfile.LeftOut

// appendChange adds a change behind all others. Rows next to each other make one, if they are left out or the records in their place follow each other.
func appendChange(changes []change, c change) []change {
	n := len(changes)
	if n == 0 || changes[n-1].End() != int(c.Row) || c.With >= merge.FirstComposite {
		return append(changes, c)
	}
	last := &changes[n-1]
	if follows := last.With == drop && c.With == drop || last.With != drop && last.With+last.Rows == c.With; !follows {
		return append(changes, c)
	}
	last.Rows += c.Rows
	return changes
}

// between are the changes of the rows from one to another. Those that begin or end outside are cut.
func between(changes []change, from, to int) []change {
	i := firstBehind(changes, from)
	j := i
	for j < len(changes) && int(changes[j].Row) < to {
		j++
	}
	out := changes[i:j]
	if len(out) == 0 || int(out[0].Row) >= from && out[len(out)-1].End() <= to {
		return out
	}
	out = slices.Clone(out)
	out[0] = out[0].Cut(from, to)
	out[len(out)-1] = out[len(out)-1].Cut(from, to)
	return out
}

// firstBehind is the number of the first change that does not end before a row.
func firstBehind(changes []change, row int) int {
	i, _ := slices.BinarySearchFunc(changes, row, func(c change, row int) int { return cmp.Compare(c.End()-1, row) })
	return i
}

// plan is what becomes of the rows of a slice.
type plan struct {
	batches []batch
	records int32 // how many there are
	content int64 // bytes of the encoded records
	// composites are rows put together from others.
	composites []merge.Composite
	// groups has the changes of each row group of the base file, in the order of its rows.
	groups  [][]change
	dropped []int // rows of each row group
	inserts []int32
	// left watches the base rows of each row group that do not stay.
	left []left
	// key is the column by which rows were met, if it is one: a change that leaves a row keeps its value. nil elsewhere.
	key *schema.Node
	// kept are columns of all records that were decoded for the plan, by leaf, as far as they are wanted later.
	kept map[int]*recordColumn
	// facts are what is known of the columns of all records, by leaf, where somebody asks.
	facts []logfile.Facts
	// large says that the log records are so many bytes that not even one column of them is in memory as a whole.
	large bool
}

// changes are those of a row group that change a column.
func (p *plan) changes(group int, leaf *schema.Node) []change {
	if leaf != p.key {
		return p.groups[group]
	}
	var drops []change
	for _, c := range p.groups[group] {
		if c.With == drop {
			drops = append(drops, c)
		}
	}
	return drops
}

// maxContent limits the log blocks of a slice: what becomes of each record is in memory while it is rendered.
const maxContent = int64(4 << 30)

// maxMergerContent is the same where a Merger sees the values of the records: they are in memory, and each column of them must stay below the
// 4 GiB that the offsets of a vector reach.
const maxMergerContent = int64(2 << 30)

// checkEvery is how many rows are planned between two looks at the context.
const checkEvery = 1 << 16

// plan reads the keys of the slice and merges them. Where keep is not nil, the columns that it names are read and kept beside, and facts
// gathered of all.
func (in *Input) plan(ctx context.Context, keep []int) (*plan, error) {
	p := &plan{}
	blocks, err := in.open(p)
	if err != nil {
		return nil, err
	}
	log := merge.NewLog(in.Rules)
	pl := planner{in: in, plan: p, keep: keep, order: newOrdering(in.Target, in.Ordering), log: log, turns: newTurns(in, blocks)}
	if in.Merger != nil && len(blocks) > 0 {
		pl.versions = in.versions(p, log)
		if err := pl.versions.read(ctx); err != nil {
			return nil, err
		}
		log.WithMerger(in.Merger, pl.versions)
	}
	if len(blocks) > 0 || in.Keys != nil {
		if pl.keys, err = newKeyReader(in.Key, in.Target); err != nil {
			return nil, err
		}
	}
	if pl.positions, pl.entered, err = in.positions(blocks); err != nil {
		return nil, err
	}
	if keys := pl.keys; keys != nil && pl.positions == nil && in.Merger == nil && len(keys.leaves) == 1 && keys.leaves[0].Scalar.Text {
		p.key = keys.leaves[0]
	}
	if err := pl.decode(ctx); err != nil {
		return nil, err
	}
	if in.Base != nil {
		p.groups = make([][]change, in.Base.Groups())
		p.left = make([]left, in.Base.Groups())
	}
	for pl.turns.next() {
		if pl.turns.at > 0 {
			log.Restart()
		}
		log.Reserve(pl.turns.keys)
		if err := pl.turn(ctx, blocks); err != nil {
			return nil, err
		}
	}
	pl.turns.join(p)
	for _, changes := range p.groups {
		n := 0
		for _, c := range changes {
			if c.With == drop {
				n += int(c.Rows)
			}
		}
		p.dropped = append(p.dropped, n)
	}
	p.composites = log.Composites()
	return p, log.Err()
}

// turn merges the keys of one turn: folds their log records, and meets the base rows with what is left.
func (pl *planner) turn(ctx context.Context, blocks []batch) error {
	for i := range blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := &blocks[i]
		var err error
		if b.data == nil {
			err = pl.deletes(i, b)
		} else {
			err = pl.records(ctx, i, b)
		}
		if err != nil {
			return b.wrap(err)
		}
	}
	row := int64(0)
	for g := range pl.plan.groups {
		changes, err := pl.group(ctx, g, row)
		if err != nil {
			return fmt.Errorf("%s: %w", pl.in.BaseName, err)
		}
		if pl.turns.count > 1 {
			changes = append(pl.plan.groups[g], changes...)
		}
		pl.plan.groups[g] = changes
		row += pl.in.Base.GroupRows(g)
	}
	pl.turns.end(pl.plan, pl.log)
	return nil
}

// open opens the data blocks and numbers their records. Delete blocks come among them, without data.
func (in *Input) open(p *plan) ([]batch, error) {
	var all []batch
	content, limit := int64(0), maxContent
	if in.Merger != nil {
		limit = maxMergerContent
	}
	for _, r := range in.Blocks {
		if content += r.Block.ContentLength; content > limit {
			return nil, fmt.Errorf("%w: %s: log blocks of more than %d bytes in one file slice", logfile.ErrUnsupported, in.BaseName, limit)
		}
		b := batch{name: in.Logs[r.Log].Name, reader: in.Logs[r.Log].Reader, block: r.Block, first: p.records}
		if r.Block.Type != logfile.DeleteBlock {
			data, err := logfile.OpenData(b.reader, *r.Block)
			if err != nil {
				return nil, b.wrap(err)
			}
			if b.data = data; data.Rows() >= int(merge.FirstComposite-p.records) {
				return nil, b.wrap(fmt.Errorf("%w: more than 2^30 log records in one file slice", logfile.ErrUnsupported))
			}
			p.records += int32(b.data.Rows())
			p.content += r.Block.ContentLength
			p.batches = append(p.batches, b)
		}
		all = append(all, b)
	}
	p.large = in.Merger == nil && p.content > 2*windowBytes
	return all, nil
}

type planner struct {
	in    *Input
	plan  *plan
	keep  []int // columns of log records to be kept; where it is not nil, facts are gathered of all
	keys  *keyReader
	order ordering
	log   *merge.Log
	// positions are the base rows that the entries of each block belong to; nil where keys tell. entered are those of all blocks, sorted.
	positions [][]uint64
	entered   []uint64
	// key and ordering are buffers.
	key, ordering []byte
	versions      *versions // for a Merger; nil without one

	flags    []flag
	sequence *schema.Node // nil without one
	// row has the columns of the log records that the plan looks at, where they are kept; want are those columns elsewhere.
	row    *rowView
	want   []int
	looked []*column.Vector // those of some records of a block, by want
	turns  *turns
}

// decode reads the columns of the log records that the plan looks at.
func (pl *planner) decode(ctx context.Context) error {
	pl.flags, pl.sequence = pl.in.flags(), pl.in.sequence()
	if pl.keep != nil || pl.plan.large {
		pl.plan.facts = make([]logfile.Facts, len(pl.in.Target.Leaves))
	}
	if len(pl.plan.batches) == 0 {
		return nil
	}
	want := append(pl.keys.wanted(), pl.order.wanted()...)
	for _, f := range pl.flags {
		want = append(want, f.leaf.Index)
	}
	if pl.sequence != nil {
		want = append(want, pl.sequence.Index)
	}
	if pl.keep == nil || pl.plan.large {
		slices.Sort(want)
		if pl.want = slices.Compact(want); pl.plan.facts == nil {
			return nil
		}
		_, err := pl.plan.decode(ctx, pl.in.Target, nil, pl.plan.facts)
		return err
	}
	want = append(want, pl.keep...)
	slices.Sort(want)
	columns, err := pl.plan.decode(ctx, pl.in.Target, slices.Compact(want), pl.plan.facts)
	if err != nil {
		return err
	}
	pl.row = &rowView{columns: columns}
	if len(pl.keep) > 0 {
		pl.plan.kept = columns
	}
	return nil
}

// decode reads columns of all records.
func (p *plan) decode(ctx context.Context, target *schema.Message, leaves []int, facts []logfile.Facts) (map[int]*recordColumn, error) {
	vectors := make([]*column.Vector, len(leaves))
	for i, l := range leaves {
		vectors[i] = column.New(target.Leaves[l].Leaf)
	}
	for _, b := range p.batches {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var found []logfile.Facts
		if facts != nil {
			found = make([]logfile.Facts, len(facts))
		}
		pass := logfile.Pass{Target: target, Leaves: leaves, All: logfile.Expected{Rows: int(p.records), Bytes: p.content}, Facts: found}
		if err := b.data.AppendColumns(vectors, pass); err != nil {
			return nil, b.wrap(err)
		}
		for l, f := range found {
			facts[l].Bytes += f.Bytes
			if f.Nulls < 0 || facts[l].Nulls < 0 || len(target.Leaves[l].Path) > 1 {
				facts[l].Nulls = -1
			} else {
				facts[l].Nulls += f.Nulls
			}
		}
	}
	return columnsOf(leaves, vectors), nil
}

// columnsOf are columns of records by leaf.
func columnsOf(leaves []int, vectors []*column.Vector) map[int]*recordColumn {
	out := make(map[int]*recordColumn, len(leaves))
	for i, l := range leaves {
		out[l] = &recordColumn{vector: vectors[i], index: column.NewIndex(vectors[i])}
	}
	return out
}

func (pl *planner) deletes(block int, b *batch) error {
	entries := 0
	var ordering []byte
	for d, err := range logfile.Deletes(b.reader, *b.block) {
		if err != nil {
			return err
		}
		pl.turns.entry++
		entries++
		if pl.in.Keys != nil && !pl.in.Keys[string(d.Key)] {
			continue
		}
		key := d.Key
		if pl.positions != nil {
			if entries > len(pl.positions[block]) {
				break
			}
			pl.key = positionKey(pl.key[:0], pl.positions[block][entries-1])
			key = pl.key
		}
		if !pl.turns.has(key) {
			continue
		}
		e := merge.Entry{Delete: true}
		ordering, e.Unordered = pl.order.deleted(ordering[:0], d.Ordering)
		e.Ordering = ordering
		if pl.in.Sequence != "" && len(d.Ordering) == 1 {
			e.Sequence = sequenceOf(d.Ordering[0].Bytes, true)
		}
		pl.fold(key, e)
	}
	if pl.positions != nil && entries != len(pl.positions[block]) {
		return fmt.Errorf("%w: %d positions for %d deletes or more", logfile.ErrCorrupt, len(pl.positions[block]), entries)
	}
	return nil
}

// fold adds an entry of one of the turn's keys.
func (pl *planner) fold(key []byte, e merge.Entry) {
	known := pl.log.Len()
	pl.log.Add(key, e)
	if pl.log.Len() > known {
		pl.turns.came()
	}
}

// records folds the records of a data block.
func (pl *planner) records(ctx context.Context, block int, b *batch) error {
	rows := b.data.Rows()
	if pl.positions != nil && rows != len(pl.positions[block]) {
		return fmt.Errorf("%w: %d positions for %d records", logfile.ErrCorrupt, len(pl.positions[block]), rows)
	}
	if rows > 0 && b.block.Partial() {
		pl.log.Partial()
	}
	if pl.row != nil {
		return pl.addRecords(block, b, pl.row, 0, rows, int(b.first))
	}
	return pl.eachView(ctx, b, func(row *rowView, from, to int) error { return pl.addRecords(block, b, row, from, to, -from) })
}

// eachView decodes what the plan looks at of the records of a block, as many at once as go into memory.
func (pl *planner) eachView(ctx context.Context, b *batch, f func(row *rowView, from, to int) error) error {
	rows := b.data.Rows()
	atOnce := rows
	if pl.plan.large {
		atOnce = int(max(int64(rows)*windowBytes/max(b.block.ContentLength, 1), 1))
	}
	for from := 0; from < rows; from += atOnce {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := min(from+atOnce, rows)
		row, err := pl.look(b, from, to)
		if err != nil {
			return err
		}
		if err := f(row, from, to); err != nil {
			return err
		}
	}
	return nil
}

// look decodes what the plan looks at of some records of a block. It is valid until it is called again.
func (pl *planner) look(b *batch, from, to int) (*rowView, error) {
	pass := logfile.Pass{Target: pl.in.Target, Leaves: pl.want, All: logfile.Expected{Rows: to - from, Bytes: pl.plan.content}}
	if to-from < b.data.Rows() {
		for i := from; i < to; i++ {
			pass.Only = append(pass.Only, int32(i))
		}
	}
	if pl.looked == nil {
		for _, l := range pl.want {
			pl.looked = append(pl.looked, column.New(pl.in.Target.Leaves[l].Leaf))
		}
	}
	for _, v := range pl.looked {
		v.Reset()
	}
	if err := b.data.AppendColumns(pl.looked, pass); err != nil {
		return nil, err
	}
	return &rowView{columns: columnsOf(pl.want, pl.looked)}, nil
}

// addRecords folds some records of a block: record i is row i+shift of the view.
func (pl *planner) addRecords(block int, b *batch, row *rowView, from, to, shift int) error {
	partial := b.block.Partial()
	var key, ordering []byte
	for i := from; i < to; i++ {
		pl.turns.entry++
		row.at = i + shift
		if pl.elsewhere(row.get) {
			continue
		}
		var ok bool
		if pl.positions != nil {
			key = positionKey(key[:0], pl.positions[block][i])
		} else if key, ok = pl.keys.key(key[:0], row.get); !ok {
			return fmt.Errorf("%w: record %d has no record key", logfile.ErrCorrupt, i)
		}
		if !pl.turns.has(key) {
			continue
		}
		e := merge.Entry{Record: b.first + int32(i), Partial: partial}
		ordering, e.Unordered = pl.order.row(ordering[:0], row.get)
		e.Ordering = ordering
		if pl.sequence != nil {
			e.Sequence = sequenceOf(row.get(pl.sequence.Index))
		}
		for _, f := range pl.flags {
			if v, ok := row.get(f.leaf.Index); ok && f.deletes(v) {
				e.Delete = true
			}
		}
		e.Unordered = e.Unordered && e.Delete
		pl.fold(key, e)
	}
	return nil
}

// flag is a column that marks deletes.
type flag struct {
	leaf    *schema.Node
	deletes func(v []byte) bool
}

func (in *Input) flags() []flag {
	var out []flag
	d := in.Deletes
	if d.Field != "" {
		if n := in.Target.Find(d.Field); n != nil {
			out = append(out, flag{n, func(v []byte) bool {
				t := text(n, v)
				return t == d.Marker || d.FoldCase && strings.EqualFold(t, d.Marker)
			}})
		}
	}
	if d.MarkerOnly {
		return out
	}
	if n := in.Target.Leaf(schema.IsDeleted); n != nil && n.Scalar.Kind == column.Bool {
		out = append(out, flag{n, func(v []byte) bool { return v[0] != 0 }})
	}
	if n := in.Target.Leaf(schema.Operation); n != nil {
		out = append(out, flag{n, func(v []byte) bool { return string(v) == "D" || string(v) == "-U" }})
	}
	return out
}

// rowView gets at the values of one row of several columns.
type rowView struct {
	columns map[int]*recordColumn // by leaf
	at      int
}

func (r *rowView) get(leaf int) ([]byte, bool) {
	c := r.columns[leaf]
	s := c.index.Span(r.at, r.at+1)
	if s.V1 == s.V0 {
		return nil, false
	}
	return c.vector.Value(s.V0), true
}

// maxGroupRows is how many rows of a row group changes have numbers for: their end is one too.
const maxGroupRows = math.MaxInt32

// group meets the rows of a row group, the first of which is row number first of the file, with the log.
func (pl *planner) group(ctx context.Context, g int, first int64) ([]change, error) {
	in, log := pl.in, pl.log
	if log.Len() == 0 && in.Only == nil && in.Keys == nil {
		return nil, nil
	}
	n := in.Base.GroupRows(g)
	if n > maxGroupRows {
		return nil, fmt.Errorf("%w: %s: row group %d of %d rows, of which at most %d can be merged", logfile.ErrUnsupported, in.BaseName, g, n, int64(maxGroupRows))
	}
	time := in.Target.Leaf(schema.CommitTime)
	left := pl.watch(g)
	rows := in.rows(g, append(pl.wantedOfBase(), left.wanted()...))
	if pl.versions != nil {
		pl.versions.base = rows
	}
	unread, err := pl.unread(g)
	if err != nil {
		return nil, err
	}
	out := make([]change, 0, min(int64(log.Len()), n))
	for looked, i := range pl.lookedAt(first, int32(n)) {
		if looked%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := rows.enter(int64(i)); err != nil {
			return nil, err
		}
		if pl.turns.count > 1 {
			if key, _ := pl.baseKey(rows, first+int64(i)); !pl.turns.has(key) {
				continue
			}
		}
		if unread(int64(i)) || pl.elsewhere(rows.get) {
			out = appendChange(out, change{Row: i, Rows: 1, With: drop})
			continue
		}
		dropped := false
		if in.Only != nil {
			v, ok := rows.get(time.Index)
			dropped = !ok || !pl.wanted(string(v))
		}
		to, changed := int32(0), false
		if log.Len() > 0 && (!dropped || in.OnlyAfter) {
			to, changed = pl.meet(rows, first+int64(i))
		}
		switch {
		case changed:
			out = appendChange(out, change{Row: i, Rows: 1, With: to})
			left.row(rows)
		case dropped:
			out = appendChange(out, change{Row: i, Rows: 1, With: drop})
		}
	}
	return out, rows.err
}

// unread tells of rows of a row group, asked for in their order, whether Hudi never reads them where base rows are left out only after they met the log:
// Spark hands the condition for their commit time to the Parquet reader, and what that leaves out as a whole, by bounds of row groups and pages, meets
// nothing. Log records with the keys of such rows are new rows then, even those that would have lost against them (MergeOnReadIncrementalRelation of 0.x).
func (pl *planner) unread(g int) (func(row int64) bool, error) {
	in := pl.in
	if !in.OnlyAfter || len(in.Only) == 0 {
		return func(int64) bool { return false }, nil
	}
	var read []pqfile.RowRange // none where the file lacks the column
	var err error
	if time := in.maps[in.Target.Leaf(schema.CommitTime).Index]; time.Source >= 0 {
		read, err = in.Base.Filtered(g, time.Source, []byte(in.Only[0]), []byte(in.Only[len(in.Only)-1]))
	}
	return func(row int64) bool {
		for len(read) > 0 && read[0].To <= row {
			read = read[1:]
		}
		return len(read) == 0 || row < read[0].From
	}, err
}

// lookedAt gives those of n base rows, the first of which is row number first of the file, that the plan has to look at, numbered: all, or where positions
// tell and the log alone decides, those that it has entries of.
func (pl *planner) lookedAt(first int64, n int32) iter.Seq2[int, int32] {
	if pl.positions == nil || pl.in.Only != nil || pl.in.Keys != nil {
		return func(yield func(int, int32) bool) {
			for i := range n {
				if !yield(int(i), i) {
					return
				}
			}
		}
	}
	from, _ := slices.BinarySearch(pl.entered, uint64(first))
	to, _ := slices.BinarySearch(pl.entered, uint64(first)+uint64(n))
	return func(yield func(int, int32) bool) {
		for i, position := range pl.entered[from:to] {
			if !yield(i, int32(position-uint64(first))) {
				return
			}
		}
	}
}

// left are columns of a row group whose rows that do not stay are looked at.
type left []leftColumn

type leftColumn struct {
	leaf int
	rows *pqfile.Left
}

func (l left) wanted() (leaves []int) {
	for _, column := range l {
		leaves = append(leaves, column.leaf)
	}
	return leaves
}

// row says that the current row does not stay.
func (l left) row(rows *rows) {
	for _, column := range l {
		if v, ok := rows.get(column.leaf); ok {
			column.rows.Value(v)
		}
	}
}

// watch watches the numbers of a row group that readers skip rows by, where the log alone decides which rows stay.
func (pl *planner) watch(g int) left {
	in, found := pl.in, &pl.plan.left[g]
	if in.Only != nil || in.Keys != nil || *found != nil {
		return *found // of earlier turns
	}
	for _, leaf := range in.pruning() {
		n := in.Target.Leaves[leaf]
		if file, by := in.from(n); n.Leaf.Width() > 0 && by.ValuesKept() && (file == in.Base || in.aligned) {
			*found = append(*found, leftColumn{leaf, pqfile.NewLeft(file, g, by.Source)})
		}
	}
	return *found
}

// meet meets a base row with the log.
func (pl *planner) meet(rows *rows, number int64) (to int32, changed bool) {
	key, ok := pl.baseKey(rows, number)
	if !ok {
		return 0, false
	}
	entry, ok := pl.log.Find(key)
	if !ok {
		return 0, false
	}
	if pl.sequence != nil {
		pl.ordering = sequenceOf(rows.get(pl.sequence.Index))
	} else {
		pl.ordering, _ = pl.order.row(pl.ordering[:0], rows.get)
	}
	switch verdict, record := pl.log.Meet(entry, pl.ordering); verdict {
	case merge.Drop:
		return drop, true
	case merge.Replace:
		return record, true
	case merge.Keep:
	}
	return 0, false
}

// baseKey is what a base row is met by; ok is false for one that has no key. It is valid until the next is asked for.
func (pl *planner) baseKey(rows *rows, number int64) (key []byte, ok bool) {
	if pl.positions != nil {
		pl.key = positionKey(pl.key[:0], uint64(number))
		return pl.key, true
	}
	pl.key, ok = pl.keys.key(pl.key[:0], rows.get)
	return pl.key, ok
}

// wantedOfBase lists the columns of the base file that decide about its rows.
func (pl *planner) wantedOfBase() []int {
	in := pl.in
	var want []int
	if pl.log.Len() > 0 || pl.turns.count > 1 || in.Keys != nil {
		want = append(pl.keys.wanted(), pl.order.wanted()...)
	}
	if pl.sequence != nil {
		want = append(want, pl.sequence.Index)
	}
	if in.Only != nil {
		want = append(want, in.Target.Leaf(schema.CommitTime).Index)
	}
	if pl.versions != nil {
		want = append(want, in.primitives()...)
	}
	return want
}

// elsewhere tells whether a row has none of the keys that are wanted.
func (pl *planner) elsewhere(value func(leaf int) ([]byte, bool)) bool {
	if pl.in.Keys == nil {
		return false
	}
	key, ok := pl.keys.key(pl.key[:0], value)
	pl.key = key
	return !ok || !pl.in.Keys[string(key)]
}

func (pl *planner) wanted(commit string) bool {
	_, ok := slices.BinarySearch(pl.in.Only, commit)
	return ok
}
