package hfile

import (
	"bytes"
	"encoding/binary"
	"iter"
)

// Entry is a row and its value. Both stay as they are, and must not be changed.
type Entry struct {
	Key, Value []byte
	// Offset is that of the data block.
	Offset int64
}

// cellSuffix is what follows the row in the key of a cell: the length of the family, the time, the type.
const cellSuffix = 1 + 8 + 1

// All gives all entries in their order. It uses no index. An error ends it.
func (f *File) All() iter.Seq2[Entry, error] { return f.from(0) }

// from gives the entries of the data block at an offset and of those behind it.
func (f *File) from(at int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for at < f.loadAt {
			h, err := f.header(at, f.loadAt)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			at = h.next
			if h.magic != dataMagic {
				if !known(h.magic) {
					yield(Entry{}, corrupt(h.at, "expected a block, found the magic %q", h.magic))
					return
				}
				continue
			}
			payload, err := f.block(h)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for c := f.cursor(h, payload); c.left() > 0; {
				e := f.entry(c)
				e.Offset = h.at
				if !yield(e, c.err) || c.err != nil {
					return
				}
			}
		}
	}
}

// known tells whether a block may lie among the data blocks and be passed. Blocks whose entries are encoded may not.
func known(magic string) bool {
	switch magic {
	case leafMagic, intermediateMagic, "METABLKc", "BLMFBLK2":
		return true
	}
	return false
}

func (f *File) entry(c *cursor) Entry {
	k, v := c.int32("a key length"), c.int32("a value length")
	key := c.take(k, "a key")
	value := c.take(v, "a value")
	if f.stamped {
		c.vlong("a memstore timestamp")
	}
	if c.err != nil {
		return Entry{}
	}
	if len(key) < 2 || len(key) < 2+int(binary.BigEndian.Uint16(key)) {
		c.fail("expected a key with its row, found one of %d bytes", len(key))
		return Entry{}
	}
	n := 2 + int(binary.BigEndian.Uint16(key))
	return Entry{Key: key[2:n:n], Value: value}
}

// Get is the value of the first entry with a key, found through the index.
func (f *File) Get(key string) (value []byte, ok bool, err error) {
	err = f.search([]byte(key), func(e Entry, sorted bool) bool {
		if string(e.Key) == key {
			value, ok = e.Value, true
		}
		// Of all that begin with it, the key itself is the first.
		return !ok && !sorted
	})
	return value, ok, err
}

// Prefix gives the entries whose key begins with a text, in their order. Where the index is in doubt it reads the whole file.
func (f *File) Prefix(prefix string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := f.search([]byte(prefix), func(e Entry, _ bool) bool { return yield(e, nil) }); err != nil {
			yield(Entry{}, err)
		}
	}
}

// search shows the entries with a prefix until show is false. sorted tells that they come in the order of their keys, from the
// first one on.
func (f *File) search(prefix []byte, show func(e Entry, sorted bool) bool) error {
	k, sorted := f.locate(prefix)
	first := sorted
	for e, err := range f.from(k.at) {
		if err != nil {
			return err
		}
		if first && bytes.Compare(e.Key, k.row) < 0 {
			sorted = false // the index is not that of these blocks
			break
		}
		first = false
		switch order := bytes.Compare(e.Key, prefix); {
		case bytes.HasPrefix(e.Key, prefix):
			if !show(e, sorted) {
				return nil
			}
		case sorted && order > 0:
			return nil
		}
	}
	if sorted || !first {
		return nil
	}
	for e, err := range f.All() {
		if err != nil {
			return err
		}
		if bytes.HasPrefix(e.Key, prefix) && !show(e, false) {
			return nil
		}
	}
	return nil
}
