// Package bootstrap reads the index of a table that was bootstrapped: which source file holds the data columns of which file group.
//
// A metadata-only bootstrap leaves the data where it was. At the instant 00000000000001 it writes for each source file a
// skeleton, a base file of the five meta columns alone; row i of the skeleton belongs to row i of the source. The index says
// which source that is. It is two HFiles (hudi-common: HFileBootstrapIndex), both of which exist or there is no index:
//
//	.hoodie/.aux/.bootstrap/.partitions/00000000-0000-0000-0000-000000000000-0_1-0-1_00000000000001.hfile
//	    part=<partition>                    HoodieBootstrapPartitionMetadata: bootstrapPartitionPath,
//	                                        fileIdToBootstrapFile: map of file id to HoodieFileStatus
//	.hoodie/.aux/.bootstrap/.fileids/… the same name
//	    part=<partition>;fileid=<file id>   HoodieBootstrapFilePartitionInfo: bootstrapPartitionPath, bootstrapFileStatus
//
// Each value is an Avro container of one record; so is INDEX_INFO in the file info, a HoodieBootstrapIndexInfo. A
// HoodieFileStatus has the length of the source and its path, {uri}, as Hadoop prints it, without escapes:
//
//	file:/data/source/part=p0/part-00000.snappy.parquet
//	s3a://bucket/source/part=p0/part-00000.snappy.parquet
//
// The path is absolute; where the source was moved, what counts is its part below the bootstrap base path.
package bootstrap
