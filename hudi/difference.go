package hudi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/hudifs/hudifs/internal/render"
	"github.com/hudifs/hudifs/internal/rowdiff"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/timeline"
)

// differenceFile begins the names of the files of a difference: there is one for each partition.
const differenceFile = "diff"

// hasKeys tells whether rows of the table can be matched.
func (st *state) hasKeys() bool {
	return st.config.PopulateMetaFields || len(st.config.RecordKeys) > 0
}

func (t *Table) resolveDifference(ctx context.Context, st *state, a, b string) (*scope, error) {
	before, err := t.stateAt(ctx, st, a)
	if err != nil {
		return nil, err
	}
	after, err := t.stateAt(ctx, st, b)
	if err != nil {
		return nil, err
	}
	if !st.hasKeys() {
		return nil, fmt.Errorf("%w: diff: the table has neither meta fields (hoodie.populate.meta.fields=false) nor record key columns "+
			"(hoodie.table.recordkey.fields), so nothing tells which rows belong together", ErrRefused)
	}
	return &scope{before: before, after: after, newest: max(before.scope.newest, after.scope.newest)}, nil
}

// stateAt is a view of the table as of an instant. Before everything it is empty, whatever the cleaner has removed.
func (t *Table) stateAt(ctx context.Context, st *state, text string) (*View, error) {
	at, err := t.parse(st, text)
	if err != nil {
		return nil, err
	}
	v := &View{t: t, st: st, query: AsOf(text)}
	if at == timeline.Earliest {
		v.scope = &scope{at: at, only: []string{}}
		return v, nil
	}
	v.scope, err = t.resolveAsOf(ctx, st, text)
	return v, err
}

// Differences lists the times between which Difference can be asked, oldest first: the servable instants. There is none where rows
// have no keys.
func (t *Table) Differences(ctx context.Context) ([]string, error) {
	st := t.current()
	if !st.hasKeys() {
		return nil, nil
	}
	in, err := t.servable(ctx, st)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(in))
	for i := range in {
		out[i] = in[i].Time
	}
	return out, nil
}

// listDifference makes a file for each partition with file slices that are not the same in both states. Both are read in the schema of
// the newer one.
func (v *View) listDifference(ctx context.Context) (*content, error) {
	newer, older := v.scope.after, v.scope.before
	swapped := newer.scope.at != "" && (older.scope.at == "" || older.scope.at > newer.scope.at)
	if swapped {
		newer, older = older, newer
	}
	newerFiles, table, err := newer.show(ctx)
	if err != nil {
		return nil, err
	}
	olderFiles, _, err := older.show(ctx) // refused as that state is by itself
	if err != nil {
		return nil, err
	}
	older.evolved = newer.evolved
	before, after := olderFiles, newerFiles
	if swapped {
		before, after = after, before
	}
	d := differences{v: v, table: table, parts: map[string]*differing{}}
	if d.output, err = rowdiff.Schema(table); err != nil {
		return nil, err
	}
	if d.key, err = v.keyLeaves(table); err != nil {
		return nil, err
	}
	if d.replaced, err = v.st.tl.Replaced(ctx); err != nil {
		return nil, err
	}
	d.find(before, after)
	files, err := d.files(ctx)
	if err != nil {
		return nil, err
	}
	return v.contentOf(files, d.output), nil
}

// keyLeaves are the columns that make up a row's key: the meta field, or where the table does not fill it those that it is made of.
func (v *View) keyLeaves(table *schema.Message) ([]int, error) {
	names := []string{schema.RecordKey}
	if !v.st.config.PopulateMetaFields {
		names = v.st.config.RecordKeys
	}
	var out []int
	for _, name := range names {
		n := table.Find(name)
		if n == nil {
			return nil, fmt.Errorf("%w: %v: the table has no column %s, which its record keys are made of", ErrUnsupported, v.query, name)
		}
		out = append(out, n.Index)
	}
	return out, nil
}

// differences collects the file slices that differ between two states.
type differences struct {
	v             *View
	table, output *schema.Message
	key           []int
	replaced      map[timeline.FileGroup]string
	parts         map[string]*differing
}

// differing are the slices of a partition that differ, and makes its file.
type differing struct {
	d             *differences
	id            [32]byte
	before, after []*File
}

func (d *differences) part(f *File) *differing {
	p := d.parts[f.partition]
	if p == nil {
		p = &differing{d: d}
		d.parts[f.partition] = p
	}
	return p
}

func (d *differences) find(before, after []*File) {
	old := map[timeline.FileGroup]*File{}
	for _, f := range before {
		old[f.group()] = f
	}
	for _, f := range after {
		if o := old[f.group()]; o != nil && o.sameSlice(f) {
			delete(old, f.group())
			continue
		}
		p := d.part(f)
		p.after = append(p.after, f)
	}
	for _, f := range before {
		if old[f.group()] != nil {
			p := d.part(f)
			p.before = append(p.before, f)
		}
	}
}

func (f *File) group() timeline.FileGroup {
	return timeline.FileGroup{Partition: f.partition, FileID: f.fileID}
}

// sameSlice tells whether two files of one group show the same files of the table and the same of what is in them. A slice whose log files can't be
// read is like no other.
func (f *File) sameSlice(o *File) bool {
	if f.broken != nil || o.broken != nil || (f.base == nil) != (o.base == nil) {
		return false
	}
	if f.base != nil && f.base.Name != o.base.Name {
		return false
	}
	return slices.Equal(f.parts, o.parts) && slices.Equal(f.instants, o.instants)
}

// files makes the files of all partitions.
func (d *differences) files(ctx context.Context) ([]*File, error) {
	var out []*File
	for _, partition := range slices.Sorted(maps.Keys(d.parts)) {
		p := d.parts[partition]
		f := &File{v: d.v, partition: partition, fileID: differenceFile, target: d.output, merging: &merging{made: p}}
		h := sha256.New()
		fmt.Fprintf(h, "%d %d difference %v\n", render.Version, rowdiff.Version, d.key)
		for side, files := range [][]*File{p.before, p.after} {
			for _, s := range files {
				s.target = d.table
				if err := s.findSize(ctx); err != nil {
					return nil, err
				}
				s.identify()
				fmt.Fprintf(h, "%d %x\n", side, s.id)
				f.instants = append(f.instants, s.Instant())
				if r, ok := d.replaced[s.group()]; ok && side == 0 && d.v.scope.after.scope.wants(r) {
					f.instants = append(f.instants, r)
				}
			}
		}
		f.hashTarget(h)
		h.Sum(f.id[:0])
		p.id = f.id
		slices.Sort(f.instants)
		f.name = fmt.Sprintf("%s_%s_%s.parquet", differenceFile, hex.EncodeToString(f.id[:6]), f.Instant())
		out = append(out, f)
	}
	return out, nil
}

func (p *differing) input() *rowdiff.Input {
	in := &rowdiff.Input{Table: p.d.table, Output: p.d.output, Key: p.d.key}
	for _, f := range p.before {
		in.Before = append(in.Before, f.rows)
	}
	for _, f := range p.after {
		in.After = append(in.After, f.rows)
	}
	return in
}

// rows opens the rows of a file slice.
func (f *File) rows(ctx context.Context) (rowdiff.Rows, func(), error) {
	in, done, err := f.input(ctx)
	if err != nil {
		return nil, nil, err
	}
	m, err := in.Merge(ctx)
	if err != nil {
		done()
		return nil, nil, err
	}
	return m, done, nil
}

// compared is what is remembered of a comparison.
type compared struct {
	result *rowdiff.Result
	size   int64
}

// compare compares the rows, unless that is remembered.
func (p *differing) compare(ctx context.Context) (*compared, error) {
	memo := p.d.v.t.opts.Memo
	key := fmt.Sprintf("difference %x", p.id)
	if m, ok := memo.Get(key); ok {
		return m.(*compared), nil
	}
	in := p.input()
	c := &compared{}
	var err error
	if c.result, err = in.Compare(ctx); err != nil {
		return nil, err
	}
	if c.size, err = in.Measure(ctx, c.result); err != nil {
		return nil, err
	}
	memo.Put(key, c, c.result.Memory())
	return c, nil
}

// measure makes the file: nothing cheaper tells how many rows differ.
func (p *differing) measure(ctx context.Context) (size int64, bounded bool, err error) {
	c, err := p.compare(ctx)
	if err != nil {
		return 0, false, err
	}
	return c.size, false, nil
}

func (p *differing) write(ctx context.Context, w io.WriterAt, size int64) error {
	c, err := p.compare(ctx)
	if err != nil {
		return err
	}
	return p.input().Write(ctx, c.result, w, size)
}
