package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/hudifs/hudifs/fusefs"
	"github.com/hudifs/hudifs/internal/contain"
)

const (
	// drainTime is how long a daemon that was told to end goes on serving files that are open.
	drainTime = 30 * time.Second
	// closeTime is how long it then waits for a storage that may hang.
	closeTime = 5 * time.Second
)

// mountLog is the log of a mount, whose level changes while it is written.
type mountLog struct {
	*slog.Logger
	file  *os.File // nil where nothing is written
	usual slog.Level
	level slog.LevelVar
}

func newMountLog(f *os.File, usual slog.Level) *mountLog {
	l := &mountLog{file: f, usual: usual}
	l.level.Set(usual)
	to := io.Discard
	if f != nil {
		to = f
	}
	l.Logger = slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: &l.level}))
	return l
}

// toggle goes from the usual level to that of debugging, or back; from debugging as the usual one to that of information.
func (l *mountLog) toggle() {
	next := slog.LevelDebug
	if l.level.Level() == slog.LevelDebug {
		next = max(l.usual, slog.LevelInfo)
	}
	// In a moment when both levels show it.
	if next == slog.LevelDebug {
		l.level.Set(next)
	}
	l.Info("log level changes", "level", next)
	l.level.Set(next)
}

// serve mounts the table and stays until it is unmounted or told to end. ready is called when the mount can be used.
func serve(ctx context.Context, c *config, tableDir, mountpoint, cacheDir string, log *mountLog, ready func() error) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	end, hangups, verbosity := notify(os.Interrupt, syscall.SIGTERM), notify(syscall.SIGHUP), notify(syscall.SIGUSR2)
	defer func() {
		for _, c := range []chan os.Signal{end, hangups, verbosity} {
			signal.Stop(c)
		}
	}()

	opening, opened := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	t, err := openTable(opening, c, tableDir, cacheDir, log.Logger)
	opened()
	if err != nil {
		return err
	}
	server, err := fusefs.Mount(t.Root(), mountpoint, c.fuseOptions(tableDir, log.Logger))
	if err != nil {
		return errors.Join(err, t.Close())
	}
	t.OnChange(server.Invalidate)
	var beside sync.WaitGroup
	beside.Go(func() { t.Run(ctx) })
	beside.Go(func() { onEach(ctx, verbosity, log.toggle) })
	beside.Go(func() {
		onEach(ctx, hangups, func() {
			log.Info("looking for new commits, as SIGHUP asks")
			if err := t.Refresh(ctx); err != nil && ctx.Err() == nil {
				log.Warn("refresh failed", contain.LogArgs(err)...)
			}
		})
	})
	defer func() {
		stop()
		closed := make(chan error, 1)
		go func() {
			beside.Wait()
			closed <- t.Close()
		}()
		select {
		case closeErr := <-closed:
			err = errors.Join(err, closeErr)
		case <-time.After(closeTime):
			log.Warn("the storage does not answer; not waited for any longer", "waited", closeTime)
		}
		log.Info("ended", "mountpoint", mountpoint)
	}()
	log.Info("mounted", "table", tableDir, "mountpoint", mountpoint, "version", version, "pid", os.Getpid())
	if err := ready(); err != nil {
		return errors.Join(err, server.Unmount())
	}
	select {
	case <-server.Done():
		return nil
	case s := <-end:
		log.Info("ending", "signal", s.String())
		return drain(server, end, log)
	}
}

// notify gives a channel for signals. Those that come while one waits there are one with it.
func notify(signals ...os.Signal) chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, signals...)
	return c
}

func onEach(ctx context.Context, c <-chan os.Signal, do func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c:
			do()
		}
	}
}

// drain unmounts, and waits for those who still read.
func drain(server *fusefs.Server, end <-chan os.Signal, log *mountLog) error {
	if err := server.Unmount(); err != nil {
		return err
	}
	select {
	case <-server.Done():
	case <-time.After(drainTime):
		log.Warn("files are still open; their readers will get errors", "waited", drainTime)
	case s := <-end:
		log.Warn("ending at once", "signal", s.String())
	}
	return nil
}
