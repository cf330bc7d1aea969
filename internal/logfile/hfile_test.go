package logfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHFileEntries(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "hfile", "testdata", "native_gz.hfile"))
	if err != nil {
		t.Fatal(err)
	}
	file := append(instantBlock("1"), rawBlock(1, int32(HFileData), map[HeaderKey]string{InstantTime: "2"}, content)...)
	log, err := scanBytes(file)
	if err != nil || len(log.Blocks) != 2 {
		t.Fatalf("%s, %v", describe(log), err)
	}
	b := log.Blocks[1]
	n := 0
	for e, err := range HFileEntries(bytes.NewReader(file), b) {
		if err != nil {
			t.Fatal(err)
		}
		if n == 7 && (string(e.Key) != "key00007" || string(e.Value) != "value 7 ") {
			t.Errorf("entry %d: %q %q", n, e.Key, e.Value)
		}
		n++
	}
	if n != 60 {
		t.Errorf("%d entries", n)
	}
	for _, err := range HFileEntries(bytes.NewReader(file), log.Blocks[0]) {
		if !errors.Is(err, ErrUnsupported) {
			t.Errorf("entries of another block: %v", err)
		}
	}
	file[b.ContentOffset+20] ^= 0xff
	b.ContentLength--
	for _, err := range HFileEntries(bytes.NewReader(file), b) {
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "HFile from byte") {
			t.Errorf("a damaged HFile: %v", err)
		}
	}
}

func TestCorpusHFileBlocks(t *testing.T) {
	blocks, entries := 0, 0
	eachLog(t, func(name string, content []byte) {
		log, err := Scan(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return // TestCorpus
		}
		for _, b := range log.Blocks {
			if b.Type != HFileData {
				continue
			}
			blocks++
			for e, err := range HFileEntries(bytes.NewReader(content), b) {
				if err != nil || len(e.Key) == 0 {
					t.Fatalf("%s: %q, %v", name, e.Key, err)
				}
				entries++
			}
		}
	})
	t.Logf("%d blocks, %d entries", blocks, entries)
}
