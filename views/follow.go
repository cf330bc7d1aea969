package views

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hudifs/hudifs/storage"
)

const (
	// settle is how long is waited after a change before the next one is told: a commit changes several files.
	settle = 100 * time.Millisecond
	// maxFollowed is how many folders are watched. Tables beyond are polled.
	maxFollowed = 4096
)

// follower hears of changes of tables, where the store does.
type follower struct {
	t     *Tree
	watch storage.Watch // nil where nothing is heard
	// heard gets tables that have changed.
	heard chan []*table
	ended sync.WaitGroup
	stop  context.CancelFunc

	mu     sync.Mutex
	tables map[string]*table // guarded by mu; by folder
	warned bool              // guarded by mu
}

func (t *Tree) newFollower(ctx context.Context) *follower {
	f := &follower{t: t, heard: make(chan []*table)}
	ctx, f.stop = context.WithCancel(ctx)
	if t.watcher == nil {
		return f
	}
	var err error
	if f.watch, err = t.watcher.Watch(); err != nil {
		f.warn(ctx, err)
		return f
	}
	f.follow(ctx)
	f.ended.Go(func() { f.listen(ctx) })
	return f
}

// warn says once that polling has to do.
func (f *follower) warn(ctx context.Context, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.warned && ctx.Err() == nil {
		f.t.opts.Logger.WarnContext(ctx, "not all changes are heard of, they are found by polling", "err", err)
		f.warned = true
	}
}

// follow watches the tables that are in use by now, where their folders are by now.
func (f *follower) follow(ctx context.Context) {
	if f.watch == nil {
		return
	}
	tables := map[string]*table{}
	var dirs []string
	for _, tab := range f.t.tables() {
		for _, dir := range tab.hudi.Folders() {
			if dir = join(tab.path, dir); len(dirs) < maxFollowed {
				dirs, tables[dir] = append(dirs, dir), tab
			}
		}
	}
	f.mu.Lock()
	f.tables = tables
	f.mu.Unlock()
	if err := f.watch.Follow(ctx, dirs); err != nil {
		f.warn(ctx, err)
	}
}

// moved tells whether some tables, of which something was heard, have folders by now that are not watched: an upgrade moves the timeline.
func (f *follower) moved(tables []*table) bool {
	if f.watch == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(tables, func(tab *table) bool {
		return slices.ContainsFunc(tab.hudi.Folders(), func(dir string) bool { return f.tables[join(tab.path, dir)] == nil })
	})
}

func (f *follower) listen(ctx context.Context) {
	for {
		dirs, err := f.watch.Next(ctx)
		if err != nil {
			f.warn(ctx, err)
			return
		}
		var changed []*table
		f.mu.Lock()
		for _, dir := range dirs {
			if tab := f.tables[dir]; tab != nil {
				changed = append(changed, tab)
			}
		}
		f.mu.Unlock()
		select {
		case f.heard <- changed:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(settle):
		case <-ctx.Done():
			return
		}
	}
}

func (f *follower) close() error {
	f.stop()
	f.ended.Wait()
	if f.watch == nil {
		return nil
	}
	return f.watch.Close()
}
