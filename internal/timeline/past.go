package timeline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Completions returns the writes that completed at since or later, the newest first: in the order in which they completed, which is not
// that of their requested times where writers overlapped.
//
// Layout 1 does not record when a write completed. There the modification time of the completed file tells, which a copy of
// the table destroys: the order may then be one that never was. Archived writes of layout 1 have not even that, and are left out. On
// layout 2 a modification time only helps a write to count as late enough, as the zone of its name may not be known.
func (t *Timeline) Completions(ctx context.Context, since time.Time, local *time.Location) ([]Instant, error) {
	zone := t.config.Location(local)
	late := func(in Instant) bool {
		modified := in.file(Completed).modTime
		done, ok := TimeOf(in.CompletionTime, zone)
		return !modified.Before(since) || ok && !done.Before(since) || !ok && modified.IsZero()
	}
	active := t.CompletedWrites()
	found := slices.DeleteFunc(slices.Clone(active), func(in Instant) bool { return !late(in) })
	if len(found) == len(active) && t.config.Layout == 2 {
		history, err := t.History(ctx)
		if err != nil {
			return nil, err
		}
		for _, in := range history {
			if in.Archived && in.completedWrite() && late(in) {
				found = append(found, in)
			}
		}
	}
	slices.SortFunc(found, func(a, b Instant) int {
		return cmp.Or(strings.Compare(t.completed(b), t.completed(a)), b.compare(a))
	})
	return found, nil
}

// completed orders writes by their completion.
func (t *Timeline) completed(in Instant) string {
	if modified := in.file(Completed).modTime; t.config.Layout == 1 && !modified.IsZero() {
		return FormatTime(modified, time.UTC)
	}
	return in.CompletionTime
}

// Without returns the timeline as it was when some of its writes had not completed yet.
func (t *Timeline) Without(writes []Instant) *Timeline {
	past := &Timeline{store: t.store, config: t.config, memo: t.memo, archive: t.archive, undone: map[string]bool{}}
	hash := sha256.New()
	fmt.Fprintln(hash, t.fingerprint)
	for _, w := range writes {
		past.undone[w.Time] = true
		fmt.Fprintln(hash, w.Time)
	}
	past.fingerprint = hex.EncodeToString(hash.Sum(nil))
	instants := slices.Clone(t.instants)
	for i, in := range instants {
		if in.completedWrite() && past.undone[in.Time] {
			instants[i] = in.reopened()
		}
	}
	past.setInstants(instants)
	return past
}

// reopened is the instant as it was before it completed.
func (in Instant) reopened() Instant {
	files := *in.files
	files[Completed] = instantFile{}
	in.State, in.CompletionTime, in.files = Requested, "", &files
	if in.file(Inflight).name != "" {
		in.State = Inflight
	}
	if in.Planned != "" {
		in.Action = in.Planned
	}
	return in
}
