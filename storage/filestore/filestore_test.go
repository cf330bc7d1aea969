package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/storage/filestore"
	"github.com/hudifs/hudifs/storage/storagetest"
)

func write(t testing.TB, path, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, dir string) *filestore.Store {
	t.Helper()
	s, err := filestore.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestConformance(t *testing.T) {
	storagetest.Run(t, func(t *testing.T, files map[string][]byte) storage.Store {
		dir := t.TempDir()
		for path, data := range files {
			write(t, filepath.Join(dir, path), string(data))
		}
		return open(t, dir)
	})
}

func TestLinksAndSpecialFilesAreNotThere(t *testing.T) {
	top := t.TempDir()
	write(t, top+"/outside/secret", "secret")
	write(t, top+"/table/p/f", "data")
	for name, target := range map[string]string{
		"link-out":      top + "/outside",
		"link-file":     top + "/outside/secret",
		"link-up":       "../outside",
		"link-inside":   "p",
		"link-file-in":  "p/f",
		"link-loop":     "link-loop",
		"link-itself":   ".",
		"link-dangling": "nowhere",
		"p/link-parent": "..",
	} {
		if err := os.Symlink(target, top+"/table/"+name); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(top+"/table/fifo", 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", top+"/table/socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	s := open(t, top+"/table")
	for dir, want := range map[string]string{"": "p", "p": "f"} {
		entries, err := s.List(t.Context(), dir)
		if err != nil || len(entries) != 1 || entries[0].Name != want {
			t.Errorf("List(%q) = %v, %v, want %s alone", dir, entries, err, want)
		}
	}
	for _, path := range []string{
		"link-out", "link-file", "link-file-in", "link-loop", "link-dangling", "fifo", "socket",
		"link-out/secret", "link-up/secret", "link-inside/f", "link-itself/p/f", "p/link-parent/p/f", "fifo/x",
	} {
		if o, err := s.Open(t.Context(), path); !errors.Is(err, storage.ErrNotExist) {
			t.Errorf("Open(%q) = %v, %v, want ErrNotExist", path, o, err)
		}
		if e, err := s.List(t.Context(), path); !errors.Is(err, storage.ErrNotExist) {
			t.Errorf("List(%q) = %v, %v, want ErrNotExist", path, e, err)
		}
	}
}

func TestRootThroughALink(t *testing.T) {
	top := t.TempDir()
	write(t, top+"/real/f", "data")
	if err := os.Symlink("real", top+"/link"); err != nil {
		t.Fatal(err)
	}
	if got, err := storage.ReadFile(t.Context(), open(t, top+"/link"), "f", 10); string(got) != "data" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/file", "")
	for _, path := range []string{dir + "/nope", dir + "/file"} {
		if _, err := filestore.Open(path); !errors.Is(err, storage.ErrNotExist) {
			t.Errorf("Open(%s): %v", path, err)
		}
	}
}

func TestRelativeRootOutlivesChdir(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/t/f", "data")
	t.Chdir(dir)
	s := open(t, "t")
	if err := os.RemoveAll(dir + "/t"); err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/t/f", "again")
	t.Chdir("/")
	if got, err := storage.ReadFile(t.Context(), s, "f", 10); string(got) != "again" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestRootRemovedAndMadeAgain(t *testing.T) {
	dir := t.TempDir() + "/t"
	write(t, dir+"/f", "old")
	s := open(t, dir)
	o, err := s.Open(t.Context(), "f")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := s.List(t.Context(), ""); !errors.Is(err, storage.ErrNotExist) {
		t.Errorf("List of a removed root: %v", err)
	}
	write(t, dir+"/f", "new")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, err := storage.ReadFile(t.Context(), s, "f", 10); string(got) != "new" || err != nil {
				t.Errorf("read %q, %v", got, err)
			}
		})
	}
	wg.Wait()
	buf := make([]byte, 3)
	if _, err := o.ReadAt(t.Context(), buf, 0); string(buf) != "old" || err != nil {
		t.Errorf("the object opened before has %q, %v", buf, err)
	}
}

func TestRootRenamed(t *testing.T) {
	top := t.TempDir()
	write(t, top+"/t/f", "data")
	s := open(t, top+"/t")
	if err := os.Rename(top+"/t", top+"/u"); err != nil {
		t.Fatal(err)
	}
	if got, err := storage.ReadFile(t.Context(), s, "f", 10); string(got) != "data" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestClosed(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/f", "data")
	s := open(t, dir)
	o, err := s.Open(t.Context(), "f")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(t.Context(), "f"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Open after Close: %v", err)
	}
	if n, err := o.ReadAt(t.Context(), make([]byte, 4), 0); n != 4 || err != nil {
		t.Errorf("an open object after Close: %d, %v", n, err)
	}
}

// TestFilesThatChange: log files of old tables grow while they are read, and a faulty writer may truncate.
func TestFilesThatChange(t *testing.T) {
	tests := []struct {
		name, then string
		want       string
		err        error
	}{
		{"grown", "0123456789", "01234", io.EOF},
		{"shrunk", "012", "012", io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir+"/f", "01234")
			o, err := open(t, dir).Open(t.Context(), "f")
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			write(t, dir+"/f", tt.then)
			buf := make([]byte, 8)
			n, err := o.ReadAt(t.Context(), buf, 0)
			if string(buf[:n]) != tt.want || !errors.Is(err, tt.err) || o.Size() != 5 {
				t.Errorf("read %q, %v; size %d", buf[:n], err, o.Size())
			}
		})
	}
}

// TestDenied runs on a thread of its own that has given up root, whom no mode stops.
func TestDenied(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/file", "x")
	write(t, dir+"/noread/f", "x")
	write(t, dir+"/nosearch/f", "x")
	for path, mode := range map[string]os.FileMode{"file": 0, "noread": 0o311, "nosearch": 0o644, "": 0o755, "..": 0o755} {
		if err := os.Chmod(filepath.Join(dir, path), mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		os.Chmod(dir+"/noread", 0o755)
		os.Chmod(dir+"/nosearch", 0o755)
	})
	s := open(t, dir)
	unprivileged(t, func() {
		if _, err := s.Open(t.Context(), "file"); !errors.Is(err, storage.ErrPermission) {
			t.Errorf("Open of a file of mode 0: %v", err)
		}
		if _, err := s.List(t.Context(), "noread"); !errors.Is(err, storage.ErrPermission) {
			t.Errorf("List of a folder without r: %v", err)
		}
		if _, err := s.Open(t.Context(), "noread/f"); err != nil {
			t.Errorf("Open below a folder without r: %v", err)
		}
		if _, err := s.Open(t.Context(), "nosearch/f"); !errors.Is(err, storage.ErrPermission) {
			t.Errorf("Open below a folder without x: %v", err)
		}
	})
}

func TestListIsCancelled(t *testing.T) {
	dir := t.TempDir()
	for i := range 2100 {
		write(t, fmt.Sprintf("%s/%d", dir, i), "")
	}
	s := open(t, dir)
	ctx := &endsAfter{Context: t.Context(), looks: 2}
	if _, err := s.List(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("List: %v", err)
	}
}

// endsAfter is a context that ends while it is used, at the same moment in every run.
type endsAfter struct {
	context.Context //nolint:containedctx // it is one
	looks           int
}

func (c *endsAfter) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

func BenchmarkList100k(b *testing.B) {
	dir := b.TempDir()
	for i := range 100_000 {
		write(b, fmt.Sprintf("%s/%08d-0_1-2-3_20240101000000000.parquet", dir, i), "")
	}
	s := open(b, dir)
	b.ReportAllocs()
	for b.Loop() {
		if e, err := s.List(b.Context(), ""); err != nil || len(e) != 100_000 {
			b.Fatal(len(e), err)
		}
	}
}
