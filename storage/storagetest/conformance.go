// Package storagetest has what tests of and on storage need: the conformance suite that every Store passes, a store in
// memory, and one that fails as told.
package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hudifs/hudifs/storage"
)

// Run checks that stores keep to the contract of package storage. open makes a store that holds the given files, by path,
// and nothing else.
func Run(t *testing.T, open func(t *testing.T, files map[string][]byte) storage.Store) {
	tests := []struct {
		name string
		fn   func(*testing.T, storage.Store, map[string][]byte)
	}{
		{"Read", testRead},
		{"ReadConcurrently", testReadConcurrently},
		{"Listing", testListing},
		{"ListingAgreesWithOpen", testListingAgreesWithOpen},
		{"LargeFolder", testListingAgreesWithOpen},
		{"NamesAgreeWithListing", testNamesAgreeWithListing},
		{"NotExist", testNotExist},
		{"InvalidPaths", testInvalidPaths},
		{"Cancelled", testCancelled},
		{"Sub", testSub},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := sample()
			if tt.name == "LargeFolder" {
				files = largeFolder()
			}
			tt.fn(t, open(t, files), files)
		})
	}
}

// sample has the names that go wrong: siblings of a folder which sort between it and what it holds, encoded partition
// values, hidden files, spaces, other scripts.
var sample = sync.OnceValue(func() map[string][]byte {
	files := map[string][]byte{
		"empty":                  {},
		"one":                    {'1'},
		"a/b":                    []byte("below a"),
		"a-b":                    []byte("beside a"),
		"a.b":                    []byte("beside a too"),
		"a0":                     []byte("after a"),
		".hoodie/properties":     []byte("x=y\n"),
		"dt=2024-01-01/..f":      []byte("two dots"),
		"p%2Fq=a b/é世/f.parquet": []byte("deep"),
		"p%2Fq=a b/x#y?z&+":      []byte("url"),
	}
	big := make([]byte, 3<<20+17)
	for i := range big {
		big[i] = byte(i ^ i>>8 ^ i>>16)
	}
	files["big"] = big
	return files
})

// largeFolder has more entries than one page of an object store's listing.
func largeFolder() map[string][]byte {
	files := map[string][]byte{}
	for i := range 2100 {
		files[fmt.Sprintf("many/%05d", i)] = fmt.Append(nil, i)
	}
	return files
}

func mustOpen(t *testing.T, s storage.Store, path string) storage.Object {
	t.Helper()
	o, err := s.Open(t.Context(), path)
	if err != nil {
		t.Fatalf("Open(%q): %v", path, err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Errorf("Close of %q: %v", path, err)
		}
	})
	return o
}

func testRead(t *testing.T, s storage.Store, files map[string][]byte) {
	big := int64(len(files["big"]))
	tests := []struct {
		path     string
		off, len int64
		eof      bool
	}{
		{"empty", 0, 0, false},
		{"empty", 0, 1, true},
		{"empty", 7, 1, true},
		{"one", 0, 1, false},
		{"one", 0, 2, true},
		{"one", 1, 1, true},
		{"p%2Fq=a b/é世/f.parquet", 1, 2, false},
		{"p%2Fq=a b/x#y?z&+", 0, 3, false},
		{"dt=2024-01-01/..f", 0, 8, false},
		{"big", 0, big, false},
		{"big", 1 << 20, 1<<20 + 1, false},
		{"big", big - 5, 5, false},
		{"big", big - 5, 6, true},
		{"big", big, 1, true},
		{"big", big + 1, 1, true},
		{"big", 1 << 62, 1, true},
	}
	for _, tt := range tests {
		o := mustOpen(t, s, tt.path)
		data := files[tt.path]
		if o.Size() != int64(len(data)) {
			t.Errorf("%q: Size() = %d, want %d", tt.path, o.Size(), len(data))
		}
		buf := make([]byte, tt.len)
		n, err := o.ReadAt(t.Context(), buf, tt.off)
		want := data[min(tt.off, int64(len(data))):min(tt.off+tt.len, int64(len(data)))]
		if !bytes.Equal(buf[:n], want) {
			t.Errorf("%q: ReadAt(%d bytes, %d) gives %d bytes, not the %d that are there", tt.path, tt.len, tt.off, n, len(want))
		}
		if tt.eof && !errors.Is(err, io.EOF) || !tt.eof && err != nil {
			t.Errorf("%q: ReadAt(%d bytes, %d): error %v, want EOF: %v", tt.path, tt.len, tt.off, err, tt.eof)
		}
	}
	if n, err := mustOpen(t, s, "one").ReadAt(t.Context(), make([]byte, 1), -1); n != 0 || err == nil || errors.Is(err, io.EOF) {
		t.Errorf("ReadAt of a negative offset = %d, %v", n, err)
	}
	got, err := io.ReadAll(io.NewSectionReader(storage.ReaderAt(t.Context(), mustOpen(t, s, "big")), 0, big))
	if err != nil || !bytes.Equal(got, files["big"]) {
		t.Errorf("reading through storage.ReaderAt: %d bytes, %v", len(got), err)
	}
}

func testReadConcurrently(t *testing.T, s storage.Store, files map[string][]byte) {
	o, data := mustOpen(t, s, "big"), files["big"]
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for off := i; off+100 < len(data); off += 97 << 10 {
				var buf [100]byte
				if _, err := o.ReadAt(t.Context(), buf[:], int64(off)); err != nil || !bytes.Equal(buf[:], data[off:off+100]) {
					t.Errorf("ReadAt(100 bytes, %d): wrong bytes or %v", off, err)
				}
			}
		})
	}
	wg.Wait()
}

func testListing(t *testing.T, s storage.Store, _ map[string][]byte) {
	tests := []struct {
		dir  string
		want string // names in order, folders with a slash
	}{
		{"", ".hoodie/ a/ a-b a.b a0 big dt=2024-01-01/ empty one p%2Fq=a b/"},
		{"a", "b"},
		{".hoodie", "properties"},
		{"dt=2024-01-01", "..f"},
		{"p%2Fq=a b", "x#y?z&+ é世/"},
		{"p%2Fq=a b/é世", "f.parquet"},
	}
	for _, tt := range tests {
		entries, err := s.List(t.Context(), tt.dir)
		var names []string
		for _, e := range entries {
			if e.Dir {
				e.Name += "/"
			}
			names = append(names, e.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != tt.want {
			t.Errorf("List(%q) = %s, %v, want %s", tt.dir, got, err, tt.want)
		}
	}
}

func testListingAgreesWithOpen(t *testing.T, s storage.Store, files map[string][]byte) {
	seen := 0
	for dirs := []string{""}; len(dirs) > 0; dirs = dirs[1:] {
		dir := dirs[0]
		entries, err := s.List(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(entries, func(a, b storage.Entry) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("List(%q) is not sorted", dir)
		}
		for i, e := range entries {
			path, err := storage.Join(dir, e.Name)
			if err != nil {
				t.Fatal(err)
			}
			if e.Dir {
				if e.Size != 0 {
					t.Errorf("folder %q has size %d", path, e.Size)
				}
				dirs = append(dirs, path)
				continue
			}
			seen++
			if e.Size != int64(len(files[path])) {
				t.Errorf("%q has size %d in the listing, not %d", path, e.Size, len(files[path]))
			}
			if i%100 == 0 {
				if o := mustOpen(t, s, path); !o.ModTime().Equal(e.ModTime) || e.ModTime.IsZero() {
					t.Errorf("%q: modified %v in the listing, %v when open", path, e.ModTime, o.ModTime())
				}
			}
		}
	}
	if seen != len(files) {
		t.Errorf("%d of %d files listed", seen, len(files))
	}
}

func testNamesAgreeWithListing(t *testing.T, s storage.Store, _ map[string][]byte) {
	for dirs := []string{""}; len(dirs) > 0; dirs = dirs[1:] {
		dir := dirs[0]
		want, err := s.List(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		before := storage.Entry{Name: "before"}
		got, err := storage.AppendNames(t.Context(), s, []storage.Entry{before}, dir)
		if err != nil || len(got) != 1+len(want) || got[0] != before {
			t.Fatalf("AppendNames(%q) gives %+v, %v, the listing has %d entries", dir, got, err, len(want))
		}
		for i, e := range got[1:] {
			w := want[i]
			if e.Name != w.Name || e.Dir != w.Dir || e.Size != w.Size && e.Size != storage.Unknown {
				t.Errorf("AppendNames(%q)[%d] = %+v, the listing has %+v", dir, i, e, w)
			}
			path, err := storage.Join(dir, e.Name)
			if err != nil {
				t.Fatal(err)
			}
			one, err := storage.Stat(t.Context(), s, path)
			if e.Dir {
				dirs = append(dirs, path)
				if !errors.Is(err, storage.ErrNotExist) {
					t.Errorf("Stat(%q) of a folder = %+v, %v, want ErrNotExist", path, one, err)
				}
			} else if err != nil || one.Name != w.Name || one.Size != w.Size || !one.ModTime.Equal(w.ModTime) {
				t.Errorf("Stat(%q) = %+v, %v, the listing has %+v", path, one, err, w)
			}
		}
	}
}

// What is not there is no fs.ErrNotExist: above stores that means a name that a front end was asked for.
func testNotExist(t *testing.T, s storage.Store, _ map[string][]byte) {
	for _, path := range []string{"", "a", "nope", "a/nope", "nope/nope", "one/below", "bi", strings.Repeat("n", 300)} {
		if o, err := s.Open(t.Context(), path); !errors.Is(err, storage.ErrNotExist) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open(%q) = %v, %v, want storage.ErrNotExist alone", path, o, err)
		}
		if e, err := storage.Stat(t.Context(), s, path); !errors.Is(err, storage.ErrNotExist) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Stat(%q) = %v, %v, want storage.ErrNotExist alone", path, e, err)
		}
	}
	for _, dir := range []string{"nope", "a/nope", "one", "one/below", "bi", strings.Repeat("n", 300)} {
		if e, err := s.List(t.Context(), dir); !errors.Is(err, storage.ErrNotExist) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("List(%q) = %v, %v, want storage.ErrNotExist alone", dir, e, err)
		}
		if e, err := storage.AppendNames(t.Context(), s, nil, dir); !errors.Is(err, storage.ErrNotExist) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("AppendNames(%q) = %v, %v, want storage.ErrNotExist alone", dir, e, err)
		}
	}
}

func testInvalidPaths(t *testing.T, s storage.Store, _ map[string][]byte) {
	for _, path := range []string{"/", "/one", "..", "../one", "a/..", "a/../one", ".", "./one", "a/./b", "a/", "a//b", "one\x00", strings.Repeat("n/", 3000) + "n"} {
		_, err := s.Open(t.Context(), path)
		if !errors.Is(err, storage.ErrPath) || errors.Is(err, storage.ErrNotExist) {
			t.Errorf("Open(%.20q): %v, want ErrPath", path, err)
		}
		_, err = s.List(t.Context(), path)
		if !errors.Is(err, storage.ErrPath) || errors.Is(err, storage.ErrNotExist) {
			t.Errorf("List(%.20q): %v, want ErrPath", path, err)
		}
		_, err = storage.AppendNames(t.Context(), s, nil, path)
		if !errors.Is(err, storage.ErrPath) || errors.Is(err, storage.ErrNotExist) {
			t.Errorf("AppendNames(%.20q): %v, want ErrPath", path, err)
		}
		_, err = storage.Stat(t.Context(), s, path)
		if !errors.Is(err, storage.ErrPath) || errors.Is(err, storage.ErrNotExist) {
			t.Errorf("Stat(%.20q): %v, want ErrPath", path, err)
		}
	}
}

func testCancelled(t *testing.T, s storage.Store, _ map[string][]byte) {
	o := mustOpen(t, s, "one")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Open(ctx, "one"); !errors.Is(err, context.Canceled) {
		t.Errorf("Open after the context ended: %v", err)
	}
	if _, err := s.List(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("List after the context ended: %v", err)
	}
	if _, err := storage.AppendNames(ctx, s, nil, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("AppendNames after the context ended: %v", err)
	}
	if _, err := storage.Stat(ctx, s, "one"); !errors.Is(err, context.Canceled) {
		t.Errorf("Stat after the context ended: %v", err)
	}
	if n, err := o.ReadAt(ctx, make([]byte, 1), 0); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("ReadAt after the context ended: %d, %v", n, err)
	}
}

func testSub(t *testing.T, s storage.Store, files map[string][]byte) {
	sub := storage.Sub(storage.Sub(s, "p%2Fq=a b"), "é世")
	got, err := storage.ReadFile(t.Context(), sub, "f.parquet", 100)
	if want := files["p%2Fq=a b/é世/f.parquet"]; err != nil || !bytes.Equal(got, want) {
		t.Errorf("ReadFile = %q, %v, want %q", got, err, want)
	}
	entries, err := sub.List(t.Context(), "")
	if err != nil || len(entries) != 1 || entries[0].Name != "f.parquet" {
		t.Errorf("List of the sub-store = %v, %v", entries, err)
	}
	if _, err := sub.Open(t.Context(), "../x#y?z&+"); !errors.Is(err, storage.ErrPath) {
		t.Errorf("climbing out of a sub-store: %v", err)
	}
}
