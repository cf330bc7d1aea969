package timeline

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/storage/storagetest"
)

const (
	oldArchive = "/.hoodie/archived/.commits_.archive."
	newArchive = "/.hoodie/timeline/history/"
)

func TestHistoryLayout1(t *testing.T) {
	block := func(entries ...map[string]any) string { return archiveBlockBytes(t, entries...) }
	first := block(
		entry("1", "commit", "REQUESTED", ""), entry("1", "commit", "INFLIGHT", ""), entry("1", "commit", "COMPLETED", "one"),
		entry("2", "compaction", "REQUESTED", ""), entry("2", "commit", "COMPLETED", "two"))
	for _, c := range []struct {
		name  string
		files files
		want  []string
	}{
		{"no folder", files{}, []string{"5 commit completed"}},
		{"states", files{oldArchive + "1_1-0-1": first}, []string{"1 commit completed archived", "2 commit completed archived", "5 commit completed"}},
		{
			"several blocks and files",
			files{oldArchive + "1_1-0-1": first + block(entry("3", "clean", "COMPLETED", "")), oldArchive + "10_1-0-1": block(entry("0", "deltacommit", "COMPLETED", ""))},
			[]string{"0 deltacommit completed archived", "1 commit completed archived", "2 commit completed archived", "3 clean completed archived", "5 commit completed"},
		},
		{
			"the same twice, and still active",
			files{oldArchive + "1_1-0-1": first, oldArchive + "2_1-0-1": first + block(entry("5", "commit", "COMPLETED", ""))},
			[]string{"1 commit completed archived", "2 commit completed archived", "5 commit completed"},
		},
		{
			"a torn tail",
			files{oldArchive + "1_1-0-1": first + first[:100]},
			[]string{"1 commit completed archived", "2 commit completed archived", "5 commit completed"},
		},
		{"foreign files", files{oldArchive + "1_1-0-1.crc": "x", "/.hoodie/archived/x": "x", "/.hoodie/archived/.other_.archive.1_1-0-1": "x"}, []string{"5 commit completed"}},
		{"an unknown action", files{oldArchive + "1_1-0-1": block(entry("1", "dance", "COMPLETED", ""))}, []string{"5 commit completed"}},
		{
			"a merge under way",
			files{
				oldArchive + "1_1-0-1": first, oldArchive + "2_1-0-1": "half written",
				"/.hoodie/archived/mergeArchivePlan": container(t, `{"type":"record","name":"P","fields":[{"name":"mergedArchiveFileName","type":["null","string"]}]}`,
					map[string]any{"mergedArchiveFileName": text(".commits_.archive.2_1-0-1")}),
			},
			[]string{"1 commit completed archived", "2 commit completed archived", "5 commit completed"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := files{"5.commit": "{}", "6.commit.requested": ""}
			maps.Copy(f, c.files)
			tl, _ := table(t, 6, f)
			got, err := tl.History(t.Context())
			if err != nil || !slices.Equal(names(got), c.want) {
				t.Errorf("got %q, %v, want %q", names(got), err, c.want)
			}
		})
	}
}

func TestArchivedContentLayout1(t *testing.T) {
	tl, m := table(t, 6, files{oldArchive + "1_1-0-1": archiveBlockBytes(t, entry("1", "commit", "COMPLETED", "one"), entry("2", "commit", "COMPLETED", "two"),
		entry("3", "compaction", "COMPLETED", "three"), entry("4", "restore", "COMPLETED", ""), entry("5", "commit", "COMPLETED", ""))})
	history, err := tl.History(t.Context())
	if err != nil || len(history) != 5 {
		t.Fatalf("got %q, %v", names(history), err)
	}
	for i, want := range map[int]string{0: "one", 1: "two", 2: "three", 4: ""} {
		if c, err := tl.Commit(t.Context(), history[i]); err != nil || c.Schema() != want {
			t.Errorf("commit %d: got %v, %v, want %q", i+1, c, err, want)
		}
	}
	if _, err := tl.Restore(t.Context(), history[3]); !errors.Is(err, ErrUnsupported) {
		t.Errorf("restore: got %v, want ErrUnsupported", err)
	}
	if _, err := tl.CompactionPlan(t.Context(), history[2]); !errors.Is(err, ErrUnsupported) {
		t.Errorf("plan: got %v, want ErrUnsupported", err)
	}
	m.Remove(".hoodie/archived")
	if _, err := tl.Commit(t.Context(), history[0]); err != nil {
		t.Errorf("the memo does not remember: %v", err)
	}
}

func TestArchiveDamageLayout1(t *testing.T) {
	good := archiveBlockBytes(t, entry("1", "commit", "COMPLETED", "one"))
	content := strings.Index(good, entrySchema) + len(entrySchema) + 8
	for name, data := range map[string]string{
		"garbage":       "garbage",
		"no Avro":       strings.Replace(good, entrySchema, strings.Repeat(" ", len(entrySchema)), 1),
		"record length": good[:content+8] + "\x7f\xff\xff\xff" + good[content+12:],
		"union branch":  good[:content+12] + "\x7e" + good[content+13:],
		"schema":        strings.Replace(good, `"record"`, `"xecord"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			tl, _ := table(t, 6, files{oldArchive + "1_1-0-1": data, "5.commit": "{}"})
			_, err := tl.History(t.Context())
			if corrupt, ok := errors.AsType[*CorruptError](err); !ok || !strings.HasSuffix(corrupt.File, ".archive.1_1-0-1") {
				t.Errorf("got %v, want a CorruptError", err)
			}
			if !tl.IsCommitted("5") || len(tl.CompletedWrites()) != 1 {
				t.Error("the active timeline is harmed")
			}
		})
	}
}

func TestHistoryLayout2(t *testing.T) {
	a := historyBytes(t, historyTestRow{Time: "1", Completed: "2", Action: "commit", Metadata: []byte(`{"operationType":"INSERT"}`)}, historyTestRow{Time: "3", Completed: "4", Action: "commit", Plan: []byte("x")})
	b := historyBytes(t, historyTestRow{Time: "3", Completed: "4", Action: "commit"}, historyTestRow{Time: "5", Completed: "6", Action: "commit"})
	manifest := func(names ...string) string {
		return fmt.Sprintf(`{"files":[{"fileName":"%s","fileLen":1}]}`, strings.Join(names, `","fileLen":1},{"fileName":"`))
	}
	both := []string{"1 commit completed 2 archived", "3 commit completed 4 archived", "5 commit completed 6"}
	for _, c := range []struct {
		name  string
		files files
		want  []string
	}{
		{"nothing", files{newArchive + "x": ""}, []string{"5 commit completed 6"}},
		{"one file", files{newArchive + "_version_": "7", newArchive + "manifest_7": manifest("a.parquet"), newArchive + "a.parquet": a}, both},
		{"the same in two levels, and still active", files{
			newArchive + "_version_": "7\n", newArchive + "manifest_7": manifest("a.parquet", "b.parquet"),
			newArchive + "a.parquet": a, newArchive + "b.parquet": b,
		}, both},
		{"only the manifest's files count", files{
			newArchive + "_version_": "7", newArchive + "manifest_7": manifest("a.parquet"), newArchive + "manifest_6": manifest("z"),
			newArchive + "a.parquet": a, newArchive + "z.parquet": "garbage",
		}, both},
		{"no version", files{newArchive + "manifest_9": "garbage", newArchive + "manifest_10": manifest("a.parquet"), newArchive + "manifest_11.tmp": "", newArchive + "a.parquet": a}, both},
		{"an unreadable version", files{newArchive + "_version_": "\x00", newArchive + "manifest_10": manifest("a.parquet"), newArchive + "a.parquet": a}, both},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := files{"5_6.commit": "{}"}
			maps.Copy(f, c.files)
			tl, _ := table(t, 9, f)
			got, err := tl.History(t.Context())
			if err != nil || !slices.Equal(names(got), c.want) {
				t.Fatalf("got %q, %v, want %q", names(got), err, c.want)
			}
			if len(got) == 1 {
				return
			}
			if commit, err := tl.Commit(t.Context(), got[0]); err != nil || commit.OperationType != "INSERT" {
				t.Errorf("commit 1: got %v, %v", commit, err)
			}
			if commit, err := tl.Commit(t.Context(), got[1]); err != nil || commit.OperationType != "" {
				t.Errorf("commit 3: got %v, %v", commit, err)
			}
		})
	}
}

func TestHistoryDamageLayout2(t *testing.T) {
	good := historyBytes(t, historyTestRow{Time: "1", Completed: "2", Action: "commit", Metadata: []byte("garbage")})
	for _, c := range []struct {
		name, manifest, data string
		is                   error
	}{
		{"no Parquet", `{"files":[{"fileName":"a","fileLen":1}]}`, "garbage", ErrCorrupt},
		{"empty", `{"files":[{"fileName":"a"}]}`, "", ErrCorrupt},
		{"torn", `{"files":[{"fileName":"a"}]}`, good[:len(good)/2], ErrCorrupt},
		{"overwritten", `{"files":[{"fileName":"a"}]}`, strings.Repeat("\xaa", len(good)-100) + good[len(good)-100:], ErrCorrupt},
		{"manifest", `{"files":`, good, ErrCorrupt},
		{"a path as name", `{"files":[{"fileName":"../a"}]}`, good, ErrCorrupt},
		{"a file that is gone", `{"files":[{"fileName":"b"}]}`, good, storage.ErrNotExist},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl, _ := table(t, 9, files{"5_6.commit": "{}", newArchive + "_version_": "1", newArchive + "manifest_1": c.manifest, newArchive + "a": c.data})
			if _, err := tl.History(t.Context()); !errors.Is(err, c.is) {
				t.Errorf("got %v, want %v", err, c.is)
			}
		})
	}
	tl, _ := table(t, 9, files{newArchive + "_version_": "1", newArchive + "manifest_1": `{"files":[{"fileName":"a"}]}`, newArchive + "a": good})
	history, err := tl.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tl.Commit(t.Context(), history[0]); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "a (row 0)") {
		t.Errorf("got %v, want the row that is damaged", err)
	}
}

// A writer that compacts the history removes a file between our reading of the manifest and of the file.
func TestHistoryIsReadAgain(t *testing.T) {
	tl, m := table(t, 9, files{
		newArchive + "_version_": "1", newArchive + "manifest_1": `{"files":[{"fileName":"a"}]}`,
		newArchive + "a": historyBytes(t, historyTestRow{Time: "1", Completed: "2", Action: "commit"}),
	})
	faulty := storagetest.NewFaulty(m, storagetest.Fault{Op: storagetest.Open, Path: "a", Effect: storagetest.NotExist, N: 1})
	tl.store = faulty
	history, err := tl.History(t.Context())
	if err != nil || len(history) != 1 {
		t.Errorf("got %q, %v", names(history), err)
	}
	faulty.Verify(t)
}
