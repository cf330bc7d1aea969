package changes_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hudifs/hudifs/internal/changes"
	"github.com/hudifs/hudifs/internal/timeline"
)

const (
	base1 = "p/f1-0_0-1-2_20260101000000001.parquet"
	base2 = "p/f1-0_0-5-9_20260101000000002.parquet"
	log1  = ".f1-0_20260101000000002.log.1_0-3-4"
	log2  = ".f1-0_20260101000000003.log.1_0-5-6"
)

func TestInfer(t *testing.T) {
	group := timeline.FileGroup{Partition: "p", FileID: "f1-0"}
	for _, c := range []struct {
		name      string
		operation string
		stat      timeline.WriteStat
		want      changes.Step
	}{
		{
			"a new file group", "UPSERT",
			timeline.WriteStat{Path: base1, NumWrites: 3, NumInserts: 3},
			changes.Step{Kind: changes.Inserted, Path: base1},
		},
		{
			"a new file group with deletes of rows that never were", "UPSERT",
			timeline.WriteStat{Path: base1, NumWrites: 2, NumInserts: 3, NumDeletes: 1},
			changes.Step{Kind: changes.Inserted, Path: base1},
		},
		{
			"a new file group in an upsert of updates alone", "UPSERT",
			timeline.WriteStat{Path: base1, NumWrites: 2, NumUpdateWrites: 2},
			changes.Step{Kind: changes.Inserted, Path: base1},
		},
		{
			"a change log", "UPSERT",
			timeline.WriteStat{Path: base2, PrevCommit: "1", NumWrites: 3, NumUpdateWrites: 1, CDCStats: map[string]int64{"p/.f1-0_2.log.1_0-5-9.cdc": 7}},
			changes.Step{Kind: changes.Logged, Path: base2, Previous: "1", Logs: []string{"p/.f1-0_2.log.1_0-5-9.cdc"}},
		},
		{
			"change logs in their order", "DELETE",
			timeline.WriteStat{Path: base2, PrevCommit: "1", NumDeletes: 3, CDCStats: map[string]int64{
				"p/.f1-0_2.log.10_0-5-9.cdc": 7, "p/.f1-0_2.log.9_0-5-9.cdc": 7, "p/.f1-0_2.log.1_0-5-9.cdc": 7,
			}},
			changes.Step{Kind: changes.Logged, Path: base2, Previous: "1", Logs: []string{
				"p/.f1-0_2.log.1_0-5-9.cdc", "p/.f1-0_2.log.9_0-5-9.cdc", "p/.f1-0_2.log.10_0-5-9.cdc",
			}},
		},
		{
			"nothing left", "DELETE",
			timeline.WriteStat{Path: base2, PrevCommit: "1", NumDeletes: 3},
			changes.Step{Kind: changes.Emptied, Path: base2, Previous: "1"},
		},
		{
			"nothing left of prepared deletes", "DELETE_PREPPED",
			timeline.WriteStat{Path: base2, PrevCommit: "1", NumDeletes: 3},
			changes.Step{Kind: changes.Emptied, Path: base2, Previous: "1"},
		},
		{
			"updates that all lost", "UPSERT",
			timeline.WriteStat{Path: base2, PrevCommit: "1", NumWrites: 3, NumUpdateWrites: 1},
			changes.Step{Kind: changes.Rewritten, Path: base2, Previous: "1"},
		},
		{
			"inserts beside rows that were there", "INSERT",
			timeline.WriteStat{Path: base2, PrevCommit: "1", NumWrites: 3, NumInserts: 1},
			changes.Step{Kind: changes.Rewritten, Path: base2, Previous: "1"},
		},
		{
			"a log file", "UPSERT",
			timeline.WriteStat{
				Path: "p/" + log2, PrevCommit: "1", NumWrites: 2, NumUpdateWrites: 2, BaseFile: "f1-0_0-1-2_1.parquet",
				LogFiles: []string{log2, ".f1-0_1.log.1_0-7-7.cdc", log1},
			},
			changes.Step{Kind: changes.Appended, Path: "p/" + log2, Previous: "1", Base: "f1-0_0-1-2_1.parquet", Earlier: []string{log1}},
		},
		{
			"a log file of deletes", "DELETE",
			timeline.WriteStat{Path: "p/" + log1, PrevCommit: "1", NumDeletes: 2, LogFiles: []string{log1}},
			changes.Step{Kind: changes.Appended, Path: "p/" + log1, Previous: "1", Earlier: []string{}},
		},
		{
			"the new files of an overwrite", "INSERT_OVERWRITE",
			timeline.WriteStat{Path: base1, NumWrites: 3, NumInserts: 3},
			changes.Step{Kind: changes.Inserted, Path: base1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.stat.FileID, c.stat.PartitionPath = group.FileID, group.Partition
			c.want.Group, c.want.Instant = group, "2"
			got := changes.Infer("2", "OP_KEY_ONLY", &timeline.CommitMetadata{OperationType: c.operation, Stats: []timeline.WriteStat{c.stat}})
			if d := cmp.Diff([]changes.Step{c.want}, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestInferNothing(t *testing.T) {
	stat := timeline.WriteStat{FileID: "f", Path: base1, NumWrites: 3, NumInserts: 3}
	for _, operation := range []string{"COMPACT", "LOG_COMPACT", "CLUSTER", "ALTER_SCHEMA", "INDEX", "UNKNOWN", ""} {
		m := &timeline.CommitMetadata{OperationType: operation, Stats: []timeline.WriteStat{stat}, ReplacedFileIDs: map[string][]string{"p": {"g"}}}
		if got := changes.Infer("2", "OP_KEY_ONLY", m); got != nil {
			t.Errorf("%q: %v, want nothing", operation, got)
		}
	}
	empty := &timeline.CommitMetadata{OperationType: "UPSERT", Stats: []timeline.WriteStat{{FileID: "f"}}}
	if got := changes.Infer("2", "OP_KEY_ONLY", empty); got != nil {
		t.Errorf("a write of no file: %v, want nothing", got)
	}
}

func TestInferReplaced(t *testing.T) {
	m := &timeline.CommitMetadata{OperationType: "DELETE_PARTITION", ReplacedFileIDs: map[string][]string{"q": {"f3"}, "p": {"f2", "f1"}}}
	var want []changes.Step
	for _, g := range []timeline.FileGroup{{Partition: "p", FileID: "f2"}, {Partition: "p", FileID: "f1"}, {Partition: "q", FileID: "f3"}} {
		want = append(want, changes.Step{Group: g, Instant: "2", Kind: changes.Removed})
	}
	if d := cmp.Diff(want, changes.Infer("2", "OP_KEY_ONLY", m)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestInferNeeded holds that a change log with images needs no files for them: the cleaner may have removed them.
func TestInferNeeded(t *testing.T) {
	stat := timeline.WriteStat{Path: base2, PrevCommit: "1", NumWrites: 3, NumUpdateWrites: 1, CDCStats: map[string]int64{"p/.f1-0_2.log.1_0-5-9.cdc": 7}}
	for mode, want := range map[string][]string{
		"OP_KEY_ONLY":       {"f1-0_0-5-9_20260101000000002.parquet", ".f1-0_2.log.1_0-5-9.cdc", "1"},
		"DATA_BEFORE":       {"f1-0_0-5-9_20260101000000002.parquet", ".f1-0_2.log.1_0-5-9.cdc", ""},
		"DATA_BEFORE_AFTER": {".f1-0_2.log.1_0-5-9.cdc", ""},
	} {
		steps := changes.Infer("2", mode, &timeline.CommitMetadata{OperationType: "UPSERT", Stats: []timeline.WriteStat{stat}})
		if len(steps) != 1 {
			t.Fatalf("%s: %d steps", mode, len(steps))
		}
		if d := cmp.Diff(want, append(steps[0].Files(), steps[0].Previous)); d != "" {
			t.Errorf("%s: -want +got:\n%s", mode, d)
		}
	}
}
