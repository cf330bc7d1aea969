package storage

import (
	"context"
	"path"
)

// Unknown is the Size of a file in a listing of names.
const Unknown = -1

// Namer is implemented by Stores that tell names for less than sizes.
type Namer interface {
	// AppendNames appends what List returns to a slice, but the Size of a file may be Unknown, and its ModTime zero.
	AppendNames(ctx context.Context, to []Entry, dir string) ([]Entry, error)
	// Stat tells what List tells of one file. A directory is ErrNotExist.
	Stat(ctx context.Context, path string) (Entry, error)
}

// AppendNames lists a folder of any Store, without sizes where they cost more.
func AppendNames(ctx context.Context, s Store, to []Entry, dir string) ([]Entry, error) {
	if n, ok := s.(Namer); ok {
		return n.AppendNames(ctx, to, dir)
	}
	entries, err := s.List(ctx, dir)
	return append(to, entries...), err
}

// Stat tells what List tells of one file, of any Store.
func Stat(ctx context.Context, s Store, name string) (Entry, error) {
	if n, ok := s.(Namer); ok {
		return n.Stat(ctx, name)
	}
	o, err := s.Open(ctx, name)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Name: path.Base(name), Size: o.Size(), ModTime: o.ModTime()}
	return e, o.Close()
}
