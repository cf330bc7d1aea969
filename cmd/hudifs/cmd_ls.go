package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/spf13/cobra"

	"github.com/hudifs/hudifs/views"
)

func newLsCommand() *cobra.Command {
	var long bool
	cmd := &cobra.Command{
		Use:   "ls [flags] TABLE [PATH]",
		Short: "List a folder of a table's tree, without a mount",
		Long: `ls lists what hudifs mount would show at PATH below the mountpoint; folders end with a
slash. With --long it also tells size, time and, for a view that cannot be read, why.`,
		Example: `  hudifs ls /data/trips
  hudifs ls /data/trips asof
  hudifs ls --long /data/trips asof/2026-11-30/berlin`,
		Args: usageArgs(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withTable(cmd, args[0], func(ctx context.Context, root views.Dir) error {
				where := path.Join(args[1:]...)
				node, err := find(ctx, root, where)
				if err != nil {
					return err
				}
				return list(ctx, cmd.OutOrStdout(), node, path.Base(where), long)
			})
		},
	}
	addTableFlags(cmd.Flags())
	cmd.Flags().BoolVarP(&long, "long", "l", false, "with size and time")
	return cmd
}

// list writes a line for each entry of a folder, or one for a file.
func list(ctx context.Context, w io.Writer, node views.Node, name string, long bool) error {
	out := bufio.NewWriter(w)
	dir, ok := node.(views.Dir)
	if !ok {
		if err := listOne(ctx, out, node, name, long); err != nil {
			return err
		}
		return out.Flush()
	}
	entries, err := dir.Entries(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Dir {
			e.Name += "/"
		}
		var child views.Node
		if long {
			if child, err = dir.Lookup(ctx, path.Clean(e.Name)); err != nil {
				return err
			}
		}
		if err := listOne(ctx, out, child, e.Name, long); err != nil {
			return err
		}
	}
	return out.Flush()
}

func listOne(ctx context.Context, w io.Writer, node views.Node, name string, long bool) error {
	if !long {
		_, err := fmt.Fprintln(w, name)
		return err
	}
	attr, err := node.Attr(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	xattrs, err := node.Xattrs(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if why := xattrs["user.hudi.error"]; why != "" {
		name += "  (" + why + ")"
	}
	_, err = fmt.Fprintf(w, "%14d  %s  %s\n", attr.Size, attr.ModTime.UTC().Format(time.RFC3339), name)
	return err
}
