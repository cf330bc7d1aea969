package views

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/hudifs/hudifs/internal/contain"
	"github.com/hudifs/hudifs/storage"
)

const (
	// patience is how long a prompt answer waits for the storage.
	patience = time.Second
	// An attempt ends after attemptTime, if the store heeds that, so that a new one can find the storage well again.
	attemptTime = time.Minute
)

// prompt gives answers that must come soon even if the storage hangs. What they need goes on in the background, once for
// all who ask.
type prompt struct{ attempts singleflight.Group }

// ask gives what is found under a name, or storage.ErrUnavailable where that takes longer than the patience.
func (p *prompt) ask(ctx context.Context, name string, find func(ctx context.Context) (any, error)) (any, error) {
	attempt := p.attempts.DoChan(name, func() (v any, err error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
		defer cancel()
		err = contain.Call(func() error {
			v, err = find(ctx)
			return err
		})
		return v, err
	})
	enough := time.NewTimer(patience)
	defer enough.Stop()
	select {
	case a := <-attempt:
		return a.Val, a.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-enough.C:
		return nil, fmt.Errorf("%w: no answer within %v", storage.ErrUnavailable, patience)
	}
}
