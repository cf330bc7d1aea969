package render

import (
	"bytes"
	"context"
	"runtime"
	"sync"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/contain"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/schema"
)

// asideBytes is the size up to which a column is built aside, in memory, while those before it are being written. Larger
// ones go straight into the file when their turn comes.
const asideBytes = 32 << 20

// built is a column that was built aside.
type built struct {
	chunk   *pqfile.Chunk
	content *bytes.Buffer
	err     error
}

// contents are the buffers of columns that have been written.
var contents = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// columns writes the columns of the group in their order. They do not depend on each other, so small ones are built side by side.
func (g *group) columns(ctx context.Context, f *pqfile.Writer) error {
	leaves := g.in.Target.Leaves
	aside := make([]chan *built, len(leaves))
	started := 0
	start := func(upTo int) error {
		for ; started < min(upTo, len(leaves)); started++ {
			leaf := leaves[started]
			if !g.isSmall(leaf) {
				continue
			}
			// The log's columns are shared, and decoded when the first of them is asked for.
			if _, err := g.records.leaf(leaf); err != nil {
				return err
			}
			aside[started] = make(chan *built, 1)
			go func(done chan<- *built) { done <- g.buildAside(leaf) }(aside[started])
		}
		return nil
	}
	var err error
	for i, leaf := range leaves {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = start(i + runtime.GOMAXPROCS(0))
		}
		switch {
		case aside[i] != nil:
			b := <-aside[i] // also after an error: nothing may go on in the background
			if err == nil {
				err = b.addTo(f)
			}
		case err == nil:
			err = g.writeInPlace(f, leaf)
		}
	}
	return err
}

func (b *built) addTo(f *pqfile.Writer) error {
	if b.err != nil {
		return b.err
	}
	err := f.Add(b.chunk, b.content.Bytes())
	b.content.Reset()
	contents.Put(b.content)
	return err
}

func (g *group) writeInPlace(f *pqfile.Writer, leaf *schema.Node) error {
	w, known, err := g.encode(f.Chunk, leaf)
	if err != nil {
		return err
	}
	return f.EndChunk(w, known())
}

func (g *group) buildAside(leaf *schema.Node) *built {
	b := &built{content: contents.Get().(*bytes.Buffer)}
	b.err = contain.Call(func() error { return g.buildInto(b, leaf) })
	return b
}

func (g *group) buildInto(b *built, leaf *schema.Node) error {
	w, known, err := g.encode(func(leaf *schema.Node, o pqfile.ChunkOptions) *pqfile.ChunkWriter {
		return pqfile.NewChunkWriter(b.content, leaf, o)
	}, leaf)
	if err == nil {
		b.chunk, err = w.Close(known())
	}
	return err
}

// isSmall tells whether a column may be built aside: one that is read from the base file in pieces of bounded size, with log records that are
// all in memory.
func (g *group) isSmall(leaf *schema.Node) bool {
	if g.plan.large || g.records.window < len(g.in.Target.Leaves) {
		return false // decoding another column drops this one's records
	}
	size := int64(len(g.records.taken) * (leaf.Leaf.Width() + 1))
	if leaf.Leaf.Kind == column.Bytes {
		size += g.plan.content
	}
	if g.in.Base != nil && g.in.Base.Groups() > 0 {
		if file, m := g.in.from(leaf); m.Source >= 0 && (file == g.in.Base || g.in.aligned) {
			size += file.Column(g.number, m.Source).TotalUncompressedSize
		} else {
			size += g.in.Base.GroupRows(g.number) * int64(leaf.Leaf.Width()+1)
		}
	}
	return size <= asideBytes
}
