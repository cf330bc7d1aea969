package pqfile

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

var codecs = []format.CompressionCodec{format.Uncompressed, format.Snappy, format.Zstd, format.Gzip}

// drawn is a random file with what it holds.
type drawn struct {
	m      *schema.Message
	data   []byte
	want   table
	codec  format.CompressionCodec
	groups []Group
}

// drawGenerator draws how the values of a leaf are distributed.
func drawGenerator(t *rapid.T, m *schema.Message, l *schema.Node) *generator {
	return &generator{
		Rand:     rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)),
		leaf:     l.Leaf,
		path:     pathOf(m, l),
		nulls:    rapid.SampledFrom([]float64{0, 0.01, 0.3, 0.5, 1}).Draw(t, "nulls"),
		distinct: rapid.SampledFrom([]int{0, 1, 2, 5, 300}).Draw(t, "distinct"),
		length:   rapid.SampledFrom([]int{0, 1, 8, 40, 1000}).Draw(t, "length"),
	}
}

// drawFile draws a file of some of the shapes. Its pages are dictionary-encoded, plain, or first the one and then the other.
func drawFile(t *rapid.T, tb testing.TB) drawn {
	var fields [][]element
	for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(shapes)-1), 1, 4, rapid.ID).Draw(t, "columns") {
		fields = append(fields, shapes[i])
	}
	d := drawn{m: message(tb, fields...), codec: rapid.SampledFrom(codecs).Draw(t, "codec")}
	var bodies [][]*bytes.Buffer
	for range rapid.IntRange(1, 2).Draw(t, "groups") {
		rows := rapid.IntRange(1, 1500).Draw(t, "rows")
		var g Group
		var vectors []*column.Vector
		var body []*bytes.Buffer
		for _, l := range d.m.Leaves {
			v := column.New(l.Leaf)
			drawGenerator(t, d.m, l).rows(v, rows)
			buf := &bytes.Buffer{}
			g = append(g, writeDrawn(t, buf, l, v, d.codec))
			vectors, body = append(vectors, v), append(body, buf)
		}
		d.want, d.groups, bodies = append(d.want, vectors), append(d.groups, g), append(bodies, body)
	}
	d.data = fileOf(tb, d.m, d.groups, bodies)
	return d
}

// writeDrawn writes a vector in pages of random size.
func writeDrawn(t *rapid.T, buf *bytes.Buffer, l *schema.Node, v *column.Vector, codec format.CompressionCodec) *Chunk {
	rows := v.Rows()
	indexed := 0 // rows in dictionary pages
	if l.Leaf.Kind != column.Bool {
		indexed = rapid.SampledFrom([]int{0, rows / 2, rows}).Draw(t, "indexed")
	}
	size := rapid.IntRange(1, max(rows, 2)).Draw(t, "page rows")
	o := ChunkOptions{Codec: codec}
	dict := newDictionary(l.Leaf, nil)
	var pages []*Page
	for from := 0; from < rows; from += size {
		to := min(from+size, rows)
		p := &Page{Vector: span(v, from, to), Dict: to <= indexed}
		if p.Dict {
			p.Vector = dict.indexed(p.Vector)
		}
		pages = append(pages, p)
	}
	o.Dictionary = dict.values
	w := NewChunkWriter(buf, l, o)
	for _, p := range pages {
		if err := w.WritePage(p); err != nil {
			t.Fatal(err)
		}
	}
	m := NewMinMax(l.Scalar)
	m.AddVector(v)
	c, err := w.Close(m)
	if err != nil {
		t.Fatal(err)
	}
	if c.Size != int64(buf.Len()) {
		t.Fatalf("chunk of %d bytes claims %d", buf.Len(), c.Size)
	}
	return c
}

func TestWrittenFilesReadBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawFile(rt, t)
		verify(t, d.data, d.m, d.want)
	})
}
