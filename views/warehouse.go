package views

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hudifs/hudifs/storage"
)

const (
	metaFolder = ".hoodie"
	// Beyond these a folder is no collection of tables that anybody means to look through.
	deepestTable = 8
	maxFolders   = 100_000
)

// warehouse is a folder with tables below it. Which there are is looked up at most once a poll interval.
type warehouse struct {
	t *Tree

	mu     sync.Mutex
	tables []string  // guarded by mu; sorted, nil until the first look
	until  time.Time // guarded by mu; when to look again
}

// scan gives the paths of all tables. A storage that does not answer has the tables that it had.
func (w *warehouse) scan(ctx context.Context) ([]string, error) {
	w.mu.Lock()
	tables, until := w.tables, w.until
	w.mu.Unlock()
	if tables != nil && w.t.opts.Clock().Before(until) {
		return tables, nil
	}
	found, err := w.t.prompt.ask(ctx, "tables", func(ctx context.Context) (any, error) { return w.look(ctx) })
	if err == nil {
		return found.([]string), nil
	}
	if tables != nil && errors.Is(err, storage.ErrUnavailable) {
		w.know(tables) // waited for once an interval
		return tables, nil
	}
	return nil, err
}

// look finds the paths of all tables.
func (w *warehouse) look(ctx context.Context) ([]string, error) {
	found := []string{}
	level := []string{""}
	seen := 0
	for depth := 0; depth <= deepestTable && len(level) > 0; depth++ {
		var next []string
		for _, dir := range level {
			if seen++; seen > maxFolders {
				w.t.opts.Logger.WarnContext(ctx, "too many folders to look through for tables", "limit", maxFolders)
				break
			}
			entries, err := w.t.store.List(ctx, dir)
			if errors.Is(err, storage.ErrNotExist) || errors.Is(err, storage.ErrPermission) && dir != "" {
				continue
			}
			if err != nil {
				return nil, err
			}
			isTable := slices.ContainsFunc(entries, func(e storage.Entry) bool { return e.Dir && e.Name == metaFolder })
			if isTable {
				found = append(found, dir)
				continue
			}
			for _, e := range entries {
				if e.Dir && !strings.HasPrefix(e.Name, ".") {
					next = append(next, path.Join(dir, e.Name))
				}
			}
		}
		level = next
	}
	slices.Sort(found)
	w.know(found)
	return found, nil
}

func (w *warehouse) know(tables []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tables, w.until = tables, w.t.opts.Clock().Add(w.t.opts.PollInterval)
}

// folder is a folder that holds tables, or folders of tables.
type folder struct {
	w    *warehouse
	path string
}

func (f *folder) Attr(context.Context) (Attr, error) {
	return Attr{Inode: inodeOf("folder", f.path), Dir: true, ModTime: f.w.t.started}, nil
}

func (f *folder) Xattrs(context.Context) (map[string]string, error) { return nil, nil }

func (f *folder) Entries(ctx context.Context) ([]Entry, error) {
	tables, err := f.w.scan(ctx)
	if err != nil {
		return nil, classify(err)
	}
	var out []Entry
	for _, t := range tables {
		name, ok := f.below(t)
		if !ok || len(out) > 0 && out[len(out)-1].Name == name {
			continue
		}
		kind := "folder"
		if t == join(f.path, name) {
			kind = "table"
		}
		out = append(out, Entry{Name: name, Dir: true, Inode: inodeOf(kind, join(f.path, name))})
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(out, func(a, b Entry) bool { return a.Name == b.Name }), nil
}

// below is the first name on the way from the folder to a table.
func (f *folder) below(table string) (string, bool) {
	if f.path != "" {
		var ok bool
		if table, ok = strings.CutPrefix(table, f.path+"/"); !ok {
			return "", false
		}
	}
	name, _, _ := strings.Cut(table, "/")
	return name, name != ""
}

func (f *folder) Lookup(ctx context.Context, name string) (Node, error) {
	where := join(f.path, name)
	if tab := f.w.t.inUse(where); tab != nil && tab.missing() == nil {
		return &tableDir{tab}, nil // which needs no look at others
	}
	tables, err := f.w.scan(ctx)
	if err != nil {
		return nil, classify(err)
	}
	if _, ok := slices.BinarySearch(tables, where); ok {
		tab, err := f.w.t.table(ctx, where)
		if err != nil {
			return &refusedDir{inode: inodeOf("table", where), err: classify(err), at: f.w.t.started}, nil
		}
		return &tableDir{tab}, nil
	}
	for _, t := range tables {
		if strings.HasPrefix(t, where+"/") {
			return &folder{w: f.w, path: where}, nil
		}
	}
	return nil, notFound(name)
}

// refusedDir is a folder that can be looked up, and says why it can't be opened.
type refusedDir struct {
	inode uint64
	err   error
	at    time.Time
}

func (d *refusedDir) Attr(context.Context) (Attr, error) {
	return Attr{Inode: d.inode, Dir: true, ModTime: d.at}, nil
}

func (d *refusedDir) Xattrs(context.Context) (map[string]string, error) {
	return map[string]string{xattrError: d.err.Error()}, nil
}

func (d *refusedDir) Lookup(context.Context, string) (Node, error) { return nil, d.err }

func (d *refusedDir) Entries(context.Context) ([]Entry, error) { return nil, d.err }
