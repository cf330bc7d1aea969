package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	_ "time/tzdata" // --timezone works where the machine has no zone files

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/dustin/go-humanize"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/hudifs/hudifs/fusefs"
)

const configurationHelp = `Each flag of hudifs mount can also be set in the environment and in a configuration
file. A flag wins over the environment, and the environment over the file.

  flag            --cache-dir /ssd/hudifs
  environment     HUDIFS_CACHE_DIR=/ssd/hudifs
  file            cache-dir: /ssd/hudifs

The file is YAML, and is named by --config or HUDIFS_CONFIG. Write modes in quotes
there ("0440"): YAML takes them for numbers otherwise. Sizes are numbers of bytes, or
have a unit (512MiB, 10GB); times have one too (2s, 1h30m).
`

// config is what flags, environment and configuration file say.
type config struct {
	// How a table is read, for all commands.
	Partitions      string `koanf:"partitions"`
	ListInstants    int    `koanf:"list-instants"`
	Timezone        string `koanf:"timezone"`
	CacheDir        string `koanf:"cache-dir"`
	CacheSize       string `koanf:"cache-size"`
	CacheMinFree    string `koanf:"cache-min-free"`
	Memory          string `koanf:"memory"`
	MergeRules      string `koanf:"merge-rules"`
	OnDamage        string `koanf:"on-damage"`
	BootstrapBase   string `koanf:"bootstrap-base"`
	NoMetadataTable bool   `koanf:"no-metadata-table"`
	LogLevel        string `koanf:"log-level"`
	LogFile         string `koanf:"log-file"`

	// How it is mounted.
	Foreground    bool          `koanf:"foreground"`
	AllowOther    bool          `koanf:"allow-other"`
	UID           int64         `koanf:"uid"`
	GID           int64         `koanf:"gid"`
	FileMode      string        `koanf:"file-mode"`
	DirMode       string        `koanf:"dir-mode"`
	PollInterval  time.Duration `koanf:"poll-interval"`
	Grace         time.Duration `koanf:"grace"`
	NoPassthrough bool          `koanf:"no-passthrough"`
	Lazy          string        `koanf:"lazy"`

	// What the texts above mean.
	location          *time.Location
	level             slog.Level
	cacheSize, memory int64
	cacheMinFree      int64
	fileMode, dirMode uint32
	uid, gid          *uint32
}

const (
	configHelp   = "YAML `file` with settings; see hudifs help configuration"
	cacheDirHelp = "`folder` for merged files (default: hudifs in the user's cache folder, or /var/cache/hudifs for root)"
)

// addTableFlags defines the flags of every command that reads a table.
func addTableFlags(f *pflag.FlagSet) {
	f.String("config", "", configHelp)
	f.String("partitions", "plain", "partition folders: plain (2026), table (as the table names them: year=2026), flat (none)")
	f.Int("list-instants", 1000, "how many instants asof and incremental list; all others are found by name")
	f.String("timezone", "UTC", "`zone` of timelines that Hudi wrote in local time, such as Europe/Berlin")
	f.String("cache-dir", "", cacheDirHelp)
	f.String("cache-size", "10GiB", "how much disk the cache may take")
	f.String("cache-min-free", "1GiB", "how much of its disk the cache leaves free")
	f.String("memory", "", "how much memory to use (default: 1GiB, or a quarter of what there is for this process)")
	f.String("merge-rules", "auto", "whose rules merge log files: auto (those of the writing version), 0.x, 1.x")
	f.String("on-damage", "refuse", "what to do about a damaged log block: refuse the file, or skip the block as Hudi does")
	f.String("bootstrap-base", "", "`folder` that holds the source files of a bootstrapped table, where they were moved")
	f.Bool("no-metadata-table", false, "list the folders of a table even where its metadata table could tell")
	f.String("log-level", "info", "debug, info, warn or error")
}

// addMountFlags defines the flags of hudifs mount alone.
func addMountFlags(f *pflag.FlagSet) {
	f.BoolP("foreground", "f", false, "stay in the foreground, and log to standard error")
	f.Bool("allow-other", false, "let other users use the mount (needs user_allow_other in /etc/fuse.conf unless root)")
	f.Int64("uid", -1, "user `id` that owns the files (default: who mounts)")
	f.Int64("gid", -1, "group `id` that owns the files (default: of who mounts)")
	f.String("file-mode", "0444", "permissions of files")
	f.String("dir-mode", "0555", "permissions of folders")
	f.String("lazy", "auto", "when the columns of large merged files are made: auto (each when it is first read), never (all at once)")
	f.Duration("poll-interval", 2*time.Second, "how often to look for new commits")
	f.Duration("grace", time.Hour, "how long a file that latest has listed can still be opened by its name")
	f.String("log-file", "", "`file` to log to (default: log/<mountpoint>.log in the cache folder)")
	f.Bool("no-passthrough", false, "send every read through the daemon")
}

// loadConfig merges the flags with the environment and the configuration file.
func loadConfig(flags *pflag.FlagSet) (*config, error) {
	k := koanf.New(".")
	path, _ := flags.GetString("config")
	if path == "" {
		path = os.Getenv("HUDIFS_CONFIG")
	}
	if path != "" {
		if err := loadFile(k, path); err != nil {
			return nil, usageError{fmt.Errorf("configuration file %s: %w", path, err)}
		}
	}
	fromEnv := env.Provider(".", env.Opt{Prefix: "HUDIFS_", TransformFunc: func(name, value string) (string, any) {
		name = strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, "HUDIFS_")), "_", "-")
		if flags.Lookup(name) == nil {
			return "", nil
		}
		return name, value
	}})
	if err := errors.Join(k.Load(fromEnv, nil), k.Load(posflag.Provider(flags, ".", k), nil)); err != nil {
		return nil, usageError{err}
	}
	c := &config{UID: -1, GID: -1, LogLevel: "info"}
	if err := k.Unmarshal("", c); err != nil {
		return nil, usageError{err}
	}
	if err := c.interpret(); err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

// loadFile reads a configuration file. It may serve several commands, but every key must be one of theirs.
func loadFile(k *koanf.Koanf, path string) error {
	if err := k.Load(file.Provider(path), yaml.Parser()); err != nil {
		return err
	}
	var known pflag.FlagSet
	addTableFlags(&known)
	addMountFlags(&known)
	for _, key := range k.Keys() {
		if known.Lookup(key) == nil || key == "config" {
			return fmt.Errorf("unknown key %q", key)
		}
	}
	for _, key := range []string{"file-mode", "dir-mode"} {
		if _, isText := k.Get(key).(string); k.Exists(key) && !isText {
			return fmt.Errorf("%s: write the mode in quotes", key)
		}
	}
	return nil
}

// interpret turns texts into values, and relative paths into absolute ones, as the daemon has another working directory.
func (c *config) interpret() (err error) {
	oneOf := func(flag, value string, allowed ...string) {
		if value != "" && !slices.Contains(allowed, value) {
			err = errors.Join(err, fmt.Errorf("--%s: %q is none of %s", flag, value, strings.Join(allowed, ", ")))
		}
	}
	check := func(flag string, wrong error) {
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("--%s: %w", flag, wrong))
		}
	}
	oneOf("partitions", c.Partitions, "plain", "table", "flat")
	if c.Lazy != "" {
		oneOf("lazy", c.Lazy, "auto", "never")
	}
	oneOf("merge-rules", c.MergeRules, "auto", "0.x", "1.x")
	oneOf("on-damage", c.OnDamage, "refuse", "skip")

	var wrong error
	c.location, wrong = time.LoadLocation(c.Timezone)
	check("timezone", wrong)
	check("log-level", c.level.UnmarshalText([]byte(c.LogLevel)))
	c.cacheSize, wrong = parseSize(c.CacheSize)
	check("cache-size", wrong)
	c.cacheMinFree, wrong = parseSize(c.CacheMinFree)
	check("cache-min-free", wrong)
	c.memory, wrong = parseSize(c.Memory)
	check("memory", wrong)
	if c.memory == 0 {
		c.memory = usualMemory(memlimit.FromCgroup, memlimit.FromSystem)
	}
	c.fileMode, wrong = parseMode(c.FileMode)
	check("file-mode", wrong)
	c.dirMode, wrong = parseMode(c.DirMode)
	check("dir-mode", wrong)
	c.uid, wrong = parseID(c.UID)
	check("uid", wrong)
	c.gid, wrong = parseID(c.GID)
	check("gid", wrong)
	if c.ListInstants < 0 {
		check("list-instants", errors.New("must not be negative"))
	}
	if c.PollInterval < 0 || c.Grace < 0 {
		check("poll-interval, --grace", errors.New("must not be negative"))
	}
	for _, path := range []*string{&c.CacheDir, &c.LogFile, &c.BootstrapBase} {
		if *path != "" {
			*path, wrong = filepath.Abs(*path)
			err = errors.Join(err, wrong)
		}
	}
	return err
}

func parseSize(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := humanize.ParseBytes(s)
	if err != nil || n > 1<<60 {
		return 0, fmt.Errorf("%q is no size such as 512MiB", s)
	}
	return int64(n), nil
}

// usualMemory is how much memory is used where nothing is said: 1 GiB, or a quarter of the least that limits tell, whichever is less.
func usualMemory(limits ...func() (uint64, error)) int64 {
	const usual, share = 1 << 30, 4
	memory := uint64(usual)
	for _, limit := range limits {
		if n, err := limit(); err == nil && n > 0 { // where there is none, that is an error
			memory = min(memory, n/share)
		}
	}
	return int64(memory)
}

func parseMode(s string) (uint32, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 8, 32)
	if err != nil || n > 0o777 {
		return 0, fmt.Errorf("%q is no octal mode such as 0444", s)
	}
	return uint32(n), nil
}

func parseID(n int64) (*uint32, error) {
	if n == -1 {
		return nil, nil
	}
	if n < 0 || n >= 1<<32-1 {
		return nil, fmt.Errorf("%d is no id", n)
	}
	return new(uint32(n)), nil
}

// cacheFolder is the configured cache folder, or the first usual place that is not in memory.
func (c *config) cacheFolder() (string, error) {
	if c.CacheDir != "" {
		return c.CacheDir, os.MkdirAll(c.CacheDir, 0o700)
	}
	var places []string
	if os.Geteuid() == 0 {
		places = []string{"/var/cache/hudifs"}
	} else {
		if xdg := os.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(xdg) {
			places = append(places, filepath.Join(xdg, "hudifs"))
		} else if home := homeFolder(); home != "" {
			places = append(places, filepath.Join(home, ".cache", "hudifs"))
		}
	}
	places = append(places, fmt.Sprintf("/var/tmp/hudifs-%d", os.Geteuid()))
	var errs []error
	for _, place := range places {
		err := makeCacheFolder(place)
		if err == nil {
			return place, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("no place for a cache, name one with --cache-dir: %w", errors.Join(errs...))
}

// homeFolder works without HOME, which a boot process does not set.
func homeFolder() string {
	if home, err := os.UserHomeDir(); err == nil {
		return home
	}
	if u, err := user.Current(); err == nil && u.HomeDir != "/nonexistent" {
		return u.HomeDir
	}
	return ""
}

// makeCacheFolder makes a folder that only we can write, not in memory: what is cached there would be taken from the programs
// that read it.
func makeCacheFolder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return err
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFDIR || st.Uid != uint32(os.Geteuid()) || st.Mode&0o022 != 0 {
		return fmt.Errorf("%s belongs to others", path)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return err
	}
	if fs.Type == unix.TMPFS_MAGIC || fs.Type == unix.RAMFS_MAGIC {
		return fmt.Errorf("%s is in memory", path)
	}
	if err := unix.Access(path, unix.W_OK); err != nil {
		return &os.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}

// fuseOptions are the mount's parameters.
func (c *config) fuseOptions(table string, log *slog.Logger) *fusefs.Options {
	return &fusefs.Options{
		AllowOther: c.AllowOther, UID: c.uid, GID: c.gid, FileMode: c.fileMode, DirMode: c.dirMode,
		EntryTimeout: c.PollInterval, NoPassthrough: c.NoPassthrough, Logger: log, FsName: "hudifs:" + table,
	}
}
