package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/hudifs/hudifs/views"
)

func newCpCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cp [flags] TABLE VIEW DEST",
		Short: "Copy a view's Parquet files into a folder, without a mount",
		Long: `cp copies the files of VIEW, with its partition folders, to DEST, which must not exist or
be empty. DEST appears when the copy is complete, and not at all if it fails.`,
		Example: `  hudifs cp /data/trips latest /tmp/trips
  hudifs cp /data/trips incremental/2026-11-30..latest ./changes`,
		Args: usageArgs(cobra.ExactArgs(3)),
		RunE: func(cmd *cobra.Command, args []string) error {
			dest, err := filepath.Abs(args[2])
			if err != nil {
				return err
			}
			return withTable(cmd, args[0], func(ctx context.Context, root views.Dir) error {
				node, err := find(ctx, root, args[1])
				if err != nil {
					return err
				}
				return copyView(ctx, node, dest)
			})
		},
	}
	addTableFlags(cmd.Flags())
	return cmd
}

// copyView copies a view to a folder, all or nothing.
func copyView(ctx context.Context, view views.Node, dest string) (err error) {
	if _, ok := view.(views.Dir); !ok {
		return usageError{errors.New("cp copies views and folders in them; for a file there is hudifs cat")}
	}
	if there, err := os.ReadDir(dest); err == nil && len(there) > 0 {
		return fmt.Errorf("%s is not empty: its files would be taken for rows of the view", dest)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	stage, err := os.MkdirTemp(filepath.Dir(dest), ".hudifs-cp-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(stage))
		}
	}()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	walkErr := walk(ctx, view, "", func(path string, f views.File) error {
		if !strings.HasSuffix(path, ".parquet") {
			return usageError{fmt.Errorf("%s is no Parquet file: name a view, such as latest", path)}
		}
		to := filepath.Join(stage, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		group.Go(func() error {
			if err := copyFile(ctx, f, to); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			return nil
		})
		return nil
	})
	if err := group.Wait(); err != nil {
		return err // before the error of the walk, which it has cut short
	}
	if walkErr != nil {
		return walkErr
	}
	if err := os.Chmod(stage, 0o755); err != nil {
		return err
	}
	return os.Rename(stage, dest)
}

// copyFile copies a file with its time, and leaves holes where it has zeros.
func copyFile(ctx context.Context, f views.File, to string) (err error) {
	h, attr, err := openFile(ctx, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, out.Close())
		if err == nil {
			err = os.Chtimes(to, attr.ModTime, attr.ModTime)
		}
	}()
	const block = 1 << 16
	buf, zeros := make([]byte, block), make([]byte, block)
	for off, end := int64(0), int64(0); ; {
		if off >= end {
			if off, end = nextData(h, off, attr.Size); off == attr.Size {
				break
			}
		}
		n, err := h.ReadAt(ctx, buf[:min(block, end-off)], off)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("after %d of %d bytes: %w", off, attr.Size, io.ErrUnexpectedEOF)
		}
		if !bytes.Equal(buf[:n], zeros[:n]) {
			if _, err := out.WriteAt(buf[:n], off); err != nil {
				return err
			}
		}
		off += int64(n)
	}
	return out.Truncate(attr.Size)
}

// nextData is the next range that may not be a hole, at an offset or behind; both are the size where there is none.
func nextData(h views.Handle, off, size int64) (start, end int64) {
	l, ok := h.(views.OSFile)
	if !ok || off >= size {
		return off, size
	}
	fd := int(l.OSFile().Fd())
	start, err := unix.Seek(fd, off, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		return size, size
	}
	if err != nil {
		return off, size // a file system without holes
	}
	if end, err = unix.Seek(fd, start, unix.SEEK_HOLE); err != nil {
		end = size
	}
	return min(start, size), min(end, size)
}
