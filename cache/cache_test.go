package cache_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/hudifs/hudifs/cache"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("HUDIFS_TEST_WRITER"); dir != "" {
		writeForever(dir)
	}
	goleak.VerifyTestMain(m)
}

func key(i int) (k cache.Key) {
	binary.BigEndian.PutUint64(k[:], uint64(i)*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(k[24:], uint64(i))
	return k
}

// content is what is rendered under a key in these tests: n bytes that differ from key to key.
func content(i, n int) []byte {
	b := make([]byte, n)
	for at := copy(b, fmt.Sprintf("content %d, without zeros and without a period of 2^k, ", i)); at > 0 && at < n; at *= 2 {
		copy(b[at:], b[:at])
	}
	return b
}

func render(i, n int) func(context.Context, *cache.Writer) error {
	return func(_ context.Context, w *cache.Writer) error {
		_, err := w.Write(content(i, n))
		return err
	}
}

func noRender(context.Context, *cache.Writer) error {
	return errors.New("rendered again")
}

func open(t testing.TB, dir string, o *cache.Options) *cache.Disk {
	t.Helper()
	d, err := cache.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// get returns the entry of a key, rendered with its usual content if need be, once it has been found right.
func get(t testing.TB, d *cache.Disk, i, n int) *cache.Entry {
	t.Helper()
	e, err := d.Do(t.Context(), key(i), int64(n), render(i, n))
	if err != nil {
		t.Fatalf("file %d: %v", i, err)
	}
	check(t, e, content(i, n))
	return e
}

func check(t testing.TB, e *cache.Entry, want []byte) {
	t.Helper()
	if got := readAll(t, e.File()); !bytes.Equal(got, want) || e.Size() != int64(len(want)) {
		t.Errorf("%d bytes of size %d instead of %d, or wrong ones", len(got), e.Size(), len(want))
	}
}

func readAll(t testing.TB, f *os.File) []byte {
	t.Helper()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(io.NewSectionReader(f, 0, st.Size()+1))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func closeEntry(t testing.TB, e *cache.Entry) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// put renders a file and lets go of it.
func put(t testing.TB, d *cache.Disk, i, n int) {
	t.Helper()
	closeEntry(t, get(t, d, i, n))
}

// has says whether a file is there without rendering.
func has(t testing.TB, d *cache.Disk, i, n int) bool {
	t.Helper()
	e, err := d.Do(t.Context(), key(i), int64(n), noRender)
	if err != nil {
		return false
	}
	check(t, e, content(i, n))
	closeEntry(t, e)
	return true
}

// entryFiles returns the files that a cache folder has, entries and temporary ones apart.
func entryFiles(t testing.TB, dir string) (entries, temporary []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if filepath.Base(filepath.Dir(path)) == "tmp" {
			temporary = append(temporary, path)
		} else if strings.Contains(path, "/v1/") {
			entries = append(entries, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries, temporary
}

func TestRenderedOnceAndKept(t *testing.T) {
	for _, n := range []int{0, 1, 4096, 64<<10 - 1, 64 << 10, 64<<10 + 1, 3<<20 + 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			dir := t.TempDir()
			d := open(t, dir, nil)
			first := get(t, d, 1, n)
			second := get(t, d, 1, n)
			closeEntry(t, first)
			check(t, second, content(1, n))
			closeEntry(t, second)
			closeEntry(t, second)
			if !has(t, d, 1, n) {
				t.Error("rendered again")
			}
			if s := d.Stats(); s.Renders != 1 || s.Hits != 2 || s.Entries != 1 || s.InUse != 0 {
				t.Errorf("stats %+v", s)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			if !has(t, open(t, dir, nil), 1, n) {
				t.Error("lost by a restart")
			}
			if _, temporary := entryFiles(t, dir); len(temporary) > 0 {
				t.Errorf("left behind: %v", temporary)
			}
		})
	}
}

func TestHolesStayHoles(t *testing.T) {
	for name, dir := range map[string]string{"disk": t.TempDir(), "memory": ""} {
		t.Run(name, func(t *testing.T) {
			const size = 1 << 30
			d := open(t, dir, &cache.Options{Budget: 1 << 20, Memory: 1 << 20})
			e, err := d.Do(t.Context(), key(1), size, func(_ context.Context, w *cache.Writer) error {
				if _, err := w.Write([]byte("head")); err != nil {
					return err
				}
				_, err := w.WriteAt([]byte("foot"), w.Size()-4)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			st, err := e.File().Stat()
			if err != nil || st.Size() != size || e.Size() != size {
				t.Errorf("%d bytes, %v", st.Size(), err)
			}
			if e.Disk() == 0 || e.Disk() > 1<<18 {
				t.Errorf("%d bytes on disk", e.Disk())
			}
			for off, want := range map[int64]string{0: "head", size - 4: "foot", size / 2: "\x00\x00\x00\x00"} {
				var got [4]byte
				if _, err := e.File().ReadAt(got[:], off); err != nil || string(got[:]) != want {
					t.Errorf("at %d: %q, %v", off, got, err)
				}
			}
			if _, err := e.File().WriteAt([]byte("x"), 0); err == nil {
				t.Error("an entry can be written")
			}
		})
	}
}

func TestSizeLeftToTheRendering(t *testing.T) {
	d := open(t, t.TempDir(), nil)
	for range 2 {
		e, err := d.Do(t.Context(), key(1), -1, render(1, 100_000))
		if err != nil {
			t.Fatal(err)
		}
		check(t, e, content(1, 100_000))
		closeEntry(t, e)
	}
	if s := d.Stats(); s.Renders != 1 {
		t.Errorf("%d renderings", s.Renders)
	}
	if !has(t, d, 1, 100_000) {
		t.Error("not found by its size")
	}
}

func TestOtherSizeThanPromised(t *testing.T) {
	for name, dir := range map[string]string{"disk": t.TempDir(), "memory": ""} {
		t.Run(name, func(t *testing.T) {
			d := open(t, dir, nil)
			renderings := map[string]func(context.Context, *cache.Writer) error{
				"too long": render(1, 11),
				"beyond": func(_ context.Context, w *cache.Writer) error {
					_, err := w.WriteAt([]byte("x"), 10)
					return err
				},
				"error swallowed": func(_ context.Context, w *cache.Writer) error {
					_, _ = w.WriteAt([]byte("x"), 10)
					return nil
				},
			}
			for name, r := range renderings {
				if e, err := d.Do(t.Context(), key(1), 10, r); !errors.Is(err, cache.ErrSize) {
					t.Errorf("%s: %v, %v", name, e, err)
				}
			}
			e := get(t, d, 1, 10)
			defer e.Close()
			if _, err := d.Do(t.Context(), key(1), 11, noRender); !errors.Is(err, cache.ErrSize) {
				t.Errorf("asked for with another size while open: %v", err)
			}
			if s := d.Stats(); s.Fallbacks != 0 || s.DiskError != "" {
				t.Errorf("the disk is blamed: %+v", s)
			}
		})
	}
}

func TestFailedRenderingLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, nil)
	broken := errors.New("broken")
	tests := map[string]struct {
		render func(context.Context, *cache.Writer) error
		want   string
	}{
		"error": {func(context.Context, *cache.Writer) error { return broken }, "broken"},
		"error after writing": {func(_ context.Context, w *cache.Writer) error {
			_, _ = w.Write([]byte("some"))
			return broken
		}, "broken"},
		"panic":   {func(context.Context, *cache.Writer) error { panic("oh") }, "panic: oh"},
		"no end":  {func(context.Context, *cache.Writer) error { goexit(); return nil }, "did not return"},
		"bad off": {func(_ context.Context, w *cache.Writer) error { _, err := w.WriteAt([]byte("x"), -1); return err }, "at -1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e, err := d.Do(t.Context(), key(1), 10, tt.render)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, %v", e, err)
			}
			if entries, temporary := entryFiles(t, dir); len(entries)+len(temporary) > 0 {
				t.Errorf("left behind: %v %v", entries, temporary)
			}
			if s := d.Stats(); s.Bytes != 0 || s.Rendering != 0 {
				t.Errorf("stats %+v", s)
			}
		})
	}
	put(t, d, 1, 10)
}

func TestWriteAfterTheEnd(t *testing.T) {
	d := open(t, t.TempDir(), nil)
	var kept *cache.Writer
	e, err := d.Do(t.Context(), key(1), 10, func(_ context.Context, w *cache.Writer) error {
		kept = w
		_, err := w.Write(content(1, 10))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := kept.WriteAt([]byte("x"), 0); err == nil {
		t.Error("written after the rendering has ended")
	}
	check(t, e, content(1, 10))
}

func TestCopyAt(t *testing.T) {
	src, err := os.Create(t.TempDir() + "/src")
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	data := content(9, 3<<20)
	if _, err := src.Write(data); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name           string
		off, srcOff, n int64
		want           error
	}{
		{"all", 0, 0, 3 << 20, nil},
		{"a part", 4096, 77, 1<<20 + 3, nil},
		{"nothing", 5, 5, 0, nil},
		{"source too short", 0, 1, 3 << 20, io.ErrUnexpectedEOF},
		{"too long", 1, 0, 3 << 20, cache.ErrSize},
	}
	for name, dir := range map[string]string{"disk": t.TempDir(), "memory": ""} {
		d := open(t, dir, nil)
		for i, tt := range tests {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				e, err := d.Do(t.Context(), key(i), 3<<20, func(_ context.Context, w *cache.Writer) error {
					return w.CopyAt(tt.off, src, tt.srcOff, tt.n)
				})
				if !errors.Is(err, tt.want) {
					t.Fatal(err)
				}
				if err != nil {
					return
				}
				defer e.Close()
				want := make([]byte, 3<<20)
				copy(want[tt.off:], data[tt.srcOff:tt.srcOff+tt.n])
				check(t, e, want)
			})
		}
	}
}

func TestWithoutADisk(t *testing.T) {
	t.Run("in memory", func(t *testing.T) {
		d := open(t, "", &cache.Options{Memory: 300 << 10})
		for i := range 4 {
			put(t, d, i, 100<<10)
		}
		if has(t, d, 0, 100<<10) || !has(t, d, 3, 100<<10) {
			t.Error("not the least recently used was evicted")
		}
		s := d.Stats()
		if s.Renders != 5 || s.Evictions == 0 || s.MemoryBytes > 300<<10 || s.Fallbacks != 0 {
			t.Errorf("stats %+v", s)
		}
	})
	t.Run("nil", func(t *testing.T) {
		var d *cache.Disk
		for range 2 {
			put(t, d, 1, 100_000)
		}
		if _, err := d.Do(t.Context(), key(1), 1<<40, func(_ context.Context, w *cache.Writer) error {
			for {
				if _, err := w.Write(make([]byte, 64<<20)); err != nil {
					return err
				}
			}
		}); !errors.Is(err, cache.ErrFull) {
			t.Errorf("without a bound: %v", err)
		}
		if d.Stats() != (cache.Stats{}) || d.Close() != nil {
			t.Error("a nil cache has a life")
		}
	})
}

func TestOpenRefusesWhatIsNoFolder(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if d, err := cache.Open(file, nil); err == nil {
		d.Close()
		t.Error("a file was opened as a cache folder")
	}
}

func TestClose(t *testing.T) {
	for name, dir := range map[string]string{"disk": t.TempDir(), "memory": ""} {
		t.Run(name, func(t *testing.T) {
			d, err := cache.Open(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			put(t, d, 0, 10)
			e := get(t, d, 1, 10)
			started, result := make(chan struct{}), make(chan error)
			go func() {
				_, err := d.Do(context.Background(), key(2), 10, func(ctx context.Context, _ *cache.Writer) error {
					close(started)
					<-ctx.Done()
					return ctx.Err()
				})
				result <- err
			}()
			<-started
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			if err := <-result; !errors.Is(err, cache.ErrClosed) {
				t.Errorf("what was being rendered: %v", err)
			}
			if _, err := d.Do(t.Context(), key(1), 10, noRender); !errors.Is(err, cache.ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
			check(t, e, content(1, 10))
			closeEntry(t, e)
			if s := d.Stats(); s.MemoryBytes != 0 {
				t.Errorf("memory kept: %+v", s)
			}
		})
	}
}
