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
	"github.com/hudifs/hudifs/storage"
)

// ErrUnsupported is wrapped by every error about a table that has more folders than can be listed, or deeper ones.
var ErrUnsupported = errors.New("not supported")

// Lister lists the partitions of a table and the files in them.
type Lister interface {
	// Partitions are the partition paths relative to the table, sorted; "" is that of a table without partitions.
	Partitions(ctx context.Context) ([]string, error)
	// Files are the files of a partition, committed or not, sorted by name.
	Files(ctx context.Context, partition string) ([]storage.Entry, error)
}

const (
	metaFolder    = ".hoodie"
	partitionMeta = ".hoodie_partition_metadata"
	listAtOnce    = 16
	deepest       = 64
	// maxFolders bounds the folders of a table. Their paths take some hundred bytes of memory each.
	maxFolders = 1 << 22
)

// Plain lists a table by walking its folders: a folder that holds a partition metafile is a partition
// (hudi-common: FileSystemBackedTableMetadata).
type Plain struct{ store storage.Store }

// NewPlain makes a lister of the table at the root of a store.
func NewPlain(s storage.Store) *Plain { return &Plain{store: s} }

// Partitions walks the table. A folder that is removed meanwhile is storage.ErrNotExist: it may have been a partition.
func (p *Plain) Partitions(ctx context.Context) ([]string, error) {
	var mu sync.Mutex
	var found []string
	seen := 0 // folders that were found
	level := []string{""}
	for depth := 0; len(level) > 0; depth++ {
		if depth > deepest {
			return nil, fmt.Errorf("%w: %s: folders nested deeper than %d", ErrUnsupported, level[0], deepest)
		}
		var next []string
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(listAtOnce)
		for _, dir := range level {
			g.Go(contain.Func(func() error {
				if err := ctx.Err(); err != nil {
					return err // others have failed
				}
				entries, err := p.store.List(ctx, dir)
				if err != nil {
					return err
				}
				partition, below := folders(dir, entries)
				mu.Lock()
				defer mu.Unlock()
				if partition {
					found = append(found, dir)
					return nil
				}
				if seen += len(below); seen > maxFolders {
					return fmt.Errorf("%w: more than %d folders", ErrUnsupported, maxFolders)
				}
				next = append(next, below...)
				return nil
			}))
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		level = next
	}
	slices.Sort(found)
	return found, nil
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

// Files lists one folder.
func (p *Plain) Files(ctx context.Context, partition string) ([]storage.Entry, error) {
	return p.store.List(ctx, partition)
}
