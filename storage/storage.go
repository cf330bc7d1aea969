// Package storage is the read-only seam between the Hudi reader and the place where a table lies: objects opened by path,
// read in ranges, and folders listed one level at a time. There is no seek, no rename and no write, so that an object
// store can implement it as well as a local folder.
//
// Paths are relative to the store's root, separated by slashes, without a leading slash; "" is the root. A path never
// contains "." or ".." as an element, and no store follows a link out of its root. Most paths come from a table's own
// metadata, which anybody may have written: [CheckPath] says what every store refuses, [Join] builds paths that pass.
package storage

import (
	"context"
	"errors"
	"time"
)

// The errors that callers tell apart with errors.Is. Stores wrap them with the operation and the path. When ctx ended an
// operation, its error is ctx's.
var (
	ErrNotExist    = errors.New("no such object")
	ErrPermission  = errors.New("access denied")
	ErrUnavailable = errors.New("store unavailable") // worth another try
)

// ErrPath is a path that no store looks at, because it is not of the form described above. It is not ErrNotExist:
// metadata with such a path is damaged or hostile, and nothing may take it for a file that was cleaned away.
var ErrPath = errors.New("invalid path")

// Store is a tree of immutable objects.
type Store interface {
	// Open makes an object ready for reading. Opening a directory is ErrNotExist.
	Open(ctx context.Context, path string) (Object, error)
	// List returns what lies directly below a directory, sorted by name. A directory that does not exist is ErrNotExist,
	// and so is a file. Links and special files are left out.
	List(ctx context.Context, dir string) ([]Entry, error)
}

// Object is an open object. It may be used from many goroutines.
type Object interface {
	// ReadAt fills p from off, as io.ReaderAt does: fewer bytes come with an error, io.EOF at the end of the object. A
	// filled p comes with a nil error. Nothing is read beyond Size, and an object that has become shorter than that is
	// io.ErrUnexpectedEOF, so that io.EOF always means the true end.
	ReadAt(ctx context.Context, p []byte, off int64) (int, error)
	// Size is the number of bytes when the object was opened.
	Size() int64
	ModTime() time.Time
	Close() error
}

// Entry is one line of a listing. Size is 0 for a directory; ModTime may be zero for one.
type Entry struct {
	Name    string
	Dir     bool
	Size    int64
	ModTime time.Time
}

// Watcher is implemented by Stores that can hear of changes without asking again and again.
type Watcher interface {
	// Watch begins to watch nothing: see Watch.Follow.
	Watch() (Watch, error)
}

// Watch hears of changes in folders. What it misses, as on a network file system whose changes other hosts make, asking must find.
type Watch interface {
	// Follow makes dirs the folders that are watched, instead of those before. A change is an entry of one of them that is made, removed,
	// renamed or written. A folder that does not exist is left out, so who waits for it follows it again later. An error says what can't be
	// watched for another reason; the rest is.
	Follow(ctx context.Context, dirs []string) error
	// Next waits for a change, and returns the folders with changes since it returned last, in no order.
	Next(ctx context.Context) ([]string, error)
	Close() error
}
