package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
)

// loopbackVar makes this program show one folder as another: "FROM:TO". Where
// it is stopped, every call on TO hangs, as on a network file system whose
// server is gone.
const loopbackVar = "HUDIFS_TEST_LOOPBACK"

func serveLoopback(dirs string) {
	from, to, _ := strings.Cut(dirs, ":")
	root, err := gofuse.NewLoopbackRoot(from)
	if err == nil {
		server, mountErr := gofuse.Mount(to, root, nil)
		if err = mountErr; err == nil {
			server.Wait()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// loopback shows a folder as another one, until the process is stopped.
func loopback(t *testing.T, from string) (dir string, server *os.Process) {
	t.Helper()
	needFUSE(t)
	dir = filepath.Join(tempDir(t), "loop")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), loopbackVar+"="+from+":"+dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = exec.Command("fusermount3", "-u", "-z", dir).Run()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	eventually(t, "the loopback is mounted", func() bool { return isMounted(t, dir) })
	return dir, cmd.Process
}

// soon fails the test where something hangs.
func soon(t *testing.T, what string, do func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: hangs", what)
	}
}

// TestStorageHangs: where the folder of the table hangs, what is known is still
// told, who is interrupted is let go, and the daemon ends when it is told to.
func TestStorageHangs(t *testing.T) {
	dir, server := loopback(t, table(t, "demo"))
	// What a stopped server has taken already cannot be interrupted, nor does who waits for it end: no look of the daemon's own may be under way.
	m, cmd := inForeground(t, dir, "--poll-interval", "1h")
	file := firstFile(t, m, "latest")
	known := []string{"status", "configuration", "timeline", "partitions", "schema"}
	for _, name := range known {
		readFile(t, m.path(".hudi", name))
	}
	if err := server.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for _, name := range known {
		soon(t, name, func() error {
			_, err := os.ReadFile(m.path(".hudi", name))
			return err
		})
	}
	soon(t, "a reader that is interrupted", func() error {
		cat := exec.Command("cat", file)
		if err := cat.Start(); err != nil {
			return err
		}
		eventually(t, "it reads", func() bool {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", cat.Process.Pid))
			return strings.HasPrefix(string(text), "cat")
		})
		time.Sleep(50 * time.Millisecond) // nothing tells when it waits for good
		if err := cat.Process.Signal(os.Interrupt); err != nil {
			return err
		}
		_ = cat.Wait()
		if s := cat.ProcessState.Sys().(syscall.WaitStatus); !s.Signaled() {
			return fmt.Errorf("it was not interrupted, but ended with status %d", s.ExitStatus())
		}
		return nil
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	soon(t, "the daemon that is told to end", cmd.Wait)
	if isMounted(t, m.dir) {
		t.Error("still mounted")
	}
}
