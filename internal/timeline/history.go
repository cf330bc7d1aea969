package timeline

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/pqfile"
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
		if err := t.historyFile(ctx, name, a); err != nil {
			return nil, err
		}
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

// manifest returns the paths of the history files that count.
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
		where, err := storage.Join(t.config.HistoryPath, name)
		if err != nil || name == "" || strings.Contains(name, "/") {
			return nil, corruptf(file, -1, "expected a file name, found %q", name)
		}
		names = append(names, where)
	}
	return names, f.err
}

// The columns of a history file that matter: those that place an instant, and what it recorded, the bytes of its completed file.
const (
	timeColumn       = "instantTime"
	completionColumn = "completionTime"
	actionColumn     = "action"
	metadataColumn   = "metadata"
)

// historyFile adds the instants of a history file.
func (t *Timeline) historyFile(ctx context.Context, file string, a *archive) error {
	h, err := openHistory(ctx, t.store, file)
	if err != nil {
		return err
	}
	defer func() { _ = h.object.Close() }()
	rows := make([]Instant, 0, h.NumRows)
	err = h.column(timeColumn, 0, func(row int64, value []byte) (bool, error) {
		rows = append(rows, Instant{
			Time: string(value), State: Completed, Archived: true, at: archivePosition{file: file, offset: row},
		})
		return true, nil
	})
	if err == nil {
		err = h.column(completionColumn, 0, func(row int64, value []byte) (bool, error) {
			rows[row].CompletionTime = string(value)
			return true, nil
		})
	}
	if err == nil {
		err = h.column(actionColumn, 0, func(row int64, value []byte) (bool, error) {
			rows[row].Action = Action(value)
			return true, nil
		})
	}
	if err != nil {
		return err
	}
	for _, in := range rows {
		if !in.Action.known() || in.Time == "" {
			continue
		}
		if err := a.add(file, in); err != nil {
			return err
		}
	}
	return nil
}

// historyRows is how many instants are read at once: who asks for one archived instant asks for the next as well, and opening a file costs
// more than reading it.
const historyRows = 16

func (t *Timeline) readHistoryRow(ctx context.Context, in Instant) (content, error) {
	first := in.at.offset / historyRows * historyRows
	key := memoKey{at: archivePosition{file: in.at.file, offset: first, length: historyRows}}
	rows, ok := t.memo.get(key)
	if !ok {
		read, size, err := readHistoryRows(ctx, t.store, in.at.file, first)
		if err != nil {
			return content{}, err
		}
		t.memo.put(key, read, size)
		rows = read
	}
	file, row := fmt.Sprintf("%s (row %d)", in.at.file, in.at.offset), in.at.offset-first
	if read, ok := rows.([][]byte); ok && row < int64(len(read)) {
		return t.sniff(file, read[row], nil)
	}
	return content{}, corruptf(file, -1, "expected an archived instant")
}

// readHistoryRows reads what some instants recorded, nil for what recorded nothing.
func readHistoryRows(ctx context.Context, s storage.Store, file string, first int64) (rows [][]byte, size int64, err error) {
	h, err := openHistory(ctx, s, file)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = h.object.Close() }()
	err = h.column(metadataColumn, first, func(_ int64, value []byte) (bool, error) {
		if size += valueBytes + int64(len(value)); size > maxInstantFile {
			return false, corruptf(file, -1, "expected at most %d bytes of instants from row %d on", maxInstantFile, first)
		}
		rows = append(rows, slices.Clone(value))
		return len(rows) < historyRows, nil
	})
	return rows, size, err
}

// history is an open history file.
type history struct {
	*pqfile.File
	name   string
	object storage.Object
}

func openHistory(ctx context.Context, s storage.Store, file string) (*history, error) {
	o, err := s.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	h := &history{name: file, object: o}
	if h.File, err = pqfile.Open(storage.ReaderAt(ctx, o), o.Size()); err != nil {
		return nil, errors.Join(h.wrap(err), o.Close())
	}
	const leastBytes = 8 // of an instant, with what it recorded
	if h.NumRows > o.Size()/leastBytes || h.NumRows > maxArchived {
		return nil, errors.Join(corruptf(file, -1, "expected instants, found %d of them in %d bytes", h.NumRows, o.Size()), o.Close())
	}
	return h, nil
}

// wrap gives an error of the Parquet file this package's kind. What the store says stays as it is.
func (h *history) wrap(err error) error {
	switch {
	case errors.Is(err, pqfile.ErrCorrupt):
		return corruptf(h.name, -1, "expected a Parquet file of archived instants: %v", err)
	case errors.Is(err, pqfile.ErrUnsupported), errors.Is(err, pqfile.ErrTooLarge):
		return unsupportedf(h.name, "%v", err)
	}
	return fmt.Errorf("%s: %w", h.name, err)
}

// column hands the values of a column of text or bytes to take, from a row on and for as long as it wants more. A null, and a column that is
// not there, are nil. What it gets is valid until it returns.
func (h *history) column(name string, first int64, take func(row int64, value []byte) (more bool, err error)) error {
	leaf := h.Schema.Leaf(name)
	if leaf != nil && (leaf.Leaf.Kind != column.Bytes || leaf.Leaf.MaxRep > 0) {
		return corruptf(h.name, -1, "expected text in column %s, found %v", name, leaf.Scalar)
	}
	if leaf == nil {
		for row := first; row < h.NumRows; row++ {
			if more, err := take(row, nil); !more || err != nil {
				return err
			}
		}
		return nil
	}
	row := int64(0)
	for g := range h.Groups() {
		if row+h.GroupRows(g) <= first {
			row += h.GroupRows(g)
			continue
		}
		c, err := h.Chunk(g, leaf.Index)
		for err == nil {
			var page *pqfile.Page
			if page, err = c.Next(); err != nil {
				break
			}
			more, err := pageValues(page, c.Dictionary(), row, first, take)
			if !more || err != nil {
				return err
			}
			row += int64(page.Rows)
		}
		if !errors.Is(err, io.EOF) {
			return h.wrap(err)
		}
	}
	return nil
}

// pageValues hands on the values of a page that begins with a row.
func pageValues(p *pqfile.Page, dict *column.Vector, row, first int64, take func(int64, []byte) (bool, error)) (more bool, err error) {
	v, at := p.Vector, 0
	for i := range v.Entries() {
		var value []byte
		if v.Leaf.MaxDef == 0 || v.Def[i] == v.Leaf.MaxDef {
			value = v.Value(at)
			if p.Dict {
				value = dict.Value(int(binary.LittleEndian.Uint32(value)))
			}
			at++
		}
		if row+int64(i) < first {
			continue
		}
		if more, err := take(row+int64(i), value); !more || err != nil {
			return false, err
		}
	}
	return true, nil
}
