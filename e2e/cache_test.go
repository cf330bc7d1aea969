package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// contents reads every file of a view.
func contents(t *testing.T, m mounted, view string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name := range files(t, m.path(view)) {
		all[name] = readFile(t, m.path(view, name))
	}
	if len(all) == 0 {
		t.Fatalf("%s is empty", view)
	}
	return all
}

// merged are the names of the files of latest that are made of logs.
func merged(t *testing.T, m mounted) []string {
	t.Helper()
	var out []string
	for _, name := range sorted(files(t, m.path("latest"))) {
		value := make([]byte, 8)
		n, err := syscall.Getxattr(m.path("latest", name), "user.hudi.as_is", value)
		if err != nil {
			t.Fatal(err)
		}
		if string(value[:n]) == "false" {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		t.Fatal("nothing is merged")
	}
	return out
}

type cacheStatus struct {
	Fallbacks int64  `json:"fallbacks"`
	DiskError string `json:"disk_error"`
	Evictions int64  `json:"evictions"`
}

func (m mounted) cacheStatus(t *testing.T) cacheStatus {
	t.Helper()
	var s struct {
		Cache cacheStatus `json:"cache"`
	}
	if err := json.Unmarshal([]byte(readFile(t, m.path(".hudi", "status"))), &s); err != nil {
		t.Fatal(err)
	}
	return s.Cache
}

// smallDisk mounts a file system of some KiB.
func smallDisk(t *testing.T, kib int) (dir string, remount func(flags uintptr)) {
	t.Helper()
	needRoot(t)
	dir = tempDir(t)
	size := fmt.Sprintf("size=%dk", kib)
	if err := syscall.Mount("hudifs-test", dir, "tmpfs", 0, size); err != nil {
		t.Skipf("a small file system can't be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir, func(flags uintptr) {
		t.Helper()
		if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|flags, size); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCacheDiskReadOnly: a cache disk that can't be written, at the start or
// later, costs time and one warning, and no file.
func TestCacheDiskReadOnly(t *testing.T) {
	table := table(t, "t9_mor_logs")
	want := contents(t, mount(t, table), "latest")
	for _, when := range []string{"before", "after"} {
		t.Run(when, func(t *testing.T) {
			disk, remount := smallDisk(t, 4096)
			if when == "before" {
				remount(syscall.MS_RDONLY)
			}
			flags := []string{"--cache-dir", disk, "--cache-min-free", "0"}
			log := filepath.Join(tempDir(t), "log")
			if when == "after" {
				flags = append(flags, "--log-file", log)
			}
			m, r := tryMount(t, nil, table, flags...)
			r.must(t)
			if (when == "before") != strings.Contains(r.stderr, "warning: nothing is logged") {
				t.Errorf("it says %q", r.stderr)
			}
			if when == "after" {
				remount(syscall.MS_RDONLY)
			}
			if got := contents(t, m, "latest"); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Error("other bytes")
			}
			if s := m.cacheStatus(t); s.Fallbacks == 0 || s.DiskError == "" {
				t.Errorf("status: %+v", s)
			}
			if when == "after" {
				if n := strings.Count(readFile(t, log), "cache disk failed"); n != 1 {
					t.Errorf("%d warnings", n)
				}
			}
		})
	}
}

// TestCacheDiskFull: what fits neither on the disk nor in memory is ENOSPC, and
// no more than that.
func TestCacheDiskFull(t *testing.T) {
	table := table(t, "t9_mor_logs")
	reference := mount(t, table)
	want, names := contents(t, reference, "latest"), merged(t, reference)
	// The files take 12 KiB each. There is room for one on the disk, and for one in memory, of which a quarter is for files.
	disk, _ := smallDisk(t, 64)
	if err := os.WriteFile(filepath.Join(disk, "ballast"), make([]byte, 40<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	m, r := tryMount(t, nil, table, "--cache-dir", disk, "--cache-min-free", "0", "--memory", "64KiB")
	r.must(t)
	var open []*os.File
	full := 0
	for _, name := range names {
		f, err := os.Open(m.path("latest", name))
		if err == nil {
			open = append(open, f)
			var got []byte
			if got, err = io.ReadAll(f); string(got) != want[name] || err != nil {
				t.Errorf("%s: %d bytes, %v", name, len(got), err)
			}
			continue
		}
		if full++; !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v, want ENOSPC", name, err)
		}
	}
	if full == 0 || len(open) == 0 {
		t.Errorf("%d files opened, %d met a full disk", len(open), full)
	}
	for _, f := range open {
		f.Close()
	}
	for _, name := range names { // one after the other there is room
		if got := readFile(t, m.path("latest", name)); got != want[name] {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
}

// TestCacheLeavesRoom: the cache stays below the floor of free space that others
// were promised.
func TestCacheLeavesRoom(t *testing.T) {
	table := table(t, "t9_mor_logs")
	want := contents(t, mount(t, table), "latest")
	m := mount(t, table, "--cache-min-free", "900TiB")
	if got := contents(t, m, "latest"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Error("other bytes")
	}
	if s := m.cacheStatus(t); s.Fallbacks == 0 || s.DiskError != "" {
		t.Errorf("status: %+v", s)
	}
}

// TestSmallCache: many readers of many files, for which the cache has no room at
// once. What is in use is not evicted from under its reader.
func TestSmallCache(t *testing.T) {
	table := table(t, "t9_mor_logs")
	reference := mount(t, table)
	want, names := contents(t, reference, "latest"), merged(t, reference)
	m := mount(t, table, "--cache-size", "24KiB", "--no-passthrough") // two of them
	var readers sync.WaitGroup
	for n := range 32 {
		readers.Go(func() {
			for i := range 20 {
				name := names[(n+i)%len(names)]
				// A process of its own: this one's page cache would answer otherwise.
				got, err := exec.Command("dd", "if="+m.path("latest", name), "bs=999", "iflag=direct,fullblock", "status=none").Output()
				if err != nil || string(got) != want[name] {
					t.Errorf("%s: %d bytes instead of %d, %v", name, len(got), len(want[name]), err)
					return
				}
			}
		})
	}
	readers.Wait()
	if s := m.cacheStatus(t); s.Evictions == 0 && s.Fallbacks == 0 {
		t.Errorf("there was room for all: %+v", s)
	}
}

// TestTableGone: when the table's folder is gone, what is kept still has its
// bytes, and the rest is an error: never an empty file.
func TestTableGone(t *testing.T) {
	table := table(t, "t9_mor_logs")
	m := mount(t, table)
	names := merged(t, m)
	kept := readFile(t, m.path("latest", names[0]))
	all := files(t, m.path("latest"))
	away := filepath.Join(tempDir(t), "away")
	if err := os.Rename(table, away); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(away); err != nil {
		t.Fatal(err)
	}
	for name := range all {
		got, err := os.ReadFile(m.path("latest", name))
		switch {
		case name == names[0]:
			// Once the daemon has heard that the table is gone, its names are gone too.
			if !os.IsNotExist(err) && (err != nil || string(got) != kept) {
				t.Errorf("%s, which is kept: %d bytes, %v", name, len(got), err)
			}
		case err == nil || len(got) > 0:
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}
