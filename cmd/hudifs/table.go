package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"path"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hudifs/hudifs/cache"
	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/storage/filestore"
	"github.com/hudifs/hudifs/views"
)

// table is an open table, or a folder of tables.
type table struct {
	*views.Tree
	store *filestore.Store
	cache *cache.Disk
}

// openTable opens what a command works on. cacheDir is a folder that exists, or "" for a cache in memory.
func openTable(ctx context.Context, c *config, dir, cacheDir string, log *slog.Logger) (*table, error) {
	// What is rendered into memory where the disk fails lies outside the heap.
	outside := c.memory / 4
	debug.SetMemoryLimit(c.memory - outside)
	store, err := filestore.Open(dir)
	if err != nil {
		return nil, err
	}
	var bootstrap storage.Store
	if c.BootstrapBase != "" {
		b, err := filestore.Open(c.BootstrapBase)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("--bootstrap-base: %w", err), store.Close())
		}
		bootstrap = b
	}
	source, err := filepath.Abs(dir)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	if cacheDir != "" {
		cacheDir = cacheFiles(cacheDir)
	}
	disk, err := cache.Open(cacheDir, &cache.Options{Budget: c.cacheSize, MinFree: c.cacheMinFree, Memory: outside, Logger: log})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	tree, err := views.Open(ctx, store, &views.Options{
		Partitions: c.Partitions, ListInstants: c.ListInstants, Timezone: c.location, Grace: c.Grace, PollInterval: c.PollInterval,
		Source: source, Cache: disk, Memory: c.memory, MergeRules: c.MergeRules, OnDamage: c.OnDamage, BootstrapSource: bootstrap,
		NoMetadataTable: c.NoMetadataTable, Lazy: c.Lazy == "auto", Logger: log,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), disk.Close(), store.Close())
	}
	return &table{tree, store, disk}, nil
}

func (t *table) Close() error { return errors.Join(t.Tree.Close(), t.cache.Close(), t.store.Close()) }

// withTable runs a command that reads a table without mounting it.
func withTable(cmd *cobra.Command, dir string, run func(ctx context.Context, root views.Dir) error) (err error) {
	c, err := loadConfig(cmd.Flags())
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: max(c.level, slog.LevelWarn)}))
	cacheDir, err := c.cacheFolder()
	if err != nil && c.CacheDir != "" {
		return err
	}
	if err != nil {
		log.Warn("merged files are kept in memory", "err", err)
	}
	t, err := openTable(cmd.Context(), c, dir, cacheDir, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	return run(cmd.Context(), t.Root())
}

// find walks from the root to a path.
func find(ctx context.Context, root views.Dir, where string) (views.Node, error) {
	var node views.Node = root
	for name := range strings.SplitSeq(strings.Trim(where, "/"), "/") {
		if name == "" || name == "." {
			continue
		}
		dir, ok := node.(views.Dir)
		if !ok || name == ".." {
			return nil, &fs.PathError{Op: "find", Path: where, Err: fs.ErrNotExist}
		}
		var err error
		if node, err = dir.Lookup(ctx, name); err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
	}
	return node, nil
}

// walk calls visit for each file at or below a node, in the order of names, with its path below the node.
func walk(ctx context.Context, node views.Node, below string, visit func(path string, f views.File) error) error {
	if f, ok := node.(views.File); ok {
		return visit(below, f)
	}
	dir, ok := node.(views.Dir)
	if !ok {
		return fmt.Errorf("%s is neither file nor folder", below)
	}
	entries, err := dir.Entries(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		child, err := dir.Lookup(ctx, e.Name)
		if err != nil {
			return fmt.Errorf("%s: %w", path.Join(below, e.Name), err)
		}
		if err := walk(ctx, child, path.Join(below, e.Name), visit); err != nil {
			return err
		}
	}
	return nil
}

// openFile opens a file, and tells how long it is.
func openFile(ctx context.Context, f views.File) (views.Handle, views.Attr, error) {
	attr, err := f.Attr(ctx)
	if err != nil {
		return nil, attr, err
	}
	h, err := f.Open(ctx)
	return h, attr, err
}

// readAll reads a file to its end, which for one that is not frozen may lie elsewhere than its size said.
func readAll(ctx context.Context, f views.File) ([]byte, error) {
	h, err := f.Open(ctx)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.NewSectionReader(readerAt{ctx, h}, 0, math.MaxInt64))
	return text, errors.Join(err, h.Close())
}

// readerAt is a handle as an io.ReaderAt.
type readerAt struct {
	ctx context.Context //nolint:containedctx // io.ReaderAt has no room for it, and this lives for one call
	h   views.Handle
}

func (r readerAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.h.ReadAt(r.ctx, p, off)
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}
