package hudi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/hudi"
)

// An upgrade from version 6 changes the rules of merging, as it does for Hudi's own readers: who asks for an instant before it is answered by
// the new ones afterwards.
func TestUpgradeChangesRules(t *testing.T) {
	six, nine := testTable(t, "t6_mor_logs"), testTable(t, "t9_upgraded")
	changed := 0
	for _, w := range six.instants(t) {
		rows := func(r *realTable) []string {
			a, err := ask(t.Context(), r.store(), nil, hudi.AsOf(w.Time))
			if err != nil {
				t.Fatal(err)
			}
			return strings.Split(a.text("_hoodie_file_name"), "\n")
		}
		before, after := rows(six), rows(nine)
		if len(before) != len(after) {
			t.Errorf("as of %s: %d rows, then %d", w.Time, len(before), len(after))
		}
		for _, r := range after {
			if slices.Contains(before, r) {
				continue
			}
			changed++
			if !strings.Contains(r, `_hoodie_record_key=0.1:"o008"`) { // whose late update has the older event time
				t.Errorf("as of %s: %s", w.Time, r)
			}
		}
	}
	if changed == 0 {
		t.Error("no row is another one after the upgrade")
	}
}
