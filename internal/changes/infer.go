package changes

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hudifs/hudifs/internal/fsview"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/timeline"
)

// Kind says how the changes that a write made to a file group are found (hudi-common: HoodieCDCInferenceCase).
type Kind uint8

// The kinds.
const (
	Logged    Kind = iota // AS_IS: change logs have them
	Inserted              // BASE_FILE_INSERT: every row of a base file is new
	Emptied               // BASE_FILE_DELETE: no row of the base file before is left
	Rewritten             // a base file in place of another, which Hudi can't tell anything of
	Appended              // LOG_FILE: a log file on top of a slice
	Removed               // REPLACE_COMMIT: the whole file group is gone
)

func (k Kind) String() string {
	return [...]string{"logged", "inserted", "emptied", "rewritten", "appended", "removed"}[k]
}

// Step is what one write did to one file group.
type Step struct {
	Group   timeline.FileGroup
	Instant string
	Kind    Kind
	// Path is the file that the write made, relative to the table, "" where it is not needed.
	Path string
	// Logs are change logs, relative to the table, in the order in which they were written.
	Logs []string
	// Previous is the instant of the base file that Path took the place of, "" where there was none, or where it is not needed.
	Previous string
	// Base and Earlier are the names of the base file and the log files, the one at Path left out, of the slice that a log file lies on top of.
	Base    string
	Earlier []string
}

// changing are the operations that change rows (hudi-common: WriteOperationType.yieldChanges). Table services only move them.
var changing = map[string]bool{
	"INSERT": true, "UPSERT": true, "UPSERT_PREPPED": true, "DELETE": true, "DELETE_PREPPED": true, "BULK_INSERT": true,
	"DELETE_PARTITION": true, "INSERT_OVERWRITE": true, "INSERT_OVERWRITE_TABLE": true, "BOOTSTRAP": true,
}

// Infer finds out what a write did to each file group that it touched, in a table with a mode of supplemental logging.
func Infer(instant, mode string, m *timeline.CommitMetadata) []Step {
	if !changing[m.OperationType] {
		return nil
	}
	var out []Step
	for _, s := range m.Stats {
		if s.Path == "" {
			continue // a task that wrote nothing
		}
		step := Step{
			Group: timeline.FileGroup{Partition: s.PartitionPath, FileID: s.FileID}, Instant: instant, Path: s.Path,
			Logs: changeLogs(s.CDCStats), Previous: s.PrevCommit,
		}
		step.Kind = kindOf(s, m.OperationType)
		switch {
		case step.Kind == Logged && mode == dataBeforeAfter:
			step.Path, step.Previous = "", ""
		case step.Kind == Logged && mode == dataBefore:
			step.Previous = ""
		case step.Kind == Appended:
			step.Base = s.BaseFile
			step.Earlier = slices.DeleteFunc(slices.Clone(s.LogFiles), func(name string) bool {
				return name == path.Base(s.Path) || strings.HasSuffix(name, changeSuffix)
			})
		}
		out = append(out, step)
	}
	for _, partition := range slices.Sorted(maps.Keys(m.ReplacedFileIDs)) {
		for _, id := range m.ReplacedFileIDs[partition] {
			out = append(out, Step{Group: timeline.FileGroup{Partition: partition, FileID: id}, Instant: instant, Kind: Removed})
		}
	}
	return out
}

const changeSuffix = ".cdc"

func kindOf(s timeline.WriteStat, operation string) Kind {
	_, isBase := fsview.ParseBase(path.Base(s.Path), fsview.Parquet)
	switch {
	case len(s.CDCStats) > 0:
		return Logged
	case !isBase:
		return Appended
	case (operation == "DELETE" || operation == "DELETE_PREPPED") && s.NumWrites == 0 && s.NumDeletes != 0:
		return Emptied
	case s.PrevCommit == "" || s.NumUpdateWrites == 0 && s.NumWrites == s.NumInserts:
		// Of a new group with other counts Hudi says that there should be a change log, but there is nothing that it could have held.
		return Inserted
	}
	return Rewritten
}

// changeLogs orders change logs by their version: Hudi starts the next one where a file gets too long.
func changeLogs(stats map[string]int64) []string {
	version := func(p string) int {
		n, _ := logfile.ParseName(path.Base(p))
		return n.Version
	}
	return slices.SortedFunc(maps.Keys(stats), func(a, b string) int {
		return cmp.Or(cmp.Compare(version(a), version(b)), cmp.Compare(a, b))
	})
}

// Files are the names of all files that the step needs, within its partition.
func (s *Step) Files() []string {
	var out []string
	for _, p := range append([]string{s.Path}, s.Logs...) {
		if p != "" {
			out = append(out, path.Base(p))
		}
	}
	if s.Base != "" {
		out = append(out, s.Base)
	}
	return append(out, s.Earlier...)
}
