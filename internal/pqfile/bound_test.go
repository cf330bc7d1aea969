package pqfile

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// rewriter stands in for a merge: it leaves rows out, replaces others, adds some, and keeps every page what it was.
type rewriter struct {
	*rand.Rand
	deleted, updated float64
	inserted         int
	gen              *generator
	codec            format.CompressionCodec

	// in and out are the bytes of source chunks and of new ones.
	in, out int64
}

// chunk writes a chunk of f anew, and returns it with its bound and the values it holds.
func (w *rewriter) chunk(f *File, group, leaf int, buf *bytes.Buffer) (*Chunk, int64, *column.Vector, error) {
	l := f.Schema.Leaves[leaf]
	pages, dict, err := w.pages(f, group, leaf)
	if err != nil {
		return nil, 0, nil, err
	}
	var add Added
	added := func(v *column.Vector) {
		add.Rows += int64(v.Rows())
		add.Values += int64(v.Entries())
		for i := range v.Values() {
			add.Bytes += int64(len(v.Value(i)))
		}
	}
	all := column.New(l.Leaf)
	m := NewMinMax(l.Scalar)
	m.AddChunk(f, group, leaf, nil)
	indexed := false
	for _, p := range pages {
		indexed = indexed || p.Dict
		plain := column.New(l.Leaf)
		if err := materialiseTest(plain, p, dict); err != nil {
			return nil, 0, nil, err
		}
		edited := column.New(l.Leaf)
		x := column.NewIndex(plain)
		for i := range x.Rows() {
			switch r := w.Float64(); {
			case r < w.deleted:
			case r < w.deleted+w.updated:
				fresh := column.New(l.Leaf)
				w.gen.rows(fresh, 1)
				added(fresh)
				m.AddVector(fresh)
				edited.Append(fresh, fresh.All())
			default:
				edited.Append(plain, x.Span(i, i+1))
			}
		}
		all.Append(edited, edited.All())
		p.Vector = edited
		if p.Dict {
			p.Vector = dict.indexed(edited)
		}
	}
	fresh := column.New(l.Leaf)
	w.gen.rows(fresh, w.inserted)
	added(fresh)
	m.AddVector(fresh)
	all.Append(fresh, fresh.All())
	last := &Page{Vector: fresh, Dict: indexed}
	if indexed {
		last.Vector = dict.indexed(fresh)
	}
	cw := NewChunkWriter(buf, l, ChunkOptions{Codec: w.codec, Dictionary: dict.values})
	for _, p := range pages {
		if err := cw.WritePage(p); err != nil {
			return nil, 0, nil, err
		}
	}
	if err := cw.WriteRows(last); err != nil {
		return nil, 0, nil, err
	}
	c, err := cw.Close(m)
	if err != nil {
		return nil, 0, nil, err
	}
	bound, ok := f.ChunkBound(group, leaf, l, add)
	if !ok {
		bound = -1
	}
	w.in += f.Column(group, leaf).TotalCompressedSize
	w.out += c.Size
	return c, bound, all, nil
}

// pages reads all pages of a chunk into vectors of their own.
func (w *rewriter) pages(f *File, group, leaf int) ([]*Page, *dictionary, error) {
	r, err := f.Chunk(group, leaf)
	if err != nil {
		return nil, nil, err
	}
	var pages []*Page
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		v := column.New(p.Vector.Leaf)
		v.Append(p.Vector, p.Vector.All())
		pages = append(pages, &Page{Vector: v, Dict: p.Dict, Rows: p.Rows})
	}
	return pages, newDictionary(f.Schema.Leaves[leaf].Leaf, r.Dictionary()), nil
}

func materialiseTest(dst *column.Vector, p *Page, d *dictionary) error {
	if !p.Dict {
		dst.Append(p.Vector, p.Vector.All())
		return nil
	}
	dst.Rep, dst.Def = append(dst.Rep, p.Vector.Rep...), append(dst.Def, p.Vector.Def...)
	return gather(dst, d.values, p.Vector.Buf, maxPage)
}

// file writes a whole file anew at its promised size, which it returns.
func (w *rewriter) file(t testing.TB, data []byte) int64 {
	t.Helper()
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	m := f.Schema
	promised, err := FooterBound(m, f.Groups())
	if err != nil {
		t.Fatal(err)
	}
	promised += int64(len(Head))
	var groups []Group
	var want table
	out := bytes.NewBufferString(Head)
	for g := range f.Groups() {
		var group Group
		var vectors []*column.Vector
		seed := w.Uint64()
		var body bytes.Buffer
		for i, l := range m.Leaves {
			// Every column of a group must lose, get and change the same rows.
			w.Rand = rand.New(rand.NewPCG(seed, 3))
			w.gen.leaf, w.gen.path = l.Leaf, pathOf(m, l)
			w.gen.Rand = rand.New(rand.NewPCG(seed, uint64(i)))
			c, bound, v, err := w.chunk(f, g, i, &body)
			if err != nil {
				t.Fatal(err)
			}
			if e := encodingsOf(f.Column(g, i)); bound < 0 && e.dict && e.plain && l.Leaf.MaxRep > 0 && l.Leaf.Kind == column.Bytes {
				bound = c.Size // as it should be: a row may lie in pages of both kinds
			}
			if c.Size > bound {
				t.Fatalf("column %v: %d bytes, promised %d", l.Path, c.Size, bound)
			}
			promised += bound
			group, vectors = append(group, c), append(vectors, v)
		}
		if group[0].Rows > 0 {
			groups, want = append(groups, group), append(want, vectors)
			out.Write(body.Bytes())
		}
	}
	Place(groups, int64(len(Head)))
	verify(t, sparse(t, out.Bytes(), promised, m, groups), m, want)
	return promised
}

// sparse finishes a file through the file system, as the product does.
func sparse(t testing.TB, data []byte, size int64, m *schema.Message, groups []Group) []byte {
	t.Helper()
	tmp, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	if _, err := tmp.WriteAt(data, 0); err != nil {
		t.Fatal(err)
	}
	if err := Finish(tmp, size, m, groups); err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(tmp.Name())
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(out)) != size {
		t.Fatalf("file of %d bytes, promised %d", len(out), size)
	}
	return out
}

func drawRewriter(t *rapid.T) *rewriter {
	w := &rewriter{
		Rand:     rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "rewrite seed"), 2)),
		deleted:  rapid.SampledFrom([]float64{0, 0.1, 0.9, 1}).Draw(t, "deleted"),
		updated:  rapid.SampledFrom([]float64{0, 0.1, 1}).Draw(t, "updated"),
		inserted: rapid.SampledFrom([]int{0, 1, 500}).Draw(t, "inserted"),
		codec:    rapid.SampledFrom(codecs).Draw(t, "output codec"),
	}
	w.gen = &generator{
		nulls:    rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "new nulls"),
		distinct: rapid.SampledFrom([]int{0, 3}).Draw(t, "new distinct"),
		length:   rapid.SampledFrom([]int{0, 8, 1000}).Draw(t, "new length"),
	}
	return w
}

func TestNoFileExceedsItsPromise(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawFile(rt, t)
		drawRewriter(rt).file(t, d.data)
	})
}
