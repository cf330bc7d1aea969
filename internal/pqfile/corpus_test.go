package pqfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCorpus reads every base file below HUDIFS_CORPUS with this package and with parquet-go, and compares all values.
func TestCorpus(t *testing.T) {
	root := os.Getenv("HUDIFS_CORPUS")
	if root == "" {
		t.Skip("HUDIFS_CORPUS names no folder of Parquet files")
	}
	files := 0
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".parquet") || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f, err := Open(strings.NewReader(string(data)), int64(len(data)))
		if err != nil {
			t.Logf("%s: %v", p, err)
			return nil
		}
		files++
		got, err := readOurs(data)
		if err != nil {
			t.Errorf("%s: %v", p, err)
			return nil
		}
		want, err := readParquetGo(data, f.Schema)
		if err != nil {
			t.Errorf("%s: %v", p, err)
			return nil
		}
		if d := differs(f.Schema, want, got); d != "" {
			t.Errorf("%s: %s", p, d)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files", files)
}
