// Package avro decodes the metadata that Hudi writes in Avro: commit files, records of the metadata table, the bootstrap
// index. The records of data blocks have a decoder of their own, in internal/logfile: they are many, and go into columns.
//
// Records are read with the schema that they bring along, and their fields by name, as fields come and go between releases.
// Nothing is believed: goavro, against which the tests hold this decoder, allocates for the number of items that an array
// claims, runs out of stack on a record that holds itself, and names no offset.
//
// An object container file:
//
//	"Obj" 0x01 | map of string to bytes: avro.schema, avro.codec | 16 bytes sync marker
//	then blocks: long count | long size | size bytes of records | 16 bytes sync marker
//
// A worked example:
//
//	4f 62 6a 01                                "Obj" 1
//	02                                         a map block of one entry (numbers are zigzag varints)
//	16 "avro.schema"  e0 05 {"type":"record"…  key of 11 bytes, value of 368 bytes
//	00                                         end of the map
//	16 bytes                                   sync marker, random
//	02  8a 02                                  one record, 133 bytes
//	133 bytes                                  the record
//	16 bytes                                   the sync marker again
package avro
