package pqfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	pqcompress "github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// foreign is a file written by parquet-go: one column, in an encoding that this package does not write.
func foreign(t testing.TB, typ parquet.Type, enc encoding.Encoding, codec pqcompress.Codec, version int, nested bool, rows []parquet.Row) []byte {
	t.Helper()
	n := parquet.Leaf(typ)
	if enc != nil {
		n = parquet.Encoded(n, enc)
	}
	if nested {
		n = parquet.Repeated(n)
	} else {
		n = parquet.Optional(n)
	}
	var buf bytes.Buffer
	w := parquet.NewGenericWriter[any](&buf, parquet.NewSchema("root", parquet.Group{"v": n}),
		parquet.Compression(codec), parquet.DataPageVersion(version), parquet.PageBufferSize(2000))
	if _, err := w.WriteRows(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// foreignRows are rows of one column; some are null, and repeated ones have up to three values.
func foreignRows(typ parquet.Type, nested bool, n int) []parquet.Row {
	r := rand.New(rand.NewPCG(5, uint64(typ.Kind())))
	last := "start"
	value := func() parquet.Value {
		switch typ.Kind() {
		case parquet.Boolean:
			return parquet.BooleanValue(r.IntN(20) < 10)
		case parquet.Int32:
			return parquet.Int32Value(int32(r.Uint32() >> r.IntN(32)))
		case parquet.Int64:
			return parquet.Int64Value(int64(r.Uint64() >> r.IntN(64)))
		case parquet.Float:
			return parquet.FloatValue(r.Float32())
		case parquet.Double:
			return parquet.DoubleValue(r.NormFloat64())
		case parquet.FixedLenByteArray:
			b := make([]byte, typ.Length())
			for i := range b {
				b[i] = byte(r.IntN(3))
			}
			return parquet.FixedLenByteArrayValue(b)
		default:
		}
		last = last[:r.IntN(len(last)+1)] + fmt.Sprint(r.IntN(1000))
		return parquet.ByteArrayValue([]byte(last))
	}
	rows := make([]parquet.Row, n)
	for i := range rows {
		switch {
		case r.IntN(10) == 0:
			rows[i] = parquet.Row{parquet.NullValue().Level(0, 0, 0)}
		case nested:
			for j := range 1 + r.IntN(3) {
				rows[i] = append(rows[i], value().Level(min(j, 1), 1, 0))
			}
		default:
			rows[i] = parquet.Row{value().Level(0, 1, 0)}
		}
	}
	return rows
}

func TestReadsEncodings(t *testing.T) {
	types := []parquet.Type{
		parquet.BooleanType, parquet.Int32Type, parquet.Int64Type, parquet.FloatType, parquet.DoubleType, parquet.ByteArrayType,
		parquet.FixedLenByteArrayType(7), parquet.FixedLenByteArrayType(16),
	}
	encodings := []encoding.Encoding{
		&parquet.Plain, &parquet.RLEDictionary, &parquet.DeltaBinaryPacked, &parquet.DeltaLengthByteArray, &parquet.DeltaByteArray, &parquet.ByteStreamSplit,
	}
	for _, typ := range types {
		for _, enc := range encodings {
			if !encodes(typ, enc) {
				continue
			}
			for _, version := range []int{1, 2} {
				for _, nested := range []bool{false, true} {
					t.Run(fmt.Sprintf("%v/%v/v%d/nested=%v", typ, enc, version, nested), func(t *testing.T) {
						checkForeign(t, foreign(t, typ, enc, &parquet.Uncompressed, version, nested, foreignRows(typ, nested, 5000)))
					})
				}
			}
		}
	}
}

// encodes tells which encodings parquet-go can write for which types.
func encodes(typ parquet.Type, enc encoding.Encoding) bool {
	switch enc {
	case &parquet.DeltaBinaryPacked:
		return typ.Kind() == parquet.Int32 || typ.Kind() == parquet.Int64
	case &parquet.DeltaLengthByteArray:
		return typ.Kind() == parquet.ByteArray
	case &parquet.DeltaByteArray:
		return typ.Kind() == parquet.ByteArray || typ.Kind() == parquet.FixedLenByteArray
	case &parquet.ByteStreamSplit:
		return typ.Kind() != parquet.Boolean && typ.Kind() != parquet.ByteArray
	}
	return true
}

func TestReadsCodecs(t *testing.T) {
	for _, codec := range []pqcompress.Codec{
		&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Brotli, &parquet.Zstd, &parquet.Lz4Raw,
	} {
		for _, version := range []int{1, 2} {
			t.Run(fmt.Sprintf("%v/v%d", codec, version), func(t *testing.T) {
				checkForeign(t, foreign(t, parquet.ByteArrayType, &parquet.Plain, codec, version, false, foreignRows(parquet.ByteArrayType, false, 5000)))
			})
		}
	}
}

// checkForeign compares what this package reads with what parquet-go does.
func checkForeign(t *testing.T, data []byte) {
	t.Helper()
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	want, err := readParquetGo(data, f.Schema)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readOurs(data)
	if err != nil {
		t.Fatal(err)
	}
	if d := differs(f.Schema, want, got); d != "" {
		t.Fatal(d)
	}
}

// TestRowsAcrossPages cuts a repeated column in pages wherever it likes, as version 1 pages may.
func TestRowsAcrossPages(t *testing.T) {
	m := message(t, list("l", text(leafElement("element", format.Optional, format.ByteArray, 0))))
	l := m.Leaves[0]
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		g := &generator{Rand: r, leaf: l.Leaf, path: pathOf(m, l), nulls: 0.2, distinct: 9, length: 8}
		v := column.New(l.Leaf)
		g.rows(v, 1+r.IntN(40))
		dict := newDictionary(l.Leaf, nil)
		indexes := dict.indexed(v)
		var buf bytes.Buffer
		w := NewChunkWriter(&buf, l, ChunkOptions{Dictionary: dict.values})
		fallback := r.IntN(v.Entries() + 1) // where pages become plain
		for e, val := 0, 0; e < v.Entries(); {
			p := &Page{Vector: v, Dict: e < fallback}
			if p.Dict {
				p.Vector = indexes
			}
			to := min(e+1+r.IntN(12), v.Entries())
			values := count(v.Def[e:to], l.Leaf.MaxDef)
			part := column.New(p.Vector.Leaf)
			part.Append(p.Vector, column.Span{E0: e, E1: to, V0: val, V1: val + values})
			unchecked(t, w, &Page{Vector: part, Dict: p.Dict})
			e, val = to, val+values
		}
		c, err := w.Close(nil)
		if err != nil {
			t.Fatal(err)
		}
		data := fileOf(t, m, []Group{{c}}, [][]*bytes.Buffer{{&buf}})
		got, err := readOurs(data)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if d := differs(m, table{{v}}, got); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
	}
}

// unchecked writes a page that need not begin with a row.
func unchecked(t *testing.T, w *ChunkWriter, p *Page) {
	t.Helper()
	if len(p.Vector.Rep) == 0 {
		return
	}
	first := p.Vector.Rep[0]
	if first == 0 {
		if err := w.WritePage(p); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := w.writeUnchecked(p); err != nil {
		t.Fatal(err)
	}
}

func TestChunkErrors(t *testing.T) {
	m := message(t, shapes[2])
	data := simpleFile(t, m)
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Chunk(0, 1); err == nil {
		t.Error("a chunk of a column that is not there was opened")
	}
	f.Meta.RowGroups[0].Columns[0].MetaData.Codec = format.LZO
	if _, err := f.Chunk(0, 0); !errors.Is(err, ErrUnsupported) {
		t.Errorf("LZO: %v", err)
	}
}

// simpleFile is a file of 100 rows of a schema's columns.
func simpleFile(t testing.TB, m *schema.Message) []byte {
	t.Helper()
	var g Group
	var bodies []*bytes.Buffer
	for i, l := range m.Leaves {
		v := column.New(l.Leaf)
		(&generator{Rand: rand.New(rand.NewPCG(1, uint64(i))), leaf: l.Leaf, path: pathOf(m, l), nulls: 0.1, length: 5}).rows(v, 100)
		buf := &bytes.Buffer{}
		w := NewChunkWriter(buf, l, ChunkOptions{Codec: format.Snappy})
		if err := w.WriteRows(&Page{Vector: v}); err != nil {
			t.Fatal(err)
		}
		mm := NewMinMax(l.Scalar)
		mm.AddVector(v)
		c, err := w.Close(mm)
		if err != nil {
			t.Fatal(err)
		}
		g, bodies = append(g, c), append(bodies, buf)
	}
	return fileOf(t, m, []Group{g}, [][]*bytes.Buffer{bodies})
}

// TestDamage flips bytes all over a file: each flip is an error or changes values, and never anything worse.
func TestDamage(t *testing.T) {
	m := message(t, shapes[2], shapes[7], shapes[11])
	data := simpleFile(t, m)
	want, err := readOurs(data)
	if err != nil {
		t.Fatal(err)
	}
	silent := 0
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 1 << (i % 8)
		got, err := readOurs(bad)
		switch {
		case err == nil && differs(m, want, got) != "":
			silent++
		case err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) && !errors.Is(err, ErrTooLarge):
			t.Fatalf("byte %d: %v", i, err)
		}
	}
	// Pages have checksums, but the footer has none.
	if silent > 20 {
		t.Errorf("%d of %d flipped bits gave other values without an error", silent, len(data))
	}
	for i := range data {
		if _, err := readOurs(data[:i]); err == nil {
			t.Fatalf("the first %d of %d bytes were read as a file", i, len(data))
		}
	}
}

func TestReadErrorsPassThrough(t *testing.T) {
	data := simpleFile(t, message(t, shapes[3]))
	broken := errors.New("disk on fire")
	if _, err := Open(failing{broken}, int64(len(data))); !errors.Is(err, broken) || errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

type failing struct{ err error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }

var _ io.ReaderAt = failing{}

// TestReadsPyarrow reads what pyarrow 26 wrote, in encodings and nestings that Hudi's writers don't use, and compares it with what pyarrow read: the JSON
// files have the number of entries and values of each column, and a hash of its values, each after four bytes of its length.
func TestReadsPyarrow(t *testing.T) {
	for _, name := range []string{"pyarrow_v1", "pyarrow_v2"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".parquet"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var want []struct {
			Column          string
			Entries, Values int
			SHA256          string
		}
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		f, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := readFile(f)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, v := range got.joined(f.Schema)[0] {
			sum := sha256.New()
			for j := range v.Values() {
				sum.Write(i32(int32(len(v.Value(j)))))
				sum.Write(v.Value(j))
			}
			w := want[i]
			if w.Column != strings.Join(f.Schema.Leaves[i].Path, ".") || w.Entries != v.Entries() || w.Values != v.Values() || w.SHA256 != hex.EncodeToString(sum.Sum(nil)) {
				t.Errorf("%s: column %v differs from what pyarrow reads: %d entries and %d values, expected %+v", name, f.Schema.Leaves[i].Path, v.Entries(), v.Values(), w)
			}
		}
	}
}
