package logfile

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"testing"

	"github.com/hudifs/hudifs/internal/schema"
)

// benchData opens the Avro block with the most records of the benchmark table: 22 columns.
func benchData(b *testing.B) (*Data, *schema.Message) {
	b.Helper()
	z, err := zip.OpenReader(filepath.Join("..", "..", "..", "shared", "bench", "mor_500k.zip"))
	if errors.Is(err, fs.ErrNotExist) {
		b.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		b.Fatal(err)
	}
	defer z.Close()
	var best *Data
	for _, e := range z.File {
		if _, ok := ParseName(path.Base(e.Name)); !ok {
			continue
		}
		r, err := e.Open()
		if err != nil {
			b.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			b.Fatal(err)
		}
		log, err := Scan(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			b.Fatal(err)
		}
		for _, block := range log.Blocks {
			if block.Type != AvroData {
				continue
			}
			d, err := OpenData(bytes.NewReader(content), block)
			if err != nil {
				b.Fatal(err)
			}
			if best == nil || d.Rows() > best.Rows() {
				best = d
			}
		}
	}
	target, err := schema.Target(best.content.(*avroContent).typ, nil)
	if err != nil {
		b.Fatal(err)
	}
	return best, target
}

func BenchmarkColumns(b *testing.B) {
	d, target := benchData(b)
	all := make([]int, len(target.Leaves))
	for i := range all {
		all[i] = i
	}
	key := target.Leaf(schema.RecordKey).Index
	for _, c := range []struct {
		name   string
		leaves []int
	}{
		{"none", nil},
		{"key", []int{key}},
		{"key and ordering", []int{key, target.Leaf("ts").Index}},
		{"all", all},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.Columns(target, c.leaves); err != nil {
					b.Fatal(err)
				}
			}
			n := float64(d.Rows())
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/n, "ns/record")
		})
	}
}
