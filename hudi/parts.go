package hudi

import (
	"context"

	"github.com/hudifs/hudifs/internal/render"
)

// Parts is a rendered file whose merge is planned, and whose column chunks can be made one by one: what is not made yet is a hole.
type Parts struct {
	ctx    context.Context //nolint:containedctx // it lasts as long
	f      *File
	layout *render.Layout
	done   func()
}

// PartsCost is about how many bytes of memory the Parts of the file hold on to: log records, encoded and decoded, and where they go.
func (f *File) PartsCost() int64 {
	n := int64(0)
	for _, p := range f.parts {
		n += p.end - p.offset
	}
	return 3 * n
}

// Parts plans the merge of a file that is made of parts, and writes what does not lie in parts to w, its head and footer among it. It is nil for
// other files. ctx must last until Close.
func (f *File) Parts(ctx context.Context, w Writer) (*Parts, error) {
	in, done, err := f.input(ctx)
	if err != nil {
		return nil, f.explain(err)
	}
	p := &Parts{f: f, ctx: ctx, done: done}
	if p.layout, err = f.layOut(ctx, in, w); err != nil || p.layout == nil {
		done()
		return nil, f.explain(err)
	}
	return p, nil
}

func (f *File) layOut(ctx context.Context, in *render.Input, w Writer) (*render.Layout, error) {
	if ok, err := in.InRegions(); !ok || err != nil {
		return nil, err
	}
	size, _, err := f.Size(ctx)
	if err != nil {
		return nil, err
	}
	var l *render.Layout
	err = admitted(ctx, f, f.Cost(), func() (err error) {
		if l, err = in.Layout(ctx, w); err != nil {
			return err
		}
		return l.WriteEnds(w, size)
	})
	return l, err
}

// MadeOfParts tells whether the file is one that Parts makes.
func (f *File) MadeOfParts(ctx context.Context) (bool, error) {
	if f.asIs || f.made != nil || f.base == nil {
		return false, nil
	}
	in, done, err := f.input(ctx)
	if err != nil {
		return false, f.explain(err)
	}
	defer done()
	ok, err := in.InRegions()
	return ok, f.explain(err)
}

// Len is the number of parts, in the order of their places.
func (p *Parts) Len() int { return p.layout.Parts() }

// Range is where a part lies in the file.
func (p *Parts) Range(part int) (offset, size int64) { return p.layout.Region(part) }

// All says that every part will be made.
func (p *Parts) All() { p.layout.All() }

// Make writes a part to w, at its place. Several may be made at once.
func (p *Parts) Make(w Writer, part int) error {
	return p.f.explain(admitted(p.ctx, p.f, p.f.Cost()/int64(p.Len()), func() error { return p.layout.Make(w, part) }))
}

// Close gives back what the parts are made from.
func (p *Parts) Close() { p.done() }
