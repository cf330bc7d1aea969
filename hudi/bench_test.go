package hudi_test

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/storage/filestore"
)

// BenchmarkRender renders the merged files of a table of 500,000 rows and 22 columns, 15 % of whose keys were updated at random in log
// files: one iteration is the whole table.
func BenchmarkRender(b *testing.B) {
	const file = "../../shared/bench/mor_500k.zip"
	if _, err := os.Stat(file); err != nil {
		b.Skipf("the table is not beside the repository: %v", err)
	}
	dir := b.TempDir()
	extract(b, file, dir)
	store, err := filestore.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	ctx := b.Context()
	out, err := os.Create(filepath.Join(b.TempDir(), "out.parquet"))
	if err != nil {
		b.Fatal(err)
	}
	defer out.Close()
	b.ReportAllocs()
	for b.Loop() {
		table, err := hudi.Open(ctx, store, nil)
		if err != nil {
			b.Fatal(err)
		}
		v, err := table.View(ctx, hudi.Latest())
		if err != nil {
			b.Fatal(err)
		}
		partitions, err := v.Partitions(ctx)
		if err != nil {
			b.Fatal(err)
		}
		for _, p := range partitions {
			files, err := v.Files(ctx, p)
			if err != nil {
				b.Fatal(err)
			}
			for _, f := range files {
				if err := out.Truncate(0); err != nil {
					b.Fatal(err)
				}
				if err := f.Render(ctx, out); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}

func extract(tb testing.TB, file, dir string) {
	tb.Helper()
	z, err := zip.OpenReader(file)
	if err != nil {
		tb.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		to := filepath.Join(dir, filepath.FromSlash(f.Name))
		if f.FileInfo().IsDir() {
			err = os.MkdirAll(to, 0o750)
		} else if err = os.MkdirAll(filepath.Dir(to), 0o750); err == nil {
			err = extractFile(f, to)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
}

func extractFile(f *zip.File, to string) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, r); err != nil { //nolint:gosec // our own archive
		return err
	}
	return w.Close()
}
