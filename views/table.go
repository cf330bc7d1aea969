package views

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/storage"
)

// The extended attributes.
const (
	xattrPrefix = "user.hudi."
	xattrError  = xattrPrefix + "error"
)

// maxViews is how many views of a table are kept at once. Further ones are made when they are asked for.
const maxViews = 256

// table is an open table and the views of it that are in use.
type table struct {
	t     *Tree
	path  string
	store storage.Store
	hudi  *hudi.Table
	seed  uint64 // of the inodes of its files
	// refreshing is held by the one refresh that runs: a slow one must not put an older state in the place of a newer one.
	refreshing chan struct{}

	mu    sync.Mutex
	views map[answer]*viewDir // guarded by mu
	gone  error               // guarded by mu; says that there is no table any more, nil while there is
	past  []listed            // guarded by mu; the newest last
}

// refresh looks for new commits, and tells whether anything changed: new ones, or that the table is gone, or there again.
func (tab *table) refresh(ctx context.Context) (bool, error) {
	select {
	case tab.refreshing <- struct{}{}:
		defer func() { <-tab.refreshing }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	before := tab.hudi.State()
	changed, err := tab.hudi.Refresh(ctx)
	if err != nil {
		err = fmt.Errorf("table %s: %w", tab.name(), err)
	}
	gone := errors.Is(err, hudi.ErrNotTable)
	if err != nil && !gone {
		return false, err
	}
	tab.mu.Lock()
	defer tab.mu.Unlock()
	if gone != (tab.gone != nil) {
		changed, tab.gone, tab.past = true, err, nil
	} else if changed {
		tab.remember(before)
	}
	if changed {
		clear(tab.views) // nobody finds those of the old state any more
	}
	return changed, err
}

// lookAgain refreshes the table for somebody who has found it out of date.
func (tab *table) lookAgain(ctx context.Context) error {
	changed, err := tab.refresh(ctx)
	if changed {
		tab.t.tell()
	}
	return err
}

// missing says that there is no table any more, nil while there is.
func (tab *table) missing() error {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return classify(tab.gone)
}

func (tab *table) name() string {
	if tab.path != "" {
		return tab.path
	}
	return tab.hudi.Info().Name
}

// view is the folder of a query's answer on the current state of the table. A query that has none gives a folder that says why; a
// text that names no instant is an error, and so is what another try may cure.
func (tab *table) view(ctx context.Context, q hudi.Query) (Dir, error) {
	state := tab.hudi.State()
	tab.mu.Lock()
	dir, gone := tab.views[answer{q, state}], tab.gone
	tab.mu.Unlock()
	if gone != nil {
		return &refusedDir{inode: inodeOf("no view", tab.path, q.String()), err: classify(gone), at: tab.modTime()}, nil
	}
	if dir != nil {
		return dir, nil
	}
	v, err := tab.hudi.View(ctx, q)
	if errors.Is(err, hudi.ErrBadName) || passing(ctx, err) {
		return nil, classify(err)
	}
	if err != nil {
		return &refusedDir{inode: tab.inode(q, state), err: classify(err), at: tab.modTime()}, nil
	}
	tab.t.queries.Add(1)
	return tab.folderOf(v), nil
}

// answer names a view: a query on a state of the table.
type answer struct {
	query hudi.Query
	state string
}

// folderOf is the folder of a view, the same one for all views that are alike as long as it is kept.
func (tab *table) folderOf(v *hudi.View) *viewDir {
	is := answer{v.Query(), v.State()}
	tab.mu.Lock()
	defer tab.mu.Unlock()
	if first := tab.views[is]; first != nil {
		return first
	}
	if len(tab.views) >= maxViews {
		clear(tab.views)
	}
	dir := newViewDir(tab, v)
	tab.views[is] = dir
	return dir
}

// inode is that of the folder of a query's answer on a state of the table.
func (tab *table) inode(q hudi.Query, state string) uint64 {
	return inodeOf("view", tab.path, q.String(), state)
}

func (tab *table) modTime() time.Time { return tab.hudi.ModTime() }

// tableDir is the folder of a table.
type tableDir struct{ tab *table }

const (
	latestName      = "latest"
	asOfName        = "asof"
	changesName     = "cdc"
	incrementalName = "incremental"
	differenceName  = "diff"
	optimizedName   = "read_optimized"
	aboutName       = ".hudi"
)

func (d *tableDir) Attr(context.Context) (Attr, error) {
	return Attr{Inode: inodeOf("table", d.tab.path), Dir: true, ModTime: d.tab.modTime()}, nil
}

func (d *tableDir) Xattrs(context.Context) (map[string]string, error) {
	i := d.tab.hudi.Info()
	return map[string]string{
		xattrPrefix + "table": i.Name, xattrPrefix + "version": fmt.Sprint(i.Version), xattrPrefix + "type": i.Type,
		xattrPrefix + "instant": d.tab.hudi.Newest(),
	}, nil
}

func (d *tableDir) Entries(context.Context) ([]Entry, error) {
	state := d.tab.hudi.State()
	var out []Entry
	for _, name := range []string{aboutName, asOfName, changesName, differenceName, incrementalName, latestName, optimizedName} {
		if name == changesName && !d.tab.hudi.Info().LogsChanges {
			continue // it can be looked up, and says why it can't be listed
		}
		e := Entry{Name: name, Dir: true, Inode: inodeOf("in table", d.tab.path, name)}
		switch name {
		case latestName:
			e.Inode = d.tab.inode(hudi.Latest(), state)
		case optimizedName:
			e.Inode = d.tab.inode(hudi.ReadOptimized(), state)
		}
		out = append(out, e)
	}
	return out, nil
}

func (d *tableDir) Lookup(ctx context.Context, name string) (Node, error) {
	switch name {
	case latestName:
		return node(d.tab.view(ctx, hudi.Latest()))
	case optimizedName:
		return node(d.tab.view(ctx, hudi.ReadOptimized()))
	case asOfName:
		return &asOfDir{d.tab}, nil
	case incrementalName:
		return &rangesDir{d.tab, incrementalName, d.tab.hudi.Steps, hudi.Incremental, true}, nil
	case differenceName:
		return &rangesDir{d.tab, differenceName, d.tab.hudi.Differences, hudi.Difference, false}, nil
	case changesName:
		return &rangesDir{d.tab, changesName, d.tab.hudi.ChangeSteps, hudi.Changes, false}, nil
	case aboutName:
		return &aboutDir{d.tab}, nil
	}
	return nil, notFound(name)
}

func node(d Dir, err error) (Node, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}

// asOfDir lists the instants that the table can be shown as of.
type asOfDir struct{ tab *table }

func (d *asOfDir) Attr(context.Context) (Attr, error) {
	return Attr{Inode: inodeOf("in table", d.tab.path, asOfName), Dir: true, ModTime: d.tab.modTime()}, nil
}

func (d *asOfDir) Xattrs(context.Context) (map[string]string, error) { return nil, nil }

func (d *asOfDir) Entries(ctx context.Context) ([]Entry, error) {
	if err := d.tab.missing(); err != nil {
		return nil, err
	}
	instants, err := d.tab.hudi.Servable(ctx)
	if err != nil {
		return nil, classify(err)
	}
	state := d.tab.hudi.State()
	var out []Entry
	for _, i := range instants[max(0, len(instants)-d.tab.t.opts.ListInstants):] {
		out = append(out, Entry{Name: i.Time, Dir: true, Inode: d.tab.inode(hudi.AsOf(i.Time), state)})
	}
	return out, nil
}

func (d *asOfDir) Lookup(ctx context.Context, name string) (Node, error) {
	if name == latestName { // the same folder, in which what was listed before a commit is found too
		return node(d.tab.view(ctx, hudi.Latest()))
	}
	return node(d.tab.view(ctx, hudi.AsOf(name)))
}

// rangesDir lists the steps from each instant to the next, where that is cheap. The size of a file of changes or differences is not known
// before it is made, so ls -lR would make them all: those ranges must be named.
type rangesDir struct {
	tab   *table
	name  string
	times func(context.Context) ([]string, error) // between which the steps are
	query func(begin, end string) hudi.Query
	lists bool
}

const rangeDots = ".."

func (d *rangesDir) Attr(context.Context) (Attr, error) {
	return Attr{Inode: inodeOf("in table", d.tab.path, d.name), Dir: true, ModTime: d.tab.modTime()}, nil
}

func (d *rangesDir) Xattrs(ctx context.Context) (map[string]string, error) {
	if _, err := d.times(ctx); errors.Is(err, hudi.ErrRefused) {
		return map[string]string{xattrError: classify(err).Error()}, nil
	}
	return nil, nil
}

func (d *rangesDir) Entries(ctx context.Context) ([]Entry, error) {
	if err := d.tab.missing(); err != nil {
		return nil, err
	}
	times, err := d.times(ctx)
	if err != nil || !d.lists {
		return nil, classify(err)
	}
	state := d.tab.hudi.State()
	var out []Entry
	begin := "000" // before everything
	for _, end := range times {
		out = append(out, Entry{Name: begin + rangeDots + end, Dir: true, Inode: d.tab.inode(d.query(begin, end), state)})
		begin = end
	}
	out = out[max(0, len(out)-d.tab.t.opts.ListInstants):]
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func (d *rangesDir) Lookup(ctx context.Context, name string) (Node, error) {
	begin, end, ok := strings.Cut(name, rangeDots)
	if !ok {
		return nil, notFound(name)
	}
	return node(d.tab.view(ctx, d.query(begin, end)))
}
