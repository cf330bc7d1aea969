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
// A data block of a bootstrap index that Hudi 1.1 wrote (testdata/bootstrap.hfile):
//
//	00  44 41 54 41 42 4c 4b 2a                          magic, DATABLK*
//	08  00 00 1a ef                                      6895 bytes follow: the next block begins at 0x1b10
//	0c  00 00 1a eb                                      6891 bytes of payload, not compressed
//	10  ff ff ff ff ff ff ff ff                          no block before
//	18  00 00 00 40 00                                   no checksums, but room for one of each 16384 bytes
//	1d  00 00 1b 0c                                      33 + 6891: so 4 bytes for checksums
//	21  00 00 00 18  00 00 08 d8                         key of 24 bytes, value of 2264
//	29  00 0c                                            row of 12 bytes
//	2b  70 61 72 74 3d 70 61 72 74 3d 70 30              part=part=p0
//	37  00                                               no family
//	38  7f ff ff ff ff ff ff ff  04                      newest, put
//	41  4f 62 6a 01 …                                    value: an Avro container
package hfile
