// Package hudi reads Apache Hudi tables: their snapshots, the table as of an instant, the records of a range of the
// timeline, and what is there without merging. Each view is a set of plain Parquet files, rendered when they are asked for.
//
//	t, err := hudi.Open(ctx, store, nil)
//	v, err := t.View(ctx, hudi.Latest())
//	for _, p := range partitions { files, err := v.Files(ctx, p) … }
//
// A View is frozen: nothing that a writer does later changes what it lists. A file's ID names its bytes: equal IDs, equal bytes,
// on every host.
package hudi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hudifs/hudifs/internal/bootstrap"
	"github.com/hudifs/hudifs/internal/fsview"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/timeline"
	"github.com/hudifs/hudifs/merge"
	"github.com/hudifs/hudifs/storage"
)

// The errors that callers tell apart with errors.Is, besides those of storage.
var (
	// ErrNotTable: there is no Hudi table.
	ErrNotTable = timeline.ErrNotTable
	// ErrUnsupported: the table, or a part of it, is of a kind that this reader does not know.
	ErrUnsupported = errors.New("not supported")
	// ErrCorrupt: bytes are not what the format demands.
	ErrCorrupt = errors.New("damaged")
	// ErrRefused: the query has no answer that could be relied on, as behind an incomplete write.
	ErrRefused = errors.New("refused")
	// ErrCleaned: the cleaner has removed files that the query needs.
	ErrCleaned = errors.New("cleaned")
	// ErrBadName: a text is no instant and no range.
	ErrBadName = errors.New("not an instant")
	// ErrMoving: an upgrade is moving the table's timeline. It is worth another try.
	ErrMoving = timeline.ErrMoving
)

// class gives an error of an inner package the class that callers know.
func class(err error) error {
	for _, c := range []struct{ inner, outer error }{
		{timeline.ErrUnsupported, ErrUnsupported},
		{logfile.ErrUnsupported, ErrUnsupported},
		{fsview.ErrUnsupported, ErrUnsupported},
		{pqfile.ErrUnsupported, ErrUnsupported},
		{pqfile.ErrTooLarge, ErrUnsupported},
		{timeline.ErrCorrupt, ErrCorrupt},
		{logfile.ErrCorrupt, ErrCorrupt},
		{pqfile.ErrCorrupt, ErrCorrupt},
		{bootstrap.ErrCorrupt, ErrCorrupt},
		{schema.ErrInvalid, ErrCorrupt},
		{storage.ErrPath, ErrCorrupt},
	} {
		if errors.Is(err, c.inner) && !errors.Is(err, c.outer) {
			return fmt.Errorf("%w: %w", c.outer, err)
		}
	}
	return err
}

// MergeRules says by which release's rules records are merged.
type MergeRules string

// The rules.
const (
	// RulesOfVersion follows the release that writes the table's version: 0.x up to version 7, 1.x from 8 on.
	RulesOfVersion MergeRules = ""
	Rules0         MergeRules = "0.x"
	Rules1         MergeRules = "1.x"
)

// Memo keeps what is costly to find out again: footers and the like, by a key that names the content. A dropped Put does no harm.
type Memo interface {
	Get(key string) (any, bool)
	// Put keeps a value that takes about cost bytes of memory.
	Put(key string, value any, cost int64)
}

// Options are the choices of a reader. The zero value is right for most.
type Options struct {
	MergeRules MergeRules
	// Mergers merge tables whose payload class or merge strategy is none of Hudi's own, by class name or strategy id.
	Mergers map[string]merge.Merger
	// SkipDamage skips damaged log blocks of completed commits, as Hudi does, instead of refusing their file slice.
	SkipDamage bool
	// NoMetadataTable lists the folders of every table, also where its metadata table could tell.
	NoMetadataTable bool
	// BootstrapSource is the folder that a bootstrapped table was made from. Files whose data was left there can't be read without.
	BootstrapSource storage.Store
	// Zone is that of the writers of tables whose timeline is in local time, for names of instants that have a zone. nil is UTC.
	Zone *time.Location
	// Admit is asked before each rendering, with about how many bytes of memory it will take, and may wait; done is called when it has
	// ended. nil lets all of them run at once.
	Admit func(ctx context.Context, cost int64) (done func(), err error)
	// Memo may be nil.
	Memo Memo
	// Logger gets warnings; nil is silent.
	Logger *slog.Logger
	// Clock gives the time; nil is time.Now.
	Clock func() time.Time
}

// Table is a Hudi table. It may be used from many goroutines.
type Table struct {
	store storage.Store
	opts  Options
	plain fsview.Lister

	mu    sync.Mutex
	state *state // guarded by mu; the value is never changed
}

// state is what was known of a table at one moment.
type state struct {
	name string
	// past says that it is a state of before, which Earlier put together from what is known now.
	past   bool
	config *timeline.Config
	tl     *timeline.Timeline
	rules  rules
	// merger merges instead of rules; nil without one.
	merger merge.Merger
	// unmergeable says why log files of this table can't be merged; nil where they can.
	unmergeable error
	// metadata is nil where folders are listed.
	metadata *metadata
}

// Open reads the configuration and the timeline of the table at the root of a store.
func Open(ctx context.Context, s storage.Store, o *Options) (*Table, error) {
	t := &Table{store: s, plain: fsview.NewPlain(s)}
	if o != nil {
		t.opts = *o
	}
	if t.opts.Logger == nil {
		t.opts.Logger = slog.New(slog.DiscardHandler)
	}
	if t.opts.Memo == nil {
		t.opts.Memo = noMemo{}
	}
	if t.opts.Zone == nil {
		t.opts.Zone = time.UTC
	}
	st, err := t.load(ctx, nil)
	if err != nil {
		return nil, err
	}
	t.state = st
	return t, nil
}

// loadAttempts is how often a table is looked at that is replaced while it is looked at.
const loadAttempts = 3

// load reads the table's state, and returns old where nothing has changed since. A timeline counts only with the properties that were there
// before and after it was listed: an upgrade moves it, and a table may be dropped and made anew.
func (t *Table) load(ctx context.Context, old *state) (*state, error) {
	c, err := timeline.LoadConfig(ctx, t.store)
	if err != nil {
		return nil, class(err)
	}
	for range loadAttempts {
		var tl *timeline.Timeline
		if old != nil && sameProperties(c, old.config) {
			tl, err = old.tl.Refresh(ctx)
		} else {
			tl, err = timeline.Load(ctx, t.store, c)
		}
		if err != nil {
			return nil, class(err)
		}
		if old != nil && tl == old.tl {
			return old, nil
		}
		listedWith := c
		if c, err = timeline.LoadConfig(ctx, t.store); err != nil {
			return nil, class(err)
		}
		if sameProperties(c, listedWith) {
			return t.newState(ctx, tl)
		}
	}
	return nil, fmt.Errorf("%w: hoodie.properties changes all the time", storage.ErrUnavailable)
}

func (t *Table) newState(ctx context.Context, tl *timeline.Timeline) (*state, error) {
	c := tl.Config()
	st := &state{config: c, tl: tl, name: stateName(tl)}
	st.rules, st.unmergeable = rulesOf(c, t.opts.MergeRules)
	if st.unmergeable != nil {
		st.useMerger(t.opts.Mergers)
	}
	var err error
	st.metadata, err = t.openMetadata(ctx, tl)
	return st, err
}

// stateName names a state by what decides it.
func stateName(tl *timeline.Timeline) string {
	h := sha256.New()
	fmt.Fprintln(h, tl.Fingerprint())
	props := tl.Config().Properties
	for _, key := range slices.Sorted(maps.Keys(props)) {
		fmt.Fprintf(h, "%q %q\n", key, props[key])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Refresh reads the timeline again and tells whether anything changed. Views made before stay as they are.
func (t *Table) Refresh(ctx context.Context) (bool, error) {
	old := t.current()
	st, err := t.load(ctx, old)
	if err != nil || st == old {
		return false, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state = st
	return true, nil
}

func sameProperties(a, b *timeline.Config) bool { return maps.Equal(a.Properties, b.Properties) }

func (t *Table) current() *state {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// State names what Refresh last saw of the table: the same for equal properties and timelines, on every host.
func (t *Table) State() string { return t.current().name }

// Folders are those whose entries change when the table does.
func (t *Table) Folders() []string {
	c := t.current().config
	if c.TimelinePath == timeline.MetaFolder {
		return []string{timeline.MetaFolder}
	}
	return []string{timeline.MetaFolder, c.TimelinePath}
}

type noMemo struct{}

func (noMemo) Get(string) (any, bool) { return nil, false }
func (noMemo) Put(string, any, int64) {}

// Info is what a table says of itself.
type Info struct {
	Name, Database  string
	Version         int
	Type            string // COPY_ON_WRITE or MERGE_ON_READ
	RecordKeys      []string
	PartitionFields []string
	OrderingFields  []string
	MergeMode       string
	Timezone        string // of the timeline: LOCAL or UTC
	LogsChanges     bool   // so that Changes can be asked
	Properties      map[string]string
}

// Info tells what the table's configuration says.
func (t *Table) Info() Info {
	st := t.current()
	c := st.config
	i := Info{
		Name: c.Name, Database: c.Database, Version: c.Version, Type: string(c.Type), RecordKeys: c.RecordKeys,
		OrderingFields: c.OrderingFields, MergeMode: st.rules.name, Timezone: c.Timezone, LogsChanges: c.CDCEnabled, Properties: c.Properties,
	}
	for _, p := range c.PartitionFields {
		i.PartitionFields = append(i.PartitionFields, p.Name)
	}
	return i
}
