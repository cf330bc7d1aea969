package timeline

import (
	"cmp"
	"strings"
	"time"

	"github.com/hudifs/hudifs/storage"
)

// Action is what an instant did to the table (hudi-common: HoodieTimeline).
type Action string

// The actions of a timeline, as file names spell them.
const (
	ActionCommit        Action = "commit"
	ActionDeltaCommit   Action = "deltacommit"
	ActionReplaceCommit Action = "replacecommit"
	ActionCompaction    Action = "compaction"
	ActionLogCompaction Action = "logcompaction"
	ActionClustering    Action = "clustering"
	ActionClean         Action = "clean"
	ActionRollback      Action = "rollback"
	ActionRestore       Action = "restore"
	ActionSavepoint     Action = "savepoint"
	ActionIndexing      Action = "indexing"
)

// comparable maps a table service onto the action it completes as (hudi-common: InstantComparatorV1 and V2). Without that
// map a finished compaction would look pending for ever.
func (a Action) comparable() Action {
	switch a {
	case ActionCompaction:
		return ActionCommit
	case ActionLogCompaction:
		return ActionDeltaCommit
	case ActionClustering:
		return ActionReplaceCommit
	default:
		return a
	}
}

func (a Action) known() bool {
	switch a {
	case ActionCommit, ActionDeltaCommit, ActionReplaceCommit, ActionCompaction, ActionLogCompaction, ActionClustering,
		ActionClean, ActionRollback, ActionRestore, ActionSavepoint, ActionIndexing:
		return true
	default:
		return false
	}
}

// writes says whether instants of the action add, replace or rewrite data.
func (a Action) writes() bool {
	switch a.comparable() {
	case ActionCommit, ActionDeltaCommit, ActionReplaceCommit:
		return true
	default:
		return false
	}
}

// State is how far an instant has come.
type State uint8

// The states in the order in which an instant passes them.
const (
	Requested State = iota
	Inflight
	Completed
)

func (s State) String() string { return [...]string{"requested", "inflight", "completed"}[s] }

// Instant is one action on the timeline. Its times are strings that compare as strings, byte by byte: most are 17 digits
// (yyyyMMddHHmmssSSS), old ones 14, and some are no dates at all. They are never converted for a comparison.
type Instant struct {
	Time   string // when it was requested: the instant's name
	Action Action // of its newest state: a compaction that has completed is a commit
	State  State
	// CompletionTime is "" while the instant is pending. Layout 1 records none (modification times do not survive a
	// copy), so there it equals Time; see Completions.
	CompletionTime string
	// Planned is the action that the instant was requested as, where that is known: it tells a completed compaction,
	// log compaction or (on layout 2) clustering from an ordinary write.
	Planned  Action
	Archived bool

	files *[3]instantFile // by state; nil for an archived instant, and shared by copies
	at    archivePosition
}

type instantFile struct {
	name    string // "" where the state has no file
	size    int64
	modTime time.Time
}

// file is the file that a state has left.
func (in Instant) file(s State) instantFile {
	if in.files == nil {
		return instantFile{}
	}
	return in.files[s]
}

// compare orders instants as the timeline does: by time, then comparable action.
func (in Instant) compare(other Instant) int {
	return cmp.Or(strings.Compare(in.Time, other.Time),
		strings.Compare(string(in.Action.comparable()), string(other.Action.comparable())))
}

func (in Instant) completedWrite() bool { return in.State == Completed && in.Action.writes() }

// parseInstantName reads the name of an instant's file:
//
//	digits [ "_" digits ] "." word [ "." word ]
//
// Names of another form, and actions that are not known, are files that do not belong to the timeline.
func parseInstantName(name string, layout int) (Instant, bool) {
	times, words, ok := strings.Cut(name, ".")
	if !ok {
		return Instant{}, false
	}
	requested, completed, hasCompletion := strings.Cut(times, "_")
	if !isTime(requested) || hasCompletion && !isTime(completed) {
		return Instant{}, false
	}
	action, state, hasState := strings.Cut(words, ".")
	in := Instant{Time: requested, Action: Action(action), State: Completed, CompletionTime: completed}
	switch {
	case action == "inflight" && !hasState:
		in.Action, in.State = ActionCommit, Inflight
	case state == "requested":
		in.State = Requested
	case state == "inflight":
		in.State = Inflight
	case hasState:
		return Instant{}, false
	}
	if !in.Action.known() || hasCompletion && (layout == 1 || in.State != Completed) {
		return Instant{}, false
	}
	if layout == 1 && in.State == Completed {
		in.CompletionTime = in.Time
	}
	return in, true
}

// instantOf makes an instant of one line of a listing. A completed file of layout 2 that has no completion time in its name
// comes from a pre-release or an interrupted upgrade; Hudi too then takes the modification time.
func instantOf(e storage.Entry, layout int) (Instant, bool) {
	in, ok := parseInstantName(e.Name, layout)
	if !ok || e.Dir {
		return Instant{}, false
	}
	if in.State == Completed && in.CompletionTime == "" {
		in.CompletionTime = FormatTime(e.ModTime, time.UTC)
	}
	in.files = new([3]instantFile)
	in.files[in.State] = instantFile{name: e.Name, size: e.Size, modTime: e.ModTime}
	if in.State != Completed {
		in.Planned = in.Action
	}
	return in, true
}

// with returns the instant together with what another of its files says.
func (in Instant) with(other Instant) Instant {
	files := *in.files
	for state, file := range other.files {
		if file.name != "" {
			files[state] = file
		}
	}
	in.files = &files
	// The requested file names the action more precisely than the inflight one of a commit does.
	if other.Planned != "" && (in.Planned == "" || other.State == Requested) {
		in.Planned = other.Planned
	}
	if other.State >= in.State {
		in.Action, in.State, in.CompletionTime = other.Action, other.State, other.CompletionTime
	}
	return in
}

// isTime tells whether a text can be a time of an instant. Those of metadata tables have up to 20 digits.
func isTime(s string) bool {
	const longest = 64
	return len(s) <= longest && digits(s)
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
