package filestore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hudifs/hudifs/storage"
)

// heard waits for a change and takes what else comes with it.
func heard(t *testing.T, w storage.Watch) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	dirs, err := w.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(dirs)
	return dirs
}

func TestWatch(t *testing.T) {
	dir := t.TempDir()
	write := func(p string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, p), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mkdir := func(p string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, p), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	mkdir("a")
	mkdir("b/c")
	mkdir("elsewhere")
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w, err := s.Watch()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Follow(t.Context(), []string{"a", "b/c", "missing"}); err != nil {
		t.Fatal(err)
	}
	quiet := func(what string) {
		t.Helper()
		// What is heard after it would have been heard by now, as the kernel keeps the order.
		write("a/later")
		if got := heard(t, w); !slices.Equal(got, []string{"a"}) {
			t.Errorf("%s: heard %q", what, got)
		}
		for ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond); ; {
			if _, err := w.Next(ctx); err != nil {
				cancel()
				return
			}
		}
	}
	for _, c := range []struct {
		what   string
		change func() error
	}{
		{"a file is written", func() error { return os.WriteFile(filepath.Join(dir, "b/c/x"), nil, 0o600) }},
		{"renamed", func() error { return os.Rename(filepath.Join(dir, "b/c/x"), filepath.Join(dir, "b/c/y")) }},
		{"moved away", func() error { return os.Rename(filepath.Join(dir, "b/c/y"), filepath.Join(dir, "b/y")) }},
		{"moved here", func() error { return os.Rename(filepath.Join(dir, "b/y"), filepath.Join(dir, "b/c/y")) }},
		{"removed", func() error { return os.Remove(filepath.Join(dir, "b/c/y")) }},
		{"a folder is made", func() error { return os.Mkdir(filepath.Join(dir, "b/c/d"), 0o750) }},
	} {
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		got := heard(t, w)
		for slices.Equal(got, []string{"a"}) { // still, on a busy machine
			got = heard(t, w)
		}
		if !slices.Equal(slices.DeleteFunc(got, func(dir string) bool { return dir == "a" }), []string{"b/c"}) {
			t.Errorf("%s: heard %q", c.what, got)
		}
		quiet(c.what)
	}
	write("elsewhere/x")
	quiet("nobody follows it")

	// One that is made anew in the place of another.
	if err := os.RemoveAll(filepath.Join(dir, "b/c")); err != nil {
		t.Fatal(err)
	}
	if got := heard(t, w); !slices.Equal(got, []string{"b/c"}) {
		t.Errorf("removed with all that it held: heard %q", got)
	}
	quiet("removed")
	mkdir("b/c")
	if err := w.Follow(t.Context(), []string{"a", "b/c"}); err != nil {
		t.Fatal(err)
	}
	quiet("made anew")
	write("b/c/x")
	if got := heard(t, w); !slices.Equal(got, []string{"b/c"}) {
		t.Errorf("in the new one: heard %q", got)
	}
	quiet("followed anew")

	// Links lead nowhere, and who is not followed any more is not heard.
	if err := w.Follow(t.Context(), []string{"link", "a"}); err == nil {
		write("elsewhere/y")
	}
	write("b/c/z")
	quiet("dropped")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if dirs, err := w.Next(t.Context()); err == nil {
		t.Errorf("closed: heard %q", dirs)
	}
}
