// Package pqfile reads and writes Parquet files by row group and column chunk: footers, pages, deterministic writing, size
// bounds. It knows nothing of Hudi.
//
// A file, with the widths of its parts in bytes (all numbers little-endian; structures are thrift's compact protocol):
//
//	+------+-------------------------+-------------------+-----+------+-------------+------+------+
//	| PAR1 | column chunk            | column chunk      | ... | hole | FileMeta-   | its  | PAR1 |
//	|      | of the first column     | of the second     |     |      | Data        | size |      |
//	+------+-------------------------+-------------------+-----+------+-------------+------+------+
//	   4     Chunk.Size                                           any    size           4      4
//
//	column chunk:  [dictionary page]  data page  data page ...
//	page:          PageHeader, then CompressedPageSize bytes, which decompress to UncompressedPageSize ones
//
//	data page, version 1:  +------+----------------+------+----------------+--------+
//	(compressed as one)    | size | rep. levels    | size | def. levels    | values |
//	                       +------+----------------+------+----------------+--------+
//	                          4     size              4     size             the rest
//
//	data page, version 2:  repetition and definition levels come first, uncompressed and without sizes, which the header has
//	dictionary page:       values in PLAIN encoding
//
// Levels are left out where they can only be 0. They are in the RLE/bit-packed hybrid: runs that begin with a varint, of
// which the lowest bit tells their kind:
//
//	count<<1      value: (width+7)/8     the value, count times
//	groups<<1|1   groups*width           8*groups values of width bits each
//
// Values of a data page are PLAIN (fixed widths as they are, booleans as bits, byte arrays after four bytes of their length), or
// numbers of dictionary entries: a byte with their width in bits, then a hybrid. Other encodings are read but not written.
//
// Worked example: one optional column s of text, uncompressed, with the rows "a", null, "bc":
//
//	00  50 41 52 31           PAR1
//	04  15 00 15 2a 15 2a     data page of 21 bytes, uncompressed 21
//	0a  15 99 d8 d3 b1 08     its CRC-32
//	10  1c 15 06 15 00        of 3 entries, PLAIN,
//	15  15 06 15 06           levels in RLE,
//	19  1c 36 02 00 00 00     one of them null
//	1f  06 00 00 00           6 bytes of definition levels:
//	23  02 01 02 00 02 01     once 1, once 0, once 1
//	29  01 00 00 00 61        "a"
//	2e  02 00 00 00 62 63     "bc"
//	34  15 02 19 2c ...       FileMetaData
//	b7  83 00 00 00           of 131 bytes
//	bb  50 41 52 31           PAR1
//
// # Reading
//
// A ChunkReader walks the pages of a chunk. It holds one page, decoded, and reads ahead 1 MiB. Every page it returns is a run of
// whole rows, though version 1 pages may be cut within a row. Nothing in a file is believed: an offset or length is compared
// with what there is before it is used, counts with what their bytes can hold before they are allocated, and what a chunk held
// with the footer when it ends. Damage is ErrCorrupt, with the offset.
//
// # Writing
//
// The same pages make the same bytes, on every machine. A chunk is written without knowing where it will lie, so columns can be
// written apart from each other. What readers demand beyond the format, and Footer sees to: the first column is the first in its
// row group (Spark drops others), no row group is empty, every column has an order (pyarrow), null counts are
// exact (ClickHouse trusts them, fastparquet makes floats of integers without them), created_by can be parsed (parquet-mr ignores
// statistics else), minima and maxima are never too narrow: of text they say so where they are not exact, of numbers there are none then (DataFusion
// answers min and max by them), nor without a number of nulls (which it takes for none).
//
// # Editing
//
// Pages of a flat column need not be decoded to be changed: NextEncoded reads a page as it lies there, and Splice writes it with some rows replaced or left
// out. Values in PLAIN encoding are copied in runs, dictionary indexes patched; new values stand behind the old ones in the dictionary, so that
// pages which refer to those stay valid. A page that nothing changes is not even decompressed where the chunk keeps the codec: its body is copied behind
// a header of our own. Its size is known from its header alone then, which no checksum covers, so the footer's sum over the chunk must agree.
//
// # Regions
//
// A chunk may also be written into a Region, a part of the file that was set aside for it. The last page (and the dictionary page) then
// fills what is left with a frame that Zstandard's decoders skip:
//
//	+------------+--------+--------------------------+-----+-------------+-------------------------+--------+
//	| PageHeader | frame  | 184D2A50, size, hole     | ... | PageHeader, | 184D2A50, size, hole    | footer |
//	| dictionary |        | to Region.Dictionary     |     | last page   | to Region.Size          |        |
//	+------------+--------+--------------------------+-----+-------------+-------------------------+--------+
//
// A region has the room that pages take decompressed, so those that are not copied are stored: to compress them would cost more than it saves.
//
// The footer can be made before any of its chunks, and each chunk when it is read. It knows less then: no null count where that depends on
// rows that were not read, no minimum and maximum of columns with records in the log that were not decoded.
//
// # The promise
//
// A file's size is promised before it is written: the sum of len(Head), a bound for each chunk, and FooterBound. Finish puts the
// footer at the end of exactly that many bytes; what is left between is a hole. The bounds hold because every page stays a page of the same
// kind: its values take what the footer says of them or a known width each, levels and indexes what the encoder takes at worst, and no
// codec more than codecBound, since what does not compress is stored.
package pqfile
