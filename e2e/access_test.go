package e2e

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is a user without any rights.
var nobody = &syscall.Credential{Uid: 65534, Gid: 65534}

// firstFile returns a file of a view.
func firstFile(t *testing.T, m mounted, view string) string {
	t.Helper()
	names := sorted(files(t, m.path(view)))
	if len(names) == 0 {
		t.Fatalf("%s is empty", view)
	}
	return m.path(view, names[0])
}

// catAs reads a file as another user.
func catAs(as *syscall.Credential, file string) ([]byte, error) {
	cmd := exec.Command("cat", file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	cmd.Dir = "/"
	return cmd.Output()
}

func TestMountIsReadOnly(t *testing.T) {
	m := mount(t, table(t, "demo"))
	file := firstFile(t, m, "latest")
	for _, c := range []struct {
		what string
		do   func() error
	}{
		{"open for writing", func() error {
			f, err := os.OpenFile(file, os.O_WRONLY, 0)
			if err == nil {
				f.Close()
			}
			return err
		}},
		{"truncate", func() error { return os.Truncate(file, 0) }},
		{"create", func() error { return os.WriteFile(m.path("latest", "new.parquet"), nil, 0o644) }},
		{"create at the top", func() error { return os.WriteFile(m.path("new"), nil, 0o644) }},
		{"mkdir", func() error { return os.Mkdir(m.path("latest", "new"), 0o755) }},
		{"remove", func() error { return os.Remove(file) }},
		{"remove a folder", func() error { return os.Remove(m.path("latest")) }},
		{"rename", func() error { return os.Rename(file, file+"x") }},
		{"link", func() error { return os.Link(file, file+"x") }},
		{"symlink", func() error { return os.Symlink("x", m.path("x")) }},
		{"chmod", func() error { return os.Chmod(file, 0o777) }},
		{"chown", func() error { return os.Chown(file, 1, 1) }},
		{"set an attribute", func() error { return syscall.Setxattr(file, "user.x", []byte("x"), 0) }},
	} {
		if err := c.do(); !errors.Is(err, syscall.EROFS) {
			t.Errorf("%s: got %v, want EROFS", c.what, err)
		}
	}
}

// TestMountAsUserWithoutRights mounts through fusermount3, as a person does
// who is not root, and reads as that person.
func TestMountAsUserWithoutRights(t *testing.T) {
	needRoot(t)
	table := table(t, "demo")
	reference := mount(t, table)
	m, r := tryMount(t, nobody, table)
	r.must(t)
	for name := range files(t, reference.path("latest")) {
		want, err := os.ReadFile(reference.path("latest", name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := catAs(nobody, m.path("latest", name))
		if err != nil {
			t.Errorf("%s: the user who mounted it can't read it: %v", name, err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s: other bytes than in root's mount", name)
		}
	}
	if _, err := os.ReadDir(m.path("latest")); !errors.Is(err, syscall.EACCES) {
		t.Errorf("root looks into a user's mount: got %v, want EACCES", err)
	}
}

func TestAllowOther(t *testing.T) {
	needRoot(t)
	table := table(t, "demo")
	closed, open := mount(t, table), mount(t, table, "--allow-other")
	if _, err := catAs(nobody, firstFile(t, closed, "latest")); err == nil {
		t.Error("without --allow-other another user can read")
	}
	if _, err := catAs(nobody, firstFile(t, open, "latest")); err != nil {
		t.Errorf("with --allow-other another user can't read: %v", err)
	}
}

// TestModes: the kernel holds other users to owner and modes, whatever the
// daemon itself may read, and no mode lets anybody write.
func TestModes(t *testing.T) {
	needRoot(t)
	table := table(t, "demo")
	if err := os.Chmod(table, 0o700); err != nil { // which the daemon may enter
		t.Fatal(err)
	}
	owner, group, stranger := &syscall.Credential{Uid: 65533, Gid: 65532}, &syscall.Credential{Uid: 65531, Gid: 65534}, &syscall.Credential{Uid: 65531, Gid: 65531}
	for _, c := range []struct {
		file, dir string
		may       map[*syscall.Credential]bool
	}{
		{"0400", "0500", map[*syscall.Credential]bool{owner: true, group: false, stranger: false}},
		{"0440", "0550", map[*syscall.Credential]bool{owner: true, group: true, stranger: false}},
		{"0440", "0555", map[*syscall.Credential]bool{owner: true, group: true, stranger: false}},
		{"0666", "0777", map[*syscall.Credential]bool{owner: true, group: true, stranger: true}},
		{"0044", "0555", map[*syscall.Credential]bool{owner: false, group: true, stranger: true}},
	} {
		m := mount(t, table, "--allow-other", "--uid", "65533", "--gid", "65534", "--file-mode", c.file, "--dir-mode", c.dir)
		file := firstFile(t, m, "latest")
		want := readFile(t, file)
		for who, may := range c.may {
			got, err := catAs(who, file)
			if may && (err != nil || string(got) != want) || !may && (err == nil || len(got) > 0) {
				t.Errorf("files %s, folders %s: %d:%d reads %d bytes, %v", c.file, c.dir, who.Uid, who.Gid, len(got), err)
			}
			for _, change := range []string{`echo >>"$0"`, `touch "$(dirname "$0")/new"`, `rm -f "$0"`, `chmod 0777 "$0"`} {
				if r := command(t, who, "/bin/sh", "-c", change, file); r.code == 0 {
					t.Errorf("files %s, folders %s: %d:%d may %s", c.file, c.dir, who.Uid, who.Gid, change)
				}
			}
		}
		if now := readFile(t, file); now != want {
			t.Errorf("files %s: the file has changed", c.file)
		}
	}
}

// TestAllowOtherAsUser: fusermount3 lets a user do that only where
// /etc/fuse.conf says so; otherwise mount must say why it failed.
func TestAllowOtherAsUser(t *testing.T) {
	needRoot(t)
	_, r := tryMount(t, nobody, table(t, "demo"), "--allow-other")
	conf, err := os.ReadFile("/etc/fuse.conf")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	allowed := false
	for line := range strings.Lines(string(conf)) {
		allowed = allowed || strings.TrimSpace(line) == "user_allow_other"
	}
	if allowed {
		r.must(t)
		return
	}
	if r.code == 0 || !strings.Contains(r.stderr, "user_allow_other") {
		t.Errorf("exit status %d and %q, want a failure that names user_allow_other", r.code, r.stderr)
	}
}

func TestMountPoints(t *testing.T) {
	needFUSE(t)
	good := table(t, "demo")
	file := filepath.Join(tempDir(t), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for what, mnt := range map[string]string{"a missing folder": filepath.Join(tempDir(t), "missing"), "a file": file} {
		r := hudifs(t, "mount", "--cache-dir", tempDir(t), good, mnt)
		wantOneLine(t, what, r)
	}
}
