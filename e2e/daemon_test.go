package e2e

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cache is the cache folder of a mount, and log is its daemon's log.
func (m mounted) cache() string { return filepath.Join(filepath.Dir(m.dir), "cache") }

func (m mounted) log(t *testing.T) string {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(m.cache(), "log", "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("logs %q, %v", logs, err)
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// daemon returns the process id of a mount's daemon.
func (m mounted) daemon(t *testing.T) int {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range processes {
		args, err := os.ReadFile(p)
		if err != nil || !strings.HasSuffix(string(args), "\x00"+m.dir+"\x00") {
			continue // gone, or another's
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(p)))
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	t.Fatal("no daemon of this mount is running")
	return 0
}

func signalDaemon(t *testing.T, m mounted, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(m.daemon(t), s); err != nil {
		t.Fatal(err)
	}
}

// eventually waits for something that takes a moment.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

// again mounts anew what was mounted, on the same folder with the same cache.
func (m mounted) again(t *testing.T, table string) {
	t.Helper()
	command(t, m.as, env.bin, "mount", "--cache-dir", m.cache(), table, m.dir).must(t)
}

// TestKilledDaemon: what a killed daemon leaves behind is a mount on which
// every call fails. The next one takes it away by itself, and everything is
// there again within two seconds.
func TestKilledDaemon(t *testing.T) {
	for name, as := range map[string]*syscall.Credential{"root": nil, "user": nobody} {
		t.Run(name, func(t *testing.T) {
			if as != nil {
				needRoot(t)
			}
			table := table(t, "demo")
			m, r := tryMount(t, as, table)
			r.must(t)
			look := func() ([]byte, error) {
				cmd := exec.Command("sh", "-c", `cat "$0"/latest/*/*.parquet`, m.dir)
				if as != nil {
					cmd.SysProcAttr, cmd.Dir = &syscall.SysProcAttr{Credential: as}, "/"
				}
				return cmd.Output()
			}
			before, err := look()
			if err != nil || len(before) == 0 {
				t.Fatalf("%d bytes, %v", len(before), err)
			}
			const limit = 2 * time.Second
			best := time.Hour // the machine may be busy with something else once
			for range 3 {
				start := time.Now()
				signalDaemon(t, m, syscall.SIGKILL)
				eventually(t, "the mount is dead", func() bool {
					_, err := os.ReadDir(m.dir)
					return errors.Is(err, syscall.ENOTCONN) || as != nil && errors.Is(err, syscall.EACCES)
				})
				m.again(t, table)
				after, err := look()
				best = min(best, time.Since(start))
				if err != nil || string(after) != string(before) {
					t.Fatalf("%d bytes instead of %d, %v", len(after), len(before), err)
				}
			}
			if best > limit {
				t.Errorf("usable again after %v, not within %v", best, limit)
			}
			t.Logf("usable again after %v", best)
			if n := strings.Count(readFile(t, "/proc/self/mounts"), " "+m.dir+" "); n != 1 {
				t.Errorf("%d mounts on one folder", n)
			}
		})
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDeadMountOfOthers: only our own kind of dead mount is taken away.
func TestDeadMountOfOthers(t *testing.T) {
	needFUSE(t)
	needRoot(t)
	dead := filepath.Join(tempDir(t), "mnt")
	if err := os.Mkdir(dead, 0o755); err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Open("/dev/fuse", syscall.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("other", dead, "fuse.other", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)); err != nil {
		t.Fatal(err)
	}
	defer syscall.Unmount(dead, syscall.MNT_DETACH)
	syscall.Close(fd)
	wantOneLine(t, "a dead mount of another kind", hudifs(t, "mount", "--cache-dir", tempDir(t), table(t, "demo"), dead))
	if !isMounted(t, dead) {
		t.Error("it was taken away")
	}
}

// inForeground starts a mount of a table that stays in the foreground, and waits
// until it can be used.
func inForeground(t *testing.T, table string, flags ...string) (mounted, *exec.Cmd) {
	t.Helper()
	needFUSE(t)
	home := tempDir(t)
	m := mounted{dir: filepath.Join(home, "mnt")}
	if err := os.Mkdir(m.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"mount", "--foreground", "--cache-dir", m.cache()}, flags...)
	cmd := exec.Command(env.bin, append(args, table, m.dir)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = exec.Command("fusermount3", "-u", "-z", m.dir).Run()
	})
	eventually(t, "mounted", func() bool { return isMounted(t, m.dir) })
	return m, cmd
}

// TestTermDrains: SIGTERM takes the mount away at once, and the daemon ends
// when the last file is closed.
func TestTermDrains(t *testing.T) {
	m, cmd := inForeground(t, table(t, "demo"), "--no-passthrough")
	name := firstFile(t, m, "latest")
	want := readFile(t, name)
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "unmounted", func() bool { return !isMounted(t, m.dir) })
	if err := syscall.Kill(cmd.Process.Pid, 0); err != nil {
		t.Errorf("the daemon has gone while a file was open: %v", err)
	}
	if got, err := io.ReadAll(f); err != nil || string(got) != want {
		t.Errorf("what was open gives %d bytes of %d, %v", len(got), len(want), err)
	}
	f.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// TestSecondTermEnds: who does not want to wait for readers sends it again.
func TestSecondTermEnds(t *testing.T) {
	m, cmd := inForeground(t, table(t, "demo"), "--no-passthrough")
	f, err := os.Open(firstFile(t, m, "latest"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for n := range 2 {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			eventually(t, "unmounted", func() bool { return !isMounted(t, m.dir) })
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if _, err := f.Read(make([]byte, 1)); !errors.Is(err, syscall.ENOTCONN) && !errors.Is(err, syscall.ECONNABORTED) {
		t.Errorf("a read without a daemon: %v", err)
	}
}

// TestHangup: SIGHUP makes the daemon look for new commits at once.
func TestHangup(t *testing.T) {
	table := table(t, "demo")
	commit := filepath.Join(table, ".hoodie", "timeline", "20261130032557108_20261130032600061.deltacommit")
	if err := os.Rename(commit, commit+".later"); err != nil {
		t.Fatal(err)
	}
	m := mount(t, table, "--poll-interval", "1h")
	newest := func() string {
		value := make([]byte, 64)
		n, err := syscall.Getxattr(m.path("latest"), "user.hudi.instant", value)
		if err != nil {
			t.Fatal(err)
		}
		return string(value[:n])
	}
	if got := newest(); got >= "20261130032557108" {
		t.Fatalf("before the commit latest is at %s", got)
	}
	if err := os.Rename(commit+".later", commit); err != nil {
		t.Fatal(err)
	}
	signalDaemon(t, m, syscall.SIGHUP)
	eventually(t, "the commit is seen", func() bool { return newest() == "20261130032557108" })
}

// TestVerbosity: SIGUSR2 switches debug lines on, and off again.
func TestVerbosity(t *testing.T) {
	m := mount(t, table(t, "demo"))
	for n, name := range []string{"before", "during", "after"} {
		if n > 0 {
			signalDaemon(t, m, syscall.SIGUSR2)
			eventually(t, "the log tells of the signal", func() bool { return strings.Count(m.log(t), "log level changes") == n })
		}
		if _, err := os.Stat(m.path("none-" + name)); !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	log := m.log(t)
	for name, want := range map[string]bool{"before": false, "during": true, "after": false} {
		if got := strings.Contains(log, "none-"+name); got != want {
			t.Errorf("a failed lookup %s is in the log: %v", name, got)
		}
	}
}

// TestPoorEnvironment mounts as a boot process does: an empty environment, no
// home, relative paths.
func TestPoorEnvironment(t *testing.T) {
	needFUSE(t)
	needRoot(t)
	own := fmt.Sprintf("/var/tmp/hudifs-%d", nobody.Uid)
	for _, c := range []struct {
		name  string
		as    *syscall.Credential
		flags []string
	}{
		{"root", &syscall.Credential{}, []string{"--cache-dir", "cache"}},
		{"user", nobody, []string{"--cache-dir", "cache"}},
		{"user without a home", nobody, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := tempDir(t)
			m := mounted{filepath.Join(home, "mnt"), c.as}
			for _, d := range []string{m.dir, m.cache()} {
				if err := os.Mkdir(d, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Chown(d, int(c.as.Uid), int(c.as.Gid)); err != nil {
					t.Fatal(err)
				}
			}
			unpack(t, filepath.Join(env.root, "testdata", "demo", "table.zip"), filepath.Join(home, "demo"))
			keeps := m.cache()
			if c.flags == nil {
				keeps = own
				if _, err := os.Lstat(own); err == nil {
					t.Skipf("somebody uses %s", own)
				}
				t.Cleanup(func() { os.RemoveAll(own) })
			}
			run := func(args ...string) result {
				return command(t, c.as, "/usr/bin/env", append([]string{"-i", "-C", home, env.bin}, args...)...)
			}
			run(append(append([]string{"mount"}, c.flags...), "demo", "mnt")...).must(t)
			t.Cleanup(func() { m.unmount(t) })
			cmd := exec.Command("sh", "-c", `cat "$0"/latest/*/*.parquet | wc -c`, m.dir)
			cmd.SysProcAttr, cmd.Dir = &syscall.SysProcAttr{Credential: c.as}, "/"
			if out, err := cmd.Output(); err != nil || len(out) < len("1000\n") {
				t.Errorf("%q bytes, %v", out, err)
			}
			for _, below := range []string{"files", "log"} {
				if _, err := os.Stat(filepath.Join(keeps, below)); err != nil {
					t.Error(err)
				}
			}
			run("umount", "mnt").must(t)
		})
	}
}

// TestMountHelper calls the program the way mount(8) does for a line of fstab.
func TestMountHelper(t *testing.T) {
	needFUSE(t)
	home := tempDir(t)
	m := mounted{dir: filepath.Join(home, "mnt")}
	if err := os.Mkdir(m.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	helper := filepath.Join(home, "mount.hudifs")
	if err := os.Symlink(env.bin, helper); err != nil {
		t.Fatal(err)
	}
	table := table(t, "demo")
	const usual = "rw,noauto,nofail,_netdev,nosuid,x-systemd.automount,"
	run := func(options string) result {
		return command(t, nil, "/usr/bin/env", "-i", helper, table, m.dir, "-o", usual+options)
	}
	if r := run("cache-dir=" + m.cache() + ",file_mode=0400"); r.code != 0 {
		t.Fatalf("exit status %d\n%s", r.code, r.stderr)
	}
	defer m.unmount(t)
	if info, err := os.Stat(firstFile(t, m, "latest")); err != nil || info.Mode().Perm() != 0o400 {
		t.Errorf("%v, %v", info, err)
	}
	for options, want := range map[string]int{"cache-dir=" + m.cache(): 32, "no-such-option": 1, "grace=never": 1} {
		r := run(options)
		wantOneLine(t, options, r)
		if r.code != want {
			t.Errorf("%s: exit status %d, want %d", options, r.code, want)
		}
	}
}
