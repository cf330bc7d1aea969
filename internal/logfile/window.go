package logfile

import (
	"errors"
	"fmt"
	"io"
)

const (
	// readAhead is what one request fetches at least: the trailer of a block, the next block's prefix, and most schemas.
	readAhead = 32 << 10
	scanStep  = 1 << 20
)

// window reads ranges of a file through one buffer, since headers lie close together where blocks are small.
type window struct {
	r    io.ReaderAt
	size int64

	at  int64 // of buf in the file
	buf []byte
}

// bytes are n bytes at p, valid until the next call. The range must lie within the file.
func (w *window) bytes(p int64, n int) ([]byte, error) {
	if p >= w.at && p+int64(n) <= w.at+int64(len(w.buf)) {
		return w.buf[p-w.at:][:n], nil
	}
	want := int(min(int64(max(n, readAhead)), w.size-p))
	if cap(w.buf) < want {
		w.buf = make([]byte, want)
	}
	w.buf, w.at = w.buf[:want], p
	if err := readFull(w.r, w.buf, p); err != nil {
		w.buf = w.buf[:0]
		return nil, err
	}
	return w.buf[:n], nil
}

// readFull fills b from p. A file that turns out shorter than its size said was cut, or replaced, meanwhile.
func readFull(r io.ReaderAt, b []byte, p int64) error {
	n, err := r.ReadAt(b, p)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return corrupt(p+int64(n), "expected %d more bytes, the file ends", len(b)-n)
	}
	return fmt.Errorf("log file at byte %d: %w", p, err)
}
