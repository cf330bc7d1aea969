// Package tabletest finds the zipped tables that tests read: those that the repository carries, and the larger collection beside it.
package tabletest

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Root is the folder of the module that the test belongs to.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
	}
}

// Glob finds the zip files of the tables whose names match a pattern, in testdata and then in the collection beside the repository. What
// has none is said.
func Glob(t testing.TB, pattern string) []string {
	t.Helper()
	root := Root(t)
	var all []string
	for _, place := range [][]string{{"testdata"}, {"..", "shared", "corpus"}, {"..", "shared", "corpus", "peer"}} {
		found, err := filepath.Glob(filepath.Join(root, filepath.Join(place...), pattern, "table.zip"))
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			t.Logf("NOT TESTED: no table %s in %s", pattern, filepath.Join(place...))
		}
		all = append(all, found...)
	}
	return all
}

// All finds the zip files of all tables.
func All(t testing.TB) []string {
	t.Helper()
	all := Glob(t, "*")
	if len(all) == 0 {
		t.Fatal("there are no tables, not even in testdata")
	}
	return all
}

// Name is what the table of a zip file is called.
func Name(file string) string { return filepath.Base(filepath.Dir(file)) }

// Contents reads the files of a zip whose paths are wanted: all, where want is nil.
func Contents(t testing.TB, file string, want func(path string) bool) map[string][]byte {
	t.Helper()
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = z.Close() }() // it was read
	out := map[string][]byte{}
	for _, f := range z.File {
		if f.FileInfo().IsDir() || want != nil && !want(f.Name) {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if out[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatalf("%s: %s: %v", file, f.Name, err)
		}
		_ = r.Close() // it was read to its end, with its checksum
	}
	return out
}
