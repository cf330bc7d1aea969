package e2e

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// env is what the tests run with, found or made once by TestMain.
var env struct {
	root    string // of the repository
	bin     string // the hudifs under test
	python  string // of the virtual environment, empty where there is none
	noFUSE  string // why nothing can be mounted, empty where it can
	scratch string // a folder that everybody may enter, removed at the end
	oracles chan *oracle
}

func TestMain(m *testing.M) {
	if names := os.Getenv(mapVar); names != "" {
		serveMaps(names)
	}
	if dirs := os.Getenv(loopbackVar); dirs != "" {
		serveLoopback(dirs)
	}
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func runAll(m *testing.M) (int, error) {
	var err error
	if env.root, err = filepath.Abs(".."); err != nil {
		return 0, err
	}
	if env.scratch, err = os.MkdirTemp("", "hudifs-e2e-"); err != nil {
		return 0, err
	}
	if err = os.Chmod(env.scratch, 0o755); err != nil { // other users mount and read in it
		return 0, err
	}
	sweep, err := startSweeper(env.scratch)
	if err != nil {
		return 0, err
	}
	defer sweep()
	if env.bin, err = binary(); err != nil {
		return 0, err
	}
	if p := filepath.Join(env.root, ".venv", "bin", "python"); exec.Command(p, "-c", "import pyarrow, duckdb, polars, pandas, datafusion").Run() == nil {
		env.python = p
	}
	if _, err := exec.LookPath("fusermount3"); err != nil {
		env.noFUSE = "fusermount3 is not installed (make setup)"
	} else if _, err := os.Stat("/dev/fuse"); err != nil {
		env.noFUSE = err.Error()
	}
	env.oracles = make(chan *oracle, runtime.GOMAXPROCS(0))
	for range cap(env.oracles) {
		env.oracles <- &oracle{}
	}
	defer stopOracles()
	return m.Run(), nil
}

// binary returns the path of the program under test, built where the
// environment names none.
func binary() (string, error) {
	if p := os.Getenv("HUDIFS_BIN"); p != "" {
		return filepath.Abs(p)
	}
	p := filepath.Join(env.scratch, "hudifs")
	out, err := exec.Command("go", "build", "-buildvcs=false", "-o", p, filepath.Join(env.root, "cmd", "hudifs")).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building hudifs: %w\n%s", err, out)
	}
	return p, nil
}

// startSweeper starts a shell that waits until this process is gone, however
// it ended, and then unmounts and removes all that is left below dir. The
// returned function lets it do so at once and waits for it.
func startSweeper(dir string) (func(), error) {
	const script = `
		cat >/dev/null
		while read -r _ mnt _; do
			case $mnt in "$0"/*) fusermount3 -u -z "$mnt" 2>/dev/null || umount -l "$mnt" ;; esac
		done </proc/mounts
		rm -rf "$0"`
	cmd := exec.Command("/bin/sh", "-c", script, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		pipe.Close()
		_ = cmd.Wait()
	}, nil
}

// needFUSE skips the test where nothing can be mounted, and fails it in CI.
func needFUSE(t *testing.T) {
	t.Helper()
	if env.noFUSE != "" {
		missing(t, env.noFUSE)
	}
}

// needEngines skips the test where the Python engines are missing, and fails
// it in CI.
func needEngines(t *testing.T) {
	t.Helper()
	if env.python == "" {
		missing(t, "no engines: .venv is missing or incomplete (make setup)")
	}
}

// needRoot skips the test for everybody but root, and fails it in CI.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		missing(t, "only root can act as other users")
	}
}

func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// tempDir makes a folder that everybody may enter, gone when the test ends.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(env.scratch, "t-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// table unpacks the table of a case of ../testdata into a new folder.
func table(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(tempDir(t), name)
	unpack(t, filepath.Join(env.root, "testdata", name, "table.zip"), dir)
	return dir
}

func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	if err := unzip(archive, dir); err != nil {
		t.Fatal(err)
	}
}

func unzip(archive, dir string) error {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer z.Close()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range z.File {
		if err := unzipOne(f, dir); err != nil {
			return fmt.Errorf("%s: %s: %w", archive, f.Name, err)
		}
	}
	return nil
}

func unzipOne(f *zip.File, dir string) error {
	if !filepath.IsLocal(f.Name) {
		return errors.New("name leads out of the archive")
	}
	target := filepath.Join(dir, f.Name)
	if strings.HasSuffix(f.Name, "/") {
		return os.MkdirAll(target, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return errors.Join(err, out.Close())
	}
	return out.Close()
}

// A result is what a command said and how it ended.
type result struct {
	stdout, stderr string
	code           int
}

// hudifs runs the binary and returns what came of it; it fails the test only
// where the command can't be run or doesn't end.
func hudifs(t *testing.T, args ...string) result {
	t.Helper()
	return command(t, nil, env.bin, args...)
}

// command runs a program, with other credentials where some are given.
func command(t *testing.T, as *syscall.Credential, name string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out, errs strings.Builder
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = time.Second // a daemon that holds on to the pipes would hang us
	if as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
		cmd.Dir = "/"
	}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		t.Fatalf("%s %s: not done after a minute\n%s%s", name, strings.Join(args, " "), out.String(), errs.String())
	case errors.Is(err, exec.ErrWaitDelay):
		t.Errorf("%s %s: something it started keeps its output open", name, strings.Join(args, " "))
	case err != nil && !errors.As(err, &exit):
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// must fails the test unless the command ended well, and returns its output.
func (r result) must(t *testing.T) string {
	t.Helper()
	if r.code != 0 {
		t.Fatalf("exit status %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	return r.stdout
}
