package hudi_test

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/hudi"
)

// A write that replaces others is there when its commit file says what it replaces. Hudi makes the file first and writes into it then: in between
// the rows of both would be shown.
func TestReplacementsWithoutContent(t *testing.T) {
	for _, name := range []string{"t6_insert_overwrite", "t9_insert_overwrite", "t6_clustering", "t8_clustering", "t9_clustering"} {
		t.Run(name, func(t *testing.T) {
			r := testTable(t, name)
			whole := maps.Clone(r.files)
			last := ""
			for p := range whole {
				if strings.HasPrefix(p, ".hoodie/") && strings.Count(p, "/") <= 2 && strings.HasSuffix(p, ".replacecommit") {
					last = max(last, p)
				}
			}
			if last == "" {
				t.Fatal("the table has no replacecommit")
			}
			shown := func(files map[string][]byte) map[string][]byte {
				r.files = files
				out := map[string][]byte{}
				for _, f := range r.latest(t, &hudi.Options{NoMetadataTable: true}) {
					data, err := bytesOf(t.Context(), r.store(), f)
					if err != nil {
						t.Fatal(err)
					}
					out[f.Partition()+"/"+f.Name()] = data
				}
				return out
			}
			without, empty := maps.Clone(whole), maps.Clone(whole)
			delete(without, last)
			empty[last] = nil
			want, got := shown(without), shown(empty)
			if !maps.EqualFunc(got, want, bytes.Equal) {
				t.Errorf("%d files, want %d", len(got), len(want))
			}
			if got := shown(whole); maps.EqualFunc(got, want, bytes.Equal) {
				t.Error("the write that replaces is not shown when it is complete")
			}
		})
	}
}
