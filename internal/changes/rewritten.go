package changes

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/cespare/xxhash/v2"

	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/render"
	"github.com/hudifs/hudifs/internal/schema"
)

// rewritten compares a base file with the one whose place it took: rows of other keys came or went, those that the write marked as its own
// changed. Hudi refuses such a write, which has no change log: every update of it lost against the row that it met, or
// changes were not logged yet.
func (w *writer) rewritten(ctx context.Context, s *Step) error {
	if w.Target.Leaf(schema.CommitTime) == nil {
		return fmt.Errorf("%w: %s took the place of a base file, and neither a change log nor meta fields tell what changed", logfile.ErrUnsupported, s.Path)
	}
	return w.compare(ctx, s, class{of: 1})
}

// class is a part of all record keys, by their hashes.
type class struct{ number, of uint64 }

func (c class) has(key []byte) bool { return c.of == 1 || xxhash.Sum64(key)%c.of == c.number }

func (c class) halves() [2]class { return [2]class{{c.number, 2 * c.of}, {c.number + c.of, 2 * c.of}} }

// maxCompared is about how much memory the rows take that are compared at once. Where a file has more, its keys are taken in classes, of which there
// are at most maxClasses.
var maxCompared = 64 << 20

const maxClasses = 1 << 10

// after is what a write left of the rows of a class.
type after struct {
	keys    map[string]bool
	changed map[string]string // the text of its own rows, by key
	order   []string          // of their keys
}

var errTooMany = errors.New("too many rows to be compared at once")

func (w *writer) compare(ctx context.Context, s *Step, c class) error {
	a, err := w.after(ctx, s, c)
	if errors.Is(err, errTooMany) {
		for _, half := range c.halves() {
			if err := w.compare(ctx, s, half); err != nil {
				return err
			}
		}
		return nil
	}
	if err != nil {
		return err
	}
	err = w.scan(ctx, Slice{Base: s.Base}, func(r *render.Reader, _ render.Fate) error {
		k, _, err := r.Key(nil)
		if err != nil || !c.has(k) {
			return err
		}
		text, update := a.changed[string(k)]
		if !update && a.keys[string(k)] {
			return nil
		}
		before, err := w.form.row(r.Before)
		if err != nil {
			return err
		}
		if !update {
			return w.add(opDelete, s.Instant, before, nil)
		}
		delete(a.changed, string(k))
		return w.add(opUpdate, s.Instant, before, []byte(text))
	})
	if err != nil {
		return err
	}
	for _, key := range a.order {
		if text, ok := a.changed[key]; ok {
			delete(a.changed, key)
			if err := w.add(opInsert, s.Instant, nil, []byte(text)); err != nil {
				return err
			}
		}
	}
	return nil
}

// after reads what a write left of a class, or gives errTooMany where that takes too much memory.
func (w *writer) after(ctx context.Context, s *Step, c class) (*after, error) {
	const perKey = 64 // in a map, beside its bytes
	time := w.Target.Leaf(schema.CommitTime).Index
	a := &after{keys: map[string]bool{}, changed: map[string]string{}}
	size := 0
	err := w.scan(ctx, Slice{Base: path.Base(s.Path)}, func(r *render.Reader, _ render.Fate) error {
		k, _, err := r.Key(nil)
		if err != nil || !c.has(k) {
			return err
		}
		if size += len(k) + perKey; size > maxCompared && c.of < maxClasses {
			return errTooMany
		}
		key := string(k)
		a.keys[key] = true
		if at, _, err := r.Text(time); err != nil || at != s.Instant {
			return err
		}
		text, err := w.form.row(r.After)
		size += len(text) + 2*perKey
		a.changed[key] = string(text)
		a.order = append(a.order, key)
		return err
	})
	return a, err
}
