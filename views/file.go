package views

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/hudifs/hudifs/cache"
	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/storage"
)

// file is a file of a view.
type file struct {
	tab  *table
	file *hudi.File
	name string // in its folder
}

// inode follows from the file's ID, so that equal bytes of a table share the page cache wherever they are shown.
func (f *file) inode() uint64 {
	id := f.file.ID()
	return possible(binary.BigEndian.Uint64(id[:]) ^ f.tab.seed)
}

// size is that of the file. What it was found out to be is kept, also for the next daemon: footers and log files need not be read again.
func (f *file) size(ctx context.Context) (size int64, bounded bool, err error) {
	c := f.tab.t.opts.Cache
	if c == nil {
		return f.file.Size(ctx)
	}
	promise, err := f.file.Promise(ctx)
	if err != nil {
		return f.file.Size(ctx)
	}
	key := cache.Key(sha256.Sum256(fmt.Appendf(nil, "size %q %q %x", f.tab.t.opts.Source, f.tab.path, promise)))
	if n, ok := c.Number(key); ok {
		return n, true, nil
	}
	if size, bounded, err = f.file.Size(ctx); err == nil {
		c.SetNumber(key, size)
	}
	return size, bounded, err
}

func (f *file) Attr(ctx context.Context) (Attr, error) {
	size, bounded, err := f.size(ctx)
	if e := f.rendered(ctx, err); e != nil {
		size, bounded, err = e.Size(), true, e.Close()
	}
	if err != nil {
		return Attr{}, f.explain(err)
	}
	if !bounded {
		f.tab.t.measured.Add(1)
	}
	return Attr{
		Inode: f.inode(), Size: size, Disk: min(size, f.file.Source()), ModTime: f.file.ModTime(), Frozen: true,
	}, nil
}

// rendered is the file as the cache has it, nil unless err says that what it is made of is gone: it stays readable then.
func (f *file) rendered(ctx context.Context, err error) *cache.Entry {
	if !errors.Is(err, storage.ErrNotExist) {
		return nil
	}
	e, findErr := f.tab.t.opts.Cache.Find(ctx, f.key(), -1)
	if findErr != nil {
		return nil
	}
	return e
}

// explain says of an object that is gone that it was there when the view was listed.
func (f *file) explain(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, storage.ErrNotExist) && !errors.Is(err, ErrStale) {
		return fmt.Errorf("%w: %w", ErrStale, err)
	}
	return classify(err)
}

func (f *file) Xattrs(context.Context) (map[string]string, error) {
	d := f.file.Details()
	return map[string]string{
		xattrPrefix + "table": f.tab.hudi.Info().Name, xattrPrefix + "partition": f.file.Partition(),
		xattrPrefix + "file_group": d.FileGroup, xattrPrefix + "base_file": d.Base, xattrPrefix + "log_files": strings.Join(d.Logs, "\n"),
		xattrPrefix + "instant": d.Instant, xattrPrefix + "as_is": strconv.FormatBool(d.AsIs),
	}, nil
}

func (f *file) Open(ctx context.Context) (Handle, error) {
	size, _, err := f.size(ctx)
	if e := f.rendered(ctx, err); e != nil {
		return localHandle{e.File(), e}, nil
	}
	if err != nil {
		return nil, f.explain(err)
	}
	where, ok, err := f.file.Base(ctx)
	if err != nil {
		return nil, f.explain(err)
	}
	if ok {
		return f.openBase(ctx, where, size)
	}
	if h, err := f.openLazily(ctx, size); h != nil || err != nil {
		return h, err
	}
	return f.openWhole(ctx, size)
}

// openWhole opens the file out of the cache, rendered if it is not there.
func (f *file) openWhole(ctx context.Context, size int64) (Handle, error) {
	e, err := f.tab.t.opts.Cache.Do(ctx, f.key(), size, func(ctx context.Context, w *cache.Writer) error {
		return f.file.Render(ctx, w)
	})
	if err != nil {
		return nil, f.explain(err)
	}
	return localHandle{e.File(), e}, nil
}

// openLazily opens a file that is made of parts, and not in the cache. It gives nil for all others.
func (f *file) openLazily(ctx context.Context, size int64) (Handle, error) {
	if f.tab.t.lazy == nil {
		return nil, nil
	}
	e, err := f.tab.t.opts.Cache.Find(ctx, f.key(), size)
	if err != nil {
		return nil, f.explain(err)
	}
	if e != nil {
		return localHandle{e.File(), e}, nil
	}
	if ok, err := f.file.MadeOfParts(ctx); !ok || err != nil {
		return nil, f.explain(err)
	}
	h, err := f.tab.t.lazy.open(ctx, f, size)
	return h, f.explain(err)
}

// key names the file's bytes among those of all tables in the cache.
func (f *file) key() cache.Key {
	id := f.file.ID()
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %x", f.tab.t.opts.Source, f.tab.path, id))
}

func (f *file) openBase(ctx context.Context, where string, size int64) (Handle, error) {
	o, err := f.tab.store.Open(ctx, where)
	if err != nil {
		return nil, f.explain(err)
	}
	if o.Size() != size {
		return nil, errors.Join(fmt.Errorf("%s: %d bytes where the listing had %d", where, o.Size(), size), o.Close())
	}
	if local := storage.OSFile(o); local != nil {
		return localHandle{local, o}, nil
	}
	return objectHandle{o}, nil
}

// localHandle is open on a local file.
type localHandle struct {
	local *os.File
	io.Closer
}

func (h localHandle) OSFile() *os.File { return h.local }

func (h localHandle) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return atEnd(h.local.ReadAt(p, off))
}

// objectHandle is open on an object of a store.
type objectHandle struct{ storage.Object }

func (h objectHandle) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	return atEnd(h.Object.ReadAt(ctx, p, off))
}

func atEnd(n int, err error) (int, error) {
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}
