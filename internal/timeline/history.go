package timeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/hudifs/hudifs/storage"
)

const (
	versionFile    = "_version_"
	manifestPrefix = "manifest_"

	maxManifest = 16 << 20
)

// loadHistory reads the archive of layout 2 (hudi-client-common: LSMTimeline): a version names a manifest, which names the
// Parquet files that count. A writer that compacts them replaces all three, so a file that has vanished means that there is a newer
// version.
func (t *Timeline) loadHistory(ctx context.Context) (*archive, error) {
	const attempts = 3
	for i := 1; ; i++ {
		a, err := t.loadHistoryOnce(ctx)
		if err == nil || i == attempts || !errors.Is(err, storage.ErrNotExist) {
			return a, err
		}
	}
}

func (t *Timeline) loadHistoryOnce(ctx context.Context) (*archive, error) {
	version, ok, err := t.historyVersion(ctx)
	if err != nil || !ok {
		return &archive{}, err
	}
	names, err := t.manifest(ctx, version)
	if err != nil {
		return nil, err
	}
	a := &archive{}
	for _, name := range names {
		instants, err := t.historyFile(ctx, path.Join(t.config.HistoryPath, name))
		if err != nil {
			return nil, err
		}
		a.instants = append(a.instants, instants...)
	}
	a.instants = unique(a.instants)
	return a, nil
}

// historyVersion returns the number of the newest manifest, ok false where nothing was ever archived.
func (t *Timeline) historyVersion(ctx context.Context) (version string, ok bool, err error) {
	const longest = 32
	data, err := storage.ReadFile(ctx, t.store, path.Join(t.config.HistoryPath, versionFile), longest)
	if text := strings.TrimSpace(string(data)); err == nil && digits(text) {
		return text, true, nil
	}
	entries, err := t.store.List(ctx, t.config.HistoryPath)
	if errors.Is(err, storage.ErrNotExist) {
		return "", false, nil
	}
	newest := int64(-1)
	for _, e := range entries {
		if n, err := strconv.ParseInt(strings.TrimPrefix(e.Name, manifestPrefix), 10, 64); err == nil && !e.Dir &&
			strings.HasPrefix(e.Name, manifestPrefix) {
			newest = max(newest, n)
		}
	}
	return strconv.FormatInt(newest, 10), newest >= 0, err
}

func (t *Timeline) manifest(ctx context.Context, version string) ([]string, error) {
	file := path.Join(t.config.HistoryPath, manifestPrefix+version)
	data, err := storage.ReadFile(ctx, t.store, file, maxManifest)
	if err != nil {
		return nil, err
	}
	m, err := parseJSON(file, data)
	if err != nil {
		return nil, err
	}
	f := &fields{file: file}
	var names []string
	for _, item := range f.list(m, "files") {
		name := f.str(item, "fileName")
		if name == "" || strings.Contains(name, "/") {
			return nil, corruptf(file, -1, "expected a file name, found %q", name)
		}
		names = append(names, name)
	}
	return names, f.err
}

// historyKey has the columns of a history file that place an instant; historyRow what it recorded: the bytes of its completed
// file, none for an empty one.
type historyKey struct {
	Time      string `parquet:"instantTime,optional"`
	Completed string `parquet:"completionTime,optional"`
	Action    string `parquet:"action,optional"`
}

type historyRow struct {
	Metadata []byte `parquet:"metadata,optional"`
}

func (t *Timeline) historyFile(ctx context.Context, file string) ([]Instant, error) {
	var instants []Instant
	err := readParquet(ctx, t.store, file, func(r *parquet.GenericReader[historyKey]) error {
		const batch = 512
		row, keys := int64(0), make([]historyKey, batch)
		for {
			n, err := r.Read(keys)
			for _, key := range keys[:n] {
				in := Instant{
					Time: key.Time, Action: Action(key.Action), State: Completed, CompletionTime: key.Completed,
					Archived: true, at: archivePosition{file: file, offset: row},
				}
				row++
				if in.Action.known() && in.Time != "" {
					instants = append(instants, in)
				}
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil && n == 0 {
				err = io.ErrNoProgress
			}
			if err != nil {
				return err
			}
		}
	})
	return instants, err
}

func (t *Timeline) readHistoryRow(ctx context.Context, in Instant) (content, error) {
	// Who asks for one archived instant asks for the next as well, and opening a file costs more than reading it.
	const batch = 16
	first := in.at.offset / batch * batch
	key := memoKey{at: archivePosition{file: in.at.file, offset: first, length: batch}}
	rows, ok := t.memo.get(key)
	if !ok {
		read, err := readHistoryRows(ctx, t.store, in.at.file, first, batch)
		if err != nil {
			return content{}, err
		}
		size := int64(0)
		for _, row := range read {
			size += int64(len(row.Metadata))
		}
		t.memo.put(key, read, size)
		rows = read
	}
	file, row := fmt.Sprintf("%s (row %d)", in.at.file, in.at.offset), in.at.offset-first
	if read, ok := rows.([]historyRow); ok && row < int64(len(read)) {
		return t.sniff(file, read[row].Metadata)
	}
	return content{}, corruptf(file, -1, "expected an archived instant")
}

func readHistoryRows(ctx context.Context, s storage.Store, file string, first int64, most int) ([]historyRow, error) {
	rows, n := make([]historyRow, most), 0
	err := readParquet(ctx, s, file, func(r *parquet.GenericReader[historyRow]) error {
		if err := r.SeekToRow(first); err != nil {
			return err
		}
		var err error
		if n, err = r.Read(rows); !errors.Is(err, io.EOF) {
			return err
		}
		return nil
	})
	return rows[:n], err
}

// readParquet calls read with a reader of the columns of T. What goes wrong while the store answers is the store's error;
// all else, panics of the Parquet library included, is damage of the file.
func readParquet[T any](ctx context.Context, s storage.Store, file string, read func(*parquet.GenericReader[T]) error) (err error) {
	o, err := s.Open(ctx, file)
	if err != nil {
		return err
	}
	defer func() { _ = o.Close() }()
	from := &storeReader{store: storage.ReaderAt(ctx, o)}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
		switch {
		case err == nil:
		case from.err != nil:
			err = from.err
		default:
			err = corruptf(file, -1, "expected a Parquet file of archived instants: %v", err)
		}
	}()
	f, err := parquet.OpenFile(from, o.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	r := parquet.NewGenericReader[T](f)
	defer func() { _ = r.Close() }()
	return read(r)
}

// storeReader remembers the store's own failure, which a library may wrap beyond recognition.
type storeReader struct {
	store io.ReaderAt
	err   error
}

func (r *storeReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.store.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}
