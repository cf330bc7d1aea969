package timeline

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/storage"
)

func TestIsCommitted(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		yes   []string
		no    []string
	}{
		{"empty", nil, nil, []string{"0", "1"}},
		{"completed only counts", []string{"2.commit", "3.commit.requested"}, []string{"1", "2"}, []string{"3", "25", "4"}},
		{"nothing has completed", []string{"2.commit.requested", "3.clean"}, nil, []string{"1", "2", "3"}},
		{"a pending clustering is the head", []string{"2.replacecommit.requested", "4.commit"}, []string{"1", "4"}, []string{"2", "3"}},
		{"a pending compaction is the head", []string{"2.compaction.requested", "4.deltacommit"}, []string{"1", "4"}, []string{"2", "3"}},
		{"holes before a savepoint", []string{"2.commit", "2.savepoint", "5.commit"}, []string{"1", "2", "3", "4", "5"}, []string{"6"}},
		{"all are savepoints", []string{"2.commit", "2.savepoint"}, []string{"2"}, []string{"1", "3"}},
		{"a clean is no write", []string{"1.clean", "2.commit"}, []string{"1", "2"}, []string{"3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := files{}
			for _, name := range c.files {
				f[name] = ""
			}
			tl, _ := table(t, 6, f)
			for _, i := range c.yes {
				if !tl.IsCommitted(i) {
					t.Errorf("%s is not committed", i)
				}
			}
			for _, i := range c.no {
				if tl.IsCommitted(i) {
					t.Errorf("%s is committed", i)
				}
			}
		})
	}
}

func TestFirstPendingWrite(t *testing.T) {
	cluster := container(t, replacePlanSchema, map[string]any{"operationType": text("CLUSTER")})
	overwrite := container(t, replacePlanSchema, map[string]any{"operationType": text("INSERT_OVERWRITE")})
	for _, c := range []struct {
		name    string
		version int
		files   files
		want    string
	}{
		{"none", 6, files{"1.commit": ""}, ""},
		{"services do not count", 9, files{"1.compaction.requested": "", "2.logcompaction.inflight": "", "3.clustering.requested": ""}, ""},
		{"a deltacommit", 9, files{"1.compaction.requested": "", "2.deltacommit.inflight": "", "3.commit.requested": ""}, "2"},
		{"clustering of layout 1", 6, files{"1.replacecommit.requested": cluster, "2.inflight": ""}, "2"},
		{"overwrite of layout 1", 6, files{"1.replacecommit.requested": overwrite, "2.inflight": ""}, "1"},
		{"an empty plan", 6, files{"1.replacecommit.requested": ""}, "1"},
		{"a damaged plan", 6, files{"1.replacecommit.requested": "Obj\x01"}, "1"},
		{"cleans do not count", 6, files{"1.clean.requested": "", "2.rollback.inflight": ""}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl, _ := table(t, c.version, c.files)
			if done, all := len(tl.CompletedWrites()), len(tl.Writes()); all < done || c.want != "" && all == done {
				t.Errorf("%d of %d writes have completed", done, all)
			}
			in, ok, err := tl.FirstPendingWrite(t.Context())
			if err != nil || in.Time != c.want || ok != (c.want != "") {
				t.Errorf("got %q, %v, %v, want %q", in.Time, ok, err, c.want)
			}
		})
	}
}

func TestFirstPendingWriteNeedsTheStore(t *testing.T) {
	tl, m := table(t, 6, files{"1.replacecommit.requested": "x"})
	m.Remove(".hoodie/1.replacecommit.requested")
	if _, _, err := tl.FirstPendingWrite(t.Context()); !errors.Is(err, storage.ErrNotExist) {
		t.Errorf("got %v, want ErrNotExist", err)
	}
}

func TestReplaced(t *testing.T) {
	tl, _ := table(t, 6, files{
		"1.replacecommit":          `{"partitionToReplaceFileIds":{"p":["a","b"],"":["c"]}}`,
		"2.replacecommit":          `{"partitionToReplaceFileIds":{"p":["b"]}}`,
		"3.replacecommit":          "",
		"4.replacecommit.inflight": `{"partitionToReplaceFileIds":{"p":["d"]}}`,
		"5.commit":                 "garbage",
	})
	want := map[FileGroup]string{{"p", "a"}: "1", {"p", "b"}: "2", {"", "c"}: "1"}
	for range 2 {
		if got, err := tl.Replaced(t.Context()); err != nil || !maps.Equal(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
	damaged, _ := table(t, 6, files{"1.replacecommit": "garbage"})
	if _, err := damaged.Replaced(t.Context()); !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v, want ErrCorrupt", err)
	}
}

func TestEarliestRetained(t *testing.T) {
	clean := func(earliest string) string {
		return container(t, cleanSchema, map[string]any{"earliestCommitToRetain": earliest})
	}
	for _, c := range []struct {
		name  string
		files files
		want  string
	}{
		{"never cleaned", files{"1.commit": ""}, ""},
		{"the last one", files{"2.clean": clean("1"), "4.clean": clean("3"), "5.clean.requested": ""}, "3"},
		{"versions", files{"2.clean": clean("1"), "4.clean": clean("")}, ""},
		{"empty", files{"4.clean": ""}, ""},
	} {
		tl, _ := table(t, 6, c.files)
		if got, err := tl.EarliestRetained(t.Context()); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestRefresh(t *testing.T) {
	first, m := table(t, 9, files{"1_2.commit": `{"operationType":"UPSERT"}`})
	same, err := first.Refresh(t.Context())
	if err != nil || same != first {
		t.Fatalf("got %p, %v, want %p", same, err, first)
	}
	commit, err := first.Commit(t.Context(), first.Instants()[0])
	if err != nil {
		t.Fatal(err)
	}
	m.Put(".hoodie/timeline/3.commit.requested", nil)
	m.Put(".hoodie/timeline/foreign", nil)
	second, err := first.Refresh(t.Context())
	if err != nil || second == first || second.Fingerprint() == first.Fingerprint() {
		t.Fatalf("got the same timeline, %v", err)
	}
	if got := names(second.Instants()); !slices.Equal(got, []string{"1 commit completed 2", "3 commit requested"}) {
		t.Errorf("got %q", got)
	}
	if got := names(first.Instants()); len(got) != 1 {
		t.Errorf("the first timeline changed: %q", got)
	}
	if again, err := second.Commit(t.Context(), second.Instants()[0]); err != nil || again != commit {
		t.Errorf("parsed again, %v", err)
	}
	if third, err := loadTable(t, m).Refresh(t.Context()); err != nil || third.Fingerprint() != second.Fingerprint() {
		t.Errorf("equal listings have different fingerprints, %v", err)
	}
}

func TestSchemaAt(t *testing.T) {
	f := files{
		"1.commit":           "garbage",
		"2.commit":           `{"operationType":"UPSERT","extraMetadata":{"schema":"two"}}`,
		"3.commit":           `{"operationType":null,"extraMetadata":{"schema":"three"}}`,
		"4.commit":           `{"operationType":"COMPACT","extraMetadata":{"schema":"stale"}}`,
		"5.replacecommit":    `{"operationType":"CLUSTER","extraMetadata":{"schema":"stale"}}`,
		"6.commit":           `{"operationType":"UPSERT","extraMetadata":{"schema":""}}`,
		"7.deltacommit":      "",
		"8.commit.requested": `{"extraMetadata":{"schema":"pending"}}`,
		"9.savepoint":        "garbage",
	}
	tl, _ := table(t, 6, f)
	for q, want := range map[string]string{"": "three 3", "9": "three 3", "3": "three 3", "25": "two 2", "2": "two 2", "0": " "} {
		if schema, source, err := tl.SchemaAt(t.Context(), q); err != nil || schema+" "+source != want {
			t.Errorf("SchemaAt(%q) = %q, %q, %v, want %q", q, schema, source, err, want)
		}
	}
	if _, _, err := tl.SchemaAt(t.Context(), "1"); !errors.Is(err, ErrCorrupt) {
		t.Errorf("SchemaAt(1): got %v, want ErrCorrupt", err)
	}
}

func TestSchemaAtOtherSources(t *testing.T) {
	f := files{
		"/" + propertiesFile: propertiesText("hoodie.table.version=6", `hoodie.table.create.schema={"type"\:"record"}`),
		"8.commit":           "",
	}
	tl, _ := table(t, 6, f)
	schema, source, err := tl.SchemaAt(t.Context(), "")
	if err != nil || schema != `{"type":"record"}` || source != CreateSchemaSource {
		t.Errorf("got %q, %q, %v", schema, source, err)
	}
	f["/.hoodie/archived/.commits_.archive.1_1-0-1"] = archiveBlockBytes(t, entry("5", "commit", "COMPLETED", "archived"))
	tl, _ = table(t, 6, f)
	schema, source, err = tl.SchemaAt(t.Context(), "")
	if err != nil || schema != "archived" || source != "5" {
		t.Errorf("got %q, %q, %v", schema, source, err)
	}
}

func TestCommitLayout1(t *testing.T) {
	tl, _ := table(t, 6, files{"1.deltacommit": `
	{"partitionToWriteStats":{"q":[{"fileId":"c"}],"p":[
		{"fileId":"a","path":"p/.a_1.log.2_1-0-1","prevCommit":"1","numWrites":3,"numInserts":1,"numUpdateWrites":2,"numDeletes":4,
		 "fileSizeInBytes":99,"logVersion":2,"logOffset":7,"baseFile":"a_0-0-0_1.parquet","logFiles":[".a_1.log.2_1-0-1",".a_1.log.1_1-0-1"],
		 "cdcStats":{"p/x.cdc":5},"recordsStats":{"val":{}},"tempPath":null,"fileIdAndRelativePaths":{}},
		{"fileId":"b","prevCommit":"null","cdcStats":null,"logFiles":null}]},
	 "compacted":false,"extraMetadata":{"schema":"s","latest_schema":"l","none":null},"operationType":"UPSERT","totalRecordsDeleted":0,
	 "partitionToReplaceFileIds":{"p":["x","y"]}}`})
	got, err := tl.Commit(t.Context(), tl.Instants()[0])
	if err != nil {
		t.Fatal(err)
	}
	want := &CommitMetadata{
		OperationType: "UPSERT",
		Stats: []WriteStat{
			{
				PartitionPath: "p", FileID: "a", Path: "p/.a_1.log.2_1-0-1", PrevCommit: "1", NumWrites: 3, NumInserts: 1, NumUpdateWrites: 2,
				NumDeletes: 4, FileSize: 99, LogVersion: 2, LogOffset: 7, BaseFile: "a_0-0-0_1.parquet",
				LogFiles: []string{".a_1.log.2_1-0-1", ".a_1.log.1_1-0-1"}, CDCStats: map[string]int64{"p/x.cdc": 5},
			},
			{PartitionPath: "p", FileID: "b"},
			{PartitionPath: "q", FileID: "c"},
		},
		ExtraMetadata:   map[string]string{"schema": "s", "latest_schema": "l"},
		ReplacedFileIDs: map[string][]string{"p": {"x", "y"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got.Schema() != "s" || got.LatestSchema() != "l" {
		t.Errorf("schemas %q, %q", got.Schema(), got.LatestSchema())
	}
}

func TestCommitDamage(t *testing.T) {
	for _, c := range []struct {
		name, data string
		offset     int64
	}{
		{"garbage", "garbage", 0},
		{"no JSON", "{this is not json", 2},
		{"torn JSON", `{"operationType":"UPS`, 21},
		{"two objects", "{}{}", 3},
		{"a number for a string", `{"operationType":5}`, -1},
		{"text for stats", `{"partitionToWriteStats":{"p":"x"}}`, -1},
		{"a fraction", `{"partitionToWriteStats":{"p":[{"numWrites":1.5}]}}`, -1},
		{"torn container", "Obj\x01\x02\x16avro.sch", 6},
		{"no schema", "Obj\x01\x000123456789abcdef", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl, _ := table(t, 6, files{"1.commit": c.data, "2.commit": "{}"})
			_, err := tl.Commit(t.Context(), tl.Instants()[0])
			corrupt, ok := errors.AsType[*CorruptError](err)
			if !ok || corrupt.File != ".hoodie/1.commit" || corrupt.Offset != c.offset || !errors.Is(err, ErrCorrupt) {
				t.Errorf("got %v, want a CorruptError at byte %d", err, c.offset)
			}
			if _, err := tl.Commit(t.Context(), tl.Instants()[1]); err != nil {
				t.Errorf("the other commit: %v", err)
			}
		})
	}
}

func TestCompletionTime(t *testing.T) {
	tl, _ := table(t, 9, files{
		"/.hoodie/timeline/history/_version_":     "3",
		"/.hoodie/timeline/history/manifest_3":    `{"files":[{"fileName":"1_4_0.parquet","fileLen":1}]}`,
		"/.hoodie/timeline/history/1_4_0.parquet": historyBytes(t, historyTestRow{Time: "1", Completed: "15", Action: "commit"}, historyTestRow{Time: "2", Completed: "3", Action: "clean"}),
		"5_9.deltacommit":                         "", "6.deltacommit.inflight": "", "7_8.clean": "",
	})
	for i, want := range map[string]string{"0": "0", "1": "15", "2": "", "3": "", "5": "9", "6": "", "7": "", "8": ""} {
		got, ok, err := tl.CompletionTime(t.Context(), i)
		if err != nil || got != want || ok != (want != "") {
			t.Errorf("CompletionTime(%s) = %q, %v, %v, want %q", i, got, ok, err, want)
		}
	}
	old, _ := table(t, 6, files{"5.deltacommit": "", "6.deltacommit.inflight": ""})
	for i, want := range map[string]bool{"4": true, "5": true, "6": false} {
		if got, ok, err := old.CompletionTime(t.Context(), i); err != nil || ok != want || ok && got != i {
			t.Errorf("layout 1: CompletionTime(%s) = %q, %v, %v, want %v", i, got, ok, err, want)
		}
	}
}

func TestMissingTimelineFolder(t *testing.T) {
	tl, _ := table(t, 9, nil)
	if history, err := tl.History(t.Context()); err != nil || len(history)+len(tl.Instants()) != 0 {
		t.Errorf("got %v, %v, want nothing", history, err)
	}
}

func TestLoadCancelled(t *testing.T) {
	tl, _ := table(t, 9, files{"1_2.commit": "{}"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tl.Refresh(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Refresh: got %v", err)
	}
	if _, err := tl.History(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("History: got %v", err)
	}
	if _, err := tl.History(t.Context()); err != nil {
		t.Errorf("a failure was remembered: %v", err)
	}
}

// An upgrade, or the way back, moves the timeline before it changes the properties.
func TestMoving(t *testing.T) {
	for _, c := range []struct {
		name    string
		version int
		files   files
		moving  bool
	}{
		{"layout 1", 6, files{"1.commit": ""}, false},
		{"layout 1, an empty folder", 6, files{"1.commit": "", "/.hoodie/timeline/history/x": ""}, false},
		{"layout 1, the first file has been moved", 6, files{"1.commit": "", "2.commit": "", "/.hoodie/timeline/1.commit.requested": ""}, true},
		{"layout 1, nothing is left", 6, files{"/.hoodie/timeline/1_2.commit": ""}, true},
		{"layout 2", 9, files{"1_2.commit": "", "/.hoodie/x.commit": ""}, false},
		{"layout 2, going back", 9, files{"1_2.commit": "", "/.hoodie/1.commit": ""}, true},
	} {
		_, m := table(t, c.version, nil)
		for name, data := range c.files {
			folder := map[int]string{6: ".hoodie/", 9: ".hoodie/timeline/"}[c.version]
			if full, ok := strings.CutPrefix(name, "/"); ok {
				folder, name = "", full
			}
			m.Put(folder+name, []byte(data))
		}
		config, err := LoadConfig(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Load(t.Context(), m, config); errors.Is(err, ErrMoving) != c.moving || !c.moving && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	config := &Config{Layout: 2, TimelinePath: MetaFolder}
	if _, err := Load(t.Context(), mem(files{".hoodie/1.commit": "", ".hoodie/1_2.commit": ""}), config); err != nil {
		t.Errorf("a timeline that lies where layout 1 has it: %v", err)
	}
}
