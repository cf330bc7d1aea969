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

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sys/unix"
)

// grain is the unit of the checksum. It is no smaller than the blocks in which file systems keep holes.
const grain = 64 << 10

var zeros [grain]byte

// checksum is the xxhash64 of: the key; the file's length, 8 bytes, little endian; then, for each 64 KiB of the file that
// are not all zero, their offset, 8 bytes, little endian, and themselves (at the end of the file, what there is of them).
//
// Holes are found with SEEK_DATA and not read. As zeros do not count, it makes no difference which of them a file system
// keeps as holes, and that may change when the folder is copied.
func checksum(ctx context.Context, f *os.File, key Key, size int64, fault faultFunc) (uint64, error) {
	h := xxhash.New()
	hashWord := func(v int64) {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(v)) //nolint:gosec // offsets are not negative
		_, _ = h.Write(b[:])
	}
	_, _ = h.Write(key[:])
	hashWord(size)
	buf := make([]byte, min(16*grain, (size+grain-1)/grain*grain))
	for pos := int64(0); pos < size; {
		start, end, err := nextData(f, pos, size)
		if err != nil {
			return 0, err
		}
		pos = max(pos, start/grain*grain)
		for end = min(size, (end+grain-1)/grain*grain); pos < end; {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			if err := fault.check("read"); err != nil {
				return 0, err
			}
			data := buf[:min(int64(len(buf)), end-pos)]
			if n, err := f.ReadAt(data, pos); n < len(data) {
				return 0, fmt.Errorf("checksum of %s: %w at %d of %d", f.Name(), noEOF(err), pos+int64(n), size)
			}
			for g := range slices.Chunk(data, grain) {
				if !bytes.Equal(g, zeros[:len(g)]) {
					hashWord(pos)
					_, _ = h.Write(g)
				}
				pos += int64(len(g))
			}
		}
	}
	return h.Sum64(), nil
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
