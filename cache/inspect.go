package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The functions of this file look at a cache folder from outside. They may be used while daemons use it.

// Usage is what a number of entries take.
type Usage struct {
	Entries int
	Bytes   int64     // allocated on disk
	Oldest  time.Time // when the one was used last that was not used for longest
}

func (u *Usage) add(f foundFile) {
	if u.Entries == 0 || f.used.Before(u.Oldest) {
		u.Oldest = f.used
	}
	u.Entries++
	u.Bytes += f.alloc
}

// Inspect tells what a cache folder holds. A folder that is not there holds nothing.
func Inspect(dir string) (Usage, error) {
	var u Usage
	_, found, err := lookInto(dir)
	for _, f := range found {
		u.add(f)
	}
	return u, err
}

// Verify reads every entry, removes those that are not what their name says, and tells damaged about each of them, by its
// path. It gives what was found right. What somebody removes meanwhile does not count.
func Verify(ctx context.Context, dir string, damaged func(path string, err error)) (Usage, error) {
	var u Usage
	folder, found, err := lookInto(dir)
	if err != nil {
		return u, err
	}
	for _, f := range found {
		err := folder.verify(ctx, f)
		switch {
		case ctx.Err() != nil:
			return u, ctx.Err()
		case errors.Is(err, fs.ErrPermission):
			return u, err
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.EWOULDBLOCK): // removed, or about to be
		case err != nil:
			folder.remove(f.key, f.sum)
			damaged(folder.path(f.key, f.sum), err)
		default:
			u.add(f)
		}
	}
	return u, nil
}

// Clear removes the numbers and what nobody has open, half-written files of daemons that died included. It gives which files were removed, and
// what is left.
func Clear(dir string) (removed, left Usage, err error) {
	folder, found, err := lookInto(dir)
	if err != nil || folder == nil {
		return removed, left, err
	}
	if err := folder.sweep(); err != nil {
		return removed, left, err
	}
	if err := os.Remove(folder.numbersFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return removed, left, err
	}
	for _, f := range found {
		if folder.remove(f.key, f.sum) {
			removed.add(f)
		} else {
			left.add(f)
		}
	}
	return removed, left, nil
}

// lookInto lists a folder without making one.
func lookInto(dir string) (*folder, []foundFile, error) {
	f, err := newFolder(dir, nil)
	if err != nil {
		return nil, nil, err
	}
	found, err := f.scan()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cache %s: %w", dir, err)
	}
	return f, found, nil
}

// verify reads an entry. Nobody can evict it meanwhile.
func (f *folder) verify(ctx context.Context, found foundFile) (err error) {
	file, st, err := f.open(found.key, found.sum)
	if err != nil {
		return err
	}
	defer func(file *os.File) { err = errors.Join(err, file.Close()) }(file)
	sum, err := checksum(ctx, file, found.key, st.Size, f.fault)
	if err == nil && sum != found.sum {
		err = fmt.Errorf("checksum %016x instead of %016x", sum, found.sum)
	}
	return err
}
