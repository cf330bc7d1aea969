package logfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hudifs/hudifs/internal/schema"
)

// ErrCorrupt is wrapped by every error about bytes that are not what the format wants.
var ErrCorrupt = errors.New("corrupt log file")

// ErrUnsupported is wrapped by every error about legal content that this package can't read.
var ErrUnsupported = errors.New("unsupported log content")

const (
	magic     = "#HUDI#"
	prefixLen = len(magic) + 8 // magic and block size
	trailLen  = 8              // total length
	minSize   = 4 + 4 + 4 + 8 + 4 + trailLen
	// maxMap bounds the text of a header. Schemas take kilobytes, the positions of a million records a few megabytes.
	maxMap = 64 << 20
	// maxKeys bounds the entries of a header, of which the format knows nine.
	maxKeys = 64
	// maxParts bounds the blocks and damaged stretches of a file. A writer adds a block in a commit, and begins a new file after a gigabyte.
	maxParts = 1 << 18
)

// BlockType is what a block holds. The numbers are those of the format.
type BlockType int32

// The block types.
const (
	Command BlockType = iota
	DeleteBlock
	corruptBlock // Hudi's name for damage in memory; never on disk
	AvroData
	HFileData
	ParquetData
	CDCData
)

func (t BlockType) String() string {
	if t < 0 || t > CDCData {
		return fmt.Sprintf("block type %d", int32(t))
	}
	return [...]string{"command", "delete", "corrupt", "Avro data", "HFile data", "Parquet data", "CDC data"}[t]
}

// HeaderKey names an entry of a block's header. The numbers are those of the format; unknown ones are kept.
type HeaderKey int32

// The header keys.
const (
	InstantTime HeaderKey = iota
	TargetInstantTime
	SchemaText
	CommandType
	CompactedBlockTimes
	RecordPositions
	BlockIdentifier
	IsPartial
	PositionsBaseInstant
)

// Log is what a log file holds: its sound blocks and its damaged stretches, each in the order of the file.
type Log struct {
	Blocks []Block
	Damage []Damage
}

// Damage is a stretch of a file that is no block: torn off, or overwritten. The reader found the next block behind it,
// or the end of the file.
type Damage struct {
	Offset, End int64
	Reason      string
}

func (d Damage) String() string {
	return fmt.Sprintf("bytes %d to %d: %s", d.Offset, d.End, d.Reason)
}

// Block is where a block lies and what its header says. Blocks are not changed once made.
type Block struct {
	Offset  int64 // of the magic
	End     int64 // behind the block
	Type    BlockType
	Version int32
	Header  map[HeaderKey]string

	ContentOffset, ContentLength int64

	schema *schemaMemo
	names  *schema.Renaming
}

// Instant is the instant that wrote the block. Blocks of archived timelines have none.
func (b *Block) Instant() string { return b.Header[InstantTime] }

// Target is the instant that a rollback block undoes.
func (b *Block) Target() string { return b.Header[TargetInstantTime] }

// IsRollback tells whether the block undoes blocks that came before it in its file slice.
func (b *Block) IsRollback() bool { return b.Type == Command && b.Header[CommandType] == "0" }

// CompactedTimes are the instants whose blocks a log compaction merged into this one, nil for all others.
func (b *Block) CompactedTimes() []string {
	text := b.Header[CompactedBlockTimes]
	if text == "" {
		return nil
	}
	times := strings.Split(text, ",")
	for i, t := range times {
		times[i] = strings.TrimSpace(t)
	}
	return times
}

// Partial tells whether the records have only the columns that were updated.
func (b *Block) Partial() bool { return strings.EqualFold(b.Header[IsPartial], "true") }

// WithNames is the block with its records under the names of another schema.
func (b *Block) WithNames(r *schema.Renaming) *Block {
	out := *b
	out.names = r
	return &out
}

// Schema is the Avro schema of the records, as JSON.
func (b *Block) Schema() string { return b.Header[SchemaText] }

// Positions are the rows of the base file that the records replace, as the Base64 text of a 64-bit roaring bitmap in
// its portable form, and the instant of that base file. Both are "" where the writer gave none.
func (b *Block) Positions() (text, baseInstant string) {
	return b.Header[RecordPositions], b.Header[PositionsBaseInstant]
}

// Scan finds the blocks of a log file of a given size. It reads headers and trailers, no content.
//
// What a writer that died leaves behind is reported as Damage, by the rules of Hudi's reader (hudi-common:
// HoodieLogFileReader.isBlockCorrupted): a block whose size points beyond the file, whose trailing length does not repeat
// its size, or which is followed by something else than a block or the end. What can't come from that is an error, as it
// is for Hudi: a file that begins with something else than a block, a format version or a block type that does not exist.
func Scan(r io.ReaderAt, size int64) (*Log, error) {
	s := scanner{window: window{r: r, size: size}, schemas: map[string]*schemaMemo{}}
	log := &Log{}
	for p := int64(0); p < size; {
		if size-p < int64(len(magic)) {
			log.Damage = append(log.Damage, Damage{p, size, "too short for a block"})
			break
		}
		head, err := s.bytes(p, len(magic))
		if err != nil {
			return nil, err
		}
		if string(head) != magic {
			return nil, corrupt(p, "expected the magic %q, found %q", magic, head)
		}
		if len(log.Blocks)+len(log.Damage) == maxParts {
			return nil, corrupt(p, "expected at most %d blocks and damaged stretches", maxParts)
		}
		end, reason, err := s.extent(p)
		if err != nil {
			return nil, err
		}
		if reason != "" {
			if end, err = s.nextMagic(p + int64(len(magic))); err != nil {
				return nil, err
			}
			log.Damage = append(log.Damage, Damage{p, end, reason})
			p = end
			continue
		}
		b, err := s.block(p, end)
		if err != nil {
			return nil, err
		}
		log.Blocks = append(log.Blocks, b)
		p = end
	}
	return log, nil
}

func corrupt(offset int64, format string, args ...any) error {
	return fmt.Errorf("%w: at byte %d: "+format, append([]any{ErrCorrupt, offset}, args...)...)
}

type scanner struct {
	window
	// schemas lets the blocks of a file that have the same schema parse it once.
	schemas map[string]*schemaMemo
}

// extent finds the end of the block at p, or the reason why there is none.
func (s *scanner) extent(p int64) (end int64, reason string, err error) {
	if s.size-p < int64(prefixLen) {
		return 0, "torn within the block size", nil
	}
	prefix, err := s.bytes(p, prefixLen)
	if err != nil {
		return 0, "", err
	}
	size := int64(int32(binary.BigEndian.Uint32(prefix[prefixLen-4:])))
	end = p + int64(prefixLen) + size
	switch {
	case size < minSize:
		return 0, fmt.Sprintf("block size %d, less than the %d bytes of an empty block", size, minSize), nil
	case end > s.size:
		return 0, fmt.Sprintf("the block would end at byte %d, the file ends at %d", end, s.size), nil
	}
	follow := min(int64(len(magic)), s.size-end)
	// The footer lies before the trailing length, and is read with it.
	tail, err := s.bytes(end-trailLen-4, 4+trailLen+int(follow))
	if err != nil {
		return 0, "", err
	}
	tail = tail[4:]
	if total := binary.BigEndian.Uint64(tail); total != uint64(size)+uint64(len(magic)) {
		return 0, fmt.Sprintf("block size %d, but the trailing length says %d", size, int64(total)-int64(len(magic))), nil
	}
	if follow == int64(len(magic)) && string(tail[trailLen:]) != magic {
		return 0, fmt.Sprintf("expected a block or the end of the file at byte %d, found %q", end, tail[trailLen:]), nil
	}
	return end, "", nil
}

// nextMagic finds the first magic at or behind p, or the end of the file.
func (s *scanner) nextMagic(p int64) (int64, error) {
	for p+int64(len(magic)) <= s.size {
		chunk := s.held(p)
		if len(chunk) < len(magic) {
			var err error
			if chunk, err = s.bytes(p, int(min(scanStep, s.size-p))); err != nil {
				return 0, err
			}
		}
		if i := bytes.Index(chunk, []byte(magic)); i >= 0 {
			return p + int64(i), nil
		}
		p += int64(len(chunk) - len(magic) + 1)
	}
	return s.size, nil
}

// block reads the header of the block between p and end.
func (s *scanner) block(p, end int64) (Block, error) {
	c := cursor{window: &s.window, at: p + int64(prefixLen), end: end - trailLen}
	b := Block{Offset: p, End: end}
	b.Version = c.int32("format version")
	if c.err == nil && b.Version != 1 {
		return b, corrupt(p+int64(prefixLen), "expected format version 1, found %d", b.Version)
	}
	b.Type = BlockType(c.int32("block type"))
	if c.err == nil && (b.Type < 0 || b.Type > CDCData || b.Type == corruptBlock) {
		return b, corrupt(p+int64(prefixLen)+4, "expected a block type from 0 to %d, found %d", CDCData, int32(b.Type))
	}
	b.Header = c.header()
	c.int32("content length")
	b.ContentLength = int64(c.int32("content length"))
	b.ContentOffset = c.at
	c.skip(b.ContentLength, "content")
	c.header()
	if c.err != nil {
		return b, c.err
	}
	if c.at != c.end {
		return b, corrupt(c.at, "expected the trailing length of the block at %d, which lies at %d", p, c.end)
	}
	if b.Type == Command && !b.IsRollback() {
		return b, fmt.Errorf("%w: at byte %d: command %q", ErrUnsupported, p, b.Header[CommandType])
	}
	s.shareSchema(&b)
	return b, nil
}

func (s *scanner) shareSchema(b *Block) {
	text := b.Schema()
	m := s.schemas[text]
	if m == nil {
		m = &schemaMemo{text: text}
		s.schemas[text] = m
	} else if text != "" {
		b.Header[SchemaText] = m.text
	}
	b.schema = m
}

// cursor reads the fields of one block. Its error sticks: after one, everything reads as zero.
type cursor struct {
	*window
	at, end int64
	err     error
}

func (c *cursor) take(n int64, what string) []byte {
	if c.err != nil {
		return nil
	}
	if n < 0 || n > c.end-c.at {
		c.err = corrupt(c.at, "expected %s of %d bytes, the block has %d left", what, n, c.end-c.at)
		return nil
	}
	var b []byte
	b, c.err = c.bytes(c.at, int(n))
	c.at += n
	return b
}

func (c *cursor) int32(what string) int32 {
	b := c.take(4, what)
	if c.err != nil {
		return 0
	}
	return int32(binary.BigEndian.Uint32(b))
}

func (c *cursor) skip(n int64, what string) {
	if c.err == nil && (n < 0 || n > c.end-c.at) {
		c.err = corrupt(c.at, "expected %s of %d bytes, the block has %d left", what, n, c.end-c.at)
	}
	c.at += n
}

func (c *cursor) header() map[HeaderKey]string {
	at := c.at
	n := c.int32("a map")
	if c.err == nil && (n < 0 || n > maxKeys || int64(n) > (c.end-c.at)/8) {
		c.err = corrupt(at, "expected a map of at most %d entries, found one of %d in %d bytes", maxKeys, n, c.end-c.at)
	}
	h := map[HeaderKey]string{}
	for left := int64(maxMap); n > 0 && c.err == nil; n-- {
		key := HeaderKey(c.int32("a map key"))
		length := int64(c.int32("the length of a map value"))
		if left -= length; left < 0 {
			c.err = corrupt(c.at, "a map of more than %d bytes", int64(maxMap))
			break
		}
		h[key] = string(c.take(length, "a map value"))
	}
	return h
}
