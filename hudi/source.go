package hudi

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/hudifs/hudifs/internal/bootstrap"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/render"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/storage"
)

// input opens everything that the file is rendered from. done closes it.
func (f *File) input(ctx context.Context) (in *render.Input, done func(), err error) {
	var open []storage.Object
	done = func() {
		for _, o := range open {
			o.Close()
		}
	}
	defer func() {
		if err != nil {
			done()
		}
	}()
	if f.broken != nil {
		return nil, nil, f.broken
	}
	c := f.v.st.config
	in = &render.Input{
		Target: f.target, Only: f.v.scope.only, Ordering: c.OrderingFields, Rules: f.v.st.rules.Rules, Deletes: f.v.st.rules.deletes,
		OnlyAfter: f.v.st.rules.Legacy, Sequence: f.v.st.rules.sequence, Unavailable: f.v.st.rules.unavailable,
	}
	if !c.PopulateMetaFields {
		in.Key.Fields = c.RecordKeys
	}
	in.Fill = f.fill()
	if c.DropPartitionColumns && f.partition != "" {
		if in.Constants, err = partitionValues(c, f.target, f.partition, f.shownAs()); err != nil {
			return nil, nil, err
		}
	}
	if f.base != nil {
		p := path.Join(f.partition, f.base.Name)
		o, err := f.v.t.store.Open(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		open = append(open, o)
		if in.Base, err = pqfile.Open(storage.ReaderAt(ctx, o), f.base.Size); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", p, err)
		}
		in.BaseName, in.BaseInstant, in.BaseNames = p, f.base.Instant, f.v.evolved.names(f.base.Instant)
	}
	if f.base != nil && f.base.Instant == bootstrap.Instant && c.BootstrapBasePath != "" {
		o, err := f.openData(ctx)
		if err != nil {
			return nil, nil, err
		}
		open = append(open, o.Object)
		in.DataName = o.name
		if in.Data, err = pqfile.Open(storage.ReaderAt(ctx, o.Object), o.Size()); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", o.name, err)
		}
	}
	if len(f.logs) == 0 {
		return in, done, nil
	}
	if f.v.st.unmergeable != nil {
		return nil, nil, f.v.st.unmergeable
	}
	scanned, err := f.scan(ctx)
	if err != nil {
		return nil, nil, err
	}
	for i, l := range f.logs {
		p := path.Join(f.partition, l.File)
		if err := f.checkDamage(ctx, p, scanned[i]); err != nil {
			return nil, nil, err
		}
		o, err := f.v.t.store.Open(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		open = append(open, o)
		in.Logs = append(in.Logs, render.Log{Name: p, Reader: storage.ReaderAt(ctx, o)})
	}
	in.Blocks = render.Select(scanned, f.accepts)
	for i, r := range in.Blocks {
		if names := f.v.evolved.names(r.Block.Instant()); names != nil {
			in.Blocks[i].Block = r.Block.WithNames(names)
		}
	}
	return in, done, nil
}

// namedObject is an object, and its name for errors.
type namedObject struct {
	storage.Object
	name string
}

// openData opens the file that has the data columns of a skeleton.
func (f *File) openData(ctx context.Context) (o namedObject, err error) {
	c := f.v.st.config
	if f.v.t.opts.BootstrapSource == nil {
		return o, fmt.Errorf("%w: the data of this file lies where the table was bootstrapped from, below %s: say where that is now (--bootstrap-base)",
			ErrUnsupported, c.BootstrapBasePath)
	}
	if !c.BootstrapIndexEnabled {
		return o, fmt.Errorf("%w: a bootstrapped table without an index", ErrUnsupported)
	}
	src, err := bootstrap.Find(ctx, f.v.t.store, f.partition, f.fileID)
	if err != nil {
		return o, err
	}
	if o.name, err = src.Below(c.BootstrapBasePath); err != nil {
		return o, err
	}
	o.Object, err = f.v.t.opts.BootstrapSource.Open(ctx, o.name)
	return o, err
}

// checkDamage refuses a log file that has lost blocks of a completed write. Damage that no completed write misses was left by one that
// died, and is skipped as Hudi skips it.
func (f *File) checkDamage(ctx context.Context, p string, l *logfile.Log) error {
	claims, err := f.claims(ctx, p, len(l.Damage) > 0)
	if err != nil {
		return err
	}
	for _, c := range claims {
		sound := int64(0)
		for i := range l.Blocks {
			if b := &l.Blocks[i]; b.Instant() == c.instant {
				sound += b.End - b.Offset
			}
		}
		if sound >= c.bytes {
			continue
		}
		reason := fmt.Sprintf("commit %s wrote %d bytes, %d are sound", c.instant, c.bytes, sound)
		for _, d := range l.Damage {
			reason += fmt.Sprintf("; damaged from offset %d to %d: %s", d.Offset, d.End, d.Reason)
		}
		if !f.v.t.opts.SkipDamage {
			return fmt.Errorf("%w: %s: %s", ErrCorrupt, p, reason)
		}
		f.v.t.opts.Logger.WarnContext(ctx, "damaged log block skipped", "file", p, "reason", reason)
	}
	return nil
}

// claim is what a completed write says it added to a log file.
type claim struct {
	instant string
	bytes   int64
}

// claims are what the commits that the view accepts say of a log file. Only the active timeline is asked: what has been archived was
// compacted before, or read many times.
func (f *File) claims(ctx context.Context, p string, damaged bool) ([]claim, error) {
	var out []claim
	name, _ := logfile.ParseName(path.Base(p))
	for _, w := range f.v.st.tl.CompletedWrites() {
		own := f.v.st.config.Version >= 8 && w.Time == name.Instant
		if !own && (f.v.st.config.Version >= 8 || w.Time < name.Instant) || !f.v.scope.wants(w.Time) {
			continue
		}
		m, err := f.v.st.tl.Commit(ctx, w)
		if errors.Is(err, storage.ErrNotExist) || err != nil && !damaged {
			continue // archived meanwhile; or unreadable itself, but nothing here is in doubt
		}
		if err != nil {
			return nil, err
		}
		for _, st := range m.Stats {
			if st.Path == p && st.FileSize > 0 {
				out = append(out, claim{instant: w.Time, bytes: st.FileSize - st.LogOffset})
			}
		}
	}
	return out, nil
}

// Schema is the view's Parquet schema as text, one line a leaf, for people.
func (v *View) Schema(ctx context.Context) ([]string, error) {
	c, err := v.load(ctx)
	if err != nil {
		return nil, err
	}
	return describe(c.target), nil
}

func describe(m *schema.Message) []string {
	var out []string
	for _, n := range m.Leaves {
		out = append(out, fmt.Sprintf("%s %v", path.Join(n.Path...), n.Scalar))
	}
	return out
}
