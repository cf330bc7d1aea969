package cache_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hudifs/hudifs/cache"
)

// numberKey spreads like a hash.
func numberKey(n int) (k cache.Key) {
	for i := range 4 {
		binary.LittleEndian.PutUint64(k[i*8:], uint64(n+1)*0x9E3779B97F4A7C15*uint64(2*i+1))
	}
	return k
}

func checkNumbers(t *testing.T, d *cache.Disk, n int) (known int) {
	t.Helper()
	for i := range n {
		got, ok := d.Number(numberKey(i))
		if ok && got != int64(i)-5 {
			t.Fatalf("number %d is %d", i, got)
		}
		if ok {
			known++
		}
	}
	return known
}

func setNumbers(d *cache.Disk, n int) {
	for i := range n {
		d.SetNumber(numberKey(i), int64(i)-5)
	}
}

func TestNumbersSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, nil)
	if known := checkNumbers(t, d, 10); known != 0 {
		t.Errorf("%d numbers in an empty cache", known)
	}
	setNumbers(d, 3000)
	d.SetNumber(numberKey(7), 1)
	d.SetNumber(numberKey(7), 2) // in its own place
	other := open(t, dir, nil)
	for when, d := range map[string]*cache.Disk{"where they were set": d, "in another daemon": other} {
		if got, ok := d.Number(numberKey(7)); !ok || got != 2 {
			t.Errorf("%s: the newest of a key is %d, %v", when, got, ok)
		}
		d.SetNumber(numberKey(7), 2)
	}
	d.SetNumber(numberKey(7), 7-5)
	if known := checkNumbers(t, other, 3000); known < 2990 {
		t.Errorf("%d of 3000 are known in a table for a million", known)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, ok := d.Number(numberKey(1)); ok {
		t.Error("a closed cache knows a number")
	}
	d.SetNumber(numberKey(1), 3)
}

func TestNumbersHaveABudget(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, &cache.Options{Budget: 1 << 20}) // 4 KiB of numbers
	setNumbers(d, 1000)
	if known := checkNumbers(t, d, 1000); known < 100 || known > 128 {
		t.Errorf("%d numbers are known, want up to 128", known)
	}
	if _, ok := d.Number(numberKey(999)); !ok {
		t.Error("the newest is not known")
	}
	if info, err := os.Stat(filepath.Join(dir, "v1", "numbers")); err != nil || info.Size() > 4096 {
		t.Errorf("%v, %v", info.Size(), err)
	}
}

func TestNumbersAreChecked(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, &cache.Options{Budget: 1 << 20})
	file := filepath.Join(dir, "v1", "numbers")
	setNumbers(d, 100)
	before := checkNumbers(t, d, 100)
	sound, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for at := range sound {
		damaged := append([]byte(nil), sound...)
		damaged[at] ^= 0x10
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if known := checkNumbers(t, d, 100); known < before-1 {
			t.Fatalf("byte %d: %d of %d are known", at, known, before)
		}
	}
	if err := os.Truncate(file, 1000); err != nil {
		t.Fatal(err)
	}
	checkNumbers(t, d, 100)
	setNumbers(d, 100)
	if known := checkNumbers(t, d, 100); known != before {
		t.Errorf("set anew, %d of %d are known", known, before)
	}
}

func TestNumbersAreCleared(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, nil)
	setNumbers(d, 10)
	if _, _, err := cache.Clear(dir); err != nil {
		t.Fatal(err)
	}
	if known := checkNumbers(t, open(t, dir, nil), 10); known != 0 {
		t.Errorf("%d numbers are left", known)
	}
	setNumbers(d, 2000) // the old file is missed in time
	if known := checkNumbers(t, open(t, dir, nil), 2000); known == 0 {
		t.Error("what is set later is lost")
	}
}

// A disk that fails, is full, or has no folder for us keeps no numbers, and nothing else happens.
func TestNumbersWithoutADisk(t *testing.T) {
	none := map[string]*cache.Disk{"no cache": nil, "memory": open(t, "", nil), "little room": open(t, t.TempDir(), &cache.Options{MinFree: 1 << 60})}
	for _, op := range []string{"read number", "write number", "statfs"} {
		d, err := cache.OpenFaulty(t.TempDir(), nil, func(o string) error {
			if o == op {
				return unix.ENOSPC
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		none[op] = d
	}
	for name, d := range none {
		setNumbers(d, 10)
		if known := checkNumbers(t, d, 10); known != 0 {
			t.Errorf("%s: %d numbers are known", name, known)
		}
	}
	link := t.TempDir()
	d := open(t, link, nil)
	target := filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(link, "v1", "numbers")); err != nil {
		t.Fatal(err)
	}
	setNumbers(d, 10)
	if got, err := os.ReadFile(target); err != nil || len(got) > 0 {
		t.Errorf("written through a link: %d bytes, %v", len(got), err)
	}
}

func TestNumbersAtOnce(t *testing.T) {
	d := open(t, t.TempDir(), &cache.Options{Budget: 1 << 20})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			setNumbers(d, 500)
			checkNumbers(t, d, 500)
		})
	}
	wg.Wait()
}
