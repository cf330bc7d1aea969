package hudi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/storage/storagetest"
)

// faulty are small tables and the kinds of views that they are asked for while the store misbehaves.
var faulty = map[string][]string{
	"t6_mor_logs": {"latest", "asof", "incremental", "read optimized"}, "t9_mor_logs": {"latest", "asof", "incremental", "diff", "read optimized"},
	"t8_cow_partitioned": {"latest", "asof", "incremental"}, "t9_clustering": {"latest", "asof", "incremental"},
	"t6_changes_cow": {"cdc"}, "t9_changes_mor": {"cdc", "incremental"},
}

// Whatever operation of the store fails, and however, for whatever view: the answer is an error of its class, or right. That goes for files and
// folders which are said not to exist, too, save the timeline's: object stores have no empty folders, so that is a table without writes. A
// byte that is flipped may be one that no checksum covers: then there are other answers, but no panic; TestFlippedBytes says more.
func TestStoreFaults(t *testing.T) {
	for name, kinds := range faulty {
		t.Run(name, func(t *testing.T) {
			real := testTable(t, name)
			in := real.instants(t)
			all := queries(in)
			before, last := in[len(in)-2].Time, in[len(in)-1].Time // what all writes have changed takes long to find out
			all["diff"], all["cdc"] = hudi.Difference(before, last), hudi.Changes(before, last)
			for _, kind := range kinds {
				t.Run(kind, func(t *testing.T) {
					t.Parallel()
					storeFaults(t, real, all[kind])
				})
			}
		})
	}
}

func storeFaults(t *testing.T, real *realTable, q hudi.Query) {
	probe := storagetest.NewFaulty(real.store())
	good, err := ask(t.Context(), probe, nil, q)
	if err != nil {
		t.Fatal(err)
	}
	want, fired := good.text(), 0
	for _, op := range []storagetest.Op{storagetest.Open, storagetest.List, storagetest.Read} {
		calls := probe.Calls(op)
		for _, effect := range storagetest.Effects(op) {
			at := []int{1, calls / 2, calls}
			if q == hudi.Latest() { // which is quick
				at = []int{1, 2, calls / 3, calls / 2, calls - 1, calls}
			}
			for _, n := range slices.Compact(at) {
				fault := storagetest.Fault{Op: op, N: n, Effect: effect, Delay: time.Millisecond}
				s := storagetest.NewFaulty(real.store(), fault)
				got, err := askSoon(t, s, q)
				s.Verify(t)
				fired++
				switch {
				case err != nil || effect == storagetest.Flipped:
				case op == storagetest.List && n == 1 && effect == storagetest.NotExist: // the timeline's
					if got.count() > 0 {
						t.Errorf("%v: some rows:\n%s", fault, got.text())
					}
				case got.text() != want || !slices.Equal(got.schema, good.schema):
					t.Errorf("%v: other rows:\n%s", fault, unshared(got.text(), want))
				}
				if err != nil && !expected(effect, err) {
					t.Errorf("%v: %v", fault, err)
				}
			}
		}
	}
	t.Logf("%d faults, of %d, %d and %d operations", fired, probe.Calls(storagetest.Open), probe.Calls(storagetest.List), probe.Calls(storagetest.Read))
}

// askSoon asks, and fails the test if there is no answer.
func askSoon(t *testing.T, s storage.Store, q hudi.Query) (*answer, error) {
	t.Helper()
	type result struct {
		a   *answer
		err error
	}
	done := make(chan result, 1)
	go func() {
		a, err := ask(t.Context(), s, nil, q)
		done <- result{a, err}
	}()
	select {
	case r := <-done:
		return r.a, r.err
	case <-time.After(time.Minute):
		t.Fatal("it hangs")
		return nil, nil
	}
}

// flipping is a store that inverts a bit in the middle of one read, and notes where.
type flipping struct {
	storage.Store
	n    int64 // the read, from 1
	read atomic.Int64
	path string
	at   int64
}

func (s *flipping) Open(ctx context.Context, p string) (storage.Object, error) {
	o, err := s.Store.Open(ctx, p)
	return flippingObject{o, s, p}, err
}

type flippingObject struct {
	storage.Object
	s    *flipping
	path string
}

func (o flippingObject) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := o.Object.ReadAt(ctx, p, off)
	if n > 0 && o.s.read.Add(1) == o.s.n {
		p[n/2] ^= 0x10
		o.s.path, o.s.at = o.path, off+int64(n/2)
	}
	return n, err
}

// checked are the places of a Parquet file that checksums cover: what its pages hold.
func checked(t *testing.T, data []byte) (places [][2]int64) {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range f.Metadata().RowGroups {
		for _, c := range g.Columns {
			at := c.MetaData.DataPageOffset
			if d := c.MetaData.DictionaryPageOffset; d > 0 {
				at = min(at, d)
			}
			for end := at + c.MetaData.TotalCompressedSize; at < end; {
				r := bytes.NewReader(data[at:end])
				var h format.PageHeader
				if err := thrift.NewDecoder(new(thrift.CompactProtocol).NewReader(r)).Decode(&h); err != nil {
					t.Fatal(err)
				}
				at = end - int64(r.Len())
				if h.CRC != 0 {
					places = append(places, [2]int64{at, at + int64(h.CompressedPageSize)})
				}
				at += int64(h.CompressedPageSize)
			}
		}
	}
	return places
}

// A bit is flipped in each read, one after the other. What can be known of it is what the format has checksums for: the pages of base files, as
// Hudi writes them. A flip there is an error, or does no harm, as the column is not asked for. Nothing covers commits, log blocks of Avro records,
// page headers and footers: what they say then may be damaged, or be another answer, and who could tell? But nothing panics or hangs, and
// all errors are of a class that says that the table is what is wrong.
func TestFlippedBytes(t *testing.T) {
	covered, others := 0, 0
	for name, kinds := range map[string][]string{"t6_mor_logs": {"incremental"}, "t9_mor_logs": {"latest"}, "t9_cow_partitioned": {"latest", "asof"}} {
		real := testTable(t, name)
		places := map[string][][2]int64{}
		for _, p := range real.named(".parquet") {
			places[p] = checked(t, real.files[p])
		}
		all := queries(real.instants(t))
		for _, kind := range kinds {
			want, err := ask(t.Context(), real.store(), nil, all[kind])
			if err != nil {
				t.Fatal(err)
			}
			for n := int64(1); ; n++ {
				s := &flipping{Store: real.store(), n: n}
				got, err := askSoon(t, s, all[kind])
				if s.read.Load() < n {
					break
				}
				what := fmt.Sprintf("%s: %s: byte %d of %s", name, kind, s.at, s.path)
				if err != nil && !expected(storagetest.Flipped, err) && !errors.Is(err, errUnreadable) {
					t.Errorf("%s: %v", what, err)
				}
				other := err == nil && got.text() != want.text()
				if !slices.ContainsFunc(places[s.path], func(p [2]int64) bool { return p[0] <= s.at && s.at < p[1] }) {
					if other {
						others++
					}
					continue
				}
				if covered++; other {
					t.Errorf("%s: other rows:\n%s", what, unshared(got.text(), want.text()))
				}
			}
		}
	}
	t.Logf("%d flips where a checksum tells; elsewhere %d other answers", covered, others)
	if covered < 20 || others == 0 {
		t.Error("too few flips to tell anything")
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
