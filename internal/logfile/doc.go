// Package logfile reads the log files of merge-on-read tables: where their blocks lie, what their headers say, and the
// records and deletes in them. It knows nothing of timelines: which blocks count, and whether damage is refused or
// skipped, is for its callers to decide.
//
// A log file has no header; it is blocks, one behind the other. All numbers are big-endian.
//
//	bytes  field
//	    6  magic, "#HUDI#"
//	    8  block size: the bytes from here to the end of the block (Hudi heeds the low 4 of these 8 bytes only)
//	    4  format version, 1
//	    4  block type
//	    v  header: a map
//	    8  content length (again, the low 4 bytes count)
//	    n  content
//	    v  footer: a map, always empty
//	    8  total length: block size + 6
//
//	map    4 count, then for each entry: 4 key, 4 length, the value's text
//
// A rollback block as Hudi wrote it; testdata/blocks.txt explains a delete block too:
//
//	00  23 48 55 44 49 23                                magic
//	06  00 00 00 00 00 00 00 5b                          91 bytes follow: the block ends at 0x0e + 0x5b = 0x69
//	0e  00 00 00 01                                      format version 1
//	12  00 00 00 00                                      block type 0: a command
//	16  00 00 00 03                                      header: three entries
//	1a  00 00 00 00 00 00 00 11                          key 0, the instant that wrote the block; 17 bytes
//	22  32 30 32 35 30 31 32 36 30 34 30 39 33 36 35 37  20250126040936578
//	32  38
//	33  00 00 00 03 00 00 00 01                          key 3, the command; 1 byte
//	3b  30                                               0: roll back
//	3c  00 00 00 01 00 00 00 11                          key 1, the instant that is rolled back; 17 bytes
//	44  32 30 32 35 30 31 32 36 30 34 30 38 32 36 38 37  20250126040826878
//	54  38
//	55  00 00 00 00 00 00 00 00                          no content
//	5d  00 00 00 00                                      footer: no entries
//	61  00 00 00 00 00 00 00 61                          total length: 0x5b and the 6 bytes of the magic
package logfile
