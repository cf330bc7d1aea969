package storage

import (
	"context"
	"fmt"
	"strings"
)

// maxPath is Linux's PATH_MAX and well above the 1,024 bytes of an S3 key.
const maxPath = 4096

// CheckPath returns an error wrapping ErrPath unless path is "" or a sequence of elements separated by single slashes, none
// of them empty, "." or "..", without a NUL byte, of at most 4,096 bytes in all.
func CheckPath(path string) error {
	if path == "" {
		return nil
	}
	if len(path) > maxPath {
		return fmt.Errorf("%w of %d bytes, %.60q at its start", ErrPath, len(path), path)
	}
	if strings.IndexByte(path, 0) >= 0 {
		return fmt.Errorf("%w %q", ErrPath, path)
	}
	for elem := range strings.SplitSeq(path, "/") {
		if elem == "" || elem == "." || elem == ".." {
			return fmt.Errorf("%w %q", ErrPath, path)
		}
	}
	return nil
}

// Join puts paths together with slashes, leaving out those that are "" (the root), and checks the result. It never
// resolves "..": a part that has one is an error wrapping ErrPath, as is an absolute part.
func Join(parts ...string) (string, error) {
	var b strings.Builder
	for _, p := range parts {
		if p == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('/')
		}
		b.WriteString(p)
	}
	path := b.String()
	if err := CheckPath(path); err != nil {
		return "", err
	}
	return path, nil
}

// Sub returns the part of s below dir as a store of its own. Errors name paths of s. If dir is no valid path, every
// operation fails with an error wrapping ErrPath.
func Sub(s Store, dir string) Store {
	if dir == "" {
		return s
	}
	return sub{s, dir}
}

type sub struct {
	base Store
	dir  string
}

func (s sub) Open(ctx context.Context, path string) (Object, error) {
	full, err := Join(s.dir, path)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	return s.base.Open(ctx, full)
}

func (s sub) List(ctx context.Context, dir string) ([]Entry, error) {
	full, err := Join(s.dir, dir)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	return s.base.List(ctx, full)
}

func (s sub) AppendNames(ctx context.Context, to []Entry, dir string) ([]Entry, error) {
	full, err := Join(s.dir, dir)
	if err != nil {
		return to, fmt.Errorf("list: %w", err)
	}
	return AppendNames(ctx, s.base, to, full)
}

func (s sub) Stat(ctx context.Context, name string) (Entry, error) {
	full, err := Join(s.dir, name)
	if err != nil {
		return Entry{}, fmt.Errorf("stat: %w", err)
	}
	return Stat(ctx, s.base, full)
}
