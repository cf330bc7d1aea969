package hudi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/storage/storagetest"
)

// Whatever operation of the store fails, and however: the answer is an error of its class, or right. A byte that is flipped may be one that no
// checksum covers, and a file that is said not to exist may as well be one that the table has lost; then there are other answers, but no panic.
func TestStoreFaults(t *testing.T) {
	for _, name := range []string{"t6_mor_logs", "t8_cow_partitioned", "t9_mor_logs", "t9_clustering"} {
		t.Run(name, func(t *testing.T) {
			real := testTable(t, name)
			probe := storagetest.NewFaulty(real.store())
			good, err := ask(t.Context(), probe, nil, hudi.Latest())
			if err != nil {
				t.Fatal(err)
			}
			want := good.text()
			for _, op := range []storagetest.Op{storagetest.Open, storagetest.List, storagetest.Read} {
				calls := probe.Calls(op)
				for _, effect := range storagetest.Effects(op) {
					for _, n := range slices.Compact([]int{1, 2, calls / 3, calls / 2, calls - 1, calls}) {
						fault := storagetest.Fault{Op: op, N: n, Effect: effect, Delay: time.Millisecond}
						s := storagetest.NewFaulty(real.store(), fault)
						got, err := ask(t.Context(), s, nil, hudi.Latest())
						s.Verify(t)
						if err == nil && effect != storagetest.Flipped && effect != storagetest.NotExist && (got.text() != want || !slices.Equal(got.schema, good.schema)) {
							t.Errorf("%v: other rows:\n%s", fault, unshared(got.text(), want))
						}
						if err != nil && !expected(effect, err) {
							t.Errorf("%v: %v", fault, err)
						}
					}
				}
			}
		})
	}
}

func expected(e storagetest.Effect, err error) bool {
	is := func(of ...error) bool {
		return slices.ContainsFunc(of, func(target error) bool { return errors.Is(err, target) })
	}
	switch e {
	case storagetest.NotExist:
		return is(storage.ErrNotExist, hudi.ErrNotTable, hudi.ErrCleaned, hudi.ErrCorrupt)
	case storagetest.Denied:
		return is(storage.ErrPermission)
	case storagetest.Unavailable:
		return is(storage.ErrUnavailable)
	case storagetest.Cancelled:
		return is(context.Canceled)
	case storagetest.Short:
		return is(io.ErrUnexpectedEOF, hudi.ErrCorrupt)
	case storagetest.Flipped:
		return is(hudi.ErrCorrupt, hudi.ErrUnsupported, hudi.ErrCleaned, hudi.ErrNotTable, hudi.ErrRefused, storage.ErrNotExist)
	default:
		return false
	}
}

// A store that is slow for good is left as soon as the caller gives up, whatever it is doing.
func TestCancellationEndsPromptly(t *testing.T) {
	real := testTable(t, "t9_mor_logs")
	probe := storagetest.NewFaulty(real.store())
	if _, err := ask(t.Context(), probe, nil, hudi.Latest()); err != nil {
		t.Fatal(err)
	}
	for _, op := range []storagetest.Op{storagetest.Open, storagetest.List, storagetest.Read} {
		for _, n := range []int{1, probe.Calls(op) / 2, probe.Calls(op)} {
			t.Run(fmt.Sprint(op, n), func(t *testing.T) {
				t.Parallel()
				s := storagetest.NewFaulty(real.store(), storagetest.Fault{Op: op, N: n, Effect: storagetest.Slow, Delay: time.Hour})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() {
					for s.Calls(op) < n && ctx.Err() == nil {
						time.Sleep(time.Millisecond)
					}
					cancel()
				}()
				if _, err := ask(ctx, s, nil, hudi.Latest()); !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
				s.Verify(t)
			})
		}
	}
}

// A view whose listing failed is asked again: a fault that has gone leaves no trace in names and IDs.
func TestViewsRecover(t *testing.T) {
	for _, name := range []string{"t6_types", "t8_cow_partitioned", "t9_types", "t9_clustering"} {
		real := testTable(t, name)
		names := func(s storage.Store, try int) (string, error) {
			table, err := hudi.Open(t.Context(), s, nil)
			if err != nil {
				return "", err
			}
			v, err := table.View(t.Context(), hudi.Latest())
			for err != nil && try > 0 {
				try--
				v, err = table.View(t.Context(), hudi.Latest())
			}
			if err != nil {
				return "", err
			}
			files, err := filesOf(t.Context(), v)
			for err != nil && try > 0 {
				try--
				files, err = filesOf(t.Context(), v)
			}
			out := ""
			for _, f := range files {
				out += fmt.Sprintf("%s/%s %x\n", f.Partition(), f.Name(), f.ID())
			}
			return out, err
		}
		probe := storagetest.NewFaulty(real.store())
		want, err := names(probe, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range []storagetest.Op{storagetest.Open, storagetest.Read, storagetest.List} {
			for n := 1; n <= probe.Calls(op); n++ {
				for _, e := range []storagetest.Effect{storagetest.Unavailable, storagetest.Cancelled} {
					fault := storagetest.Fault{Op: op, N: n, Effect: e}
					s := storagetest.NewFaulty(real.store(), fault)
					got, err := names(s, 1)
					if err == nil && got != want {
						t.Errorf("%s: %v:\n%s", name, fault, unshared(got, want))
					}
				}
			}
		}
	}
}
