package fusefs

import (
	"context"
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/hudifs/hudifs/internal/contain"
)

// defaultPatience is how long a call goes on after its caller got a signal. Most signals only tell something (a profiler's tick,
// a child that ended), and few programs expect EINTR of a file: a quick call had better succeed.
const defaultPatience = 100 * time.Millisecond

// maxLeft is how many calls may have been left behind at a time. Each holds a goroutine, and a thread if it hangs in the system.
const maxLeft = 1000

type answer[T any] struct {
	value T
	err   error
}

// ask has the tree do something for a request, in a goroutine of its own: an interrupted request is answered with EINTR even
// if the storage hangs in a system call that nothing can interrupt. That call is left behind, and what it gives in the end
// goes to discard, if there is one. A panic is an error.
func ask[T any](ctx context.Context, m *mount, call func(ctx context.Context) (T, error), discard func(T)) (T, error) {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	answers, left := make(chan answer[T]), make(chan struct{})
	go func() {
		var a answer[T]
		a.err = contain.Call(func() (err error) {
			a.value, err = call(inner)
			return err
		})
		select {
		case answers <- a:
		case <-left:
			if a.err == nil && discard != nil {
				discard(a.value)
			}
			<-m.left
		}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
	}
	enough := time.NewTimer(m.patience)
	defer enough.Stop()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-enough.C:
	}
	cancel()
	select {
	case a := <-answers:
		return a.value, a.err
	case m.left <- struct{}{}:
		close(left)
		var none T
		return none, context.Canceled
	}
}

// readBuffers are for reads: that of the request cannot be used, as it serves others once the request was answered.
var readBuffers sync.Pool

// readBuffer is what a read gave. It is a fuse.ReadResult, and goes back to the pool when it was sent.
type readBuffer struct{ whole, data []byte }

func newReadBuffer(size int) *readBuffer {
	b, _ := readBuffers.Get().(*readBuffer)
	if b == nil || cap(b.whole) < size {
		b = &readBuffer{whole: make([]byte, size)}
	}
	b.data = b.whole[:size]
	return b
}

func (b *readBuffer) Bytes([]byte) ([]byte, fuse.Status) { return b.data, fuse.OK }

// Slices has go-fuse write the bytes as they lie, without a try to splice them.
func (b *readBuffer) Slices() ([][]byte, fuse.Status) { return [][]byte{b.data}, fuse.OK }

func (b *readBuffer) Size() int { return len(b.data) }
func (b *readBuffer) Done()     { readBuffers.Put(b) }
