package views

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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
	since := tab.graceBegins()
	for _, l := range tab.remembered(since) {
		if n, _, err := findIn(ctx, l.dir, where, name); n != nil || err != nil {
			return n, err
		}
	}
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
	if !strings.HasSuffix(name, ".parquet") {
		return nil, notFound(name)
	}
	if hidden == nil && len(past) > 0 { // what was removed of the likeliest may have been it
		if hidden = past[0].Complete(ctx); passing(ctx, hidden) {
			return nil, hidden
		}
	}
	if hidden != nil {
		return nil, fmt.Errorf("%w: %s may have been listed before: %w", ErrStale, name, hidden)
	}
	return nil, notFound(name)
}

// graceBegins is how far the grace goes back. Who lists may lag behind a commit by a poll interval.
func (tab *table) graceBegins() time.Time {
	return tab.t.opts.Clock().Add(-tab.t.opts.Grace - tab.t.opts.PollInterval)
}

// maxRemembered bounds the files in the listings that a table remembers.
const maxRemembered = 200_000

// listed is a folder latest that was listed, and was the newest until a moment. Its files need nothing that lists them any more: those
// that are in the cache stay readable when the cleaner has taken what they were made of.
type listed struct {
	dir   *viewDir
	until time.Time
	files int
}

// remember keeps the folder latest of a state that is over, if it was listed. tab.mu is held.
func (tab *table) remember(state string) {
	dir := tab.views[answer{hudi.Latest(), state}]
	if dir == nil || tab.t.opts.Grace == 0 {
		return
	}
	top, ok := dir.top.Peek()
	if !ok {
		return
	}
	tab.past = append(tab.past, listed{dir, tab.t.opts.Clock(), top.count()})
	total, since := 0, tab.graceBegins()
	for i, l := range slices.Backward(tab.past) {
		if total += l.files; total > maxRemembered || l.until.Before(since) || len(tab.past)-i > maxEarlier {
			tab.past = slices.Clone(tab.past[i+1:])
			break
		}
	}
}

// remembered are the folders that were the newest at since or later, the newest first.
func (tab *table) remembered(since time.Time) []listed {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	var out []listed
	for _, l := range slices.Backward(tab.past) {
		if !l.until.Before(since) {
			out = append(out, l)
		}
	}
	return out
}

// count is the number of files at and below the folder.
func (p *partition) count() int {
	n := len(p.files)
	for _, b := range p.folders {
		n += b.count()
	}
	return n
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
	p := top.at(where)
	if p == nil {
		return nil, nil, nil
	}
	n = p.find(name)
	if _, folder := n.(*partition); folder {
		if err := v.view.Complete(ctx); err != nil {
			return nil, classify(err), nil
		}
	}
	return n, nil, nil
}
