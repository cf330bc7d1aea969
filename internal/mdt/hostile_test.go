package mdt

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/hostiletest"
)

// TestHostileListing: paths in the metadata table must be those of partitions and files of this table.
func TestHostileListing(t *testing.T) {
	for _, name := range []string{"..", "../x", "/etc", "a//b", "a/./b", "a/../..", "a/", "a\x00", strings.Repeat("a/", 3000) + "a"} {
		m, err := openTable(t.Context(), t, table(t, map[string]string{"1": block(t, "1", map[string]sizes{allPartitions: {name: 0}, name: {"f": 1}})}))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := listing(t, m); !errors.Is(err, ErrUnavailable) {
			t.Errorf("partition %.20q: %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"..", ".", "", "../x", "/x", "a/b", "a\x00", "x/"} {
		m, err := openTable(t.Context(), t, table(t, map[string]string{"1": block(t, "1", map[string]sizes{allPartitions: {"p": 0}, "p": {name: 1}})}))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := listing(t, m); !errors.Is(err, ErrUnavailable) {
			t.Errorf("file %q: %v, %v", name, got, err)
		}
	}
}

// hfileBlock is a log block with an HFile of one data block, compressed by gzip, whose payload says that it decodes to a size.
func hfileBlock(t *testing.T, instant string, payload []byte) string {
	t.Helper()
	be := binary.BigEndian
	hblock := func(magic string, payload []byte) []byte {
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		if _, err := w.Write(payload); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		b := be.AppendUint32([]byte(magic), uint32(z.Len()))
		b = be.AppendUint32(b, uint32(len(payload)))
		b = append(b, "\xff\xff\xff\xff\xff\xff\xff\xff\x00"...)
		b = be.AppendUint32(b, 16384)
		b = be.AppendUint32(b, 33+uint32(z.Len()))
		return append(b, z.Bytes()...)
	}
	file := hblock("DATABLK*", payload)
	load := len(file)
	file = append(file, hblock("FILEINF2", []byte("PBUF\x00"))...)
	trailer := binary.AppendUvarint([]byte{1 << 3}, uint64(load))
	trailer = binary.AppendUvarint(append(trailer, 2<<3), uint64(load))
	trailer = append(trailer, 7<<3, 1, 12<<3, 1)
	trailer = append(append([]byte("TRABLK\"$"), byte(len(trailer))), trailer...)
	trailer = append(trailer, make([]byte, 4096-4-len(trailer))...)
	file = append(append(file, trailer...), 0, 0, 0, 3)
	return rawBlock(4, map[uint32]string{0: at(instant), 2: recordSchema}, string(file))
}

// TestBombs: a metadata table that expands to more than it says, or to very much, costs a bounded amount of memory, and is not used.
func TestBombs(t *testing.T) {
	entry := func(key string, value []byte) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(2+len(key)))
		b = binary.BigEndian.AppendUint32(b, uint32(len(value)))
		b = binary.BigEndian.AppendUint16(b, uint16(len(key)))
		return append(append(b, key...), value...)
	}
	text := func(s string) []byte { return append(binary.AppendVarint(nil, int64(len(s))), s...) }
	files := func(n int) []byte {
		v := append(text(""), 4, 2)
		v = binary.AppendVarint(v, int64(n))
		for i := range n {
			v = append(append(v, text(fmt.Sprintf("%d", i))...), 2, 0)
		}
		return append(v, 0)
	}
	const many = 100_000
	listed := append(entry("__all_partitions__", append(append(append(text(""), 2, 2, 2), text("p")...), 0, 0, 0)), entry("p", files(many))...)
	for name, c := range map[string]struct {
		log   string
		good  bool
		limit int64
	}{
		"a hundred thousand files":   {hfileBlock(t, "1", listed), true, 1000 * many},
		"zeros":                      {hfileBlock(t, "1", make([]byte, 32<<20)), false, 320 << 20},
		"the same files, many times": {hfileBlock(t, "1", bytes.Repeat(entry("p", files(10)), many)), false, 4000 * many},
		"a key of its own each":      {strings.Repeat(deleteBlock("1", "x"), 10_000), false, 64 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := openTable(t.Context(), t, table(t, map[string]string{"1": c.log}))
			if err != nil {
				t.Fatal(err)
			}
			hostiletest.Allocates(t, c.limit, func() {
				_, err := partitions(t.Context(), m)
				if (err == nil) != c.good || err != nil && !errors.Is(err, ErrUnavailable) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}
