// Package cache keeps whole rendered files under keys that name their content: two files under one key are equal, so that
// losing one costs time and never correctness.
//
// A file is rendered at most once at a time, however many ask for it, into a temporary file that is synced and renamed:
//
//	DIR/v1/tmp/<random>              being written; its writer holds an exclusive flock
//	DIR/v1/<kk>/<key>.<checksum>     complete; everybody who reads it holds a shared flock
//	DIR/v1/numbers                   what SetNumber was told
//
// <kk> is the first two of the key's 64 hexadecimal digits, the checksum has 16. It covers key, length and content (see
// [checksum]) and stands in the name, because the file must be exactly as long as what it is served as. An entry whose
// length or checksum is wrong is removed, and is a miss. The modification time is that of the last use.
//
// The folder is the truth, and the index in memory only a picture of it: several daemons may share a folder, each may
// evict what nobody has open, and all keep to the budget, up to a sixteenth of it for each. Who may write the folder decides
// what is read from it.
//
// When the disk fails or is full, files are rendered into memory, within a budget of its own, and [ErrFull] is what remains
// beyond that.
//
// Locks: Disk.mu guards the index and is never held during a system call that can block. Writer.mu is below it.
package cache

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Key names the content of a file.
type Key [32]byte

// String returns the key's 64 hexadecimal digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

var (
	// ErrFull is returned when a file fits neither on the disk nor in memory.
	ErrFull = errors.New("cache full")
	// ErrSize is returned when a file is not of the size that was promised for it.
	ErrSize = errors.New("not the promised size")
	// ErrClosed is returned by a Disk that was closed.
	ErrClosed = errors.New("cache closed")
)

// Options limit a Disk. The zero value is usable.
type Options struct {
	Budget  int64            // bytes allocated on disk; 0 is 10 GiB
	MinFree int64            // bytes of the file system that are left to others
	Memory  int64            // bytes in memory when the disk cannot be used; 0 is 256 MiB, less is none
	Logger  *slog.Logger     // nil is silence
	Now     func() time.Time // nil is time.Now
}

const (
	defaultBudget = 10 << 30
	defaultMemory = 256 << 20
)

// Disk is a cache. It may be used from many goroutines. A nil *Disk keeps nothing: it renders into memory at every call.
type Disk struct {
	log     *slog.Logger
	now     func() time.Time
	minFree int64
	folder  *folder  // nil is memory only
	numbers *numbers // nil without a folder
	running sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	flights map[Key]*flight
	items   map[Key]*item
	disk    pool
	memory  pool
	gen     uint64 // raised by every change that a listing begun earlier cannot show
	unseen  int64  // bytes added since the folder was last listed
	outage  outage
	count   counts
}

type counts struct {
	hits, renders, evictions, damaged, fallbacks int64
}

// Open returns a cache in the folder dir, which is made if needed. What crashed daemons left there is removed. With dir ""
// the cache is in memory only; so it is, with a warning, when the disk fails already here. An error means that dir cannot
// be such a folder, or that access is denied.
func Open(dir string, o *Options) (*Disk, error) {
	return open(dir, o, nil)
}

func open(dir string, o *Options, fault faultFunc) (*Disk, error) {
	if o == nil {
		o = &Options{}
	}
	d := &Disk{
		log:     o.Logger,
		now:     o.Now,
		minFree: o.MinFree,
		flights: map[Key]*flight{},
		items:   map[Key]*item{},
		disk:    pool{limit: o.Budget},
		memory:  pool{limit: o.Memory},
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.now == nil {
		d.now = time.Now //nolint:forbidigo // the clock that is taken where none is given
	}
	if d.disk.limit == 0 {
		d.disk.limit = defaultBudget
	}
	if d.memory.limit == 0 {
		d.memory.limit = defaultMemory
	}
	if dir == "" {
		return d, nil
	}
	if err := d.openFolder(dir, fault); err != nil {
		if !isDiskTrouble(err) {
			return nil, fmt.Errorf("open cache %s: %w", dir, err)
		}
		d.diskFailed(err)
	}
	return d, nil
}

func (d *Disk) openFolder(dir string, fault faultFunc) error {
	f, err := newFolder(dir, fault)
	if err != nil {
		return err
	}
	d.folder = f
	if err := f.prepare(); err != nil {
		return err
	}
	d.numbers = newNumbers(f, d.disk.limit, d.minFree)
	return d.refresh()
}

// Close cancels what is being rendered and waits for it. Entries that are open stay usable until they are closed.
func (d *Disk) Close() error {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	d.closed = true
	for _, f := range d.flights {
		f.cancel()
	}
	d.mu.Unlock()
	d.running.Wait()
	if d.numbers != nil {
		d.numbers.close()
	}
	d.mu.Lock()
	var files []*os.File
	for it := range d.memory.idle.all() {
		files = append(files, d.drop(it))
	}
	d.mu.Unlock()
	return closeAll(files)
}

func closeAll(files []*os.File) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// Stats describes a cache at one moment, and what it did since it was opened.
type Stats struct {
	Entries       int    `json:"entries"`        // on disk
	Bytes         int64  `json:"bytes"`          // allocated on disk, including files that are being written
	Budget        int64  `json:"budget"`         // limit of Bytes
	MemoryEntries int    `json:"memory_entries"` //
	MemoryBytes   int64  `json:"memory_bytes"`   //
	MemoryBudget  int64  `json:"memory_budget"`  // limit of MemoryBytes
	InUse         int    `json:"in_use"`         // entries that are open
	Rendering     int    `json:"rendering"`      // files that are being rendered or looked for
	Hits          int64  `json:"hits"`           // calls that found their file, or one that was being rendered
	Renders       int64  `json:"renders"`        // renderings begun
	Evictions     int64  `json:"evictions"`
	Damaged       int64  `json:"damaged"`              // entries removed because they were not what their name says
	Fallbacks     int64  `json:"fallbacks"`            // renderings into memory because the disk could not be used
	DiskError     string `json:"disk_error,omitempty"` // why the disk is not used at the moment
}

// Stats returns the cache's figures.
func (d *Disk) Stats() Stats {
	if d == nil {
		return Stats{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := Stats{
		Bytes:        d.disk.used,
		Budget:       d.disk.limit,
		MemoryBytes:  d.memory.used,
		MemoryBudget: max(d.memory.limit, 0),
		Rendering:    len(d.flights),
		Hits:         d.count.hits,
		Renders:      d.count.renders,
		Evictions:    d.count.evictions,
		Damaged:      d.count.damaged,
		Fallbacks:    d.count.fallbacks,
	}
	if d.folder == nil {
		s.Budget = 0
	}
	if d.outage.err != nil {
		s.DiskError = d.outage.err.Error()
	}
	for _, it := range d.items {
		if it.pool == &d.memory {
			s.MemoryEntries++
		} else {
			s.Entries++
		}
		if it.refs > 0 {
			s.InUse++
		}
	}
	return s
}

// Entry is an open file of the cache. It is not evicted before it is closed.
type Entry struct {
	d      *Disk // nil when the entry alone owns its file
	it     *item
	closed atomic.Bool
}

// File returns the file, which is shared by all who opened this entry: it may be read at offsets, but neither seeked nor
// closed. It must not be used after Close.
func (e *Entry) File() *os.File { return e.it.file }

// Size is the length of the file in bytes.
func (e *Entry) Size() int64 { return e.it.size }

// Disk is the number of bytes that the file occupies, on disk or in memory. Holes occupy nothing.
func (e *Entry) Disk() int64 { return e.it.alloc }

// Close gives the entry back. Further calls do nothing.
func (e *Entry) Close() error {
	if e.closed.Swap(true) {
		return nil
	}
	if e.d == nil {
		return e.it.file.Close()
	}
	e.d.mu.Lock()
	f := e.d.unref(e.it)
	over := e.d.disk.used > e.d.disk.limit // files take more than was written, and those in use stay
	e.d.mu.Unlock()
	var err error
	if f != nil {
		err = f.Close()
	}
	if over {
		err = errors.Join(err, e.d.trim())
	}
	return err
}

// Do returns the file of a key, which the caller must close, and renders it if it is not there. The file is exactly size
// bytes long; a size below zero leaves it to the rendering, which then ends the file with its last byte.
//
// While one caller's render runs, others who ask for the key wait for the same result, the error included. A caller whose
// ctx ends gives up alone; the rendering is cancelled when nobody waits for it any more. The context given to render has
// the values of the first caller's. render may be called twice, the second time for memory because the disk failed under
// the first; it must not use its Writer after it returned. A panic in it becomes an error.
//
// Errors are those of render and ctx, or wrap ErrFull, ErrSize or ErrClosed.
func (d *Disk) Do(ctx context.Context, key Key, size int64, render func(ctx context.Context, w *Writer) error) (*Entry, error) {
	if d == nil {
		return renderAlone(ctx, key, size, render)
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e, f, err := d.join(ctx, key, size, render)
		if e != nil || err != nil {
			return e, err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			d.leave(f)
			return nil, ctx.Err()
		}
		if searched := errors.Is(f.err, errMissing) && render != nil; !f.abandoned && !searched {
			return f.result(d, size)
		}
	}
}
