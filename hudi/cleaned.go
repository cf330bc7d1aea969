package hudi

import (
	"context"
	"fmt"
	"maps"
	"path"

	"github.com/hudifs/hudifs/internal/fsview"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/timeline"
)

// checkCleaned refuses a snapshot of the past that needs a file which the cleaner has removed: Hudi itself checks only the
// instant up to which commits are kept, and gives what is left where the cleaner keeps a number of versions.
//
// A removed file was needed if its instant lies within the view, and no newer slice of its group does. Files of groups that
// had been replaced by then were not needed.
func (v *View) checkCleaned(ctx context.Context, chosen []map[timeline.FileGroup]string, replaced map[timeline.FileGroup]string) error {
	if v.query.kind != asOf || v.scope.at == "" || v.scope.at >= newestOf(v.st.tl.CompletedWrites()) {
		return nil
	}
	history, err := v.st.tl.History(ctx)
	if err != nil {
		return err
	}
	shown := map[timeline.FileGroup]string{}
	for _, m := range chosen {
		maps.Copy(shown, m)
	}
	c := cleanCheck{v: v, shown: shown, replaced: replaced, history: history}
	for _, in := range history {
		if in.Action != timeline.ActionClean {
			continue
		}
		m, err := v.st.tl.Clean(ctx, in)
		if err != nil {
			return err
		}
		for partition, p := range m.Partitions {
			for _, name := range p.Deleted {
				if err := c.file(ctx, in.Time, partition, path.Base(name)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

type cleanCheck struct {
	v        *View
	shown    map[timeline.FileGroup]string
	replaced map[timeline.FileGroup]string
	history  []timeline.Instant
	archived map[timeline.FileGroup]string // replaced by archived instants; nil until it was needed
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
	s := c.v.scope
	if instant > s.at || instant <= c.shown[g] {
		return nil
	}
	if r, ok := c.replaced[g]; ok && r <= s.at {
		return nil
	}
	if err := c.readArchived(ctx); err != nil {
		return err
	}
	if r, ok := c.archived[g]; ok && r <= s.at {
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
