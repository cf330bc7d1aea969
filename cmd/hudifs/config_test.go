package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/pflag"
)

// load is the configuration of hudifs mount with these flags, this environment and this file.
func load(t *testing.T, args []string, env map[string]string, file string) (*config, error) {
	t.Helper()
	for _, line := range os.Environ() {
		if name, value, _ := strings.Cut(line, "="); strings.HasPrefix(name, "HUDIFS_") {
			t.Setenv(name, value) // puts it back in the end
			os.Unsetenv(name)
		}
	}
	for name, value := range env {
		t.Setenv(name, value)
	}
	if file != "" {
		path := filepath.Join(t.TempDir(), "hudifs.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append([]string{"--config", path}, args...)
	}
	flags := pflag.NewFlagSet("mount", pflag.ContinueOnError)
	addTableFlags(flags)
	addMountFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return loadConfig(flags)
}

func TestConfigPrecedence(t *testing.T) {
	file := "poll-interval: 5s\nallow-other: true\nlist-instants: 7\npartitions: flat\n"
	env := map[string]string{"HUDIFS_LIST_INSTANTS": "8", "HUDIFS_PARTITIONS": "table", "HUDIFS_UNRELATED": "x", "HUDIFS_GRACE": "90m"}
	c, err := load(t, []string{"--partitions", "plain", "--memory=1GiB"}, env, file)
	if err != nil {
		t.Fatal(err)
	}
	if c.PollInterval != 5*time.Second || !c.AllowOther {
		t.Errorf("file: %v, %v", c.PollInterval, c.AllowOther)
	}
	if c.ListInstants != 8 || c.Grace != 90*time.Minute {
		t.Errorf("environment: %d, %v", c.ListInstants, c.Grace)
	}
	if c.Partitions != "plain" || c.memory != 1<<30 {
		t.Errorf("flags: %s, %d", c.Partitions, c.memory)
	}
}

func TestConfigDefaults(t *testing.T) {
	c, err := load(t, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if c.fileMode != 0o444 || c.dirMode != 0o555 || c.uid != nil || c.gid != nil || c.cacheSize != 10<<30 ||
		c.PollInterval != 2*time.Second || c.Grace != time.Hour || c.location != time.UTC || c.CacheDir != "" || c.ListInstants != 1000 {
		t.Errorf("%+v", c)
	}
}

func TestConfigValues(t *testing.T) {
	c, err := load(t, []string{"--uid", "0", "--gid=100", "--cache-dir", "rel", "--timezone", "Europe/Berlin"}, nil, "file-mode: \"0440\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if *c.uid != 0 || *c.gid != 100 || c.fileMode != 0o440 || !filepath.IsAbs(c.CacheDir) || c.location.String() != "Europe/Berlin" {
		t.Errorf("%+v", c)
	}
}

func TestConfigMistakes(t *testing.T) {
	for _, c := range []struct {
		args []string
		env  map[string]string
		file string
		want string
	}{
		{args: []string{"--partitions", "hive"}, want: "--partitions"},
		{args: []string{"--merge-rules", "2.x"}, want: "--merge-rules"},
		{args: []string{"--on-damage", "ignore"}, want: "--on-damage"},
		{args: []string{"--memory", "much"}, want: "--memory"},
		{args: []string{"--file-mode", "0999"}, want: "--file-mode"},
		{args: []string{"--timezone", "Mars/Phobos"}, want: "--timezone"},
		{args: []string{"--uid", "-7"}, want: "--uid"},
		{args: []string{"--log-level", "loud"}, want: "--log-level"},
		{args: []string{"--config", "/nonexistent/x"}, want: "/nonexistent/x"},
		{env: map[string]string{"HUDIFS_POLL_INTERVAL": "soon"}, want: "poll-interval"},
		{file: "poll-intervall: 2s\n", want: `unknown key "poll-intervall"`},
		{file: "file-mode: 0444\n", want: "in quotes"},
		{file: "a: [\n", want: "hudifs.yaml"},
	} {
		t.Run(c.want, func(t *testing.T) {
			_, err := load(t, c.args, c.env, c.file)
			if err == nil || !strings.Contains(err.Error(), c.want) || exitStatus(err) != exitUsage {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestCacheFolder(t *testing.T) {
	dir := t.TempDir()
	if err := makeCacheFolder(filepath.Join(dir, "a", "b")); err != nil && !strings.Contains(err.Error(), "in memory") {
		t.Error(err)
	}
	open := filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if makeCacheFolder(open) == nil {
		t.Error("a folder that everybody can write")
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if makeCacheFolder(link) == nil {
		t.Error("a link")
	}
	if _, err := os.Stat("/dev/shm"); err == nil {
		shm, err := os.MkdirTemp("/dev/shm", "hudifs")
		if err == nil {
			defer os.RemoveAll(shm)
			if err := makeCacheFolder(shm); err == nil || !strings.Contains(err.Error(), "in memory") {
				t.Errorf("a folder in memory: %v", err)
			}
		}
	}
}

func TestUsualMemory(t *testing.T) {
	limit := func(n uint64) func() (uint64, error) { return func() (uint64, error) { return n, nil } }
	none := func() (uint64, error) { return 0, errors.New("no limit") }
	for _, c := range []struct {
		limits []func() (uint64, error)
		want   int64
	}{
		{nil, 1 << 30},
		{[]func() (uint64, error){none, limit(64 << 30)}, 1 << 30},
		{[]func() (uint64, error){limit(1 << 30), limit(64 << 30)}, 256 << 20},
		{[]func() (uint64, error){limit(64 << 30), limit(2 << 30)}, 512 << 20},
		{[]func() (uint64, error){limit(0), none}, 1 << 30},
	} {
		if got := usualMemory(c.limits...); got != c.want {
			t.Errorf("%d, want %d", got, c.want)
		}
	}
	for _, c := range []struct {
		args []string
		want int64
	}{{nil, usualMemory(memlimit.FromCgroup, memlimit.FromSystem)}, {[]string{"--memory", "300MiB"}, 300 << 20}} {
		got, err := load(t, c.args, nil, "")
		if err != nil || got.memory != c.want || got.memory <= 0 {
			t.Errorf("%q: %+v, %v, want %d", c.args, got, err, c.want)
		}
	}
}

// Every command's help must show an example.
func TestHelp(t *testing.T) {
	root := newRootCommand()
	for _, cmd := range root.Commands() {
		if cmd.Runnable() && cmd.Example == "" && cmd.Name() != "version" {
			t.Errorf("%s has no example", cmd.Name())
		}
		if cmd.Short == "" {
			t.Errorf("%s has no summary", cmd.Name())
		}
	}
	for _, topic := range []string{"exit-codes", "configuration"} {
		var out strings.Builder
		root.SetOut(&out)
		root.SetArgs([]string{"help", topic})
		if err := root.Execute(); err != nil || len(out.String()) < 200 {
			t.Errorf("%s: %q, %v", topic, out.String(), err)
		}
	}
}
