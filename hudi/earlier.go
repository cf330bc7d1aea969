package hudi

import (
	"context"
	"slices"
	"time"

	"github.com/hudifs/hudifs/internal/fsview"
	"github.com/hudifs/hudifs/internal/timeline"
)

// Earlier gives views of what Latest was just before each of the writes that completed at since or later, at most n of them: of those in
// which it may have listed a file of a name. Writes that were pending then count as pending, whatever became of them, and their order is that
// in which they completed: for tables up to version 7 their completed files' modification times tell.
//
// They list what is there of those states by now: Complete tells whether that is all. The files themselves are what they were.
//
// The states before a write to the file's group come first, then the others, which matter where the table's schema has
// changed; the newest of each first. A name that is no file's may be in any.
func (t *Table) Earlier(ctx context.Context, since time.Time, name string, n int) ([]*View, error) {
	st := t.current()
	file, isFile := fsview.ParseBase(name, fsview.Parquet)
	if isFile && !st.tl.IsCommitted(file.Instant) {
		return nil, nil
	}
	writes, err := st.tl.Completions(ctx, since, t.opts.Zone)
	if err != nil {
		return nil, class(err)
	}
	if isFile { // before its newest instant had completed it was not there
		if made := slices.IndexFunc(writes, func(w timeline.Instant) bool { return w.Time == file.Instant }); made >= 0 {
			writes = writes[:made]
		}
	}
	var likely, others []int
	for i, w := range writes {
		touched := !isFile
		if isFile {
			if touched, err = st.touches(ctx, w, file.FileID); passing(ctx, err) {
				return nil, class(err)
			}
		}
		if touched || err != nil {
			likely = append(likely, i)
		} else {
			others = append(others, i)
		}
	}
	order := append(likely, others...)
	var out []*View
	for _, i := range order[:min(n, len(order))] {
		past := *st
		past.past, past.tl = true, st.tl.Without(writes[:i+1])
		past.name = stateName(past.tl)
		out = append(out, &View{t: t, st: &past, query: Latest(), scope: &scope{newest: newestOf(past.tl.CompletedWrites())}})
	}
	return out, nil
}

// touches tells whether a write changed a file group or took it out of the table.
func (st *state) touches(ctx context.Context, write timeline.Instant, fileID string) (bool, error) {
	m, err := st.tl.Commit(ctx, write)
	if err != nil {
		return false, err
	}
	for _, s := range m.Stats {
		if s.FileID == fileID {
			return true, nil
		}
	}
	for _, ids := range m.ReplacedFileIDs {
		if slices.Contains(ids, fileID) {
			return true, nil
		}
	}
	return false, nil
}

// Complete is ErrCleaned where files of a view that Earlier gave have been removed since, so that it does not list them. All other views
// list all or nothing.
func (v *View) Complete(ctx context.Context) error {
	if _, err := v.load(ctx); err != nil || v.complete == nil {
		return err
	}
	return class(v.complete(ctx))
}
