package hudi_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/storage/storagetest"
)

// changeViews are the change data views that Hudi was asked for.
type changeViews struct {
	Views []struct {
		Kind, Begin, End, Golden string
		ErrorOKRows              bool `json:"error_ok_rows"`
		Doubt                    any
	}
}

func (r *realTable) changeViews(t *testing.T) changeViews {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.folder, "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	var c changeViews
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatalf("%s: %v", r.folder, err)
	}
	return c
}

// lines are rows as sorted text.
func lines(rows ...[]row) []string {
	var out []string
	for _, r := range slices.Concat(rows...) {
		out = append(out, r.String())
	}
	slices.Sort(out)
	return out
}

func (a *answer) lines() []string { return lines(slices.Collect(maps.Values(a.rows))...) }

// TestChanges compares change records with Hudi's, letter by letter.
func TestChanges(t *testing.T) {
	compared := 0
	eachRealTable(t, func(t *testing.T, r *realTable) {
		for _, v := range r.changeViews(t).Views {
			if v.Kind != "cdc" || v.Golden == "" || v.Doubt != nil {
				continue
			}
			golden, err := os.ReadFile(filepath.Join(r.folder, filepath.FromSlash(v.Golden)))
			if err != nil {
				t.Fatal(err)
			}
			want, err := rowsOf(golden)
			if err != nil {
				t.Fatal(err)
			}
			end := v.End
			if end == "" {
				end = "latest"
			}
			got, err := ask(t.Context(), r.store(), nil, hudi.Changes(v.Begin, end))
			if err != nil {
				t.Errorf("%s..%s: %v", v.Begin, end, err)
				continue
			}
			if d := cmp.Diff(lines(want), got.lines()); d != "" {
				t.Errorf("%s..%s: -Hudi +here:\n%s", v.Begin, end, d)
			}
			compared++
		}
	})
	if compared == 0 {
		t.Error("nothing was compared")
	}
}

// TestChangeSteps holds that the steps of a table together are all its changes.
func TestChangeSteps(t *testing.T) {
	eachRealTable(t, func(t *testing.T, r *realTable) {
		table, err := hudi.Open(t.Context(), r.store(), nil)
		if err != nil || !table.Info().LogsChanges {
			return // broken on purpose, or without change data
		}
		steps, err := table.ChangeSteps(t.Context())
		if err != nil || len(steps) < 2 {
			t.Fatalf("steps %q, %v", steps, err)
		}
		var parts []string
		for i := range steps[1:] {
			a, err := ask(t.Context(), r.store(), nil, hudi.Changes(steps[i], steps[i+1]))
			if err != nil {
				t.Fatalf("%s..%s: %v", steps[i], steps[i+1], err)
			}
			parts = append(parts, a.lines()...)
		}
		slices.Sort(parts)
		all, err := ask(t.Context(), r.store(), nil, hudi.Changes(steps[0], "latest"))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(all.lines(), parts); d != "" {
			t.Errorf("-all at once +step by step:\n%s", d)
		}
	})
}

func TestChangesRefused(t *testing.T) {
	quiet := testTable(t, "t9_mor_logs")
	table, err := hudi.Open(t.Context(), quiet.store(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.View(t.Context(), hudi.Changes("000", "latest")); !errors.Is(err, hudi.ErrRefused) || !strings.Contains(err.Error(), "hoodie.table.cdc.enabled") {
		t.Errorf("a table without change logging: %v", err)
	}
	if _, err := table.ChangeSteps(t.Context()); !errors.Is(err, hudi.ErrRefused) {
		t.Errorf("its steps: %v", err)
	}
	if _, err := table.View(t.Context(), hudi.Changes("yesterday", "latest")); !errors.Is(err, hudi.ErrBadName) {
		t.Errorf("a range that is none: %v", err)
	}
	changes := testTable(t, "t9_changes_cow")
	for name := range changes.files {
		if strings.HasPrefix(name, ".hoodie") || !strings.Contains(name, "north/") || !strings.HasSuffix(name, ".parquet") {
			continue
		}
		files := maps.Clone(changes.files)
		delete(files, name)
		_, err := ask(t.Context(), storagetest.NewMem(files), nil, hudi.Changes("000", "latest"))
		if !errors.Is(err, hudi.ErrCleaned) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// TestChangeRanges asks for ranges in other words.
func TestChangeRanges(t *testing.T) {
	r := testTable(t, "t9_changes_cow")
	table, err := hudi.Open(t.Context(), r.store(), nil)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := table.ChangeSteps(t.Context())
	if err != nil || len(steps) < 4 || steps[0] != "000" {
		t.Fatalf("steps %q, %v", steps, err)
	}
	if _, err := ask(t.Context(), r.store(), nil, hudi.Changes(steps[2], steps[3])); err != nil {
		t.Errorf("a range of the middle: %v", err)
	}
	if a, err := ask(t.Context(), r.store(), nil, hudi.Changes(steps[len(steps)-1], "latest")); err != nil || len(a.rows) > 0 {
		t.Errorf("a range behind the last instant: %v, %v", a, err)
	}
	if a, err := ask(t.Context(), r.store(), nil, hudi.Changes("earliest", steps[1])); err != nil || len(a.rows) == 0 {
		t.Errorf("a range from the earliest instant: %v, %v", a, err)
	}
}
