package render

import (
	"bufio"
	"io"

	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/schema"
)

// file is a Parquet file that is being written: one chunk behind the other, the footer last.
type file struct {
	target *schema.Message
	w      io.WriterAt
	buf    *bufio.Writer
	groups []pqfile.Group
	end    int64 // of what has been written
}

func newFile(w io.WriterAt, target *schema.Message) *file {
	f := &file{target: target, w: w, end: int64(len(pqfile.Head))}
	const buffer = 256 << 10
	f.buf = bufio.NewWriterSize(io.NewOffsetWriter(w, f.end), buffer)
	return f
}

func (f *file) beginGroup() { f.groups = append(f.groups, nil) }

// chunk starts the next chunk of the group.
func (f *file) chunk(leaf *schema.Node, o pqfile.ChunkOptions) *pqfile.ChunkWriter {
	return pqfile.NewChunkWriter(f.buf, leaf, o)
}

func (f *file) endChunk(w *pqfile.ChunkWriter, m *pqfile.MinMax) error {
	c, err := w.Close(m)
	if err != nil {
		return err
	}
	c.Offset = f.end
	f.end += c.Size
	g := &f.groups[len(f.groups)-1]
	*g = append(*g, c)
	return nil
}

// finish writes the footer at the end of a file of size bytes.
func (f *file) finish(size int64) error {
	if err := f.buf.Flush(); err != nil {
		return err
	}
	return pqfile.Finish(f.w, size, f.target, f.groups)
}

// needed is the smallest size that the file fits in.
func (f *file) needed() (int64, error) {
	b, err := pqfile.Footer(f.target, f.groups)
	return f.end + int64(len(b)), err
}
