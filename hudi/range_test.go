package hudi_test

import (
	"maps"
	"path"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/hudi"
)

// A write that was requested amid a range and completes after its end is none of the range's: the answer is that of a table in which it has not
// completed yet, whatever its files hide.
func TestRangeKnowsItsOwnWritesOnly(t *testing.T) {
	const late = "99991231235959999"
	for _, name := range []string{"t8_cow_partitioned", "t9_clustering", "t9_cow_partitioned", "t9_insert_overwrite", "t9_mor_compacted", "t9_mor_logs"} {
		r := testTable(t, name)
		for _, w := range r.instants(t) {
			end := ""
			for _, other := range r.instants(t) {
				if other.Time != w.Time {
					end = max(end, other.CompletionTime)
				}
			}
			rows := func(completion string) string {
				moved := *r
				moved.files = maps.Clone(r.files)
				for p, data := range r.files {
					before, after, ok := strings.Cut(p, w.Time+"_"+w.CompletionTime+".")
					if !ok || path.Base(before) != "timeline" {
						continue
					}
					delete(moved.files, p)
					if completion != "" {
						moved.files[before+w.Time+"_"+completion+"."+after] = data
					}
				}
				if len(moved.files) == len(r.files) && completion == "" {
					t.Fatalf("%s: %s is not there", name, w.Time)
				}
				a, err := ask(t.Context(), moved.store(), nil, hudi.Incremental("000", end))
				if err != nil {
					t.Fatalf("%s: %s completes at %q: %v", name, w.Time, completion, err)
				}
				return a.text()
			}
			if got, want := rows(late), rows(""); got != want {
				t.Errorf("%s: %s %s completes late:\n%s", name, w.Action, w.Time, unshared(got, want))
			}
		}
	}
}
