package rowdiff

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"math/bits"
	"os"
	"slices"

	"github.com/hudifs/hudifs/internal/spill"
)

// imprint stands for a row: hashes of its key and of its values.
type imprint struct {
	key    [2]uint64
	values uint64
	row    int64 // rows count through both states
}

const imprintBytes = 32

// imprints are those of all rows: in memory, or from a certain number on in a file.
type imprints struct {
	memory int64
	count  int64
	held   []imprint
	file   *os.File // has no name any more; nil while all are held
	w      *bufio.Writer
}

func (p *imprints) close() {
	if p.file != nil {
		_ = p.file.Close() // it has no name: nothing is left to be lost
	}
}

// add takes the imprints of the next rows.
func (p *imprints) add(more []imprint) error {
	for i := range more {
		more[i].row = p.count + int64(i)
	}
	p.count += int64(len(more))
	if p.file == nil && p.count*imprintBytes <= p.memory {
		p.held = append(p.held, more...)
		return nil
	}
	if p.file == nil {
		if err := p.create(); err != nil {
			return err
		}
		if err := p.spill(p.held); err != nil {
			return err
		}
		p.held = nil
	}
	return p.spill(more)
}

func (p *imprints) create() error {
	f, err := spill.Create()
	if err != nil {
		return err
	}
	const buffer = 256 << 10
	p.file, p.w = f, bufio.NewWriterSize(f, buffer)
	return nil
}

func (p *imprints) spill(all []imprint) error {
	var b [imprintBytes]byte
	for i := range all {
		binary.LittleEndian.PutUint64(b[0:], all[i].key[0])
		binary.LittleEndian.PutUint64(b[8:], all[i].key[1])
		binary.LittleEndian.PutUint64(b[16:], all[i].values)
		binary.LittleEndian.PutUint64(b[24:], uint64(all[i].row))
		if _, err := p.w.Write(b[:]); err != nil {
			return err
		}
	}
	return nil
}

// match finds the rows that differ. Rows below after are those of the state before.
func (p *imprints) match(ctx context.Context, after int64) ([]pair, error) {
	m := matcher{after: after}
	if p.file == nil {
		m.match(p.held)
		return m.sorted(), nil
	}
	if err := p.w.Flush(); err != nil {
		return nil, err
	}
	passes := uint64((p.count*imprintBytes + p.memory - 1) / max(p.memory, 1))
	for pass := range passes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := p.bucket(pass, passes); err != nil {
			return nil, err
		}
		m.match(p.held)
	}
	return m.sorted(), nil
}

// bucket holds the imprints of one of so many parts of all keys.
func (p *imprints) bucket(pass, passes uint64) error {
	p.held = p.held[:0]
	const buffer = 256 << 10
	r := bufio.NewReaderSize(io.NewSectionReader(p.file, 0, p.count*imprintBytes), buffer)
	var b [imprintBytes]byte
	for range p.count {
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return err
		}
		first := binary.LittleEndian.Uint64(b[0:])
		if part, _ := bits.Mul64(first, passes); part == pass {
			p.held = append(p.held, imprint{
				key:    [2]uint64{first, binary.LittleEndian.Uint64(b[8:])},
				values: binary.LittleEndian.Uint64(b[16:]),
				row:    int64(binary.LittleEndian.Uint64(b[24:])),
			})
		}
	}
	return nil
}

// matcher compares the rows of each key.
type matcher struct {
	after int64
	pairs []pair
}

func (m *matcher) match(all []imprint) {
	slices.SortFunc(all, func(a, b imprint) int {
		return cmp.Or(cmp.Compare(a.key[0], b.key[0]), cmp.Compare(a.key[1], b.key[1]), cmp.Compare(a.row, b.row))
	})
	for len(all) > 0 {
		n, before := 0, 0
		for n < len(all) && all[n].key == all[0].key {
			if all[n].row < m.after {
				before++
			}
			n++
		}
		m.key(all[:before], all[before:n])
		all = all[n:]
	}
}

// key compares the rows of one key.
func (m *matcher) key(before, after []imprint) {
	if len(before) > 1 || len(after) > 1 {
		before, after = cancelled(before, after)
	}
	if len(before) == 1 && len(after) == 1 {
		if before[0].values != after[0].values {
			m.pairs = append(m.pairs, pair{before[0].row, after[0].row - m.after})
		}
		return
	}
	for _, p := range before {
		m.pairs = append(m.pairs, pair{p.row, none})
	}
	for _, p := range after {
		m.pairs = append(m.pairs, pair{none, p.row - m.after})
	}
}

// cancelled are the rows that are left when equal ones have been taken away on both sides, one for one and the first ones first.
func cancelled(before, after []imprint) (b, a []imprint) {
	count := map[uint64]int{}
	for _, p := range after {
		count[p.values]++
	}
	taken := map[uint64]int{}
	for _, p := range before {
		if taken[p.values] < count[p.values] {
			taken[p.values]++
			continue
		}
		b = append(b, p)
	}
	for _, p := range after {
		if taken[p.values] > 0 {
			taken[p.values]--
			continue
		}
		a = append(a, p)
	}
	return b, a
}

// sorted are all differences in the order in which they are written.
func (m *matcher) sorted() []pair {
	slices.SortFunc(m.pairs, func(a, b pair) int {
		if (a.before == none) != (b.before == none) {
			return cmp.Compare(b.before, a.before)
		}
		return cmp.Or(cmp.Compare(a.before, b.before), cmp.Compare(a.after, b.after))
	})
	return m.pairs
}
