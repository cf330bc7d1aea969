package merge

import (
	"bytes"
	"hash/maphash"
	"math/bits"
	"slices"
)

// table numbers keys in the order in which they come, by open addressing. Nearly all base rows have no log record: a miss costs a look at a byte or
// two, which lie close together.
type table struct {
	seed maphash.Seed
	// tags have 7 bits of the hash of each slot's key; 0 is an empty slot.
	tags    []uint8
	numbers []int32
	arena   []byte
	ends    []int // of the keys in arena
}

const (
	firstSlots = 1 << 10
	// usual bounds the bytes of a key or value that room is made for before it comes: the first may be the longest by far.
	usual = 64
)

func newTable() table {
	return table{seed: maphash.MakeSeed(), tags: make([]uint8, firstSlots), numbers: make([]int32, firstSlots)}
}

func (t *table) key(i int32) []byte {
	from := 0
	if i > 0 {
		from = t.ends[i-1]
	}
	return t.arena[from:t.ends[i]]
}

func tagOf(hash uint64) uint8 { return uint8(hash>>57) | 0x80 }

// find gives a key's number.
func (t *table) find(key []byte) (number int32, ok bool) {
	h := maphash.Bytes(t.seed, key)
	at, ok := t.look(key, h)
	if !ok {
		return 0, false
	}
	return t.numbers[at], true
}

// look gives the slot of a key, or the one that it would have.
func (t *table) look(key []byte, hash uint64) (slot int, known bool) {
	mask, tag := len(t.tags)-1, tagOf(hash)
	for at := int(hash) & mask; ; at = (at + 1) & mask {
		switch t.tags[at] {
		case 0:
			return at, false
		case tag:
			if bytes.Equal(t.key(t.numbers[at]), key) {
				return at, true
			}
		}
	}
}

// add gives a key's number, which is a new one unless it is known. The key is copied.
func (t *table) add(key []byte) (number int32, known bool) {
	h := maphash.Bytes(t.seed, key)
	at, known := t.look(key, h)
	if known {
		return t.numbers[at], true
	}
	number = int32(len(t.ends))
	if t.arena == nil {
		t.arena = make([]byte, 0, min(len(key), usual)*cap(t.ends)) // keys are mostly as long as the first
	}
	t.arena = append(t.arena, key...)
	t.ends = append(t.ends, len(t.arena))
	t.tags[at], t.numbers[at] = tagOf(h), number
	if 2*len(t.ends) > len(t.tags) {
		t.resize(4 * len(t.tags))
	}
	return number, false
}

func (t *table) resize(slots int) {
	t.tags, t.numbers = make([]uint8, slots), make([]int32, slots)
	for i := range t.ends {
		h := maphash.Bytes(t.seed, t.key(int32(i)))
		at := int(h) & (slots - 1)
		for t.tags[at] != 0 {
			at = (at + 1) & (slots - 1)
		}
		t.tags[at], t.numbers[at] = tagOf(h), int32(i)
	}
}

// reserve makes room for so many keys.
func (t *table) reserve(keys int) {
	if slots := 1 << bits.Len(uint(3*keys)); slots > len(t.tags) {
		t.resize(slots)
	}
	t.ends = slices.Grow(t.ends, keys)
}
