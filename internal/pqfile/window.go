package pqfile

import (
	"io"
	"sync"
)

// readAhead is how much of a chunk is read at once.
const readAhead = 1 << 20

// window is a forward-moving view of a range of a file. It holds what it reads ahead, or one page if that is larger.
type window struct {
	r   io.ReaderAt
	pos int64 // file offset of the next byte
	end int64
	mem []byte
	buf []byte // the part of mem that was read but not taken
}

func (w *window) left() int64 { return w.end - w.pos }

// peek returns the next n bytes without taking them, or as many as there are before the end. They are valid until the next call.
func (w *window) peek(n int) ([]byte, error) {
	n = int(min(int64(n), w.left()))
	if n <= len(w.buf) {
		return w.buf[:n], nil
	}
	want := int(min(int64(max(n, readAhead)), w.left()))
	mem := w.mem
	if len(mem) < want {
		mem = newWindow(want)
	}
	have := copy(mem, w.buf)
	w.mem = mem
	w.buf = mem[:have]
	if err := readAt(w.r, mem[have:want], w.pos+int64(have)); err != nil {
		return nil, err
	}
	w.buf = mem[:want]
	return w.buf[:n], nil
}

// take moves on by n bytes that were peeked.
func (w *window) take(n int) {
	w.pos += int64(n)
	w.buf = w.buf[n:]
}

// windows are buffers of windows that are done.
var windows sync.Pool // of *[readAhead+padding]byte

func newWindow(want int) []byte {
	if want > readAhead {
		return make([]byte, want, want+padding)
	}
	b, ok := windows.Get().(*[readAhead + padding]byte)
	if !ok {
		b = new([readAhead + padding]byte)
	}
	return b[:readAhead]
}

// release gives the window's memory back. Nothing that was peeked is valid any more.
func (w *window) release() {
	if cap(w.mem) == readAhead+padding {
		windows.Put((*[readAhead + padding]byte)(w.mem[:cap(w.mem)]))
	}
	w.mem, w.buf = nil, nil
}
