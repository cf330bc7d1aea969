package hudi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/hudifs/hudifs/internal/fsview"
	"github.com/hudifs/hudifs/internal/lazy"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/timeline"
	"github.com/hudifs/hudifs/storage"
)

// maxFiles bounds the files of a view. They take half a kilobyte of memory each.
const maxFiles = 1 << 22

// View is the answer to a query, frozen at the moment it was made: a set of files, all of one Parquet schema. It may be used from many
// goroutines.
type View struct {
	t     *Table
	st    *state
	query Query
	scope *scope

	content lazy.Value[*content]
	// Set when the content is made:
	evolved  *evolution
	complete func(ctx context.Context) error // nil where it is

	fitOnce sync.Once
	fitID   [32]byte // see fit
}

// content is what a view lists.
type content struct {
	target     *schema.Message
	partitions []string
	files      map[string][]*File
}

// View resolves a query. Errors: ErrBadName for a text that is no instant, ErrRefused and ErrCleaned for a query without an answer to rely on.
func (t *Table) View(ctx context.Context, q Query) (*View, error) {
	st := t.current()
	s, err := t.resolve(ctx, st, q)
	if err != nil {
		return nil, err
	}
	return &View{t: t, st: st, query: q, scope: s}, nil
}

// Query is what the view answers.
func (v *View) Query() Query { return v.query }

// State names the state of the table that the view shows: the same for equal properties and timelines, on every host.
func (v *View) State() string { return v.st.name }

// Instant is the requested time of the newest write that the view may show, "" where there is none.
func (v *View) Instant() string { return v.scope.newest }

// Partitions are the paths of the partitions that have files in the view, sorted.
func (v *View) Partitions(ctx context.Context) ([]string, error) {
	c, err := v.load(ctx)
	if err != nil {
		return nil, err
	}
	return c.partitions, nil
}

// Files are the files of a partition, ordered by file group.
func (v *View) Files(ctx context.Context, partition string) ([]*File, error) {
	c, err := v.load(ctx)
	if err != nil {
		return nil, err
	}
	return c.files[partition], nil
}

func (v *View) load(ctx context.Context) (*content, error) {
	return v.content.Get(ctx, func(ctx context.Context) (*content, error) {
		c, err := v.list(ctx)
		if errors.Is(err, storage.ErrNotExist) && !errors.Is(err, ErrCleaned) {
			err = fmt.Errorf("%w: %v: %w", ErrCleaned, v.query, err) // what the timeline of before tells of
		}
		return c, class(err)
	})
}

func (v *View) list(ctx context.Context) (*content, error) {
	if v.query.kind == difference {
		return v.listDifference(ctx)
	}
	if v.query.kind == changeData {
		return v.listChanges(ctx)
	}
	files, target, err := v.show(ctx)
	if err != nil {
		return nil, err
	}
	if files, err = v.settle(ctx, files, target); err != nil {
		return nil, err
	}
	return v.contentOf(files, target), nil
}

// show finds the file slices that the view shows, and the schema that it shows them in.
func (v *View) show(ctx context.Context) ([]*File, *schema.Message, error) {
	table, names, err := v.tableSchema(ctx)
	if err != nil {
		return nil, nil, err
	}
	v.evolved = names
	files, err := v.slices(ctx)
	if err != nil {
		return nil, nil, err
	}
	if table == nil {
		if table, err = v.schemaOfFiles(ctx, files); err != nil {
			return nil, nil, err
		}
	}
	like, err := v.reference(ctx, files)
	if err != nil {
		return nil, nil, err
	}
	if v.st.config.DropPartitionColumns {
		table = partitionFields(table, v.st.config)
	}
	target, err := schema.Target(table, like)
	return files, target, err
}

// contentOf sorts files by partition, in which they come in order. A view without files has an empty one.
func (v *View) contentOf(files []*File, target *schema.Message) *content {
	c := &content{target: target, files: map[string][]*File{}}
	for len(files) > 0 {
		p, n := files[0].partition, 1
		for n < len(files) && files[n].partition == p {
			n++
		}
		c.files[p], files = files[:n:n], files[n:]
		c.partitions = append(c.partitions, p)
	}
	if len(c.partitions) == 0 {
		c.files[""] = []*File{v.emptyFile(target)}
		c.partitions = []string{""}
	}
	return c
}

// tableSchema is the schema that commits state, with the meta fields, nil where only data files can tell, and the history of
// its columns.
func (v *View) tableSchema(ctx context.Context) (*schema.Type, *evolution, error) {
	at := ""
	if v.query.kind == asOf {
		at = v.scope.at
	}
	text, source, err := v.st.tl.SchemaAt(ctx, at)
	if err != nil || text == "" {
		return nil, nil, err
	}
	table, err := schema.ParseAvro(text)
	if err != nil {
		return nil, nil, fmt.Errorf("table schema of %s: %w", source, err)
	}
	if table.Kind != schema.Record {
		return nil, nil, fmt.Errorf("table schema of %s: %w: a %v", source, schema.ErrInvalid, table.Kind)
	}
	names, err := v.evolution(ctx, source)
	return v.withMeta(table), names, err
}

// withMeta adds the meta fields, unless the table does not fill them: then Hudi does not show them either.
func (v *View) withMeta(table *schema.Type) *schema.Type {
	if v.st.config.PopulateMetaFields {
		return schema.WithMeta(table)
	}
	return schema.WithoutMeta(table)
}

// slices finds the file slices that the view shows.
func (v *View) slices(ctx context.Context) ([]*File, error) {
	if v.scope.only != nil {
		if len(v.scope.only) == 0 {
			return nil, nil
		}
		if err := v.checkRange(ctx); err != nil {
			return nil, err
		}
	}
	replaced, err := v.st.tl.Replaced(ctx)
	if err != nil {
		return nil, err
	}
	lister, err := v.lister(ctx)
	if err != nil {
		return nil, err
	}
	l := listing{v: v, lister: lister, replaced: replaced}
	files, err := l.list(ctx)
	for attempt := 1; errors.Is(err, storage.ErrNotExist) && attempt < listAttempts; attempt++ {
		l.unsettled = err
		files, err = l.list(ctx)
	}
	if err != nil {
		return nil, err
	}
	if v.st.past {
		v.complete = l.check
		return files, nil
	}
	return files, l.check(ctx)
}

// listAttempts is how often a table is listed whose partitions go while it is listed.
const listAttempts = 3

// listing is how a view's files are found.
type listing struct {
	v        *View
	lister   fsview.Lister
	replaced map[timeline.FileGroup]string

	files     []*File
	others    map[timeline.FileGroup]string // the instants of the slices that were looked at, save those of the base files of files
	unsettled error                         // says which folder went while it was listed, nil where none did
}

// list finds the files of all partitions. A folder that goes meanwhile is storage.ErrNotExist.
func (l *listing) list(ctx context.Context) ([]*File, error) {
	var mu sync.Mutex
	l.others = map[timeline.FileGroup]string{}
	partitions := map[string][]*File{}
	count := 0
	// A file that is served as it is needs no size to be listed.
	sizes := l.v.scope.only != nil
	err := l.lister.Walk(ctx, sizes, func(partition string, entries []storage.Entry) error {
		format := fsview.Format{Version: l.v.st.config.Version, Base: fsview.Parquet}
		files, others, err := l.partition(ctx, format, partition, entries)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if count += len(files); count > maxFiles {
			return fmt.Errorf("%w: %v: more than %d files", ErrUnsupported, l.v.query, maxFiles)
		}
		partitions[partition] = files
		maps.Copy(l.others, others)
		return nil
	})
	if err != nil {
		return nil, err
	}
	l.files = make([]*File, 0, count)
	for _, p := range slices.Sorted(maps.Keys(partitions)) {
		l.files = append(l.files, partitions[p]...)
	}
	return l.files, nil
}

// filesAtOnce bounds the files that are allocated together.
const filesAtOnce = 64

// partition finds the files that the view has of the file groups of a partition.
func (l *listing) partition(
	ctx context.Context, format fsview.Format, partition string, entries []storage.Entry,
) (files []*File, others map[timeline.FileGroup]string, err error) {
	others = map[timeline.FileGroup]string{}
	files = make([]*File, 0, len(entries))
	var free []File
	err = fsview.EachGroup(ctx, counting{l.v.st.tl, l.v.scope}, format, partition, entries, func(g fsview.Group) error {
		s, ok := l.slice(&g)
		if !ok {
			return nil
		}
		if len(free) == 0 {
			free = make([]File, min(filesAtOnce, len(entries)))
		}
		f := &free[0]
		free = free[1:]
		f.v, f.partition, f.fileID = l.v, g.Partition, g.FileID
		if ok, err := f.take(ctx, s); err != nil {
			return err
		} else if ok {
			files = append(files, f)
		}
		if f.base == nil || f.base.Instant != s.Instant {
			others[f.group()] = s.Instant
		}
		return nil
	})
	return files, others, err
}

// counting is a timeline of the instants whose files count in a view.
type counting struct {
	*timeline.Timeline
	scope *scope
}

func (c counting) IsCommitted(instant string) bool {
	return c.Timeline.IsCommitted(instant) && !c.scope.amid(instant)
}

// slice is the slice that the view shows of a file group.
func (l *listing) slice(g *fsview.Group) (fsview.Slice, bool) {
	if len(l.replaced) > 0 {
		if by, ok := l.replaced[timeline.FileGroup{Partition: g.Partition, FileID: g.FileID}]; ok && l.v.scope.replaced(by) {
			return fsview.Slice{}, false
		}
	}
	return g.At(l.v.scope.at)
}

// shown are the instants of the slices that were looked at.
func (l *listing) shown() map[timeline.FileGroup]string {
	out := maps.Clone(l.others)
	for _, f := range l.files {
		if _, other := out[f.group()]; !other {
			out[f.group()] = f.base.Instant
		}
	}
	return out
}

// take makes the file that of a slice, and tells whether that has a row in the view.
func (f *File) take(ctx context.Context, s fsview.Slice) (bool, error) {
	f.base = s.Base
	if only := f.v.scope.only; only != nil && s.Base != nil && s.Base.Instant < only[0] {
		f.base = nil // it was written before the range begins
	}
	logs := s.Logs
	if f.v.scope.baseOnly {
		logs = nil
	}
	if err := f.takeLogs(ctx, logs); err != nil {
		return false, err
	}
	return f.base != nil || len(f.logs) > 0, nil
}

// reference is the Parquet schema of the base file with the greatest instant, partition and file id, nil without any that can be read.
func (v *View) reference(ctx context.Context, files []*File) (*schema.Message, error) {
	unreadable := map[*File]bool{}
	for {
		var f *File
		for _, g := range files {
			if g.base != nil && (f == nil || newer(g, f)) && !unreadable[g] {
				f = g
			}
		}
		if f == nil {
			return nil, nil
		}
		m, err := f.footer(ctx)
		if err == nil {
			return v.evolved.names(f.base.Instant).Message(m.Schema), nil
		}
		if passing(ctx, err) {
			return nil, err
		}
		unreadable[f] = true
	}
}

// newer orders files by the instants of their base files, then their partitions and file ids.
func newer(a, b *File) bool {
	return cmp.Or(cmp.Compare(a.base.Instant, b.base.Instant), cmp.Compare(a.partition, b.partition), cmp.Compare(a.fileID, b.fileID)) > 0
}

// schemaOfFiles is the table's schema where neither a commit nor the configuration states it: that of the newest data file.
func (v *View) schemaOfFiles(ctx context.Context, files []*File) (*schema.Type, error) {
	like, err := v.reference(ctx, files)
	if err != nil {
		return nil, err
	}
	if like != nil {
		t, err := like.Type()
		if err != nil {
			return nil, err
		}
		return v.withMeta(t), nil
	}
	for _, f := range slices.Backward(files) {
		text, err := f.blockSchema(ctx)
		if err != nil {
			return nil, err
		}
		if text != "" {
			t, err := schema.ParseAvro(text)
			if err != nil {
				return nil, err
			}
			return v.withMeta(t), nil
		}
	}
	return v.withMeta(&schema.Type{Kind: schema.Record}), nil
}

// settle decides which files are served as they are.
func (v *View) settle(ctx context.Context, files []*File, target *schema.Message) ([]*File, error) {
	var w writers
	out := make([]*File, 0, len(files))
	for _, f := range slices.Backward(files) {
		f.target = target
		some := true
		if f.base != nil && len(f.logs) == 0 {
			var err error
			if some, f.asIs, err = w.settle(ctx, f); err != nil {
				return nil, err
			}
		}
		if !some {
			continue
		}
		if err := f.findSize(ctx); err != nil {
			return nil, err
		}
		f.identify()
		out = append(out, f)
	}
	slices.Reverse(out)
	return out, nil
}

// writers tells of instants whether their base files can be served as they are. Those of one instant come from one writer with one schema, so
// one footer for each instant tells of all of them.
type writers struct {
	known    map[string]bool // whether they are admitted
	instant  string          // that was asked for last
	admitted bool            // whether its are
	asked    bool            // whether a footer told so
}

// settle tells whether a base file has some rows of the view, and whether it is served as it is.
func (w *writers) settle(ctx context.Context, f *File) (some, asIs bool, err error) {
	only := f.v.scope.only != nil
	if !only && w.asked && f.base.Instant == w.instant {
		return true, w.admitted, nil
	}
	admitted, known := w.known[f.base.Instant]
	var m *pqfile.File
	if only || !known {
		if m, err = f.footer(ctx); passing(ctx, err) {
			return false, false, err
		}
		if err == nil && !known {
			admitted, known = f.admitted(m), true
			f.setFit(admitted) // who opens this one need not read it again
			if w.known == nil {
				w.known = map[string]bool{}
			}
			w.known[f.base.Instant] = admitted
		}
	}
	w.instant, w.admitted, w.asked = f.base.Instant, admitted, known
	some, whole := true, true
	if only {
		some, whole = inRange(m, f.v.scope)
	}
	return some, whole && (admitted || !known), nil
}

// inRange tells from a footer's statistics whether a base file has some rows of a range, and whether it has no others.
func inRange(f *pqfile.File, s *scope) (some, whole bool) {
	if f == nil {
		return true, false
	}
	leaf := f.Schema.Leaf(schema.CommitTime)
	if leaf == nil {
		return true, false
	}
	whole = true
	for g := range f.Groups() {
		st := f.Column(g, leaf.Index).Statistics
		lo, hi := string(st.MinValue), string(st.MaxValue)
		if lo == "" || hi == "" {
			return true, false
		}
		i, _ := slices.BinarySearch(s.only, lo)
		if i < len(s.only) && s.only[i] <= hi {
			some = true
		}
		whole = whole && lo == hi && i < len(s.only) && s.only[i] == lo && st.NullCount.Valid && st.NullCount.V == 0
	}
	return some, whole && some
}
