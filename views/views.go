// Package views shows Hudi tables and queries on them as directory trees: latest/, asof/<instant>/, incremental/<begin>..<end>/, cdc/<begin>..<end>/, diff/<a>..<b>/,
// read_optimized/ and .hudi/ below a table, and tables below a warehouse. It knows nothing of FUSE: fusefs, the commands
// that need no mount, and tests walk the same trees.
package views

import (
	"context"
	"os"
	"time"
)

// Attr is what stat(2) tells of a node.
type Attr struct {
	// Inode is the node's stable number: the same on every host and in every run, and never shared by two nodes of different bytes.
	Inode uint64
	Dir   bool
	// Size is the exact number of bytes that reading the file gives.
	Size int64
	// Disk is the number of bytes that the file takes on disk, where they are known to be fewer than Size (holes); otherwise Size.
	Disk    int64
	ModTime time.Time
	// Frozen says that neither attributes nor content nor, for a directory, its entries will ever change: they may be cached for good.
	// What is not frozen may be cached for a refresh interval.
	Frozen bool
}

// Node is a directory (Dir) or a file (File).
type Node interface {
	// Attr may read a file's footer, but never renders.
	Attr(ctx context.Context) (Attr, error)
	// Xattrs are the node's extended attributes by full name (user.hudi.…).
	Xattrs(ctx context.Context) (map[string]string, error)
}

// Dir is a directory.
type Dir interface {
	Node
	// Lookup finds an entry by name; names that Entries does not list may be found too. Errors wrap fs.ErrNotExist where there is none.
	Lookup(ctx context.Context, name string) (Node, error)
	// Entries lists the directory, sorted by name, without opening any file.
	Entries(ctx context.Context) ([]Entry, error)
}

// Entry is one line of a directory listing.
type Entry struct {
	Name string
	Dir  bool
	// Costly says that Attr takes more than reading footers and headers: it is not to be asked for on suspicion.
	Costly bool
	Inode  uint64
}

// File is a regular file.
type File interface {
	Node
	// Open makes the content ready, rendering it if need be. A cancelled ctx gives up waiting, without failing others who wait for the same bytes.
	Open(ctx context.Context) (Handle, error)
}

// Handle is an open file. It may be used from many goroutines.
type Handle interface {
	// ReadAt fills p from off; at the end of the file it returns fewer bytes and no error.
	ReadAt(ctx context.Context, p []byte, off int64) (int, error)
	Close() error
}

// OSFile is implemented by a Handle whose bytes are exactly those of one local file, which the kernel may then read by itself.
type OSFile interface {
	OSFile() *os.File
}
