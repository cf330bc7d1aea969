package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Writer is where a file is rendered to, in any order. What is never written is a hole, read as zeros. Its methods may be
// used from many goroutines, save Write.
type Writer struct {
	ctx     context.Context //nolint:containedctx // io.WriterAt has no place for it, and a cancelled rendering must stop
	file    *os.File
	size    int64 // promised, or below zero
	reserve func(n int64) error
	fault   faultFunc

	sums *sums // nil where no checksum is wanted

	pos int64 // of Write

	mu       sync.Mutex
	reserved int64
	written  int64
	end      int64 // of the last byte written
	failed   error // the first failure, which no rendering can make good
	writing  sync.WaitGroup
	closed   bool
}

var (
	_ io.WriterAt = (*Writer)(nil)
	_ io.Writer   = (*Writer)(nil)
)

// reserveStep is how much is reserved at a time: a reservation asks the file system how much is free.
const reserveStep = 1 << 20

var errWriterClosed = errors.New("write after the rendering has ended")

func newWriter(ctx context.Context, file *os.File, size int64, reserve func(int64) error, fault faultFunc) *Writer {
	return &Writer{ctx: ctx, file: file, size: size, reserve: reserve, fault: fault}
}

// Size returns the length that the file will have, or a negative number when the rendering decides.
func (w *Writer) Size() int64 { return w.size }

// WriteAt implements io.WriterAt. Writing beyond the promised size is an error wrapping ErrSize, and like any failure of
// the disk it makes the whole rendering fail.
func (w *Writer) WriteAt(p []byte, off int64) (int, error) {
	if err := w.begin(off, int64(len(p))); err != nil {
		return 0, err
	}
	defer w.writing.Done()
	if w.sums != nil {
		w.sums.add(p, off)
	}
	n, err := w.write(p, off)
	if err != nil {
		err = w.fail(&diskError{err})
	}
	return n, err
}

// Write appends to what Write has written before.
func (w *Writer) Write(p []byte) (int, error) {
	n, err := w.WriteAt(p, w.pos)
	w.pos += int64(n)
	return n, err
}

// CopyAt writes n bytes at off that lie at srcOff in src, within the kernel where it can.
func (w *Writer) CopyAt(off int64, src *os.File, srcOff, n int64) error {
	if err := w.begin(off, n); err != nil {
		return err
	}
	defer w.writing.Done()
	if w.sums != nil {
		w.sums.forget(off, n)
	}
	if err := w.fault.check("write"); err != nil {
		return w.fail(&diskError{err})
	}
	from, to := srcOff, off
	for n > 0 {
		c, err := unix.CopyFileRange(int(src.Fd()), &from, int(w.file.Fd()), &to, int(min(n, 16<<20)), 0)
		if c <= 0 || err != nil {
			break // what follows does the rest, and tells whose fault it is
		}
		n -= int64(c)
		if err := w.ctx.Err(); err != nil {
			return err
		}
	}
	buf := make([]byte, min(n, 1<<20))
	for n > 0 {
		p := buf[:min(n, int64(len(buf)))]
		if c, err := src.ReadAt(p, from); c < len(p) {
			return fmt.Errorf("copy %d bytes at %d of %s: %w", len(p), from, src.Name(), noEOF(err))
		}
		if _, err := w.write(p, to); err != nil {
			return w.fail(&diskError{err})
		}
		from, to, n = from+int64(len(p)), to+int64(len(p)), n-int64(len(p))
		if err := w.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) write(p []byte, off int64) (int, error) {
	if err := w.fault.check("write"); err != nil {
		return 0, err
	}
	return w.file.WriteAt(p, off)
}

// begin admits a write of n bytes at off; w.writing.Done ends it.
func (w *Writer) begin(off, n int64) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return errWriterClosed
	case w.failed != nil:
		return w.failed
	case off < 0 || n < 0 || off+n < off:
		return fmt.Errorf("write of %d bytes at %d", n, off)
	case w.size >= 0 && off+n > w.size:
		w.failed = fmt.Errorf("%w: %d bytes written at %d of %d", ErrSize, n, off, w.size)
		return w.failed
	}
	if err := w.room(n); err != nil {
		w.failed = err
		return err
	}
	w.written += n
	w.end = max(w.end, off+n)
	w.writing.Add(1)
	return nil
}

// room reserves what n more bytes need, and a step ahead if there is room for one.
func (w *Writer) room(n int64) error {
	need := w.written + n - w.reserved
	if need <= 0 {
		return nil
	}
	step := reserveStep
	if w.size >= 0 {
		step = int(min(int64(step), w.size-w.reserved))
	}
	if int64(step) > need && w.reserve(int64(step)) == nil {
		w.reserved += int64(step)
		return nil
	}
	if err := w.reserve(need); err != nil {
		return err
	}
	w.reserved += need
	return nil
}

func (w *Writer) fail(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil {
		w.failed = err
	}
	return err
}

// start gives the file its promised length.
func (w *Writer) start() error {
	return w.truncate(max(w.size, 0))
}

// withSums notes what the checksum will need of what is written.
func (w *Writer) withSums() *Writer {
	w.sums = &sums{grains: map[int64]written{}}
	return w
}

// close refuses further writes and waits for those that a careless rendering left running.
func (w *Writer) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.writing.Wait()
}

// finish fixes the file's length.
func (w *Writer) finish() error {
	if w.size < 0 {
		w.size = w.end
		return w.truncate(w.size)
	}
	return nil
}

func (w *Writer) truncate(size int64) error {
	err := w.fault.check("truncate")
	if err == nil {
		err = w.file.Truncate(size)
	}
	if err != nil {
		return &diskError{err}
	}
	return nil
}
