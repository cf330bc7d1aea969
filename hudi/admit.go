package hudi

import (
	"context"
	"io"
)

// unknownCost is what is assumed of files that are made of several slices.
const unknownCost = 64 << 20

// Cost is about how many bytes of memory it takes to render the file.
func (f *File) Cost() int64 {
	if f.made != nil {
		return unknownCost
	}
	return 2 * f.Source() // as measured: pages of all columns that are made at once, keys, log records
}

// admitted renders when Options.Admit lets it.
func admitted(ctx context.Context, f *File, cost int64, render func() error) error {
	admit := f.v.t.opts.Admit
	if admit == nil {
		return render()
	}
	done, err := admit(ctx, cost)
	if err != nil {
		return err
	}
	defer done()
	return render()
}

// queued is a maker of files that are costly to make, whatever is asked.
type queued struct{ f *File }

func (q queued) measure(ctx context.Context) (size int64, bounded bool, err error) {
	err = admitted(ctx, q.f, q.f.Cost(), func() error {
		size, bounded, err = q.f.made.measure(ctx)
		return err
	})
	return size, bounded, err
}

func (q queued) write(ctx context.Context, w io.WriterAt, size int64) error {
	return admitted(ctx, q.f, q.f.Cost(), func() error { return q.f.made.write(ctx, w, size) })
}
