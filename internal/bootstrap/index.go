package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hudifs/hudifs/internal/avro"
	"github.com/hudifs/hudifs/internal/hfile"
	"github.com/hudifs/hudifs/storage"
)

// Instant is the requested time of every metadata-only bootstrap: base files of it, and of no other, are skeletons.
const Instant = "00000000000001"

var (
	// ErrCorrupt is wrapped by every error about an index that is not what the format wants.
	ErrCorrupt = errors.New("damaged bootstrap index")
	// ErrNoIndex says that the table has no index.
	ErrNoIndex = errors.New("no bootstrap index")
	// ErrNoSource says that the index names no source for a file group.
	ErrNoSource = errors.New("no bootstrap source")
)

const (
	folder        = ".hoodie/.aux/.bootstrap/"
	file          = "/00000000-0000-0000-0000-000000000000-0_1-0-1_" + Instant + ".hfile"
	partitionFile = folder + ".partitions" + file
	fileIDFile    = folder + ".fileids" + file
)

// Source is the source file of a file group.
type Source struct {
	// URI is where the file was when the table was bootstrapped.
	URI string
	// Partition is the path of the source's partition below the bootstrap base path.
	Partition string
	Size      int64
}

// Info is what an index says of itself.
type Info struct {
	BasePath string // of the sources, as a URI
	Created  time.Time
	Keys     int64
}

// ReadInfo reads what the index of the table at the root of a store says of itself.
func ReadInfo(ctx context.Context, s storage.Store) (Info, error) {
	var info Info
	err := with(ctx, s, partitionFile, func(f *hfile.File) error {
		rec, err := container(partitionFile, f.Info("INDEX_INFO"))
		if err != nil {
			return err
		}
		var ok bool
		if info.BasePath, ok = avro.Value[string](rec, "bootstrapBasePath"); !ok {
			return fmt.Errorf("%w: %s: INDEX_INFO without bootstrapBasePath", ErrCorrupt, partitionFile)
		}
		if ms, ok := avro.Value[int64](rec, "createdTimestamp"); ok {
			info.Created = time.UnixMilli(ms).UTC()
		}
		info.Keys, _ = avro.Value[int64](rec, "numKeys")
		return nil
	})
	return info, err
}

// Find finds the source of one file group. ErrNoSource: the index knows none.
func Find(ctx context.Context, s storage.Store, partition, fileID string) (Source, error) {
	var found Source
	err := with(ctx, s, fileIDFile, func(f *hfile.File) error {
		value, ok, err := f.Get("part=" + partition + ";fileid=" + fileID)
		if err != nil {
			return damaged(fileIDFile, err)
		}
		if !ok {
			return fmt.Errorf("%w: %s: file group %s of partition %q", ErrNoSource, fileIDFile, fileID, partition)
		}
		rec, err := container(fileIDFile, value)
		if err != nil {
			return err
		}
		found, err = source(fileIDFile, rec, rec.Get("bootstrapFileStatus"))
		return err
	})
	return found, err
}

// Sources finds the sources of all file groups of a partition, by file id: none where the partition was not bootstrapped.
func Sources(ctx context.Context, s storage.Store, partition string) (map[string]Source, error) {
	found := map[string]Source{}
	err := with(ctx, s, partitionFile, func(f *hfile.File) error {
		value, ok, err := f.Get("part=" + partition)
		if err != nil {
			return damaged(partitionFile, err)
		}
		if !ok {
			return nil
		}
		rec, err := container(partitionFile, value)
		if err != nil {
			return err
		}
		files, _ := avro.Value[map[string]any](rec, "fileIdToBootstrapFile")
		for id, status := range files {
			if found[id], err = source(partitionFile, rec, status); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// with opens an index file. Both must exist for either to count: they are written one after the other.
func with(ctx context.Context, s storage.Store, name string, read func(*hfile.File) error) error {
	var want storage.Object
	for _, n := range []string{partitionFile, fileIDFile} {
		o, err := s.Open(ctx, n)
		if errors.Is(err, storage.ErrNotExist) {
			return fmt.Errorf("%w: %w", ErrNoIndex, err)
		}
		if err != nil {
			return err
		}
		defer func() { _ = o.Close() }()
		if n == name {
			want = o
		}
	}
	f, err := hfile.Open(storage.ReaderAt(ctx, want), want.Size())
	if err != nil {
		return damaged(name, err)
	}
	return read(f)
}

func damaged(name string, err error) error {
	if errors.Is(err, hfile.ErrCorrupt) {
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, name, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

func container(name string, data []byte) (*avro.Record, error) {
	rec, err := avro.Container(data, new(avro.Schemas))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %s: within a value: %w", ErrCorrupt, name, err)
	case rec == nil:
		return nil, fmt.Errorf("%w: %s: an Avro container without a record", ErrCorrupt, name)
	}
	return rec, nil
}

// source reads a HoodieFileStatus.
func source(name string, rec *avro.Record, status any) (Source, error) {
	s := Source{}
	st, _ := status.(*avro.Record)
	at, _ := avro.Value[*avro.Record](st, "path")
	var ok bool
	if s.URI, ok = avro.Value[string](at, "uri"); !ok || s.URI == "" {
		return s, fmt.Errorf("%w: %s: a source without a path", ErrCorrupt, name)
	}
	s.Size, _ = avro.Value[int64](st, "length")
	s.Partition, _ = avro.Value[string](rec, "bootstrapPartitionPath")
	return s, nil
}
