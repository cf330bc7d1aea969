package pqfile

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// chunkOf writes some rows of zeros.
func chunkOf(t testing.TB, l *schema.Node, rows int) (*Chunk, *bytes.Buffer) {
	t.Helper()
	buf := &bytes.Buffer{}
	w := NewChunkWriter(buf, l, ChunkOptions{})
	v := column.New(l.Leaf)
	for range rows {
		v.AppendLevels(0, l.Leaf.MaxDef)
		v.AppendValue(make([]byte, l.Leaf.Width()))
	}
	if err := w.WriteRows(&Page{Vector: v}); err != nil {
		t.Fatal(err)
	}
	c, err := w.Close(nil)
	if err != nil {
		t.Fatal(err)
	}
	return c, buf
}

func TestFooterRefuses(t *testing.T) {
	m := message(t, shapes[2], shapes[3])
	a, _ := chunkOf(t, m.Leaves[0], 3)
	b, _ := chunkOf(t, m.Leaves[1], 3)
	more, _ := chunkOf(t, m.Leaves[1], 4)
	none, _ := chunkOf(t, m.Leaves[0], 0)
	for name, g := range map[string]Group{
		"a missing column":   {a},
		"columns in reverse": {b, a},
		"unequal columns":    {a, more},
		"no rows":            {none, b},
	} {
		groups := []Group{g}
		Place(groups, int64(len(Head)))
		if _, err := Footer(m, groups); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	groups := []Group{{a, b}}
	Place(groups, int64(len(Head)))
	a.Offset, b.Offset = b.Offset, a.Offset
	if _, err := Footer(m, groups); err == nil {
		t.Error("a first column that is not first in the file: no error")
	}
	Place(groups, 0)
	if _, err := Footer(m, groups); err == nil {
		t.Error("chunks over the head: no error")
	}
}

// Bounds that only some row groups have are taken for those of all.
func TestBoundsOfSomeRowGroups(t *testing.T) {
	m := message(t, shapes[2], shapes[7])
	number, texts := m.Leaves[0], m.Leaves[1]
	if number.Leaf.Kind != column.Int32 || texts.Leaf.Kind != column.Bytes {
		t.Fatalf("shapes of %v and %v", number.Leaf.Kind, texts.Leaf.Kind)
	}
	type bounds struct{ given, exact bool }
	for _, c := range []struct {
		name          string
		second        func(c *Chunk)
		number, texts []bounds // by row group
	}{
		{"all have them", func(*Chunk) {}, []bounds{{true, true}, {true, true}}, []bounds{{true, true}, {true, true}}},
		{"the second lacks them", func(c *Chunk) {
			c.meta.Statistics = Statistics{NullCount: thrift.New(int64(0))}
		}, []bounds{{}, {}}, []bounds{{true, false}, {}}},
		{"the second is all null", func(c *Chunk) {
			c.meta.Statistics = Statistics{NullCount: thrift.New(c.meta.NumValues)}
		}, []bounds{{true, true}, {}}, []bounds{{true, true}, {}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var groups []Group
			for i := range 2 {
				a, _ := chunkOf(t, number, 3)
				b, _ := chunkOf(t, texts, 3)
				for _, chunk := range []*Chunk{a, b} {
					chunk.meta.Statistics = Statistics{
						NullCount: thrift.New(int64(0)), MinValue: i32(0), MaxValue: i32(0), IsMinExact: thrift.New(true), IsMaxExact: thrift.New(true),
					}
					if i == 1 {
						c.second(chunk)
					}
				}
				groups = append(groups, Group{a, b})
			}
			Place(groups, int64(len(Head)))
			b, err := Footer(m, groups)
			if err != nil {
				t.Fatal(err)
			}
			var meta FileMetaData
			if err := decodeThrift(b, &meta); err != nil {
				t.Fatal(err)
			}
			for g := range meta.RowGroups {
				for leaf, want := range [][]bounds{c.number, c.texts} {
					st := meta.RowGroups[g].Columns[leaf].MetaData.Statistics
					got := bounds{st.MinValue != nil && st.MaxValue != nil, st.IsMinExact.V && st.IsMaxExact.V}
					if got != want[g] {
						t.Errorf("row group %d, column %d: %+v, want %+v", g, leaf, got, want[g])
					}
				}
			}
		})
	}
}

func TestFinishKeepsItsPromise(t *testing.T) {
	m := message(t, shapes[2])
	c, buf := chunkOf(t, m.Leaves[0], 3)
	groups := []Group{{c}}
	end := Place(groups, int64(len(Head)))
	foot, err := Footer(m, groups)
	if err != nil {
		t.Fatal(err)
	}
	least := end + int64(len(foot))
	for _, size := range []int64{least, least + 1, least + 1<<20} {
		data := sparse(t, append([]byte("....")[:4:4], buf.Bytes()...), size, m, groups)
		v := column.New(m.Leaves[0].Leaf)
		for range 3 {
			v.AppendLevels(0, 1)
			v.AppendValue(i32(0))
		}
		verify(t, data, m, table{{v}})
	}
	tmp, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer tmp.Close()
	if err := Finish(tmp, least-1, m, groups); !errors.Is(err, ErrOverflow) {
		t.Errorf("a byte too few: %v", err)
	}
}

func TestFileWithoutRows(t *testing.T) {
	m := message(t, shapes[2], shapes[7], shapes[11])
	bound, err := FooterBound(m, 0)
	if err != nil {
		t.Fatal(err)
	}
	data := sparse(t, nil, bound+int64(len(Head)), m, nil)
	verify(t, data, m, nil)
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil || f.NumRows != 0 || f.Groups() != 0 || !f.Schema.Admits(m) {
		t.Errorf("read back as %+v: %v", f, err)
	}
}

func TestWriterRefuses(t *testing.T) {
	m := message(t, shapes[2], shapes[11])
	flat, nested := m.Leaves[0], m.Leaves[1]
	ints := column.New(flat.Leaf)
	ints.AppendLevels(0, 1)
	ints.AppendValue(i32(1))
	missing := column.New(flat.Leaf)
	missing.AppendLevels(0, 1)
	middle := column.New(nested.Leaf)
	middle.AppendLevels(1, 0)
	numbers := column.New(indexLeaf(nested.Leaf))
	numbers.AppendLevels(0, nested.Leaf.MaxDef)
	numbers.AppendValue(i32(0))
	for name, c := range map[string]struct {
		leaf *schema.Node
		page Page
	}{
		"another type":                {nested, Page{Vector: ints}},
		"levels without their values": {flat, Page{Vector: missing}},
		"a row's middle":              {nested, Page{Vector: middle}},
		"indexes of nothing":          {nested, Page{Vector: numbers, Dict: true}},
	} {
		w := NewChunkWriter(&bytes.Buffer{}, c.leaf, ChunkOptions{})
		if err := w.WritePage(&c.page); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := w.Close(nil); err == nil {
			t.Errorf("%s: closed without an error", name)
		}
	}
	w := NewChunkWriter(&bytes.Buffer{}, flat, ChunkOptions{Codec: format.Brotli})
	if err := w.WritePage(&Page{Vector: ints}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("brotli: %v", err)
	}
}

// TestColumnOfNulls writes what parquet-mr writes for it: dictionary pages without a dictionary.
func TestColumnOfNulls(t *testing.T) {
	m := message(t, shapes[7])
	l := m.Leaves[0]
	v := column.New(indexLeaf(l.Leaf))
	v.AppendNulls(100)
	var buf bytes.Buffer
	w := NewChunkWriter(&buf, l, ChunkOptions{Dictionary: column.New(column.Leaf{Kind: column.Bytes})})
	w.o.Dictionary = column.New(column.Leaf{Kind: column.Bytes}) // which NewChunkWriter left out
	w.chunk.Size = 1                                             // keeps the dictionary page from being written
	if err := w.WritePage(&Page{Vector: v, Dict: true}); err != nil {
		t.Fatal(err)
	}
	w.chunk.Size--
	c, err := w.Close(nil)
	if err != nil {
		t.Fatal(err)
	}
	data := fileOf(t, m, []Group{{c}}, [][]*bytes.Buffer{{&buf}})
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Chunk(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Next()
	if err != nil || !p.Dict || p.Rows != 100 || r.Dictionary() == nil || r.Dictionary().Values() != 0 {
		t.Fatalf("page %+v, dictionary %+v: %v", p, r.Dictionary(), err)
	}
	// And it can be written again as it was read.
	buf.Reset()
	w = NewChunkWriter(&buf, l, ChunkOptions{Dictionary: r.Dictionary()})
	if err := w.WritePage(p); err != nil {
		t.Fatal(err)
	}
	if c, err = w.Close(NewMinMax(l.Scalar)); err != nil {
		t.Fatal(err)
	}
	want := column.New(l.Leaf)
	want.AppendNulls(100)
	verify(t, fileOf(t, m, []Group{{c}}, [][]*bytes.Buffer{{&buf}}), m, table{{want}})
}

// TestNewChunksAreBounded writes chunks without a source, and ones that take only the structure of one.
func TestNewChunksAreBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := message(t, rapid.SampledFrom(shapes).Draw(rt, "shape"))
		l := m.Leaves[0]
		v := column.New(l.Leaf)
		drawGenerator(rt, m, l).rows(v, rapid.SampledFrom([]int{1, 7, 1000, PageRows + 1}).Draw(rt, "rows"))
		nulls := rapid.SampledFrom([]int{0, 1, 50_000}).Draw(rt, "nulls added")
		add := Added{Rows: int64(v.Rows() + nulls), Values: int64(v.Entries()), Bytes: int64(len(v.Buf)), Nulls: int64(nulls)}
		v.AppendNulls(nulls)
		if l.Leaf.MaxDef == 0 && nulls > 0 {
			rt.Skip("no nulls here")
		}
		dict := newDictionary(l.Leaf, nil)
		p := &Page{Vector: v, Dict: rapid.Bool().Draw(rt, "dictionary") && l.Leaf.Kind != column.Bool}
		if p.Dict {
			p.Vector = dict.indexed(v)
		}
		w := NewChunkWriter(&bytes.Buffer{}, l, ChunkOptions{Codec: rapid.SampledFrom(codecs).Draw(rt, "codec"), Dictionary: dict.values})
		if err := w.WriteRows(p); err != nil {
			rt.Fatal(err)
		}
		c, err := w.Close(nil)
		if err != nil {
			rt.Fatal(err)
		}
		if most := NewChunkBound(l, add); c.Size > most {
			rt.Fatalf("%d bytes, promised %d", c.Size, most)
		}
	})
}

// TestStructureIsBounded takes the levels of a column of many small pages, and no values.
func TestStructureIsBounded(t *testing.T) {
	m := message(t, shapes[11], shapes[2])
	l, to := m.Leaves[0], m.Leaves[1]
	v := column.New(l.Leaf)
	(&generator{Rand: rand.New(rand.NewPCG(1, 1)), leaf: l.Leaf, path: pathOf(m, l), length: 9}).rows(v, 5000)
	one := message(t, shapes[11])
	var buf bytes.Buffer
	w := NewChunkWriter(&buf, l, ChunkOptions{})
	x := column.NewIndex(v)
	for i := range 5000 {
		row := column.New(l.Leaf)
		row.Append(v, x.Span(i, i+1))
		if err := w.WritePage(&Page{Vector: row}); err != nil {
			t.Fatal(err)
		}
	}
	c, err := w.Close(nil)
	if err != nil {
		t.Fatal(err)
	}
	data := fileOf(t, one, []Group{{c}}, [][]*bytes.Buffer{{&buf}})
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	w = NewChunkWriter(&bytes.Buffer{}, to, ChunkOptions{})
	nulls := column.New(to.Leaf)
	nulls.AppendNulls(1)
	for range 5000 {
		if err := w.WritePage(&Page{Vector: nulls}); err != nil {
			t.Fatal(err)
		}
	}
	if c, err = w.Close(nil); err != nil {
		t.Fatal(err)
	}
	if most := f.StructureBound(0, 0, to, Added{}); c.Size > most {
		t.Errorf("%d bytes, promised %d", c.Size, most)
	}
}

// TestThriftIsWalked has structures that would make the decoder allocate or recurse without end.
func TestThriftIsWalked(t *testing.T) {
	list := func(head ...byte) []byte { return append(head, bytes.Repeat([]byte{0}, 1000)...) }
	for name, b := range map[string][]byte{
		"nested without end":        bytes.Repeat([]byte{0x1C}, 1<<20),
		"lists of lists":            bytes.Repeat([]byte{0x19}, 1<<20),
		"list longer than its file": list(0x29, 0xFC, 0xFF, 0xFF, 0xFF, 0x07),
		"list of nothing":           list(0x29, 0xFC, 0xE0, 0x07),
		"long text":                 {0x48, 0xFF, 0xFF, 0xFF, 0x07},
		"number without end":        bytes.Repeat([]byte{0x16, 0xFF}, 20),
		"map":                       list(0x1B, 0x10, 0x88),
	} {
		if _, err := thriftLen(b); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if n, err := thriftLen([]byte{0x15, 0x02, 0x00, 0xFF}); n != 3 || err != nil {
		t.Errorf("a structure of 3 bytes: %d, %v", n, err)
	}
	if !strings.HasPrefix(createdBy, "hudifs version ") || !strings.HasSuffix(createdBy, ")") {
		t.Error("parquet-mr does not parse created_by, and ignores statistics then")
	}
}

// TestWorkedExample keeps the package's documentation true.
func TestWorkedExample(t *testing.T) {
	m := message(t, []element{text(leafElement("s", format.Optional, format.ByteArray, 0))})
	l := m.Leaves[0]
	v := column.New(l.Leaf)
	v.AppendLevels(0, 1)
	v.AppendValue([]byte("a"))
	v.AppendNulls(1)
	v.AppendLevels(0, 1)
	v.AppendValue([]byte("bc"))
	var buf bytes.Buffer
	w := NewChunkWriter(&buf, l, ChunkOptions{})
	if err := w.WriteRows(&Page{Vector: v}); err != nil {
		t.Fatal(err)
	}
	mm := NewMinMax(l.Scalar)
	mm.AddVector(v)
	c, err := w.Close(mm)
	if err != nil {
		t.Fatal(err)
	}
	data := fileOf(t, m, []Group{{c}}, [][]*bytes.Buffer{{&buf}})
	verify(t, data, m, table{{v}})
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^//\t([0-9a-f]{2})  ((?:[0-9a-f]{2} )+)`).FindAllSubmatch(doc, -1)
	for _, line := range lines {
		at, _ := strconv.ParseInt(string(line[1]), 16, 64)
		want, _ := hex.DecodeString(strings.ReplaceAll(string(line[2]), " ", ""))
		if !bytes.HasPrefix(data[at:], want) {
			t.Errorf("offset %x: %x, the documentation has %x", at, data[at:at+int64(len(want))], want)
		}
	}
	if len(lines) != 13 {
		t.Errorf("%d lines of bytes in the documentation", len(lines))
	}
}
