package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hudifs/hudifs/views"
)

// catOptions say which rows are written, and how.
type catOptions struct {
	format  string
	limit   int64
	columns []string
}

func newCatCommand() *cobra.Command {
	var o catOptions
	cmd := &cobra.Command{
		Use:   "cat [flags] TABLE PATH",
		Short: "Write rows of a view as JSON lines or CSV, without a mount",
		Long: `cat writes the rows of a view, of a folder in it or of one of its files. Files below
.hudi are written as they are.

Decimals are JSON numbers with all their digits; dates are 2026-11-30; timestamps are
2026-11-30T00:22:08.095000Z, without Z where the column knows no zone; binary is base64;
NaN and Infinity are strings; maps are objects. In CSV nested values are JSON, and null
is an empty field where an empty text is "".`,
		Example: `  hudifs cat --limit 10 /data/trips latest
  hudifs cat --format csv --columns uuid,fare /data/trips asof/20261130002208095
  hudifs cat /data/trips .hudi/status`,
		Args: usageArgs(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.format != "jsonl" && o.format != "csv" {
				return usageError{fmt.Errorf("--format: %q is neither jsonl nor csv", o.format)}
			}
			return withTable(cmd, args[0], func(ctx context.Context, root views.Dir) error {
				node, err := find(ctx, root, args[1])
				if err != nil {
					return err
				}
				out := bufio.NewWriterSize(cmd.OutOrStdout(), 1<<16)
				return errors.Join(cat(ctx, out, node, args[1], o), out.Flush())
			})
		},
	}
	addTableFlags(cmd.Flags())
	cmd.Flags().StringVar(&o.format, "format", "jsonl", "jsonl or csv")
	cmd.Flags().Int64Var(&o.limit, "limit", -1, "write at most this many rows (default: all)")
	cmd.Flags().StringSliceVar(&o.columns, "columns", nil, "top-level `columns` to write, in this order (default: all)")
	return cmd
}

// errEnough ends a walk.
var errEnough = errors.New("enough rows")

// cat writes what lies at and below a node.
func cat(ctx context.Context, w *bufio.Writer, node views.Node, path string, o catOptions) error {
	header := o.format == "csv"
	err := walk(ctx, node, path, func(path string, f views.File) error {
		if o.limit == 0 && !header {
			return errEnough
		}
		if !strings.HasSuffix(path, ".parquet") {
			if node != views.Node(f) {
				return usageError{fmt.Errorf("%s is no Parquet file: name a view, such as latest", path)}
			}
			text, err := readAll(ctx, f)
			if err != nil {
				return err
			}
			_, err = w.Write(text)
			return err
		}
		if err := catFile(ctx, w, f, &o, &header); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// catFile writes a file's rows until the limit is reached, before the first one a header if that is due.
func catFile(ctx context.Context, w *bufio.Writer, f views.File, o *catOptions, header *bool) (err error) {
	h, attr, err := openFile(ctx, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	rows, err := openRows(readerAt{ctx, h}, attr.Size, o.columns)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.close()) }()
	var line []byte
	if *header {
		for i, c := range rows.columns {
			if i > 0 {
				line = append(line, ',')
			}
			line = appendCSVField(line, []byte(c.name))
		}
		*header = false
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	for o.limit != 0 && rows.next() {
		if o.format == "csv" {
			line = rows.appendCSV(line[:0])
		} else {
			line = rows.appendJSON(line[:0])
		}
		if rows.err != nil {
			return nil // close tells
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
		if o.limit > 0 {
			o.limit--
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}
