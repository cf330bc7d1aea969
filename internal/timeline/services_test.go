package timeline

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// realFile returns an instant file that Hudi wrote: 0.15.0 those of v6, 1.1.1 those of v9.
func realFile(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// only loads a table with one instant.
func only(t *testing.T, version int, name, data string) (*Timeline, Instant) {
	t.Helper()
	tl, _ := table(t, version, files{name: data})
	if n := len(tl.Instants()); n != 1 {
		t.Fatalf("%d instants", n)
	}
	return tl, tl.Instants()[0]
}

// check compares what a method for the content of an instant returns.
func check[T any](t *testing.T, got *T, err error, want T) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("got  %+v\nwant %+v", *got, want)
	}
}

func TestRealCommits(t *testing.T) {
	tl, in := only(t, 6, "20261130011846913.deltacommit", realFile(t, "v6.deltacommit"))
	c, err := tl.Commit(t.Context(), in)
	if err != nil || c.OperationType != "UPSERT" || len(c.Stats) != 2 || c.Schema() == "" {
		t.Fatalf("got %+v, %v", c, err)
	}
	check(t, &c.Stats[1], nil, WriteStat{
		PartitionPath: "dt=d1", FileID: "297a6b02-e2b6-49a8-9e7c-bd81f72a4e2d-0",
		Path:       "dt=d1/.297a6b02-e2b6-49a8-9e7c-bd81f72a4e2d-0_20261130011845272.log.1_0-537-521",
		PrevCommit: "20261130011845272", NumWrites: 1, NumUpdateWrites: 1, FileSize: 1376, LogVersion: 1,
		BaseFile: "297a6b02-e2b6-49a8-9e7c-bd81f72a4e2d-0_0-519-504_20261130011845272.parquet",
		LogFiles: []string{".297a6b02-e2b6-49a8-9e7c-bd81f72a4e2d-0_20261130011845272.log.1_0-537-521"},
	})

	tl, in = only(t, 9, "20261130005203565_20261130005205000.deltacommit", realFile(t, "v9.deltacommit"))
	c, err = tl.Commit(t.Context(), in)
	if err != nil || c.OperationType != "UPSERT" || len(c.Stats) != 2 || c.Schema() == "" {
		t.Fatalf("got %+v, %v", c, err)
	}
	check(t, &c.Stats[0], nil, WriteStat{
		PartitionPath: "dt=d0", FileID: "10ded36c-8c46-4833-92eb-f31b8f889b08-0",
		Path:       "dt=d0/.10ded36c-8c46-4833-92eb-f31b8f889b08-0_20261130005203565.log.1_1-220-280",
		PrevCommit: "20261130005203565", NumWrites: 2, NumUpdateWrites: 2, FileSize: 1787, LogVersion: 1,
		LogFiles: []string{".10ded36c-8c46-4833-92eb-f31b8f889b08-0_20261130005203565.log.1_1-220-280"},
	})
}

func TestRealReplaceCommit(t *testing.T) {
	tl, _ := only(t, 9, "20261130005414640_20261130005417000.replacecommit", realFile(t, "v9.replacecommit"))
	replaced, err := tl.Replaced(t.Context())
	if err != nil || len(replaced) != 7 || replaced[FileGroup{"dt=d1", "d2c4f055-34bb-4cfe-b3ea-065dbce7f738-0"}] != "20261130005414640" {
		t.Errorf("got %v, %v", replaced, err)
	}
}

func TestRealCompactionPlan(t *testing.T) {
	tl, _ := table(t, 9, files{"20261130020600288.compaction.requested": realFile(t, "v9.compaction.requested"), "3.logcompaction.requested": "garbage"})
	pending, err := tl.PendingCompactions(t.Context())
	if err != nil || len(pending) != 1 || pending[0].Instant.Time != "20261130020600288" || len(pending[0].Plan.Operations) != 2 {
		t.Fatalf("got %+v, %v", pending, err)
	}
	check(t, &pending[0].Plan.Operations[0], nil, CompactionOperation{
		Partition: "dt=d0", FileID: "7f611c24-87db-4004-84e2-9837da72083d-0", BaseInstant: "20261130020551569",
		BaseFile: "7f611c24-87db-4004-84e2-9837da72083d-0_1-3-4_20261130020551569.parquet",
		LogFiles: []string{
			".7f611c24-87db-4004-84e2-9837da72083d-0_20261130020556666.log.1_1-19-19",
			".7f611c24-87db-4004-84e2-9837da72083d-0_20261130020559024.log.1_1-39-35",
		},
	})
}

func TestRealClusteringPlan(t *testing.T) {
	tl, in := only(t, 6, "20261130015117476.replacecommit.requested", realFile(t, "v6.replacecommit.requested"))
	if _, pending, err := tl.FirstPendingWrite(t.Context()); pending || err != nil {
		t.Errorf("a pending clustering counts as a pending write, %v", err)
	}
	plan, err := tl.ReplacePlan(t.Context(), in)
	if err != nil || plan.OperationType != "CLUSTER" || len(plan.Slices) != 4 {
		t.Fatalf("got %+v, %v", plan, err)
	}
	check(t, &plan.Slices[3], nil, ClusteringSlice{
		Partition: "dt=d1", FileID: "d973b4ca-7b76-49cf-83b6-fc203d972638-0",
		BaseFile: "file:/data/hub/corpus/work_a/v6_cow_cluster/dt=d1/d973b4ca-7b76-49cf-83b6-fc203d972638-0_0-1295-1721_20261130015115091.parquet",
	})
}

func TestRealClean(t *testing.T) {
	tl, in := only(t, 6, "20261130013107291.clean", realFile(t, "v6.clean"))
	c, err := tl.Clean(t.Context(), in)
	check(t, c, err, CleanMetadata{
		EarliestRetained: "20261130013106709", LastCompleted: "20261130013106709",
		Partitions: map[string]CleanedPartition{"dt=d0": {
			Policy:  "KEEP_LATEST_COMMITS",
			Deleted: []string{"6ac2d2ab-7b76-49ed-9169-8d9c3a9b10d5-0_0-3105-3523_20261130013103408.parquet"},
		}},
	})
}

func TestRealRollback(t *testing.T) {
	tl, in := only(t, 6, "20261130012203951.rollback", realFile(t, "v6.rollback"))
	r, err := tl.Rollback(t.Context(), in)
	const base = "/data/hub/corpus/work_a/v6_mor_rollback/"
	check(t, r, err, RollbackMetadata{
		Instants: []InstantName{{"20261130012127419", ActionDeltaCommit}},
		Partitions: map[string]RolledBackPartition{
			"dt=d0": {RollbackLogs: map[string]int64{"file:" + base + "dt=d0/.85d91c66-e7d8-4061-a302-17c75af1553a-0_20261130012117382.log.3_1-0-1": 105}},
			"dt=d1": {Deleted: []string{base + "dt=d1/cb5a6502-4dda-4c4c-bfe1-aa1969461290-0_1-1088-1126_20261130012127419.parquet"}, RollbackLogs: map[string]int64{}},
		},
	})
}

func TestRealRestore(t *testing.T) {
	tl, in := only(t, 9, "20261130014208232_20261130014208850.restore", realFile(t, "v9.restore"))
	r, err := tl.Restore(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	check(t, &r.Instants, nil, []InstantName{{"20261130014207130", ActionDeltaCommit}, {"20261130014206054", ActionDeltaCommit}})
	if len(r.Rollbacks) != 2 || len(r.Rollbacks["20261130014206054"]) != 1 {
		t.Fatalf("got %+v", r.Rollbacks)
	}
	check(t, &r.Rollbacks["20261130014206054"][0].Instants, nil, []InstantName{{"20261130014206054", ActionDeltaCommit}})
}

func TestRealSavepoint(t *testing.T) {
	tl, _ := table(t, 9, files{"20261130014203354_20261130014205888.savepoint": realFile(t, "v9.savepoint"), "3.savepoint.inflight": ""})
	savepoints := tl.Savepoints()
	if len(savepoints) != 1 {
		t.Fatalf("got %q", names(savepoints))
	}
	s, err := tl.Savepoint(t.Context(), savepoints[0])
	if err != nil || s.At == 0 || len(s.Files) == 0 || len(s.Files["dt=d0"]) == 0 {
		t.Errorf("got %+v, %v", s, err)
	}
}

// Releases before 0.6 recorded the times of what they undid, without the actions.
func TestOldRollbackAndRestore(t *testing.T) {
	tl, in := only(t, 6, "3.rollback", `{"commitsRollback":["1","2"],"partitionMetadata":{"p":{"rollbackLogFiles":null}}}`)
	r, err := tl.Rollback(t.Context(), in)
	check(t, r, err, RollbackMetadata{Instants: []InstantName{{Time: "1"}, {Time: "2"}}, Partitions: map[string]RolledBackPartition{"p": {}}})
	tl, in = only(t, 6, "3.restore", `{"instantsToRollback":["1"]}`)
	restore, err := tl.Restore(t.Context(), in)
	check(t, restore, err, RestoreMetadata{Instants: []InstantName{{Time: "1"}}, Rollbacks: map[string][]RollbackMetadata{}})
}

func TestWrongTypes(t *testing.T) {
	for _, data := range []string{
		`{"earliestCommitToRetain":1}`, `{"partitionMetadata":[]}`, `{"partitionMetadata":{"p":{"isPartitionDeleted":"yes"}}}`,
		`{"partitionMetadata":{"p":{"successDeleteFiles":"x"}}}`, `{"partitionMetadata":{"p":{"successDeleteFiles":[1]}}}`,
	} {
		tl, in := only(t, 6, "1.clean", data)
		if _, err := tl.Clean(t.Context(), in); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: got %v, want ErrCorrupt", data, err)
		}
	}
	for _, data := range []string{`{"extraMetadata":{"k":1}}`, `{"partitionToWriteStats":{"p":[{"cdcStats":{"k":"v"}}]}}`, `{"partitionToWriteStats":{"p":[{"logOffset":99999999999999999999}]}}`} {
		tl, in := only(t, 6, "1.commit", data)
		if _, err := tl.Commit(t.Context(), in); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: got %v, want ErrCorrupt", data, err)
		}
	}
}

// Hudi makes a file before it writes into it: what is read of it in between is not what it says.
func TestContentThatComesLater(t *testing.T) {
	tl, m := table(t, 6, files{"1.clean.requested": "", "2.commit": "{}"})
	clean := tl.Instants()[0]
	if got, err := tl.Removed(t.Context(), clean); err != nil || len(got) > 0 {
		t.Errorf("of an empty plan: %v, %v", got, err)
	}
	m.Put(".hoodie/1.clean.requested", []byte(`{"filesToBeDeletedPerPartition":{"p":["a"]}}`))
	if got, err := tl.Removed(t.Context(), clean); err != nil || len(got["p"]) != 1 {
		t.Errorf("of the plan that was written since: %v, %v", got, err)
	}
}
