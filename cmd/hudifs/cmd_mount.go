package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

func newMountCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mount [flags] TABLE MOUNTPOINT",
		Short: "Mount a table, or a folder of tables, read-only",
		Long: `mount shows TABLE, the folder of a Hudi table or a folder with tables below it, at the
existing folder MOUNTPOINT:

  latest/                        the newest snapshot
  asof/<instant>/                the snapshot at an instant or a time
  incremental/<begin>..<end>/    what changed after begin, up to end
  cdc/<begin>..<end>/            change records, where the table logs changes
  diff/<a>..<b>/                 the rows that differ between asof/<a> and asof/<b>
  read_optimized/                the newest base files, without their logs
  .hudi/                         timeline, schema, configuration, status

It returns when the mount can be used; a daemon goes on in the background, follows the
table's new commits, and ends with hudifs umount or on SIGTERM, when it goes on serving
what is open for a while. SIGHUP makes it look for new commits at once, SIGUSR2 switches
debug lines in its log on and off.

Each flag can be set in the environment (--cache-dir is HUDIFS_CACHE_DIR) and in the file
that --config names; see hudifs help configuration.`,
		Example: `  hudifs mount /data/trips /mnt/trips
  hudifs mount --foreground --log-level debug ./trips ./mnt
  sudo hudifs mount --allow-other --uid 1000 --gid 1000 /data/warehouse /mnt/warehouse`,
		Args: usageArgs(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error { return runMount(cmd, args[0], args[1]) },
	}
	addTableFlags(cmd.Flags())
	addMountFlags(cmd.Flags())
	return cmd
}

func runMount(cmd *cobra.Command, tableDir, mountpoint string) error {
	c, err := loadConfig(cmd.Flags())
	if err != nil {
		return err
	}
	if tableDir, err = filepath.Abs(tableDir); err != nil {
		return err
	}
	if mountpoint, err = filepath.Abs(mountpoint); err != nil {
		return err
	}
	if !c.Foreground && !isDaemon() {
		return startDaemon()
	}
	cacheDir, cacheErr := c.cacheFolder()
	if cacheErr != nil && c.CacheDir != "" {
		return cacheErr
	}
	if cacheErr != nil {
		warn(cmd, "merged files are kept in memory", cacheErr)
	}
	log, err := c.mountLog(cacheDir, mountpoint)
	if err != nil && c.LogFile != "" {
		return err
	}
	if err != nil { // such as a cache disk that is full, or read-only: no reason not to show the table
		warn(cmd, "nothing is logged", err)
	}
	return serve(cmd.Context(), c, tableDir, mountpoint, cacheDir, log, func() error { return detachDaemon(log.file) })
}

// warn tells who started the command of something that it does without.
func warn(cmd *cobra.Command, what string, err error) {
	cmd.PrintErrln("hudifs: warning:", what+":", oneLine(err))
}

// mountLog is the log of a mount: standard error in the foreground, otherwise a file. With an error it swallows everything.
func (c *config) mountLog(cacheDir, mountpoint string) (*mountLog, error) {
	name := c.LogFile
	switch {
	case name != "":
	case c.Foreground:
		return newMountLog(os.Stderr, c.level), nil
	case cacheDir == "":
		return newMountLog(nil, c.level), nil
	default:
		base := strings.ReplaceAll(strings.Trim(mountpoint, "/"), "/", "-")
		const longest = 200 // bytes, of the 255 that a name may have
		base = base[max(0, len(base)-longest):]
		name = filepath.Join(cacheDir, "log", base+".log")
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return newMountLog(nil, c.level), fmt.Errorf("log file: %w", err)
		}
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return newMountLog(nil, c.level), fmt.Errorf("log file: %w", err)
	}
	return newMountLog(f, c.level), nil
}
