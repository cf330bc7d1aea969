// Command hudifs mounts Apache Hudi tables as read-only directories of plain Parquet files, and reads them without a mount.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/internal/contain"
	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/views"
)

// The exit statuses, explained to users in exitCodesHelp.
const (
	exitFailed   = 1
	exitUsage    = 2
	exitRefused  = 3
	exitNotFound = 4
)

const exitCodesHelp = `hudifs ends with one of these statuses:

  0  done
  1  it failed: damaged data, no rights, a full disk, FUSE missing, ...
  2  wrong usage: an unknown flag, a bad value, too few arguments
  3  refused: not a Hudi table, a version or format that hudifs cannot read,
     or a view that the table can no longer answer
  4  no such file, folder or view

What went wrong is one line on standard error. hudifs mount without --foreground
gives the status of the daemon that it starts.
`

// usageError is a mistake in the command line, the environment or the configuration file.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// exitStatus is what the process ends with after an error.
func exitStatus(err error) int {
	var usage usageError
	var daemon daemonError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &daemon):
		return daemon.status
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, views.ErrRefused), errors.Is(err, views.ErrStale), errors.Is(err, hudi.ErrNotTable),
		errors.Is(err, hudi.ErrUnsupported), errors.Is(err, hudi.ErrRefused), errors.Is(err, hudi.ErrCleaned):
		return exitRefused
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, storage.ErrNotExist):
		return exitNotFound
	default:
		return exitFailed
	}
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "hudifs",
		Short: "Hudi tables as folders of plain Parquet files",
		Long: `hudifs shows Apache Hudi tables as read-only folders of plain Parquet files: the
newest snapshot, the snapshot at any earlier instant, and what changed between two
instants. Anything that reads Parquet reads them, without Spark and without a JVM.`,
		Example: `  hudifs mount /data/trips /mnt/trips
  duckdb -c "SELECT count(*) FROM '/mnt/trips/latest/**/*.parquet'"
  hudifs umount /mnt/trips`,
		Args:          usageArgs(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(
		newMountCommand(), newUmountCommand(), newLsCommand(), newCatCommand(), newCpCommand(), newTimelineCommand(),
		newCacheCommand(), newVersionCommand(),
		&cobra.Command{Use: "exit-codes", Short: "The exit statuses of hudifs", Long: exitCodesHelp},
		&cobra.Command{Use: "configuration", Short: "Flags, environment and configuration file", Long: configurationHelp},
	)
	return root
}

// usageArgs makes a wrong number of arguments a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
		}
		return nil
	}
}

func main() {
	if isHelper(os.Args) {
		os.Exit(helper())
	}
	err := run()
	tell(err)
	os.Exit(exitStatus(err))
}

// run does what the command line says.
func run() error {
	ctx := context.Background()
	root := newRootCommand()
	if cmd, _, err := root.Find(os.Args[1:]); err == nil && cmd.Name() != "mount" { // which listens to signals by itself
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(ctx, stop) // a second signal ends what does not heed the first, such as a file system that hangs
	}
	return contain.Call(func() error { return root.ExecuteContext(ctx) })
}

// tell says what went wrong, unless a daemon has done so.
func tell(err error) {
	if err == nil || errors.As(err, new(daemonError)) {
		return
	}
	fmt.Fprintln(os.Stderr, "hudifs:", oneLine(err))
	if p, ok := errors.AsType[*contain.PanicError](err); ok {
		fmt.Fprintf(os.Stderr, "%s", p.Stack)
	}
}

func oneLine(err error) string {
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}
