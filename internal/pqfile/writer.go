package pqfile

import (
	"bufio"
	"fmt"
	"io"

	"github.com/hudifs/hudifs/internal/schema"
)

// Writer writes a file: one chunk behind the other, row group by row group, the footer last.
type Writer struct {
	schema *schema.Message
	w      io.WriterAt
	buf    *bufio.Writer
	groups []Group
	end    int64 // of what has been written
}

// NewWriter starts a file.
func NewWriter(w io.WriterAt, m *schema.Message) *Writer {
	f := &Writer{schema: m, w: w, end: int64(len(Head))}
	const buffer = 256 << 10
	f.buf = bufio.NewWriterSize(io.NewOffsetWriter(w, f.end), buffer)
	return f
}

// BeginGroup starts a row group. It must get the chunks of all leaves, in their order.
func (f *Writer) BeginGroup() { f.groups = append(f.groups, nil) }

// Chunk starts the next chunk of the group.
func (f *Writer) Chunk(leaf *schema.Node, o ChunkOptions) *ChunkWriter {
	return NewChunkWriter(f.buf, leaf, o)
}

// EndChunk ends a chunk. m says what is known about its values; nil, nothing.
func (f *Writer) EndChunk(w *ChunkWriter, m *MinMax) error {
	c, err := w.Close(m)
	if err != nil {
		return err
	}
	f.place(c)
	return nil
}

// Add writes a chunk that was made apart from the file as the next one of the group.
func (f *Writer) Add(c *Chunk, content []byte) error {
	if int64(len(content)) != c.Size {
		return fmt.Errorf("chunk of %d bytes with %d", c.Size, len(content))
	}
	if _, err := f.buf.Write(content); err != nil {
		return err
	}
	f.place(c)
	return nil
}

func (f *Writer) place(c *Chunk) {
	c.Offset = f.end
	f.end += c.Size
	g := &f.groups[len(f.groups)-1]
	*g = append(*g, c)
}

// Finish writes the footer at the end of a file of size bytes.
func (f *Writer) Finish(size int64) error {
	if err := f.buf.Flush(); err != nil {
		return err
	}
	return Finish(f.w, size, f.schema, f.groups)
}

// Needed is the smallest size that the file fits in.
func (f *Writer) Needed() (int64, error) {
	b, err := Footer(f.schema, f.groups)
	return f.end + int64(len(b)), err
}
