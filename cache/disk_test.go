package cache_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/hudifs/hudifs/cache"
)

func TestDamage(t *testing.T) {
	const n = 300_000
	edit := func(fn func(f *os.File) error) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := fn(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	flip := func(off int64) func(t *testing.T, path string) {
		return edit(func(f *os.File) error {
			var b [1]byte
			if _, err := f.ReadAt(b[:], off); err != nil {
				return err
			}
			b[0] ^= 1
			_, err := f.WriteAt(b[:], off)
			return err
		})
	}
	zero := func(t *testing.T, path string) {
		edit(func(f *os.File) error { _, err := f.WriteAt(make([]byte, 64<<10), 64<<10); return err })(t, path)
	}
	otherContent := func(t *testing.T, path string) {
		if err := os.WriteFile(path, content(2, n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name   string
		damage func(t *testing.T, path string)
	}{
		{"first byte flipped", flip(0)},
		{"last byte flipped", flip(n - 1)},
		{"byte in the middle flipped", flip(n / 2)},
		{"truncated", edit(func(f *os.File) error { return f.Truncate(n - 1) })},
		{"empty", edit(func(f *os.File) error { return f.Truncate(0) })},
		{"longer", edit(func(f *os.File) error { return f.Truncate(n + 1) })},
		{"block zeroed", zero},
		{"block lost as a hole", edit(func(f *os.File) error {
			return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 64<<10, 64<<10)
		})},
		{"other content", otherContent},
		{"other checksum in the name", func(t *testing.T, path string) {
			if err := os.Rename(path, path[:len(path)-16]+"0123456789abcdef"); err != nil {
				t.Fatal(err)
			}
		}},
		{"a link", func(t *testing.T, path string) {
			if err := os.Rename(path, path+"~"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(path+"~", path); err != nil {
				t.Fatal(err)
			}
		}},
		{"a folder", func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}},
		{"gone", func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, tt := range tests {
		for _, when := range []string{"before the start", "after the start"} {
			t.Run(tt.name+" "+when, func(t *testing.T) {
				dir := t.TempDir()
				before := open(t, dir, nil)
				put(t, before, 1, n)
				if err := before.Close(); err != nil {
					t.Fatal(err)
				}
				entries, _ := entryFiles(t, dir)
				if len(entries) != 1 {
					t.Fatalf("entries: %v", entries)
				}
				var d *cache.Disk
				if when == "after the start" {
					d = open(t, dir, nil)
				}
				tt.damage(t, entries[0])
				if d == nil {
					d = open(t, dir, nil)
				}
				if has(t, d, 1, n) {
					t.Fatal("served")
				}
				if tt.name != "a folder" { // in whose place nothing can be renamed
					put(t, d, 1, n)
					if !has(t, d, 1, n) {
						t.Error("not kept when rendered again")
					}
				}
			})
		}
	}
}

// TestZerosAreZeros: whether a file system keeps zeros as a hole is its own affair.
func TestZerosAreZeros(t *testing.T) {
	const n = 1 << 20
	dir := t.TempDir()
	before := open(t, dir, nil)
	r := func(_ context.Context, w *cache.Writer) error {
		_, err := w.WriteAt(content(1, 1000), 500_000)
		return err
	}
	e, err := before.Do(t.Context(), key(1), n, r)
	if err != nil {
		t.Fatal(err)
	}
	want := readAll(t, e.File())
	closeEntry(t, e)
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	entries, _ := entryFiles(t, dir)
	if err := os.WriteFile(entries[0], want, 0o600); err != nil {
		t.Fatal(err)
	}
	e, err = open(t, dir, nil).Do(t.Context(), key(1), n, noRender)
	if err != nil {
		t.Fatal(err)
	}
	check(t, e, want)
	closeEntry(t, e)
}

func TestVerifiedOnceAfterAStart(t *testing.T) {
	dir := t.TempDir()
	before := open(t, dir, nil)
	put(t, before, 1, 100_000)
	put(t, before, 2, 100_000)
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	var reads int
	d, err := cache.OpenFaulty(dir, nil, func(op string) error {
		if op == "read" {
			reads++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if reads != 0 {
		t.Errorf("%d reads at the start", reads)
	}
	for i, want := range []int{1, 1, 1} {
		if !has(t, d, 1, 100_000) {
			t.Error("lost")
		}
		if reads != want {
			t.Errorf("%d reads for verification after opening %d times", reads, i+1)
		}
	}
	if !has(t, d, 2, 100_000) || reads != 2 {
		t.Errorf("%d reads for verification of two files", reads)
	}
}

const mib = 1 << 20

func TestEviction(t *testing.T) {
	d := open(t, t.TempDir(), &cache.Options{Budget: 4*mib + mib/2})
	for i := range 4 {
		put(t, d, i, mib)
	}
	held := get(t, d, 0, mib)
	put(t, d, 1, mib) // now 2 is the least recently used
	put(t, d, 4, mib)
	put(t, d, 5, mib)
	for i, want := range map[int]bool{0: true, 1: true, 2: false, 3: false, 4: true, 5: true} {
		if has(t, d, i, mib) != want {
			t.Errorf("file %d kept: %v, want %v", i, !want, want)
		}
	}
	check(t, held, content(0, mib))
	closeEntry(t, held)
	if s := d.Stats(); s.Evictions != 2 || s.Bytes > s.Budget || s.Entries != 4 {
		t.Errorf("stats %+v", s)
	}
}

func TestEntriesInUseAreNeverEvicted(t *testing.T) {
	d := open(t, t.TempDir(), &cache.Options{Budget: 3*mib + mib/2, Memory: 2 * mib})
	var held []*cache.Entry
	for i := range 5 { // three on disk, two in memory
		held = append(held, get(t, d, i, mib))
	}
	if _, err := d.Do(t.Context(), key(5), mib, render(5, mib)); !errors.Is(err, cache.ErrFull) {
		t.Errorf("beyond disk and memory: %v", err)
	}
	if s := d.Stats(); s.Entries != 3 || s.MemoryEntries != 2 || s.Fallbacks != 2 || s.Evictions != 0 || s.DiskError != "" {
		t.Errorf("stats %+v", s)
	}
	for i, e := range held {
		check(t, e, content(i, mib))
		closeEntry(t, e)
	}
	put(t, d, 5, mib)
	if s := d.Stats(); s.Entries != 3 {
		t.Errorf("not on disk once there is room: %+v", s)
	}
}

func TestLargerThanTheBudget(t *testing.T) {
	d := open(t, t.TempDir(), &cache.Options{Budget: 2 * mib, Memory: 8 * mib})
	put(t, d, 1, mib)
	put(t, d, 2, 4*mib)
	put(t, d, 3, mib)
	if s := d.Stats(); s.MemoryEntries != 1 || s.Entries == 0 || s.Bytes > s.Budget {
		t.Errorf("stats %+v", s)
	}
}

func TestFreeSpaceFloor(t *testing.T) {
	dir := t.TempDir()
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		t.Fatal(err)
	}
	before := open(t, dir, nil)
	put(t, before, 1, mib)
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	d := open(t, dir, &cache.Options{MinFree: int64(fs.Blocks) * fs.Bsize, Memory: 2 * mib})
	put(t, d, 2, mib)
	if s := d.Stats(); s.MemoryEntries != 1 || s.Fallbacks != 1 {
		t.Errorf("stats %+v", s)
	}
}

func TestRestartKeepsTheOrderOfUse(t *testing.T) {
	dir := t.TempDir()
	before := open(t, dir, nil)
	for _, i := range []int{0, 1, 2, 3, 0, 1} {
		put(t, before, i, mib)
		time.Sleep(20 * time.Millisecond) // more than the grain of a file's times
	}
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	d := open(t, dir, &cache.Options{Budget: 2*mib + mib/2})
	for i, want := range map[int]bool{0: true, 1: true, 2: false, 3: false} {
		if has(t, d, i, mib) != want {
			t.Errorf("file %d kept: %v, want %v", i, !want, want)
		}
	}
}

func TestForeignFilesAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	put(t, open(t, dir, nil), 1, 10)
	entries, _ := entryFiles(t, dir)
	foreign := []string{dir + "/notes.txt", dir + "/v1/notes", filepath.Dir(entries[0]) + "/notes", entries[0] + "~", dir + "/v1/zz/" + filepath.Base(entries[0])}
	if err := os.MkdirAll(dir+"/v1/zz", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range foreign {
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, dir, &cache.Options{Budget: 1})
	put(t, d, 2, 10)
	for _, path := range foreign {
		if b, err := os.ReadFile(path); string(b) != "mine" {
			t.Errorf("%s: %q, %v", path, b, err)
		}
	}
	if s := d.Stats(); s.Entries != 0 {
		t.Errorf("stats %+v", s)
	}
}

func TestFolderRemovedUnderUs(t *testing.T) {
	dir := t.TempDir() + "/cache"
	d := open(t, dir, nil)
	held := get(t, d, 1, mib)
	put(t, d, 2, mib)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	check(t, held, content(1, mib))
	closeEntry(t, held)
	for i := range 3 {
		put(t, d, i, mib)
		if !has(t, d, i, mib) {
			t.Errorf("file %d not kept", i)
		}
	}
	if s := d.Stats(); s.Fallbacks != 0 {
		t.Errorf("stats %+v", s)
	}
}

func TestTwoDaemonsOnOneFolder(t *testing.T) {
	dir := t.TempDir()
	o := &cache.Options{Budget: 8 * mib, Memory: -1}
	a, b := open(t, dir, o), open(t, dir, o)

	put(t, a, 0, mib)
	if !has(t, b, 0, mib) {
		t.Error("what one rendered is not found by the other")
	}

	// b holds a file that a evicts everything for, and more.
	held := get(t, b, 0, mib)
	for i := range 20 {
		put(t, a, i, mib)
		put(t, b, 100+i, mib)
	}
	if entries, _ := entryFiles(t, dir); len(entries) > 10 {
		t.Errorf("%d MiB kept by two daemons of 8 MiB each", len(entries))
	}
	check(t, held, content(0, mib))
	if !has(t, a, 0, mib) {
		t.Error("a file in use by another daemon was evicted")
	}
	closeEntry(t, held)
	for i := 20; i < 40; i++ {
		put(t, a, i, mib)
	}
	if has(t, b, 0, mib) {
		t.Error("never evicted")
	}
}

// TestTwoDaemonsRenderTheSame has both publish under one name at the same time, and evict each other's files.
func TestTwoDaemonsRenderTheSame(t *testing.T) {
	dir := quickDir(t)
	var wg sync.WaitGroup
	for range 2 {
		d := open(t, dir, &cache.Options{Budget: 1 * mib, Memory: 8 * mib})
		for range 2 {
			wg.Go(func() {
				for i := range 60 {
					n := 100_000 + i%7
					e, err := d.Do(t.Context(), key(i%7), int64(n), render(i%7, n))
					if err != nil {
						t.Error(err)
						return
					}
					check(t, e, content(i%7, n))
					closeEntry(t, e)
				}
			})
		}
	}
	wg.Wait()
}

// writeForever is a daemon that is killed while it renders.
func writeForever(dir string) {
	d, err := cache.Open(dir, nil)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_, err = d.Do(context.Background(), key(1), mib, func(_ context.Context, w *cache.Writer) error {
		if _, err := w.Write(content(1, mib/2)); err != nil {
			return err
		}
		fmt.Println("writing")
		select {}
	})
	fmt.Println(err)
	os.Exit(1)
}

func TestKilledWhileWriting(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "HUDIFS_TEST_WRITER="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "writing\n" {
		t.Fatalf("the writer said %q, %v", line, err)
	}

	// While it lives, its file is not taken for a leftover.
	put(t, open(t, dir, nil), 2, 10)
	if _, temporary := entryFiles(t, dir); len(temporary) != 1 {
		t.Errorf("temporary files beside a live writer: %v", temporary)
	}

	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // says that it was killed
	d := open(t, dir, nil)
	if _, temporary := entryFiles(t, dir); len(temporary) != 0 {
		t.Errorf("temporary files of a dead writer: %v", temporary)
	}
	if has(t, d, 1, mib) {
		t.Error("half a file was served")
	}
	put(t, d, 1, mib)
}

// logged collects what is logged at or above the level Warn.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) lines() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), "\n")
}

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// fault makes one operation fail, from the nth on, while it is on.
type fault struct {
	mu    sync.Mutex
	op    string
	nth   int
	err   error
	off   bool
	fired int
}

func (f *fault) check(op string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.off || op != f.op {
		return nil
	}
	if f.nth--; f.nth > 0 {
		return nil
	}
	f.fired++
	return fmt.Errorf("%s: injected: %w", op, f.err)
}

func TestFaultyDisk(t *testing.T) {
	for _, op := range []string{"create", "truncate", "write", "read", "sync", "rename", "statfs"} {
		for _, errno := range []unix.Errno{unix.ENOSPC, unix.EROFS, unix.EIO} {
			for _, nth := range []int{1, 2} {
				t.Run(fmt.Sprintf("%s %d %v", op, nth, errno), func(t *testing.T) {
					testFault(t, &fault{op: op, nth: nth, err: errno, off: true})
				})
			}
		}
	}
}

// quickDir is a temporary folder for tests that sync thousands of files, in memory where possible.
func quickDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "hudifs-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func testFault(t *testing.T, f *fault) {
	const n = 2 * mib // in three writes, and two reservations and reads: the checksum reads again what was written in pieces
	now := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	var log logged
	o := &cache.Options{Memory: 2*n + mib, Logger: log.logger(), Now: func() time.Time { return now }}
	dir := quickDir(t)
	d, err := cache.OpenFaulty(dir, o, f.check)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	kept := get(t, d, 0, n)
	closeEntry(t, kept)
	f.mu.Lock()
	f.off = false
	f.mu.Unlock()

	pieces := func(i int) func(context.Context, *cache.Writer) error {
		return func(_ context.Context, w *cache.Writer) error {
			b := content(i, n)
			for from, ends := 0, []int{mib/2 + 100, mib + mib/2 + 100, n}; len(ends) > 0; from, ends = ends[0], ends[1:] {
				if _, err := w.Write(b[from:ends[0]]); err != nil {
					return err
				}
			}
			return nil
		}
	}
	chunked := func(i int) *cache.Entry {
		e, err := d.Do(t.Context(), key(i), n, pieces(i))
		if err != nil {
			t.Fatalf("file %d: %v", i, err)
		}
		check(t, e, content(i, n))
		return e
	}
	i := 1
	for ; d.Stats().Fallbacks == 0; i++ {
		closeEntry(t, chunked(i))
	}
	if f.fired == 0 {
		t.Fatal("the fault never fired")
	}
	if s := d.Stats(); s.DiskError == "" || s.Entries != i-1 {
		t.Errorf("stats %+v after %d files", s, i)
	}
	if _, temporary := entryFiles(t, dir); len(temporary) > 0 {
		t.Errorf("left behind: %v", temporary)
	}
	if !has(t, d, 0, n) {
		t.Error("what was on the disk is lost")
	}

	// The disk is left alone for a while, memory serves, and there is one warning.
	fired := f.fired
	a, b := chunked(i), chunked(i+1)
	if f.fired != fired || log.lines() != 1 {
		t.Errorf("tried the disk %d times more, %d warnings", f.fired-fired, log.lines())
	}
	now = now.Add(time.Hour)
	if _, err := d.Do(t.Context(), key(i+2), n, pieces(i+2)); f.op != "statfs" && (!errors.Is(err, cache.ErrFull) || !errors.Is(err, f.err)) {
		t.Errorf("neither disk nor memory: %v", err)
	}
	closeEntry(t, a)
	closeEntry(t, b)

	f.mu.Lock()
	f.off = true
	f.mu.Unlock()
	now = now.Add(time.Hour)
	put(t, d, i+3, n)
	if s := d.Stats(); s.DiskError != "" || s.Entries < i {
		t.Errorf("the disk is not used again: %+v", s)
	}
}

func TestFaultsWhileOpening(t *testing.T) {
	for _, op := range []string{"mkdir", "scan", "statfs"} {
		t.Run(op, func(t *testing.T) {
			f := &fault{op: op, err: unix.EROFS}
			var log logged
			d, err := cache.OpenFaulty(t.TempDir(), &cache.Options{Logger: log.logger()}, f.check)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			put(t, d, 1, 10)
			if s := d.Stats(); f.fired == 0 || s.MemoryEntries != 1 || s.DiskError == "" || log.lines() != 1 {
				t.Errorf("stats %+v, fired %d times, %d warnings", s, f.fired, log.lines())
			}
		})
	}
	t.Run("denied", func(t *testing.T) {
		f := &fault{op: "mkdir", err: unix.EACCES}
		if _, err := cache.OpenFaulty(t.TempDir(), nil, f.check); !errors.Is(err, unix.EACCES) {
			t.Error(err)
		}
	})
}

func TestFaultsWhileFinding(t *testing.T) {
	for _, op := range []string{"open", "read"} {
		t.Run(op, func(t *testing.T) {
			dir := t.TempDir()
			before := open(t, dir, nil)
			put(t, before, 1, mib)
			if err := before.Close(); err != nil {
				t.Fatal(err)
			}
			f := &fault{op: op, err: unix.EIO}
			d, err := cache.OpenFaulty(dir, nil, f.check)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			put(t, d, 1, mib)
			if s := d.Stats(); f.fired == 0 || s.Renders != 1+s.Fallbacks {
				t.Errorf("fired %d times, stats %+v", f.fired, s)
			}
		})
	}
}

// TestFullAndReadOnlyDisk is on a real file system of two MiB, which needs the right to mount it.
func TestFullAndReadOnlyDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("hudifs-test", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("mounting a small tmpfs: %v", err)
	}
	defer func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	}()
	if err := os.WriteFile(dir+"/ballast", make([]byte, mib/2), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	var log logged
	d, err := cache.Open(dir, &cache.Options{Memory: 4 * mib, Logger: log.logger(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	e := get(t, d, 0, mib)
	closeEntry(t, get(t, d, 1, mib))
	if s := d.Stats(); s.Entries != 1 || s.MemoryEntries != 1 {
		t.Errorf("full disk: %+v", s)
	}
	closeEntry(t, e)
	put(t, d, 2, mib)
	if s := d.Stats(); s.Entries != 1 || s.Evictions != 1 || s.MemoryEntries != 1 {
		t.Errorf("full disk with something to evict: %+v", s)
	}

	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, "size=2m"); err != nil {
		t.Fatal(err)
	}
	if !has(t, d, 2, mib) {
		t.Error("a file on a read-only disk is lost")
	}
	put(t, d, 3, mib)
	put(t, d, 4, mib)
	if s := d.Stats(); s.MemoryEntries != 3 || s.DiskError == "" || log.lines() != 2 {
		t.Errorf("read-only disk: %+v, %d warnings", s, log.lines())
	}
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT, "size=2m"); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	put(t, d, 5, mib)
	if s := d.Stats(); s.DiskError != "" {
		t.Errorf("writable again: %+v", s)
	}
}

// TestAnyOrderOfEvents does random things to two daemons on one folder, and to the folder, and wants right bytes always.
func TestAnyOrderOfEvents(t *testing.T) {
	top := quickDir(t)
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		w := &world{t: t, rt: rt, dir: fmt.Sprintf("%s/%d", top, runs)}
		w.daemons = []*cache.Disk{w.start(), w.start()}
		rt.Repeat(map[string]func(*rapid.T){
			"get":     w.get,
			"release": w.release,
			"restart": w.restart,
			"damage":  w.damage,
			"":        w.check,
		})
		for len(w.held) > 0 {
			w.drop(0)
		}
		for _, d := range w.daemons {
			d.Close()
		}
	})
}

type heldEntry struct {
	i int
	e *cache.Entry
}

type world struct {
	t       *testing.T
	rt      *rapid.T
	dir     string
	daemons []*cache.Disk
	held    []heldEntry
}

func worldSize(i int) int { return (i*37%11 + 1) * 30_000 }

func (w *world) start() *cache.Disk {
	d, err := cache.Open(w.dir, &cache.Options{Budget: mib, Memory: 4 * mib})
	if err != nil {
		w.rt.Fatal(err)
	}
	return d
}

func (w *world) get(rt *rapid.T) {
	d := w.daemons[rapid.IntRange(0, 1).Draw(rt, "daemon")]
	i := rapid.IntRange(0, 11).Draw(rt, "file")
	if len(w.held) > 10 {
		w.drop(0)
	}
	e, err := d.Do(w.t.Context(), key(i), int64(worldSize(i)), render(i, worldSize(i)))
	if err != nil {
		rt.Fatal(err)
	}
	w.held = append(w.held, heldEntry{i, e})
}

func (w *world) drop(at int) {
	h := w.held[at]
	w.held = append(w.held[:at], w.held[at+1:]...)
	if err := h.e.Close(); err != nil {
		w.rt.Fatal(err)
	}
}

func (w *world) release(rt *rapid.T) {
	if len(w.held) > 0 {
		w.drop(rapid.IntRange(0, len(w.held)-1).Draw(rt, "entry"))
	}
}

func (w *world) restart(rt *rapid.T) {
	i := rapid.IntRange(0, 1).Draw(rt, "daemon")
	if err := w.daemons[i].Close(); err != nil {
		rt.Fatal(err)
	}
	w.daemons[i] = w.start()
}

// damage replaces a file that no daemon has seen right before: those that are verified are trusted until a restart.
func (w *world) damage(rt *rapid.T) {
	for len(w.held) > 0 {
		w.drop(0)
	}
	for i := range w.daemons {
		w.daemons[i].Close()
	}
	entries, _ := entryFiles(w.t, w.dir)
	if len(entries) > 0 {
		path := rapid.SampledFrom(entries).Draw(rt, "victim")
		b, err := os.ReadFile(path)
		if err != nil {
			rt.Fatal(err)
		}
		b[rapid.IntRange(0, len(b)-1).Draw(rt, "offset")] ^= 4
		if err := os.WriteFile(path, b, 0o600); err != nil {
			rt.Fatal(err)
		}
	}
	for i := range w.daemons {
		w.daemons[i] = w.start()
	}
}

func (w *world) check(rt *rapid.T) {
	for _, h := range w.held {
		check(w.t, h.e, content(h.i, worldSize(h.i)))
	}
	for _, d := range w.daemons {
		// What the other one rendered, within its own budget, and this one holds, cannot be helped.
		if s := d.Stats(); s.Bytes > 2*s.Budget+64<<10 || s.MemoryBytes > s.MemoryBudget+64<<10 || s.Bytes < 0 || s.Rendering != 0 {
			rt.Fatalf("stats %+v", s)
		}
	}
}

// TestStress is for the race detector.
func TestStress(t *testing.T) {
	d := open(t, t.TempDir(), &cache.Options{Budget: mib, Memory: 64 * mib})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				i := rand.IntN(12)
				ctx, cancel := context.WithCancel(t.Context())
				if rand.IntN(4) == 0 {
					go cancel()
				}
				e, err := d.Do(ctx, key(i), int64(worldSize(i)), render(i, worldSize(i)))
				cancel()
				if err == nil {
					check(t, e, content(i, worldSize(i)))
					closeEntry(t, e)
				} else if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				_ = d.Stats()
			}
		})
	}
	wg.Wait()
	if err := d.Close(); err != nil { // ends what was cancelled last
		t.Error(err)
	}
	if s := d.Stats(); s.Evictions == 0 || s.InUse != 0 || s.Rendering != 0 || s.Bytes > s.Budget+64<<10 {
		t.Errorf("stats %+v", s)
	}
}

func BenchmarkHit(b *testing.B) {
	d := open(b, b.TempDir(), nil)
	put(b, d, 1, mib)
	for b.Loop() {
		e, err := d.Do(b.Context(), key(1), mib, noRender)
		if err != nil {
			b.Fatal(err)
		}
		closeEntry(b, e)
	}
}

func BenchmarkRender(b *testing.B) {
	const n = 32 * mib
	d := open(b, b.TempDir(), nil)
	data := content(1, n)
	b.SetBytes(n)
	for i := 0; b.Loop(); i++ {
		e, err := d.Do(b.Context(), key(i), n, func(_ context.Context, w *cache.Writer) error {
			_, err := w.Write(data)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		closeEntry(b, e)
	}
}

// Files take whole blocks of the disk: how many is known when they are finished, and those that are made at the same time may be too many then.
func TestBudgetInBlocks(t *testing.T) {
	const block = 4 << 10
	d := open(t, t.TempDir(), &cache.Options{Budget: 6 * block})
	var begun, opened, done sync.WaitGroup
	begun.Add(3)
	opened.Add(3)
	for i := range 3 {
		done.Go(func() {
			e, err := d.Do(t.Context(), key(i), 20*block, func(_ context.Context, w *cache.Writer) error {
				for b := range int64(3) { // little of each block
					if _, err := w.WriteAt([]byte{1}, b*block); err != nil {
						return err
					}
				}
				begun.Done()
				begun.Wait()
				return nil
			})
			opened.Done()
			if err != nil {
				t.Error(err)
				return
			}
			opened.Wait()
			closeEntry(t, e)
		})
	}
	done.Wait()
	if s := d.Stats(); s.Bytes > 6*block || s.Entries == 0 || s.Fallbacks > 0 {
		t.Errorf("%d bytes of %d are kept: %+v", s.Bytes, 6*block, s)
	}
}
