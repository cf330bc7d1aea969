package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A mounted table, unmounted when the test ends.
type mounted struct {
	dir string
	as  *syscall.Credential
}

// mount mounts a table the way a person does, and fails the test where that
// fails.
func mount(t *testing.T, table string, flags ...string) mounted {
	t.Helper()
	m, r := tryMount(t, nil, table, flags...)
	if r.code != 0 {
		t.Fatalf("mount: exit status %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	return m
}

// tryMount runs `hudifs mount` with a cache and a mount point of its own, as
// another user where one is given.
func tryMount(t *testing.T, as *syscall.Credential, table string, flags ...string) (mounted, result) {
	t.Helper()
	needFUSE(t)
	home := tempDir(t)
	m := mounted{filepath.Join(home, "mnt"), as}
	cache := filepath.Join(home, "cache")
	for _, d := range []string{m.dir, cache} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if as != nil {
			if err := os.Chown(d, int(as.Uid), int(as.Gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
	args := append([]string{"mount", "--cache-dir", cache}, flags...)
	r := command(t, as, env.bin, append(args, table, m.dir)...)
	if r.code == 0 {
		t.Cleanup(func() { m.unmount(t) })
	}
	if in := isMounted(t, m.dir); in != (r.code == 0) {
		t.Fatalf("exit status %d, and mounted: %v\n%s%s", r.code, in, r.stdout, r.stderr)
	}
	return m, r
}

// unmount unmounts what is mounted, and fails the test where it stays.
func (m mounted) unmount(t *testing.T) {
	t.Helper()
	if !isMounted(t, m.dir) {
		return
	}
	// The test is over: its context is done, so a command of its own.
	run := func() *exec.Cmd {
		cmd := exec.Command(env.bin, "umount", m.dir)
		if m.as != nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: m.as}
			cmd.Dir = "/"
		}
		return cmd
	}
	out, err := run().CombinedOutput()
	for n := 0; err != nil && n < 20; n++ { // a reader may be about to close its last file
		time.Sleep(100 * time.Millisecond)
		out, err = run().CombinedOutput()
	}
	if err != nil {
		t.Errorf("umount: %v\n%s", err, out)
	} else if isMounted(t, m.dir) {
		t.Errorf("%s is still mounted after umount", m.dir)
	}
}

// path returns the folder of a view or of something below it.
func (m mounted) path(elem ...string) string {
	return filepath.Join(append([]string{m.dir}, elem...)...)
}

// renders returns how many files the daemon has rendered so far.
func (m mounted) renders(t *testing.T) int {
	t.Helper()
	var status struct {
		Renders *int `json:"renders"`
	}
	text, err := os.ReadFile(m.path(".hudi", "status"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &status); err != nil {
		t.Fatalf(".hudi/status: %v\n%s", err, text)
	}
	if status.Renders == nil {
		t.Fatalf(".hudi/status has no \"renders\"\n%s", text)
	}
	return *status.Renders
}

func isMounted(t *testing.T, dir string) bool {
	t.Helper()
	f, err := os.Open("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if fields := strings.Fields(s.Text()); len(fields) > 1 && fields[1] == dir {
			return true
		}
	}
	return false
}
