package storagetest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hudifs/hudifs/storage"
	. "github.com/hudifs/hudifs/storage/storagetest"
)

func TestConformance(t *testing.T) {
	stores := map[string]func(storage.Store) storage.Store{
		"Mem":      func(s storage.Store) storage.Store { return s },
		"Faulty":   func(s storage.Store) storage.Store { return NewFaulty(s) },
		"Counting": func(s storage.Store) storage.Store { return storage.NewCounting(s) },
	}
	for name, wrap := range stores {
		t.Run(name, func(t *testing.T) {
			Run(t, func(_ *testing.T, files map[string][]byte) storage.Store { return wrap(NewMem(files)) })
		})
	}
	t.Run("Sub", func(t *testing.T) {
		Run(t, func(_ *testing.T, files map[string][]byte) storage.Store {
			moved := map[string][]byte{"outside": nil, "x/yy": nil}
			for path, data := range files {
				moved["x/y/"+path] = data
			}
			return storage.Sub(NewMem(moved), "x/y")
		})
	})
}

func TestMemChanges(t *testing.T) {
	m := NewMem(map[string][]byte{"d/f": []byte("old"), "d/g/h": nil, "dd": nil})
	before, err := m.Open(t.Context(), "d/f")
	if err != nil {
		t.Fatal(err)
	}
	m.Put("d/f", []byte("newer"))
	after, err := m.Open(t.Context(), "d/f")
	if err != nil {
		t.Fatal(err)
	}
	if before.Size() != 3 || after.Size() != 5 || !after.ModTime().After(before.ModTime()) {
		t.Errorf("before %d bytes of %v, after %d of %v", before.Size(), before.ModTime(), after.Size(), after.ModTime())
	}
	m.Remove("d")
	if _, err := m.List(t.Context(), "d"); !errors.Is(err, storage.ErrNotExist) {
		t.Errorf("List of a removed folder: %v", err)
	}
	if entries, err := m.List(t.Context(), ""); err != nil || len(entries) != 1 {
		t.Errorf("the root has %v, %v", entries, err)
	}
	if n, err := before.ReadAt(t.Context(), make([]byte, 3), 0); n != 3 || err != nil {
		t.Errorf("reading a removed file that is open: %d, %v", n, err)
	}
}

// attempt does the operation that a fault concerns, on a file of ten bytes.
func attempt(ctx context.Context, s storage.Store, op Op) ([]byte, error) {
	if op == List {
		_, err := s.List(ctx, "d")
		return nil, err
	}
	o, err := s.Open(ctx, "d/ten")
	if err != nil || op == Open {
		return nil, err
	}
	buf := make([]byte, 10)
	n, err := o.ReadAt(ctx, buf, 0)
	return buf[:n], err
}

func TestFaults(t *testing.T) {
	data := []byte("0123456789")
	wantErr := map[Effect]error{
		NotExist: storage.ErrNotExist, Denied: storage.ErrPermission, Unavailable: storage.ErrUnavailable,
		Cancelled: context.Canceled, Short: io.ErrUnexpectedEOF,
	}
	for _, op := range []Op{Open, List, Read} {
		for _, effect := range Effects(op) {
			t.Run(op.String()+" "+effect.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					path := "d/t*"
					if op == List {
						path = "d"
					}
					s := NewFaulty(NewMem(map[string][]byte{"d/ten": data}), Fault{op, path, 2, effect, time.Hour})
					for i := 1; i <= 3; i++ {
						start := time.Now()
						got, err := attempt(t.Context(), s, op)
						faulty := i == 2
						if want := wantErr[effect]; faulty && !errors.Is(err, want) || !faulty && err != nil {
							t.Errorf("attempt %d: %v", i, err)
						}
						if took := time.Since(start); (took == time.Hour) != (faulty && effect == Slow) {
							t.Errorf("attempt %d took %v", i, took)
						}
						if op == Read && bytes.Equal(got, data) == (faulty && effect != Slow) {
							t.Errorf("attempt %d read %q", i, got)
						}
					}
					s.Verify(t)
					if s.Calls(op) != 3 {
						t.Errorf("%d calls", s.Calls(op))
					}
				})
			})
		}
	}
}

func TestSlowEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewFaulty(NewMem(map[string][]byte{"f": nil}), Fault{Op: Open, Effect: Slow, Delay: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		if _, err := s.Open(ctx, "f"); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// recorder is a testing.TB that remembers failures instead of failing.
type recorder struct {
	testing.TB
	failures int
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failures++ }

func TestVerifyFindsFaultsThatNeverFired(t *testing.T) {
	s := NewFaulty(NewMem(map[string][]byte{"f": nil}),
		Fault{Op: Open, Path: "f", N: 1, Effect: Denied},
		Fault{Op: Open, Path: "f", N: 3, Effect: Denied},
		Fault{Op: Open, Path: "x/f", Effect: Denied},
		Fault{Op: List, Effect: Denied})
	for range 2 {
		_, _ = s.Open(t.Context(), "f") // the fault's error is not what is tested
	}
	var r recorder
	s.Verify(&r)
	if r.failures != 3 {
		t.Errorf("%d faults reported, want 3", r.failures)
	}
}
