package timeline

import (
	"context"
	"path"
)

// CompactionPlan says which slices a compaction or log compaction merges (HoodieCompactionPlan).
type CompactionPlan struct {
	Operations    []CompactionOperation
	ExtraMetadata map[string]string
}

// CompactionOperation is one slice of a compaction plan. Files are names, not paths.
type CompactionOperation struct {
	Partition   string
	FileID      string
	BaseInstant string
	BaseFile    string // "" for a slice of log files only
	LogFiles    []string
}

// PendingCompaction is a compaction that has been scheduled and has not completed.
type PendingCompaction struct {
	Instant Instant
	Plan    *CompactionPlan
}

// CompactionPlan returns the plan of a compaction or log compaction, pending or completed. For an archived one that is an
// ErrUnsupported.
func (t *Timeline) CompactionPlan(ctx context.Context, in Instant) (*CompactionPlan, error) {
	return parsed(ctx, t, in, Requested, func(f *fields, rec any) CompactionPlan {
		plan := CompactionPlan{ExtraMetadata: f.strTable(rec, "extraMetadata")}
		for _, op := range f.list(rec, "operations") {
			plan.Operations = append(plan.Operations, CompactionOperation{
				Partition:   f.str(op, "partitionPath"),
				FileID:      f.str(op, "fileId"),
				BaseInstant: f.str(op, "baseInstantTime"),
				BaseFile:    f.str(op, "dataFilePath"),
				LogFiles:    f.strs(op, "deltaFilePaths"),
			})
		}
		return plan
	})
}

// PendingCompactions returns the compactions that have not completed, oldest first, without log compactions: only a
// compaction begins a new slice.
func (t *Timeline) PendingCompactions(ctx context.Context) ([]PendingCompaction, error) {
	var pending []PendingCompaction
	for _, in := range t.instants {
		if in.Action != ActionCompaction || in.State == Completed {
			continue
		}
		plan, err := t.CompactionPlan(ctx, in)
		if err != nil {
			return nil, err
		}
		pending = append(pending, PendingCompaction{Instant: in, Plan: plan})
	}
	return pending, nil
}

// ReplacePlan is what a replacecommit or clustering was requested as (HoodieRequestedReplaceMetadata).
type ReplacePlan struct {
	OperationType string // CLUSTER, INSERT_OVERWRITE, ...; "" for an empty file
	Slices        []ClusteringSlice
}

// ClusteringSlice is one slice that a clustering plan rewrites.
type ClusteringSlice struct {
	Partition string
	FileID    string
	BaseFile  string // an absolute path of the writer's, or ""
	LogFiles  []string
}

// ReplacePlan returns the plan of a replacecommit or clustering, pending or completed. For an archived one that is an
// ErrUnsupported.
func (t *Timeline) ReplacePlan(ctx context.Context, in Instant) (*ReplacePlan, error) {
	return parsed(ctx, t, in, Requested, func(f *fields, rec any) ReplacePlan {
		plan := ReplacePlan{OperationType: f.str(rec, "operationType")}
		for _, group := range f.list(f.get(rec, "clusteringPlan"), "inputGroups") {
			for _, slice := range f.list(group, "slices") {
				plan.Slices = append(plan.Slices, ClusteringSlice{
					Partition: f.str(slice, "partitionPath"),
					FileID:    f.str(slice, "fileId"),
					BaseFile:  f.str(slice, "dataFilePath"),
					LogFiles:  f.strs(slice, "deltaFilePaths"),
				})
			}
		}
		return plan
	})
}

// CleanMetadata is what a cleaning removed (HoodieCleanMetadata).
type CleanMetadata struct {
	EarliestRetained string // "" where the policy keeps no commits but versions
	LastCompleted    string // the last commit that had completed when the cleaning began
	Partitions       map[string]CleanedPartition
}

// CleanedPartition is what a cleaning removed from one partition. Deleted has file names; those that could not be removed
// are there too, because they may go at any time.
type CleanedPartition struct {
	Policy           string // KEEP_LATEST_COMMITS, KEEP_LATEST_FILE_VERSIONS, ...
	Deleted          []string
	PartitionDeleted bool
}

// Clean returns what a completed clean recorded.
func (t *Timeline) Clean(ctx context.Context, in Instant) (*CleanMetadata, error) {
	return parsed(ctx, t, in, Completed, func(f *fields, rec any) CleanMetadata {
		c := CleanMetadata{
			EarliestRetained: f.str(rec, "earliestCommitToRetain"),
			LastCompleted:    f.str(rec, "lastCompletedCommitTimestamp"),
			Partitions:       map[string]CleanedPartition{},
		}
		for partition, p := range f.table(rec, "partitionMetadata") {
			c.Partitions[partition] = CleanedPartition{
				Policy:           f.str(p, "policy"),
				Deleted:          append(f.strs(p, "successDeleteFiles"), f.strs(p, "failedDeleteFiles")...),
				PartitionDeleted: f.flag(p, "isPartitionDeleted"),
			}
		}
		return c
	})
}

// Removed returns the names of the files that a clean has removed, or while it is pending may have removed by now, by partition.
func (t *Timeline) Removed(ctx context.Context, in Instant) (map[string][]string, error) {
	if in.State != Completed {
		names, err := parsed(ctx, t, in, Requested, plannedRemovals)
		if err != nil {
			return nil, err
		}
		return *names, nil
	}
	c, err := t.Clean(ctx, in)
	if err != nil {
		return nil, err
	}
	removed := make(map[string][]string, len(c.Partitions))
	for partition, p := range c.Partitions {
		removed[partition] = p.Deleted
	}
	return removed, nil
}

// plannedRemovals reads HoodieCleanerPlan. The sources of bootstrapped files lie outside the table.
func plannedRemovals(f *fields, rec any) map[string][]string {
	names := map[string][]string{}
	for partition, list := range f.table(rec, "filesToBeDeletedPerPartition") {
		names[partition] = f.texts("filesToBeDeletedPerPartition", f.items("filesToBeDeletedPerPartition", list))
	}
	for partition, list := range f.table(rec, "filePathsToBeDeletedPerPartition") {
		for _, item := range f.items("filePathsToBeDeletedPerPartition", list) {
			if !f.flag(item, "isBootstrapBaseFile") {
				names[partition] = append(names[partition], path.Base(f.str(item, "filePath")))
			}
		}
	}
	return names
}

// Cleans returns the completed cleans of the active timeline, oldest first.
func (t *Timeline) Cleans() []Instant {
	return t.filter(func(in Instant) bool { return in.Action == ActionClean && in.State == Completed })
}

// EarliestRetained is the oldest commit whose files the last completed clean kept, or "": then the cleaner keeps a number
// of versions, or nothing was ever cleaned (hudi-common: TimelineUtils.validateTimestampAsOf).
func (t *Timeline) EarliestRetained(ctx context.Context) (string, error) {
	cleans := t.Cleans()
	if len(cleans) == 0 {
		return "", nil
	}
	last, err := t.Clean(ctx, cleans[len(cleans)-1])
	if err != nil {
		return "", err
	}
	return last.EarliestRetained, nil
}

// RollbackMetadata is what a rollback undid (HoodieRollbackMetadata).
type RollbackMetadata struct {
	Instants   []InstantName // that were rolled back
	Partitions map[string]RolledBackPartition
}

// InstantName names an instant that may have left the timeline.
type InstantName struct {
	Time   string
	Action Action
}

// RolledBackPartition is what a rollback changed in one partition. Files are as the writer named them, mostly with absolute
// paths.
type RolledBackPartition struct {
	Deleted      []string
	RollbackLogs map[string]int64 // log files that hold the rollback's command blocks, and their sizes
}

// Rollback returns what a completed rollback recorded.
func (t *Timeline) Rollback(ctx context.Context, in Instant) (*RollbackMetadata, error) {
	return parsed(ctx, t, in, Completed, parseRollback)
}

func parseRollback(f *fields, rec any) RollbackMetadata {
	r := RollbackMetadata{Instants: instantNames(f, rec, "instantsRollback"), Partitions: map[string]RolledBackPartition{}}
	if r.Instants == nil {
		for _, time := range f.strs(rec, "commitsRollback") {
			r.Instants = append(r.Instants, InstantName{Time: time})
		}
	}
	for partition, p := range f.table(rec, "partitionMetadata") {
		r.Partitions[partition] = RolledBackPartition{
			Deleted:      f.strs(p, "successDeleteFiles"),
			RollbackLogs: f.numTable(p, "rollbackLogFiles"),
		}
	}
	return r
}

func instantNames(f *fields, rec any, name string) []InstantName {
	var names []InstantName
	for _, item := range f.list(rec, name) {
		names = append(names, InstantName{Time: f.str(item, "commitTime"), Action: Action(f.str(item, "action"))})
	}
	return names
}

// RestoreMetadata is what a restore undid (HoodieRestoreMetadata).
type RestoreMetadata struct {
	Instants  []InstantName
	Rollbacks map[string][]RollbackMetadata // by the time of the instant that was undone
}

// Restore returns what a completed restore recorded.
func (t *Timeline) Restore(ctx context.Context, in Instant) (*RestoreMetadata, error) {
	return parsed(ctx, t, in, Completed, func(f *fields, rec any) RestoreMetadata {
		r := RestoreMetadata{Instants: instantNames(f, rec, "restoreInstantInfo"), Rollbacks: map[string][]RollbackMetadata{}}
		if r.Instants == nil {
			for _, time := range f.strs(rec, "instantsToRollback") {
				r.Instants = append(r.Instants, InstantName{Time: time})
			}
		}
		for time, list := range f.table(rec, "hoodieRestoreMetadata") {
			for _, item := range f.items("hoodieRestoreMetadata", list) {
				r.Rollbacks[time] = append(r.Rollbacks[time], parseRollback(f, item))
			}
		}
		return r
	})
}

// SavepointMetadata is what a savepoint protects from the cleaner (HoodieSavepointMetadata).
type SavepointMetadata struct {
	By       string
	At       int64 // milliseconds since 1970
	Comments string
	Files    map[string][]string // base file names by partition
}

// Savepoint returns what a completed savepoint recorded.
func (t *Timeline) Savepoint(ctx context.Context, in Instant) (*SavepointMetadata, error) {
	return parsed(ctx, t, in, Completed, func(f *fields, rec any) SavepointMetadata {
		s := SavepointMetadata{
			By:       f.str(rec, "savepointedBy"),
			At:       f.num(rec, "savepointedAt"),
			Comments: f.str(rec, "comments"),
			Files:    map[string][]string{},
		}
		for partition, p := range f.table(rec, "partitionMetadata") {
			s.Files[partition] = f.strs(p, "savepointDataFile")
		}
		return s
	})
}

// Savepoints returns the completed savepoints, oldest first. A savepoint has the time of the write that it protects.
func (t *Timeline) Savepoints() []Instant {
	return t.filter(func(in Instant) bool { return in.Action == ActionSavepoint && in.State == Completed })
}
