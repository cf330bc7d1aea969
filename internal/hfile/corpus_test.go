package hfile

import (
	"archive/zip"
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// Every HFile of the real tables that lie beside or in the repository: read whole, each key found again through the index.
func TestCorpus(t *testing.T) {
	files, entries := 0, 0
	for _, pattern := range []string{"../../testdata/*/table.zip", "../../../shared/corpus/*/table.zip", "../../../shared/corpus/peer/*/table.zip"} {
		tables, err := filepath.Glob(filepath.FromSlash(pattern))
		if err != nil {
			t.Fatal(err)
		}
		if len(tables) == 0 {
			t.Logf("NOT TESTED: no table at %s", pattern)
		}
		for _, table := range tables {
			z, err := zip.OpenReader(table)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range z.File {
				if strings.HasSuffix(e.Name, ".hfile") {
					files++
					entries += corpusFile(t, table, e)
				}
			}
			z.Close()
		}
	}
	if files == 0 {
		t.Skip("SKIPPED: there are no real tables")
	}
	t.Logf("%d files, %d entries", files, entries)
}

func corpusFile(t *testing.T, table string, e *zip.File) int {
	r, err := e.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil || f.doubt != nil {
		t.Errorf("%s: %s: %v, doubt %v", table, e.Name, err, f.doubt)
		return 0
	}
	n, last := 0, ""
	for e, err := range f.All() {
		if err != nil || string(e.Key) < last {
			t.Fatalf("%s: entry %d, %q behind %q: %v", table, n, e.Key, last, err)
		}
		if string(e.Key) != last || n == 0 {
			if v, ok, err := f.Get(string(e.Key)); !ok || err != nil || !bytes.Equal(v, e.Value) {
				t.Errorf("%s: Get(%q): %v, %v", table, e.Key, ok, err)
			}
		}
		n, last = n+1, string(e.Key)
	}
	if uint64(n) != f.Len() {
		t.Errorf("%s: %s: %d entries, the trailer says %d", table, e.Name, n, f.Len())
	}
	return n
}
