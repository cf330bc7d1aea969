package views

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/hudifs/hudifs/cache"
	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/storage"
)

// aboutDir holds what the daemon knows of a table, as JSON files that are made when they are read. A storage that hangs holds
// none of them up: those that need it fail after a moment, unless what they tell is known already.
type aboutDir struct{ tab *table }

const statusName = "status"

// about are the files, by name.
var about = map[string]func(ctx context.Context, tab *table) (any, error){
	"configuration": func(_ context.Context, tab *table) (any, error) { return tab.hudi.Info(), nil },
	"partitions":    func(ctx context.Context, tab *table) (any, error) { return tab.partitions(ctx) },
	"schema":        func(ctx context.Context, tab *table) (any, error) { return tab.schema(ctx) },
	statusName:      func(_ context.Context, tab *table) (any, error) { return tab.t.status(), nil },
	"timeline":      func(ctx context.Context, tab *table) (any, error) { return tab.hudi.Timeline(ctx) },
}

func (d *aboutDir) Attr(context.Context) (Attr, error) {
	return Attr{Inode: inodeOf("in table", d.tab.path, aboutName), Dir: true, ModTime: d.tab.modTime()}, nil
}

func (d *aboutDir) Xattrs(context.Context) (map[string]string, error) { return nil, nil }

func (d *aboutDir) Entries(context.Context) ([]Entry, error) {
	var out []Entry
	for name := range about {
		out = append(out, Entry{Name: name, Inode: inodeOf("about", d.tab.path, name)})
	}
	slices.SortFunc(out, func(a, b Entry) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	return out, nil
}

func (d *aboutDir) Lookup(_ context.Context, name string) (Node, error) {
	if about[name] == nil {
		return nil, notFound(name)
	}
	return &aboutFile{d.tab, name}, nil
}

// aboutFile is a file that is made anew each time it is opened.
type aboutFile struct {
	tab  *table
	name string
}

func (f *aboutFile) text(ctx context.Context) ([]byte, error) {
	if err := f.tab.missing(); err != nil && f.name != statusName {
		return nil, err
	}
	v, err := f.tab.t.prompt.ask(ctx, join("about", f.tab.path, f.name), func(ctx context.Context) (any, error) {
		return about[f.name](ctx, f.tab)
	})
	if err != nil {
		return nil, classify(err)
	}
	b, err := json.MarshalIndent(v, "", " ")
	return append(b, '\n'), err
}

func (f *aboutFile) Attr(ctx context.Context) (Attr, error) {
	b, err := f.text(ctx)
	if err != nil {
		return Attr{}, err
	}
	return Attr{Inode: inodeOf("about", f.tab.path, f.name), Size: int64(len(b)), Disk: int64(len(b)), ModTime: f.tab.modTime()}, nil
}

func (f *aboutFile) Xattrs(context.Context) (map[string]string, error) { return nil, nil }

func (f *aboutFile) Open(ctx context.Context) (Handle, error) {
	b, err := f.text(ctx)
	if err != nil {
		return nil, err
	}
	return textHandle(b), nil
}

type textHandle []byte

func (h textHandle) ReadAt(_ context.Context, p []byte, off int64) (int, error) {
	return atEnd(bytes.NewReader(h).ReadAt(p, off))
}

func (textHandle) Close() error { return nil }

func (tab *table) partitions(ctx context.Context) ([]string, error) {
	v, err := tab.latest(ctx)
	if err != nil {
		return nil, err
	}
	return v.Partitions(ctx)
}

func (tab *table) schema(ctx context.Context) ([]string, error) {
	v, err := tab.latest(ctx)
	if err != nil {
		return nil, err
	}
	return v.Schema(ctx)
}

// latest is the view that the folder latest shows, which need not be listed again.
func (tab *table) latest(ctx context.Context) (*hudi.View, error) {
	d, err := tab.view(ctx, hudi.Latest())
	if err != nil {
		return nil, err
	}
	switch d := d.(type) {
	case *viewDir:
		return d.view, nil
	case *refusedDir:
		return nil, d.err
	}
	return nil, notFound(latestName)
}

// status is what the daemon has done so far.
type status struct {
	// Renders counts renderings of files, those that only told a size included.
	Renders int64 `json:"renders"`
	// SizedByRendering counts files whose size nothing cheaper could tell.
	SizedByRendering int64            `json:"sized_by_rendering"`
	Views            int64            `json:"views"`
	UptimeSeconds    int64            `json:"uptime_seconds"`
	Store            storage.Counters `json:"store"`
	Cache            cache.Stats      `json:"cache"`
}

func (t *Tree) status() status {
	s := status{
		SizedByRendering: t.measured.Load(), Views: t.queries.Load(),
		UptimeSeconds: int64(t.opts.Clock().Sub(t.started).Seconds()), Store: t.store.Counters(),
	}
	if t.opts.Cache != nil {
		s.Cache = t.opts.Cache.Stats()
	}
	s.Renders = s.Cache.Renders + s.SizedByRendering
	return s
}
