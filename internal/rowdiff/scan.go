package rowdiff

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/schema"
)

// scan reads all rows once, and keeps a print of each.
type scan struct {
	in       *Input
	leaves   []scanned
	seeds    [3]maphash.Seed
	imprints imprints
	result   Result
	content  int64 // bytes of all values and levels that were read

	buf []byte
}

// scanned is a column that is read.
type scanned struct {
	*schema.Node
	key, data bool
}

func newScan(in *Input) *scan {
	s := &scan{in: in, imprints: imprints{memory: in.Memory}, buf: make([]byte, 64)}
	if s.imprints.memory == 0 {
		s.imprints.memory = defaultMemory
	}
	for i := range s.seeds {
		s.seeds[i] = maphash.MakeSeed()
	}
	for _, n := range in.Table.Leaves {
		l := scanned{Node: n, key: slices.Contains(in.Key, n.Index), data: !schema.IsMeta(n.Path[0])}
		if l.key || l.data {
			s.leaves = append(s.leaves, l)
		}
	}
	return s
}

// total is the number of rows of a state.
func (s *scan) total(side int) int64 {
	n := int64(0)
	for _, rows := range s.result.rows[side] {
		n += rows
	}
	return n
}

// groupRows makes row groups of about as many bytes as are good to hold at once, in rows of the average size.
func (s *scan) groupRows() int {
	const (
		groupBytes = 32 << 20
		metaBytes  = 128 // of the columns that were not read
		most       = 1 << 20
	)
	rows := s.total(0) + s.total(1)
	if rows == 0 {
		return most
	}
	return int(min(max(groupBytes/(s.content/rows+metaBytes), 1), most))
}

func (s *scan) source(ctx context.Context, side int, open Source) error {
	rows, done, err := open(ctx)
	if err != nil {
		return err
	}
	defer done()
	n := int64(0)
	for g := range rows.Groups() {
		if err := s.group(ctx, rows, g); err != nil {
			return err
		}
		n += int64(rows.Rows(g))
	}
	s.result.rows[side] = append(s.result.rows[side], n)
	return nil
}

func (s *scan) group(ctx context.Context, rows Rows, g int) error {
	imprints := make([]imprint, rows.Rows(g))
	for _, leaf := range s.leaves {
		if err := ctx.Err(); err != nil {
			return err
		}
		row := 0
		err := rows.Column(g, leaf.Node, func(v *column.Vector) error {
			s.content += int64(v.Size())
			n := v.Rows()
			if row+n > len(imprints) {
				return fmt.Errorf("%w: more than %d rows", pqfile.ErrCorrupt, len(imprints))
			}
			s.add(imprints[row:row+n], leaf, v)
			row += n
			return nil
		})
		if err == nil && row != len(imprints) {
			err = fmt.Errorf("%w: %d rows, expected %d", pqfile.ErrCorrupt, row, len(imprints))
		}
		if err != nil {
			return fmt.Errorf("row group %d, column %s: %w", g, strings.Join(leaf.Path, "."), err)
		}
	}
	return s.imprints.add(imprints)
}

// add puts the values of a column into the imprints of their rows. What is hashed of a row are the levels and values as they are: both states have
// them in the form of one schema.
func (s *scan) add(imprints []imprint, leaf scanned, v *column.Vector) {
	entry, value := 0, 0
	for i := range imprints {
		b := s.buf[:8]
		for first := true; entry < v.Entries() && (first || v.Leaf.MaxRep > 0 && v.Rep[entry] > 0); entry++ {
			first = false
			if v.Leaf.MaxRep > 0 {
				b = append(b, v.Rep[entry])
			}
			if v.Leaf.MaxDef > 0 {
				b = append(b, v.Def[entry])
				if v.Def[entry] < v.Leaf.MaxDef {
					continue
				}
			}
			bytes := v.Value(value)
			value++
			if v.Leaf.Kind == column.Bytes {
				b = binary.LittleEndian.AppendUint32(b, uint32(len(bytes)))
			}
			b = append(b, bytes...)
		}
		p := &imprints[i]
		if leaf.key {
			p.key[0], p.key[1] = s.mix(0, p.key[0], b), s.mix(1, p.key[1], b)
		}
		if leaf.data {
			p.values = s.mix(2, p.values, b)
		}
		s.buf = b
	}
}

// mix hashes the bytes of a row's column together with a hash of the columns before. Eight bytes at their begin are free for that.
func (s *scan) mix(seed int, before uint64, b []byte) uint64 {
	binary.LittleEndian.PutUint64(b, before)
	return maphash.Bytes(s.seeds[seed], b)
}
