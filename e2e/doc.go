// Package e2e tests hudifs from outside: it runs the built binary on real
// tables, through real mounts, with the engines that people read Parquet with.
// It imports nothing else of this module.
//
// The tables are those of ../testdata and, where it lies beside the
// repository, the larger collection ../../shared/corpus: each with the answers
// that Hudi itself gave for every view. Python (compare.py, one process for many
// questions) reads the views and compares; the Go side unpacks, mounts, asks and
// judges.
//
// With CI=true an engine or a FUSE that is missing fails the tests; elsewhere it
// skips them. HUDIFS_BIN names the binary to test; without it one is built.
package e2e
