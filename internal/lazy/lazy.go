// Package lazy makes values when they are first asked for, once for all who ask meanwhile.
package lazy

import (
	"context"
	"sync"
)

// Value is a value that is made once, by whoever asks for it first. Others wait as long as their own context lasts. A failure
// is not remembered: the next who asks, or has been waiting, tries again. The zero value is ready for use.
type Value[T any] struct {
	mu     sync.Mutex
	making chan struct{} // closed when the attempt that is under way ends; nil without one
	done   bool
	value  T
}

// Get returns the value, made by create if there is none yet. No lock is held while create runs.
func (l *Value[T]) Get(ctx context.Context, create func(context.Context) (T, error)) (T, error) {
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

// Peek returns the value if it has been made.
func (l *Value[T]) Peek() (v T, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.value, l.done
}

func (l *Value[T]) attempt(ctx context.Context, create func(context.Context) (T, error)) (v T, err error) {
	made := false
	defer func() { // also where create panics
		l.mu.Lock()
		defer l.mu.Unlock()
		if made {
			l.value, l.done = v, true
		}
		close(l.making)
		l.making = nil
	}()
	v, err = create(ctx)
	made = err == nil
	return v, err
}
