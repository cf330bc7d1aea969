package cache

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hudifs/hudifs/internal/contain"
)

type renderFunc = func(ctx context.Context, w *Writer) error

// flight is one search for a file, and its rendering if need be, for all who wait for it.
type flight struct {
	key    Key
	cancel context.CancelFunc
	done   chan struct{} // closed at the end

	// Guarded by Disk.mu until done is closed, and not changed afterwards.
	waiters   int
	abandoned bool // cancelled because nobody waited: whoever comes now waits for the end and begins anew
	finished  bool
	item      *item // has a reference for each waiter
	err       error
}

// join returns the entry if it is open, or the flight that the caller now waits for.
func (d *Disk) join(ctx context.Context, key Key, size int64, render renderFunc) (*Entry, *flight, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, nil, ErrClosed
	}
	if it := d.items[key]; it != nil && it.file != nil {
		if size >= 0 && it.size != size {
			return nil, nil, fmt.Errorf("cache %v: %w: %d bytes, %d asked for", key, ErrSize, it.size, size)
		}
		d.ref(it)
		d.count.hits++
		return &Entry{d: d, it: it}, nil, nil
	}
	if f := d.flights[key]; f != nil {
		if !f.abandoned {
			f.waiters++
			d.count.hits++
		}
		return nil, f, nil
	}
	flightCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight{key: key, cancel: cancel, done: make(chan struct{}), waiters: 1}
	d.flights[key] = f
	d.running.Go(func() { d.run(flightCtx, f, size, render) })
	return nil, f, nil
}

// leave is what a waiter does whose context ended.
func (d *Disk) leave(f *flight) {
	d.mu.Lock()
	var file *os.File
	switch {
	case f.abandoned: // the caller waited for its end only
	case !f.finished:
		f.waiters--
		if f.waiters == 0 {
			f.abandoned = true
			f.cancel()
		}
	case f.item != nil:
		file = d.unref(f.item)
	}
	d.mu.Unlock()
	if file != nil {
		_ = file.Close()
	}
}

// result turns a flight that has ended into what one of its waiters gets.
func (f *flight) result(d *Disk, size int64) (*Entry, error) {
	if f.err != nil {
		return nil, f.err
	}
	e := &Entry{d: d, it: f.item}
	if size >= 0 && f.item.size != size {
		return nil, errors.Join(fmt.Errorf("cache %v: %w: %d bytes, %d asked for", f.key, ErrSize, f.item.size, size), e.Close())
	}
	return e, nil
}

func (d *Disk) run(ctx context.Context, f *flight, size int64, render renderFunc) {
	// The deferred call must have something to say even if render ends the goroutine (testing.T.FailNow does).
	var it *item
	err := errors.New("rendering did not return")
	defer func() { d.finish(f, it, err) }()
	it, err = d.obtain(ctx, f.key, size, render)
}

func (d *Disk) finish(f *flight, it *item, err error) {
	f.cancel()
	var file *os.File
	d.mu.Lock()
	delete(d.flights, f.key)
	f.finished, f.item = true, it
	switch {
	case err == nil:
		it.refs += f.waiters
		file = d.unref(it) // the flight's own
	case d.closed && errors.Is(err, context.Canceled):
		f.err = ErrClosed
	default:
		f.err = fmt.Errorf("cache %v: %w", f.key, err)
	}
	close(f.done)
	d.mu.Unlock()
	if file != nil {
		_ = file.Close()
	}
}

// obtain returns the item of a key with a reference for the caller.
func (d *Disk) obtain(ctx context.Context, key Key, size int64, render renderFunc) (*item, error) {
	usable := d.diskUsable()
	if d.folder != nil {
		if it, err := d.fromFolder(ctx, key, size, usable); it != nil || err != nil {
			return it, err
		}
	}
	if render == nil {
		return nil, errMissing
	}
	var diskErr error
	if usable {
		var it *item
		it, diskErr = d.renderToDisk(ctx, key, size, render)
		if diskErr == nil || !errors.As(diskErr, new(*diskError)) {
			return it, diskErr
		}
		d.diskFailed(diskErr)
	}
	it, err := d.renderToMemory(ctx, key, size, render)
	if diskErr != nil && errors.Is(err, ErrFull) {
		return nil, fmt.Errorf("%w; the disk cannot be used: %w", err, diskErr)
	}
	return it, err
}

// call runs render and turns a panic into an error.
func (d *Disk) call(ctx context.Context, w *Writer, render renderFunc) error {
	if d != nil {
		d.mu.Lock()
		d.count.renders++
		d.mu.Unlock()
	}
	defer w.close()
	return contain.Call(func() error { return render(ctx, w) })
}

// renderToDisk renders into a temporary file and makes it an entry. A *diskError means that it is the disk's fault.
func (d *Disk) renderToDisk(ctx context.Context, key Key, size int64, render renderFunc) (*item, error) {
	tmp, err := d.folder.create()
	if err != nil {
		return nil, &diskError{err}
	}
	defer tmp.discard()
	w := newWriter(ctx, tmp.File, size, d.reserveDisk, d.folder.fault).withSums()
	defer d.unreserve(&d.disk, w)
	if err := d.fill(ctx, w, render); err != nil {
		return nil, err
	}
	it, err := d.seal(ctx, tmp, w, key)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.settle(it, w)
	d.unseen += it.alloc
	stale := d.unseen > d.disk.limit/16
	d.mu.Unlock()
	d.diskWorks()
	if stale {
		if err := d.refresh(); err != nil {
			d.log.Debug("cache folder not listed", "err", err)
		}
	}
	return it, nil
}

// fill runs render on a file of the right length. What went wrong in the writer counts more than what render says about it.
func (d *Disk) fill(ctx context.Context, w *Writer, render renderFunc) error {
	if err := w.start(); err != nil {
		return err
	}
	err := d.call(ctx, w, render)
	if w.failed != nil {
		return w.failed
	}
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.finish()
}

// seal makes a filled temporary file an entry. The file is synced although its checksum would tell what was lost: a disk
// that fails must say so before anything is served from it.
func (d *Disk) seal(ctx context.Context, tmp *tempFile, w *Writer, key Key) (*item, error) {
	sum, err := w.sums.checksum(ctx, tmp.File, key, w.size, d.folder.fault)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &diskError{err}
	}
	if err := d.folder.sync(tmp); err != nil {
		return nil, &diskError{err}
	}
	file, st, err := tmp.readOnly()
	if err != nil {
		return nil, &diskError{err}
	}
	if err := d.folder.publish(tmp, key, sum); err != nil {
		_ = file.Close()
		return nil, &diskError{err}
	}
	return &item{key: key, sum: sum, size: w.size, alloc: st.Blocks * 512, ino: st.Ino, verified: true, pool: &d.disk, file: file, refs: 1}, nil
}

// renderToMemory renders into a file without a disk.
func (d *Disk) renderToMemory(ctx context.Context, key Key, size int64, render renderFunc) (*item, error) {
	file, err := newMemoryFile()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFull, err)
	}
	keep := false
	defer func() {
		if !keep {
			_ = file.Close()
		}
	}()
	w := newWriter(ctx, file, size, d.reserveMemory, nil)
	defer d.unreserve(&d.memory, w)
	it, err := d.fillMemory(ctx, w, key, render)
	if err != nil {
		return nil, err
	}
	it.pool = &d.memory
	d.mu.Lock()
	d.settle(it, w)
	if d.folder != nil {
		d.count.fallbacks++
	}
	d.mu.Unlock()
	keep = true
	return it, nil
}

// fillMemory renders into a memory file and seals it.
func (d *Disk) fillMemory(ctx context.Context, w *Writer, key Key, render renderFunc) (*item, error) {
	if err := d.fill(ctx, w, render); err != nil {
		if errors.As(err, new(*diskError)) {
			return nil, fmt.Errorf("%w: in memory: %w", ErrFull, err)
		}
		return nil, err
	}
	alloc, err := sealMemoryFile(w.file)
	if err != nil {
		return nil, err
	}
	return &item{key: key, size: w.size, alloc: alloc, verified: true, file: w.file, refs: 1}, nil
}

// renderAlone is Do without a cache. Its bound is that of a cache without options, for each file.
func renderAlone(ctx context.Context, key Key, size int64, render renderFunc) (*Entry, error) {
	file, err := newMemoryFile()
	if err != nil {
		return nil, fmt.Errorf("cache %v: %w: %w", key, ErrFull, err)
	}
	left := int64(defaultMemory)
	w := newWriter(ctx, file, size, func(n int64) error {
		if left -= n; left < 0 {
			return &diskError{errNoRoom}
		}
		return nil
	}, nil)
	it, err := (*Disk)(nil).fillMemory(ctx, w, key, render)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cache %v: %w", key, err), file.Close())
	}
	return &Entry{it: it}, nil
}
