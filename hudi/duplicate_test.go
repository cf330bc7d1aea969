package hudi_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/hudi"
)

// A task that was tried twice may leave two base files, of which its commit says which one counts. A commit that can't say it
// does not hide the table.
func TestTwoBaseFilesAndADamagedCommit(t *testing.T) {
	r := testTable(t, "t9_cow_partitioned")
	first := r.instants(t)[0].Time
	want, err := ask(t.Context(), r.store(), nil, hudi.AsOf(first))
	if err != nil {
		t.Fatal(err)
	}
	base := ""
	for name := range r.files {
		if strings.HasSuffix(name, "_"+first+".parquet") {
			base = name
		}
	}
	id, rest, _ := strings.Cut(base, "_")
	_, instant, _ := strings.Cut(rest, "_")
	r.files[id+"_9-9-9_"+instant] = r.files[base] // the greater name, which would count if nothing told
	if got, err := ask(t.Context(), r.store(), nil, hudi.AsOf(first)); err != nil || got.text() != want.text() {
		t.Errorf("with its commit: %v", err)
	}
	for name := range r.files {
		if strings.HasPrefix(name, ".hoodie/timeline/"+first+"_") {
			r.files[name] = []byte("{damaged")
		}
	}
	if got, err := ask(t.Context(), r.store(), nil, hudi.Latest()); err != nil || got.count() == 0 {
		t.Errorf("without: %v", err)
	}
	if _, err := ask(t.Context(), r.store(), nil, hudi.AsOf(first)); !errors.Is(err, hudi.ErrCorrupt) {
		t.Errorf("as of the damaged commit itself: %v", err)
	}
}
