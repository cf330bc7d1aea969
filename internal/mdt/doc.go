// Package mdt reads the metadata table that Hudi keeps below a table, at .hoodie/metadata: which partitions the table has, which files
// lie in them, and what the columns of its base files hold. It saves listing folders, which takes long on an object store.
//
// The metadata table is a merge-on-read table of its own, with a timeline of its own. Its base files and most blocks of its
// log files are HFiles; a record is a key and an Avro record, HoodieMetadataRecord, whose key field is left empty. What is
// read of its partitions (hudi-common: MetadataPartitionType, HoodieMetadataPayload):
//
//	partition     key                   type  record
//	files         __all_partitions__       1  map of partition to {size 0, isDeleted}; "." is the table without partitions
//	files         a partition, or "."      2  map of file name to {size, isDeleted}
//	column_stats  three hashes             3  file name, column, least and greatest value, counts
//
// # Which records count
//
// A write to a table commits to the metadata table first, so a completed instant here may be one that is still pending there, or failed.
// The data table's timeline decides: an instant counts if it has completed on the data timeline; or if it has completed here and is
// not pending there, as those of the metadata table's own services; or if the data table has rolled it back, for then the
// rollback has taken its files out again (hudi-common: HoodieTableMetadataUtil.getValidInstantTimestamps).
//
// Records of one key are merged in the order of their writing. A file that is named again has the greater of both sizes, as log files only
// grow; one that is marked deleted goes. A worked example, with the records of the partition p:
//
//	base file       p  {a_1.parquet: 100, .a_1.log.1: 20}
//	log, instant 2  p  {.a_1.log.1: 35}
//	log, instant 3  p  {a_3.parquet: 130}
//	log, instant 4  p  {a_1.parquet: deleted, .a_1.log.1: deleted}     the cleaner
//	result          p  {a_3.parquet: 130}
//
// # When it is used
//
// Whether there is a metadata table is for the property hoodie.table.metadata.partitions to say: a folder that it does not
// name was switched off, and is out of date. One that lacks a write of the data table's timeline is out of date too: another writer had it
// switched off (Hudi would read it, and miss that write's files). Whatever goes wrong with the table is ErrUnavailable, and no harm: listing
// folders gives the same files.
package mdt
