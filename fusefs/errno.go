package fusefs

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"syscall"

	"github.com/hudifs/hudifs/internal/contain"
	"github.com/hudifs/hudifs/views"
)

// errnos is the one place where errors become numbers. The first match counts; what matches nothing is EIO.
var errnos = []struct {
	err   error
	errno syscall.Errno
	level slog.Level
}{
	{context.Canceled, syscall.EINTR, slog.LevelDebug},
	{views.ErrStale, syscall.ESTALE, slog.LevelWarn}, // before what may have caused it
	{fs.ErrNotExist, syscall.ENOENT, slog.LevelDebug},
	{fs.ErrPermission, syscall.EACCES, slog.LevelWarn},
	{views.ErrRefused, syscall.EOPNOTSUPP, slog.LevelInfo},
	{views.ErrNoSpace, syscall.ENOSPC, slog.LevelError},
}

// errnoOf gives the number for an error and how loudly to log it.
func errnoOf(err error) (syscall.Errno, slog.Level) {
	for _, row := range errnos {
		if errors.Is(err, row.err) {
			return row.errno, row.level
		}
	}
	return syscall.EIO, slog.LevelError
}

// fail turns an error into a number and logs it once, with the path that the application used and the cause.
func (m *mount) fail(op, path string, err error) syscall.Errno {
	errno, level := errnoOf(err)
	about := append([]any{"fs", m.name, "path", "/" + path, "errno", errno.Error()}, contain.LogArgs(err)...)
	m.log.Log(context.Background(), level, op+" failed", about...)
	return errno
}
