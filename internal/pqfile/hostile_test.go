package pqfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/hostiletest"
)

// refused fails the test where hostile input is not found to be that, or costs more memory than its size and a little.
func refused(t *testing.T, limit int64, read func() error) {
	t.Helper()
	hostiletest.Allocates(t, limit, func() {
		err := read()
		known(t, err)
		if err == nil {
			t.Error("it is taken for good")
		}
	})
}

// mostlyZeros is a file that is as large as anybody likes, of zeros but for its end.
type mostlyZeros struct {
	size int64
	tail []byte
}

func (s mostlyZeros) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	begin := s.size - int64(len(s.tail))
	if at := off - begin; at >= 0 {
		copy(p, s.tail[min(at, int64(len(s.tail))):])
	} else if -at < int64(len(p)) {
		copy(p[-at:], s.tail)
	}
	if left := s.size - off; left < int64(len(p)) {
		return int(max(left, 0)), io.EOF
	}
	return len(p), nil
}

// varint is a number as Thrift writes it.
func varint(n uint64) []byte { return binary.AppendUvarint(nil, n) }

// TestAbsurdFooters: what a footer says of lengths and numbers is not believed before the bytes are there.
func TestAbsurdFooters(t *testing.T) {
	ending := func(n uint32) []byte { return append(binary.LittleEndian.AppendUint32(nil, n), magic...) }
	t.Run("lengths", func(t *testing.T) {
		for _, size := range []int64{12, 100, 1 << 20, 1 << 40, math.MaxInt64} {
			for _, n := range []uint32{0, 1, 92, 93, 1 << 20, 1 << 25, maxFooter, maxFooter + 1, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32} {
				f := mostlyZeros{size, ending(n)}
				refused(t, min(size, int64(n)+tailRead)+1<<20, func() error {
					_, err := Open(f, size)
					return err
				})
			}
		}
	})
	// The version, then the list of the schema's elements: struct fields of the compact protocol.
	version, schemaList := []byte{0x15, 0x02}, []byte{0x19}
	const structs, strings, longs = 0xfc, 0xf8, 0xf6
	for name, footer := range map[string][]byte{
		"a schema of many elements":    slices.Concat(version, schemaList, []byte{structs}, varint(math.MaxInt32)),
		"a schema of more than that":   slices.Concat(version, schemaList, []byte{structs}, varint(math.MaxUint64)),
		"a schema of other things":     slices.Concat(version, schemaList, []byte{longs}, varint(1<<30)),
		"a name that is long":          slices.Concat(version, schemaList, []byte{0x1c, 0x48}, varint(math.MaxInt32)),
		"a name without an end":        slices.Concat(version, schemaList, []byte{0x1c, 0x48}, varint(math.MaxUint64)),
		"many row groups":              slices.Concat(version, []byte{0x39, structs}, varint(1<<30)),
		"many keys":                    slices.Concat(version, []byte{0x49, structs}, varint(1<<30)),
		"a field of a later version":   slices.Concat(version, []byte{0x09}, varint(200), []byte{strings}, varint(1<<30)),
		"a map of a later version":     slices.Concat(version, []byte{0x0b}, varint(200), varint(1<<30), []byte{0x88}),
		"structs without an end":       slices.Concat(version, bytes.Repeat([]byte{0x1c}, 1<<20)),
		"lists in lists":               slices.Concat(version, []byte{0x09}, varint(200), bytes.Repeat([]byte{0x19}, 1<<20)),
		"a number that never ends":     slices.Concat([]byte{0x15}, bytes.Repeat([]byte{0xff}, 1<<16)),
		"elements that have nothing":   slices.Concat(version, schemaList, []byte{structs}, varint(1<<16), make([]byte, 1<<16), []byte{0}),
		"row groups that have nothing": slices.Concat(version, []byte{0x39, structs}, varint(1<<16), make([]byte, 1<<16), []byte{0}),
	} {
		t.Run(name, func(t *testing.T) {
			file := slices.Concat([]byte(magic), footer, ending(uint32(len(footer))))
			refused(t, int64(200*len(footer))+1<<20, func() error {
				_, err := Open(bytes.NewReader(file), int64(len(file)))
				return err
			})
		})
	}
}

// TestAbsurdPages: what a page header says of lengths and numbers costs no memory before the bytes are there.
func TestAbsurdPages(t *testing.T) {
	shape := map[string]int{"int": 2, "long": 3, "bool": 0, "text": 7, "fixed": 9, "list": 11}
	data := func(n int32, enc format.Encoding) format.PageHeader {
		h := format.PageHeader{Type: format.DataPage}
		h.DataPageHeader = thrift.New(format.DataPageHeader{NumValues: n, Encoding: enc, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE})
		return h
	}
	v2 := func(n, rep, def int32) format.PageHeader {
		h := format.PageHeader{Type: format.DataPageV2}
		h.DataPageHeaderV2 = thrift.New(format.DataPageHeaderV2{NumValues: n, NumRows: n, Encoding: format.Plain, RepetitionLevelsByteLength: rep, DefinitionLevelsByteLength: def})
		return h
	}
	dictionary := func(n int32) format.PageHeader {
		h := format.PageHeader{Type: format.DictionaryPage}
		h.DictionaryPageHeader = thrift.New(format.DictionaryPageHeader{NumValues: n, Encoding: format.Plain})
		return h
	}
	garbage := bytes.Repeat([]byte{0x9e, 0x37, 0x79, 0xb9}, 4<<10)
	const most = math.MaxInt32
	for _, c := range []struct {
		name                 string
		shape                string
		header               format.PageHeader
		compressed, expanded int32 // -1: as much as there is
	}{
		{"decoded to the most that is allowed", "int", data(10, format.Plain), -1, maxPage},
		{"decoded to more", "int", data(10, format.Plain), -1, maxPage + 1},
		{"decoded to the most there is", "text", data(10, format.Plain), -1, most},
		{"decoded to less than nothing", "int", data(10, format.Plain), -1, math.MinInt32},
		{"larger than its chunk", "int", data(10, format.Plain), 1 << 20, 1 << 20},
		{"the most there is", "int", data(10, format.Plain), most, most},
		{"less than nothing", "int", data(10, format.Plain), math.MinInt32, 10},
		{"many values", "int", data(most, format.Plain), -1, -1},
		{"many values of a dictionary", "text", data(most, format.RLEDictionary), -1, -1},
		{"many truths", "bool", data(most, format.Plain), -1, -1},
		{"many truths in runs", "bool", data(most, format.RLE), -1, -1},
		{"many differences", "long", data(most, format.DeltaBinaryPacked), -1, -1},
		{"many lengths", "text", data(most, format.DeltaLengthByteArray), -1, -1},
		{"many prefixes", "text", data(most, format.DeltaByteArray), -1, -1},
		{"many streams", "fixed", data(most, format.ByteStreamSplit), -1, -1},
		{"many items", "list", data(most, format.Plain), -1, -1},
		{"fewer values than none", "int", data(-1, format.Plain), -1, -1},
		{"levels that are long", "list", v2(10, most, 0), -1, -1},
		{"levels that are long together", "list", v2(10, most, most), -1, -1},
		{"levels shorter than nothing", "list", v2(10, -1, math.MinInt32), -1, -1},
		{"many values of the second form", "list", v2(most, 8, 8), -1, -1},
		{"a dictionary of many", "long", dictionary(most), -1, -1},
		{"a dictionary of many texts", "text", dictionary(most), -1, -1},
		{"a dictionary that is large", "text", dictionary(1), -1, maxPage},
	} {
		for _, codec := range []format.CompressionCodec{format.Uncompressed, format.Snappy, format.Gzip, format.Zstd, format.Lz4Raw, format.Brotli} {
			t.Run(c.name+" "+codec.String(), func(t *testing.T) {
				h := c.header
				h.CompressedPageSize, h.UncompressedPageSize = c.compressed, c.expanded
				if h.CompressedPageSize == -1 {
					h.CompressedPageSize = int32(len(garbage))
				}
				if h.UncompressedPageSize == -1 {
					h.UncompressedPageSize = int32(len(garbage))
				}
				head, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
				if err != nil {
					t.Fatal(err)
				}
				chunk := append(head, garbage...)
				m := message(t, shapes[shape[c.shape]])
				l := m.Leaves[0]
				const rows = 1 << 40
				file := &File{Schema: m, NumRows: rows, r: bytes.NewReader(chunk), size: int64(len(chunk)), maxPage: maxPage, Meta: &FileMetaData{
					RowGroups: []RowGroup{{NumRows: rows, Columns: []ColumnChunk{{MetaData: ColumnMetaData{
						Type: physical[l.Leaf.Kind], Codec: codec, NumValues: rows, TotalCompressedSize: int64(len(chunk)),
					}}}}},
				}}
				// Zstandard may really make so much of so little: 128 KiB out of four bytes.
				refused(t, 48<<20, func() error {
					r, err := file.Chunk(0, 0)
					for err == nil {
						var p *Page
						if p, err = r.Next(); err == nil {
							err = r.Materialise(column.New(l.Leaf), p, p.Vector.All())
						}
					}
					if errors.Is(err, io.EOF) {
						return nil
					}
					return err
				})
			})
		}
	}
}
