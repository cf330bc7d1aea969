package e2e

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// wantOneLine holds what a command that must refuse said: a status other than
// 0, nothing on stdout, one line on stderr that is no dump.
func wantOneLine(t *testing.T, what string, r result) {
	t.Helper()
	line := strings.TrimRight(r.stderr, "\n")
	if r.code == 0 || r.stdout != "" || line == "" || strings.Contains(line, "\n") || strings.Contains(line, "goroutine ") {
		t.Errorf("%s: exit status %d, stdout %q, stderr %q; want a failure told in one line", what, r.code, r.stdout, r.stderr)
	}
}

// edit changes one file of a table.
func edit(change func([]byte) []byte, elem ...string) func(*testing.T, string) {
	return func(t *testing.T, table string) {
		t.Helper()
		p := filepath.Join(append([]string{table}, elem...)...)
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, change(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// property changes a line of hoodie.properties, and drops the checksum, which
// is another test.
func property(key, value string) func(*testing.T, string) {
	return edit(func(text []byte) []byte {
		text = regexp.MustCompile(`(?m)^hoodie\.table\.checksum=.*\n`).ReplaceAll(text, nil)
		line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(key) + `=.*$`)
		if !line.Match(text) {
			return append(text, (key + "=" + value + "\n")...)
		}
		return line.ReplaceAll(text, []byte(key+"="+value))
	}, ".hoodie", "hoodie.properties")
}

// TestRefusedTables: what can't be read right is not mounted, and mount says
// so at once.
func TestRefusedTables(t *testing.T) {
	needFUSE(t)
	remove := func(elem ...string) func(*testing.T, string) {
		return func(t *testing.T, table string) {
			if err := os.RemoveAll(filepath.Join(append([]string{table}, elem...)...)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name string
		harm func(*testing.T, string)
		want string // a part of the line
	}{
		{"not a table", remove(".hoodie"), "hoodie.properties"},
		{"no such folder", remove("."), ""},
		{"no properties", remove(".hoodie", "hoodie.properties"), "hoodie.properties"},
		{"empty properties", edit(func([]byte) []byte { return nil }, ".hoodie", "hoodie.properties"), "hoodie.properties"},
		{"binary properties", edit(func([]byte) []byte { return bytes.Repeat([]byte{0, 0xff}, 100) }, ".hoodie", "hoodie.properties"), "hoodie.properties"},
		{"wrong checksum", edit(func(text []byte) []byte {
			return regexp.MustCompile(`(?m)^(hoodie\.table\.checksum=).*$`).ReplaceAll(text, []byte("${1}1"))
		}, ".hoodie", "hoodie.properties"), "checksum"},
		{"newer version", property("hoodie.table.version", "10"), "version 10"},
		{"version that is no number", property("hoodie.table.version", "nine"), "version"},
		{"unknown type", property("hoodie.table.type", "COPY_ON_READ"), "COPY_ON_READ"},
		{"ORC", property("hoodie.table.base.file.format", "ORC"), "ORC"},
		{"HFile", property("hoodie.table.base.file.format", "HFILE"), "HFILE"},
		{"Lance", property("hoodie.table.base.file.format", "LANCE"), "LANCE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := table(t, "t9_cow_partitioned")
			c.harm(t, table)
			start := time.Now()
			_, r := tryMount(t, nil, table)
			wantOneLine(t, "mount", r)
			if d := time.Since(start); d > 10*time.Second {
				t.Errorf("it took %v", d)
			}
			if !strings.Contains(strings.ToUpper(r.stderr), strings.ToUpper(c.want)) {
				t.Errorf("the line %q does not say %q", r.stderr, c.want)
			}
			wantOneLine(t, "ls", hudifs(t, "ls", table))
		})
	}
}

// TestDamage damages the files of one partition. What needs one of them must
// give EIO, and all else must read as it did: never other rows.
func TestDamage(t *testing.T) {
	needFUSE(t)
	// nonsense spoils the records of a log block, near the partition's name.
	nonsense := func(b []byte) []byte {
		at := bytes.LastIndex(b, []byte("north")) - 60
		copy(b[at:at+60], bytes.Repeat([]byte{0xff}, 60))
		return b
	}
	for _, c := range []struct {
		name, table, pattern string
		harm                 func([]byte) []byte
	}{
		{"log block", "t9_mor_logs", "north/.*.log.*", nonsense},
		{"log block of version 6", "t6_mor_logs", "region=north/.*.log.*", nonsense},
		{"base file below a log", "t9_mor_compacted", "north/*.parquet", func(b []byte) []byte { return b[:len(b)/2] }},
		{"base file cut short", "t9_cow_partitioned", "north/*.parquet", func(b []byte) []byte { return b[:len(b)/2] }},
		{"base file emptied", "t8_cow_partitioned", "region=north/*.parquet", func([]byte) []byte { return nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			good, bad := table(t, c.table), table(t, c.table)
			hit, err := filepath.Glob(filepath.Join(bad, filepath.FromSlash(c.pattern)))
			if err != nil || len(hit) == 0 {
				t.Fatalf("nothing to damage: %v", err)
			}
			for _, p := range hit {
				b, err := os.ReadFile(p)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(p, c.harm(b), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			holdDamage(t, mount(t, good).path("latest"), mount(t, bad).path("latest"))
		})
	}
}

// holdDamage compares the view of an intact table with that of a copy whose
// partition north is damaged.
func holdDamage(t *testing.T, intact, damaged string) {
	failed, n := 0, 0
	err := filepath.WalkDir(damaged, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		rel, err := filepath.Rel(damaged, p)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(p)
		if err != nil {
			if failed++; !errors.Is(err, syscall.EIO) || !strings.HasPrefix(rel, "north/") {
				t.Errorf("%s: %v; only files of north may fail, with EIO", rel, err)
			}
			return nil
		}
		want, err := os.ReadFile(filepath.Join(intact, rel))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: it reads, but not as in the intact table (%v)", rel, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if failed == 0 {
		t.Error("no file gave an error")
	}
	if want := len(files(t, intact)); n != want {
		t.Errorf("%d files are listed, %d in the intact table", n, want)
	}
}
