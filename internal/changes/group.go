package changes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/render"
	"github.com/hudifs/hudifs/internal/schema"
)

// The operations.
const (
	opInsert = "i"
	opUpdate = "u"
	opDelete = "d"
)

// The supplemental logging modes: what change logs have besides operations (hudi-common: HoodieCDCSupplementalLoggingMode).
const (
	opKeyOnly       = "OP_KEY_ONLY"
	dataBefore      = "DATA_BEFORE"
	dataBeforeAfter = "DATA_BEFORE_AFTER"
)

// Slice names the files of a file slice, and which blocks of its log files count.
type Slice struct {
	Base string   // "" without one
	Logs []string // in any order
	// Only is the one instant whose blocks count, Until the first one whose blocks do not. "" asks for nothing.
	Only, Until string
}

// Files opens the files of a file group.
type Files interface {
	// Slice opens a slice to be shown in a schema. done closes it.
	Slice(ctx context.Context, s Slice, target *schema.Message) (in *render.Input, done func(), err error)
	// Log opens a change log by its path.
	Log(ctx context.Context, p string) (l *ChangeLog, err error)
}

// ChangeLog is an open change log.
type ChangeLog struct {
	Name   string // for errors
	Reader io.ReaderAt
	Blocks []logfile.Block
	Close  func() error
}

// Group is what a range of writes did to one file group.
type Group struct {
	Files Files
	// Steps are in the order of their instants. They name all files that are needed.
	Steps  []Step
	Table  *schema.Type    // of the rows, with the meta fields
	Target *schema.Message // of the rows
	Output *schema.Message // what Schema gives
	Mode   string          // of supplemental logging
	// Legacy asks for the text that 0.x gives.
	Legacy bool
}

// writer writes the records of a group.
type writer struct {
	*Group
	*records
	form *form
	log  *logForm
}

func (g *Group) records(ctx context.Context, to io.WriterAt) (*records, error) {
	w := &writer{Group: g, records: newRecords(to, g.Output), form: newForm(g.Table, g.Target, g.Legacy)}
	for i := range g.Steps {
		if err := w.step(ctx, &g.Steps[i]); err != nil {
			return nil, fmt.Errorf("changes of %s: %w", g.Steps[i].Instant, err)
		}
	}
	return w.records, w.flush()
}

func (w *writer) step(ctx context.Context, s *Step) error {
	switch s.Kind {
	case Inserted:
		return w.all(ctx, Slice{Base: path.Base(s.Path)}, func(row []byte) error { return w.add(opInsert, s.Instant, nil, row) })
	case Emptied, Removed:
		return w.all(ctx, Slice{Base: s.Base, Logs: s.Earlier}, func(row []byte) error { return w.add(opDelete, s.Instant, row, nil) })
	case Appended:
		return w.appended(ctx, s)
	case Rewritten:
		return w.rewritten(ctx, s)
	case Logged:
	}
	return w.logged(ctx, s)
}

// all gives away the text of every row of a slice.
func (w *writer) all(ctx context.Context, slice Slice, take func(row []byte) error) error {
	return w.scan(ctx, slice, func(r *render.Reader, fate render.Fate) error {
		if fate == render.Dropped {
			return nil
		}
		text, err := w.form.row(r.After)
		if err != nil {
			return err
		}
		return take(text)
	})
}

// scan goes through the rows of a slice.
func (w *writer) scan(ctx context.Context, slice Slice, take func(r *render.Reader, fate render.Fate) error) error {
	in, done, err := w.Files.Slice(ctx, slice, w.Target)
	if err != nil {
		return err
	}
	defer done()
	return each(ctx, in, take)
}

func each(ctx context.Context, in *render.Input, take func(r *render.Reader, fate render.Fate) error) error {
	r, err := in.Read(ctx)
	if err != nil {
		return err
	}
	for {
		fate, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = take(r, fate)
		}
		if err != nil {
			return err
		}
	}
}

// appended finds out what a log file does to the rows that were there: those of them that it names are rendered, and become the base of
// a slice with the log file on top. As in Hudi a delete takes its row away whatever the ordering values, and 1.x weighs a record
// against a row as it weighs log records among themselves (spark: CDCFileGroupIterator.loadNextLogRecord; 0.x: HoodieCDCRDD).
func (w *writer) appended(ctx context.Context, s *Step) error {
	in, done, err := w.Files.Slice(ctx, Slice{Logs: []string{path.Base(s.Path)}, Only: s.Instant}, w.Target)
	if err != nil {
		return err
	}
	defer done()
	keys, err := in.LogKeys(ctx)
	if err != nil {
		return err
	}
	base, closeBase, err := w.before(ctx, s, keys)
	if err != nil {
		return err
	}
	defer closeBase()
	in.Base = base
	in.BaseName = "rows before " + s.Path
	in.Rules.DeletesBase = true
	if !w.Legacy {
		in.Rules.Base = in.Rules.Fold
	}
	var before []byte
	return each(ctx, in, func(r *render.Reader, fate render.Fate) error {
		if fate == render.Kept {
			return nil
		}
		before = before[:0]
		if fate != render.Added {
			text, err := w.form.image(r.Before)
			if err != nil {
				return err
			}
			if fate == render.Dropped {
				return w.add(opDelete, s.Instant, text, nil)
			}
			before = append(before, text...)
		}
		after, err := w.form.image(r.After)
		switch {
		case err != nil:
			return err
		case fate == render.Added:
			return w.add(opInsert, s.Instant, nil, after)
		case string(before) == string(after):
			return nil // put together anew, of the same values
		}
		return w.add(opUpdate, s.Instant, before, after)
	})
}

// before renders rows of the slice that a log file lies on top of: those of some keys, or all.
func (w *writer) before(ctx context.Context, s *Step, keys map[string]bool) (base *pqfile.File, closeBase func(), err error) {
	// Up to table version 7 a log file may have blocks of earlier instants too.
	slice := Slice{Base: s.Base, Logs: append([]string{path.Base(s.Path)}, s.Earlier...), Until: s.Instant}
	in, done, err := w.Files.Slice(ctx, slice, w.Target)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	in.Keys = keys
	return in.Keep(ctx)
}
