package render

import (
	"bytes"
	"hash/maphash"

	"github.com/hudifs/hudifs/internal/column"
)

// dictionary numbers values in the order in which they come first. It takes the values themselves and some ten bytes each: those of a chunk may be as many as the
// log has records.
type dictionary struct {
	values *column.Vector
	seed   maphash.Seed
	slots  []uint32 // open addressing: numbers from 1 on, 0 is an empty slot
	last   uint32   // the number that was given last: many columns have the same value row after row
}

// newDictionary begins with values, the first of which counts where some are equal. More may be added to the vector only by number.
func newDictionary(values *column.Vector) *dictionary {
	d := &dictionary{values: values, seed: maphash.MakeSeed()}
	d.resize(max(4*values.Values(), 1<<8))
	return d
}

// number is that of a value, which is added if it is new.
func (d *dictionary) number(v []byte) uint32 {
	n := d.values.Values()
	if int(d.last) < n && bytes.Equal(d.values.Value(int(d.last)), v) {
		return d.last
	}
	at := d.slot(v)
	if found := d.slots[at]; found > 0 {
		d.last = found - 1
		return d.last
	}
	d.values.AppendValue(v)
	d.slots[at] = uint32(n + 1)
	if 2*n > len(d.slots) {
		d.resize(2 * len(d.slots))
	}
	d.last = uint32(n)
	return d.last
}

// slot is where a value's number is, or would be.
func (d *dictionary) slot(v []byte) int {
	mask := len(d.slots) - 1
	for at := int(maphash.Bytes(d.seed, v)) & mask; ; at = (at + 1) & mask {
		if n := d.slots[at]; n == 0 || bytes.Equal(d.values.Value(int(n-1)), v) {
			return at
		}
	}
}

// resize makes so many slots at least.
func (d *dictionary) resize(slots int) {
	n := 1
	for n < slots {
		n *= 2
	}
	d.slots = make([]uint32, n)
	for i := range d.values.Values() {
		if at := d.slot(d.values.Value(i)); d.slots[at] == 0 {
			d.slots[at] = uint32(i + 1)
		}
	}
}
