package pqfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

const (
	magic = "PAR1"
	// tailRead is what Open reads at first: most footers lie wholly in it.
	tailRead  = 64 << 10
	maxFooter = 64 << 20
	// maxPage limits a page, decoded or not. Writers aim at 1 MiB.
	maxPage = 1 << 30
	// maxClaim is the most that a footer may claim of anything, so that sums of claims don't overflow.
	maxClaim = 1 << 48
)

// File is an open Parquet file: its footer, and a reader for the rest. It is safe for concurrent use, as far as the reader is.
type File struct {
	Schema  *schema.Message
	NumRows int64
	// Meta is the footer as it was read. It must not be changed.
	Meta *FileMetaData

	r       io.ReaderAt
	size    int64
	maxPage int64
	ordered []bool // leaves whose statistics are in the order of their scalar
}

// Open reads the footer of a Parquet file.
func Open(r io.ReaderAt, size int64) (f *File, err error) {
	defer contain(&err, "footer")
	footer, at, err := readFooter(r, size)
	if err != nil {
		return nil, err
	}
	f = &File{Meta: &FileMetaData{}, r: r, size: size, maxPage: maxPage}
	if err := decodeThrift(footer, f.Meta); err != nil {
		return nil, corrupt("footer at offset %d: expected a FileMetaData structure: %v", at, err)
	}
	if f.Schema, err = schema.FromElements(f.Meta.Schema); err != nil {
		return nil, corrupt("footer at offset %d: %v", at, err)
	}
	f.NumRows = f.Meta.NumRows
	f.ordered = orderedLeaves(f.Meta.Schema)
	if err := f.check(at); err != nil {
		return nil, err
	}
	return f, nil
}

// readFooter returns the footer's bytes and their offset.
func readFooter(r io.ReaderAt, size int64) ([]byte, int64, error) {
	if size < 12 {
		return nil, 0, corrupt("%d bytes are too few for a footer", size)
	}
	tail := make([]byte, min(size, tailRead))
	if err := readAt(r, tail, size-int64(len(tail))); err != nil {
		return nil, 0, err
	}
	switch end := string(tail[len(tail)-4:]); end {
	case magic:
	case "PARE":
		return nil, 0, unsupported("encrypted footer")
	default:
		return nil, 0, corrupt("offset %d: expected %q, found %q", size-4, magic, end)
	}
	n := int64(binary.LittleEndian.Uint32(tail[len(tail)-8:]))
	at := size - 8 - n
	if at < 4 || n == 0 {
		return nil, 0, corrupt("offset %d: footer of %d bytes in a file of %d", size-8, n, size)
	}
	if n > maxFooter {
		return nil, 0, tooLarge("footer of %d bytes", n)
	}
	if n+8 <= int64(len(tail)) {
		return tail[int64(len(tail))-8-n : len(tail)-8], at, nil
	}
	footer := make([]byte, n)
	if err := readAt(r, footer, at); err != nil {
		return nil, 0, err
	}
	return footer, at, nil
}

func readAt(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return corrupt("the file ends at offset %d: expected %d bytes at %d", off+int64(n), len(p), off)
	}
	return fmt.Errorf("read %d bytes at offset %d: %w", len(p), off, err)
}

// check compares the row groups with the schema and the file's size.
func (f *File) check(footer int64) error {
	var rows int64
	for g := range f.Meta.RowGroups {
		rg := &f.Meta.RowGroups[g]
		if rg.NumRows < 0 || rg.NumRows > f.NumRows-rows {
			return corrupt("footer at offset %d: row group %d of %d rows in a file of %d", footer, g, rg.NumRows, f.NumRows)
		}
		rows += rg.NumRows
		if len(rg.Columns) != len(f.Schema.Leaves) {
			return corrupt("footer at offset %d: row group %d has %d columns, the schema %d", footer, g, len(rg.Columns), len(f.Schema.Leaves))
		}
		for i := range rg.Columns {
			if err := f.checkChunk(g, i, footer); err != nil {
				return err
			}
		}
	}
	if rows != f.NumRows {
		return corrupt("footer at offset %d: row groups of %d rows in a file of %d", footer, rows, f.NumRows)
	}
	return nil
}

var physical = map[column.Kind]format.Type{
	column.Bool: format.Boolean, column.Int32: format.Int32, column.Int64: format.Int64, column.Int96: format.Int96,
	column.Float: format.Float, column.Double: format.Double, column.Bytes: format.ByteArray, column.Fixed: format.FixedLenByteArray,
}

func (f *File) checkChunk(g, i int, footer int64) error {
	c, leaf := &f.Meta.RowGroups[g].Columns[i], f.Schema.Leaves[i]
	m := &c.MetaData
	bad := func(text string, args ...any) error {
		return corrupt("footer at offset %d: row group %d, column %s: %s", footer, g, strings.Join(leaf.Path, "."), fmt.Sprintf(text, args...))
	}
	if c.CryptoMetadata.Value != nil {
		return unsupported("column %s is encrypted", strings.Join(leaf.Path, "."))
	}
	if c.FilePath != "" {
		return unsupported("column %s lies in another file, %q", strings.Join(leaf.Path, "."), c.FilePath)
	}
	if m.Type != physical[leaf.Leaf.Kind] {
		return bad("physical type %v where the schema has %v", m.Type, leaf.Leaf.Kind)
	}
	start, end := m.span()
	if start < 4 || m.TotalCompressedSize < 0 || end < start || end > footer {
		return bad("%d bytes at offset %d are not within the file", m.TotalCompressedSize, start)
	}
	rows := f.Meta.RowGroups[g].NumRows
	if m.NumValues < rows || leaf.Leaf.MaxRep == 0 && m.NumValues != rows {
		return bad("%d values for %d rows", m.NumValues, rows)
	}
	if m.NumValues > maxClaim || m.TotalUncompressedSize < 0 || m.TotalUncompressedSize > maxClaim {
		return bad("%d values of %d bytes", m.NumValues, m.TotalUncompressedSize)
	}
	return nil
}

// span is where a chunk lies in the file.
func (m *ColumnMetaData) span() (start, end int64) {
	start = m.DataPageOffset
	if d := m.DictionaryPageOffset; d > 0 && d < start {
		start = d
	}
	return start, start + m.TotalCompressedSize
}

// Groups is the number of row groups.
func (f *File) Groups() int { return len(f.Meta.RowGroups) }

// GroupRows is the number of rows of a row group.
func (f *File) GroupRows(group int) int64 { return f.Meta.RowGroups[group].NumRows }

// Column is the footer's description of a column chunk.
func (f *File) Column(group, leaf int) *ColumnMetaData {
	return &f.Meta.RowGroups[group].Columns[leaf].MetaData
}

// KeyValue finds an entry of the key-value metadata.
func (f *File) KeyValue(key string) (string, bool) {
	for i := range f.Meta.KeyValueMetadata {
		if kv := &f.Meta.KeyValueMetadata[i]; kv.Key == key {
			return kv.Value, true
		}
	}
	return "", false
}
