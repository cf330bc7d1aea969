package hfile

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// child is a block below an index, and a key that none of its rows is less than.
type child struct {
	at, size int64
	row      []byte
}

// maxLevels bounds the depth of indexes. Two levels index a gigabyte.
const maxLevels = 16

// readRoot reads the root index. A fault in it is no fault of the entries, which can be found without: it is kept as a doubt.
func (f *File) readRoot() {
	h, err := f.header(f.loadAt, f.size-trailerLen)
	if err != nil {
		f.doubt = err
		return
	}
	if h.magic != rootMagic {
		f.doubt = corrupt(h.at, "expected the magic %q, found %q", rootMagic, h.magic)
		return
	}
	payload, err := f.block(h)
	if err != nil {
		f.doubt = err
		return
	}
	if f.levels < 1 || f.levels > maxLevels {
		f.doubt = corrupt(f.size-trailerLen, "expected 1 to %d levels of index, found %d", maxLevels, f.levels)
		return
	}
	f.index, f.doubt = f.rootEntries(h, payload)
	if f.doubt == nil && f.levels == 1 && len(f.index) > 0 && f.index[0].at != 0 {
		f.doubt = corrupt(h.at, "expected an index of the first block, found one from byte %d on", f.index[0].at)
	}
}

func (f *File) rootEntries(h header, payload []byte) ([]child, error) {
	c := f.cursor(h, payload)
	var out []child
	// An entry takes 14 bytes at least.
	if f.indexed > uint64(len(payload)/14) {
		c.fail("expected a root index, found one of %d entries in %d bytes", f.indexed, len(payload))
	}
	for range f.indexed {
		k := child{at: c.int64("the offset of a block"), size: c.int32("the size of a block")}
		start := *c
		k.row = rowOf(c.take(c.vlong("the length of a key"), "a key"))
		if c.err != nil || k.row == nil {
			*c = start
			k.row = rowOf(c.bytes("a key"))
		}
		if c.err == nil && k.row == nil {
			c.fail("expected the key of a block")
		}
		if c.err != nil {
			return nil, c.err
		}
		out = append(out, k)
	}
	return out, f.checkIndex(h, out)
}

// checkIndex refuses an index by which a search could go wrong.
func (f *File) checkIndex(h header, children []child) error {
	for i, k := range children {
		if k.at < 0 || k.size < headerLen || k.at > f.loadAt-k.size {
			return corrupt(h.at, "expected a block before byte %d as entry %d of an index, found one of %d bytes at %d", f.loadAt, i, k.size, k.at)
		}
		if i > 0 && (k.at <= children[i-1].at || bytes.Compare(k.row, children[i-1].row) < 0) {
			return corrupt(h.at, "expected the entries of an index in order, entry %d is not", i)
		}
	}
	return nil
}

// rowOf takes the row out of the key of an index: a cell's key, or the row and its length alone. nil is neither.
func rowOf(key []byte) []byte {
	if len(key) < 2 {
		return nil
	}
	n := int(binary.BigEndian.Uint16(key))
	if len(key) != 2+n && len(key) != 2+n+cellSuffix {
		return nil
	}
	return key[2 : 2+n]
}

// lowerEntries reads a leaf or an intermediate index.
func (f *File) lowerEntries(h header, payload []byte) ([]child, error) {
	c := f.cursor(h, payload)
	n := c.int32("the entries of an index")
	if c.err == nil && (n < 0 || n > int64(c.left())/(4+12)) {
		c.fail("expected an index, found one of %d entries in %d bytes", n, len(payload))
	}
	ends := c.take(4*(n+1), "the offsets of an index")
	var out []child
	for i := int64(0); i < n && c.err == nil; i++ {
		from, to := int32(binary.BigEndian.Uint32(ends[4*i:])), int32(binary.BigEndian.Uint32(ends[4*i+4:]))
		k := child{at: c.int64("the offset of a block"), size: c.int32("the size of a block")}
		k.row = rowOf(c.take(int64(to)-int64(from)-12, "a key"))
		if c.err == nil && k.row == nil {
			c.fail("expected the key of a block")
		}
		out = append(out, k)
	}
	if c.err != nil {
		return nil, c.err
	}
	return out, f.checkIndex(h, out)
}

// locate finds the data block in which the first entry with a row, or behind it, lies, or a block before that one. ok is false where
// the index can't tell, because it is in doubt or says what is not so.
func (f *File) locate(row []byte) (k child, ok bool) {
	if f.doubt != nil || len(f.index) == 0 {
		return child{}, false
	}
	k = before(f.index, row)
	for level := f.levels; level > 1; level-- {
		below, err := f.lower(k, level)
		if err != nil || len(below) == 0 {
			return child{}, false
		}
		k = before(below, row)
	}
	if h, err := f.header(k.at, f.loadAt); err != nil || h.magic != dataMagic {
		return child{}, false
	}
	return k, true
}

// lower reads the index block below an entry of the index of a level.
func (f *File) lower(k child, level uint64) ([]child, error) {
	h, err := f.header(k.at, f.loadAt)
	if err != nil {
		return nil, err
	}
	want := intermediateMagic
	if level == 2 {
		want = leafMagic
	}
	if h.magic != want {
		return nil, corrupt(h.at, "expected the magic %q, found %q", want, h.magic)
	}
	payload, err := f.block(h)
	if err != nil {
		return nil, err
	}
	return f.lowerEntries(h, payload)
}

// before is the last child whose key is less than a row, or the first one: entries with that row may begin at the end of
// the block before the one whose key it is.
func before(children []child, row []byte) child {
	i, _ := slices.BinarySearchFunc(children, row, func(k child, row []byte) int { return bytes.Compare(k.row, row) })
	return children[max(i-1, 0)]
}
