package mdt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/hudifs/hudifs/internal/avro"
	"github.com/hudifs/hudifs/internal/contain"
	"github.com/hudifs/hudifs/internal/fsview"
	"github.com/hudifs/hudifs/internal/hfile"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/render"
	"github.com/hudifs/hudifs/storage"
)

// reader reads the records of one partition of the metadata table.
type reader struct {
	t         *Table
	partition string
	fields    []string
	counts    func(instant string) bool
	held      atomic.Int64 // bytes of log files that were read whole
	// show gets the records of a key from the oldest to the newest; nil deletes those before.
	show func(key string, rec *avro.Record) error
}

// records shows the records of a partition that count, those of one key in the order of their writing; only some of their fields are decoded.
func (t *Table) records(ctx context.Context, partition string, fields []string, show func(key string, rec *avro.Record) error) error {
	files, err := t.store.List(ctx, partition)
	if err != nil {
		return err
	}
	format := fsview.Format{Version: t.tl.Config().Version, Base: fsview.HFile}
	groups, err := fsview.Groups(ctx, t.tl, format, partition, files)
	if err != nil {
		return err
	}
	counts, err := t.valid(ctx)
	if err != nil {
		return err
	}
	r := &reader{t: t, partition: partition, fields: fields, counts: counts, show: show}
	for _, g := range groups {
		s, ok := g.At("")
		if !ok {
			continue
		}
		if s.Base != nil {
			if err := r.base(ctx, s.Base); err != nil {
				return fmt.Errorf("%s: %w", path.Join(partition, s.Base.Name), err)
			}
		}
		if err := r.logs(ctx, s.Logs); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) base(ctx context.Context, b *fsview.BaseFile) error {
	o, err := r.t.store.Open(ctx, path.Join(r.partition, b.Name))
	if err != nil {
		return err
	}
	defer func() { _ = o.Close() }()
	f, err := hfile.Open(storage.ReaderAt(ctx, o), o.Size())
	if err != nil || f.Len() == 0 {
		return err
	}
	schema, err := r.t.schemas.Parse(0, string(f.Info("schema")))
	if err != nil {
		return fmt.Errorf("file info: %w", err)
	}
	for e, err := range f.All() {
		if err != nil {
			return err
		}
		if err := r.record(string(e.Key), schema, e.Value); err != nil {
			return fmt.Errorf("block at byte %d: %w", e.Offset, err)
		}
	}
	return nil
}

// record decodes one record. Its key is that of the HFile. One without a value deletes.
func (r *reader) record(key string, schema *avro.Type, value []byte) error {
	if len(value) == 0 {
		return r.show(key, nil)
	}
	d := avro.NewReader(0, value)
	rec := d.Record(schema, r.fields...)
	if d.Err() == nil && d.Rest() > 0 {
		return fmt.Errorf("%w: record %q: %d bytes behind its end", avro.ErrCorrupt, key, d.Rest())
	}
	if d.Err() != nil {
		return fmt.Errorf("record %q: %w", key, d.Err())
	}
	return r.show(key, rec)
}

// log is an open log file.
type log struct {
	name string
	at   io.ReaderAt
	scan *logfile.Log
	done func()
}

const (
	atOnce = 8
	// whole is the size up to which a log file is read with one request, and wholes that of all of them. Most hold a few records.
	whole  = 4 << 20
	wholes = 256 << 20
	// maxLogs bounds the log files of a slice, all of which are open at once. Ten or so are compacted.
	maxLogs = 10_000
)

func (r *reader) logs(ctx context.Context, files []fsview.LogFile) error {
	if len(files) > maxLogs {
		return fmt.Errorf("%w: %s: %d log files in one slice", logfile.ErrUnsupported, r.partition, len(files))
	}
	logs := make([]log, len(files))
	defer func() {
		for _, l := range logs {
			if l.done != nil {
				l.done()
			}
		}
	}()
	g, opening := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i, f := range files {
		g.Go(contain.Func(func() (err error) {
			logs[i], err = r.openLog(ctx, opening, path.Join(r.partition, f.File))
			return err
		}))
	}
	if err := g.Wait(); err != nil {
		return err
	}
	scans := make([]*logfile.Log, len(logs))
	for i, l := range logs {
		scans[i] = l.scan
	}
	for _, ref := range render.Select(scans, r.counts) {
		if err := r.block(logs[ref.Log].at, ref.Block); err != nil {
			return fmt.Errorf("%s: %w", logs[ref.Log].name, err)
		}
	}
	return nil
}

// openLog opens and scans a log file. ctx is that of later reads.
func (r *reader) openLog(ctx, opening context.Context, name string) (log, error) {
	o, err := r.t.store.Open(opening, name)
	if err != nil {
		return log{}, err
	}
	l := log{name: name, at: storage.ReaderAt(ctx, o), done: func() { _ = o.Close() }}
	if size := o.Size(); size <= whole && r.held.Add(size) <= wholes {
		buf := make([]byte, size)
		if n, err := o.ReadAt(opening, buf, 0); int64(n) < size {
			return l, fmt.Errorf("%s: %w", name, err)
		}
		l.at = bytes.NewReader(buf)
	}
	if l.scan, err = logfile.Scan(l.at, o.Size()); err != nil {
		return l, fmt.Errorf("%s: %w", name, err)
	}
	if len(l.scan.Damage) > 0 {
		return l, fmt.Errorf("%w: %s: %v", logfile.ErrCorrupt, name, l.scan.Damage[0])
	}
	return l, nil
}

func (r *reader) block(at io.ReaderAt, b *logfile.Block) error {
	if b.Type == logfile.DeleteBlock {
		for d, err := range logfile.Deletes(at, *b) {
			if err == nil {
				err = r.show(string(d.Key), nil)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	schema, err := r.t.schemas.Parse(b.Offset, b.Schema())
	if err != nil {
		return err
	}
	switch b.Type {
	case logfile.HFileData:
		for e, err := range logfile.HFileEntries(at, *b) {
			if err == nil {
				err = r.record(string(e.Key), schema, e.Value)
			}
			if err != nil {
				return fmt.Errorf("log block at byte %d: %w", b.Offset, err)
			}
		}
	case logfile.AvroData:
		for datum, err := range logfile.Records(at, *b) {
			if err == nil {
				err = r.keyed(schema, datum)
			}
			if err != nil {
				return fmt.Errorf("log block at byte %d: %w", b.Offset, err)
			}
		}
	default:
		return fmt.Errorf("%w: log block at byte %d: a %v block", logfile.ErrUnsupported, b.Offset, b.Type)
	}
	return nil
}

// keyed decodes a record that has its key within.
func (r *reader) keyed(schema *avro.Type, datum []byte) error {
	rec := avro.NewReader(0, datum).Record(schema, "key")
	key, ok := avro.Value[string](rec, "key")
	if !ok || key == "" {
		return errors.Join(avro.ErrCorrupt, errors.New("a record without a key"))
	}
	return r.record(key, schema, datum)
}
