package timeline

import (
	"context"
	"encoding/binary"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/hudifs/hudifs/internal/avro"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/storage"
)

// archive is the archived timeline: completed instants only, in the order of Instant.compare, each once.
type archive struct {
	instants []Instant
}

// maxArchived bounds the instants of an archived timeline, which take some 250 bytes of memory each: a write a minute makes as many in
// four years.
const maxArchived = 1 << 21

// add adds an instant that a file has.
func (a *archive) add(file string, in Instant) error {
	switch {
	case !isTime(in.Time) || in.CompletionTime != "" && !isTime(in.CompletionTime):
		return corruptf(file, -1, "expected the times of an instant, found %.80q and %.80q", in.Time, in.CompletionTime)
	case len(a.instants) == maxArchived:
		return unsupportedf(file, "an archived timeline of more than %d instants", maxArchived)
	}
	a.instants = append(a.instants, in)
	return nil
}

// archivePosition is where an archived instant's record lies.
type archivePosition struct {
	file   string
	offset int64      // layout 1: of the record, in bytes; layout 2: the row
	length int64      // layout 1
	schema *avro.Type // layout 1
}

// History returns the completed instants of the archived and the active timeline as one, in order. An instant that is in
// both, as after an archiving that was interrupted, is the active one. The archive is read once for a Timeline. The slice is shared:
// callers must not change it.
func (t *Timeline) History(ctx context.Context) ([]Instant, error) {
	return t.history.Get(ctx, func(ctx context.Context) ([]Instant, error) {
		a, err := t.archive.Get(ctx, t.loadArchive)
		if err != nil {
			return nil, err
		}
		completed := t.filter(func(in Instant) bool { return in.State == Completed })
		for _, in := range a.instants {
			if !t.undone[in.Time] {
				completed = append(completed, in)
			}
		}
		return unique(completed), nil
	})
}

// unique sorts instants and keeps the first of several that are the same.
func unique(instants []Instant) []Instant {
	slices.SortStableFunc(instants, Instant.compare)
	return slices.CompactFunc(instants, func(a, b Instant) bool { return a.compare(b) == 0 })
}

// archivedCompletion looks a committed instant of layout 2 up in the history. An instant that a history which goes back
// further does not know was rolled back; one from before its beginning has been forgotten, and counts as completed when it
// was requested.
func (t *Timeline) archivedCompletion(ctx context.Context, i string) (completed string, ok bool, err error) {
	a, err := t.archive.Get(ctx, t.loadArchive)
	if err != nil {
		return "", false, err
	}
	at, _ := slices.BinarySearchFunc(a.instants, i, func(in Instant, i string) int { return strings.Compare(in.Time, i) })
	for _, in := range a.instants[at:] {
		if in.Time != i {
			break
		}
		if in.completedWrite() {
			return in.CompletionTime, true, nil
		}
	}
	if at == 0 {
		return i, true, nil
	}
	return "", false, nil
}

func (t *Timeline) loadArchive(ctx context.Context) (*archive, error) {
	if t.config.Layout == 1 {
		return t.loadArchiveLogs(ctx)
	}
	return t.loadHistory(ctx)
}

func (t *Timeline) readArchived(ctx context.Context, in Instant, state State) (content, error) {
	if state != Completed {
		return content{}, unsupportedf(in.at.file, "the plan of archived instant %s", in.Time)
	}
	if in.at.schema != nil {
		return t.readArchiveEntry(ctx, in)
	}
	return t.readHistoryRow(ctx, in)
}

// loadArchiveLogs reads the archive of layout 1: log files whose Avro data blocks hold entries, one for each state of an
// instant. Torn blocks are passed, as Hudi does: what a writer was archiving when it died is still active, or was
// archived again.
func (t *Timeline) loadArchiveLogs(ctx context.Context) (*archive, error) {
	entries, err := t.store.List(ctx, t.config.ArchivePath)
	if err != nil && !errors.Is(err, storage.ErrNotExist) {
		return nil, err
	}
	a := &archive{}
	for _, e := range entries {
		name, ok := logfile.ParseName(e.Name)
		if e.Dir || !ok || name.FileID != "commits" || name.Ext != "archive" {
			continue
		}
		before := len(a.instants)
		err := t.archiveLog(ctx, path.Join(t.config.ArchivePath, e.Name), a)
		if errors.Is(err, ErrCorrupt) && t.beingMerged(ctx, e.Name) {
			a.instants = a.instants[:before]
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	a.instants = unique(a.instants)
	return a, nil
}

// beingMerged says whether an archive file is the one into which a running merge copies others (hudi-client-common:
// TimelineArchiverV1): those others are still there, so a half written copy may be left out.
func (t *Timeline) beingMerged(ctx context.Context, name string) bool {
	file := path.Join(t.config.ArchivePath, "mergeArchivePlan")
	data, err := storage.ReadFile(ctx, t.store, file, maxInstantFile)
	if err != nil {
		return false
	}
	plan, err := t.sniff(file, data, nil)
	if err != nil {
		return false
	}
	f := &fields{file: file}
	return path.Base(f.str(plan.rec, "mergedArchiveFileName")) == name
}

// archiveLog adds the instants of an archive file.
func (t *Timeline) archiveLog(ctx context.Context, file string, a *archive) error {
	o, err := t.store.Open(ctx, file)
	if err != nil {
		return err
	}
	defer func() { _ = o.Close() }()
	log, err := logfile.Scan(storage.ReaderAt(ctx, o), o.Size())
	if err != nil {
		return logError(file, err)
	}
	for i := range log.Blocks {
		b := &log.Blocks[i]
		if b.Type != logfile.AvroData {
			continue
		}
		schema, err := t.memo.schemas.Parse(b.Offset, b.Schema())
		if err != nil {
			return avroError(file, err)
		}
		if schema.Kind != avro.Struct {
			return corruptf(file, b.Offset, "expected a record schema")
		}
		if b.ContentLength > maxInstantFile {
			return corruptf(file, b.Offset, "expected a block of at most %d bytes, found %d", maxInstantFile, b.ContentLength)
		}
		data := make([]byte, b.ContentLength)
		if err := readAt(ctx, o, file, data, b.ContentOffset); err != nil {
			return err
		}
		if err := archiveBlock(file, b.ContentOffset, data, schema, a); err != nil {
			return err
		}
	}
	return nil
}

func logError(file string, err error) error {
	if errors.Is(err, logfile.ErrCorrupt) {
		return corruptf(file, -1, "%v", err)
	}
	return err
}

func readAt(ctx context.Context, o storage.Object, file string, p []byte, off int64) error {
	if n, err := o.ReadAt(ctx, p, off); n < len(p) {
		if err == nil || off+int64(len(p)) > o.Size() {
			return corruptf(file, off+int64(n), "expected %d more bytes", len(p)-n)
		}
		return err
	}
	return nil
}

// archiveBlock adds the completed instants of one block's content:
//
//	int32 version | int32 count | count times: int32 length, Avro datum
func archiveBlock(file string, base int64, data []byte, schema *avro.Type, a *archive) error {
	r := avro.NewReader(base, data)
	int32At := func(what string) int64 {
		b := r.Take(4, what)
		if b == nil {
			return 0
		}
		return int64(int32(binary.BigEndian.Uint32(b)))
	}
	int32At("the block version")
	for n := int32At("the record count"); n > 0 && r.Err() == nil; n-- {
		length := int32At("a record length")
		at := archivePosition{file: file, offset: r.Offset(), length: length, schema: schema}
		datum := r.Take(length, "a record")
		if r.Err() != nil {
			break
		}
		in, ok, err := archiveEntry(at, datum)
		if err == nil && ok {
			err = a.add(file, in)
		}
		if err != nil {
			return err
		}
	}
	return avroError(file, r.Err())
}

// archiveEntry reads one HoodieArchivedMetaEntry; ok is false where it is not about a completed instant.
func archiveEntry(at archivePosition, datum []byte) (in Instant, ok bool, err error) {
	r := avro.NewReader(at.offset, datum)
	rec := r.Record(at.schema, "commitTime", "actionType", "actionState")
	if r.Err() != nil {
		return Instant{}, false, avroError(at.file, r.Err())
	}
	f := &fields{file: at.file}
	state := f.str(rec, "actionState")
	in = Instant{Time: f.str(rec, "commitTime"), Action: Action(f.str(rec, "actionType")), State: Completed, Archived: true, at: at}
	in.CompletionTime = in.Time
	// Very old entries have no state: only completed instants were archived then.
	return in, in.Action.known() && in.Time != "" && (state == "" || strings.EqualFold(state, "COMPLETED")), f.err
}

// archivedFields has the field of an archive entry that holds what a completed instant recorded.
var archivedFields = map[Action]string{
	ActionCommit:        "hoodieCommitMetadata",
	ActionDeltaCommit:   "hoodieCommitMetadata",
	ActionReplaceCommit: "hoodieReplaceCommitMetadata",
	ActionClean:         "hoodieCleanMetadata",
	ActionRollback:      "hoodieRollbackMetadata",
	ActionSavepoint:     "hoodieSavePointMetadata",
	ActionIndexing:      "hoodieIndexCommitMetadata",
}

func (t *Timeline) readArchiveEntry(ctx context.Context, in Instant) (content, error) {
	field, ok := archivedFields[in.Action.comparable()]
	if !ok {
		return content{}, unsupportedf(in.at.file, "what archived %s %s recorded", in.Action, in.Time)
	}
	o, err := t.store.Open(ctx, in.at.file)
	if err != nil {
		return content{}, err
	}
	defer func() { _ = o.Close() }()
	if in.at.length > o.Size() {
		return content{}, corruptf(in.at.file, in.at.offset, "expected a record of %d bytes", in.at.length)
	}
	datum := make([]byte, in.at.length)
	if err := readAt(ctx, o, in.at.file, datum, in.at.offset); err != nil {
		return content{}, err
	}
	r := avro.NewReader(in.at.offset, datum)
	rec := r.Record(in.at.schema, field)
	if r.Err() != nil {
		return content{}, avroError(in.at.file, r.Err())
	}
	f := &fields{file: in.at.file}
	return content{file: in.at.file, rec: f.get(rec, field)}, nil
}
