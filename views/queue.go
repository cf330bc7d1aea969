package views

import (
	"context"
	"runtime"

	"golang.org/x/sync/semaphore"
)

// queue decides when a rendering may begin: as many run as there are processors, and as fit into memory, the others wait for
// their turn. Small ones have a lane of their own, so that none of them waits behind a large one.
type queue struct {
	memory int64
	bytes  *semaphore.Weighted // of the large
	large  *semaphore.Weighted // renderings
	small  *semaphore.Weighted
}

// smallCost is the memory that a small rendering takes at most.
const smallCost = 4 << 20

func newQueue(memory int64) *queue {
	atOnce := int64(runtime.GOMAXPROCS(0))
	return &queue{
		memory: memory, bytes: semaphore.NewWeighted(memory),
		large: semaphore.NewWeighted(atOnce), small: semaphore.NewWeighted(atOnce),
	}
}

// enter waits until a rendering that takes cost bytes may begin. One that takes more than there is runs without other large ones.
func (q *queue) enter(ctx context.Context, cost int64) (leave func(), err error) {
	if cost <= smallCost {
		if err := q.small.Acquire(ctx, 1); err != nil {
			return nil, err
		}
		return func() { q.small.Release(1) }, nil
	}
	cost = min(cost, q.memory)
	if err := q.bytes.Acquire(ctx, cost); err != nil {
		return nil, err
	}
	if err := q.large.Acquire(ctx, 1); err != nil {
		q.bytes.Release(cost)
		return nil, err
	}
	return func() {
		q.large.Release(1)
		q.bytes.Release(cost)
	}, nil
}
