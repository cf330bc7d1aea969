package hudi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"

	"github.com/hudifs/hudifs/internal/changes"
	"github.com/hudifs/hudifs/internal/fsview"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/render"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/timeline"
	"github.com/hudifs/hudifs/storage"
)

// checkLogging refuses change data of a table that does not log changes.
func (st *state) checkLogging() error {
	if st.config.CDCEnabled {
		return nil
	}
	return fmt.Errorf("%w: the table does not log changes (hoodie.table.cdc.enabled is not true)", ErrRefused)
}

// ChangeSteps lists the times between which Changes can be asked, oldest first, the first one being before all changes that can be told. It is
// ErrRefused for a table that does not log changes.
func (t *Table) ChangeSteps(ctx context.Context) ([]string, error) {
	st := t.current()
	if err := st.checkLogging(); err != nil {
		return nil, err
	}
	writes, err := t.writes(ctx, st)
	if err != nil {
		return nil, err
	}
	servable, err := t.servable(ctx, st)
	if err != nil || len(servable) == 0 {
		return nil, err
	}
	out := []string{max(newestArchived(writes), timeline.Earliest)}
	for _, w := range writes {
		if w.Time < servable[0].Time {
			out[0] = max(out[0], w.Time)
		}
	}
	for _, w := range servable {
		if w.Time > out[0] {
			out = append(out, w.Time)
		}
	}
	return out, nil
}

// newestArchived is the time of the newest write that is archived, "" without one.
func newestArchived(writes []timeline.Instant) string {
	at := ""
	for _, w := range writes {
		if w.Archived {
			at = max(at, w.Time)
		}
	}
	return at
}

// resolveChanges finds the writes of a range. Requested times count on every table version (hudi-common: HoodieCDCExtractor).
func (t *Table) resolveChanges(ctx context.Context, st *state, begin, end string) (*scope, error) {
	from, to, err := t.parseRange(st, begin, end)
	if err != nil {
		return nil, err
	}
	if err := st.checkLogging(); err != nil {
		return nil, err
	}
	writes, err := t.writes(ctx, st)
	if err != nil {
		return nil, err
	}
	s := &scope{}
	if archived := newestArchived(writes); from < archived {
		// Hudi 1.x refuses it too; 0.x leaves out what is archived.
		return nil, fmt.Errorf("%w: changes after %s: writes up to %s are archived, a range can begin there or later", ErrCleaned, begin, archived)
	}
	for _, w := range writes {
		if w.Time <= from {
			continue
		}
		if to == timeline.Latest || w.Time <= to {
			s.writes = append(s.writes, w)
		}
	}
	s.newest = newestOf(s.writes)
	return s, nil
}

// listChanges makes a file for each file group that a write of the range touched.
func (v *View) listChanges(ctx context.Context) (*content, error) {
	output, err := changes.Schema()
	if err != nil {
		return nil, err
	}
	table, names, err := v.tableSchema(ctx)
	if err != nil {
		return nil, err
	}
	if table == nil {
		table = v.withMeta(&schema.Type{Kind: schema.Record})
	}
	v.evolved = names
	if v.st.config.DropPartitionColumns {
		table = partitionFields(table, v.st.config)
	}
	target, err := schema.Target(table, nil)
	if err != nil {
		return nil, err
	}
	groups, err := v.steps(ctx)
	if err != nil {
		return nil, err
	}
	l := changeLister{v: v, folders: map[string]*changeFolder{}}
	var out []*File
	for _, id := range slices.SortedFunc(maps.Keys(groups), compareGroups) {
		c := &changeFile{v: v, table: table, target: target, output: output, steps: groups[id]}
		for i := range c.steps {
			if err := l.complete(ctx, &c.steps[i]); err != nil {
				return nil, err
			}
		}
		c.folder = l.folders[id.Partition]
		out = append(out, c.file(id))
	}
	return v.contentOf(out, output), nil
}

// steps is what each write of the range did, by file group.
func (v *View) steps(ctx context.Context) (map[timeline.FileGroup][]changes.Step, error) {
	out := map[timeline.FileGroup][]changes.Step{}
	for _, w := range v.scope.writes {
		m, err := v.st.tl.Commit(ctx, w)
		if err != nil {
			return nil, err
		}
		if m.OperationType == "" && len(m.Stats)+len(m.ReplacedFileIDs) > 0 || len(m.Stats)+len(m.ExtraMetadata) == 0 {
			return nil, fmt.Errorf("%w: %v: the commit file of %s does not tell what it did", ErrRefused, v.query, w.Time)
		}
		for _, s := range changes.Infer(w.Time, v.st.config.CDCMode, m) {
			out[s.Group] = append(out[s.Group], s)
		}
	}
	return out, nil
}

// changeLister finds the files that steps need.
type changeLister struct {
	v       *View
	folders map[string]*changeFolder
}

// changeFolder is a partition: its files by name, and the file groups that they make.
type changeFolder struct {
	sizes  map[string]int64
	groups map[string]fsview.Group
	// listed says that the folder itself was listed: a metadata table may have forgotten the files of groups that were replaced.
	listed bool
}

func (l *changeLister) folder(ctx context.Context, partition string) (*changeFolder, error) {
	if f := l.folders[partition]; f != nil {
		return f, nil
	}
	lister, err := l.v.lister(ctx)
	if err != nil {
		return nil, err
	}
	return l.list(ctx, lister, partition)
}

func (l *changeLister) list(ctx context.Context, lister fsview.Lister, partition string) (*changeFolder, error) {
	files, err := lister.Files(ctx, partition)
	if err != nil && !errors.Is(err, storage.ErrNotExist) {
		return nil, err
	}
	groups, err := fsview.Groups(ctx, l.v.st.tl, fsview.Format{Version: l.v.st.config.Version, Base: fsview.Parquet}, partition, files)
	if err != nil {
		return nil, err
	}
	f := &changeFolder{sizes: map[string]int64{}, groups: map[string]fsview.Group{}, listed: lister == l.v.t.plain}
	for _, e := range files {
		f.sizes[e.Name] = e.Size
	}
	for _, g := range groups {
		f.groups[g.FileID] = g
	}
	l.folders[partition] = f
	return f, nil
}

// complete names the files that a step needs besides those that its commit names, and refuses it where one of them is gone.
func (l *changeLister) complete(ctx context.Context, s *changes.Step) error {
	f, err := l.folder(ctx, s.Group.Partition)
	if err != nil {
		return err
	}
	missing := f.complete(s)
	if missing != "" && !f.listed {
		if f, err = l.list(ctx, l.v.t.plain, s.Group.Partition); err != nil {
			return err
		}
		missing = f.complete(s)
	}
	if missing != "" {
		return fmt.Errorf("%w: %v needs %s, for what the write at %s did (%v)", ErrCleaned, l.v.query, path.Join(s.Group.Partition, missing), s.Instant, s.Kind)
	}
	return nil
}

// complete says what of the files that a step needs is missing, "" where nothing is.
func (f *changeFolder) complete(s *changes.Step) (missing string) {
	g := f.groups[s.Group.FileID]
	switch s.Kind {
	case changes.Emptied, changes.Rewritten, changes.Logged:
		if s.Previous == "" {
			break
		}
		if s.Base = baseAt(g, s.Previous); s.Base == "" {
			return fmt.Sprintf("the base file of %s at %s", s.Group.FileID, s.Previous)
		}
	case changes.Removed:
		slice, ok := g.At(s.Instant)
		if !ok {
			return "file group " + s.Group.FileID
		}
		s.Base, s.Earlier = named(slice, "")
	case changes.Appended:
		if s.Base != "" {
			break
		}
		// Nothing but log files below, or a commit that does not say what is there.
		for _, slice := range g.Slices {
			if slices.ContainsFunc(slice.Logs, func(l fsview.LogFile) bool { return l.File == path.Base(s.Path) }) {
				s.Base, s.Earlier = named(slice, s.Instant)
			}
		}
	case changes.Inserted:
	}
	for _, name := range s.Files() {
		if _, ok := f.sizes[name]; !ok {
			return name
		}
	}
	return ""
}

func baseAt(g fsview.Group, instant string) string {
	for _, s := range g.Slices {
		if s.Base != nil && s.Base.Instant == instant {
			return s.Base.Name
		}
	}
	return ""
}

// named are the names of the files of a slice. Log files of an instant, or a later one, are left out.
func named(s fsview.Slice, until string) (base string, logs []string) {
	if s.Base != nil {
		base = s.Base.Name
	}
	for _, l := range s.Logs {
		if until == "" || l.Instant < until {
			logs = append(logs, l.File)
		}
	}
	return base, logs
}

// changeFile makes the file of a file group that writes have touched.
type changeFile struct {
	v             *View
	folder        *changeFolder
	table         *schema.Type
	target        *schema.Message // of the rows
	output        *schema.Message
	partition, id string
	steps         []changes.Step
}

func (c *changeFile) file(g timeline.FileGroup) *File {
	c.partition, c.id = g.Partition, g.FileID
	st := c.v.st
	f := &File{v: c.v, partition: g.Partition, fileID: g.FileID, target: c.target, merging: &merging{made: c}}
	h := sha256.New()
	fmt.Fprintf(h, "%d %d changes %q\npartition %q\n", render.Version, changes.Version, st.config.CDCMode, c.partition)
	for _, s := range c.steps {
		f.instants = append(f.instants, s.Instant)
		fmt.Fprintf(h, "%q %d %q %q\n", s.Instant, s.Kind, s.Base, s.Path)
		for _, name := range s.Files() {
			fmt.Fprintf(h, "%q %d\n", name, c.folder.sizes[name])
		}
	}
	fmt.Fprintf(h, "rules %+v %q\nskip damage %v\n", st.rules, st.config.OrderingFields, c.v.t.opts.SkipDamage)
	if e := c.v.evolved; e != nil {
		fmt.Fprintf(h, "columns as of %d\n", e.query.Version)
	}
	f.hashTarget(h)
	h.Sum(f.id[:0])
	f.target = c.output
	slices.Sort(f.instants)
	f.name = fmt.Sprintf("%s_%s_%s.parquet", f.fileID, hex.EncodeToString(f.id[:6]), f.Instant())
	return f
}

func (c *changeFile) group() *changes.Group {
	return &changes.Group{
		Files: c, Steps: c.steps, Table: c.table, Target: c.target, Output: c.output, Mode: c.v.st.config.CDCMode, Legacy: c.v.st.rules.Legacy,
	}
}

// measure makes the file: nothing cheaper tells how much text there is.
func (c *changeFile) measure(ctx context.Context) (size int64, bounded bool, err error) {
	size, err = c.group().Measure(ctx)
	return size, false, err
}

func (c *changeFile) write(ctx context.Context, w io.WriterAt, size int64) error {
	return c.group().Write(ctx, w, size)
}

// Slice opens a file slice as a view would that sees some instants of it.
func (c *changeFile) Slice(ctx context.Context, s changes.Slice, target *schema.Message) (*render.Input, func(), error) {
	v := &View{t: c.v.t, st: c.v.st, query: Latest(), scope: &scope{until: s.Until}, evolved: c.v.evolved}
	if s.Only != "" {
		v.scope.only = []string{s.Only}
	}
	f := &File{v: v, partition: c.partition, fileID: c.id, target: target, merging: &merging{}}
	if s.Base != "" {
		base, ok := fsview.ParseBase(s.Base, fsview.Parquet)
		if !ok {
			return nil, nil, fmt.Errorf("%w: %s: expected the name of a base file", ErrCorrupt, path.Join(c.partition, s.Base))
		}
		base.Size = c.folder.sizes[s.Base]
		f.base = &base
	}
	for _, name := range s.Logs {
		l, ok := logfile.ParseName(name)
		if !ok {
			return nil, nil, fmt.Errorf("%w: %s: expected the name of a log file", ErrCorrupt, path.Join(c.partition, name))
		}
		f.logs = append(f.logs, fsview.LogFile{Name: l, File: name, Size: c.folder.sizes[name]})
	}
	slices.SortFunc(f.logs, func(a, b fsview.LogFile) int {
		return cmp.Or(logfile.Compare(a.Name, b.Name), cmp.Compare(a.File, b.File))
	})
	in, done, err := f.input(ctx)
	if err != nil {
		return nil, nil, err
	}
	// Hudi reads files here as they are, whatever their folder says.
	in.Only, in.Fill, in.Constants = nil, nil, nil
	return in, done, nil
}

// Log opens a change log.
func (c *changeFile) Log(ctx context.Context, p string) (*changes.ChangeLog, error) {
	logs := []fsview.LogFile{{File: path.Base(p), Size: c.folder.sizes[path.Base(p)]}}
	f := &File{v: c.v, partition: c.partition, merging: &merging{logs: logs}}
	scanned, err := f.scan(ctx)
	if err != nil {
		return nil, err
	}
	if d := scanned[0].Damage; len(d) > 0 {
		return nil, fmt.Errorf("%w: %s: %v", ErrCorrupt, p, d[0])
	}
	o, err := c.v.t.store.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	return &changes.ChangeLog{Name: p, Reader: storage.ReaderAt(ctx, o), Blocks: scanned[0].Blocks, Close: o.Close}, nil
}
