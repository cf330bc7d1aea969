package pqfile

import (
	"bytes"
	"errors"
	"io"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
)

// known fails the test where an error is none of this package's: a library's own would hide that a check is missing.
func known(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) && !errors.Is(err, ErrTooLarge) {
		t.Fatalf("error of no class: %v", err)
	}
	if err != nil && strings.Contains(err.Error(), "panicked") {
		t.Fatalf("a decoder got input that should have been refused: %v", err)
	}
}

// FuzzOpen reads footers, and all that follows from a footer alone.
func FuzzOpen(f *testing.F) {
	for i := range shapes {
		f.Add(simpleFile(f, message(f, shapes[i])))
	}
	f.Add(simpleFile(f, message(f, shapes[2], shapes[7], shapes[11], shapes[13])))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Open(bytes.NewReader(data), int64(len(data)))
		known(t, err)
		if err != nil {
			return
		}
		if _, err := FooterBound(file.Schema, file.Groups()); err != nil {
			known(t, err)
		}
		for g := range file.Groups() {
			for i, l := range file.Schema.Leaves {
				if n, ok := file.ChunkBound(g, i, l, Added{Rows: 10, Values: 10, Bytes: 100}); ok && n < 0 {
					t.Fatalf("bound of %d bytes", n)
				}
				_, err := file.Filtered(g, i, []byte("a"), []byte("b"))
				known(t, err)
				m := NewMinMax(l.Scalar)
				m.AddChunk(file, g, i, nil)
				m.statistics(0)
			}
		}
		file.maxPage = 8 << 20
		if _, err := readFile(file); err != nil {
			known(t, err)
		}
	})
}

// FuzzChunk reads pages under a sound footer: the first bytes choose the column, the codec and how many values there should be.
func FuzzChunk(f *testing.F) {
	debug.SetMemoryLimit(2 << 30)
	for i := range shapes {
		addChunk(f, byte(i), simpleFile(f, message(f, shapes[i])))
	}
	for _, c := range []struct {
		typ   parquet.Type
		shape byte
		enc   encoding.Encoding
	}{
		{parquet.BooleanType, 0, &parquet.RLE},
		{parquet.Int32Type, 2, &parquet.DeltaBinaryPacked},
		{parquet.ByteArrayType, 7, &parquet.RLEDictionary},
		{parquet.ByteArrayType, 7, &parquet.DeltaByteArray},
		{parquet.ByteArrayType, 7, &parquet.DeltaLengthByteArray},
		{parquet.FixedLenByteArrayType(5), 9, &parquet.DeltaByteArray},
		{parquet.FixedLenByteArrayType(5), 9, &parquet.ByteStreamSplit},
		{parquet.FloatType, 5, &parquet.ByteStreamSplit},
	} {
		enc := c.enc
		if enc == &parquet.RLE {
			enc = nil
		}
		for _, version := range []int{1, 2} {
			addChunk(f, c.shape, foreign(f, c.typ, enc, &parquet.Snappy, version, false, foreignRows(c.typ, false, 100)))
		}
	}
	codecs := []format.CompressionCodec{format.Uncompressed, format.Snappy, format.Gzip, format.Zstd, format.Lz4Raw, format.Brotli}
	f.Fuzz(func(t *testing.T, shape, codec, rows byte, extra uint16, data []byte) {
		m := message(t, shapes[int(shape)%len(shapes)])
		l := m.Leaves[0]
		values := int64(rows)
		if l.Leaf.MaxRep > 0 {
			values += int64(extra)
		}
		chunk := ColumnChunk{MetaData: ColumnMetaData{
			Type: physical[l.Leaf.Kind], Codec: codecs[int(codec)%len(codecs)], NumValues: values, TotalCompressedSize: int64(len(data)),
		}}
		if extra%2 == 1 {
			chunk.OffsetIndexOffset = 1
		}
		file := &File{Schema: m, NumRows: int64(rows), r: bytes.NewReader(data), size: int64(len(data)), maxPage: 8 << 20, Meta: &FileMetaData{
			RowGroups: []RowGroup{{NumRows: int64(rows), Columns: []ColumnChunk{chunk}}},
		}}
		r, err := file.Chunk(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for {
			p, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			known(t, err)
			if err != nil {
				return
			}
			got += p.Rows
			v := column.New(l.Leaf)
			if err := r.Materialise(v, p, p.Vector.All()); err != nil {
				known(t, err)
			} else if v.Rows() != p.Rows || l.Leaf.MaxDef > 0 && count(v.Def, l.Leaf.MaxDef) != v.Values() {
				t.Fatalf("page of %d rows has %d, and %d values", p.Rows, v.Rows(), v.Values())
			}
		}
		if got != int(rows) {
			t.Fatalf("%d rows of %d without an error", got, rows)
		}
	})
}

// addChunk makes a seed of the first chunk of a file.
func addChunk(f *testing.F, shape byte, data []byte) {
	file, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		f.Fatal(err)
	}
	c := file.Column(0, 0)
	start, end := c.span()
	codec := byte(c.Codec)
	f.Add(shape, codec, byte(file.NumRows), uint16(c.NumValues-file.NumRows), data[start:end])
}
