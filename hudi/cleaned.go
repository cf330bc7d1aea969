package hudi

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/hudifs/hudifs/internal/fsview"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/timeline"
)

// check refuses a view that needs a file which is not there any more. It is asked after the listing: what may have taken a file from
// that, the timeline shows by then, as a clean begins with its plan.
//
// Hudi itself checks only the instant up to which commits are kept, and gives what is left: where the cleaner keeps a number of versions, and
// where it runs while somebody reads.
func (l *listing) check(ctx context.Context) error {
	v := l.v
	now, err := v.st.tl.Refresh(ctx)
	if errors.Is(err, timeline.ErrMoving) {
		return fmt.Errorf("%w: %v: %w", ErrCleaned, v.query, err)
	}
	if err != nil {
		return err
	}
	if err := v.checkUndone(ctx, now); err != nil {
		return err
	}
	c := cleanCheck{listing: l}
	if v.st.past || v.query.kind == asOf && v.scope.at != "" && v.scope.at < newestOf(v.st.tl.CompletedWrites()) {
		if c.history, err = v.st.tl.History(ctx); err != nil {
			return err
		}
		for _, in := range c.history {
			if err := c.clean(ctx, v.st.tl, in); err != nil {
				return err
			}
		}
	}
	known := map[string]bool{}
	for _, in := range v.st.tl.Cleans() {
		known[in.Time] = true
	}
	explained := false
	for _, in := range now.Instants() {
		if known[in.Time] || in.Action != timeline.ActionClean {
			continue
		}
		if err := c.clean(ctx, now, in); err != nil {
			return err
		}
		explained = true
	}
	if l.unsettled != nil && !explained {
		return fmt.Errorf("%w: %v: a folder went while the table was listed, and no clean tells what was in it: %w", ErrCleaned, v.query, l.unsettled)
	}
	return nil
}

// checkUndone refuses a view of writes that the timeline of this moment does not have.
func (v *View) checkUndone(ctx context.Context, now *timeline.Timeline) error {
	writes := v.st.tl.CompletedWrites()
	if now == v.st.tl || len(writes) == 0 {
		return nil
	}
	active := map[string]bool{}
	for _, w := range now.CompletedWrites() {
		active[w.Time] = true
	}
	for _, w := range writes {
		if v.scope.wants(w.Time) && !now.IsCommitted(w.Time) {
			return fmt.Errorf("%w: %v: %s %s has been undone since", ErrCleaned, v.query, w.Action, w.Time)
		}
	}
	newest := writes[len(writes)-1]
	if active[newest.Time] {
		return nil
	}
	history, err := now.History(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(history, func(in timeline.Instant) bool { return in.Time == newest.Time }) {
		return fmt.Errorf("%w: %v: the table is another one by now: it has no %s", ErrCleaned, v.query, newest.Time)
	}
	return nil
}

// cleanCheck looks for removed files that a view needs. A file was needed if its instant lies within the view, and no newer slice of its group
// does. Files of groups that had been replaced by then were not needed.
type cleanCheck struct {
	*listing
	history  []timeline.Instant
	shown    map[timeline.FileGroup]string // the instants of the slices that were looked at; nil until it was needed
	archived map[timeline.FileGroup]string // replaced by archived instants; nil until it was needed
}

func (c *cleanCheck) clean(ctx context.Context, tl *timeline.Timeline, in timeline.Instant) error {
	if in.Action != timeline.ActionClean {
		return nil
	}
	removed, err := tl.Removed(ctx, in)
	if err != nil {
		return err
	}
	for partition, names := range removed {
		for _, name := range names {
			if err := c.file(ctx, in.Time, partition, path.Base(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *cleanCheck) file(ctx context.Context, clean, partition, name string) error {
	g := timeline.FileGroup{Partition: partition}
	var instant string
	if b, ok := fsview.ParseBase(name, fsview.Parquet); ok {
		g.FileID, instant = b.FileID, b.Instant
	} else if l, ok := logfile.ParseName(name); ok && !l.CDC {
		g.FileID, instant = l.FileID, l.Instant
	} else {
		return nil
	}
	if c.shown == nil {
		c.shown = c.listing.shown()
	}
	s := c.v.scope
	if s.at != "" && instant > s.at || instant < c.shown[g] || !c.v.st.tl.IsCommitted(instant) {
		return nil
	}
	if r, ok := c.replaced[g]; ok && (s.at == "" || r <= s.at) {
		return nil
	}
	there, err := c.v.fileNames(ctx, c.lister, partition)
	if err != nil || there[name] {
		return err
	}
	if err := c.readArchived(ctx); err != nil {
		return err
	}
	if r, ok := c.archived[g]; ok && (s.at == "" || r <= s.at) {
		return nil
	}
	return fmt.Errorf("%w: %v needs %s, which the cleaner removed at %s", ErrCleaned, c.v.query, path.Join(partition, name), clean)
}

func (c *cleanCheck) readArchived(ctx context.Context) error {
	if c.archived != nil {
		return nil
	}
	c.archived = map[timeline.FileGroup]string{}
	for _, in := range c.history {
		if !in.Archived || in.Action != timeline.ActionReplaceCommit {
			continue
		}
		m, err := c.v.st.tl.Commit(ctx, in)
		if err != nil {
			return err
		}
		for partition, ids := range m.ReplacedFileIDs {
			for _, id := range ids {
				g := timeline.FileGroup{Partition: partition, FileID: id}
				c.archived[g] = max(c.archived[g], in.Time)
			}
		}
	}
	return nil
}
