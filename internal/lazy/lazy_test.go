package lazy_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hudifs/hudifs/internal/lazy"
)

func TestGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lazy.Value[int]
		calls := 0
		create := func(ctx context.Context) (int, error) {
			calls++
			time.Sleep(time.Second)
			if calls == 1 {
				return 0, errors.New("first")
			}
			return calls, nil
		}
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if v, err := l.Get(t.Context(), create); err == nil && v != 2 {
					t.Errorf("got %d, want 2", v)
				}
			})
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		wg.Go(func() {
			time.Sleep(time.Microsecond)
			if _, err := l.Get(impatient, create); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the waiter's own deadline", err)
			}
		})
		wg.Wait()
		if calls != 2 {
			t.Errorf("made %d times, want 2: a failure and a success", calls)
		}
	})
}

func TestPanic(t *testing.T) {
	var l lazy.Value[int]
	func() {
		defer func() { _ = recover() }()
		_, _ = l.Get(t.Context(), func(context.Context) (int, error) { panic("x") })
	}()
	if v, ok := l.Peek(); ok {
		t.Errorf("made by a panic: %d", v)
	}
	if v, err := l.Get(t.Context(), func(context.Context) (int, error) { return 3, nil }); v != 3 || err != nil {
		t.Errorf("after a panic: %d, %v", v, err)
	}
	if v, ok := l.Peek(); v != 3 || !ok {
		t.Errorf("once made: %d, %v", v, ok)
	}
}
