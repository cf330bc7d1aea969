package fsview

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hudifs/hudifs/internal/contain"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/storage"
)

// ErrUnsupported is wrapped by every error about a table that has more folders than can be listed, or deeper ones.
var ErrUnsupported = errors.New("not supported")

// Lister lists the partitions of a table and the files in them.
type Lister interface {
	// Walk calls each for every partition, from several goroutines at once and in no order: with its path relative to the table, which is
	// "" in a table without partitions, and its files, committed or not, sorted by name, which each may not keep. Unless sizes are asked for, those of base files may
	// be storage.Unknown where a partition has no log files.
	Walk(ctx context.Context, sizes bool, each func(partition string, files []storage.Entry) error) error
	// Files are the files of a partition with their sizes, committed or not, sorted by name.
	Files(ctx context.Context, partition string) ([]storage.Entry, error)
}

const (
	metaFolder    = ".hoodie"
	partitionMeta = ".hoodie_partition_metadata"
	listAtOnce    = 16
	deepest       = 64
	// maxKept bounds the folders whose memory serves the next one, by their entries.
	maxKept = 1 << 14
	// maxFolders bounds the folders of a table. Their paths take some hundred bytes of memory each.
	maxFolders = 1 << 22
)

// listing is the memory for what a folder holds, which serves one after the other.
type listing struct{ entries []storage.Entry }

var listings = sync.Pool{New: func() any { return &listing{} }}

func (l *listing) release() {
	if cap(l.entries) > maxKept {
		return
	}
	clear(l.entries) // of names
	l.entries = l.entries[:0]
	listings.Put(l)
}

// Plain lists a table by walking its folders: a folder that holds a partition metafile is a partition
// (hudi-common: FileSystemBackedTableMetadata).
type Plain struct{ store storage.Store }

// NewPlain makes a lister of the table at the root of a store.
func NewPlain(s storage.Store) *Plain { return &Plain{store: s} }

// Walk implements Lister. A folder that is removed meanwhile is storage.ErrNotExist: it may have been a partition.
func (p *Plain) Walk(ctx context.Context, sizes bool, each func(partition string, files []storage.Entry) error) error {
	var mu sync.Mutex
	seen := 0 // folders that were found
	level := []string{""}
	for depth := 0; len(level) > 0; depth++ {
		if depth > deepest {
			return fmt.Errorf("%w: %s: folders nested deeper than %d", ErrUnsupported, level[0], deepest)
		}
		var next []string
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(listAtOnce)
		for _, dir := range level {
			g.Go(contain.Func(func() error {
				if err := ctx.Err(); err != nil {
					return err // others have failed
				}
				l, _ := listings.Get().(*listing)
				defer l.release()
				var err error
				if l.entries, err = storage.AppendNames(ctx, p.store, l.entries, dir); err != nil {
					return err
				}
				partition, below := folders(dir, l.entries)
				if partition {
					return p.partition(ctx, dir, l.entries, sizes, each)
				}
				mu.Lock()
				defer mu.Unlock()
				if seen += len(below); seen > maxFolders {
					return fmt.Errorf("%w: more than %d folders", ErrUnsupported, maxFolders)
				}
				next = append(next, below...)
				return nil
			}))
		}
		if err := g.Wait(); err != nil {
			return err
		}
		level = next
	}
	return nil
}

// partition gives each the files of a partition, whose names are known.
func (p *Plain) partition(
	ctx context.Context, dir string, entries []storage.Entry, sizes bool, each func(partition string, files []storage.Entry) error,
) (err error) {
	if (sizes || hasLogs(entries)) && slices.ContainsFunc(entries, unsized) {
		if entries, err = p.store.List(ctx, dir); err != nil {
			return err
		}
	}
	return each(dir, entries)
}

func unsized(e storage.Entry) bool { return e.Size == storage.Unknown }

// hasLogs tells whether there may be log files. What is made of those has a name that their sizes decide.
func hasLogs(entries []storage.Entry) bool {
	return slices.ContainsFunc(entries, func(e storage.Entry) bool {
		if !strings.HasPrefix(e.Name, ".") {
			return false
		}
		_, ok := logfile.ParseName(e.Name)
		return ok
	})
}

// folders tells whether a listing is that of a partition, and which folders below it may hold some.
func folders(dir string, entries []storage.Entry) (partition bool, below []string) {
	for _, e := range entries {
		switch {
		case !e.Dir && isPartitionMeta(e.Name):
			return true, nil
		case e.Dir && e.Name != metaFolder:
			below = append(below, path.Join(dir, e.Name))
		}
	}
	return false, below
}

// isPartitionMeta knows the metafile in each of its forms, and not the temporary names under which it is written.
func isPartitionMeta(name string) bool {
	rest, ok := strings.CutPrefix(name, partitionMeta)
	return ok && (rest == "" || strings.HasPrefix(rest, "."))
}

// Files implements Lister: it lists one folder.
func (p *Plain) Files(ctx context.Context, partition string) ([]storage.Entry, error) {
	return p.store.List(ctx, partition)
}
