package mdt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/hudifs/hudifs/internal/avro"
	"github.com/hudifs/hudifs/internal/contain"
	"github.com/hudifs/hudifs/internal/fsview"
	"github.com/hudifs/hudifs/internal/lazy"
	"github.com/hudifs/hudifs/internal/timeline"
	"github.com/hudifs/hudifs/storage"
)

// ErrUnavailable is wrapped by every error that says that the metadata table can't be used: there is none, or it is damaged,
// or a part of it is gone.
var ErrUnavailable = errors.New("no usable metadata table")

const (
	folder = ".hoodie/metadata"

	filesPartition = "files"
	allPartitions  = "__all_partitions__"
	// maxFiles bounds the files that records list, each as often as one does. They take some hundred bytes of memory.
	maxFiles = 1 << 23

	walkAtOnce = 16 // partitions

	// rootPartition stands for the path "" in keys and names.
	rootPartition = "."
)

// Table is the metadata table of a table as it was when it was opened. It may be used from many goroutines.
type Table struct {
	store   storage.Store // of the metadata table
	tl      *timeline.Timeline
	data    *timeline.Timeline // of the table itself
	schemas avro.Schemas

	listing lazy.Value[loaded]
}

// loaded has the files of each partition, or why it can't be had for good.
type loaded struct {
	files    map[string][]storage.Entry
	unusable error
}

var _ fsview.Lister = (*Table)(nil)

// Open captures the metadata table of the table at the root of a store. data is that table's timeline; it must have been loaded
// before, so that everything that has completed on it is in the metadata table. Errors: ErrUnavailable, and what ends a read.
func Open(ctx context.Context, s storage.Store, data *timeline.Timeline) (*Table, error) {
	if !data.Config().HasMetadataFiles() {
		return nil, fmt.Errorf("%w: hoodie.table.metadata.partitions does not have %q", ErrUnavailable, filesPartition)
	}
	t := &Table{store: storage.Sub(s, folder), data: data}
	c, err := timeline.LoadMetadataConfig(ctx, t.store)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	if t.tl, err = timeline.Load(ctx, t.store, c); err != nil {
		return nil, unavailable(ctx, err)
	}
	return t, t.complete()
}

// complete checks that no write of the data table was made without the metadata table, by a writer that has it switched off beside one
// that makes it: all have to be committed here, or be older than the instants here. Those of the initialisation have the time of the newest
// write that they know of, and digits behind it.
func (t *Table) complete() error {
	for _, in := range t.data.CompletedWrites() {
		if !t.tl.IsCommitted(in.Time) {
			return fmt.Errorf("%w: %s: it does not have %s, which has completed", ErrUnavailable, folder, in.Time)
		}
	}
	return nil
}

// unavailable gives the errors that a plain listing might not meet their class. A store that can't be reached is no reason
// to ask it more.
func unavailable(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || errors.Is(err, storage.ErrUnavailable) || errors.Is(err, ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, folder, err)
}

// valid tells which instants count. The rollbacks of the data table are read for it.
func (t *Table) valid(ctx context.Context) (func(instant string) bool, error) {
	completed, pending, undone := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, in := range t.data.Instants() {
		if in.State != timeline.Completed {
			pending[in.Time] = true
			continue
		}
		completed[in.Time] = true
		names, err := undoneBy(ctx, t.data, in)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			undone[n.Time] = true
		}
	}
	return func(instant string) bool {
		// Those of the metadata table's own initialisation.
		const solo = "00000000000000"
		return completed[instant] || t.tl.IsCommitted(instant) && !pending[instant] || undone[instant] || strings.HasPrefix(instant, solo)
	}, nil
}

func undoneBy(ctx context.Context, tl *timeline.Timeline, in timeline.Instant) ([]timeline.InstantName, error) {
	switch in.Action {
	case timeline.ActionRollback:
		r, err := tl.Rollback(ctx, in)
		if err != nil {
			return nil, err
		}
		return r.Instants, nil
	case timeline.ActionRestore:
		r, err := tl.Restore(ctx, in)
		if err != nil {
			return nil, err
		}
		return r.Instants, nil
	default:
		return nil, nil
	}
}

// Load reads the listing of the whole table, once. Who calls it first knows before a view is made whether the lister can be
// used, and need not change it within one. Errors: ErrUnavailable, and what ends a read.
func (t *Table) Load(ctx context.Context) error {
	_, err := t.load(ctx)
	return err
}

func (t *Table) load(ctx context.Context) (map[string][]storage.Entry, error) {
	l, err := t.listing.Get(ctx, func(ctx context.Context) (loaded, error) {
		files, err := t.readListing(ctx)
		if err = unavailable(ctx, err); errors.Is(err, ErrUnavailable) {
			return loaded{unusable: err}, nil
		}
		return loaded{files: files}, err
	})
	if err != nil {
		return nil, err
	}
	return l.files, l.unusable
}

// Walk implements fsview.Lister. All sizes are known.
func (t *Table) Walk(ctx context.Context, _ bool, each func(partition string, files []storage.Entry) error) error {
	listing, err := t.load(ctx)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(walkAtOnce)
	for partition, files := range listing {
		g.Go(contain.Func(func() error {
			if err := ctx.Err(); err != nil {
				return err // others have failed
			}
			return each(partition, slices.Clone(files))
		}))
	}
	return g.Wait()
}

// Files are the files of a partition, without times. A partition that the table does not have is storage.ErrNotExist.
func (t *Table) Files(ctx context.Context, partition string) ([]storage.Entry, error) {
	listing, err := t.load(ctx)
	if err != nil {
		return nil, err
	}
	files, ok := listing[partition]
	if !ok {
		return nil, fmt.Errorf("list %s: %w", partition, storage.ErrNotExist)
	}
	return slices.Clone(files), nil
}

// readListing reads the partition "files".
func (t *Table) readListing(ctx context.Context) (map[string][]storage.Entry, error) {
	sizes := map[string]map[string]int64{} // by key
	seen := 0
	err := t.records(ctx, filesPartition, []string{"type", "filesystemMetadata"}, func(key string, rec *avro.Record) error {
		if rec == nil {
			delete(sizes, key)
			return nil
		}
		files, ok := avro.Value[map[string]any](rec, "filesystemMetadata")
		if !ok {
			return fmt.Errorf("%w: record %q without files", ErrUnavailable, key)
		}
		if seen += len(files); seen > maxFiles {
			return fmt.Errorf("%w: more than %d files", ErrUnavailable, maxFiles)
		}
		if sizes[key] == nil {
			sizes[key] = make(map[string]int64, len(files))
		}
		return merge(sizes[key], key, files)
	})
	if err != nil {
		return nil, err
	}
	partitions, ok := sizes[allPartitions]
	if !ok {
		return nil, fmt.Errorf("%w: no record %s", ErrUnavailable, allPartitions)
	}
	listing := make(map[string][]storage.Entry, len(partitions))
	for name := range partitions {
		p := name
		if p == rootPartition {
			p = ""
		}
		if err := storage.CheckPath(p); err != nil {
			return nil, err
		}
		entries := make([]storage.Entry, 0, len(sizes[name]))
		for file, size := range sizes[name] {
			entries = append(entries, storage.Entry{Name: file, Size: size})
		}
		slices.SortFunc(entries, func(a, b storage.Entry) int { return strings.Compare(a.Name, b.Name) })
		listing[p] = entries
	}
	return listing, nil
}

// merge puts newer files over those that are there.
func merge(sizes map[string]int64, key string, files map[string]any) error {
	for name, v := range files {
		info, ok := v.(*avro.Record)
		size, sized := avro.Value[int64](info, "size")
		deleted, marked := avro.Value[bool](info, "isDeleted")
		switch {
		case !ok || !sized || !marked || size < 0:
			return fmt.Errorf("%w: record %q: %q without a size", ErrUnavailable, key, name)
		case deleted:
			delete(sizes, name)
		case key != allPartitions && (name == "" || strings.Contains(name, "/") || storage.CheckPath(name) != nil):
			return fmt.Errorf("%w: record %q: %q is no file name", ErrUnavailable, key, name)
		default:
			sizes[name] = max(sizes[name], size)
		}
	}
	return nil
}
