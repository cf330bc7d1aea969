package views_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/hudifs/hudifs/views"
)

const mib = 1 << 20

// room is a queue with what is in it.
type room struct {
	t     *testing.T
	enter func(context.Context, int64) (func(), error)

	mu sync.Mutex
	in []string // all who came in
}

// send has somebody enter, and leave when the returned function is called.
func (r *room) send(name string, cost int64) (leave func()) {
	gate := make(chan struct{})
	go func() {
		done, err := r.enter(r.t.Context(), cost)
		if err != nil {
			r.t.Error(err)
			return
		}
		r.mu.Lock()
		r.in = append(r.in, name)
		r.mu.Unlock()
		<-gate
		done()
	}()
	synctest.Wait()
	return func() {
		close(gate)
		synctest.Wait()
	}
}

func (r *room) want(what string, names ...string) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.in)
	slices.Sort(names)
	if !slices.Equal(r.in, names) {
		r.t.Fatalf("%s: %q came in, want %q", what, r.in, names)
	}
}

func inRoom(t *testing.T, memory int64, do func(*room)) {
	t.Helper()
	before := runtime.GOMAXPROCS(2)
	defer runtime.GOMAXPROCS(before)
	synctest.Test(t, func(t *testing.T) { do(&room{t: t, enter: views.NewQueue(memory)}) })
}

func TestQueue(t *testing.T) {
	t.Run("as many as there are processors", func(t *testing.T) {
		inRoom(t, 1000*mib, func(r *room) {
			a, b, c := r.send("a", 10*mib), r.send("b", 10*mib), r.send("c", 10*mib)
			r.want("two at once", "a", "b")
			a()
			r.want("then the next", "a", "b", "c")
			b()
			c()
		})
	})
	t.Run("as many as fit into memory, in their order", func(t *testing.T) {
		inRoom(t, 100*mib, func(r *room) {
			a, b, c := r.send("a", 60*mib), r.send("b", 60*mib), r.send("c", 10*mib)
			r.want("what does not fit waits, and those behind it", "a")
			a()
			r.want("then it is its turn", "a", "b", "c")
			b()
			c()
		})
	})
	t.Run("more than there is", func(t *testing.T) {
		inRoom(t, 100*mib, func(r *room) {
			a, b := r.send("a", 5000*mib), r.send("b", 10*mib)
			r.want("alone", "a")
			a()
			b()
			r.want("then others", "a", "b")
		})
	})
	t.Run("small ones never wait behind large ones", func(t *testing.T) {
		inRoom(t, 100*mib, func(r *room) {
			a, b := r.send("a", 100*mib), r.send("b", 100*mib)
			small, smaller := r.send("small", mib), r.send("smaller", 1)
			r.want("at once", "a", "small", "smaller")
			last := r.send("last", mib)
			small()
			r.want("among themselves they do", "a", "small", "smaller", "last")
			a()
			b()
			smaller()
			last()
		})
	})
	t.Run("who gives up leaves nothing behind", func(t *testing.T) {
		inRoom(t, 100*mib, func(r *room) {
			a, b := r.send("a", 20*mib), r.send("b", 20*mib)
			ctx, cancel := context.WithCancel(r.t.Context())
			for _, cost := range []int64{100 * mib, 20 * mib} {
				go func() {
					if _, err := r.enter(ctx, cost); !errors.Is(err, context.Canceled) {
						r.t.Error(err)
					}
				}()
			}
			synctest.Wait()
			cancel()
			synctest.Wait()
			a()
			b()
			whole := r.send("whole", 100*mib)
			r.want("all is free again", "a", "b", "whole")
			whole()
		})
	})
}
