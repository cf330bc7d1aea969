package spill

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
)

// A file reads as it was written, wherever the bytes are that do not go into memory.
func TestFile(t *testing.T) {
	for _, memory := range []int64{0, 3, 10, 100} {
		t.Run(fmt.Sprint(memory), func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("TMPDIR", dir)
			f := New(memory)
			for _, w := range []struct {
				at   int64
				text string
			}{{0, "abc"}, {6, "ghi"}, {1, "B"}, {9, "jklm"}} {
				if n, err := f.WriteAt([]byte(w.text), w.at); n != len(w.text) || err != nil {
					t.Fatal(n, err)
				}
			}
			want := []byte("aBc\x00\x00\x00ghijklm")
			got := make([]byte, len(want)+1)
			if n, err := f.ReadAt(got, 0); !errors.Is(err, io.EOF) || !bytes.Equal(got[:n], want) {
				t.Errorf("%q, %v", got[:n], err)
			}
			if n, err := f.ReadAt(got[:3], 6); n != 3 || err != nil || string(got[:3]) != "ghi" {
				t.Errorf("%q, %v", got[:n], err)
			}
			if n, err := f.ReadAt(got, 14); n != 0 || !errors.Is(err, io.EOF) {
				t.Errorf("behind the end: %d, %v", n, err)
			}
			if onDisk := f.file != nil; onDisk != (memory < int64(len(want))) {
				t.Errorf("on disk: %v", onDisk)
			}
			if list, err := os.ReadDir(dir); len(list) > 0 || err != nil {
				t.Errorf("files with a name: %v, %v", list, err)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFolderIsMissing(t *testing.T) {
	t.Setenv("TMPDIR", "/does/not/exist")
	f := New(2)
	if _, err := f.WriteAt([]byte("abc"), 0); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
