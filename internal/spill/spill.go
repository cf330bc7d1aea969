// Package spill keeps on disk what does not go into memory: in files without a name, which are gone with the process that made them.
package spill

import (
	"errors"
	"io"
	"os"
)

// Create makes a file without a name in the folder for temporary files.
func Create() (*os.File, error) {
	f, err := os.CreateTemp("", "hudifs-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// File is written at any place and read again. It is in memory up to a number of bytes, and on disk when it grows beyond. It may not be written by
// several goroutines at once.
type File struct {
	memory int64
	held   []byte
	file   *os.File // nil while all is held
}

// New makes an empty file with so many bytes of memory.
func New(memory int64) *File { return &File{memory: memory} }

// WriteAt writes at an offset of the file. What lies between and was not written is zero.
func (f *File) WriteAt(p []byte, at int64) (int, error) {
	end := at + int64(len(p))
	if f.file == nil && end > f.memory {
		if err := f.spill(); err != nil {
			return 0, err
		}
	}
	if f.file != nil {
		return f.file.WriteAt(p, at)
	}
	if more := end - int64(len(f.held)); more > 0 {
		f.held = append(f.held, make([]byte, more)...)
	}
	return copy(f.held[at:], p), nil
}

func (f *File) spill() (err error) {
	if f.file, err = Create(); err != nil {
		return err
	}
	_, err = f.file.WriteAt(f.held, 0)
	f.held = nil
	return err
}

// ReadAt reads what was written, up to the last byte that was.
func (f *File) ReadAt(p []byte, at int64) (int, error) {
	if f.file != nil {
		return f.file.ReadAt(p, at)
	}
	if at > int64(len(f.held)) {
		return 0, io.EOF
	}
	n := copy(p, f.held[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Close gives back what the file takes.
func (f *File) Close() error {
	f.held = nil
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}
