package views

import (
	"context"

	"github.com/hudifs/hudifs/hudi"
)

// maxEarlier is how many earlier states are searched for a name.
const maxEarlier = 64

// earlier finds a name that latest may have listed before the newest commits: by this daemon or another one, on this host or
// another. It looks once for new commits, and then at what latest was at earlier instants, newest first, as far back as the
// grace goes. A file's name says what its bytes are, so whatever has it is the file that was listed.
func (tab *table) earlier(ctx context.Context, where, name string) (Node, error) {
	if !tab.layout().mayHave(name) {
		return nil, notFound(name) // what tools ask for in every folder
	}
	changed, err := tab.refresh(ctx)
	if err != nil {
		return nil, classify(err)
	}
	if changed {
		tab.t.tell()
	}
	if n, err := tab.findIn(ctx, hudi.Latest(), where, name); n != nil || err != nil {
		return n, err
	}
	since := tab.t.opts.Clock().Add(-tab.t.opts.Grace)
	for _, q := range tab.hudi.Earlier(since, maxEarlier) {
		if n, err := tab.findIn(ctx, q, where, name); n != nil || err != nil {
			return n, err
		}
	}
	return nil, notFound(name)
}

// findIn finds a name in a folder of a view, nil where it is not there or there is no such view.
func (tab *table) findIn(ctx context.Context, q hudi.Query, where, name string) (Node, error) {
	d, err := tab.view(ctx, q)
	if err != nil {
		return nil, err
	}
	v, ok := d.(*viewDir)
	if !ok {
		return nil, nil
	}
	top, err := v.load(ctx)
	if passing(ctx, err) {
		return nil, err
	}
	if err != nil {
		return nil, nil //nolint:nilerr // a state that can't be shown any more has no names
	}
	if p := top.at(where); p != nil {
		return p.find(name), nil
	}
	return nil, nil
}
