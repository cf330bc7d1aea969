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
// A rollback block, whole:
//
//	00  23 48 55 44 49 23         magic
//	06  00 00 00 00 00 00 00 4c   76 bytes follow: the block ends at 0x0e + 0x4c = 0x5a
//	0e  00 00 00 01               format version 1
//	12  00 00 00 00               block type 0, a command
//	16  00 00 00 03               header of three entries
//	1a    00 00 00 00 00 00 00 03 "003"    key 0, the instant of the rollback
//	25    00 00 00 01 00 00 00 11 "20261130002208095"    key 1, the instant that is rolled back
//	3e    00 00 00 03 00 00 00 01 "0"      key 3, the command: 0, roll back
//	47  (here the sizes are made up to be short; testdata/blocks.txt has real blocks, byte for byte)
package logfile
