package hfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// codec is how blocks are compressed. The numbers are those of the trailer.
type codec uint64

const (
	lzo codec = iota
	gz
	none
	snap
	lz4Block
	bzip2
	zstandard
)

func (c codec) String() string {
	if c > zstandard {
		return fmt.Sprintf("codec %d", uint64(c))
	}
	return [...]string{"lzo", "gzip", "none", "snappy", "lz4", "bzip2", "zstd"}[c]
}

// zstdMagic begins every zstd frame.
const zstdMagic = "\x28\xb5\x2f\xfd"

// decompress decodes a payload to exactly size bytes. Errors have no offset: nothing but the block as a whole is to blame.
func decompress(c codec, src []byte, size int64) ([]byte, error) {
	var out []byte
	var err error
	switch c {
	case none:
		out = src
	case gz:
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(src)); err == nil {
			out, err = drain(z, src, size)
		}
	case zstandard:
		if !bytes.HasPrefix(src, []byte(zstdMagic)) {
			out, err = hadoopBlocks(src, size, zstdFrame)
			break
		}
		out, err = zstdFrame(src, size)
	case snap:
		out, err = hadoopBlocks(src, size, snappyBlock)
	case lz4Block:
		out, err = hadoopBlocks(src, size, rawLZ4)
	default:
		return nil, fmt.Errorf("%w: blocks compressed with %v", ErrUnsupported, c)
	}
	if err == nil && int64(len(out)) != size {
		err = fmt.Errorf("expected %d bytes, found %d", size, len(out))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %v: %w", ErrCorrupt, c, err)
	}
	return out, nil
}

// drain reads size bytes, or one more where there are too many. What a header claims beyond what src can reasonably hold is not
// allocated before it is there.
func drain(r io.Reader, src []byte, size int64) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, bytes.MinRead+int(min(size, 64*int64(len(src))))))
	_, err := b.ReadFrom(io.LimitReader(r, size+1))
	return b.Bytes(), err
}

func zstdFrame(src []byte, size int64) ([]byte, error) {
	z, err := zstd.NewReader(bytes.NewReader(src), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return drain(z, src, size)
}

func snappyBlock(src []byte, size int64) ([]byte, error) {
	if n, err := snappy.DecodedLen(src); err != nil || int64(n) > size || n > 64*len(src) {
		return nil, errors.New("expected a snappy block")
	}
	return snappy.Decode(nil, src)
}

func rawLZ4(src []byte, size int64) ([]byte, error) {
	dst := make([]byte, min(size, 256*int64(len(src))))
	n, err := lz4.UncompressBlock(src, dst)
	if err != nil {
		return nil, err
	}
	return dst[:n], nil
}

// hadoopBlocks decodes the framing of Hadoop's BlockCompressorStream: 4 bytes of how much the blocks to come decode to,
// then, until that is reached, 4 bytes of length and a block.
func hadoopBlocks(src []byte, size int64, decode func([]byte, int64) ([]byte, error)) ([]byte, error) {
	var out []byte
	next := func() (int64, bool) {
		if len(src) < 4 {
			return 0, false
		}
		n := int64(binary.BigEndian.Uint32(src))
		src = src[4:]
		return n, true
	}
	for len(src) > 0 {
		total, ok := next()
		if total += int64(len(out)); !ok || total > size {
			return nil, errors.New("expected the size of blocks")
		}
		for int64(len(out)) < total {
			n, ok := next()
			if !ok || n > int64(len(src)) {
				return nil, errors.New("expected the length of a block")
			}
			part, err := decode(src[:n], total-int64(len(out)))
			if err != nil {
				return nil, err
			}
			if out = append(out, part...); len(part) == 0 || int64(len(out)) > total {
				return nil, fmt.Errorf("expected blocks of %d bytes, found %d", total, len(out))
			}
			src = src[n:]
		}
	}
	return out, nil
}
