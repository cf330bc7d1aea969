package fusefs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrNotMounted says that no hudifs mount lies at a place.
var ErrNotMounted = errors.New("not a hudifs mount")

// Unmount takes away a hudifs mount that any process made; other mounts, and folders, are ErrNotMounted. Lazy lets go of
// a mount that is in use: it vanishes from the directory tree now, and for its users when they are done.
func Unmount(mountpoint string, lazy bool) error {
	path, err := resolve(mountpoint)
	if err != nil {
		return err
	}
	kind, err := typeAt(path)
	if err != nil {
		return err
	}
	if kind != FSType {
		return fmt.Errorf("%s: %w", mountpoint, ErrNotMounted)
	}
	if lazy {
		return detach(path)
	}
	return unmount(path, 0)
}

// clearDead resolves a mountpoint, and takes away what a killed hudifs left there: a mount that answers ENOTCONN to everything, and
// ECONNABORTED to what it was asked before it was killed.
func clearDead(mountpoint string) (string, error) {
	path, err := resolve(mountpoint)
	if err != nil {
		return "", err
	}
	for {
		kind, err := typeAt(path)
		if err != nil {
			return "", err
		}
		if kind != FSType {
			break
		}
		// Unlike stat, which the kernel may answer from memory, statfs always asks the daemon.
		var st syscall.Statfs_t
		if err := syscall.Statfs(path, &st); err == nil {
			return "", fmt.Errorf("%s is a hudifs mount already", path)
		} else if !errors.Is(err, syscall.ENOTCONN) && !errors.Is(err, syscall.ECONNABORTED) {
			return "", &os.PathError{Op: "statfs", Path: path, Err: err}
		}
		if err := detach(path); err != nil {
			return "", fmt.Errorf("a killed hudifs left %s mounted: %w", path, err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", path)
	}
	return path, nil
}

// resolve gives the path that the list of mounts has. A dead mount, or one of another user, cannot be looked at; its parent can.
func resolve(mountpoint string) (string, error) {
	path, err := filepath.Abs(mountpoint)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		parent, err := filepath.EvalSymlinks(filepath.Dir(path))
		return filepath.Join(parent, filepath.Base(path)), err
	}
	return real, err
}

// typeAt is the type of the topmost mount at a path, "" where there is none.
func typeAt(path string) (string, error) {
	list, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	kind := ""
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(string(list)) {
		// id parent major:minor root mountpoint options [optional fields] - type source options
		before, after, ok := strings.Cut(line, " - ")
		if fields := strings.Fields(before); ok && len(fields) > 4 && unescape.Replace(fields[4]) == path {
			kind, _, _ = strings.Cut(after, " ")
		}
	}
	return kind, nil
}

func detach(path string) error { return unmount(path, syscall.MNT_DETACH) }

// unmount takes a mount away as root, or as its owner with fusermount3's help.
func unmount(path string, flags int) error {
	if os.Geteuid() == 0 {
		if err := syscall.Unmount(path, flags); err != nil {
			return &os.PathError{Op: "umount", Path: path, Err: err}
		}
		return nil
	}
	args := []string{"-u", path}
	if flags&syscall.MNT_DETACH != 0 {
		args = []string{"-u", "-z", path}
	}
	tool, err := fusermount()
	if err != nil {
		return err
	}
	var said bytes.Buffer
	cmd := exec.Command(tool, args...) //nolint:noctx // an unmount that was begun has to end
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("umount %s: %s: %w", path, bytes.TrimSpace(said.Bytes()), err)
	}
	return nil
}

// fusermount finds the helper even where PATH is empty, as in the environment of a systemd mount unit.
func fusermount() (string, error) {
	for _, name := range []string{"fusermount3", "/usr/bin/fusermount3", "/bin/fusermount3", "fusermount"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("fusermount3 not found: install the package fuse3")
}

// mayAllowOther tells an ordinary user beforehand what fusermount3 would say, with no more than a status for us.
func mayAllowOther() error {
	const path = "/etc/fuse.conf"
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // fusermount3 may read it where we may not
	}
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) == "user_allow_other" {
			return nil
		}
	}
	return fmt.Errorf("access for other users is not allowed here: %s lacks the line user_allow_other", path)
}
