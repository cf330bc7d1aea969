package pqfile

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/format"
)

// corpus calls do with every base file below HUDIFS_CORPUS that can be opened.
func corpus(t *testing.T, do func(name string, data []byte, f *File)) {
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
		f, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Logf("%s: %v", p, err)
			return nil
		}
		files++
		do(p, data, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files", files)
}

// TestCorpus reads every base file below HUDIFS_CORPUS with this package and with parquet-go, and compares all values.
func TestCorpus(t *testing.T) {
	corpus(t, func(name string, data []byte, f *File) {
		got, err := readOurs(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		want, err := readParquetGo(data, f.Schema)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if d := differs(f.Schema, want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	})
}

// TestCorpusPromise writes every base file anew with some rows changed, at its promised size.
func TestCorpusPromise(t *testing.T) {
	var in, out, promised int64
	corpus(t, func(name string, data []byte, f *File) {
		w := &rewriter{
			Rand: rand.New(rand.NewPCG(1, 2)), deleted: 0.05, updated: 0.1, inserted: 5, codec: format.Snappy,
			gen: &generator{nulls: 0.1, length: 20},
		}
		size := w.file(t, data)
		in, out, promised = in+w.in, out+w.out, promised+size
	})
	t.Logf("%d bytes of chunks became %d, in files of %d", in, out, promised)
}
