package views

import (
	"context"
	"fmt"
	"strings"

	"github.com/hudifs/hudifs/hudi"
)

// maxEarlier is how many earlier states are searched for a name.
const maxEarlier = 64

// earlier finds a name that latest may have listed before the newest commits: by this daemon or another one, on this host or
// another. It looks once for new commits, and then at what latest was before each of the last ones, as far back as the grace goes. A file's
// name says what its bytes are, so whatever has it is the file that was listed.
func (tab *table) earlier(ctx context.Context, where, name string) (Node, error) {
	if !tab.layout().mayHave(name) {
		return nil, notFound(name) // what tools ask for in every folder
	}
	if err := tab.lookAgain(ctx); err != nil {
		return nil, classify(err)
	}
	now, err := tab.view(ctx, hudi.Latest())
	if err != nil {
		return nil, err
	}
	n, hidden, err := findIn(ctx, now, where, name)
	if n != nil || err != nil {
		return n, err
	}
	if tab.t.opts.Grace == 0 {
		return nil, notFound(name)
	}
	// Who lists may lag behind a commit by a poll interval.
	since := tab.t.opts.Clock().Add(-tab.t.opts.Grace - tab.t.opts.PollInterval)
	past, err := tab.hudi.Earlier(ctx, since, name, maxEarlier)
	if err != nil {
		return nil, classify(err)
	}
	for _, v := range past {
		n, why, err := findIn(ctx, tab.folderOf(v), where, name)
		if n != nil || err != nil {
			return n, err
		}
		if hidden == nil {
			hidden = why
		}
	}
	if hidden != nil && strings.HasSuffix(name, ".parquet") {
		return nil, fmt.Errorf("%w: %s may have been listed before: %w", ErrStale, name, hidden)
	}
	return nil, notFound(name)
}

// findIn finds a name in a folder of a view, nil where it is not there. hidden says why the view can't be shown, and so does not tell.
func findIn(ctx context.Context, d Dir, where, name string) (n Node, hidden, err error) {
	if r, ok := d.(*refusedDir); ok {
		return nil, r.err, nil
	}
	v, ok := d.(*viewDir)
	if !ok {
		return nil, nil, nil
	}
	top, err := v.load(ctx)
	if passing(ctx, err) {
		return nil, nil, err
	}
	if err != nil {
		return nil, err, nil
	}
	if p := top.at(where); p != nil {
		return p.find(name), nil, nil
	}
	return nil, nil, nil
}
