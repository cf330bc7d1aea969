package storage

import (
	"context"
	"sync/atomic"
)

// Counters says what was asked of a store, whether it succeeded or not.
type Counters struct {
	Opens, Lists, Stats, Reads int64 // calls
	Bytes                      int64 // returned by reads
}

// Counting is a Store that counts what is asked of the one below.
type Counting struct {
	base                              Store
	opens, lists, stats, reads, bytes atomic.Int64
}

// NewCounting returns a Counting over s that starts at zero.
func NewCounting(s Store) *Counting {
	return &Counting{base: s}
}

// Counters returns the counts so far. Under concurrent use they are not of one moment.
func (c *Counting) Counters() Counters {
	return Counters{Opens: c.opens.Load(), Lists: c.lists.Load(), Stats: c.stats.Load(), Reads: c.reads.Load(), Bytes: c.bytes.Load()}
}

var (
	_ Store = (*Counting)(nil)
	_ Namer = (*Counting)(nil)
)

// Open implements Store.
func (c *Counting) Open(ctx context.Context, path string) (Object, error) {
	c.opens.Add(1)
	o, err := c.base.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return countingObject{o, c}, nil
}

// List implements Store.
func (c *Counting) List(ctx context.Context, dir string) ([]Entry, error) {
	c.lists.Add(1)
	return c.base.List(ctx, dir)
}

// AppendNames implements Namer. It counts as a list.
func (c *Counting) AppendNames(ctx context.Context, to []Entry, dir string) ([]Entry, error) {
	c.lists.Add(1)
	return AppendNames(ctx, c.base, to, dir)
}

// Stat implements Namer.
func (c *Counting) Stat(ctx context.Context, name string) (Entry, error) {
	c.stats.Add(1)
	return Stat(ctx, c.base, name)
}

type countingObject struct {
	Object
	c *Counting
}

func (o countingObject) Unwrap() Object { return o.Object }

func (o countingObject) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := o.Object.ReadAt(ctx, p, off)
	o.c.reads.Add(1)
	o.c.bytes.Add(int64(n))
	return n, err
}
