package hudi

import (
	"context"
	"errors"
	"sync"

	"github.com/hudifs/hudifs/internal/fsview"
	"github.com/hudifs/hudifs/internal/mdt"
	"github.com/hudifs/hudifs/internal/timeline"
)

// metadata is the metadata table of one state: captured with its timeline, read when a view first lists something.
type metadata struct {
	table *mdt.Table
	warn  sync.Once
}

// openMetadata captures the metadata table, nil where there is none to use.
func (t *Table) openMetadata(ctx context.Context, tl *timeline.Timeline) (*metadata, error) {
	if t.opts.NoMetadataTable || !tl.Config().HasMetadataFiles() {
		return nil, nil
	}
	m, err := mdt.Open(ctx, t.store, tl)
	if errors.Is(err, mdt.ErrUnavailable) {
		t.opts.Logger.WarnContext(ctx, "folders are listed instead", "error", err)
		return nil, nil
	}
	if err != nil {
		return nil, class(err)
	}
	return &metadata{table: m}, nil
}

// lister lists the table as its state has it: the metadata table, or where that can't be used its folders. It is the same one for all
// views of a state, so no view mixes the two.
func (v *View) lister(ctx context.Context) (fsview.Lister, error) {
	m := v.st.metadata
	if m == nil {
		return v.t.plain, nil
	}
	err := m.table.Load(ctx)
	if errors.Is(err, mdt.ErrUnavailable) {
		m.warn.Do(func() { v.t.opts.Logger.WarnContext(ctx, "folders are listed instead", "error", err) })
		return v.t.plain, nil
	}
	return m.table, err
}
