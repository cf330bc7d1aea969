package hudi

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/timeline"
	"github.com/hudifs/hudifs/storage"
)

const (
	schemaFolder = ".hoodie/.schema"
	schemaSuffix = ".schemacommit"
	maxSchemas   = 64 << 20
)

// evolution is the history of a table with schema-on-read evolution, as a view sees it; nil for tables without. Columns of a file
// are found by their ids: those of the schema that was in force when it was written, under the names of the view's schema
// (hudi-common: InternalSchemaUtils, SerDeHelper).
type evolution struct {
	history []*schema.Internal
	query   *schema.Internal
}

// names are those that the columns of a file or block of an instant have in the view; nil where they are as written.
func (e *evolution) names(instant string) *schema.Renaming {
	if e == nil {
		return nil
	}
	file := e.at(instant)
	if file == nil || file == e.query {
		return nil
	}
	return &schema.Renaming{File: file, Query: e.query}
}

// at is the schema that was in force at an instant: the newest one that is not younger, or the oldest of all.
func (e *evolution) at(instant string) *schema.Internal {
	t, err := strconv.ParseInt(instant, 10, 64)
	if err != nil {
		return nil
	}
	var best, oldest *schema.Internal
	for _, s := range e.history {
		if s.Version <= t && (best == nil || s.Version > best.Version) {
			best = s
		}
		if oldest == nil || s.Version < oldest.Version {
			oldest = s
		}
	}
	if best == nil {
		return oldest
	}
	return best
}

// evolution reads the schema history, where the commit that states the view's schema has ids for its columns.
func (v *View) evolution(ctx context.Context, source string) (*evolution, error) {
	commit, err := v.stating(ctx, source)
	if err != nil || commit == nil || commit.LatestSchema() == "" {
		return nil, err
	}
	latest, err := schema.ParseInternal(commit.LatestSchema())
	if err != nil {
		return nil, fmt.Errorf("commit %s: %w", source, err)
	}
	e := &evolution{query: latest}
	if e.history, err = v.schemaHistory(ctx); err != nil {
		return nil, err
	}
	for i, s := range e.history {
		if s.Version == latest.Version {
			e.history[i] = latest
			return e, nil
		}
	}
	e.history = append(e.history, latest)
	return e, nil
}

// stating finds the commit that states the view's schema, nil where none does. The archive is read only for one that is not active.
func (v *View) stating(ctx context.Context, source string) (*timeline.CommitMetadata, error) {
	if source == timeline.CreateSchemaSource {
		return nil, nil
	}
	is := func(w timeline.Instant) bool { return w.Time == source }
	writes := v.st.tl.CompletedWrites()
	if !slices.ContainsFunc(writes, is) {
		var err error
		if writes, err = v.t.writes(ctx, v.st); err != nil {
			return nil, err
		}
	}
	for _, w := range slices.Backward(writes) {
		if is(w) {
			return v.st.tl.CommitHead(ctx, w)
		}
	}
	return nil, nil
}

// schemaHistory reads the newest committed history file: each repeats all that came before it.
func (v *View) schemaHistory(ctx context.Context) ([]*schema.Internal, error) {
	files, err := v.t.store.List(ctx, schemaFolder)
	if errors.Is(err, storage.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	newest, at := "", ""
	for _, f := range files {
		stem, ok := strings.CutSuffix(f.Name, schemaSuffix)
		instant, _, _ := strings.Cut(stem, "_")
		if ok && instant > at && v.st.tl.IsCommitted(instant) {
			newest, at = f.Name, instant
		}
	}
	if newest == "" {
		return nil, nil
	}
	p := path.Join(schemaFolder, newest)
	text, err := storage.ReadFile(ctx, v.t.store, p, maxSchemas)
	if err != nil {
		return nil, err
	}
	history, err := schema.ParseHistory(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	return history, nil
}
