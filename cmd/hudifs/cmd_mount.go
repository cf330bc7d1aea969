package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hudifs/hudifs/fusefs"
)

// drainTime is how long a daemon that was told to end goes on serving files that are open.
const drainTime = 30 * time.Second

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
table's new commits, and ends with hudifs umount or on SIGTERM. SIGHUP makes it look for
new commits at once.

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
	log, logFile, err := c.mountLog(cacheDir, mountpoint)
	if err != nil {
		return err
	}
	if cacheErr != nil {
		log.Warn("merged files are kept in memory", "err", cacheErr)
	}
	return serve(cmd.Context(), c, tableDir, mountpoint, cacheDir, log, func() error { return detachDaemon(logFile) })
}

// mountLog is where a mount logs to: standard error in the foreground, otherwise a file.
func (c *config) mountLog(cacheDir, mountpoint string) (*slog.Logger, *os.File, error) {
	name := c.LogFile
	switch {
	case name != "":
	case c.Foreground:
		return logTo(os.Stderr, c.level), nil, nil
	case cacheDir == "":
		return slog.New(slog.DiscardHandler), nil, nil
	default:
		base := strings.ReplaceAll(strings.Trim(mountpoint, "/"), "/", "-")
		const longest = 200 // bytes, of the 255 that a name may have
		base = base[max(0, len(base)-longest):]
		name = filepath.Join(cacheDir, "log", base+".log")
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return nil, nil, fmt.Errorf("log file: %w", err)
		}
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("log file: %w", err)
	}
	return logTo(f, c.level), f, nil
}

// serve mounts the table and stays until it is unmounted or told to end. ready is called when the mount can be used.
func serve(ctx context.Context, c *config, tableDir, mountpoint, cacheDir string, log *slog.Logger, ready func() error) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)

	opening, opened := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	t, err := openTable(opening, c, tableDir, cacheDir, log)
	opened()
	if err != nil {
		return err
	}
	server, err := fusefs.Mount(t.Root(), mountpoint, c.fuseOptions(tableDir, log))
	if err != nil {
		return errors.Join(err, t.Close())
	}
	t.OnChange(server.Invalidate)
	following := make(chan struct{})
	go func() {
		defer close(following)
		t.Run(ctx)
	}()
	defer func() {
		stop()
		<-following
		err = errors.Join(err, t.Close())
		log.Info("ended", "mountpoint", mountpoint)
	}()
	log.Info("mounted", "table", tableDir, "mountpoint", mountpoint, "version", version, "pid", os.Getpid())
	if err := ready(); err != nil {
		return errors.Join(err, server.Unmount())
	}
	return attend(ctx, server, t, signals, log)
}

// attend obeys signals until the mount is gone.
func attend(ctx context.Context, server *fusefs.Server, t *table, signals <-chan os.Signal, log *slog.Logger) error {
	for {
		select {
		case <-server.Done():
			return nil
		case s := <-signals:
			if s == syscall.SIGHUP {
				log.Info("looking for new commits", "signal", s.String())
				go func() {
					if err := t.Refresh(ctx); err != nil && ctx.Err() == nil {
						log.Warn("refresh failed", "err", err)
					}
				}()
				continue
			}
			log.Info("ending", "signal", s.String())
			return drain(server, signals, log)
		}
	}
}

// drain unmounts, and waits for those who still read.
func drain(server *fusefs.Server, signals <-chan os.Signal, log *slog.Logger) error {
	if err := server.Unmount(); err != nil {
		return err
	}
	limit := time.After(drainTime)
	for {
		select {
		case <-server.Done():
			return nil
		case <-limit:
			log.Warn("files are still open; their readers will get errors", "waited", drainTime)
			return nil
		case s := <-signals:
			if s != syscall.SIGHUP {
				log.Warn("ending at once", "signal", s.String())
				return nil
			}
		}
	}
}
