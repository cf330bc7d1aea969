package fusefs

import (
	"errors"
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

// serveVar makes a process serve a mount until it is killed.
const serveVar = "HUDIFS_TEST_SERVE"

// served mounts a small tree in a process of its own.
func served(t *testing.T, mnt string) *exec.Cmd {
	t.Helper()
	needFUSE(t)
	check(t, os.Mkdir(mnt, 0o755))
	cmd := exec.Command(os.Args[0], "-test.run=^TestDeadMountIsReplaced$")
	cmd.Env = append(os.Environ(), serveVar+"="+mnt)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	_, err = io.ReadFull(out, make([]byte, 8))
	check(t, err)
	return cmd
}

func TestDeadMountIsReplaced(t *testing.T) {
	if mnt, ok := os.LookupEnv(serveVar); ok {
		s, err := Mount(smallTree(), mnt, options(io.Discard))
		check(t, err)
		os.Stdout.WriteString("mounted\n")
		s.Wait()
		return
	}
	mnt := filepath.Join(t.TempDir(), "a b")
	cmd := served(t, mnt)
	check(t, cmd.Process.Kill())
	cmd.Wait()
	s, err := Mount(smallTree(), mnt, options(io.Discard))
	check(t, err)
	if _, err := Mount(smallTree(), mnt, nil); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second mount at the same place: %v", err)
	}
	check(t, s.Unmount())
	s.Wait()
}

// A daemon may be killed just when the next one asks whether it lives: then the answer is another one.
func TestMountDiesWhenAsked(t *testing.T) {
	mnt := filepath.Join(t.TempDir(), "mnt")
	cmd := served(t, mnt)
	check(t, cmd.Process.Signal(syscall.SIGSTOP))
	type result struct {
		s   *Server
		err error
	}
	mounted := make(chan result, 1)
	go func() {
		s, err := Mount(smallTree(), mnt, options(io.Discard))
		mounted <- result{s, err}
	}()
	time.Sleep(200 * time.Millisecond) // nothing tells when it has asked
	check(t, cmd.Process.Kill())
	r := <-mounted
	check(t, r.err)
	check(t, r.s.Unmount())
	r.s.Wait()
}

// A mount in use vanishes from the tree, and serves what is open until it is closed.
func TestUnmountInUse(t *testing.T) {
	if mnt, ok := inChild(); ok {
		f, err := os.Open(mnt + "/latest/a b.parquet")
		check(t, err)
		os.Stdout.WriteString("opened\n")
		for _, err = os.Stat(mnt + "/latest"); err == nil; _, err = os.Stat(mnt + "/latest") {
			time.Sleep(time.Millisecond)
		}
		b, err := io.ReadAll(f)
		check(t, err)
		if len(b) != 300_000 {
			t.Errorf("%d bytes", len(b))
		}
		check(t, f.Close())
		return
	}
	needFUSE(t)
	s, mnt := mustMount(t, smallTree(), options(io.Discard))
	cmd := child(t, mnt)
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	_, err = io.ReadFull(out, make([]byte, 7))
	check(t, err)
	check(t, s.Unmount())
	rest, _ := io.ReadAll(out)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, rest)
	}
	select {
	case <-s.Done():
	case <-time.After(10 * time.Second):
		t.Error("still serving after the last close")
	}
}

func TestUnmountOnlyOurs(t *testing.T) {
	dir := t.TempDir()
	if err := Unmount(dir, false); !errors.Is(err, ErrNotMounted) {
		t.Errorf("a folder: %v", err)
	}
	if err := Unmount("/proc", true); !errors.Is(err, ErrNotMounted) {
		t.Errorf("another file system: %v", err)
	}
	needFUSE(t)
	s, mnt := mustMount(t, smallTree(), options(io.Discard))
	check(t, Unmount(mnt, false))
	s.Wait()
	check(t, s.Unmount())
}

func TestMountRefusals(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(file, nil, 0o600))
	for path, want := range map[string]string{file: "not a directory", file + "-none": "no such file"} {
		if _, err := Mount(smallTree(), path, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// The tests again as a user without rights, who mounts through fusermount3.
func TestOrdinaryUser(t *testing.T) {
	needFUSE(t)
	needRoot(t)
	const nobody = 65534
	dir := t.TempDir()
	check(t, os.Chmod(filepath.Dir(dir), 0o755))
	bin, err := os.ReadFile(os.Args[0])
	check(t, err)
	exe := filepath.Join(dir, "fusefs.test")
	check(t, os.WriteFile(exe, bin, 0o755))
	tmp := filepath.Join(dir, "tmp")
	check(t, os.Mkdir(tmp, 0o700))
	check(t, os.Chown(tmp, nobody, nobody))
	// Where /dev/fuse is closed to users, they get one of their own in a mount namespace that ends with the test.
	script := `test "$(stat -c %a /dev/fuse)" = 666 || { mknod -m 666 "$1/fuse" c 10 229 && mount --bind "$1/fuse" /dev/fuse; } || exit
		exec setpriv --reuid $2 --regid $2 --clear-groups "$1/fusefs.test" -test.run="$3"`
	cmd := exec.Command("unshare", "-m", "sh", "-c", script, "sh", dir, strconv.Itoa(nobody),
		"^Test(NamesAndAttributes|Reads|Mmap|ReadOnly|Xattrs|UnmountInUse|UnmountOnlyOurs|DeadMountIsReplaced)$")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + tmp, "CI=true"}
	cmd.Dir = tmp
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
