package hfile

import (
	"bytes"
	"path"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/tabletest"
)

// Every HFile of the real tables that lie beside or in the repository: read whole, each key found again through the index.
func TestCorpus(t *testing.T) {
	files, entries := 0, 0
	for _, table := range tabletest.All(t) {
		for name, b := range tabletest.Contents(t, table, func(name string) bool { return strings.HasSuffix(name, ".hfile") }) {
			files++
			entries += corpusFile(t, path.Join(tabletest.Name(table), name), b)
		}
	}
	if files == 0 {
		t.Skip("SKIPPED: there are no real tables")
	}
	t.Logf("%d files, %d entries", files, entries)
}

func corpusFile(t *testing.T, name string, b []byte) int {
	t.Helper()
	f, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil || f.doubt != nil {
		t.Errorf("%s: %v, doubt %v", name, err, f.doubt)
		return 0
	}
	n, last := 0, ""
	for e, err := range f.All() {
		if err != nil || string(e.Key) < last {
			t.Fatalf("%s: entry %d, %q behind %q: %v", name, n, e.Key, last, err)
		}
		if string(e.Key) != last || n == 0 {
			if v, ok, err := f.Get(string(e.Key)); !ok || err != nil || !bytes.Equal(v, e.Value) {
				t.Errorf("%s: Get(%q): %v, %v", name, e.Key, ok, err)
			}
		}
		n, last = n+1, string(e.Key)
	}
	if uint64(n) != f.Len() {
		t.Errorf("%s: %d entries, the trailer says %d", name, n, f.Len())
	}
	return n
}
