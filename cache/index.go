package cache

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"time"
)

// item is one complete file, on disk or in memory. Its fields are guarded by Disk.mu, save those that Entry shows: they do
// not change while somebody has a reference.
type item struct {
	key      Key
	sum      uint64
	size     int64
	alloc    int64
	ino      uint64
	verified bool // the file of this inode was found right once
	pool     *pool
	gen      uint64

	refs int
	file *os.File      // nil while a file on disk has no reference
	elem *list.Element // place in pool.idle while there is no reference
}

// pool is a place with room for a number of bytes.
type pool struct {
	limit  int64
	used   int64 // allocated by items, and reserved by writers
	unused int64 // the part of used that idle items have
	idle   lru
}

// lru holds the items without reference, the least recently used first.
type lru struct{ list.List }

func (l *lru) all() iter.Seq[*item] {
	return func(yield func(*item) bool) {
		for e := l.Front(); e != nil; {
			next := e.Next()
			if !yield(e.Value.(*item)) {
				return
			}
			e = next
		}
	}
}

func (l *lru) oldest() *item {
	for it := range l.all() {
		return it
	}
	return nil
}

// ref takes a reference. d.mu is held.
func (d *Disk) ref(it *item) {
	if it.refs == 0 {
		d.unidle(it)
	}
	it.refs++
}

// unref gives a reference back and returns the file that the caller must close once it has let go of d.mu, if any.
// d.mu is held.
func (d *Disk) unref(it *item) *os.File {
	it.refs--
	if it.refs > 0 {
		return nil
	}
	if it.pool == &d.memory {
		d.makeIdle(it)
		if d.closed {
			return d.drop(it)
		}
		return nil
	}
	f := it.file
	it.file = nil
	d.makeIdle(it)
	return f
}

func (d *Disk) makeIdle(it *item) {
	it.elem = it.pool.idle.PushBack(it)
	it.pool.unused += it.alloc
}

func (d *Disk) unidle(it *item) {
	it.pool.idle.Remove(it.elem)
	it.elem = nil
	it.pool.unused -= it.alloc
}

// add puts an item that the caller has a reference to into the index, in place of any idle one of its key. d.mu is held.
func (d *Disk) add(it *item) {
	if old := d.items[it.key]; old != nil {
		d.drop(old)
	}
	d.gen++
	it.gen = d.gen
	d.items[it.key] = it
	it.pool.used += it.alloc
}

// drop takes an idle item out of the index and returns its file, if that is open, for the caller to close. d.mu is held.
func (d *Disk) drop(it *item) *os.File {
	d.unidle(it)
	it.pool.used -= it.alloc
	delete(d.items, it.key)
	return it.file
}

// errNoRoom is what a reservation meets that cannot be had by evicting.
var errNoRoom = errors.New("no room within the budget and the free-space floor")

// maxBusy is how many files that other daemons have open an eviction passes over before it gives up.
const maxBusy = 16

// reserveDisk makes room for n bytes on disk, to be given back with unreserve.
func (d *Disk) reserveDisk(n int64) error {
	free, err := d.folder.free()
	if err != nil {
		return &diskError{err}
	}
	short := n + d.minFree - free
	for busy := 0; ; {
		d.mu.Lock()
		over := max(short, d.disk.used+n-d.disk.limit)
		if over <= 0 {
			d.disk.used += n
			d.mu.Unlock()
			return nil
		}
		if over > d.disk.unused || busy > maxBusy {
			d.mu.Unlock()
			return &diskError{errNoRoom}
		}
		victim := d.disk.idle.oldest()
		d.drop(victim)
		d.mu.Unlock()
		if !d.folder.remove(victim.key, victim.sum) {
			d.putBack(victim)
			busy++
			continue
		}
		short -= victim.alloc
		d.mu.Lock()
		d.count.evictions++
		d.mu.Unlock()
	}
}

// putBack is for an item that was to be evicted and is in use elsewhere, which makes it recently used.
func (d *Disk) putBack(it *item) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.items[it.key] != nil || d.flights[it.key] != nil {
		return
	}
	d.items[it.key] = it
	it.pool.used += it.alloc
	d.makeIdle(it)
}

// reserveMemory makes room for n bytes in memory, to be given back with unreserve.
func (d *Disk) reserveMemory(n int64) error {
	d.mu.Lock()
	m := &d.memory
	if m.used-m.unused+n > m.limit {
		d.mu.Unlock()
		return &diskError{errNoRoom}
	}
	var files []*os.File
	for m.used+n > m.limit {
		files = append(files, d.drop(m.idle.oldest()))
		d.count.evictions++
	}
	m.used += n
	d.mu.Unlock()
	_ = closeAll(files) // nothing was left to be written
	return nil
}

// settle adds a rendered item in exchange for what its writer has reserved. d.mu is held.
func (d *Disk) settle(it *item, w *Writer) {
	it.pool.used -= w.reserved
	w.reserved = 0
	d.add(it)
}

// unreserve gives back what a writer has reserved for a file that came to nothing.
func (d *Disk) unreserve(p *pool, w *Writer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p.used -= w.reserved
	w.reserved = 0
}

// fromFolder returns the item of a key if its file is on disk and right, with a reference for the caller, or nil. search
// says whether to look for files of other daemons.
func (d *Disk) fromFolder(ctx context.Context, key Key, size int64, search bool) (*item, error) {
	d.mu.Lock()
	known := d.items[key]
	var seen item
	if known != nil {
		seen = *known
	}
	d.mu.Unlock()
	var sums []uint64
	switch {
	case known != nil:
		sums = []uint64{seen.sum}
	case search:
		sums = d.folder.find(key)
	}
	for _, sum := range sums {
		it, err := d.openItem(ctx, key, sum, size, seen)
		if it != nil || err != nil {
			return it, err
		}
	}
	return nil, nil
}

// openItem opens one file of the folder, verifies it unless seen says that this was done, and puts it into the index. A
// file that is not what it should be is removed.
func (d *Disk) openItem(ctx context.Context, key Key, sum uint64, size int64, seen item) (*item, error) {
	file, st, err := d.folder.open(key, sum)
	if err != nil {
		d.forget(key)
		if !errors.Is(err, fs.ErrNotExist) {
			d.log.Debug("cache entry not opened", "key", key, "err", err)
		}
		return nil, nil
	}
	it := &item{key: key, sum: sum, size: st.Size, alloc: st.Blocks * 512, ino: st.Ino, verified: true, pool: &d.disk, file: file, refs: 1}
	if err := d.verify(ctx, it, size, seen); err != nil {
		_ = file.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		d.log.Warn("cache entry is damaged, removed", "key", key, "err", err)
		d.folder.remove(key, sum)
		d.forget(key)
		d.mu.Lock()
		d.count.damaged++
		d.mu.Unlock()
		return nil, nil
	}
	d.folder.touch(file)
	d.mu.Lock()
	d.add(it)
	d.count.hits++
	d.mu.Unlock()
	if seen.pool == nil {
		if err := d.trim(); err != nil {
			d.log.Debug("cache folder not trimmed", "err", err)
		}
	}
	return it, nil
}

// forget drops what the index says of a key whose file is gone.
func (d *Disk) forget(key Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if it := d.items[key]; it != nil {
		d.drop(it)
	}
}

func (d *Disk) verify(ctx context.Context, it *item, size int64, seen item) error {
	if size >= 0 && it.size != size {
		return fmt.Errorf("%d bytes instead of %d", it.size, size)
	}
	if seen.verified && seen.ino == it.ino && seen.size == it.size {
		return nil
	}
	sum, err := checksum(ctx, it.file, it.key, it.size, d.folder.fault)
	if err != nil {
		return err
	}
	if sum != it.sum {
		return fmt.Errorf("checksum %016x instead of %016x", sum, it.sum)
	}
	return nil
}

// refresh brings the index in line with the folder.
func (d *Disk) refresh() error {
	d.mu.Lock()
	gen := d.gen
	d.unseen = 0
	d.mu.Unlock()
	found, err := d.folder.scan()
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b foundFile) int { return a.used.Compare(b.used) })
	there := map[Key]bool{}
	var spare []foundFile
	d.mu.Lock()
	for _, f := range slices.Backward(found) {
		if there[f.key] {
			spare = append(spare, f)
		}
		there[f.key] = true
	}
	for it := range d.disk.idle.all() {
		if !there[it.key] && it.gen <= gen {
			d.drop(it)
		}
	}
	for _, f := range found {
		if d.items[f.key] != nil || d.flights[f.key] != nil {
			continue
		}
		it := &item{key: f.key, sum: f.sum, size: f.size, alloc: f.alloc, ino: f.ino, pool: &d.disk}
		d.items[f.key] = it
		it.pool.used += it.alloc
		d.makeIdle(it)
	}
	d.mu.Unlock()
	// Of two files under one key at most one is right, and the index, which bounds what is kept, has place for one.
	for _, f := range spare {
		d.folder.remove(f.key, f.sum)
	}
	return d.trim()
}

// trim evicts what is beyond the budget because others have put it there.
func (d *Disk) trim() error {
	if err := d.reserveDisk(0); err != nil && !errors.Is(err, errNoRoom) {
		return err
	}
	return nil
}

// outage is what is known of a disk that cannot be used. Guarded by Disk.mu.
type outage struct {
	err        error // nil while the disk works
	retry      time.Time
	saidNoRoom bool
}

// retryAfter is how long a disk is left alone after it failed: every attempt costs a rendering.
const retryAfter = 10 * time.Second

func (d *Disk) diskUsable() bool {
	if d.folder == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.outage.err == nil || !d.now().Before(d.outage.retry)
}

// diskFailed notes why a file goes to memory, and says so once in an outage. A file for which there is no room is no
// outage: the next one may be smaller.
func (d *Disk) diskFailed(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if errors.Is(err, errNoRoom) {
		if !d.outage.saidNoRoom {
			d.log.Warn("no room in the cache folder, rendering into memory", "err", err)
		}
		d.outage.saidNoRoom = true
		return
	}
	if d.outage.err == nil {
		d.log.Warn("cache disk failed, rendering into memory", "err", err)
	}
	d.outage.err, d.outage.retry = err, d.now().Add(retryAfter)
}

func (d *Disk) diskWorks() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.outage.err != nil {
		d.log.Info("cache disk works again")
	}
	d.outage.err = nil
}
