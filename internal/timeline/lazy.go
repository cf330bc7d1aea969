package timeline

import (
	"context"
	"sync"
)

// lazy is a value that is made once, by whoever asks for it first. Others wait as long as their own context lasts. A failure
// is not remembered.
type lazy[T any] struct {
	mu     sync.Mutex
	making chan struct{} // closed when the attempt that is under way ends; nil without one
	done   bool
	value  T
}

func (l *lazy[T]) get(ctx context.Context, create func(context.Context) (T, error)) (T, error) {
	for {
		if err := ctx.Err(); err != nil {
			var none T
			return none, err
		}
		l.mu.Lock()
		if l.done {
			defer l.mu.Unlock()
			return l.value, nil
		}
		wait := l.making
		if wait == nil {
			l.making = make(chan struct{})
		}
		l.mu.Unlock()
		if wait == nil {
			return l.attempt(ctx, create)
		}
		select {
		case <-wait:
		case <-ctx.Done():
		}
	}
}

func (l *lazy[T]) attempt(ctx context.Context, create func(context.Context) (T, error)) (T, error) {
	made := false
	var v T
	defer func() { // also when create panics: the others must not wait for ever
		l.mu.Lock()
		defer l.mu.Unlock()
		if made {
			l.value, l.done = v, true
		}
		close(l.making)
		l.making = nil
	}()
	v, err := create(ctx)
	made = err == nil
	return v, err
}
