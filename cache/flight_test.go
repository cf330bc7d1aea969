package cache_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/hudifs/hudifs/cache"
)

func goexit() { runtime.Goexit() }

// The tests in synctest bubbles use a cache in memory: waiting is the same there, and nothing blocks on a disk.

func TestManyWaitersOneRendering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, "", nil)
		var renders atomic.Int32
		gate := make(chan struct{})
		for range 50 {
			go func() {
				e, err := d.Do(t.Context(), key(1), 100, func(ctx context.Context, w *cache.Writer) error {
					renders.Add(1)
					<-gate
					return render(1, 100)(ctx, w)
				})
				if err != nil {
					t.Error(err)
					return
				}
				check(t, e, content(1, 100))
				closeEntry(t, e)
			}()
		}
		synctest.Wait()
		close(gate)
		synctest.Wait()
		if n := renders.Load(); n != 1 {
			t.Errorf("%d renderings", n)
		}
		if s := d.Stats(); s.Renders != 1 || s.Hits != 49 || s.InUse != 0 || s.Rendering != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestErrorReachesAllWaitersAndIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, "", nil)
		broken := errors.New("broken")
		gate := make(chan struct{})
		var failed atomic.Int32
		for range 5 {
			go func() {
				_, err := d.Do(t.Context(), key(1), 100, func(context.Context, *cache.Writer) error {
					<-gate
					return broken
				})
				if errors.Is(err, broken) {
					failed.Add(1)
				}
			}()
		}
		synctest.Wait()
		close(gate)
		synctest.Wait()
		if n := failed.Load(); n != 5 {
			t.Errorf("%d of 5 saw the error", n)
		}
		put(t, d, 1, 100)
	})
}

// waiter is a call of Do whose end can be looked at.
type waiter struct {
	cancel context.CancelFunc
	entry  *cache.Entry
	err    error
	ended  bool
}

func wait(t *testing.T, d *cache.Disk, r func(context.Context, *cache.Writer) error) *waiter {
	ctx, cancel := context.WithCancel(t.Context())
	w := &waiter{cancel: cancel}
	go func() {
		w.entry, w.err = d.Do(ctx, key(1), 100, r)
		w.ended = true
	}()
	synctest.Wait()
	return w
}

func TestWaitersGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, "", nil)
		gate, cancelled := make(chan struct{}), make(chan struct{})
		slow := func(ctx context.Context, w *cache.Writer) error {
			select {
			case <-gate:
				return render(1, 100)(ctx, w)
			case <-ctx.Done():
				close(cancelled)
				<-gate // slow to notice
				return ctx.Err()
			}
		}
		first, second, third := wait(t, d, slow), wait(t, d, noRender), wait(t, d, noRender)

		first.cancel() // whose render it is makes no difference
		second.cancel()
		synctest.Wait()
		for _, w := range []*waiter{first, second} {
			if !w.ended || !errors.Is(w.err, context.Canceled) {
				t.Errorf("a waiter that gave up: %v", w.err)
			}
		}
		select {
		case <-cancelled:
			t.Error("the rendering was cancelled while somebody waited")
		default:
		}

		third.cancel()
		synctest.Wait()
		<-cancelled

		// The cancelled rendering still runs: who comes now does not get its error, nor a second one beside it.
		impatient, fourth := wait(t, d, noRender), wait(t, d, render(1, 100))
		if impatient.ended || fourth.ended {
			t.Error("did not wait for the end of the cancelled rendering")
		}
		impatient.cancel()
		synctest.Wait()
		if !errors.Is(impatient.err, context.Canceled) {
			t.Errorf("gave up waiting for the cancelled rendering: %v", impatient.err)
		}
		close(gate)
		synctest.Wait()
		if fourth.err != nil || fourth.entry == nil {
			t.Fatalf("who came after the cancellation: %v", fourth.err)
		}
		check(t, fourth.entry, content(1, 100))
		closeEntry(t, fourth.entry)
		fourth.cancel()
	})
}

func TestCancelledRenderingStopsAtItsNextWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, "", nil)
		step := make(chan struct{})
		var written error
		w := wait(t, d, func(_ context.Context, w *cache.Writer) error {
			<-step
			_, written = w.Write([]byte("x"))
			return written
		})
		w.cancel()
		synctest.Wait()
		close(step)
		synctest.Wait()
		if !errors.Is(written, context.Canceled) {
			t.Errorf("Write of a cancelled rendering: %v", written)
		}
	})
}

func TestContextKeepsItsValues(t *testing.T) {
	type name struct{}
	d := open(t, "", nil)
	ctx := context.WithValue(t.Context(), name{}, "value")
	e, err := d.Do(ctx, key(1), 0, func(ctx context.Context, _ *cache.Writer) error {
		if ctx.Value(name{}) != "value" {
			t.Error("value lost")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	closeEntry(t, e)
}

func TestParallelWrites(t *testing.T) {
	d := open(t, t.TempDir(), nil)
	const n = 8 << 20
	want := content(1, n)
	e, err := d.Do(t.Context(), key(1), n, func(_ context.Context, w *cache.Writer) error {
		var wg sync.WaitGroup
		for part := range 8 {
			wg.Go(func() {
				for off := part << 20; off < (part+1)<<20; off += 32 << 10 {
					if _, err := w.WriteAt(want[off:off+32<<10], int64(off)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	check(t, e, want)
}
