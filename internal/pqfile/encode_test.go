package pqfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"

	"github.com/hudifs/hudifs/internal/column"
)

// runs draws numbers below top in the patterns that are worst for a run-length encoder: lone groups of eight equal ones among others.
func runs(t *rapid.T, top int) []uint32 {
	var out []uint32
	for range rapid.IntRange(0, 30).Draw(t, "runs") {
		n := rapid.SampledFrom([]int{1, 7, 8, 9, 16, 64, 504, 4096}).Draw(t, "length")
		v := uint32(rapid.IntRange(0, top-1).Draw(t, "value"))
		mixed := rapid.Bool().Draw(t, "mixed")
		for i := range n {
			x := v
			if mixed {
				x = uint32((int(v) + i) % top)
			}
			out = append(out, x)
		}
	}
	return out
}

func TestLevelsAreBoundedAndReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := rapid.IntRange(1, 255).Draw(t, "top")
		var levels []byte
		for _, x := range runs(t, top+1) {
			levels = append(levels, byte(x))
		}
		b, err := encodeLevels(nil, levels, uint8(top))
		if err != nil {
			t.Fatal(err)
		}
		if got, most := int64(len(b))+4, levelsBound(int64(len(levels)), uint8(top)); got > most {
			t.Fatalf("%d levels up to %d took %d bytes, at most %d were promised", len(levels), top, got, most)
		}
		back, err := appendLevels(nil, b, uint8(top), len(levels), false)
		if err != nil || !bytes.Equal(back, levels) {
			t.Fatalf("levels read back differ: %v", err)
		}
	})
}

func TestIndexesAreBoundedAndReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{1, 2, 3, 255, 256, 257, 65537, 1 << 20, 1 << 31}).Draw(t, "size")
		indexes := runs(t, size)
		var raw []byte
		for _, x := range indexes {
			raw = binary.LittleEndian.AppendUint32(raw, x)
		}
		b, err := encodeIndexes(nil, raw)
		if err != nil {
			t.Fatal(err)
		}
		if got, most := int64(len(b)), indexesBound(int64(len(indexes)), int64(size)); got > most {
			t.Fatalf("%d indexes below %d took %d bytes, at most %d were promised", len(indexes), size, got, most)
		}
		back, err := appendIndexes(nil, b, len(indexes), size)
		if err != nil || !bytes.Equal(back, raw) {
			t.Fatalf("indexes read back differ: %v", err)
		}
	})
}

func TestBits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 70 {
		v := make([]byte, n)
		for i := range v {
			v[i] = byte(r.IntN(2))
		}
		packed := packBits(nil, v)
		if len(packed) != (n+7)/8 || !bytes.Equal(unpackBits(nil, packed, n), v) {
			t.Fatalf("%d bits differ after packing", n)
		}
	}
}

// TestHybridIsChecked has streams that claim more than they hold: none may reach the decoder, which would allocate it.
func TestHybridIsChecked(t *testing.T) {
	for name, src := range map[string][]byte{
		"empty":                     {},
		"run beyond the values":     binary.AppendUvarint(nil, 1<<40),
		"huge run":                  append(binary.AppendUvarint(nil, 1<<31<<1), 1),
		"huge packed run":           append(binary.AppendUvarint(nil, 1<<31<<1|1), 1),
		"packed run without bytes":  {3<<1 | 1},
		"run without a value":       {20 << 1},
		"head of more than 64 bits": bytes.Repeat([]byte{0xFF}, 11),
	} {
		if _, err := appendLevels(nil, src, 1, 20, false); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	// A last run without its padding: 20 levels of 1 bit in 3 groups, of which only 20 bits are there.
	got, err := appendLevels(nil, []byte{3<<1 | 1, 0xFF, 0xFF, 0x0F}, 1, 20, false)
	if err != nil || count(got, 1) != 20 {
		t.Errorf("whole run: %v", err)
	}
	short := append([]byte{3<<1 | 1}, bytes.Repeat([]byte{0xFF}, 8)...) // 20 levels of 3 bits: 8 bytes of 9
	if got, err = appendLevels(nil, short, 7, 20, false); err != nil || count(got, 7) != 20 {
		t.Errorf("run without its padding: %v", err)
	}
	if _, err := appendLevels(nil, []byte{20 << 1, 3}, 2, 20, false); err == nil {
		t.Error("a level above the column's was taken")
	}
	if _, err := appendIndexes(nil, []byte{2, 20 << 1, 3}, 20, 3); err == nil {
		t.Error("an index beyond the dictionary was taken")
	}
	if _, err := appendIndexes(nil, []byte{33, 20 << 1, 3}, 20, 3); err == nil {
		t.Error("indexes of 33 bits were taken")
	}
}

func TestDeltaIsChecked(t *testing.T) {
	head := func(block, minis, total uint64, first int64) []byte {
		b := binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil, block), minis), total)
		return binary.AppendVarint(b, first)
	}
	for name, src := range map[string][]byte{
		"empty":           {},
		"other count":     head(128, 4, 1<<30, 0),
		"no blocks":       head(0, 4, 100, 0),
		"huge blocks":     head(1<<30, 4, 100, 0),
		"no parts":        head(128, 0, 100, 0),
		"missing":         head(128, 4, 100, 0),
		"too many bits":   append(head(128, 4, 100, 0), append([]byte{0, 200, 0, 0, 0}, make([]byte, 4000)...)...),
		"bits are absent": append(head(128, 4, 100, 0), 0, 32, 0, 0, 0),
	} {
		if _, err := deltaNumbers(src, 100, 4); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := deltaNumbers(src, 100, 8); err == nil {
			t.Errorf("%s: no error for 8 bytes", name)
		}
	}
	// 100 strings of 1 MiB in a few bytes.
	bomb := deltaStream([]int32{0}, 1<<20, 99)
	bomb = append(bomb, deltaStream([]int32{1 << 20}, 0, 99)...)
	bomb = append(bomb, make([]byte, 1<<20)...)
	v := column.New(column.Leaf{Kind: column.Bytes})
	if err := appendValues(v, bomb, 100, format.DeltaByteArray, 1<<24); !errors.Is(err, ErrTooLarge) {
		t.Errorf("expanding strings: %v", err)
	}
	if err := appendValues(column.New(column.Leaf{Kind: column.Bytes}), bomb, 100, format.DeltaByteArray, 1<<27); err != nil {
		t.Errorf("expanding strings within the limit: %v", err)
	}
}

// deltaStream packs some numbers and then one of them many times.
func deltaStream(numbers []int32, again int32, times int) []byte {
	for range times {
		numbers = append(numbers, again)
	}
	b := binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil, 128), 4), uint64(len(numbers)))
	b = binary.AppendVarint(b, int64(numbers[0]))
	for block := range slices.Chunk(numbers[1:], 128) {
		least := int64(1) << 40
		last := numbers[0]
		for _, n := range block {
			least, last = min(least, int64(n)-int64(last)), n
		}
		b = append(binary.AppendVarint(b, least), 32, 32, 32, 32)
		for i := range 128 {
			d := uint32(0)
			if i < len(block) {
				d = uint32(int64(block[i]) - int64(numbers[0]) - least)
				numbers[0] = block[i]
			}
			b = binary.LittleEndian.AppendUint32(b, d)
		}
	}
	return b
}

func TestCodecsAreBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, size := range []int{0, 1, 100, 65535, 65536, 300_000} {
		noise, same := make([]byte, size), make([]byte, size)
		for i := range noise {
			noise[i] = byte(r.Uint32())
		}
		for _, codec := range codecs {
			for _, src := range [][]byte{noise, same} {
				out, err := compress(codec, nil, src)
				if err != nil {
					t.Fatal(err)
				}
				if int64(len(out)) > codecBound(int64(size)) {
					t.Errorf("%v made %d bytes of %d", codec, len(out), size)
				}
				checkCodec(t, codec, out, src)
				if codec == format.Uncompressed {
					continue
				}
				if out, err = stored(codec, nil, src); err != nil || int64(len(out)) > codecBound(int64(size)) {
					t.Errorf("%v stored %d bytes in %d: %v", codec, size, len(out), err)
				}
				checkCodec(t, codec, out, src)
			}
		}
	}
}

func checkCodec(t *testing.T, codec format.CompressionCodec, out, src []byte) {
	t.Helper()
	dst := make([]byte, len(src))
	if err := decompress(codec, dst, out); err != nil || !bytes.Equal(dst, src) {
		t.Errorf("%v: %d bytes come back different: %v", codec, len(src), err)
	}
	if err := decompress(codec, make([]byte, len(src)+1), out); err == nil {
		t.Errorf("%v: %d bytes were taken for one more", codec, len(src))
	}
	if len(src) > 0 {
		if err := decompress(codec, make([]byte, len(src)-1), out); err == nil {
			t.Errorf("%v: %d bytes were taken for one less", codec, len(src))
		}
	}
}

// TestBytesNeverChange has the hashes of files. Other bytes for the same rows mean that sizes and names of rendered files change: then the render
// version has to be raised.
func TestBytesNeverChange(t *testing.T) {
	want := map[format.CompressionCodec]string{
		format.Uncompressed: "7309818a825f2814",
		format.Snappy:       "d0a7eb84c7cf383b",
		format.Zstd:         "4cf31a49a2b8af01",
		format.Gzip:         "1b3bc9884a155ca6",
	}
	m := message(t, shapes[3], shapes[7], shapes[12])
	for codec, hash := range want {
		var g Group
		var bodies []*bytes.Buffer
		for i, l := range m.Leaves {
			v := column.New(l.Leaf)
			(&generator{Rand: rand.New(rand.NewPCG(1, uint64(i))), leaf: l.Leaf, path: pathOf(m, l), nulls: 0.1, distinct: 40, length: 30}).rows(v, 50_000)
			dict := newDictionary(l.Leaf, nil)
			p := &Page{Vector: v}
			if i == 1 {
				p = &Page{Vector: dict.indexed(v), Dict: true}
			}
			buf := &bytes.Buffer{}
			w := NewChunkWriter(buf, l, ChunkOptions{Codec: codec, Dictionary: dict.values})
			if err := w.WriteRows(p); err != nil {
				t.Fatal(err)
			}
			c, err := w.Close(nil)
			if err != nil {
				t.Fatal(err)
			}
			g, bodies = append(g, c), append(bodies, buf)
		}
		sum := sha256.Sum256(fileOf(t, m, []Group{g}, [][]*bytes.Buffer{bodies}))
		if got := hex.EncodeToString(sum[:8]); got != hash {
			t.Errorf("%v: hash %s, expected %s", codec, got, hash)
		}
	}
}
