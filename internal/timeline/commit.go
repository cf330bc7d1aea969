package timeline

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/hudifs/hudifs/storage"
)

// CommitMetadata is what a commit, deltacommit or replacecommit recorded about itself (hudi-common: HoodieCommitMetadata,
// HoodieReplaceCommitMetadata). An instant file without content, which is legal, reads as the zero value. It may be shared:
// callers must not change it.
type CommitMetadata struct {
	OperationType string // UPSERT, CLUSTER, COMPACT, ...; "" in old files
	// Stats are in the order of their partition paths, and within one as they were written.
	Stats         []WriteStat
	ExtraMetadata map[string]string
	// ReplacedFileIDs has the file groups that a replacecommit takes out of each partition.
	ReplacedFileIDs map[string][]string
}

// WriteStat is what a commit wrote into one file (hudi-common: HoodieWriteStat).
type WriteStat struct {
	PartitionPath string // "" where the table is not partitioned
	FileID        string
	Path          string // of the file, relative to the base path; bootstraps of very old tables have it absolute
	PrevCommit    string // of the version that the file replaces, "" for a new file group

	NumWrites       int64
	NumInserts      int64
	NumUpdateWrites int64
	NumDeletes      int64
	FileSize        int64 // of a log file: after the write

	// For log files only. Up to version 7, and where change data is logged, BaseFile is the name of the slice's base
	// file and LogFiles has all logs of the slice, in no order. Otherwise LogFiles has the new file alone.
	BaseFile   string
	LogFiles   []string
	LogOffset  int64
	LogVersion int64

	// CDCStats has the size of each change log by its path relative to the base path. It is nil where there is none.
	CDCStats map[string]int64
}

// Schema is the Avro JSON of the table's schema without meta fields, or "".
func (c *CommitMetadata) Schema() string { return c.ExtraMetadata["schema"] }

// LatestSchema is the internal schema of schema-on-read tables as JSON, or "".
func (c *CommitMetadata) LatestSchema() string { return c.ExtraMetadata["latest_schema"] }

// Commit returns what a commit, deltacommit or replacecommit recorded, archived ones too. For a pending instant that is
// what it planned to write. A file that is gone (rolled back or archived since the timeline was loaded) is
// storage.ErrNotExist.
func (t *Timeline) Commit(ctx context.Context, in Instant) (*CommitMetadata, error) {
	if in.State == Completed {
		return parsed(ctx, t, in, Completed, parseCommit)
	}
	return parsed(ctx, t, in, Inflight, parseCommit)
}

// CommitHead is Commit of a completed write without Stats and ReplacedFileIDs, which may be long.
func (t *Timeline) CommitHead(ctx context.Context, in Instant) (*CommitMetadata, error) {
	if t.config.Layout != 1 || in.Archived {
		return t.Commit(ctx, in) // no JSON, so everything is read anyway
	}
	return parsedOnly(ctx, t, in, Completed, []string{"operationType", "extraMetadata"}, parseCommit)
}

// BaseFile is the name of the base file that the completed write at an instant made of a file group, "" where the active
// timeline can't tell: the write is archived, or its commit file damaged.
func (t *Timeline) BaseFile(ctx context.Context, instant, partition, fileID string) (string, error) {
	for _, w := range t.instants {
		if w.Time != instant || !w.completedWrite() {
			continue
		}
		c, err := t.Commit(ctx, w)
		if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrUnsupported) || errors.Is(err, storage.ErrNotExist) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		for _, s := range c.Stats {
			name := path.Base(s.Path)
			if s.FileID == fileID && s.PartitionPath == partition && !strings.HasPrefix(name, ".") {
				return name, nil
			}
		}
	}
	return "", nil
}

func parseCommit(f *fields, rec any) CommitMetadata {
	c := CommitMetadata{
		OperationType: f.str(rec, "operationType"),
		ExtraMetadata: f.strTable(rec, "extraMetadata"),
	}
	stats := f.table(rec, "partitionToWriteStats")
	for _, partition := range sortedKeys(stats) {
		for _, stat := range f.items("partitionToWriteStats", stats[partition]) {
			c.Stats = append(c.Stats, parseWriteStat(f, partition, stat))
		}
	}
	replaced := f.table(rec, "partitionToReplaceFileIds")
	for partition, ids := range replaced {
		if c.ReplacedFileIDs == nil {
			c.ReplacedFileIDs = make(map[string][]string, len(replaced))
		}
		c.ReplacedFileIDs[partition] = f.texts("partitionToReplaceFileIds", f.items("partitionToReplaceFileIds", ids))
	}
	return c
}

func parseWriteStat(f *fields, partition string, stat any) WriteStat {
	s := WriteStat{
		PartitionPath:   partition,
		FileID:          f.str(stat, "fileId"),
		Path:            f.str(stat, "path"),
		PrevCommit:      f.str(stat, "prevCommit"),
		NumWrites:       f.num(stat, "numWrites"),
		NumInserts:      f.num(stat, "numInserts"),
		NumUpdateWrites: f.num(stat, "numUpdateWrites"),
		NumDeletes:      f.num(stat, "numDeletes"),
		FileSize:        f.num(stat, "fileSizeInBytes"),
		BaseFile:        f.str(stat, "baseFile"),
		LogFiles:        f.strs(stat, "logFiles"),
		LogOffset:       f.num(stat, "logOffset"),
		LogVersion:      f.num(stat, "logVersion"),
		CDCStats:        f.numTable(stat, "cdcStats"),
	}
	// Both become names of files and folders.
	if storage.CheckPath(partition) != nil {
		f.wrong("partitionToWriteStats", "a partition path", partition)
	}
	if strings.Contains(s.FileID, "/") || storage.CheckPath(s.FileID) != nil {
		f.wrong("fileId", "a file id", s.FileID)
	}
	// Hudi writes the word where there is no earlier version.
	if s.PrevCommit == "null" {
		s.PrevCommit = ""
	}
	return s
}
