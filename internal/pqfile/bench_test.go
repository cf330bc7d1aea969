package pqfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
)

// benchFile is the base file named by HUDIFS_BENCH_FILE: that of the shared table of 500,000 rows.
func benchFile(b *testing.B) (*File, []byte) {
	name := os.Getenv("HUDIFS_BENCH_FILE")
	if name == "" {
		b.Skip("HUDIFS_BENCH_FILE names no Parquet file")
	}
	data, err := os.ReadFile(name)
	if err != nil {
		b.Fatal(err)
	}
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		b.Fatal(err)
	}
	return f, data
}

func BenchmarkOpen(b *testing.B) {
	_, data := benchFile(b)
	for b.Loop() {
		if _, err := Open(bytes.NewReader(data), int64(len(data))); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	f, _ := benchFile(b)
	run := func(name string, from, to int) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for i := from; i < to; i++ {
					n += readChunk(b, f, i)
				}
				b.SetBytes(int64(n))
			}
		})
	}
	run("all", 0, len(f.Schema.Leaves))
	for i, l := range f.Schema.Leaves {
		run(fmt.Sprintf("%s-%v", strings.Join(l.Path, "."), l.Leaf.Kind), i, i+1)
	}
}

func readChunk(b *testing.B, f *File, leaf int) int {
	r, err := f.Chunk(0, leaf)
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			b.Fatal(err)
		}
		n += p.Vector.Size()
	}
}

// BenchmarkPlain reads 32 MiB of plain numbers, and copies them for comparison.
func BenchmarkPlain(b *testing.B) {
	l := message(b, shapes[3]).Leaves[0]
	v := column.New(l.Leaf)
	v.Buf = make([]byte, 32<<20)
	v.SetValues(len(v.Buf) / 8)
	var buf bytes.Buffer
	w := NewChunkWriter(&buf, l, ChunkOptions{})
	if err := w.WriteRows(&Page{Vector: v}); err != nil {
		b.Fatal(err)
	}
	c, err := w.Close(nil)
	if err != nil {
		b.Fatal(err)
	}
	m := message(b, shapes[3])
	data := fileOf(b, m, []Group{{c}}, [][]*bytes.Buffer{{&buf}})
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(len(v.Buf)))
		for b.Loop() {
			readChunk(b, f, 0)
		}
	})
	b.Run("copy", func(b *testing.B) {
		b.SetBytes(int64(len(v.Buf)))
		dst := make([]byte, len(v.Buf))
		for b.Loop() {
			copy(dst, v.Buf)
		}
	})
}

// BenchmarkReadParquetGo reads all pages with parquet-go, for comparison.
func BenchmarkReadParquetGo(b *testing.B) {
	_, data := benchFile(b)
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, c := range f.RowGroups()[0].ColumnChunks() {
			pages := c.Pages()
			for {
				p, err := pages.ReadPage()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					b.Fatal(err)
				}
				parquet.Release(p)
			}
			pages.Close()
		}
	}
}

// BenchmarkRewrite reads all columns, and writes them again as they are.
func BenchmarkRewrite(b *testing.B) {
	f, _ := benchFile(b)
	for _, codec := range codecs {
		b.Run(codec.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				out := int64(0)
				for i := range f.Schema.Leaves {
					out += rewrite(b, f, i, codec)
				}
				b.ReportMetric(float64(out), "bytes-out")
			}
		})
	}
}

func rewrite(b *testing.B, f *File, leaf int, codec format.CompressionCodec) int64 {
	r, err := f.Chunk(0, leaf)
	if err != nil {
		b.Fatal(err)
	}
	var w *ChunkWriter
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		if w == nil {
			w = NewChunkWriter(io.Discard, f.Schema.Leaves[leaf], ChunkOptions{Codec: codec, Dictionary: r.Dictionary()})
		}
		if err := w.WritePage(p); err != nil {
			b.Fatal(err)
		}
	}
	c, err := w.Close(nil)
	if err != nil {
		b.Fatal(err)
	}
	return c.Size
}

func BenchmarkMaterialise(b *testing.B) {
	f, _ := benchFile(b)
	b.ReportAllocs()
	for b.Loop() {
		for i, l := range f.Schema.Leaves {
			r, err := f.Chunk(0, i)
			if err != nil {
				b.Fatal(err)
			}
			v := column.New(l.Leaf)
			for {
				p, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					b.Fatal(err)
				}
				v.Reset()
				if err := r.Materialise(v, p, p.Vector.All()); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}
