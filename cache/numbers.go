package cache

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sys/unix"
)

// numbers are small things to remember, such as the size of a file that is costly to find out. They lie in one file beside the entries:
//
//	DIR/v1/numbers    a table of slots of 32 bytes: 16 of the key, 8 of the number, 8 of the xxhash64 of both, little endian
//
// A key has its place in one of the eight slots of a set, and a ninth displaces one. A slot whose checksum is wrong is empty; so is what lies
// beyond the end of the file, which grows as sets are written, up to a 256th of the cache's budget. Daemons that share the folder share the
// table: each slot stands for itself.
type numbers struct {
	folder  *folder
	minFree int64
	sets    uint64
	file    atomic.Pointer[os.File] // nil until there is one
	writes  atomic.Int64            // since it was looked at last
}

const (
	slotBytes     = 32
	slotKey       = 16
	slotsOfSet    = 8
	setBytes      = slotsOfSet * slotBytes
	numbersShare  = 256 // of the budget
	writesToCheck = 1024
)

func newNumbers(f *folder, budget, minFree int64) *numbers {
	n := &numbers{folder: f, minFree: minFree, sets: 1}
	for n.sets*2*setBytes <= uint64(max(budget/numbersShare, 0)) {
		n.sets *= 2
	}
	n.open(0)
	return n
}

func (f *folder) numbersFile() string { return filepath.Join(f.dir, "numbers") }

// open opens the file in the place of the one that is open.
func (t *numbers) open(how int) {
	f, err := os.OpenFile(t.folder.numbersFile(), os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|how, 0o600)
	if err != nil {
		f = nil
	}
	if old := t.file.Swap(f); old != nil {
		_ = old.Close()
	}
}

func (t *numbers) close() {
	if f := t.file.Swap(nil); f != nil {
		_ = f.Close()
	}
}

// Number is what SetNumber was told of a key, ok false where that is not known any more.
func (d *Disk) Number(key Key) (n int64, ok bool) {
	if d == nil || d.numbers == nil {
		return 0, false
	}
	return d.numbers.get(key)
}

// SetNumber keeps a number under a key, until there are too many. Where the disk fails or is full it is not kept.
func (d *Disk) SetNumber(key Key, n int64) {
	if d == nil || d.numbers == nil {
		return
	}
	if err := d.numbers.put(key, n); err != nil {
		d.log.DebugContext(context.Background(), "a number is not kept", "err", err)
	}
}

var errLittleRoom = errors.New("too little room on the disk")

func (t *numbers) get(key Key) (int64, bool) {
	f := t.file.Load()
	if f == nil {
		return 0, false
	}
	var set [setBytes]byte
	t.read(f, key, &set)
	if i := find(&set, key); i >= 0 {
		return int64(binary.LittleEndian.Uint64(set[i*slotBytes+slotKey:])), true //nolint:gosec // it was one
	}
	return 0, false
}

// at is where the set of a key lies.
func (t *numbers) at(key Key) int64 {
	return int64(binary.LittleEndian.Uint64(key[16:])%t.sets) * setBytes //nolint:gosec // less than the budget
}

// read reads a set. What can't be read is empty.
func (t *numbers) read(f *os.File, key Key, set *[setBytes]byte) {
	if t.folder.fault.check("read number") == nil {
		n, _ := f.ReadAt(set[:], t.at(key))
		clear(set[n:])
	}
}

// find is the slot of a set that a key has, -1 without one.
func find(set *[setBytes]byte, key Key) int {
	for i := range slotsOfSet {
		slot := set[i*slotBytes:][:slotBytes]
		if bytes.Equal(slot[:slotKey], key[:slotKey]) && sound(slot) {
			return i
		}
	}
	return -1
}

func sound(slot []byte) bool {
	return binary.LittleEndian.Uint64(slot[slotKey+8:]) == xxhash.Sum64(slot[:slotKey+8])
}

func (t *numbers) put(key Key, n int64) error {
	if t.writes.Add(1)%writesToCheck == 1 {
		if err := t.check(); err != nil {
			t.writes.Store(0)
			return err
		}
	}
	f := t.file.Load()
	if f == nil {
		return os.ErrClosed
	}
	var set [setBytes]byte
	t.read(f, key, &set)
	var slot [slotBytes]byte
	copy(slot[:], key[:slotKey])
	binary.LittleEndian.PutUint64(slot[slotKey:], uint64(n)) //nolint:gosec // get takes it back
	binary.LittleEndian.PutUint64(slot[slotKey+8:], xxhash.Sum64(slot[:slotKey+8]))
	if err := t.folder.fault.check("write number"); err != nil {
		return err
	}
	_, err := f.WriteAt(slot[:], t.at(key)+int64(place(&set, key)*slotBytes))
	return err
}

// check looks from time to time whether the file may grow, and whether it is still there.
func (t *numbers) check() error {
	free, err := t.folder.free()
	if err != nil {
		return err
	}
	if free-int64(t.sets*setBytes) < t.minFree { //nolint:gosec // less than the budget
		return errLittleRoom
	}
	if f := t.file.Load(); f != nil {
		if st, err := fstat(f); err == nil && st.Nlink > 0 {
			return nil
		}
	}
	t.open(os.O_CREATE)
	return nil
}

// place is the slot of a set for a key: its own, or an empty one, or that of another.
func place(set *[setBytes]byte, key Key) int {
	if i := find(set, key); i >= 0 {
		return i
	}
	for i := range slotsOfSet {
		if !sound(set[i*slotBytes:][:slotBytes]) {
			return i
		}
	}
	return int(key[24] % slotsOfSet)
}
