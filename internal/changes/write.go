package changes

import (
	"context"
	"io"

	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/schema"
)

// Version numbers the bytes that are written: it grows whenever the same changes would give other ones.
const Version = 2

// Schema is that of change records.
func Schema() (*schema.Message, error) {
	var fields []schema.Field
	for _, name := range []string{"op", "ts_ms", "before", "after"} {
		fields = append(fields, schema.Text(name))
	}
	return schema.Target(&schema.Type{Kind: schema.Record, Fields: fields}, nil)
}

// groupBytes is how much text a row group has at least, if there is so much.
const groupBytes = 16 << 20

// records takes change records, and writes them row group by row group.
type records struct {
	file    *pqfile.Writer
	schema  *schema.Message
	columns []*column.Vector
}

func newRecords(w io.WriterAt, m *schema.Message) *records {
	r := &records{file: pqfile.NewWriter(w, m), schema: m}
	for _, n := range m.Leaves {
		r.columns = append(r.columns, column.New(n.Leaf))
	}
	return r
}

// add adds a change record. A nil image is null. The text is copied.
func (r *records) add(op, instant string, before, after []byte) error {
	size := 0
	for i, v := range [][]byte{[]byte(op), []byte(instant), before, after} {
		c := r.columns[i]
		if v == nil {
			c.AppendLevels(0, 0)
			continue
		}
		c.AppendLevels(0, c.Leaf.MaxDef)
		c.AppendValue(v)
		size += len(c.Buf)
	}
	if size < groupBytes {
		return nil
	}
	return r.flush()
}

func (r *records) flush() error {
	if r.columns[0].Entries() == 0 {
		return nil
	}
	r.file.BeginGroup()
	for i, n := range r.schema.Leaves {
		c := r.file.Chunk(n, pqfile.ChunkOptions{Codec: format.Snappy})
		if err := c.WriteRows(&pqfile.Page{Vector: r.columns[i]}); err != nil {
			return err
		}
		var m *pqfile.MinMax
		if i < 2 { // nobody looks for images by their text
			m = pqfile.NewMinMax(n.Scalar)
			m.AddVector(r.columns[i])
		}
		if err := r.file.EndChunk(c, m); err != nil {
			return err
		}
		r.columns[i].Reset()
	}
	return nil
}

// Measure is the size of the file that Write writes.
func (g *Group) Measure(ctx context.Context) (int64, error) {
	r, err := g.records(ctx, nowhere{})
	if err != nil {
		return 0, err
	}
	return r.file.Needed()
}

// Write writes the file: size bytes, as Measure gives them.
func (g *Group) Write(ctx context.Context, w io.WriterAt, size int64) error {
	r, err := g.records(ctx, w)
	if err != nil {
		return err
	}
	return r.file.Finish(size)
}

type nowhere struct{}

func (nowhere) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
