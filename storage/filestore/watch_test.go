package filestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

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
	mkdir("b/c")
	mkdir("elsewhere")
	var marks []string // folders that are followed too, in each of which something happens once
	for n := range 20 {
		marks = append(marks, fmt.Sprint("mark", n))
		mkdir(marks[n])
	}
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
	if err := w.Follow(t.Context(), append([]string{"b/c", "missing"}, marks...)); err != nil {
		t.Fatal(err)
	}
	unused := marks
	heard := func(what string, want ...string) {
		t.Helper()
		mark := unused[0]
		unused = unused[1:]
		write(mark + "/x")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		// The kernel keeps the order: what happened before the mark is heard with it at the latest.
		var got []string
		for !slices.Contains(got, mark) {
			dirs, err := w.Next(ctx)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			got = append(got, dirs...)
		}
		got = slices.DeleteFunc(got, func(dir string) bool { return slices.Contains(marks, dir) })
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("%s: heard %q, want %q", what, got, want)
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
		heard(c.what, "b/c")
		heard("then")
	}
	write("elsewhere/x")
	heard("nobody follows it")

	// One that is made anew in the place of another.
	if err := os.RemoveAll(filepath.Join(dir, "b/c")); err != nil {
		t.Fatal(err)
	}
	heard("removed with all that it held", "b/c")
	mkdir("b/c")
	if err := w.Follow(t.Context(), append([]string{"b/c"}, marks...)); err != nil {
		t.Fatal(err)
	}
	heard("made anew")
	write("b/c/x")
	heard("in the new one", "b/c")

	// Links lead nowhere, and who is not followed any more is not heard.
	if err := w.Follow(t.Context(), append([]string{"link"}, marks...)); err == nil {
		write("elsewhere/y")
	}
	write("b/c/z")
	heard("dropped")

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
