package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hudifs/hudifs/views"
)

// instant is an entry of the file .hudi/timeline.
type instant struct {
	Requested string `json:"requested"`
	Completed string `json:"completed"`
	Action    string `json:"action"`
	State     string `json:"state"`
}

func newTimelineCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "timeline [flags] TABLE",
		Short: "List the instants of a table, without a mount",
		Long: `timeline lists the instants of a table, archived ones too, the oldest first: when each was
requested and completed, in the table's own form of time, what it did and how far it is.`,
		Example: `  hudifs timeline /data/trips
  hudifs timeline --json /data/trips | jq '.[-1]'`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withTable(cmd, args[0], func(ctx context.Context, root views.Dir) error {
				return showTimeline(ctx, cmd.OutOrStdout(), root, asJSON)
			})
		},
	}
	addTableFlags(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "write all that is known, as JSON")
	return cmd
}

func showTimeline(ctx context.Context, w io.Writer, root views.Dir, asJSON bool) error {
	node, err := find(ctx, root, ".hudi/timeline")
	if err != nil {
		return err
	}
	file, ok := node.(views.File)
	if !ok {
		return fmt.Errorf(".hudi/timeline is no file")
	}
	text, err := readAll(ctx, file)
	if err != nil {
		return err
	}
	if asJSON {
		_, err := w.Write(text)
		return err
	}
	var instants []instant
	if err := json.Unmarshal(text, &instants); err != nil {
		return fmt.Errorf(".hudi/timeline: %w", err)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "REQUESTED\tCOMPLETED\tACTION\tSTATE")
	for _, i := range instants {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", i.Requested, i.Completed, i.Action, i.State)
	}
	return table.Flush()
}
