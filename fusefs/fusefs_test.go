package fusefs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/hudifs/hudifs/views"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mountVar tells a child process where the mount is that its test shall use.
const mountVar = "HUDIFS_TEST_MOUNT"

// needFUSE skips a test where FUSE is missing, except in CI.
func needFUSE(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

// logBuffer collects log lines of many goroutines.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// options are for mounts whose log a test reads.
func options(log io.Writer) *Options {
	return &Options{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), FsName: "hudifs:trips"}
}

func mustMount(t *testing.T, root views.Dir, o *Options) (*Server, string) {
	t.Helper()
	mnt := t.TempDir()
	s, err := Mount(root, mnt, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Unmount(); err != nil {
			t.Error(err)
		}
		s.Wait()
	})
	return s, mnt
}

// inChild is the mount that this process shall use: the test's process serves it, and using it from there can deadlock.
func inChild() (string, bool) {
	mnt, ok := os.LookupEnv(mountVar)
	return mnt, ok
}

// child runs the calling test again in a process that uses the mount.
func child(t *testing.T, mnt string) *exec.Cmd {
	t.Helper()
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	cmd := exec.Command(os.Args[0], "-test.run="+pattern, "-test.timeout=60s")
	cmd.Env = append(os.Environ(), mountVar+"="+mnt, "GORACE=atexit_sleep_ms=0")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

// onMount mounts a tree and lets use work on it in a child process. It returns false in the child.
func onMount(t *testing.T, root views.Dir, o *Options, use func(t *testing.T, mnt string)) bool {
	t.Helper()
	if mnt, ok := inChild(); ok {
		use(t, mnt)
		return false
	}
	needFUSE(t)
	s, mnt := mustMount(t, root, o)
	if err := child(t, mnt).Run(); err != nil {
		t.Fatalf("child: %v", err)
	}
	if err := s.Unmount(); err != nil {
		t.Fatal(err)
	}
	return true
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func smallTree() *fakeDir {
	data := newFile(100, bytesOf(1, 300_000))
	data.attr.Disk = 8192
	data.xattrs = map[string]string{"user.hudi.table": "trips", "user.hudi.rows": "7"}
	status := newFile(102, []byte(`{"renders":0}`))
	status.attr.Frozen = false
	view := newDir(10, true, map[string]views.Node{"a b.parquet": data, "ü.parquet": newFile(101, nil)})
	view.hidden = map[string]views.Node{"earlier.parquet": data}
	return newDir(1, false, map[string]views.Node{
		"latest": view,
		"asof":   newDir(11, false, map[string]views.Node{"latest": view}),
		".hudi":  newDir(12, false, map[string]views.Node{"status": status}),
	})
}

func TestNamesAndAttributes(t *testing.T) {
	o := options(io.Discard)
	o.UID, o.GID = new(uint32(os.Getuid())), new(uint32(4711))
	o.FileMode, o.DirMode = 0o440, 0o755
	onMount(t, smallTree(), o, func(t *testing.T, mnt string) {
		list, err := os.ReadDir(mnt + "/latest")
		check(t, err)
		if len(list) != 2 || list[0].Name() != "a b.parquet" || list[1].Name() != "ü.parquet" || list[0].Type() != 0 {
			t.Errorf("listing: %v", list)
		}
		for path, want := range map[string]struct {
			inode uint64
			size  int64
			disk  int64
			mode  fs.FileMode
		}{
			"":                      {1, 0, 0, fs.ModeDir | 0o755},
			"latest":                {10, 0, 0, fs.ModeDir | 0o755},
			"latest/a b.parquet":    {100, 300_000, 8192, 0o440},
			"latest/ü.parquet":      {101, 0, 0, 0o440},
			"asof/latest":           {10, 0, 0, fs.ModeDir | 0o755},
			"latest/..":             {1, 0, 0, fs.ModeDir | 0o755},
			".hudi/status":          {102, 13, 512, 0o440},
			"asof/latest/ü.parquet": {101, 0, 0, 0o440},
		} {
			info, err := os.Lstat(mnt + "/" + path)
			check(t, err)
			st := info.Sys().(*syscall.Stat_t)
			if st.Ino != want.inode || info.Size() != want.size || st.Blocks*512 != want.disk || info.Mode() != want.mode {
				t.Errorf("%s: inode %d, %d bytes, %d blocks, %v; want %+v", path, st.Ino, info.Size(), st.Blocks, info.Mode(), want)
			}
			if !info.ModTime().Equal(born) || st.Gid != 4711 || st.Uid != uint32(os.Getuid()) {
				t.Errorf("%s: %v, owner %d:%d", path, info.ModTime(), st.Uid, st.Gid)
			}
		}
		check(t, exec.Command("ls", "-la", mnt, mnt+"/latest").Run())
		_, err = os.Stat(mnt + "/latest/earlier.parquet")
		check(t, err)
		if _, err := os.Stat(mnt + "/latest/none"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("absent name: %v", err)
		}
		var st unix.Statfs_t
		check(t, unix.Statfs(mnt, &st))
		check(t, unix.Access(mnt+"/latest", unix.R_OK|unix.X_OK))
	})
}

// A directory that is in two places must keep both: the kernel knows only one place for an inode.
func TestOneViewInTwoPlaces(t *testing.T) {
	onMount(t, smallTree(), options(io.Discard), func(t *testing.T, mnt string) {
		check(t, os.Chdir(mnt+"/latest"))
		for range 3 {
			for _, place := range []string{"latest", "asof/latest"} {
				_, err := os.ReadFile(mnt + "/" + place + "/a b.parquet")
				check(t, err)
			}
			buf := make([]byte, 4096)
			n, err := syscall.Getcwd(buf)
			check(t, err)
			if got := string(buf[:n-1]); got != mnt+"/latest" {
				t.Errorf("working directory is now %s", got)
			}
		}
	})
}

func TestReads(t *testing.T) {
	content := bytesOf(2, 3<<20+17)
	local := filepath.Join(t.TempDir(), "local")
	check(t, os.WriteFile(local, content, 0o600))
	onDisk := newFile(5, content)
	onDisk.local = local
	inMemory := newFile(6, content)
	changing := newFile(7, content)
	changing.attr.Frozen, changing.attr.Size = false, 1 // the true size is found by reading
	root := newDir(1, false, map[string]views.Node{"disk": onDisk, "memory": inMemory, "changing": changing})
	if !onMount(t, root, options(io.Discard), func(t *testing.T, mnt string) {
		for _, name := range []string{"disk", "memory", "changing"} {
			f, err := os.Open(mnt + "/" + name)
			check(t, err)
			rng := rand.New(rand.NewPCG(3, 4))
			for range 300 {
				off := rng.Int64N(int64(len(content)) - 1)
				if name == "changing" && rng.IntN(2) == 0 {
					off = 0
				}
				p := make([]byte, 1+rng.IntN(len(content)/4))
				n, err := f.ReadAt(p, off)
				if err != nil && err != io.EOF {
					t.Fatal(err)
				}
				want := content[off:min(int64(len(content)), off+int64(len(p)))]
				if !bytes.Equal(p[:n], want) {
					t.Fatalf("%s: %d bytes at %d differ (%d read)", name, len(p), off, n)
				}
			}
			check(t, f.Close())
			all, err := os.ReadFile(mnt + "/" + name)
			check(t, err)
			if !bytes.Equal(all, content) {
				t.Errorf("%s: %d bytes read", name, len(all))
			}
		}
	}) {
		return
	}
	for name, f := range map[string]*fakeFile{"disk": onDisk, "memory": inMemory, "changing": changing} {
		if f.opens.Load() != f.closes.Load() {
			t.Errorf("%s: %d opens, %d closes", name, f.opens.Load(), f.closes.Load())
		}
	}
	if os.Geteuid() == 0 && onDisk.reads.Load() != 0 {
		t.Logf("no passthrough here: %d reads", onDisk.reads.Load())
	}
}

func TestMmap(t *testing.T) {
	content := bytesOf(8, 1<<20+5)
	local := filepath.Join(t.TempDir(), "local")
	check(t, os.WriteFile(local, content, 0o600))
	onDisk := newFile(5, content)
	onDisk.local = local
	root := newDir(1, false, map[string]views.Node{"disk": onDisk, "memory": newFile(6, content)})
	for name, off := range map[string]bool{"passthrough": false, "cached": true} {
		t.Run(name, func(t *testing.T) {
			o := options(io.Discard)
			o.NoPassthrough = off
			onMount(t, root, o, func(t *testing.T, mnt string) {
				for _, name := range []string{"disk", "memory"} {
					f, err := os.Open(mnt + "/" + name)
					check(t, err)
					m, err := unix.Mmap(int(f.Fd()), 0, len(content), unix.PROT_READ, unix.MAP_SHARED)
					check(t, err)
					check(t, f.Close())
					if !bytes.Equal(m, content) {
						t.Errorf("%s: mapped bytes differ", name)
					}
					check(t, unix.Munmap(m))
				}
			})
		})
	}
}

func TestXattrs(t *testing.T) {
	onMount(t, smallTree(), options(io.Discard), func(t *testing.T, mnt string) {
		file := mnt + "/latest/a b.parquet"
		buf := make([]byte, 100)
		n, err := unix.Listxattr(file, buf)
		check(t, err)
		if got := string(buf[:n]); got != "user.hudi.rows\x00user.hudi.table\x00" {
			t.Errorf("list: %q", got)
		}
		n, err = unix.Getxattr(file, "user.hudi.table", buf)
		check(t, err)
		if string(buf[:n]) != "trips" {
			t.Errorf("value: %q", buf[:n])
		}
		if n, err := unix.Getxattr(file, "user.hudi.table", nil); n != 5 || err != nil {
			t.Errorf("length: %d, %v", n, err)
		}
		if _, err := unix.Getxattr(file, "user.hudi.table", buf[:2]); err != unix.ERANGE {
			t.Errorf("small buffer: %v", err)
		}
		for name, want := range map[string]error{"user.none": unix.ENODATA, "security.selinux": unix.EOPNOTSUPP, "system.posix_acl_access": unix.EOPNOTSUPP} {
			if _, err := unix.Getxattr(file, name, buf); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
		}
	})
}

// changes tries every way to change something.
func changes(mnt string) map[string]error {
	file := mnt + "/latest/a b.parquet"
	_, openErr := os.OpenFile(file, os.O_RDWR, 0)
	_, createErr := os.Create(mnt + "/new")
	return map[string]error{
		"open to write": openErr,
		"create":        createErr,
		"truncate":      os.Truncate(file, 0),
		"mkdir":         os.Mkdir(mnt+"/new", 0o777),
		"mknod":         syscall.Mknod(mnt+"/new", syscall.S_IFIFO|0o666, 0),
		"remove":        os.Remove(file),
		"rmdir":         syscall.Rmdir(mnt + "/latest"),
		"rename":        os.Rename(file, mnt+"/latest/new"),
		"link":          os.Link(file, mnt+"/latest/new"),
		"symlink":       os.Symlink("a", mnt+"/latest/new"),
		"chmod":         os.Chmod(file, 0o777),
		"chown":         os.Chown(file, os.Getuid(), os.Getgid()),
		"utimes":        os.Chtimes(file, born, born),
		"setxattr":      unix.Setxattr(file, "user.hudi.table", []byte("x"), 0),
		"removexattr":   unix.Removexattr(file, "user.hudi.table"),
	}
}

func TestReadOnly(t *testing.T) {
	onMount(t, smallTree(), options(io.Discard), func(t *testing.T, mnt string) {
		for what, err := range changes(mnt) {
			if !errors.Is(err, syscall.EROFS) && (os.Geteuid() == 0 || !errors.Is(err, syscall.EACCES)) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if os.Geteuid() != 0 {
			return
		}
		check(t, unix.Mount("", mnt, "", unix.MS_REMOUNT, ""))
		for what, err := range changes(mnt) {
			if !errors.Is(err, syscall.EROFS) {
				t.Errorf("%s after remounting: %v", what, err)
			}
		}
		list, err := os.ReadDir(mnt + "/latest")
		check(t, err)
		if len(list) != 2 {
			t.Errorf("listing is now %v", list)
		}
	})
}

// Whoever closes a file, or another descriptor of it, waits for nobody, but for the first time.
func TestClosingAsksOnce(t *testing.T) {
	var log logBuffer
	o := options(&log)
	o.Debug = true
	const name = "/latest/a b.parquet"
	if !onMount(t, smallTree(), o, func(t *testing.T, mnt string) {
		for range 10 {
			f, err := os.Open(mnt + name)
			check(t, err)
			other, err := unix.Dup(int(f.Fd()))
			check(t, err)
			check(t, f.Close())
			check(t, unix.Close(other))
		}
	}) {
		return
	}
	if opens := strings.Count(log.String(), ": OPEN "); opens < 10 {
		t.Errorf("%d files were opened", opens)
	}
	// go-fuse itself closes a file too.
	if n := strings.Count(log.String(), ": FLUSH "); n > 2 {
		t.Errorf("asked %d times", n)
	}
}

func TestErrors(t *testing.T) {
	cases := []struct {
		name  string
		err   error
		errno syscall.Errno
	}{
		{"absent", fmt.Errorf("x: %w", fs.ErrNotExist), syscall.ENOENT},
		{"denied", fmt.Errorf("x: %w", fs.ErrPermission), syscall.EACCES},
		{"cleaned", fmt.Errorf("x: %w", views.ErrStale), syscall.ESTALE},
		{"gone", fmt.Errorf("%w: %w", views.ErrStale, fs.ErrNotExist), syscall.ESTALE},
		{"refused", fmt.Errorf("x: %w", views.ErrRefused), syscall.EOPNOTSUPP},
		{"full", fmt.Errorf("x: %w", views.ErrNoSpace), syscall.ENOSPC},
		{"interrupted", fmt.Errorf("x: %w", context.Canceled), syscall.EINTR},
		{"damaged", errors.New("bad magic at offset 12"), syscall.EIO},
	}
	children := map[string]views.Node{"short": newFile(7, make([]byte, 10))}
	children["short"].(*fakeFile).attr.Size = 20
	unreadable := newFile(8, make([]byte, 10))
	unreadable.readErr = errors.New("bad block")
	children["unreadable"] = unreadable
	children["panics"] = newFile(9, nil)
	children["panics"].(*fakeFile).onOpen = func(context.Context) error { panic("boom") }
	grown := newFile(10, make([]byte, 10))
	grown.local = os.Args[0] // whose size is another
	children["grown"] = grown
	unspeakable := newDir(11, true, map[string]views.Node{"a/b": newFile(12, nil)})
	children["unspeakable"] = unspeakable
	for i, c := range cases {
		f, d := newFile(uint64(100+i), nil), newDir(uint64(200+i), false, nil)
		f.err, d.err = c.err, c.err
		children["file-"+c.name], children["dir-"+c.name] = f, d
	}
	var log logBuffer
	if !onMount(t, newDir(1, false, children), options(&log), func(t *testing.T, mnt string) {
		for _, c := range cases {
			for what, call := range map[string]func() error{
				"open": func() error { _, err := syscall.Open(mnt+"/file-"+c.name, 0, 0); return err },
				"list": func() error { _, err := syscall.Open(mnt+"/dir-"+c.name, syscall.O_DIRECTORY, 0); return err },
				"find": func() error { var st syscall.Stat_t; return syscall.Stat(mnt+"/dir-"+c.name+"/x", &st) },
			} {
				if err := call(); !errors.Is(err, c.errno) {
					t.Errorf("%s %s: %v, want %v", what, c.name, err, c.errno)
				}
			}
			var st syscall.Stat_t
			check(t, syscall.Stat(mnt+"/dir-"+c.name, &st))
		}
		for _, name := range []string{"short", "unreadable", "panics", "grown"} {
			if _, err := os.ReadFile(mnt + "/" + name); !errors.Is(err, syscall.EIO) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := os.ReadDir(mnt + "/unspeakable"); !errors.Is(err, syscall.EIO) {
			t.Errorf("impossible name: %v", err)
		}
	}) {
		return
	}
	for _, want := range []string{
		`level=ERROR msg="open failed" fs=hudifs:trips path=/file-damaged errno="input/output error" err="bad magic at offset 12"`,
		`level=INFO msg="opendir failed" fs=hudifs:trips path=/dir-refused`,
		`path=/dir-cleaned/x`, `bad block`, `err="panic: boom" stack=`, `fusefs_test.go`, `a/b`, errShort.Error(),
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q", want)
		}
	}
	if n := strings.Count(log.String(), "path=/file-damaged "); n != 1 {
		t.Errorf("%d lines for one failure", n)
	}
}

func TestPassthrough(t *testing.T) {
	needRoot(t)
	content := bytesOf(9, 1<<20)
	local := filepath.Join(t.TempDir(), "local")
	check(t, os.WriteFile(local, content, 0o600))
	file := newFile(5, content)
	root := newDir(1, false, map[string]views.Node{"f": file})
	file.local = local
	var mu sync.Mutex
	root.onLookup = func(name string) {
		mu.Lock()
		defer mu.Unlock()
		switch name {
		case "to-memory":
			file.local = ""
		case "to-disk":
			file.local = local
		case "all-closed": // closing reaches the daemon in its own time
			for end := time.Now().Add(20 * time.Second); file.closes.Load() < file.opens.Load(); time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Errorf("%d closed of %d", file.closes.Load(), file.opens.Load())
					return
				}
			}
		case "reads-none", "reads-some":
			if n := file.reads.Swap(0); (n == 0) != (name == "reads-none") {
				t.Errorf("%s: %d reads came here", name, n)
			}
		}
	}
	if mnt, ok := inChild(); ok {
		usePassthrough(t, mnt, content)
		return
	}
	needFUSE(t)
	s, mnt := mustMount(t, root, options(io.Discard))
	if s.root.m.noPassthrough.Load() {
		t.Skip("this kernel has no passthrough")
	}
	check(t, child(t, mnt).Run())
}

// usePassthrough opens a file whose bytes are now in a local file and now not, in overlapping spans of time.
func usePassthrough(t *testing.T, mnt string, content []byte) {
	tell := func(what string) { os.Stat(mnt + "/" + what) }
	open := func() *os.File {
		f, err := os.Open(mnt + "/f")
		check(t, err)
		p := make([]byte, len(content))
		_, err = io.ReadFull(f, p)
		check(t, err)
		if !bytes.Equal(p, content) {
			t.Error("bytes differ")
		}
		return f
	}
	a := open()
	tell("reads-none")
	tell("to-memory")
	b := open() // rides on the first one
	tell("reads-none")
	a.Close()
	b.Close()
	tell("all-closed")
	time.Sleep(50 * time.Millisecond) // nothing tells when the library has let go of the file
	c := open()
	tell("reads-some")
	tell("to-disk")
	d := open()
	c.Close()
	d.Close()
	tell("all-closed")
	time.Sleep(50 * time.Millisecond)
	e := open()
	tell("reads-none")
	e.Close()
}

func TestHoles(t *testing.T) {
	const size = 8 << 20
	local := filepath.Join(t.TempDir(), "local")
	f, err := os.Create(local)
	check(t, err)
	_, err = f.WriteAt([]byte("footer"), size-6)
	check(t, err)
	check(t, f.Close())
	sparse := newFile(5, make([]byte, size))
	sparse.local, sparse.attr.Disk = local, 4096
	root := newDir(1, false, map[string]views.Node{"sparse": sparse, "memory": newFile(6, make([]byte, 100))})
	onMount(t, root, options(io.Discard), func(t *testing.T, mnt string) {
		f, err := os.Open(mnt + "/sparse")
		check(t, err)
		defer f.Close()
		at, err := f.Seek(0, unix.SEEK_DATA)
		check(t, err)
		if at < size-1<<20 {
			t.Logf("the file system of the temporary folder keeps no holes: data at %d", at)
		}
		if _, err := f.Seek(size, unix.SEEK_DATA); !errors.Is(err, syscall.ENXIO) {
			t.Errorf("past the end: %v", err)
		}
		m, err := os.Open(mnt + "/memory")
		check(t, err)
		defer m.Close()
		if at, err := m.Seek(10, unix.SEEK_HOLE); at != 100 || err != nil {
			t.Errorf("hole at %d, %v", at, err)
		}
		dest := filepath.Join(t.TempDir(), "copy")
		check(t, exec.Command("cp", mnt+"/sparse", dest).Run())
		info, err := os.Stat(dest)
		check(t, err)
		if blocks := info.Sys().(*syscall.Stat_t).Blocks; at > 0 && blocks > 1024 {
			t.Errorf("the copy takes %d blocks", blocks)
		}
	})
}

// Listing must not ask for the attributes of any entry: a footer would be read for each.
func TestListingAsksNoAttributes(t *testing.T) {
	const many = 50_000
	children := make(map[string]views.Node, many)
	for i := range many {
		children[fmt.Sprintf("%08d-with-a-name-as-long-as-they-are.parquet", i)] = newFile(uint64(1000+i), nil)
	}
	root := newDir(1, false, map[string]views.Node{"big": newDir(2, true, children)})
	if !onMount(t, root, options(io.Discard), func(t *testing.T, mnt string) {
		for range 2 { // the second time from the kernel's memory
			d, err := os.Open(mnt + "/big")
			check(t, err)
			names, err := d.Readdirnames(-1)
			check(t, err)
			check(t, d.Close())
			slices.Sort(names)
			if len(slices.Compact(names)) != many {
				t.Errorf("%d names", len(names))
			}
		}
		out, err := exec.Command("find", mnt+"/big", "-name", "*7777-*").Output()
		check(t, err)
		if n := bytes.Count(out, []byte("\n")); n != 5 {
			t.Errorf("find gives %d names", n)
		}
	}) {
		return
	}
	for name, f := range children {
		if n := f.(*fakeFile).stats.Load(); n != 0 {
			t.Fatalf("%s was asked %d times", name, n)
		}
	}
}

// Who has looked at all that it listed is told the attributes with the names of the next folder; who wants names alone is not. Those of folders
// are told to everybody.
func TestWhoLooksIsTold(t *testing.T) {
	const files = 300
	folders := map[string]views.Node{}
	for i := range 4 {
		children := map[string]views.Node{}
		for j := range files {
			children[fmt.Sprintf("%04d.parquet", j)] = newFile(uint64(1000*(i+1)+j), make([]byte, j))
		}
		folders[fmt.Sprint(i)] = newDir(uint64(10+i), true, children)
	}
	told := folders["1"].(*fakeDir)
	told.children["gone"] = newFile(22, nil)
	costly := newFile(23, nil)
	costly.costly = true
	told.children["yes, it is costly"] = costly
	told.onLookup = func(name string) {
		if name == "gone" {
			panic("it can't be looked up")
		}
	}
	root := newDir(1, false, map[string]views.Node{"latest": newDir(2, true, folders)})
	if !onMount(t, root, options(io.Discard), func(t *testing.T, mnt string) {
		runtime.LockOSThread() // it is threads that are known
		defer runtime.UnlockOSThread()
		for _, folder := range []string{"0", "1"} {
			entries, err := os.ReadDir(mnt + "/latest/" + folder)
			check(t, err)
			for i, e := range entries {
				if folder == "1" && i > 10 && e.Name() != "gone" {
					continue // told all the same
				}
				var st syscall.Stat_t
				err := syscall.Lstat(mnt+"/latest/"+folder+"/"+e.Name(), &st)
				if e.Name() == "gone" {
					if !errors.Is(err, syscall.EIO) {
						t.Errorf("what can't be looked up: %v", err)
					}
					continue
				}
				if n, _ := strconv.ParseInt(e.Name()[:4], 10, 64); err != nil || st.Size != n {
					t.Errorf("%s/%s has %d bytes, %v", folder, e.Name(), st.Size, err)
				}
			}
		}
		check(t, exec.Command("find", mnt+"/latest/2", "-name", "x").Run())
		_, err := os.ReadDir(mnt + "/latest")
		check(t, err)
	}) {
		return
	}
	if n := folders["3"].(*fakeDir).stats.Load(); n != 1 {
		t.Errorf("a folder that was only listed was asked %d times", n)
	}
	for folder, want := range map[string]int64{"0": 1, "1": 1, "2": 0} {
		for name, f := range folders[folder].(*fakeDir).children {
			if name == "gone" {
				continue
			}
			want := want
			if f == costly {
				want = 0
			}
			if n := f.(*fakeFile).stats.Load(); n != want {
				t.Fatalf("%s/%s was asked %d times, want %d", folder, name, n, want)
			}
		}
	}
}

// A thread that looks at what it lists is told, one that does not is not.
func TestListers(t *testing.T) {
	var l listers
	files := make([]views.Entry, 10)
	list := func(thread uint32, dir *node, entries []views.Entry, looks int) bool {
		ctx := fuse.NewContext(t.Context(), &fuse.Caller{Pid: thread})
		told := l.list(ctx, dir, entries)
		for range looks {
			l.lookUp(ctx, dir)
		}
		return told
	}
	dir := &node{}
	for i, c := range []struct {
		thread uint32
		files  []views.Entry
		looks  int
		told   bool
	}{
		{1, files, 5, false}, // half of them: may be by chance
		{1, files, 6, false},
		{2, files, 0, false},
		{1, []views.Entry{{Dir: true}}, 1, false}, // tells nothing, and has nothing to tell
		{1, files, 0, true},
		{2, files, 0, false},
		{1, files, 0, true},
	} {
		if got := list(c.thread, dir, c.files, c.looks); got != c.told {
			t.Errorf("listing %d: told is %v", i, got)
		}
	}
	told := 0
	for range 2 * tellFor {
		if list(1, dir, files, 0) {
			told++
		}
	}
	if told != tellFor-2 {
		t.Errorf("told %d times without being looked at", told)
	}
	for thread := range uint32(10 * maxListers) {
		list(thread, dir, files, 10)
	}
	if len(l.known) > maxListers {
		t.Errorf("%d threads are known", len(l.known))
	}
	if l.list(t.Context(), dir, files) {
		t.Error("told to nobody")
	}
}

func TestConcurrentReaders(t *testing.T) {
	children := map[string]views.Node{}
	contents := map[string][]byte{}
	for i := range 20 {
		name := fmt.Sprint(i)
		contents[name] = bytesOf(uint64(i), 400_000+i)
		children[name] = newFile(uint64(10+i), contents[name])
	}
	root := newDir(1, false, map[string]views.Node{"v": newDir(2, true, children)})
	var server atomic.Pointer[Server]
	root.onLookup = func(string) {
		if s := server.Load(); s != nil {
			s.Invalidate()
		}
	}
	use := func(t *testing.T, mnt string) {
		var wg sync.WaitGroup
		for worker := range 16 {
			wg.Go(func() {
				for i := range 20 {
					name := fmt.Sprint((worker + i) % 20)
					got, err := os.ReadFile(mnt + "/v/" + name)
					if err != nil || !bytes.Equal(got, contents[name]) {
						t.Errorf("%s: %d bytes, %v", name, len(got), err)
					}
				}
			})
		}
		wg.Wait()
	}
	if mnt, ok := inChild(); ok {
		use(t, mnt)
		return
	}
	needFUSE(t)
	o := options(io.Discard)
	o.EntryTimeout = time.Millisecond
	s, mnt := mustMount(t, root, o)
	server.Store(s)
	check(t, child(t, mnt).Run())
}

// A name in a directory that is not frozen leads elsewhere after a commit; what was open or stood in stays.
func TestInvalidate(t *testing.T) {
	view := func(inode uint64, content string) *fakeDir {
		return newDir(inode, true, map[string]views.Node{"f": newFile(inode+1, []byte(content))})
	}
	asof := newDir(3, false, map[string]views.Node{"1": view(10, "old")})
	root := newDir(1, false, map[string]views.Node{"latest": view(10, "old"), "asof": asof})
	use := func(t *testing.T, mnt string) {
		read := func(path string) string {
			b, err := os.ReadFile(path)
			check(t, err)
			return string(b)
		}
		check(t, os.Chdir(mnt+"/asof"))
		old, err := os.Open(mnt + "/latest")
		check(t, err)
		defer old.Close()
		if got := read(mnt + "/latest/f"); got != "old" {
			t.Fatalf("at first: %q", got)
		}
		os.Stat(mnt + "/commit")
		for end := time.Now().Add(10 * time.Second); read(mnt+"/latest/f") != "new"; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the commit is not seen")
			}
		}
		fd, err := syscall.Openat(int(old.Fd()), "f", 0, 0)
		check(t, err)
		p := make([]byte, 10)
		n, err := syscall.Read(fd, p)
		if string(p[:n]) != "old" || err != nil {
			t.Errorf("through the old folder: %q, %v", p[:n], err)
		}
		if got := read("1/f"); got != "old" {
			t.Errorf("asof: %q", got)
		}
		if _, err := os.Lstat("."); err != nil {
			t.Error(err)
		}
		if n, err := syscall.Getcwd(make([]byte, 4096)); n == 0 || err != nil {
			t.Errorf("working directory: %v", err)
		}
	}
	if mnt, ok := inChild(); ok {
		use(t, mnt)
		return
	}
	needFUSE(t)
	o := options(io.Discard)
	o.EntryTimeout = time.Hour
	top := &commitDir{fakeDir: root, commit: func() { root.children["latest"] = view(20, "new") }}
	s, mnt := mustMount(t, top, o)
	top.server.Store(s)
	check(t, child(t, mnt).Run())
}

// commitDir changes when the name commit is looked up.
type commitDir struct {
	*fakeDir
	mu     sync.Mutex
	commit func()
	server atomic.Pointer[Server]
}

func (d *commitDir) Lookup(ctx context.Context, name string) (views.Node, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if name == "commit" {
		d.commit()
		d.server.Load().Invalidate()
	}
	return d.fakeDir.Lookup(ctx, name)
}

func TestInterrupt(t *testing.T) {
	slow := newFile(5, nil)
	slow.onOpen = func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(30 * time.Second):
			return errors.New("nobody interrupted")
		}
	}
	start := time.Now()
	onMount(t, newDir(1, false, map[string]views.Node{"slow": slow}), options(io.Discard), func(t *testing.T, mnt string) {
		cmd := exec.Command("cat", mnt+"/slow")
		check(t, cmd.Start())
		time.Sleep(100 * time.Millisecond)
		check(t, cmd.Process.Signal(os.Interrupt))
		cmd.Wait()
	})
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("took %v", d)
	}
}
