package hudi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hudifs/hudifs/internal/fsview"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/render"
	"github.com/hudifs/hudifs/internal/timeline"
	"github.com/hudifs/hudifs/storage"
)

// checkRange decides where the rows of a range are read. As a rule that is the table as of the range's end. Once files that its
// writes made are gone, or the writes themselves are archived, Hudi reads the newest snapshot instead, and so silently misses rows
// that were overwritten since (spark: IncrementalRelationV2, fallback to a full table scan). The same is done here where nothing
// was overwritten, and refused where something was.
func (v *View) checkRange(ctx context.Context) error {
	gone, err := v.filesGone(ctx)
	if err != nil || gone == "" {
		return err
	}
	by, err := v.overwritten(ctx)
	if err != nil {
		return err
	}
	if by != "" {
		return fmt.Errorf("%w: %v: %s, and %s has overwritten rows of the range since", ErrCleaned, v.query, gone, by)
	}
	v.scope.at = ""
	return nil
}

// filesGone says what is missing of the writes of the range, "" where nothing is.
func (v *View) filesGone(ctx context.Context) (string, error) {
	made := map[timeline.FileGroup][]string{}
	for _, w := range v.scope.writes {
		if w.Archived {
			return fmt.Sprintf("instant %s is archived", w.Time), nil
		}
		m, err := v.st.tl.Commit(ctx, w)
		if err != nil {
			return "", err
		}
		if m.OperationType == "" && len(m.Stats) == 0 && len(m.ExtraMetadata) == 0 {
			return "", fmt.Errorf("%w: %v: the commit file of %s is empty, so nothing tells what it wrote", ErrRefused, v.query, w.Time)
		}
		v.needed(made, m)
	}
	lister, err := v.lister(ctx)
	if err != nil {
		return "", err
	}
	listed := map[string]map[string]bool{}
	for _, g := range slices.SortedFunc(maps.Keys(made), compareGroups) {
		for _, p := range made[g] {
			dir, name := path.Split(p)
			dir = strings.TrimSuffix(dir, "/")
			if listed[dir] == nil {
				if listed[dir], err = v.fileNames(ctx, lister, dir); err != nil {
					return "", err
				}
			}
			if !listed[dir][name] {
				return p + " is gone", nil
			}
		}
	}
	return "", nil
}

// needed adds the files of a write to those that Hudi wants to find for the range: 1.x all that were made, 0.x only those that no later
// write of the range has replaced.
func (v *View) needed(made map[timeline.FileGroup][]string, m *timeline.CommitMetadata) {
	all := v.st.config.Version >= 8
	for partition, ids := range m.ReplacedFileIDs {
		for _, id := range ids {
			if !all {
				delete(made, timeline.FileGroup{Partition: partition, FileID: id})
			}
		}
	}
	for _, s := range m.Stats {
		g := timeline.FileGroup{Partition: s.PartitionPath, FileID: s.FileID}
		if !all {
			made[g] = nil
		}
		if s.Path != "" {
			made[g] = append(made[g], s.Path)
		}
	}
}

func compareGroups(a, b timeline.FileGroup) int {
	return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.FileID, b.FileID))
}

func (v *View) fileNames(ctx context.Context, lister fsview.Lister, dir string) (map[string]bool, error) {
	files, err := lister.Files(ctx, dir)
	if err != nil && !errors.Is(err, storage.ErrNotExist) {
		return nil, err
	}
	out := make(map[string]bool, len(files))
	for _, f := range files {
		out[f.Name] = true
	}
	return out, nil
}

// overwritten names a write after the range that changed rows of it, "" where none did. Table services change no rows, but
// move them: what clustering makes of a group that the range wrote to counts as one.
func (v *View) overwritten(ctx context.Context) (string, error) {
	newest := map[timeline.FileGroup]string{} // the newest file of each group that the range wrote to
	for _, w := range v.scope.writes {
		if w.Archived && v.st.config.Version < 8 && len(v.scope.later) > 0 {
			return w.Time, nil // 0.x leaves the rows of archived writes out
		}
		m, err := v.st.tl.Commit(ctx, w)
		if err != nil {
			return "", err
		}
		for _, s := range m.Stats {
			newest[timeline.FileGroup{Partition: s.PartitionPath, FileID: s.FileID}] = s.Path
		}
	}
	later := laterWrites{newest: newest, updated: map[timeline.FileGroup]update{}}
	for _, w := range v.scope.later {
		m, err := v.st.tl.Commit(ctx, w)
		if err != nil {
			return "", err
		}
		if later.add(w.Time, m) {
			return w.Time, nil
		}
	}
	for _, g := range slices.SortedFunc(maps.Keys(later.updated), compareGroups) {
		u := later.updated[g]
		lost, err := v.lost(ctx, newest[g], u.path)
		if err != nil || lost {
			return u.by, err
		}
	}
	return "", nil
}

// laterWrites follows what writes after a range do to the file groups that it wrote to.
type laterWrites struct {
	newest  map[timeline.FileGroup]string // the newest file of each such group
	updated map[timeline.FileGroup]update
}

// add follows one write, and tells whether it took rows of the range away for certain.
func (l *laterWrites) add(instant string, m *timeline.CommitMetadata) bool {
	if m.OperationType == "COMPACT" || m.OperationType == "LOG_COMPACT" {
		return false
	}
	replaces := false
	for partition, ids := range m.ReplacedFileIDs {
		for _, id := range ids {
			_, touched := l.newest[timeline.FileGroup{Partition: partition, FileID: id}]
			replaces = replaces || touched
		}
	}
	clusters := m.OperationType == "CLUSTER"
	if replaces && !clusters {
		return true
	}
	for _, s := range m.Stats {
		g := timeline.FileGroup{Partition: s.PartitionPath, FileID: s.FileID}
		switch _, touched := l.newest[g]; {
		case clusters && replaces:
			l.newest[g] = s.Path
		case touched && (s.NumUpdateWrites > 0 || s.NumDeletes > 0):
			l.updated[g] = update{by: instant, path: s.Path}
		}
	}
	return false
}

// update is the newest write to a group after a range, and the file that it made.
type update struct{ by, path string }

// lost tells whether rows of the range that one file of a group has are missing in a later one. Where that can't be told they are taken for
// lost: with log files, or without the earlier file.
func (v *View) lost(ctx context.Context, before, after string) (bool, error) {
	var rows [2]int
	for i, p := range []string{before, after} {
		b, ok := fsview.ParseBase(path.Base(p), fsview.Parquet)
		if !ok {
			return true, nil
		}
		o, err := v.t.store.Open(ctx, p)
		if errors.Is(err, storage.ErrNotExist) {
			return true, nil
		}
		if err != nil {
			return true, err
		}
		defer o.Close()
		f, err := pqfile.Open(storage.ReaderAt(ctx, o), o.Size())
		if err != nil {
			return true, fmt.Errorf("%s: %w", b.Name, err)
		}
		if rows[i], err = render.Count(f, v.scope.only); err != nil {
			return true, fmt.Errorf("%s: %w", b.Name, err)
		}
	}
	return rows[0] != rows[1], nil
}
