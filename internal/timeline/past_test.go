package timeline

import (
	"maps"
	"slices"
	"testing"
	"time"
)

func TestCompletions(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2023, 5, 1, hour, 0, 0, 0, time.UTC) }
	past := files{
		"/.hoodie/timeline/history/_version_":  "1",
		"/.hoodie/timeline/history/manifest_1": `{"files":[{"fileName":"1.parquet"}]}`,
		"/.hoodie/timeline/history/1.parquet": historyBytes(t,
			historyTestRow{Time: "20230501000000000", Completed: "20230501010000000", Action: "commit"},
			historyTestRow{Time: "20230501010000000", Completed: "20230501080000000", Action: "deltacommit"},
			historyTestRow{Time: "20230501020000000", Completed: "20230501023000000", Action: "clean"}),
	}
	for _, c := range []struct {
		name    string
		version int
		files   files
		since   time.Time
		want    []string
	}{
		{"nothing", 9, files{"20230501030000000.deltacommit.requested": ""}, at(0), nil},
		{"by completion, writes alone", 9, files{
			"20230501030000000_20230501090000000.deltacommit": "", "20230501040000000_20230501050000000.commit": "",
			"20230501050000000_20230501060000000.clean": "", "20230501060000000.deltacommit.inflight": "",
		}, at(0), []string{"20230501030000000", "20230501040000000"}},
		{"the older ones are left out", 9, files{
			"20230501030000000_20230501090000000.deltacommit": "", "20230501040000000_20230501050000000.commit": "",
		}, at(9), []string{"20230501030000000"}},
		{"archived ones, where the active timeline is too short", 9, files{
			"20230501030000000_20230501090000000.deltacommit": "", "20230501040000000_20230501050000000.commit": "",
		}, at(1), []string{"20230501030000000", "20230501010000000", "20230501040000000", "20230501000000000"}},
		{"equal times", 9, files{
			"20230501030000000_20230501090000000.deltacommit": "", "20230501040000000_20230501090000000.deltacommit": "",
		}, at(9), []string{"20230501040000000", "20230501030000000"}},
		{"no dates, and files that are older", 9, files{"1_2.commit": "", "3_4.commit": ""}, at(0), nil},
		{"no dates, and files that are not", 9, files{"1_2.commit": "", "3_4.commit": ""}, time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC), []string{"3", "1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.since.Equal(at(1)) {
				maps.Copy(c.files, past)
			}
			_, m := table(t, c.version, nil)
			old := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
			for name, data := range c.files {
				if name[0] != '/' {
					name = "/.hoodie/timeline/" + name
				}
				m.PutAt(name[1:], []byte(data), old)
			}
			testCompletions(t, loadTable(t, m), c.since, c.want)
		})
	}
}

func testCompletions(t *testing.T, tl *Timeline, since time.Time, want []string) {
	t.Helper()
	found, err := tl.Completions(t.Context(), since, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, in := range found {
		got = append(got, in.Time)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// On layout 1 the files tell, by whatever clock and in whatever zone the instants were named.
func TestCompletionsLayout1(t *testing.T) {
	_, m := table(t, 6, nil)
	at := func(hour int) time.Time { return time.Date(2024, 7, 1, hour, 0, 0, 0, time.UTC) }
	m.PutAt(".hoodie/20230501000000000.commit", nil, at(1))
	m.PutAt(".hoodie/20230501010000000.deltacommit.inflight", nil, at(2))
	m.PutAt(".hoodie/20230501010000000.deltacommit", nil, at(9))
	m.PutAt(".hoodie/20230501020000000.deltacommit", nil, at(4))
	m.PutAt(".hoodie/20230501030000000.deltacommit", nil, time.Time{})
	tl := loadTable(t, m)
	testCompletions(t, tl, at(2), []string{"20230501010000000", "20230501020000000"})
	testCompletions(t, tl, at(0), []string{"20230501010000000", "20230501020000000", "20230501000000000"})
	testCompletions(t, tl, at(10), nil)
	testCompletions(t, tl, time.Date(2023, 5, 1, 3, 0, 0, 0, time.UTC),
		[]string{"20230501010000000", "20230501020000000", "20230501000000000", "20230501030000000"})
}

// A timeline without some writes is that of the time before they completed.
func TestWithout(t *testing.T) {
	tl, m := table(t, 9, files{
		"1_2.commit": `{"extraMetadata":{"schema":"one"}}`, "3_9.deltacommit": `{"extraMetadata":{"schema":"three"}}`, "3.deltacommit.inflight": "",
		"3.deltacommit.requested": "", "4_5.commit": "", "4.compaction.requested": "", "4.compaction.inflight": "", "5_6.clean": "", "7.commit.requested": "",
		"/.hoodie/timeline/history/_version_":  "1",
		"/.hoodie/timeline/history/manifest_1": `{"files":[{"fileName":"1.parquet"}]}`,
		"/.hoodie/timeline/history/1.parquet":  historyBytes(t, historyTestRow{Time: "01", Completed: "8", Action: "commit"}, historyTestRow{Time: "02", Completed: "1", Action: "commit"}),
	})
	all := tl.Instants()
	history, err := tl.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var undone []Instant
	for _, in := range history {
		if in.completedWrite() && in.CompletionTime >= "5" {
			undone = append(undone, in)
		}
	}
	past := tl.Without(undone)
	want := []string{"1 commit completed 2", "3 deltacommit inflight", "4 compaction inflight", "5 clean completed 6", "7 commit requested"}
	if got := names(past.Instants()); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for i, yes := range map[string]bool{"01": false, "02": true, "00": true, "1": true, "3": false, "4": false, "7": false} {
		if past.IsCommitted(i) != yes {
			t.Errorf("%s is committed: %v", i, !yes)
		}
		if _, ok, err := past.CompletionTime(t.Context(), i); err != nil || ok != yes && i != "00" {
			t.Errorf("%s has completed: %v, %v", i, ok, err)
		}
	}
	if got, err := past.History(t.Context()); err != nil || !slices.Equal(names(got), []string{"02 commit completed 1 archived", "1 commit completed 2", "5 clean completed 6"}) {
		t.Errorf("history %q, %v", names(got), err)
	}
	if text, source, err := past.SchemaAt(t.Context(), ""); text != "one" || source != "1" || err != nil {
		t.Errorf("schema %q of %q, %v", text, source, err)
	}
	if past.Fingerprint() == tl.Fingerprint() || past.Fingerprint() == tl.Without(undone[1:]).Fingerprint() || past.Fingerprint() != loadTable(t, m).Without(undone).Fingerprint() {
		t.Error("fingerprints do not tell the states apart")
	}
	if !slices.Equal(names(tl.Instants()), names(all)) || !tl.IsCommitted("01") || !tl.IsCommitted("4") {
		t.Errorf("the timeline itself has changed: %q", names(tl.Instants()))
	}
}
