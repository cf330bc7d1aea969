package views

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hudifs/hudifs/cache"
	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/internal/contain"
	"github.com/hudifs/hudifs/storage"
)

// Options say how tables are shown.
type Options struct {
	// Partitions is how partition folders are named: "plain" or "" by their values, "table" as in the table, "flat" not at all. Without
	// folders every file's name says which partition it is of.
	Partitions string
	// ListInstants is how many instants, and steps between them, are listed. 0 is 1000.
	ListInstants int
	// Timezone is that of timelines in local time; nil is UTC.
	Timezone *time.Location
	// Grace is how long a file that latest has listed can still be found by its name.
	Grace time.Duration
	// PollInterval is how often Run looks for new commits. 0 is 2 s.
	PollInterval time.Duration
	// Source names the store among all that share the cache, such as the absolute path of a folder: files are told apart by their
	// names and sizes within one table, not across tables.
	Source string
	// Cache keeps rendered files; nil keeps none.
	Cache *cache.Disk
	// Lazy opens large rendered files of many columns before they are complete: a column is made when it is read.
	Lazy bool
	// Memory is the budget for what is in memory, in bytes: an eighth each for what is remembered and for files that are open and
	// incomplete, three eighths for renderings; the rest is left to the cache and to listings. 0 is 512 MiB.
	Memory int64
	// MergeRules are "auto" or "", "0.x" or "1.x".
	MergeRules string
	// OnDamage is "refuse" or "", or "skip".
	OnDamage string
	// NoMetadataTable lists the folders of every table.
	NoMetadataTable bool
	// BootstrapSource is the folder that bootstrapped tables were made from.
	BootstrapSource storage.Store
	// Logger gets warnings; nil is silent.
	Logger *slog.Logger
	// Clock gives the time; nil is time.Now.
	Clock func() time.Time
}

// Tree shows a table, or all tables below a folder. It may be used from many goroutines.
type Tree struct {
	store    *storage.Counting
	watcher  storage.Watcher // nil where the store hears of nothing
	opts     Options
	memo     *memory
	prompt   prompt
	admit    func(ctx context.Context, cost int64) (done func(), err error)
	lazy     *lazyFiles // nil where files are rendered at once
	root     Dir
	started  time.Time
	measured atomic.Int64 // files that were rendered to find out their size
	queries  atomic.Int64 // views made

	mu    sync.Mutex
	hooks []func()          // guarded by mu
	known map[string]*table // guarded by mu; by path below the store's root
}

// Open opens the table at the root of a store or, where there is none, finds the tables below it. It fails with
// hudi.ErrNotTable where there is none at all.
func Open(ctx context.Context, s storage.Store, o *Options) (*Tree, error) {
	t := &Tree{store: storage.NewCounting(s), known: map[string]*table{}}
	if o != nil {
		t.opts = *o
	}
	t.watcher, _ = s.(storage.Watcher)
	if err := t.setDefaults(); err != nil {
		return nil, err
	}
	t.started = t.opts.Clock()
	if t.opts.Lazy && t.opts.Cache != nil {
		t.lazy = newLazyFiles(t.opts.Memory / 8)
	}
	t.admit = newQueue(t.opts.Memory / 8 * 3).enter
	var err error
	if t.memo, err = newMemory(t.opts.Memory / 8); err != nil {
		return nil, err
	}
	defer func() { // also after a panic
		if t.root == nil {
			t.memo.close()
		}
	}()
	if t.root, err = t.findTables(ctx); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Tree) setDefaults() error {
	o := &t.opts
	if o.ListInstants < 0 || o.PollInterval < 0 || o.Memory < 0 {
		return fmt.Errorf("instants to list (%d), poll interval (%v) and memory (%d) must not be negative", o.ListInstants, o.PollInterval, o.Memory)
	}
	if o.ListInstants == 0 {
		o.ListInstants = 1000
	}
	if o.PollInterval == 0 {
		o.PollInterval = 2 * time.Second
	}
	if o.Memory == 0 {
		o.Memory = 512 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now //nolint:forbidigo // this is the clock
	}
	for _, c := range []struct {
		what, is string
		may      []string
	}{
		{"partitions", o.Partitions, []string{"", "plain", "table", "flat"}},
		{"merge rules", o.MergeRules, []string{"", "auto", "0.x", "1.x"}},
		{"what to do on damage", o.OnDamage, []string{"", "refuse", "skip"}},
	} {
		if !slices.Contains(c.may, c.is) {
			return fmt.Errorf("%s: %q is none of %s", c.what, c.is, strings.Join(c.may[1:], ", "))
		}
	}
	return nil
}

// findTables makes the root of the tree.
func (t *Tree) findTables(ctx context.Context) (Dir, error) {
	first, err := t.table(ctx, "")
	if err == nil {
		return &tableDir{first}, nil
	}
	if !errors.Is(err, hudi.ErrNotTable) {
		return nil, err
	}
	w := &warehouse{t: t}
	found, listErr := w.look(ctx)
	if listErr != nil {
		return nil, listErr
	}
	if len(found) == 0 || found[0] == "" { // no table, or one whose properties are missing
		return nil, err
	}
	return &folder{w: w}, nil
}

// Root is the top of the tree: a table's folder, or a folder of tables.
func (t *Tree) Root() Dir { return t.root }

// Close frees what the tree keeps in memory. It must not be used afterwards; calls that were left behind may still end.
func (t *Tree) Close() error {
	if t.lazy != nil {
		t.lazy.close()
	}
	t.memo.close()
	return nil
}

// OnChange has f called after a table has changed. It may be called by whoever looked a name up, so it must not wait for such.
func (t *Tree) OnChange(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hooks = append(t.hooks, f)
}

// Refresh looks for new commits of all tables that have been used.
func (t *Tree) Refresh(ctx context.Context) error { return t.refresh(ctx, t.tables()) }

// tables are those that have been used.
func (t *Tree) tables() []*table {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Values(t.known))
}

// refreshAtOnce is how many tables are looked at at once.
const refreshAtOnce = 16

func (t *Tree) refresh(ctx context.Context, tables []*table) error {
	var changed atomic.Bool
	errs := make([]error, len(tables))
	var g errgroup.Group
	g.SetLimit(refreshAtOnce)
	for i, tab := range tables {
		g.Go(func() error {
			errs[i] = contain.Call(func() error {
				c, err := tab.refresh(ctx)
				if c {
					changed.Store(true)
				}
				return err
			})
			return nil
		})
	}
	_ = g.Wait() // they are in errs
	if changed.Load() {
		t.tell()
	}
	return errors.Join(errs...)
}

// tell calls the hooks.
func (t *Tree) tell() {
	t.mu.Lock()
	hooks := slices.Clone(t.hooks)
	t.mu.Unlock()
	for _, f := range hooks {
		f()
	}
}

// Run looks for new commits of the tables that have been used, until ctx ends: at each poll interval, and where the store hears of changes,
// when there are some.
func (t *Tree) Run(ctx context.Context) {
	tick := time.NewTicker(t.opts.PollInterval)
	defer tick.Stop()
	f := t.newFollower(ctx)
	defer func() { _ = f.close() }() // nothing can be done about it
	failing := ""
	for {
		var tables []*table
		heard := false
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f.follow(ctx)
			tables = t.tables()
		case tables = <-f.heard:
			heard = true
		}
		err := t.refresh(ctx, tables)
		if heard && f.moved(tables) { // what has happened in the new folders before they were watched is found by another look
			f.follow(ctx)
			err = errors.Join(err, t.refresh(ctx, tables))
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			failing = ""
		case err.Error() != failing: // once, not every two seconds
			failing = err.Error()
			t.opts.Logger.WarnContext(ctx, "looking for new commits failed", contain.LogArgs(err)...)
		}
	}
}

// inUse is the table at a path if it was opened, nil otherwise.
func (t *Tree) inUse(where string) *table {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known[where]
}

// table opens a table, once.
func (t *Tree) table(ctx context.Context, where string) (*table, error) {
	if tab := t.inUse(where); tab != nil {
		if tab.missing() != nil { // it was listed again
			return tab, tab.lookAgain(ctx)
		}
		return tab, nil
	}
	rules := hudi.MergeRules(t.opts.MergeRules)
	if rules == "auto" {
		rules = hudi.RulesOfVersion
	}
	store := storage.Store(t.store)
	if where != "" {
		store = storage.Sub(store, where)
	}
	h, err := hudi.Open(ctx, store, &hudi.Options{
		MergeRules: rules, SkipDamage: t.opts.OnDamage == "skip", NoMetadataTable: t.opts.NoMetadataTable, Zone: t.opts.Timezone,
		BootstrapSource: t.opts.BootstrapSource, Admit: t.admit, Memo: memo{t.memo, where}, Logger: t.opts.Logger, Clock: t.opts.Clock,
	})
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if first := t.known[where]; first != nil {
		return first, nil
	}
	tab := &table{t: t, path: where, store: store, hudi: h, seed: inodeOf("files of", where), refreshing: make(chan struct{}, 1), views: map[answer]*viewDir{}}
	t.known[where] = tab
	return tab, nil
}

// inodeOf makes a stable number out of what identifies a node.
func inodeOf(parts ...string) uint64 {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return possible(binary.BigEndian.Uint64(h.Sum(nil)))
}

// possible makes a number one that an inode may have: 0 is none, 1 is the root's.
func possible(n uint64) uint64 {
	if n < 2 {
		n += 2
	}
	return n
}

func join(elem ...string) string { return path.Join(elem...) }
