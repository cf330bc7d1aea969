package views

import (
	"context"
	"errors"
	"runtime"
	"sort"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/hudifs/hudifs/cache"
	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/internal/contain"
)

// A rendered file that is made of parts is open before it is complete: a part is made when somebody reads it. When nobody has for a while, or
// when many have been asked for, or who reads begins where the file begins, the rest is made, and the file goes into the cache as any other.

// idleBeforeRest is how long nobody must have read a missing part before the rest is made: an engine reads the columns that it needs at once.
const idleBeforeRest = 2 * time.Second

// many is how many of a file's parts may be asked for before the rest is made with them: it costs less to make all at once than most of them apart.
func many(parts int) int { return max(4, parts/3) }

// maxLazy is how many files are open and incomplete at most: each keeps its log records in memory, which is bounded as well. Further ones are
// rendered at once.
const maxLazy = 16

// lazyFiles are the incomplete files of a tree.
type lazyFiles struct {
	run context.Context //nolint:containedctx // of the tree: parts are made for whoever comes next
	end context.CancelFunc

	memory *semaphore.Weighted // that they may take
	idle   time.Duration       // without a reader, before the rest is made

	mu    sync.Mutex
	files map[cache.Key]*lazyFile
	going sync.WaitGroup
}

func newLazyFiles(memory int64) *lazyFiles {
	l := &lazyFiles{files: map[cache.Key]*lazyFile{}, memory: semaphore.NewWeighted(memory), idle: idleBeforeRest}
	l.run, l.end = context.WithCancel(context.Background())
	return l
}

// close gives up all files, and waits until nothing is made any more.
func (l *lazyFiles) close() {
	l.end()
	l.going.Wait()
}

// lazyFile is a file of which some parts are made.
type lazyFile struct {
	f   *file
	set *lazyFiles
	key cache.Key

	ready   chan struct{} // closed when the file is begun
	parts   *hudi.Parts
	partial *cache.Partial // nil where the file could not be begun

	news chan struct{} // gets a token when a part is asked for, and when one is made
	refs int           // handles, and the rest that is being made; guarded by lazyFiles.mu

	mu    sync.Mutex
	state []*making // by part; nil is not begun
	asked int       // parts that readers have asked for
	left  int       // parts that are not made
}

// making is the making of a part.
type making struct {
	done chan struct{} // closed when it is made, or err says why not
	err  error
}

// open gives a handle of a file, or nil where it is better rendered at once. What the file is made of is open from then on.
func (l *lazyFiles) open(ctx context.Context, f *file, size int64) (Handle, error) {
	z := l.join(f, f.key(), size)
	if z == nil {
		return nil, nil
	}
	select {
	case <-z.ready:
	case <-ctx.Done():
		l.leave(z)
		return nil, ctx.Err()
	}
	if z.partial == nil {
		l.leave(z)
		return nil, nil // to render it at once works, or fails for a reason of its own
	}
	return &lazyHandle{z: z}, nil
}

// join takes a reference of the file of a key, and begins it if it is not there.
func (l *lazyFiles) join(f *file, key cache.Key, size int64) *lazyFile {
	l.mu.Lock()
	defer l.mu.Unlock()
	if z := l.files[key]; z != nil {
		z.refs++
		return z
	}
	if len(l.files) >= maxLazy || l.run.Err() != nil || !l.memory.TryAcquire(f.file.PartsCost()) {
		return nil
	}
	z := &lazyFile{f: f, set: l, key: key, ready: make(chan struct{}), news: make(chan struct{}, 1), refs: 2}
	l.files[key] = z
	l.going.Go(func() { l.live(z, size) })
	return z
}

// leave gives a reference back.
func (l *lazyFiles) leave(z *lazyFile) {
	l.mu.Lock()
	defer l.mu.Unlock()
	z.refs--
	if z.refs > 0 {
		return
	}
	if l.files[z.key] == z {
		delete(l.files, z.key)
	}
	if z.parts != nil {
		z.parts.Close()
	}
	if z.partial != nil {
		_ = z.partial.Close() // it has no more to say
	}
	l.memory.Release(z.f.file.PartsCost())
}

// live is the life of a file: it is begun, parts are made for its readers, then the rest.
func (l *lazyFiles) live(z *lazyFile, size int64) {
	defer l.leave(z)
	err := z.begin(l.run, size)
	close(z.ready)
	if err == nil && z.partial != nil {
		err = z.rest(l.run)
	}
	if err != nil && l.run.Err() == nil {
		z.f.tab.t.opts.Logger.Warn("a file stays incomplete", "file", z.f.file.Name(), "err", err)
	}
	// Whoever comes now finds the file in the cache, or begins it anew.
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.files, z.key)
}

func (z *lazyFile) begin(ctx context.Context, size int64) error {
	return contain.Call(func() error {
		partial, err := z.f.tab.t.opts.Cache.Begin(ctx, size)
		if partial == nil || err != nil {
			return err
		}
		if z.parts, err = z.f.file.Parts(ctx, partial); err != nil || z.parts == nil {
			return errors.Join(err, partial.Close())
		}
		z.partial, z.left = partial, z.parts.Len()
		z.state = make([]*making, z.left)
		return nil
	})
}

// rest waits until nobody reads missing parts, or many have been asked for, makes the others and puts the file into the cache.
func (z *lazyFile) rest(ctx context.Context) error {
	for idle := false; !idle && z.waits(); {
		select {
		case <-z.news:
		case <-time.After(z.set.idle):
			idle = true
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for part := range z.state {
		group.Go(func() error { return z.need(ctx, part) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return z.partial.Publish(z.set.run, z.key)
}

// waits tells whether the rest is better left until somebody asks for it.
func (z *lazyFile) waits() bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.left > 0 && z.asked < many(len(z.state))
}

// ask makes a part for a reader.
func (z *lazyFile) ask(ctx context.Context, part int) error {
	z.mu.Lock()
	if z.state[part] == nil {
		z.asked++
	}
	z.mu.Unlock()
	z.tell()
	return z.need(ctx, part)
}

// need waits until a part is made. It is made for all who wait, so none of them can end that; what failed is made again for who comes next.
func (z *lazyFile) need(ctx context.Context, part int) error {
	z.mu.Lock()
	m := z.state[part]
	if m == nil {
		m = &making{done: make(chan struct{})}
		z.state[part] = m
		z.set.going.Go(func() { z.make(m, part) })
	}
	z.mu.Unlock()
	select {
	case <-m.done:
		return m.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (z *lazyFile) make(m *making, part int) {
	m.err = contain.Call(func() error { return z.parts.Make(z.partial, part) })
	z.mu.Lock()
	if m.err == nil {
		z.left--
	} else {
		z.state[part] = nil
	}
	z.mu.Unlock()
	close(m.done)
	z.tell()
}

// tell wakes the one that waits for silence.
func (z *lazyFile) tell() {
	select {
	case z.news <- struct{}{}:
	default: // it has not heard of the last news yet
	}
}

// all has the rest made at once: somebody reads the file from its beginning.
func (z *lazyFile) all() {
	z.mu.Lock()
	z.asked = len(z.state)
	z.mu.Unlock()
	z.parts.All()
	z.tell()
}

// read makes the parts that lie between two offsets.
func (z *lazyFile) read(ctx context.Context, off, end int64) error {
	if off == 0 {
		z.all()
	}
	first := sort.Search(z.parts.Len(), func(i int) bool {
		from, size := z.parts.Range(i)
		return from+size > off
	})
	for i := first; i < z.parts.Len(); i++ {
		if from, _ := z.parts.Range(i); from >= end {
			break
		}
		if err := z.ask(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// lazyHandle is open on an incomplete file.
type lazyHandle struct {
	z      *lazyFile
	closed sync.Once

	mu    sync.Mutex
	whole Handle // the same file, rendered at once: nil unless parts could not be made
}

func (h *lazyHandle) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if err := h.z.read(ctx, off, off+int64(len(p))); err != nil {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		whole, err := h.instead(ctx)
		if err != nil {
			return 0, err
		}
		return whole.ReadAt(ctx, p, off)
	}
	return atEnd(h.z.partial.File().ReadAt(p, off))
}

// instead gives the file as the cache has it, in memory where the disk is full.
func (h *lazyHandle) instead(ctx context.Context) (Handle, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.whole == nil {
		whole, err := h.z.f.openWhole(ctx, h.z.partial.Size())
		if err != nil {
			return nil, err
		}
		h.whole = whole
	}
	return h.whole, nil
}

func (h *lazyHandle) Close() (err error) {
	h.closed.Do(func() {
		h.z.set.leave(h.z)
		if h.whole != nil {
			err = h.whole.Close()
		}
	})
	return err
}
