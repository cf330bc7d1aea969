// Package timeline reads what a Hudi table says about itself: its configuration (hoodie.properties), its instants, active
// and archived, and what each of them recorded. It knows no data files: which of those exist is for internal/fsview.
//
// # The active timeline
//
// An instant is an action that was requested at some time. Each state that it passes leaves one file, which is written once
// and stays (hudi-common: HoodieInstant, InstantFileNameGeneratorV1 and V2). T is the requested time, C the completion
// time:
//
//	                       layout 1 (up to table version 7)     layout 2 (from version 8)
//	folder                 .hoodie                              .hoodie/timeline
//	commit, requested      T.commit.requested                   T.commit.requested
//	commit, inflight       T.inflight                           T.inflight
//	commit, completed      T.commit                             T_C.commit
//	others, requested      T.<action>.requested                 T.<action>.requested
//	others, inflight       T.<action>.inflight                  T.<action>.inflight
//	others, completed      T.<action>                           T_C.<action>
//	compaction completes   T.commit                             T_C.commit
//	log compaction         T.deltacommit                        T_C.deltacommit
//	clustering             T.replacecommit                      T_C.replacecommit
//
// A worked example of layout 2. The folder holds
//
//	20261130010000000.deltacommit.requested
//	20261130010000000.deltacommit.inflight
//	20261130010000000_20261130010001500.deltacommit
//	20261130010100000.compaction.requested
//	20261130010100000.compaction.inflight
//	20261130010100000_20261130010102000.commit
//	20261130010200000.deltacommit.requested
//
// which is three instants: a deltacommit that completed at 01:00:01.5, a compaction that completed as a commit at 01:01:02,
// and a deltacommit that is requested. Data files of the third are not committed; an as-of query from its time on has to
// wait for it.
//
// Layout 1 records no completion time. Hudi 1.x takes the modification time of the completed file, which a copy of the
// table destroys; here an instant of layout 1 completes when it is requested, as it did for Hudi 0.x. Only who asks what a table
// was like a while ago (Completions) gets modification times for want of better.
//
// # What an instant file holds
//
// The first bytes decide: '{' is JSON (commits up to version 7), "Obj\x01" an Avro object container with one record (all
// others; internal/avro draws it), and an empty file says nothing, legally. Records are read by field name with the schema that
// they bring along: fields come and go between releases.
//
// # The archived timeline
//
// Old instants move out of the active timeline. Layout 1 keeps them in log files (package logfile describes the frames):
//
//	.hoodie/archived/.commits_.archive.<n>_<write token>
//	  block of Avro data, SCHEMA in its header:  int32 version | int32 count | (int32 length | HoodieArchivedMetaEntry)*
//
// with one entry for each state of an instant. Layout 2 keeps Parquet files, and a manifest that says which of them count:
//
//	.hoodie/timeline/history/_version_                   "22"
//	.hoodie/timeline/history/manifest_22                 {"files":[{"fileName":"…_0.parquet","fileLen":11775}, …]}
//	.hoodie/timeline/history/<min>_<max>_<level>.parquet instantTime, completionTime, action, metadata, plan, version
//
// # Damage
//
// Nothing is believed: lengths are held against the bytes that are there, and what is wrong is a CorruptError with the
// file and the offset. It is an error only for those who ask: a damaged first commit does not harm the latest snapshot.
package timeline
