package logfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"
)

// rawBlock builds a block as writers do.
func rawBlock(version, typ int32, header map[HeaderKey]string, content []byte) []byte {
	putMap := func(b []byte, m map[HeaderKey]string) []byte {
		b = binary.BigEndian.AppendUint32(b, uint32(len(m)))
		var keys []HeaderKey
		for k := range m {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			b = binary.BigEndian.AppendUint32(b, uint32(k))
			b = binary.BigEndian.AppendUint32(b, uint32(len(m[k])))
			b = append(b, m[k]...)
		}
		return b
	}
	var body []byte
	body = binary.BigEndian.AppendUint32(body, uint32(version))
	body = binary.BigEndian.AppendUint32(body, uint32(typ))
	body = putMap(body, header)
	body = binary.BigEndian.AppendUint64(body, uint64(len(content)))
	body = append(body, content...)
	body = putMap(body, nil)
	size := uint64(len(body) + trailLen)
	out := append([]byte(magic), binary.BigEndian.AppendUint64(nil, size)...)
	return append(append(out, body...), binary.BigEndian.AppendUint64(nil, size+uint64(len(magic)))...)
}

func instantBlock(instant string) []byte {
	return rawBlock(1, int32(AvroData), map[HeaderKey]string{InstantTime: instant}, []byte("content"))
}

func scanBytes(b []byte) (*Log, error) { return Scan(bytes.NewReader(b), int64(len(b))) }

func describe(l *Log) string {
	var parts []string
	for _, b := range l.Blocks {
		parts = append(parts, fmt.Sprintf("%s[%d,%d)", b.Instant(), b.Offset, b.End))
	}
	for _, d := range l.Damage {
		parts = append(parts, fmt.Sprintf("damage[%d,%d)", d.Offset, d.End))
	}
	return strings.Join(parts, " ")
}

func TestScanHeaders(t *testing.T) {
	header := map[HeaderKey]string{
		InstantTime: "003", SchemaText: `"int"`, CompactedBlockTimes: "001,002", IsPartial: "true", RecordPositions: "AAA=",
		PositionsBaseInstant: "000", 4711: "from the future",
	}
	log, err := scanBytes(append(
		rawBlock(1, int32(ParquetData), header, []byte("PAR1")),
		rawBlock(1, int32(Command), map[HeaderKey]string{InstantTime: "005", TargetInstantTime: "004", CommandType: "0"}, nil)...))
	if err != nil {
		t.Fatal(err)
	}
	data, rollback := log.Blocks[0], log.Blocks[1]
	if !reflect.DeepEqual(data.Header, header) || data.Type != ParquetData || data.Version != 1 || data.ContentLength != 4 {
		t.Errorf("data block: %+v", data)
	}
	if text, base := data.Positions(); text != "AAA=" || base != "000" {
		t.Errorf("positions %q at %q", text, base)
	}
	if got := data.CompactedTimes(); !slices.Equal(got, []string{"001", "002"}) {
		t.Errorf("compacted times %q", got)
	}
	if data.Instant() != "003" || !data.Partial() || data.IsRollback() || data.Schema() != `"int"` {
		t.Errorf("data block: %+v", data)
	}
	if !rollback.IsRollback() || rollback.Target() != "004" || rollback.CompactedTimes() != nil || rollback.Partial() {
		t.Errorf("rollback block: %+v", rollback)
	}
}

func TestScanDamage(t *testing.T) {
	a, b, c := instantBlock("1"), instantBlock("22"), instantBlock("333")
	n, m := len(a), len(b)
	flip := func(block []byte, at int, to byte) []byte {
		out := bytes.Clone(block)
		out[at] = to
		return out
	}
	for _, test := range []struct {
		name string
		file [][]byte
		want string
	}{
		{"empty", nil, ""},
		{"sound", [][]byte{a, b}, fmt.Sprintf("1[0,%d) 22[%d,%d)", n, n, n+m)},
		{"cut by 1", [][]byte{a, b[:m-1]}, fmt.Sprintf("1[0,%d) damage[%d,%d)", n, n, n+m-1)},
		{"cut by 8", [][]byte{a, b[:m-8]}, fmt.Sprintf("1[0,%d) damage[%d,%d)", n, n, n+m-8)},
		{"cut in the block size", [][]byte{a, b[:10]}, fmt.Sprintf("1[0,%d) damage[%d,%d)", n, n, n+10)},
		{"cut in the magic", [][]byte{a, b[:3]}, fmt.Sprintf("1[0,%d) damage[%d,%d)", n, n, n+3)},
		{"torn before a sound one", [][]byte{a[:n-20], b}, fmt.Sprintf("22[%d,%d) damage[0,%d)", n-20, n-20+m, n-20)},
		{"wrong trailing length", [][]byte{a, flip(b, m-1, 0xFF), c}, fmt.Sprintf("1[0,%d) 333[%d,%d) damage[%d,%d)", n, n+m, n+m+len(c), n, n+m)},
		{"high bytes of the trailing length", [][]byte{flip(a, n-8, 1)}, fmt.Sprintf("damage[0,%d)", n)},
		{"high bytes of the size", [][]byte{flip(flip(a, 6, 0xFF), 9, 0x7F)}, fmt.Sprintf("1[0,%d)", n)},
		{"low byte of the size", [][]byte{flip(a, 13, a[13]^1), b}, fmt.Sprintf("22[%d,%d) damage[0,%d)", n, n+m, n)},
		{"negative size", [][]byte{flip(a, 10, 0x80), b}, fmt.Sprintf("22[%d,%d) damage[0,%d)", n, n+m, n)},
		{"garbage behind", [][]byte{a, b, bytes.Repeat([]byte{0xAA}, 100)}, fmt.Sprintf("1[0,%d) damage[%d,%d)", n, n, n+m+100)},
		{"garbage between", [][]byte{a, []byte("garbage"), b}, fmt.Sprintf("22[%d,%d) damage[0,%d)", n+7, n+7+m, n+7)},
		// The search goes on behind a magic that was false, so that one that overlaps it is not seen: as in Hudi.
		{"false magic over a true one", [][]byte{a, []byte("garbage #HUDI"), b}, fmt.Sprintf("damage[0,%d) damage[%d,%d)", n+8, n+8, n+13+m)},
		{"a tail too short to tell", [][]byte{a, []byte("short")}, fmt.Sprintf("1[0,%d) damage[%d,%d)", n, n, n+5)},
		{"two torn ones", [][]byte{a[:30], b[:40], c}, fmt.Sprintf("333[70,%d) damage[0,30) damage[30,70)", 70+len(c))},
		{"across search windows", [][]byte{a[:n-1], bytes.Repeat([]byte{1}, scanStep-n+1-3), b}, fmt.Sprintf("22[%d,%d) damage[0,%d)", scanStep-3, scanStep-3+m, scanStep-3)},
	} {
		t.Run(test.name, func(t *testing.T) {
			log, err := scanBytes(bytes.Join(test.file, nil))
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(log); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestScanErrors(t *testing.T) {
	long := rawBlock(1, int32(AvroData), map[HeaderKey]string{InstantTime: "1"}, nil)
	long[prefixLen+8+3] = 200 // the header's count
	gap := instantBlock("1")
	gap[len(gap)-trailLen-4-7-1]-- // the content length: what follows is no footer then
	for _, test := range []struct {
		name string
		file []byte
		is   error
		want string
	}{
		{"first magic", []byte("#HTDI#and some more bytes"), ErrCorrupt, `at byte 0: expected the magic "#HUDI#", found "#HTDI#"`},
		{"version 99", rawBlock(99, 3, nil, nil), ErrCorrupt, "at byte 14: expected format version 1, found 99"},
		{"version 0", rawBlock(0, 3, nil, nil), ErrCorrupt, "at byte 14: expected format version 1, found 0"},
		{"type 77", rawBlock(1, 77, nil, nil), ErrCorrupt, "at byte 18: expected a block type from 0 to 6, found 77"},
		{"type -1", rawBlock(1, -1, nil, nil), ErrCorrupt, "found -1"},
		{"type corrupt", rawBlock(1, int32(corruptBlock), nil, nil), ErrCorrupt, "found 2"},
		{"unknown command", rawBlock(1, 0, map[HeaderKey]string{CommandType: "1"}, nil), ErrUnsupported, `command "1"`},
		{"map too long", long, ErrCorrupt, "at byte 22: expected a map"},
		{"content length", gap, ErrCorrupt, "expected a map"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := scanBytes(test.file)
			if !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %v with %q", err, test.is, test.want)
			}
		})
	}
}

// TestScanReadsLittle holds the promise that content is not read.
func TestScanReadsLittle(t *testing.T) {
	const blocks, content = 20, 1 << 20
	var file []byte
	for i := range blocks {
		file = append(file, rawBlock(1, int32(AvroData), map[HeaderKey]string{InstantTime: fmt.Sprint(i)}, make([]byte, content))...)
	}
	r := &countingReader{ReaderAt: bytes.NewReader(file)}
	log, err := Scan(r, int64(len(file)))
	if err != nil || len(log.Blocks) != blocks {
		t.Fatalf("%v, %v", log, err)
	}
	if r.calls > blocks+1 || r.bytes > (blocks+1)*readAhead {
		t.Errorf("%d reads of %d bytes for %d blocks", r.calls, r.bytes, blocks)
	}
}

type countingReader struct {
	io.ReaderAt
	calls, bytes int
}

func (r *countingReader) ReadAt(p []byte, off int64) (int, error) {
	r.calls++
	r.bytes += len(p)
	return r.ReaderAt.ReadAt(p, off)
}

func TestScanReadErrors(t *testing.T) {
	file := append(instantBlock("1"), instantBlock("2")...)
	if _, err := Scan(bytes.NewReader(file), int64(len(file))+1000); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a file shorter than its size: %v", err)
	}
	broken := errors.New("the disk is gone")
	if _, err := Scan(failingReader{broken}, 100); !errors.Is(err, broken) || errors.Is(err, ErrCorrupt) {
		t.Errorf("a failing reader: %v", err)
	}
}

type failingReader struct{ err error }

func (r failingReader) ReadAt([]byte, int64) (int, error) { return 0, r.err }

// TestBroken checks what becomes of the damaged log files among the real tables: Hudi's own answers, with damage and
// errors where Hudi skips and fails.
func TestBroken(t *testing.T) {
	want := map[string]string{ // by case: Damage as text, or an error's part, of the file that was damaged
		"log_avro_strlen":    "record 0: column",
		"log_flip_magic":     `expected the magic "#HUDI#"`,
		"log_flip_content":   "1 block, sound",
		"log_flip_len":       "but the trailing length says",
		"log_flip_len_high":  "sound",
		"log_garbage_tail":   "expected a block or the end of the file",
		"log_good_then_torn": "the block would end at byte",
		"log_torn_first":     "the block would end at byte",
		"log_torn_tail":      "the block would end at byte",
		"log_torn_tail_1":    "the block would end at byte",
		"log_torn_tail_8":    "the block would end at byte",
		"log_torn_then_good": "but the trailing length says",
		"log_torn_to_10":     "torn within the block size",
		"log_trailer_len":    "but the trailing length says",
		"log_type_77":        "expected a block type from 0 to 6, found 77",
		"log_version_99":     "expected format version 1, found 99",
		"log_two_blocks":     "sound",
		"log_empty":          "sound",
		"log_missing":        "sound",
		"00_good":            "sound",
	}
	found, codecs := map[string][]string{}, map[string]*goavro.Codec{}
	eachLog(t, func(name string, content []byte) {
		_, kind, ok := strings.Cut(strings.Split(name, "/")[0], "_broken_")
		if _, listed := want[kind]; !ok || !listed || strings.Contains(path.Dir(name), ".hoodie") {
			return
		}
		if found[kind] == nil {
			found[kind] = []string{}
		}
		log, err := scanBytes(content)
		if err != nil {
			found[kind] = append(found[kind], err.Error())
			return
		}
		for _, d := range log.Damage {
			found[kind] = append(found[kind], d.String())
		}
		for _, b := range log.Blocks {
			if b.Type != AvroData {
				continue
			}
			if _, err := checkAvroBlock(t, codecs, content, b); err != nil {
				found[kind] = append(found[kind], err.Error())
			}
		}
	})
	for kind, part := range want {
		got, ok := found[kind]
		if !ok {
			t.Logf("no case broken_%s", kind)
			continue
		}
		if strings.HasSuffix(part, "sound") {
			if len(got) > 0 {
				t.Errorf("broken_%s: got %q, want nothing", kind, got)
			}
			continue
		}
		if len(got) == 0 || !strings.Contains(strings.Join(got, "\n"), part) {
			t.Errorf("broken_%s: got %q, want %q", kind, got, part)
		}
	}
}
