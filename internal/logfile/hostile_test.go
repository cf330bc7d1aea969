package logfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/hudifs/hudifs/internal/hostiletest"
	"github.com/hudifs/hudifs/internal/schema"
)

// TestHostileScan: what a file claims, or says over and over, costs in proportion to its size, up to a limit.
func TestHostileScan(t *testing.T) {
	claims := func(at int, n uint32) []byte {
		b := rawBlock(1, int32(AvroData), map[HeaderKey]string{SchemaText: "x"}, []byte("content"))
		binary.BigEndian.PutUint32(b[at:], n)
		return b
	}
	header := map[HeaderKey]string{}
	for k := range HeaderKey(maxKeys + 1) {
		header[k] = ""
	}
	for _, tt := range []struct {
		name  string
		file  []byte
		err   bool
		limit int64 // bytes; 0 is 4 MiB
	}{
		{"a block of two gigabytes", claims(len(magic)+4, 1<<31-1), false, 0},
		{"a negative block", claims(len(magic)+4, 1<<31), false, 0},
		{"a header of two billion entries", claims(prefixLen+8, 1<<31-1), true, 0},
		{"a header text of two gigabytes", claims(prefixLen+16, 1<<31-1), true, 0},
		{"a negative header text", claims(prefixLen+16, 1<<31), true, 0},
		{"a content of two gigabytes", claims(prefixLen+25, 1<<31-1), true, 0},
		{"a header of many entries", rawBlock(1, int32(AvroData), header, nil), true, 0},
		{"nothing but magics", bytes.Repeat([]byte(magic), maxParts+2), true, 512 * maxParts},
		{"nothing but blocks", bytes.Repeat(rawBlock(1, int32(AvroData), nil, nil), maxParts+1), true, 512 * maxParts},
		{"nothing but zeros", append(rawBlock(1, int32(AvroData), nil, nil), make([]byte, 16<<20)...), false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hostiletest.Allocates(t, max(tt.limit, 4<<20), func() {
				if _, err := scanBytes(tt.file); (err != nil) != tt.err || err != nil && !errors.Is(err, ErrCorrupt) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// TestHostileRecords: the records of a block may claim what they like.
func TestHostileRecords(t *testing.T) {
	nulls := `["null",{"type":"record","name":"s","fields":[{"name":"f","type":["null","long"]}]}]`
	many := make([][]byte, 1<<16)
	for i := range many {
		many[i] = []byte{0}
	}
	claims := func(count uint32) []byte {
		b := avroBlock(recordOf(`{"name":"n","type":"null"}`), nil)
		at := bytes.Index(b, []byte{0, 0, 0, 3, 0, 0, 0, 0})
		binary.BigEndian.PutUint32(b[at+4:], count)
		return b
	}
	deep := strings.Repeat(`{"type":"array","items":`, 10_000) + `"int"` + strings.Repeat("}", 10_000)
	// Each type names the one before twice: the fields double a hundred times.
	double := `{"name":"t0","type":{"type":"record","name":"T0","fields":[{"name":"x","type":"int"}]}}`
	for i := range 100 {
		double += fmt.Sprintf(`,{"name":"t%d","type":{"type":"record","name":"T%d","fields":[{"name":"x","type":"T%d"},{"name":"y","type":"T%d"}]}}`, i+1, i+1, i, i)
	}
	for _, tt := range []struct {
		name, schema string // of the target; "" is the block's
		file         []byte
		limit        int64
	}{
		{"two billion records", recordOf(`{"name":"a","type":"int"}`), claims(1<<31 - 1), 1 << 20},
		{"a negative number of records", recordOf(`{"name":"a","type":"int"}`), claims(1 << 31), 1 << 20},
		{"a list of two billion nulls", "", avroBlock(recordOf(`{"name":"l","type":{"type":"array","items":["null","int"]}}`), [][]byte{{0xfe, 0xff, 0xff, 0xff, 0x0f, 0}}), 1 << 20},
		{"a text of a terabyte", "", avroBlock(recordOf(`{"name":"a","type":"string"}`), [][]byte{{0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 'x'}}), 1 << 20},
		{"a fixed of sixteen megabytes", "", avroBlock(recordOf(`{"name":"a","type":{"type":"fixed","name":"x","size":16777216}}`), [][]byte{{1}}), 1 << 20},
		{"a deep schema", recordOf(`{"name":"a","type":"int"}`), avroBlock(recordOf(`{"name":"a","type":`+deep+`}`), [][]byte{{1}}), 16 << 20},
		{"a schema without end", recordOf(`{"name":"a","type":"int"}`), avroBlock(recordOf(double), [][]byte{{1}}), 128 << 20},
		{"long names for short values", "", avroBlock(recordOf(`{"name":"a","type":{"type":"enum","name":"e","symbols":["`+strings.Repeat("x", 1<<20)+`"]}}`), many), 256 << 20},
		{"a column of nulls", recordOf(`{"name":"s","type":` + nulls + `}`), avroBlock(recordOf(`{"name":"s","type":`+nulls+`}`), many), 8 << 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hostiletest.Allocates(t, tt.limit, func() {
				d, b, err := openBytes(tt.file)
				if err == nil {
					text := tt.schema
					if text == "" {
						text = b.Schema()
					}
					_, err = d.Columns(mustTarget(t, text), []int{0})
				}
				if tt.name == "a column of nulls" {
					if err != nil {
						t.Error(err)
					}
				} else if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) && !errors.Is(err, schema.ErrInvalid) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// TestHostileParquet: the footer of a Parquet block may claim what it likes, and few bytes may decode to many.
func TestHostileParquet(t *testing.T) {
	type row struct {
		A *string `parquet:"a,optional"`
		B string  `parquet:"b,dict"`
	}
	content := func(rows int, text string) []byte {
		var buf bytes.Buffer
		w := parquet.NewGenericWriter[row](&buf)
		if _, err := w.Write(slices.Repeat([]row{{B: text}}, rows)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return buf.Bytes()
	}
	few := content(10, "x")
	for _, tt := range []struct {
		name    string
		content []byte
		good    int // leaves that can be read
		limit   int64
	}{
		{"ten rows that say they are a billion", hostiletest.ClaimRows(t, few, 1<<30), 0, 8 << 20},
		{"ten rows that say they are the most there are", hostiletest.ClaimRows(t, few, 1<<47), 0, 8 << 20},
		{"one text over and over", content(1<<16, strings.Repeat("x", 1<<16)), 2, 64 << 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := rawBlock(1, int32(ParquetData), map[HeaderKey]string{InstantTime: "1"}, tt.content)
			target := mustTarget(t, recordOf(`{"name":"none","type":"string"},{"name":"a","type":"string"},{"name":"b","type":"string"}`))
			for leaf := range target.Leaves {
				hostiletest.Allocates(t, tt.limit, func() {
					d, _, err := openBytes(file)
					if err == nil {
						_, err = d.Columns(target, []int{leaf})
					}
					if (err == nil) != (leaf < tt.good) || err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
						t.Errorf("leaf %d: got %v", leaf, err)
					}
				})
			}
		})
	}
}
