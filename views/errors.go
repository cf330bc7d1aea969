package views

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/hudifs/hudifs/cache"
	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/storage"
)

// The errors that front ends tell apart with errors.Is, besides fs.ErrNotExist, fs.ErrPermission and those of contexts.
// Whatever is none of them is a failure.
var (
	// ErrStale: the content was there, and has been cleaned away.
	ErrStale = errors.New("no longer there")
	// ErrRefused: the view or file is of a kind that is not served.
	ErrRefused = errors.New("not served")
	// ErrNoSpace: there is no room to render the file.
	ErrNoSpace = errors.New("no room to render")
)

var classes = []struct{ inner, outer error }{
	{hudi.ErrCleaned, ErrStale},
	{hudi.ErrRefused, ErrRefused},
	{hudi.ErrUnsupported, ErrRefused},
	{hudi.ErrBadName, fs.ErrNotExist},
	{hudi.ErrNotTable, fs.ErrNotExist},
	{storage.ErrPermission, fs.ErrPermission},
	{cache.ErrFull, ErrNoSpace},
}

// classify gives an error the class that front ends know.
func classify(err error) error {
	for _, c := range classes {
		if errors.Is(err, c.inner) && !errors.Is(err, c.outer) {
			return fmt.Errorf("%w: %w", c.outer, err)
		}
	}
	return err
}

// passing tells whether an error says nothing of a table: another try may find it well.
func passing(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, storage.ErrUnavailable))
}

func notFound(name string) error { return &fs.PathError{Op: "lookup", Path: name, Err: fs.ErrNotExist} }
