package views

import (
	"context"
	"time"
)

// SetIdleBeforeRest sets how long nobody must have read before the rest of a file is made.
func SetIdleBeforeRest(d time.Duration) (restore func()) {
	before := idleBeforeRest
	idleBeforeRest = d
	return func() { idleBeforeRest = before }
}

// NewQueue gives the way into a queue for renderings.
func NewQueue(memory int64) func(ctx context.Context, cost int64) (leave func(), err error) {
	return newQueue(memory).enter
}
