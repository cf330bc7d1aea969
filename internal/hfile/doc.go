// Package hfile reads HFile v3, the sorted key-value files in which Hudi keeps its metadata table and its bootstrap index.
// Those of releases 0.x and 1.0 were written through HBase, those of 1.1 by a writer of Hudi's own; they differ in small
// things, which are noted below. Sources: HBase's HFileWriterImpl, HFileBlock and FixedFileTrailer; hudi-io's
// HFileWriterImpl and HFileReaderImpl.
//
//	data blocks, and leaf index blocks between them
//	meta blocks, intermediate index blocks
//	load-on-open section: root index of the data | root index of the meta blocks | file info | bloom filter's meta
//	trailer
//
// All numbers are big-endian. A block, of whatever kind:
//
//	bytes  field
//	    8  magic: DATABLK* data, IDXLEAF2, IDXINTE2 and IDXROOT2 index, METABLKc meta, FILEINF2 file info
//	    4  bytes that follow the 33 of this header, checksums included
//	    4  size of the payload when it is decompressed
//	    8  offset of the block before, of the same kind; -1 for none
//	    1  checksums: 0 none (Hudi's writer), 1 CRC32, 2 CRC32C (HBase)
//	    4  bytes that each checksum is of, 16384
//	    4  bytes of header and payload, without checksums
//	    n  payload; with a codec, one compressed stream in every kind of block
//	  4*m  checksums of header and payload, for each 16384 bytes of them; zeros where there are none
//
// The payload of a data block is entries, ascending by the bytes of their row; equal rows keep the order of writing:
//
//	4  key length
//	4  value length
//	k  key
//	v  value
//	v  a Hadoop vlong, 0, where the file info has KEY_VALUE_VERSION 1
//
// A key is a cell of HBase, in which nothing but the row matters:
//
//	2  row length
//	r  row: the key of the record
//	1  family length, 0
//	8  timestamp, the greatest
//	1  type, 4
//
// The payload of a root index has for each block below: 8 offset, 4 size with its header, a number that is the key's length,
// and the key. HBase writes a Hadoop vint and a cell's key; Hudi's own writer a protobuf varint, and only the row with its
// length. The two numbers agree up to 127. Leaf and intermediate indexes have 4 count n, 4 each for n+1 offsets from their
// end on, and then for each block 8 offset, 4 size, and the key.
//
// The payload of the file info is "PBUF", a varint, and a protobuf message of that length: pairs of bytes. The trailer is the last
// 4096 bytes: "TRABLK\"$", a varint, a protobuf message of that length, zeros, and in the last four bytes the version.
//
// A data block as Hudi 1.1 wrote it (testdata/native_none.hfile):
//
//	00  44 41 54 41 42 4c 4b 2a                          magic, DATABLK*
//	08  00 00 03 c6                                      966 bytes follow: the next block begins at 0x21 + 0x3c6 = 0x3e7
//	0c  00 00 03 c2                                      962 bytes of payload
//	10  ff ff ff ff ff ff ff ff                          no block before
//	18  00  00 00 40 00                                  no checksums, but room for one of each 16384 bytes
//	1d  00 00 03 e3                                      33 + 962 bytes, so the last 4 are checksums
//	21  00 00 00 14  00 00 00 08                         key of 20 bytes, value of 8
//	29  00 08  6b 65 79 30 30 30 30 30                   row of 8 bytes: key00000
//	33  00                                               no family
//	34  7f ff ff ff ff ff ff ff  04                      newest, put
//	3d  76 61 6c 75 65 20 30 20                          the value
//	45  00                                               memstore timestamp 0
package hfile
