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
	if f.broken != nil {
		return nil, nil, f.broken
	}
	c, r := f.v.st.config, f.v.st.rules
	o := opener{f: f, in: &render.Input{
		Target: f.target, Only: f.v.scope.only, OnlyAfter: r.Legacy, Fill: f.fill(),
		Ordering: c.OrderingFields, Rules: r.Rules, Merger: f.v.st.merger, Deletes: r.deletes, Sequence: r.sequence, Unavailable: r.unavailable,
	}}
	for _, p := range c.PartitionFields {
		o.in.Pruning = append(o.in.Pruning, p.Name)
	}
	if !c.PopulateMetaFields {
		o.in.Key.Fields = c.RecordKeys
	}
	if f.takesColumnsFromFolder() {
		if o.in.Constants, err = partitionValues(c, f.target, f.partition, f.shownAs()); err != nil {
			return nil, nil, err
		}
	}
	if err := errors.Join(o.base(ctx), o.logs(ctx)); err != nil {
		o.close()
		return nil, nil, err
	}
	return o.in, o.close, nil
}

// opener opens what a file is rendered from.
type opener struct {
	f    *File
	in   *render.Input
	open []storage.Object
}

func (o *opener) close() {
	for _, object := range o.open {
		object.Close()
	}
}

func (o *opener) object(ctx context.Context, s storage.Store, name string) (storage.Object, error) {
	object, err := s.Open(ctx, name)
	if err == nil {
		o.open = append(o.open, object)
	}
	return object, err
}

// base opens the base file, and the file with the data columns of a skeleton.
func (o *opener) base(ctx context.Context) error {
	f := o.f
	if f.base == nil {
		return nil
	}
	p := path.Join(f.partition, f.base.Name)
	base, err := o.object(ctx, f.v.t.store, p)
	if err != nil {
		return err
	}
	size, err := f.baseSize(ctx)
	if err != nil {
		return err
	}
	if o.in.Base, err = pqfile.Open(storage.ReaderAt(ctx, base), size); err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	o.in.BaseName, o.in.BaseInstant, o.in.BaseNames = p, f.base.Instant, f.v.evolved.names(f.base.Instant)
	if f.base.Instant != bootstrap.Instant || f.v.st.config.BootstrapBasePath == "" {
		return nil
	}
	if o.in.DataName, err = f.dataName(ctx); err != nil {
		return err
	}
	data, err := o.object(ctx, f.v.t.opts.BootstrapSource, o.in.DataName)
	if err != nil {
		return err
	}
	if o.in.Data, err = pqfile.Open(storage.ReaderAt(ctx, data), data.Size()); err != nil {
		return fmt.Errorf("%s: %w", o.in.DataName, err)
	}
	return nil
}

// logs opens the log files and selects the blocks that count.
func (o *opener) logs(ctx context.Context) error {
	f := o.f
	if len(f.logs) == 0 {
		return nil
	}
	if f.v.st.unmergeable != nil {
		return f.v.st.unmergeable
	}
	scanned, err := f.scan(ctx)
	if err != nil {
		return err
	}
	if err := f.checkDamages(ctx, scanned); err != nil {
		return err
	}
	for _, l := range f.logs {
		p := path.Join(f.partition, l.File)
		log, err := o.object(ctx, f.v.t.store, p)
		if err != nil {
			return err
		}
		o.in.Logs = append(o.in.Logs, render.Log{Name: p, Reader: storage.ReaderAt(ctx, log)})
	}
	o.in.Blocks = render.Select(scanned, f.accepts)
	for i, r := range o.in.Blocks {
		if names := f.v.evolved.names(r.Block.Instant()); names != nil {
			o.in.Blocks[i].Block = r.Block.WithNames(names)
		}
	}
	return nil
}

// dataName is where the file with the data columns of a skeleton lies below the bootstrap source.
func (f *File) dataName(ctx context.Context) (string, error) {
	c := f.v.st.config
	if f.v.t.opts.BootstrapSource == nil {
		return "", fmt.Errorf("%w: the data of this file lies where the table was bootstrapped from, below %s: say where that is now (--bootstrap-base)",
			ErrUnsupported, c.BootstrapBasePath)
	}
	if !c.BootstrapIndexEnabled {
		return "", fmt.Errorf("%w: a bootstrapped table without an index", ErrUnsupported)
	}
	src, err := bootstrap.Find(ctx, f.v.t.store, f.partition, f.fileID)
	if err != nil {
		return "", err
	}
	return src.Below(c.BootstrapBasePath)
}

// checkDamages refuses log files that have lost something.
func (f *File) checkDamages(ctx context.Context, scanned []*logfile.Log) error {
	for i, l := range f.logs {
		if err := f.checkDamage(ctx, path.Join(f.partition, l.File), scanned[i]); err != nil {
			return err
		}
	}
	return nil
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
		reason := fmt.Sprintf("commit %s wrote %d bytes, %d are sound; damaged: %v", c.instant, c.bytes, sound, l.Damage)
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
