package storage_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/storage/filestore"
	"github.com/hudifs/hudifs/storage/storagetest"
)

func TestJoin(t *testing.T) {
	tests := []struct {
		parts []string
		want  string
		ok    bool
	}{
		{nil, "", true},
		{[]string{"", ""}, "", true},
		{[]string{"a"}, "a", true},
		{[]string{"", "a", "", "b/c"}, "a/b/c", true},
		{[]string{"a", "..b", "...", ".c"}, "a/..b/.../.c", true},
		{[]string{"a", ".."}, "", false},
		{[]string{"a", "b/../../.."}, "", false},
		{[]string{"a", "."}, "", false},
		{[]string{"a", "/etc/passwd"}, "", false},
		{[]string{"/etc", "passwd"}, "", false},
		{[]string{"a/", "b"}, "", false},
		{[]string{"a", "b\x00"}, "", false},
		{[]string{strings.Repeat("x", 4096)}, strings.Repeat("x", 4096), true},
		{[]string{"x", strings.Repeat("x", 4096)}, "", false},
	}
	for _, tt := range tests {
		got, err := storage.Join(tt.parts...)
		if got != tt.want || (err == nil) != tt.ok || err != nil && !errors.Is(err, storage.ErrPath) {
			t.Errorf("Join(%.40q) = %.40q, %v, want %.40q, %v", tt.parts, got, err, tt.want, tt.ok)
		}
	}
}

func TestSubStaysBelow(t *testing.T) {
	s := storagetest.NewMem(map[string][]byte{"t/a": nil, "t/p/b": nil, "secret": nil})
	for _, dir := range []string{"..", "t/..", "/t", "t/", "t//p"} {
		sub := storage.Sub(s, dir)
		for _, path := range []string{"", "secret"} {
			if _, err := sub.Open(t.Context(), path); !errors.Is(err, storage.ErrPath) {
				t.Errorf("Open(%q) below %q: %v", path, dir, err)
			}
			if _, err := sub.List(t.Context(), path); !errors.Is(err, storage.ErrPath) {
				t.Errorf("List(%q) below %q: %v", path, dir, err)
			}
		}
	}
	if storage.Sub(s, "") != storage.Store(s) {
		t.Error("the root of a store is not the store")
	}
}

func TestReadFile(t *testing.T) {
	base := storagetest.NewMem(map[string][]byte{"empty": {}, "ten": []byte("0123456789")})
	tests := []struct {
		path  string
		limit int64
		want  string
		ok    bool
	}{
		{"empty", 0, "", true},
		{"ten", 10, "0123456789", true},
		{"ten", 9, "", false},
		{"ten", -1, "", false},
	}
	for _, tt := range tests {
		got, err := storage.ReadFile(t.Context(), base, tt.path, tt.limit)
		if string(got) != tt.want || (err == nil) != tt.ok {
			t.Errorf("ReadFile(%q, %d) = %q, %v", tt.path, tt.limit, got, err)
		}
	}
	short := storagetest.NewFaulty(base, storagetest.Fault{Op: storagetest.Read, Effect: storagetest.Short})
	if got, err := storage.ReadFile(t.Context(), short, "ten", 10); got != nil || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("ReadFile of a short object = %q, %v", got, err)
	}
	short.Verify(t)
}

func TestReaderAtEndsWithItsContext(t *testing.T) {
	o, err := storagetest.NewMem(map[string][]byte{"f": []byte("x")}).Open(t.Context(), "f")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := storage.ReaderAt(ctx, o)
	if n, err := r.ReadAt(make([]byte, 1), 0); n != 1 || err != nil {
		t.Errorf("ReadAt = %d, %v", n, err)
	}
	cancel()
	if _, err := r.ReadAt(make([]byte, 1), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("ReadAt after the context ended: %v", err)
	}
}

func TestCounting(t *testing.T) {
	s := storage.NewCounting(storagetest.NewMem(map[string][]byte{"d/f": []byte("0123456789")}))
	o, err := s.Open(t.Context(), "d/f")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(t.Context(), "nope"); err == nil {
		t.Error("opened what is not there")
	}
	if _, err := s.List(t.Context(), "d"); err != nil {
		t.Error(err)
	}
	for _, off := range []int64{0, 8} {
		if _, err := o.ReadAt(t.Context(), make([]byte, 4), off); err != nil && !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	}
	if got, want := s.Counters(), (storage.Counters{Opens: 2, Lists: 1, Reads: 2, Bytes: 6}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

func TestOSFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/f", []byte("local"), 0o600); err != nil {
		t.Fatal(err)
	}
	local, err := filestore.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	tests := []struct {
		name  string
		store storage.Store
		want  bool
	}{
		{"local", local, true},
		{"counted", storage.NewCounting(storage.NewCounting(local)), true},
		{"in memory", storagetest.NewMem(map[string][]byte{"f": nil}), false},
		{"faulty", storagetest.NewFaulty(local), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, err := tt.store.Open(t.Context(), "f")
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			f := storage.OSFile(o)
			if (f != nil) != tt.want {
				t.Fatalf("OSFile = %v", f)
			}
			if f == nil {
				return
			}
			buf := make([]byte, 5)
			if _, err := f.ReadAt(buf, 0); err != nil || string(buf) != "local" {
				t.Errorf("read %q, %v", buf, err)
			}
		})
	}
}
