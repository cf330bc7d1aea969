package storage

import (
	"context"
	"fmt"
	"io"
	"os"
)

// Filer is implemented by Objects whose bytes are those of a local file, from its first byte to its Size.
type Filer interface {
	// OSFile returns the file. It belongs to the Object: it must not be closed, written or seeked.
	OSFile() *os.File
}

// OSFile returns the local file behind o, looking through decorators that have a method Unwrap() Object, or nil. What is
// read from the file directly passes such decorators by. A decorator that changes bytes must not have that method.
func OSFile(o Object) *os.File {
	for o != nil {
		if f, ok := o.(Filer); ok {
			return f.OSFile()
		}
		u, ok := o.(interface{ Unwrap() Object })
		if !ok {
			return nil
		}
		o = u.Unwrap()
	}
	return nil
}

// ReaderAt returns o as an io.ReaderAt whose reads end with ctx.
func ReaderAt(ctx context.Context, o Object) io.ReaderAt {
	return readerAt{ctx, o}
}

type readerAt struct {
	ctx context.Context //nolint:containedctx // io.ReaderAt has no place for it
	o   Object
}

func (r readerAt) ReadAt(p []byte, off int64) (int, error) {
	return r.o.ReadAt(r.ctx, p, off)
}

// ReadFile returns a whole object, or an error when it has more than limit bytes.
func ReadFile(ctx context.Context, s Store, path string, limit int64) ([]byte, error) {
	o, err := s.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = o.Close() }()
	if o.Size() > limit {
		return nil, fmt.Errorf("read %s: %d bytes, at most %d expected", path, o.Size(), limit)
	}
	buf := make([]byte, o.Size())
	if n, err := o.ReadAt(ctx, buf, 0); n < len(buf) {
		return nil, fmt.Errorf("read %s: %d of %d bytes: %w", path, n, len(buf), err)
	}
	return buf, nil
}
