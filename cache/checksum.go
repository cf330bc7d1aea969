package cache

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sys/unix"
)

// grain is the unit of the checksum. It is no smaller than the blocks in which most file systems keep holes.
const grain = 16 << 10

var zeros [grain]byte

// checksum is the xxhash64 of: the key; the file's length, 8 bytes, little endian; the sum of the [grainSum] of all its grains, likewise.
//
// Holes are found with SEEK_DATA and not read. As zeros do not count, it makes no difference which of them a file system
// keeps as holes, and that may change when the folder is copied.
func checksum(ctx context.Context, f *os.File, key Key, size int64, fault faultFunc) (uint64, error) {
	sum := uint64(0)
	for pos := int64(0); pos < size; {
		start, end, err := nextData(f, pos, size)
		if err != nil {
			return 0, err
		}
		pos, end = max(pos, start/grain*grain), min(size, (end+grain-1)/grain*grain)
		s, err := sumOf(ctx, f, pos, end, fault)
		if err != nil {
			return 0, err
		}
		sum, pos = sum+s, end
	}
	return checksumOf(key, size, sum), nil
}

func checksumOf(key Key, size int64, sum uint64) uint64 {
	b := binary.LittleEndian.AppendUint64(key[:], uint64(size))
	return xxhash.Sum64(binary.LittleEndian.AppendUint64(b, sum))
}

// grainSum is the xxhash64 of a grain with its offset as seed (at the end of the file, of what there is of it), and 0 where all of it is zero.
func grainSum(offset int64, g []byte) uint64 {
	if bytes.Equal(g, zeros[:len(g)]) {
		return 0
	}
	var d xxhash.Digest
	d.ResetWithSeed(uint64(offset))
	_, _ = d.Write(g)
	return d.Sum64()
}

// sumOf reads the grains from an offset to another.
func sumOf(ctx context.Context, f *os.File, pos, end int64, fault faultFunc) (sum uint64, err error) {
	buf := make([]byte, min(64*grain, end-pos))
	for pos < end {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if err := fault.check("read"); err != nil {
			return 0, err
		}
		data := buf[:min(int64(len(buf)), end-pos)]
		if n, err := f.ReadAt(data, pos); n < len(data) {
			return 0, fmt.Errorf("checksum of %s: %w at %d", f.Name(), noEOF(err), pos+int64(n))
		}
		for g := range slices.Chunk(data, grain) {
			sum += grainSum(pos, g)
			pos += int64(len(g))
		}
	}
	return sum, nil
}

// sums are those of the grains of a file that is being written, by number. Those that were never written are not among them.
type sums struct {
	mu     sync.Mutex
	grains map[int64]written // guarded by mu
}

// written is a grain that was written: at once, so that its sum is known, or in pieces or more than once, so that it must be read again.
type written struct {
	sum    uint64
	pieces bool
}

// add takes what is being written.
func (s *sums) add(p []byte, off int64) {
	first, end := within(off, int64(len(p)))
	var sum []uint64
	for g := first; g < end; g++ {
		at := g*grain - off
		sum = append(sum, grainSum(g*grain, p[at:at+grain]))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for g := off / grain; g*grain < off+int64(len(p)); g++ {
		if _, again := s.grains[g]; again || g < first || g >= end {
			s.grains[g] = written{pieces: true}
		} else {
			s.grains[g] = written{sum: sum[g-first]}
		}
	}
}

// forget takes n bytes whose content is not known.
func (s *sums) forget(off, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for g := off / grain; g*grain < off+n; g++ {
		s.grains[g] = written{pieces: true}
	}
}

// within are the grains that lie wholly in a write.
func within(off, n int64) (first, end int64) { return (off + grain - 1) / grain, (off + n) / grain }

// checksum is that of the file, which is of its final size.
func (s *sums) checksum(ctx context.Context, f *os.File, key Key, size int64, fault faultFunc) (uint64, error) {
	total := uint64(0)
	var again []int64
	for g, w := range s.grains {
		total += w.sum
		if w.pieces {
			again = append(again, g*grain)
		}
	}
	slices.Sort(again)
	// They lie at the edges of holes, which reading ahead would fill with pages of zeros. It is only advice.
	_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_RANDOM)
	for len(again) > 0 {
		run := 1
		for run < len(again) && again[run] == again[run-1]+grain {
			run++
		}
		sum, err := sumOf(ctx, f, again[0], min(again[run-1]+grain, size), fault)
		if err != nil {
			return 0, err
		}
		total, again = total+sum, again[run:]
	}
	return checksumOf(key, size, total), nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// nextData returns the first range of a file at or after pos that is no hole; both are size when there is none.
func nextData(f *os.File, pos, size int64) (start, end int64, err error) {
	fd := int(f.Fd())
	start, err = unix.Seek(fd, pos, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return size, size, nil
	case errors.Is(err, unix.EINVAL): // a file system without holes
		return pos, size, nil
	case err != nil:
		return 0, 0, fmt.Errorf("seek in %s: %w", f.Name(), err)
	}
	end, err = unix.Seek(fd, start, unix.SEEK_HOLE)
	if err != nil {
		return 0, 0, fmt.Errorf("seek in %s: %w", f.Name(), err)
	}
	return start, end, nil
}
