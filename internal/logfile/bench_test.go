package logfile

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/linkedin/goavro/v2"

	"github.com/hudifs/hudifs/internal/schema"
)

// benchTable is the table in the folder HUDIFS_BENCH_TABLE, or the one of 500,000 rows beside the repository.
func benchTable(b *testing.B) fs.FS {
	b.Helper()
	if dir := os.Getenv("HUDIFS_BENCH_TABLE"); dir != "" {
		return os.DirFS(dir)
	}
	z, err := zip.OpenReader(filepath.Join("..", "..", "..", "shared", "bench", "mor_500k.zip"))
	if errors.Is(err, fs.ErrNotExist) {
		b.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = z.Close() }) // it was read
	return z
}

// benchData opens the Avro block with the most records of the benchmark table: 22 columns.
func benchData(b *testing.B) (*Data, *schema.Message) {
	b.Helper()
	table := benchTable(b)
	var best *Data
	err := fs.WalkDir(table, ".", func(name string, _ fs.DirEntry, err error) error {
		if _, ok := ParseName(path.Base(name)); !ok || err != nil {
			return err
		}
		content, err := fs.ReadFile(table, name)
		if err != nil {
			return err
		}
		log, err := Scan(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return err
		}
		for _, block := range log.Blocks {
			if block.Type != AvroData {
				continue
			}
			d, err := OpenData(bytes.NewReader(content), block)
			if err != nil {
				return err
			}
			if best == nil || d.Rows() > best.Rows() {
				best = d
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	target, err := schema.Target(best.content.(*avroContent).typ, nil)
	if err != nil {
		b.Fatal(err)
	}
	return best, target
}

// cost is what the process has used so far.
type cost struct {
	cpu    time.Duration // of all threads, so of the garbage collector too
	allocs uint64
}

func costs(b *testing.B) cost {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return cost{time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), memory.Mallocs}
}

// reportRecords tells what a record cost, where each iteration has decoded as many.
func reportRecords(b *testing.B, before cost, records int) {
	b.Helper()
	after, n := costs(b), float64(b.N)*float64(records)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/n, "ns/record")
	b.ReportMetric(float64(after.cpu-before.cpu)/n, "cpu-ns/record")
	b.ReportMetric(float64(after.allocs-before.allocs)/n, "allocs/record")
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
			before := costs(b)
			for b.Loop() {
				if _, err := d.Columns(target, c.leaves); err != nil {
					b.Fatal(err)
				}
			}
			reportRecords(b, before, d.Rows())
		})
	}
}

// BenchmarkGoavro decodes the same records with goavro, for comparison.
func BenchmarkGoavro(b *testing.B) {
	d, _ := benchData(b)
	content := d.content.(*avroContent)
	codec, err := goavro.NewCodec(content.block.Schema())
	if err != nil {
		b.Fatal(err)
	}
	records := make([]byte, content.size()-headLen)
	if err := readFull(content.r, records, content.block.ContentOffset+headLen); err != nil {
		b.Fatal(err)
	}
	before := costs(b)
	for b.Loop() {
		for rest := records; len(rest) > 0; {
			if _, rest, err = codec.NativeFromBinary(rest[avroLengthLen:]); err != nil {
				b.Fatal(err)
			}
		}
	}
	reportRecords(b, before, d.Rows())
}
