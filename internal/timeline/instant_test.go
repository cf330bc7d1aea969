package timeline

import (
	"slices"
	"strings"
	"testing"
)

func TestParseInstantName(t *testing.T) {
	for _, c := range []struct {
		name   string
		layout int
		want   string // time action state [completion]; none for names that are no instant's
	}{
		{"20261130010000000.commit.requested", 1, "20261130010000000 commit requested"},
		{"20261130010000000.inflight", 1, "20261130010000000 commit inflight"},
		{"20261130010000000.commit", 1, "20261130010000000 commit completed"},
		{"20261130010000.deltacommit", 1, "20261130010000 deltacommit completed"},
		{"001.deltacommit.inflight", 1, "001 deltacommit inflight"},
		{"20261130010000000.inflight", 2, "20261130010000000 commit inflight"},
		{"1_2.commit", 2, "1 commit completed 2"},
		{"2_1.replacecommit", 2, "2 replacecommit completed 1"},
		{"1.clustering.requested", 2, "1 clustering requested"},
		{"1.logcompaction.inflight", 2, "1 logcompaction inflight"},
		{"1_2.indexing", 2, "1 indexing completed 2"},
		{"1_2.commit", 1, ""},
		{"1_2.commit.requested", 2, ""},
		{"1_.commit", 2, ""},
		{"_2.commit", 2, ""},
		{"1.schemacommit", 1, ""},
		{"1.commit.bak", 1, ""},
		{"1.commit.requested.crc", 1, ""},
		{"1.inflight.requested", 1, ""},
		{"1.commit.", 1, ""},
		{"1.", 1, ""},
		{"1", 1, ""},
		{".1.commit", 1, ""},
		{".1.commit.crc", 1, ""},
		{"x.commit", 1, ""},
		{"1.COMMIT", 1, ""},
		{"١.commit", 1, ""}, // a digit, but not of ours
		{"", 1, ""},
		{"hoodie.properties", 1, ""},
	} {
		in, ok := parseInstantName(c.name, c.layout)
		if got := strings.Join(names([]Instant{in}), ""); ok && got != c.want || ok != (c.want != "") {
			t.Errorf("parseInstantName(%q, %d) = %q, %v, want %q", c.name, c.layout, got, ok, c.want)
		}
	}
}

func TestCollapse(t *testing.T) {
	for _, c := range []struct {
		name    string
		version int
		files   []string
		want    []string
		planned []Action
	}{
		{"a commit", 6, []string{"1.commit.requested", "1.inflight", "1.commit"}, []string{"1 commit completed"}, []Action{ActionCommit}},
		{
			"a compaction completes as a commit", 6,
			[]string{"1.commit", "1.compaction.inflight", "1.compaction.requested"},
			[]string{"1 commit completed"},
			[]Action{ActionCompaction},
		},
		{
			"a log compaction completes as a deltacommit", 9,
			[]string{"1.logcompaction.inflight", "1.logcompaction.requested", "1_3.deltacommit"},
			[]string{"1 deltacommit completed 3"},
			[]Action{ActionLogCompaction},
		},
		{
			"a clustering completes as a replacecommit", 9,
			[]string{"1.clustering.inflight", "1.clustering.requested", "1_3.replacecommit"},
			[]string{"1 replacecommit completed 3"},
			[]Action{ActionClustering},
		},
		{
			"pending", 9,
			[]string{"1.compaction.requested", "2.deltacommit.inflight", "2.deltacommit.requested"},
			[]string{"1 compaction requested", "2 deltacommit inflight"},
			[]Action{ActionCompaction, ActionDeltaCommit},
		},
		{
			"a savepoint shares the time of its commit", 9,
			[]string{"1.savepoint.inflight", "1_2.commit", "1_9.savepoint"},
			[]string{"1 commit completed 2", "1 savepoint completed 9"},
			[]Action{"", ActionSavepoint},
		},
		{
			"14 digits before 17", 6,
			[]string{"20261130010000000.commit", "20261130010000.commit"},
			[]string{"20261130010000 commit completed", "20261130010000000 commit completed"},
			[]Action{"", ""},
		},
		{
			"a replacement that says nothing yet", 6,
			[]string{"1.replacecommit.requested", "1.replacecommit.inflight", "/.hoodie/1.replacecommit"},
			[]string{"1 replacecommit inflight"},
			[]Action{ActionReplaceCommit},
		},
		{"no completion time in the name", 9, []string{"1.commit"}, []string{"1 commit completed 20240101000002000"}, []Action{""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := files{}
			for _, name := range c.files {
				f[name] = "{}"
				if strings.HasPrefix(name, "/") {
					f[name] = ""
				}
			}
			tl, _ := table(t, c.version, f)
			if got := names(tl.Instants()); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			var planned []Action
			for _, in := range tl.Instants() {
				planned = append(planned, in.Planned)
			}
			if !slices.Equal(planned, c.planned) {
				t.Errorf("planned as %q, want %q", planned, c.planned)
			}
		})
	}
}

func FuzzInstantName(f *testing.F) {
	for _, name := range []string{"20261130010000000.commit.requested", "1.inflight", "1_2.replacecommit", "1.schemacommit", "_1."} {
		f.Add(name, true)
		f.Add(name, false)
	}
	f.Fuzz(func(t *testing.T, name string, newLayout bool) {
		layout := 1
		if newLayout {
			layout = 2
		}
		in, ok := parseInstantName(name, layout)
		if !ok {
			return
		}
		again := in.Time
		if in.State == Completed && layout == 2 && in.CompletionTime != "" {
			again += "_" + in.CompletionTime
		}
		if in.Action != ActionCommit || in.State != Inflight {
			again += "." + string(in.Action)
		}
		if in.State != Completed {
			again += "." + in.State.String()
		}
		if again != name && name != in.Time+".commit.inflight" {
			t.Errorf("%q was read as %q", name, again)
		}
	})
}
