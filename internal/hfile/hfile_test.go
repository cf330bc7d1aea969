package hfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/hudifs/hudifs/internal/hostiletest"
)

// goldens are files of the real writers: HBase as in Hudi 0.15, and Hudi 1.1's own. Each has as many entries as it says, of one rule.
var goldens = []struct {
	file    string
	codec   codec
	entries int
	levels  uint64
	prefix  string // of the keys
}{
	{"hbase_none", none, 60, 1, ""},
	{"hbase_gz", gz, 60, 1, ""},
	{"hbase_snappy", snap, 60, 1, ""},
	{"hbase_lz4", lz4Block, 60, 1, ""},
	{"hbase_none_levels", none, 150, 4, ""},
	{"hbase_gz_levels", gz, 150, 4, ""},
	{"native_none", none, 60, 1, ""},
	{"native_gz", gz, 60, 1, ""},
	{"native_long_keys", gz, 60, 1, strings.Repeat("k", 150)},
	{"native_empty", gz, 0, 1, ""},
}

func rule(i int) (key, value string) {
	return fmt.Sprintf("key%05d", i), fmt.Sprintf("value %d ", i) + strings.Repeat("again ", i%7)
}

func golden(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".hfile"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func open(t testing.TB, b []byte) *File {
	t.Helper()
	f, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// keep forgets what opening a file has read beyond its trailer.
func (f *File) keep(r io.ReaderAt) { f.r, f.tail, f.tailAt = r, nil, f.size }

func TestGoldens(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.file, func(t *testing.T) {
			f := open(t, golden(t, g.file))
			if f.codec != g.codec || f.Len() != uint64(g.entries) || f.levels != g.levels && g.entries > 0 || f.doubt != nil {
				t.Errorf("codec %v, %d entries, %d levels, doubt %v", f.codec, f.Len(), f.levels, f.doubt)
			}
			if got := string(f.Info("schema")); got != `"string"` {
				t.Errorf("schema %q", got)
			}
			n := 0
			for e, err := range f.All() {
				key, value := rule(n)
				if err != nil || string(e.Key) != g.prefix+key || string(e.Value) != value {
					t.Fatalf("entry %d: %q %q, %v", n, e.Key, e.Value, err)
				}
				n++
			}
			if n != g.entries {
				t.Errorf("%d entries", n)
			}
			for i := range n {
				key, want := rule(i)
				if v, ok, err := f.Get(g.prefix + key); !ok || err != nil || string(v) != want {
					t.Errorf("Get(%q) = %q, %v, %v", key, v, ok, err)
				}
			}
			for _, absent := range []string{"", "a", "key000", g.prefix + "key00007x", "zz"} {
				if v, ok, err := f.Get(absent); ok || err != nil {
					t.Errorf("Get(%q) = %q, %v, %v", absent, v, ok, err)
				}
			}
			for _, tt := range []struct {
				prefix string
				want   int
			}{{"", g.entries}, {"key0001", min(10, g.entries)}, {"key00059", min(1, g.entries)}, {"key9", 0}, {"a", 0}} {
				if got := count(t, f, g.prefix+tt.prefix); g.entries > 0 && got != tt.want {
					t.Errorf("%d entries with prefix %q, want %d", got, tt.prefix, tt.want)
				}
			}
		})
	}
}

func count(t *testing.T, f *File, prefix string) int {
	t.Helper()
	n := 0
	for e, err := range f.Prefix(prefix) {
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(e.Key), prefix) {
			t.Errorf("prefix %q gave %q", prefix, e.Key)
		}
		n++
	}
	return n
}

// The block that the package's documentation takes apart.
func TestDocumentedBlock(t *testing.T) {
	b := golden(t, "native_none")
	f := open(t, b)
	h, err := f.header(0, f.loadAt)
	if err != nil || h != (header{magic: dataMagic, next: 0x3e7, size: 962, each: 16384, end: 0x3e3}) {
		t.Errorf("%+v, %v", h, err)
	}
	for e, err := range f.All() {
		if err != nil || string(e.Key) != "key00000" || string(e.Value) != "value 0 " || !bytes.Equal(e.Value, b[0x3d:0x45]) {
			t.Errorf("%q %q, %v", e.Key, e.Value, err)
		}
		break
	}
}

type counting struct {
	io.ReaderAt
	reads, bytes int
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	c.reads++
	c.bytes += len(p)
	return c.ReaderAt.ReadAt(p, off)
}

func TestLookupReadsFewBlocks(t *testing.T) {
	for _, name := range []string{"native_none", "hbase_none_levels", "hbase_gz_levels"} {
		b := golden(t, name)
		f := open(t, b)
		c := &counting{ReaderAt: bytes.NewReader(b)}
		f.keep(c)
		if _, ok, err := f.Get("key00042"); !ok || err != nil {
			t.Fatalf("%s: %v, %v", name, ok, err)
		}
		if limit := 3000; c.bytes > limit {
			t.Errorf("%s: a lookup read %d bytes in %d reads, want at most %d", name, c.bytes, c.reads, limit)
		}
	}
}

// Without a sound index, or with one that is not that of the file, everything is still found.
func TestDoubtfulIndex(t *testing.T) {
	b := golden(t, "native_none")
	root := int(open(t, b).loadAt) + headerLen
	second := root + 8 + 4 + 1 + 2 + 8 // the entry behind the first
	change := func(at int, with ...byte) []byte {
		out := slices.Clone(b)
		copy(out[at:], with)
		return out
	}
	for _, tt := range []struct {
		name  string
		file  []byte
		doubt bool
	}{
		{"magic", change(root-headerLen, 'x'), true},
		{"negative offset", change(second, 0x80), true},
		{"offset behind the data", change(second+4, 0x7f), true},
		{"tiny size", change(second+8, 0, 0, 0, 1), true},
		{"key length", change(second+12, 9), true},
		{"order", change(second+15, 'a'), true},
		{"first block left out", change(root+7, 0xff), true},
		{"rows that are others", change(second+15, 'z'), true},
		{"offset within a block", change(second+7, b[second+7]+1), false},
		{"a row that is greater", change(second+15+7, '9'), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := open(t, tt.file)
			if (f.doubt != nil) != tt.doubt || tt.doubt && !errors.Is(f.doubt, ErrCorrupt) {
				t.Errorf("doubt: %v", f.doubt)
			}
			for i := range 60 {
				key, want := rule(i)
				if v, ok, err := f.Get(key); !ok || err != nil || string(v) != want {
					t.Errorf("Get(%q) = %q, %v, %v", key, v, ok, err)
				}
			}
			if n := count(t, f, "key0003"); n != 10 {
				t.Errorf("%d entries with the prefix", n)
			}
			if _, ok, err := f.Get("key0003"); ok || err != nil {
				t.Errorf("a prefix is a key: %v", err)
			}
		})
	}
}

// all opens a file and reads everything.
func all(b []byte) (n int, err error) {
	f, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return 0, err
	}
	for _, err := range f.All() {
		if err != nil {
			return n, err
		}
		n++
	}
	for _, key := range []string{"key00003", ""} {
		if _, _, err := f.Get(key); err != nil {
			return n, err
		}
	}
	return n, nil
}

func TestFlippedBytes(t *testing.T) {
	for _, g := range goldens {
		b := golden(t, g.file)
		data := open(t, b).loadAt
		step := 1
		for i := 0; i < len(b); i += step {
			if i > 500 {
				step = 17 // all kinds of fields were met
			}
			bad := slices.Clone(b)
			bad[i] ^= 0x55
			_, err := all(bad)
			if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
				t.Errorf("%s, byte %d: %v", g.file, i, err)
			}
			// HBase sums up everything but the checksums' own positions; the offset of the block before is summed too.
			if err == nil && int64(i) < data && strings.HasPrefix(g.file, "hbase") && !isIndex(b, i) {
				t.Errorf("%s: byte %d of the data changed unnoticed", g.file, i)
			}
		}
		for _, n := range []int{0, 1, 100, trailerLen - 1, trailerLen, len(b) / 2, len(b) - 1} {
			if _, err := all(b[:n]); !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
				t.Errorf("%s cut to %d bytes: %v", g.file, n, err)
			}
		}
	}
}

// isIndex tells whether a byte lies in an index block: a scan passes those.
func isIndex(b []byte, i int) bool {
	at := 0
	for {
		next := at + headerLen + int(binary.BigEndian.Uint32(b[at+8:]))
		if i < next {
			return bytes.HasPrefix(b[at:], []byte("IDX"))
		}
		at = next
	}
}

// hostile makes a file of one data block whose header and payload are given, and a trailer.
func hostile(codec byte, size uint32, payload []byte) []byte {
	block := func(magic string, size uint32, payload []byte) []byte {
		b := []byte(magic)
		b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
		b = binary.BigEndian.AppendUint32(b, size)
		b = append(b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0)
		b = binary.BigEndian.AppendUint32(b, 16384)
		b = binary.BigEndian.AppendUint32(b, headerLen+uint32(len(payload)))
		return append(b, payload...)
	}
	b := block(dataMagic, size, payload)
	load := len(b)
	info, _ := compressAs(codec, []byte("PBUF\x00"))
	b = append(b, block(infoMagic, 5, info)...)
	t := binary.AppendUvarint([]byte{1 << 3}, uint64(load))
	t = binary.AppendUvarint(append(t, 2<<3), uint64(load))
	t = append(t, 7<<3, 1, 12<<3, codec)
	trailer := append([]byte(trailerMagic), byte(len(t)))
	trailer = append(trailer, t...)
	trailer = append(trailer, make([]byte, trailerLen-4-len(trailer))...)
	return append(append(b, trailer...), 0, 0, 0, version)
}

func compressAs(c byte, b []byte) ([]byte, error) {
	framed := func(block []byte) []byte {
		out := binary.BigEndian.AppendUint32(nil, uint32(len(b)))
		return append(binary.BigEndian.AppendUint32(out, uint32(len(block))), block...)
	}
	switch codec(c) {
	case gz:
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, err := w.Write(b)
		return out.Bytes(), errors.Join(err, w.Close())
	case zstandard:
		w, err := zstd.NewWriter(nil)
		if err != nil {
			return nil, err
		}
		return w.EncodeAll(b, nil), nil
	case snap:
		return framed(snappy.Encode(nil, b)), nil
	case lz4Block:
		out := make([]byte, lz4.CompressBlockBound(len(b)))
		n, err := lz4.CompressBlock(b, out, nil)
		return framed(out[:n]), err
	default:
		return b, nil
	}
}

func TestHostileFiles(t *testing.T) {
	entry := func(k, v uint32, rest string) []byte {
		b := binary.BigEndian.AppendUint32(nil, k)
		return append(binary.BigEndian.AppendUint32(b, v), rest...)
	}
	bomb, err := compressAs(byte(zstandard), make([]byte, 32<<20))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		file []byte
		want error
	}{
		{"a key of two gigabytes", hostile(2, 8, entry(1<<31-1, 0, "")), ErrCorrupt},
		{"a negative key", hostile(2, 8, entry(1<<31, 0, "")), ErrCorrupt},
		{"a value of two gigabytes", hostile(2, 12, entry(4, 1<<31-1, "\x00\x02ab")), ErrCorrupt},
		{"a row longer than its key", hostile(2, 12, entry(4, 0, "\x00\x09ab")), ErrCorrupt},
		{"half an entry", hostile(2, 3, []byte("abc")), ErrCorrupt},
		{"a payload of another size", hostile(2, 9, entry(1<<31-1, 0, "")), ErrCorrupt},
		{"a payload of two gigabytes", hostile(2, 1<<31-1, nil), ErrCorrupt},
		{"an empty stream", hostile(1, maxBlock, nil), ErrCorrupt},
		{"a bomb", hostile(6, 100, bomb), ErrCorrupt},
		{"lzo", hostile(0, 1, []byte{0}), ErrUnsupported},
		{"bzip2", hostile(5, 1, []byte{0}), ErrUnsupported},
		{"a codec of the future", hostile(99, 1, []byte{0}), ErrUnsupported},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hostiletest.Allocates(t, 24<<20, func() {
				if _, err := all(tt.file); !errors.Is(err, tt.want) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
			})
		})
	}
}

// What expands as far as it says costs some times as much, and no more than the largest block that there may be.
func TestBombs(t *testing.T) {
	const size = 4 << 20
	for _, c := range []codec{gz, zstandard, snap, lz4Block} {
		bomb, err := compressAs(byte(c), make([]byte, size))
		if err != nil {
			t.Fatal(err)
		}
		for claim, limit := range map[uint32]int64{size: 16 * size, size - 1: 16 * size, maxBlock + 1: size} {
			hostiletest.Allocates(t, limit, func() {
				n, err := all(hostile(byte(c), claim, bomb))
				if !errors.Is(err, ErrCorrupt) || n > 0 {
					t.Errorf("%v of %d bytes: %d entries, %v", c, claim, n, err)
				}
			})
		}
	}
}

// The file info and the indexes are held for as long as the file is open.
func TestLargeInfo(t *testing.T) {
	b := golden(t, "native_none")
	at := bytes.Index(b, []byte(infoMagic))
	binary.BigEndian.PutUint32(b[at+12:], maxIndex+1)
	if _, err := all(b); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), infoMagic) {
		t.Errorf("got %v", err)
	}
}

func TestVersions(t *testing.T) {
	b := golden(t, "native_none")
	old := slices.Clone(b)
	old[len(old)-1] = 2
	if _, err := all(old); !errors.Is(err, ErrUnsupported) {
		t.Errorf("version 2: %v", err)
	}
}

type failing struct{}

var errDisk = errors.New("disk on fire")

func (failing) ReadAt([]byte, int64) (int, error) { return 0, errDisk }

func TestReadErrors(t *testing.T) {
	if _, err := Open(failing{}, 1<<20); !errors.Is(err, errDisk) || errors.Is(err, ErrCorrupt) {
		t.Errorf("Open: %v", err)
	}
	f := open(t, golden(t, "native_none"))
	f.keep(failing{})
	for _, err := range f.All() {
		if !errors.Is(err, errDisk) {
			t.Errorf("All: %v", err)
		}
	}
	if _, _, err := f.Get("key00001"); !errors.Is(err, errDisk) {
		t.Errorf("Get: %v", err)
	}
}

func TestVlong(t *testing.T) {
	for _, tt := range []struct {
		bytes string
		want  int64
	}{
		{"\x00", 0},
		{"\x7f", 127},
		{"\x90", -112},
		{"\x8f\x80", 128},
		{"\x8e\x01\x00", 256},
		{"\x87\x80", -129},
		{"\x88\x7f\xff\xff\xff\xff\xff\xff\xff", 1<<63 - 1},
		{"\x80\x7f\xff\xff\xff\xff\xff\xff\xff", -1 << 63},
	} {
		c := cursor{buf: []byte(tt.bytes)}
		if got := c.vlong("a number"); got != tt.want || c.err != nil || c.left() != 0 {
			t.Errorf("%x is %d, want %d; %v", tt.bytes, got, tt.want, c.err)
		}
	}
}

func TestZstd(t *testing.T) {
	payload := []byte(strings.Repeat("metadata ", 100))
	frame, err := compressAs(byte(zstandard), payload)
	if err != nil {
		t.Fatal(err)
	}
	framed := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))
	framed = binary.BigEndian.AppendUint32(framed, uint32(len(frame)))
	for name, src := range map[string][]byte{"bare": frame, "in Hadoop's blocks": append(framed, frame...)} {
		if got, err := decompress(zstandard, src, int64(len(payload))); err != nil || !bytes.Equal(got, payload) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func FuzzHFile(f *testing.F) {
	for _, g := range goldens {
		f.Add(golden(f, g.file))
	}
	f.Add(hostile(2, 8, make([]byte, 8)))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := Open(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			check(t, err)
			return
		}
		n := 0
		var key string
		for e, err := range file.All() {
			if err != nil {
				check(t, err)
				return
			}
			if n == 0 {
				key = string(e.Key)
			}
			n++
		}
		if n == 0 {
			return
		}
		if _, ok, err := file.Get(key); err != nil || !ok && file.doubt != nil {
			t.Errorf("the first key %q of %d: %v, %v", key, n, ok, err)
		}
		for _, err := range file.Prefix(key[:len(key)/2]) {
			if err != nil {
				check(t, err)
			}
		}
	})
}

func check(t *testing.T, err error) {
	if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
		t.Error(err)
	}
}
