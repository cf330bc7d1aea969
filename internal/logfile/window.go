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

// window reads ranges of a file through two buffers: headers lie close together where blocks are small, and where they are
// large the end of one is looked at before its header is read on.
type window struct {
	r    io.ReaderAt
	size int64

	last, other span
}

type span struct {
	at  int64
	buf []byte
}

func (s *span) holds(p int64, n int) bool { return p >= s.at && p+int64(n) <= s.at+int64(len(s.buf)) }

// held are the bytes from p on that were read already, valid as long as those of bytes.
func (w *window) held(p int64) []byte {
	for _, s := range []*span{&w.last, &w.other} {
		if s.holds(p, 1) {
			return s.buf[p-s.at:]
		}
	}
	return nil
}

// bytes are n bytes at p, valid until the call after the next. The range must lie within the file.
func (w *window) bytes(p int64, n int) ([]byte, error) {
	if !w.last.holds(p, n) {
		w.last, w.other = w.other, w.last
	}
	if s := &w.last; !s.holds(p, n) {
		want := int(min(int64(max(n, readAhead)), w.size-p))
		if cap(s.buf) < want {
			s.buf = make([]byte, want)
		}
		s.buf, s.at = s.buf[:want], p
		if err := readFull(w.r, s.buf, p); err != nil {
			s.buf = s.buf[:0]
			return nil, err
		}
	}
	return w.last.buf[p-w.last.at:][:n], nil
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
