package views

import (
	"context"
	"time"
)

// SetIdle sets how long nobody must have read before the rest of a file is made. No file may have been read.
func (t *Tree) SetIdle(d time.Duration) { t.lazy.idle = d }

// NewQueue gives the way into a queue for renderings.
func NewQueue(memory int64) func(ctx context.Context, cost int64) (leave func(), err error) {
	return newQueue(memory).enter
}
