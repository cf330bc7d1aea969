package storagetest

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hudifs/hudifs/storage"
)

// Op is an operation of a store.
type Op int

// The operations that can be made to fail.
const (
	Open Op = iota
	List
	Read // ReadAt of an Object
)

func (o Op) String() string {
	return [...]string{"open", "list", "read"}[o]
}

// Effect is what a fault does to an operation.
type Effect int

// The effects. Short and Flipped concern reads only.
const (
	NotExist    Effect = iota // fails with storage.ErrNotExist
	Denied                    // fails with storage.ErrPermission
	Unavailable               // fails with storage.ErrUnavailable
	Cancelled                 // fails with context.Canceled
	Slow                      // takes Delay longer, or until the context ends
	Short                     // gives half of the bytes, and io.ErrUnexpectedEOF
	Flipped                   // gives the right number of bytes, with one bit inverted
	Panics                    // panics, as a parser may over what it was given
)

func (e Effect) String() string {
	return [...]string{"not-exist", "denied", "unavailable", "cancelled", "slow", "short", "flipped", "panics"}[e]
}

func (e Effect) err() error {
	switch e {
	case NotExist:
		return storage.ErrNotExist
	case Denied:
		return storage.ErrPermission
	case Unavailable:
		return storage.ErrUnavailable
	case Cancelled:
		return context.Canceled
	default:
		return nil
	}
}

// Effects returns every effect that op can have, for tests that try them all, save Panics: no store may do that.
func Effects(op Op) []Effect {
	effects := []Effect{NotExist, Denied, Unavailable, Cancelled, Slow}
	if op == Read {
		effects = append(effects, Short, Flipped)
	}
	return effects
}

// Fault is one thing that goes wrong.
type Fault struct {
	Op     Op
	Path   string // a pattern of path.Match, for the last element only if it has no slash; "" is every path
	N      int    // the Nth such operation, from 1; 0 is each of them
	Effect Effect
	Delay  time.Duration // of Slow
}

func (f Fault) String() string {
	return fmt.Sprintf("%v of %q, occurrence %d: %v", f.Op, f.Path, f.N, f.Effect)
}

func (f Fault) matches(op Op, p string) bool {
	if f.Op != op {
		return false
	}
	if f.Path == "" {
		return true
	}
	if !strings.Contains(f.Path, "/") {
		p = path.Base(p)
	}
	ok, err := path.Match(f.Path, p)
	if err != nil {
		panic(fmt.Sprintf("storagetest: pattern %q: %v", f.Path, err))
	}
	return ok
}

// Faulty is a store that misbehaves as told. It may be used from many goroutines. Its Objects hide the local file that may
// be below them, since reading that would evade the faults.
type Faulty struct {
	base storage.Store

	mu     sync.Mutex
	calls  map[Op]int
	faults []armed
}

type armed struct {
	Fault
	seen, fired int
}

var _ storage.Store = (*Faulty)(nil)

// NewFaulty returns base with faults. Where several match one operation, the first one that is due counts.
func NewFaulty(base storage.Store, faults ...Fault) *Faulty {
	f := &Faulty{base: base, calls: map[Op]int{}}
	for _, fault := range faults {
		f.faults = append(f.faults, armed{Fault: fault})
	}
	return f
}

// Calls returns how many operations of this kind there were, so that a second run can fail the last of them.
func (f *Faulty) Calls(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

// Verify fails the test for every fault that never happened.
func (f *Faulty) Verify(t testing.TB) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.faults {
		if a.fired == 0 {
			t.Errorf("storagetest: fault never fired: %v (%d such operations seen)", a.Fault, a.seen)
		}
	}
}

// due counts an operation and returns the fault that it meets, if any.
func (f *Faulty) due(op Op, p string) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[op]++
	var hit *Fault
	for i := range f.faults {
		a := &f.faults[i]
		if !a.matches(op, p) {
			continue
		}
		a.seen++
		if hit == nil && (a.N == 0 || a.N == a.seen) {
			a.fired++
			hit = &a.Fault
		}
	}
	return hit
}

// before is the part of a fault that happens ahead of the operation.
func (f *Faulty) before(ctx context.Context, op Op, p string) (*Fault, error) {
	fault := f.due(op, p)
	if fault == nil {
		return nil, nil
	}
	err := fault.Effect.err()
	if fault.Effect == Panics {
		panic(fmt.Sprintf("%v %s: injected", op, p))
	}
	if fault.Effect == Slow {
		timer := time.NewTimer(fault.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%v %s: injected: %w", op, p, err)
	}
	return fault, nil
}

// Open implements storage.Store.
func (f *Faulty) Open(ctx context.Context, path string) (storage.Object, error) {
	if _, err := f.before(ctx, Open, path); err != nil {
		return nil, err
	}
	o, err := f.base.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return faultyObject{o, f, path}, nil
}

// List implements storage.Store.
func (f *Faulty) List(ctx context.Context, dir string) ([]storage.Entry, error) {
	if _, err := f.before(ctx, List, dir); err != nil {
		return nil, err
	}
	return f.base.List(ctx, dir)
}

type faultyObject struct {
	storage.Object
	f    *Faulty
	path string
}

func (o faultyObject) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	fault, err := o.f.before(ctx, Read, o.path)
	if err != nil {
		return 0, err
	}
	if fault != nil && fault.Effect == Short && len(p) > 0 {
		n, err := o.Object.ReadAt(ctx, p[:len(p)/2], off)
		if err == nil {
			err = fmt.Errorf("read %s: injected: %w", o.path, io.ErrUnexpectedEOF)
		}
		return n, err
	}
	n, err := o.Object.ReadAt(ctx, p, off)
	if fault != nil && fault.Effect == Flipped && n > 0 {
		p[n/2] ^= 0x10
	}
	return n, err
}
