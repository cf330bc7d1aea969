package hudi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hudifs/hudifs/internal/fsview"
	"github.com/hudifs/hudifs/internal/lazy"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/render"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/timeline"
	"github.com/hudifs/hudifs/storage"
)

// File is one file of a view: what a file slice holds, as Parquet. It may be used from many goroutines.
type File struct {
	v         *View
	partition string
	fileID    string
	base      *fsview.BaseFile
	*merging
	target *schema.Message
	asIs   bool

	// fit is what the base file's footer says of asIs.
	fit atomic.Int32
	// baseBytes is the size of the base file and one more, where the listing did not tell it and it was found later; 0 before.
	baseBytes atomic.Int64
	size      atomic.Pointer[lazy.Value[int64]] // see promise
}

// merging is what a file has beyond a base file. Most have nothing, and share that: it is not changed once the file is made.
type merging struct {
	id       [32]byte // where the file is not served as it is; see ID and Name
	name     string
	logs     []fsview.LogFile
	parts    []part   // of the log files, that count
	instants []string // of the log blocks that count, sorted
	broken   error    // why the log files can't be read
	made     maker    // of a file that is no file slice; nil for others
}

var nothing = &merging{}

// What is known of whether a base file can be served as it is.
const (
	fitUnknown = iota
	fits
	misfits
)

// part is a stretch of a log file.
type part struct {
	file        string
	offset, end int64
}

// takeLogs finds out which log files have something to say in the view. From table version 8 on their names tell; before, one
// file holds blocks of several instants, whose headers do. What is wrong with a log file itself is kept for who opens the file.
//
// Only the blocks that count are parts of the file: a writer that appends to a log file, or adds one, changes nothing before it commits,
// and who looks at an earlier state then finds the same blocks.
func (f *File) takeLogs(ctx context.Context, logs []fsview.LogFile) error {
	if f.merging = nothing; len(logs) == 0 {
		return nil
	}
	f.merging = &merging{}
	if f.v.st.config.Version >= 8 && f.v.st.config.Properties["hoodie.table.initial.version"] >= "8" {
		for _, l := range logs {
			if f.v.scope.wants(l.Instant) {
				f.logs = append(f.logs, l)
				f.parts = append(f.parts, part{l.File, 0, l.Size})
				f.instants = append(f.instants, l.Instant)
			}
		}
	} else {
		if err := f.takeBlocks(ctx, logs); passing(ctx, err) {
			return err
		} else if err != nil {
			f.broken, f.parts, f.instants = err, nil, nil
			for _, l := range logs {
				f.parts = append(f.parts, part{l.File, 0, l.Size})
			}
		}
	}
	slices.Sort(f.instants)
	f.instants = slices.Compact(f.instants)
	return nil
}

// takeBlocks finds the blocks that count. Damage that a completed write misses is an error; what is left of it otherwise may be a block that
// is just being written.
func (f *File) takeBlocks(ctx context.Context, logs []fsview.LogFile) error {
	f.logs = logs
	scanned, err := f.scan(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(scanned, func(l *logfile.Log) bool { return len(l.Damage) > 0 }) {
		if err := f.checkDamages(ctx, scanned); err != nil {
			return err
		}
	}
	for _, r := range render.Select(scanned, f.accepts) {
		f.parts = append(f.parts, part{logs[r.Log].File, r.Block.Offset, r.Block.End})
		f.instants = append(f.instants, r.Block.Instant())
	}
	if len(f.parts) == 0 {
		f.logs = nil
	}
	return nil
}

// passing tells whether an error lies in the moment, not in the file that was read: another try may do. A listing must not be made in
// spite of it, since it would not be the listing that others have.
func passing(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, storage.ErrUnavailable) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}

// accepts tells whether blocks of an instant count in the view.
func (f *File) accepts(instant string) bool {
	return f.v.scope.wants(instant) && f.v.st.tl.IsCommitted(instant)
}

// scan reads the block headers of the file's logs.
func (f *File) scan(ctx context.Context) ([]*logfile.Log, error) {
	var out []*logfile.Log
	for _, l := range f.logs {
		p := path.Join(f.partition, l.File)
		key := fmt.Sprintf("log %s %d", p, l.Size)
		if m, ok := f.v.t.opts.Memo.Get(key); ok {
			out = append(out, m.(*logfile.Log))
			continue
		}
		log, err := f.scanOne(ctx, p, l.Size)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		cost := int64(512)
		for _, b := range log.Blocks {
			cost += 256
			for _, text := range b.Header {
				cost += int64(len(text)) // of schemas, each time: positions may be larger
			}
		}
		f.v.t.opts.Memo.Put(key, log, cost)
		out = append(out, log)
	}
	return out, nil
}

func (f *File) scanOne(ctx context.Context, p string, size int64) (*logfile.Log, error) {
	o, err := f.v.t.store.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	return logfile.Scan(storage.ReaderAt(ctx, o), size)
}

// baseSize is the size of the base file, which is found at its first use where the listing did not tell it.
func (f *File) baseSize(ctx context.Context) (int64, error) {
	if n := f.knownBaseSize(); n != storage.Unknown {
		return n, nil
	}
	e, err := storage.Stat(ctx, f.v.t.store, path.Join(f.partition, f.base.Name))
	if err != nil {
		return 0, err
	}
	f.baseBytes.CompareAndSwap(0, e.Size+1)
	return f.knownBaseSize(), nil
}

func (f *File) knownBaseSize() int64 {
	if f.base.Size != storage.Unknown {
		return f.base.Size
	}
	return f.baseBytes.Load() - 1
}

// findSize finds the sizes that decide a file's name. One that is served as it is has the name of its base file.
func (f *File) findSize(ctx context.Context) (err error) {
	if f.base != nil && !f.asIs {
		f.base.Size, err = f.baseSize(ctx)
	}
	return err
}

// footer reads the base file's footer, for what it says: its pages can't be read through it.
func (f *File) footer(ctx context.Context) (*pqfile.File, error) {
	size, err := f.baseSize(ctx)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("footer %s %d", path.Join(f.partition, f.base.Name), size)
	if m, ok := f.v.t.opts.Memo.Get(key); ok {
		return m.(*pqfile.File), nil
	}
	m, err := f.readFooter(ctx, size)
	if err != nil {
		return nil, err
	}
	f.v.t.opts.Memo.Put(key, m, int64(1024+len(m.Schema.Leaves)*(512+512*m.Groups())))
	return m, nil
}

func (f *File) readFooter(ctx context.Context, size int64) (*pqfile.File, error) {
	p := path.Join(f.partition, f.base.Name)
	o, err := f.v.t.store.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	m, err := pqfile.Open(storage.ReaderAt(ctx, o), size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	return m, nil
}

// blockSchema is the Avro schema of the newest data block, "" where there is none.
func (f *File) blockSchema(ctx context.Context) (string, error) {
	logs, err := f.scan(ctx)
	if passing(ctx, err) {
		return "", err
	}
	if err != nil {
		return "", nil
	}
	refs := render.Select(logs, f.accepts)
	for _, r := range slices.Backward(refs) {
		if r.Block.Type != logfile.DeleteBlock && r.Block.Schema() != "" {
			return r.Block.Schema(), nil
		}
	}
	return "", nil
}

// emptyFile is the only file of a view without rows.
func (v *View) emptyFile(target *schema.Message) *File {
	f := &File{v: v, target: target, merging: &merging{name: "empty.parquet"}}
	h := sha256.New()
	fmt.Fprintf(h, "%d empty\n", render.Version)
	f.hashTarget(h)
	h.Sum(f.id[:0])
	return f
}

// identify finds the ID of a file that is not served as it is, from everything that decides its bytes and nothing else, and its name.
func (f *File) identify() {
	if f.asIs {
		return
	}
	if f.merging == nothing {
		f.merging = &merging{}
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d\npartition %q\n", render.Version, f.partition)
	if f.base != nil {
		fmt.Fprintf(h, "base %q %d\n", f.base.Name, f.base.Size)
	}
	for _, p := range f.parts {
		fmt.Fprintf(h, "log %q %d %d\n", p.file, p.offset, p.end)
	}
	st := f.v.st
	fmt.Fprintf(h, "instants %q\nonly %v %q\nrules %+v %q\n", f.instants, f.v.scope.only != nil, f.v.scope.only, st.rules, st.config.OrderingFields)
	if st.config.DropPartitionColumns {
		fmt.Fprintf(h, "partition columns %d\n", f.shownAs())
	}
	if e := f.v.evolved; e != nil {
		fmt.Fprintf(h, "columns as of %d\n", e.query.Version)
	}
	fmt.Fprintf(h, "skip damage %v\n", f.v.t.opts.SkipDamage)
	f.hashTarget(h)
	h.Sum(f.id[:0])
	f.name = fmt.Sprintf("%s_%s_%s.parquet", f.fileID, hex.EncodeToString(f.id[:6]), f.Instant())
}

func (f *File) hashTarget(h hash.Hash) { hashTarget(h, f.target) }

func hashTarget(h hash.Hash, target *schema.Message) {
	for _, n := range target.Leaves {
		fmt.Fprintf(h, "%q %v %d %d\n", n.Path, n.Scalar, n.MaxDef, n.MaxRep)
	}
}

// Name is the file's name within its partition. Two files of one name in one partition have the same bytes.
func (f *File) Name() string {
	if f.asIs {
		return f.base.Name
	}
	return f.name
}

// Partition is the file's partition path in the table.
func (f *File) Partition() string { return f.partition }

// ID names the file's bytes: equal IDs, equal bytes, on every host.
func (f *File) ID() [32]byte {
	if f.asIs {
		return idAsIs(f.partition, f.base.Name)
	}
	return f.id
}

// idAsIs is the ID of a base file that is served as it is. Its name says which one it is, as Hudi gives none twice; its size would have to be
// asked for, for each file that is listed.
func idAsIs(partition, name string) [32]byte {
	b := make([]byte, 0, 512)
	b = strconv.AppendInt(b, render.Version, 10)
	b = append(b, "\nas it is "...)
	b = strconv.AppendInt(b, int64(len(partition)), 10)
	b = append(append(append(append(b, ' '), partition...), '/'), name...)
	return sha256.Sum256(b)
}

// Instant is the newest instant that contributes to the file.
func (f *File) Instant() string {
	newest := ""
	if f.base != nil {
		newest = f.base.Instant
	}
	if n := len(f.instants); n > 0 {
		newest = max(newest, f.instants[n-1])
	}
	if newest == "" && len(f.logs) > 0 {
		newest = f.logs[len(f.logs)-1].Instant
	}
	return newest
}

// ModTime is the time of the newest instant that contributes to the file, or of the whole view where none does.
func (f *File) ModTime() time.Time {
	i := f.Instant()
	if i == "" {
		return f.v.ModTime()
	}
	return f.v.timeOf(i)
}

// ModTime is the time of the newest instant of the view.
func (v *View) ModTime() time.Time { return v.timeOf(v.scope.newest) }

func (v *View) timeOf(instant string) time.Time {
	t, ok := timeline.TimeOf(instant, v.st.config.Location(v.t.opts.Zone))
	if !ok {
		return time.Unix(0, 0)
	}
	return t
}

// Source is the number of bytes of the base and log files that the file is made of: about what it takes on disk, unless it is smaller.
func (f *File) Source() int64 {
	if f.made != nil {
		return math.MaxInt64
	}
	n := int64(0)
	if f.base != nil {
		n = max(f.knownBaseSize(), 0)
	}
	for _, p := range f.parts {
		n += p.end - p.offset
	}
	return n
}

// Costly tells that finding the size takes making the file.
func (f *File) Costly() bool { return f.made != nil }

// Details are what a file is made of.
type Details struct {
	FileGroup string
	Base      string // name of the base file, "" without one
	Logs      []string
	Instant   string
	// AsIs says that the file's bytes are those of the base file.
	AsIs bool
}

// Details tells what the file is made of.
func (f *File) Details() Details {
	d := Details{FileGroup: f.fileID, Instant: f.Instant(), AsIs: f.asIs}
	if f.base != nil {
		d.Base = f.base.Name
	}
	for _, p := range f.parts {
		if !slices.Contains(d.Logs, p.file) {
			d.Logs = append(d.Logs, p.file)
		}
	}
	return d
}

// Base is the path in the store of the base file whose bytes the file has, ok false where it must be rendered.
func (f *File) Base(ctx context.Context) (p string, ok bool, err error) {
	if !f.asIs {
		return "", false, nil
	}
	if f.fit.Load() == fitUnknown {
		size, err := f.baseSize(ctx)
		if err != nil {
			return "", false, class(err)
		}
		// Nobody needs the footer again: it is not kept.
		m, err := f.readFooter(ctx, size)
		if err != nil {
			return "", false, class(err)
		}
		f.setFit(f.admitted(m))
	}
	// The name was given in the belief that all base files of one instant are alike; the bytes need no belief.
	if f.fit.Load() == misfits {
		return "", false, nil
	}
	return path.Join(f.partition, f.base.Name), true, nil
}

func (f *File) setFit(ok bool) {
	if ok {
		f.fit.Store(fits)
	} else {
		f.fit.Store(misfits)
	}
}

// Size is the exact number of bytes of the file. It is known before anything is merged: a rendered file has a hole where it
// turns out smaller than it might have been. bounded is false where that could not be told from what is cheap to read, so
// that the file was rendered to find out.
func (f *File) Size(ctx context.Context) (size int64, bounded bool, err error) {
	_, ok, err := f.Base(ctx)
	if err != nil {
		return 0, true, err
	}
	if ok {
		size, err = f.baseSize(ctx)
		return size, true, class(err)
	}
	bounded = true
	size, err = f.promise().Get(ctx, func(ctx context.Context) (n int64, err error) {
		n, bounded, err = f.maker().measure(ctx)
		return n, err
	})
	if err != nil {
		return 0, true, f.explain(err)
	}
	return size, bounded, nil
}

// Promise names what the size follows from: while it is the same, Size is. It costs less than Size, and tells a base file that was replaced by
// its size and modification time.
func (f *File) Promise(ctx context.Context) ([32]byte, error) {
	h := sha256.New()
	id := f.ID()
	h.Write(id[:])
	if f.base != nil {
		e, err := storage.Stat(ctx, f.v.t.store, path.Join(f.partition, f.base.Name))
		if err != nil {
			return [32]byte{}, class(err)
		}
		f.baseBytes.CompareAndSwap(0, e.Size+1)
		fmt.Fprintf(h, "%d %d\n", e.Size, e.ModTime.UnixNano())
	}
	if f.asIs {
		fit := f.v.fit(f.target)
		h.Write(fit[:])
	}
	return [32]byte(h.Sum(nil)), nil
}

// fit names what decides, beside a base file, whether it is served as it is in the view, all of whose files have one target.
func (v *View) fit(target *schema.Message) [32]byte {
	v.fitOnce.Do(func() {
		h := sha256.New()
		c := v.st.config
		fmt.Fprintf(h, "%d %d %v %v\n", render.Version, c.Version, c.PartitionFields, c.DropPartitionColumns)
		if e := v.evolved; e != nil {
			fmt.Fprintf(h, "columns as of %d\n", e.query.Version)
			for _, s := range e.history {
				fmt.Fprintf(h, "%d\n", s.Version)
			}
		}
		hashTarget(h, target)
		h.Sum(v.fitID[:0])
	})
	return v.fitID
}

// promise is the size of a file that is rendered.
func (f *File) promise() *lazy.Value[int64] {
	if f.size.Load() == nil {
		f.size.CompareAndSwap(nil, &lazy.Value[int64]{})
	}
	return f.size.Load()
}

// Writer takes a rendered file.
type Writer interface {
	io.WriterAt
}

// Render writes the file's bytes, Size of them; what lies between the parts that are written is zero. On error what was
// written is of no use.
func (f *File) Render(ctx context.Context, w Writer) error {
	size, _, err := f.Size(ctx)
	if err != nil {
		return err
	}
	if err := f.maker().write(ctx, w, size); err != nil {
		return f.explain(err)
	}
	return nil
}

// maker makes the bytes of a file.
type maker interface {
	// measure finds the size. bounded is false where only making the file could tell.
	measure(ctx context.Context) (size int64, bounded bool, err error)
	// write makes a file of that size.
	write(ctx context.Context, w io.WriterAt, size int64) error
}

func (f *File) maker() maker {
	if f.made != nil {
		return queued{f}
	}
	return merged{f}
}

// merged makes a file of a file slice.
type merged struct{ f *File }

func (m merged) measure(ctx context.Context) (size int64, bounded bool, err error) {
	in, done, err := m.f.input(ctx)
	if err != nil {
		return 0, true, err
	}
	defer done()
	size, bounded, err = in.Bound()
	if err == nil && !bounded {
		err = admitted(ctx, m.f, m.f.Cost(), func() error {
			size, err = in.Measure(ctx)
			return err
		})
	}
	return size, bounded, err
}

func (m merged) write(ctx context.Context, w io.WriterAt, size int64) error {
	in, done, err := m.f.input(ctx)
	if err != nil {
		return err
	}
	defer done()
	return admitted(ctx, m.f, m.f.Cost(), func() error { return in.Render(ctx, w, size) })
}

// explain says of a file that is gone that the cleaner was faster.
func (f *File) explain(err error) error {
	if errors.Is(err, storage.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrCleaned, err)
	}
	return class(err)
}
