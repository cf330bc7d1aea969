package pqfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/golang/snappy"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// Parquet-go's codecs grow their output until the input ends, and its LZ4 codec forever where the input is damaged. A page
// states its decoded size, so here the libraries below them are given a buffer of exactly that size.

// padding is room behind every buffer that decoders read: bit unpacking takes whole words.
const padding = 64

// plausible is how many times larger than its input the output of a codec can be: what claims more is not allocated.
func plausible(codec format.CompressionCodec, compressed int) int64 {
	n := int64(compressed)
	switch codec {
	case format.Uncompressed:
		return n
	case format.Snappy:
		return n * 64 // a copy of 64 bytes takes at least 2
	case format.Gzip:
		return n * 1032
	case format.Lz4Raw:
		return n * 256
	case format.Zstd:
		return n * (128 << 10) // a block of 128 KiB of one byte takes 4
	default:
		return maxPage
	}
}

// decompress decodes src into dst, whose length is the size that the output must have.
func decompress(codec format.CompressionCodec, dst, src []byte) error {
	switch codec {
	case format.Uncompressed:
		if len(src) != len(dst) {
			return sizeError(len(src), len(dst))
		}
		copy(dst, src)
		return nil
	case format.Snappy:
		// The length is checked first: Decode would allocate it.
		if n, err := snappy.DecodedLen(src); err != nil || n != len(dst) {
			return sizeError(n, len(dst))
		}
		_, err := snappy.Decode(dst, src)
		return err
	case format.Lz4Raw:
		n, err := lz4.UncompressBlock(src, dst)
		if err == nil && n != len(dst) {
			err = sizeError(n, len(dst))
		}
		return err
	case format.Zstd:
		return zstdDecode(dst, src)
	case format.Gzip:
		z, _ := gzipReaders.Get().(*gzip.Reader)
		if z == nil {
			z = new(gzip.Reader)
		}
		defer gzipReaders.Put(z)
		if err := z.Reset(bytes.NewReader(src)); err != nil {
			return err
		}
		return readExactly(dst, z)
	case format.Brotli:
		return readExactly(dst, brotli.NewReader(bytes.NewReader(src)))
	default:
		return unsupported("codec %v", codec)
	}
}

// largePage is the size from which on a page is believed only as far as it is decoded.
const largePage = 32 << 20

// inflateLarge is decompress where the size is large: memory is taken as bytes come out, where more can come out than what went in tells.
func inflateLarge(codec format.CompressionCodec, src []byte, size int) ([]byte, error) {
	var r io.Reader
	switch codec {
	case format.Gzip:
		z, err := gzip.NewReader(bytes.NewReader(src))
		if err != nil {
			return nil, err
		}
		r = z
	case format.Brotli:
		r = brotli.NewReader(bytes.NewReader(src))
	case format.Zstd:
		z, err := zstd.NewReader(bytes.NewReader(src), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPage))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		r = z
	default:
		dst := make([]byte, size, size+padding)
		return dst, decompress(codec, dst, src)
	}
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(r, int64(size)+1))
	if err != nil {
		return nil, err
	}
	if n != int64(size) {
		return nil, sizeError(int(n), size)
	}
	return grow(out.Bytes(), size+padding), nil
}

func sizeError(got, want int) error { return fmt.Errorf("%d bytes, expected %d", got, want) }

var (
	gzipReaders  sync.Pool
	zstdDecoders sync.Pool
)

func zstdDecode(dst, src []byte) error {
	d, _ := zstdDecoders.Get().(*zstd.Decoder)
	if d == nil {
		var err error
		d, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(maxPage))
		if err != nil {
			return err
		}
	}
	defer zstdDecoders.Put(d)
	out, err := d.DecodeAll(src, dst[:0:len(dst)])
	if err == nil && len(out) != len(dst) {
		err = sizeError(len(out), len(dst))
	}
	return err
}

// readExactly fills dst and expects the stream to end there.
func readExactly(dst []byte, r io.Reader) error {
	if n, err := io.ReadFull(r, dst); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return sizeError(n, len(dst))
		}
		return err
	}
	var more [1]byte
	if n, err := io.ReadFull(r, more[:]); n > 0 || err == nil {
		return fmt.Errorf("more than %d bytes", len(dst))
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// maxBlock is what a stored block of each codec holds: no block of theirs may hold more.
const maxBlock = 65535

// codecBound is the most that compress makes of n bytes.
func codecBound(n int64) int64 { return n + 20 + 5*(n/maxBlock+1) }

// Writes tells whether chunks can be written in a codec.
func Writes(codec format.CompressionCodec) bool {
	switch codec {
	case format.Uncompressed, format.Snappy, format.Zstd, format.Gzip:
		return true
	default:
		return false
	}
}

// compress encodes src. Where the codec would exceed codecBound, the input is framed as stored blocks of that codec, which every decoder
// reads. The output depends on the input alone, not on the machine.
func compress(codec format.CompressionCodec, dst, src []byte) ([]byte, error) {
	var out []byte
	switch codec {
	case format.Uncompressed:
		return src, nil
	case format.Snappy:
		// Its assembler makes the same bytes as its Go code; s2's does not.
		out = snappy.Encode(dst[:cap(dst)], src)
	case format.Zstd:
		var err error
		if out, err = zstdEncode(dst[:0], src); err != nil {
			return nil, err
		}
	case format.Gzip:
		var err error
		if out, err = gzipEncode(dst[:0], src); err != nil {
			return nil, err
		}
	default:
		return nil, unsupported("writing codec %v", codec)
	}
	if int64(len(out)) <= codecBound(int64(len(src))) {
		return out, nil
	}
	return stored(codec, out[:0], src)
}

var gzipWriters sync.Pool

func gzipEncode(dst, src []byte) ([]byte, error) {
	z, _ := gzipWriters.Get().(*gzip.Writer)
	if z == nil {
		var err error
		if z, err = gzip.NewWriterLevel(nil, gzip.BestSpeed); err != nil {
			return nil, err
		}
	}
	defer gzipWriters.Put(z)
	buf := bytes.NewBuffer(dst)
	z.Reset(buf)
	if _, err := z.Write(src); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

var zstdEncoders sync.Pool

func zstdEncode(dst, src []byte) ([]byte, error) {
	e, _ := zstdEncoders.Get().(*zstd.Encoder)
	if e == nil {
		var err error
		e, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true))
		if err != nil {
			return nil, err
		}
	}
	defer zstdEncoders.Put(e)
	return e.EncodeAll(src, dst), nil
}

// stored frames src without compressing it.
func stored(codec format.CompressionCodec, dst, src []byte) ([]byte, error) {
	dst = grow(dst, len(dst)+int(codecBound(int64(len(src)))))
	switch codec {
	case format.Snappy:
		dst = binary.AppendUvarint(dst, uint64(len(src)))
		for b := range slices.Chunk(src, maxBlock) {
			n := len(b) - 1
			dst = append(dst, 61<<2, byte(n), byte(n>>8)) // a literal whose length takes two bytes
			dst = append(dst, b...)
		}
	case format.Zstd:
		dst = append(dst, 0x28, 0xB5, 0x2F, 0xFD, 0xA0) // magic; one segment, content size in 4 bytes
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(src)))
		dst = storedBlocks(dst, src, func(dst []byte, n int, last byte) []byte {
			return append(dst, byte(n<<3)|last, byte(n>>5), byte(n>>13))
		})
	case format.Gzip:
		dst = append(dst, 0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF)
		dst = storedBlocks(dst, src, func(dst []byte, n int, last byte) []byte {
			return append(dst, last, byte(n), byte(n>>8), ^byte(n), ^byte(n>>8))
		})
		dst = binary.LittleEndian.AppendUint32(dst, crc32.ChecksumIEEE(src))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(src)))
	default:
		return nil, unsupported("writing codec %v", codec)
	}
	return dst, nil
}

// storedBlocks cuts src in blocks of at most maxBlock bytes, at least one, each after its header.
func storedBlocks(dst, src []byte, header func(dst []byte, n int, last byte) []byte) []byte {
	for {
		n := min(len(src), maxBlock)
		last := byte(0)
		if n == len(src) {
			last = 1
		}
		dst = append(header(dst, n, last), src[:n]...)
		if src = src[n:]; last == 1 {
			return dst
		}
	}
}
