package timeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hudifs/hudifs/internal/lazy"
	"github.com/hudifs/hudifs/storage"
)

// Timeline is the active timeline as one listing saw it. It never changes; contents of instants and the archived timeline
// are read when they are asked for, so a file that a writer has removed meanwhile gives storage.ErrNotExist: then the
// table must be loaded anew. It may be used from many goroutines.
type Timeline struct {
	store    storage.Store
	config   *Config
	instants []Instant // in the order of Instant.compare

	fingerprint string
	committed   map[string]bool // requested times of completed writes
	undone      map[string]bool // requested times of writes that are archived, and had not completed; see Without
	boundary    string          // see IsCommitted; "" without one

	memo     *memo
	archive  *lazy.Value[*archive]
	history  lazy.Value[[]Instant]
	replaced lazy.Value[map[FileGroup]string]
}

// maxActive bounds the files of an active timeline. Those that are archived as they should be have some hundreds.
const maxActive = 1 << 20

// FileGroup names a file group.
type FileGroup struct {
	Partition string
	FileID    string
}

// Load lists the active timeline once. Errors: ErrMoving, and those of the store.
func Load(ctx context.Context, s storage.Store, c *Config) (*Timeline, error) {
	return load(ctx, s, c, newMemo(), nil)
}

// Refresh lists the active timeline again. It returns t itself where nothing has changed; a new Timeline shares what has
// been parsed already. The configuration stays: who must notice that a table has been upgraded, which moves its timeline,
// compares Config.Properties with those of a new LoadConfig first.
func (t *Timeline) Refresh(ctx context.Context) (*Timeline, error) {
	return load(ctx, t.store, t.config, t.memo, t)
}

// load gives the timeline that is known already where the listing is the same.
func load(ctx context.Context, s storage.Store, c *Config, m *memo, known *Timeline) (*Timeline, error) {
	entries, err := s.List(ctx, c.TimelinePath)
	// An object store has no empty folders. The one of layout 1 is not empty: the table's properties are in it.
	if err != nil && (!errors.Is(err, storage.ErrNotExist) || c.TimelinePath == MetaFolder) {
		return nil, err
	}
	hash := sha256.New()
	var files []Instant
	for _, e := range entries {
		in, ok := instantOf(e, c.Layout)
		if !ok || in.Action == ActionReplaceCommit && in.State == Completed && e.Size == 0 {
			// A replacement that does not say yet what it replaces is not complete: Hudi makes the file before it writes into it, and who reads it
			// then sees the rows of both.
			continue
		}
		if len(files) == maxActive {
			return nil, unsupportedf(c.TimelinePath, "an active timeline of more than %d files", maxActive)
		}
		files = append(files, in)
		hash.Write(fmt.Appendf(nil, "%s %d\n", e.Name, e.Size))
	}
	fingerprint := hex.EncodeToString(hash.Sum(nil))
	if known != nil && known.fingerprint == fingerprint {
		return known, nil
	}
	if err := checkMoving(ctx, s, c, entries); err != nil {
		return nil, err
	}
	t := &Timeline{store: s, config: c, memo: m, archive: &lazy.Value[*archive]{}, fingerprint: fingerprint}
	t.setInstants(collapse(files))
	return t, nil
}

// checkMoving looks for instants in the folder of the other layout. An upgrade to layout 2, or back, moves one file after the other
// before it changes the properties (hudi-client-common: SevenToEightUpgradeHandler): until then neither folder has the whole timeline.
func checkMoving(ctx context.Context, s storage.Store, c *Config, entries []storage.Entry) error {
	folder, layout := MetaFolder, 1
	if c.Layout == 1 {
		folder, layout = path.Join(MetaFolder, timelineFolder), 2
		if !slices.ContainsFunc(entries, func(e storage.Entry) bool { return e.Dir && e.Name == timelineFolder }) {
			return nil
		}
	}
	if folder == c.TimelinePath {
		return nil
	}
	others, err := s.List(ctx, folder)
	if err != nil && !errors.Is(err, storage.ErrNotExist) {
		return err
	}
	for _, e := range others {
		if _, ok := instantOf(e, layout); ok {
			return fmt.Errorf("%w: %s lies in the other layout's folder", ErrMoving, path.Join(folder, e.Name))
		}
	}
	return nil
}

// setInstants finds out what is committed.
func (t *Timeline) setInstants(instants []Instant) {
	t.instants, t.committed = instants, map[string]bool{}
	savepointed := map[string]bool{}
	for _, in := range t.instants {
		if in.Action == ActionSavepoint {
			savepointed[in.Time] = true
		}
	}
	for _, in := range t.instants {
		if in.completedWrite() {
			t.committed[in.Time] = true
		}
		if t.boundary == "" && in.Action.writes() && !savepointed[in.Time] {
			t.boundary = in.Time
		}
	}
}

// collapse makes one instant of the files that its states left.
func collapse(files []Instant) []Instant {
	slices.SortStableFunc(files, func(a, b Instant) int {
		if order := a.compare(b); order != 0 {
			return order
		}
		return int(a.State) - int(b.State)
	})
	var instants []Instant
	for _, in := range files {
		if n := len(instants); n > 0 && instants[n-1].compare(in) == 0 {
			instants[n-1] = instants[n-1].with(in)
		} else {
			instants = append(instants, in)
		}
	}
	return instants
}

// Config returns the configuration that the timeline was loaded with.
func (t *Timeline) Config() *Config { return t.config }

// Fingerprint is equal for equal listings of the active timeline.
func (t *Timeline) Fingerprint() string { return t.fingerprint }

// Instants returns every instant of the active timeline, ordered by requested time and then by comparable action.
func (t *Timeline) Instants() []Instant { return slices.Clone(t.instants) }

// Writes returns the instants that write data, in every state: commit, deltacommit, replacecommit and pending compaction,
// log compaction and clustering (Hudi's write timeline).
func (t *Timeline) Writes() []Instant {
	return t.filter(func(in Instant) bool { return in.Action.writes() })
}

// CompletedWrites returns the writes that have completed.
func (t *Timeline) CompletedWrites() []Instant { return t.filter(Instant.completedWrite) }

func (t *Timeline) filter(keep func(Instant) bool) []Instant {
	var kept []Instant
	for _, in := range t.instants {
		if keep(in) {
			kept = append(kept, in)
		}
	}
	return kept
}

// FirstPendingWrite returns the oldest write that has not completed and is no table service: an answer as of its time or
// later could still change. Compaction, log compaction and clustering change no rows, so they do not count.
func (t *Timeline) FirstPendingWrite(ctx context.Context) (Instant, bool, error) {
	for _, in := range t.instants {
		switch in.Action {
		case ActionCommit, ActionDeltaCommit, ActionReplaceCommit:
		default:
			continue
		}
		if in.State == Completed {
			continue
		}
		clustering, err := t.pendingClustering(ctx, in)
		if err != nil {
			return Instant{}, false, err
		}
		if !clustering {
			return in, true, nil
		}
	}
	return Instant{}, false, nil
}

// pendingClustering tells the clustering of layout 1, which has no action of its own, by its plan. A plan that is empty or
// damaged proves nothing, and so does not lift the boundary.
func (t *Timeline) pendingClustering(ctx context.Context, in Instant) (bool, error) {
	if in.Action != ActionReplaceCommit {
		return false, nil
	}
	plan, err := t.ReplacePlan(ctx, in)
	switch {
	case errors.Is(err, ErrCorrupt) || errors.Is(err, ErrUnsupported):
		return false, nil
	case err != nil:
		return false, err
	}
	return plan.OperationType == "CLUSTER", nil
}

// IsCommitted says whether files of the instant with requested time i hold rows of the table: it has completed, or it is
// older than the active timeline. That begins with the first write, pending ones included, that is not a savepoint's:
// archiving never passes a pending write, whose own files must not count, and leaves holes before savepoints (hudi-common:
// HoodieDefaultTimeline.getFirstNonSavepointCommit). Without any completed write nothing is committed.
func (t *Timeline) IsCommitted(i string) bool {
	return len(t.committed) > 0 && (t.committed[i] || i < t.boundary && !t.undone[i])
}

// CompletionTime returns when the write with requested time i completed, archived ones included. ok is false for a write
// that is pending or was rolled back. Where the history no longer goes back to i, and on layout 1, it is i itself.
func (t *Timeline) CompletionTime(ctx context.Context, i string) (completed string, ok bool, err error) {
	if t.config.Layout == 1 {
		return i, t.IsCommitted(i), nil
	}
	at, _ := slices.BinarySearchFunc(t.instants, i, func(in Instant, i string) int { return strings.Compare(in.Time, i) })
	for _, in := range t.instants[at:] {
		if in.Time != i {
			break
		}
		if in.completedWrite() {
			return in.CompletionTime, true, nil
		}
	}
	if !t.IsCommitted(i) {
		return "", false, nil
	}
	return t.archivedCompletion(ctx, i)
}

// Replaced returns the file groups that completed replacecommits of the active timeline took out of the table, each with
// the requested time of the newest one that did. A view as of q leaves out the groups whose instant is at most q. Files of
// archived replacecommits are gone, so those need not be read. The map is shared: callers must not change it.
func (t *Timeline) Replaced(ctx context.Context) (map[FileGroup]string, error) {
	return t.replaced.Get(ctx, func(ctx context.Context) (map[FileGroup]string, error) {
		replaced := map[FileGroup]string{}
		for _, in := range t.instants {
			if in.Action != ActionReplaceCommit || in.State != Completed {
				continue
			}
			c, err := t.Commit(ctx, in)
			if err != nil {
				return nil, err
			}
			for partition, ids := range c.ReplacedFileIDs {
				for _, id := range ids {
					replaced[FileGroup{partition, id}] = in.Time
				}
			}
		}
		return replaced, nil
	})
}
