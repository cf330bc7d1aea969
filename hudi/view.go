package hudi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/hudifs/hudifs/internal/contain"
	"github.com/hudifs/hudifs/internal/fsview"
	"github.com/hudifs/hudifs/internal/lazy"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/timeline"
	"github.com/hudifs/hudifs/storage"
)

const (
	// atOnce is how many folders or footers of one view are read at once.
	atOnce = 16
	// maxFiles bounds the files of a view. They take half a kilobyte of memory each.
	maxFiles = 1 << 22
)

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

// contentOf sorts files by partition. A view without files has an empty one.
func (v *View) contentOf(files []*File, target *schema.Message) *content {
	c := &content{target: target, files: map[string][]*File{}}
	for _, f := range files {
		c.files[f.partition] = append(c.files[f.partition], f)
	}
	c.partitions = slices.Sorted(maps.Keys(c.files))
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

	shown     map[timeline.FileGroup]string // the instants of the slices that were looked at
	unsettled error                         // says which folder went while it was listed, nil where none did
}

// list finds the files of all partitions. A folder that goes meanwhile is storage.ErrNotExist.
func (l *listing) list(ctx context.Context) ([]*File, error) {
	partitions, err := l.lister.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	var count atomic.Int64
	found := make([][]*File, len(partitions))
	shown := make([]map[timeline.FileGroup]string, len(partitions))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i, p := range partitions {
		g.Go(contain.Func(func() (err error) {
			found[i], shown[i], err = l.v.partition(gctx, l.lister, p, l.replaced)
			if err == nil && count.Add(int64(len(found[i]))) > maxFiles {
				err = fmt.Errorf("%w: %v: more than %d files", ErrUnsupported, l.v.query, maxFiles)
			}
			return err
		}))
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	l.shown = map[timeline.FileGroup]string{}
	for _, m := range shown {
		maps.Copy(l.shown, m)
	}
	return slices.Concat(found...), nil
}

// partition finds the files of a partition, and the instant of each slice that was looked at.
func (v *View) partition(
	ctx context.Context, l fsview.Lister, partition string, replaced map[timeline.FileGroup]string,
) (files []*File, shown map[timeline.FileGroup]string, err error) {
	groups, err := v.groups(ctx, l, partition)
	if err != nil {
		return nil, nil, err
	}
	shown = map[timeline.FileGroup]string{}
	for _, group := range groups {
		id := timeline.FileGroup{Partition: partition, FileID: group.FileID}
		if r, ok := replaced[id]; ok && (v.scope.at == "" || r <= v.scope.at) {
			continue
		}
		s, ok := group.At(v.scope.at)
		if !ok {
			continue
		}
		shown[id] = s.Instant
		f, err := v.file(ctx, id, s)
		if err != nil {
			return nil, nil, err
		}
		if f != nil {
			files = append(files, f)
		}
	}
	return files, shown, nil
}

func (v *View) groups(ctx context.Context, l fsview.Lister, partition string) ([]fsview.Group, error) {
	files, err := l.Files(ctx, partition)
	if err != nil {
		return nil, err
	}
	return fsview.Groups(ctx, v.st.tl, fsview.Format{Version: v.st.config.Version, Base: fsview.Parquet}, partition, files)
}

// file makes the file of a slice, nil where the slice has no row in the view.
func (v *View) file(ctx context.Context, g timeline.FileGroup, s fsview.Slice) (*File, error) {
	f := &File{v: v, partition: g.Partition, fileID: g.FileID, base: s.Base}
	if v.scope.only != nil && s.Base != nil && s.Base.Instant < v.scope.only[0] {
		f.base = nil // it was written before the range begins
	}
	if !v.scope.baseOnly {
		if err := f.takeLogs(ctx, s.Logs); err != nil {
			return nil, err
		}
	}
	if f.base == nil && len(f.logs) == 0 {
		return nil, nil
	}
	return f, nil
}

// reference is the Parquet schema of the base file with the greatest instant, partition and file id, nil without any that can be read.
func (v *View) reference(ctx context.Context, files []*File) (*schema.Message, error) {
	var based []*File
	for _, f := range files {
		if f.base != nil {
			based = append(based, f)
		}
	}
	slices.SortFunc(based, func(a, b *File) int {
		return cmp.Or(cmp.Compare(b.base.Instant, a.base.Instant), cmp.Compare(b.partition, a.partition), cmp.Compare(b.fileID, a.fileID))
	})
	for _, f := range based {
		m, err := f.footer(ctx)
		if err == nil {
			return v.evolved.names(f.base.Instant).Message(m.Schema), nil
		}
		if passing(ctx, err) {
			return nil, err
		}
	}
	return nil, nil
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

// settle decides which files are served as they are. Base files of one instant come from one writer with one schema, so one
// footer for each instant tells of all of them.
func (v *View) settle(ctx context.Context, files []*File, target *schema.Message) ([]*File, error) {
	admitted := map[string]bool{}
	known := map[string]bool{}
	out := files[:0:0]
	for _, f := range slices.Backward(files) {
		f.target = target
		if f.base != nil && len(f.logs) == 0 {
			some, whole := true, true
			var m *pqfile.File
			if i := f.base.Instant; v.scope.only != nil || !known[i] {
				var err error
				if m, err = f.footer(ctx); passing(ctx, err) {
					return nil, err
				}
				if err == nil && !known[i] {
					known[i], admitted[i] = true, f.admitted(m)
				}
			}
			if v.scope.only != nil {
				some, whole = inRange(m, v.scope)
			}
			if !some {
				continue
			}
			f.asIs = whole && (admitted[f.base.Instant] || !known[f.base.Instant])
		}
		f.identify()
		out = append(out, f)
	}
	slices.Reverse(out)
	return out, nil
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
