package cache

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// diskError is a failure of the cache's own disk, as opposed to one of what is rendered.
type diskError struct{ err error }

func (e *diskError) Error() string { return e.err.Error() }
func (e *diskError) Unwrap() error { return e.err }

// isDiskTrouble tells a disk that is full or failing from a folder that was badly chosen.
func isDiskTrouble(err error) bool {
	for _, errno := range []unix.Errno{unix.ENOSPC, unix.EDQUOT, unix.EROFS, unix.EIO, unix.ENXIO, unix.ENODEV, unix.ESTALE, unix.ETIMEDOUT} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// faultFunc is where tests make the disk fail: it is asked before each operation, by name. Nil in production.
type faultFunc func(op string) error

func (f faultFunc) check(op string) error {
	if f == nil {
		return nil
	}
	return f(op)
}

// folder is the cache's place on disk. It keeps no state but its path.
type folder struct {
	dir   string // absolute, with the layout's version
	tmp   string
	fault faultFunc
}

// Other daemons' users have no business here: rendered files are the table's data.
const folderMode = 0o700

func newFolder(dir string, fault faultFunc) (*folder, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	abs = filepath.Join(abs, "v1")
	return &folder{dir: abs, tmp: filepath.Join(abs, "tmp"), fault: fault}, nil
}

// prepare makes the folder and takes away what daemons have left that died.
func (f *folder) prepare() error {
	if err := f.makeTmp(); err != nil {
		return err
	}
	return f.sweep()
}

// sweep removes the temporary files that nobody holds.
func (f *folder) sweep() error {
	names, err := os.ReadDir(f.tmp)
	if err != nil {
		return err
	}
	for _, n := range names {
		removeUnlocked(filepath.Join(f.tmp, n.Name()))
	}
	return nil
}

func (f *folder) makeTmp() error {
	if err := f.fault.check("mkdir"); err != nil {
		return err
	}
	return os.MkdirAll(f.tmp, folderMode)
}

// removeUnlocked removes a file unless somebody holds a lock on it. It reports whether the file is gone.
func removeUnlocked(path string) bool {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer func() { _ = file.Close() }()
	if lock(file, unix.LOCK_EX) != nil {
		return false
	}
	err = os.Remove(path)
	return err == nil || errors.Is(err, fs.ErrNotExist)
}

// lock takes a lock without waiting for it.
func lock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// tempFile is a file that is being written. Its lock tells other daemons so.
type tempFile struct {
	*os.File
	published bool
}

// discard closes the file, and removes it unless it was published.
func (t *tempFile) discard() {
	if !t.published {
		_ = os.Remove(t.Name())
	}
	_ = t.Close()
}

// create makes a temporary file. Between its making and its locking another daemon that starts may take it for a leftover
// and remove it: then there is another one.
func (f *folder) create() (*tempFile, error) {
	if err := f.fault.check("create"); err != nil {
		return nil, err
	}
	for range 100 {
		file, err := os.CreateTemp(f.tmp, "")
		if errors.Is(err, fs.ErrNotExist) {
			if err := f.makeTmp(); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if lock(file, unix.LOCK_EX) == nil {
			if st, err := fstat(file); err == nil && st.Nlink > 0 {
				return &tempFile{File: file}, nil
			}
		}
		_ = file.Close()
	}
	return nil, fmt.Errorf("temporary files in %s vanish at once", f.tmp)
}

func fstat(f *os.File) (st unix.Stat_t, err error) {
	err = unix.Fstat(int(f.Fd()), &st)
	return st, err
}

func (f *folder) sync(t *tempFile) error {
	if err := f.fault.check("sync"); err != nil {
		return err
	}
	return t.Sync()
}

func (f *folder) path(key Key, sum uint64) string {
	name := key.String()
	return filepath.Join(f.dir, name[:2], fmt.Sprintf("%s.%016x", name, sum))
}

// publish renames a temporary file. The folder is not synced: an entry whose name is lost is a miss.
func (f *folder) publish(t *tempFile, key Key, sum uint64) error {
	if err := f.fault.check("rename"); err != nil {
		return err
	}
	path := f.path(key, sum)
	err := os.Rename(t.Name(), path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
			return err
		}
		err = os.Rename(t.Name(), path)
	}
	t.published = err == nil
	return err
}

// readOnly replaces a temporary file by a descriptor that cannot write, under a shared lock, so that nobody evicts the entry
// once it is published. It is not opened by its name: that may vanish if another daemon removes a file which had it before.
func (t *tempFile) readOnly() (*os.File, unix.Stat_t, error) {
	var st unix.Stat_t
	file, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", t.Fd()), os.O_RDONLY, 0)
	if err != nil {
		return nil, st, err
	}
	if err = lock(t.File, unix.LOCK_SH); err == nil {
		err = lock(file, unix.LOCK_SH)
	}
	if err == nil {
		st, err = fstat(file)
	}
	if err != nil {
		_ = file.Close()
		return nil, st, err
	}
	return file, st, nil
}

// open opens an entry under a shared lock. An entry that is being removed does not exist.
func (f *folder) open(key Key, sum uint64) (*os.File, unix.Stat_t, error) {
	var st unix.Stat_t
	if err := f.fault.check("open"); err != nil {
		return nil, st, err
	}
	file, err := os.OpenFile(f.path(key, sum), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, st, err
	}
	if err = lock(file, unix.LOCK_SH); err == nil {
		st, err = fstat(file)
	}
	if err == nil && (st.Nlink == 0 || st.Mode&unix.S_IFMT != unix.S_IFREG) {
		err = fs.ErrNotExist
	}
	if err != nil {
		_ = file.Close()
		return nil, st, fmt.Errorf("open %s: %w", f.path(key, sum), err)
	}
	return file, st, nil
}

// remove removes an entry that nobody has open and reports whether it is gone.
func (f *folder) remove(key Key, sum uint64) bool {
	return f.fault.check("remove") == nil && removeUnlocked(f.path(key, sum))
}

// touch notes that an entry was used, for the next start. Where it fails, the order of eviction is less good.
func (f *folder) touch(file *os.File) {
	now := unix.Timespec{Nsec: unix.UTIME_NOW}
	_ = unix.UtimesNanoAt(int(file.Fd()), "", []unix.Timespec{now, now}, unix.AT_EMPTY_PATH)
}

// free returns how many bytes the file system has left for us.
func (f *folder) free() (int64, error) {
	if err := f.fault.check("statfs"); err != nil {
		return 0, err
	}
	var st unix.Statfs_t
	err := unix.Statfs(f.tmp, &st)
	if errors.Is(err, fs.ErrNotExist) { // removed under us: whatever is written next will tell
		return math.MaxInt64, nil
	}
	if err != nil {
		return 0, fmt.Errorf("statfs %s: %w", f.tmp, err)
	}
	return int64(st.Bavail) * st.Bsize, nil //nolint:gosec // no file system has 2^63 bytes
}

// find returns the checksums of the entries that a key has.
func (f *folder) find(key Key) []uint64 {
	name := key.String()
	names, err := os.ReadDir(filepath.Join(f.dir, name[:2]))
	if err != nil {
		return nil
	}
	var sums []uint64
	for _, n := range names {
		if k, sum, ok := parseName(n.Name()); ok && k == key {
			sums = append(sums, sum)
		}
	}
	return sums
}

func parseName(name string) (key Key, sum uint64, ok bool) {
	k, s, _ := strings.Cut(name, ".")
	if len(k) != 2*len(key) || len(s) != 16 {
		return key, 0, false
	}
	if _, err := hex.Decode(key[:], []byte(k)); err != nil {
		return key, 0, false
	}
	sum, err := strconv.ParseUint(s, 16, 64)
	return key, sum, err == nil
}

// foundFile is an entry as a listing shows it.
type foundFile struct {
	key   Key
	sum   uint64
	size  int64
	alloc int64
	ino   uint64
	used  time.Time
}

// scan lists the entries. What has another name is not ours and is left alone.
func (f *folder) scan() ([]foundFile, error) {
	if err := f.fault.check("scan"); err != nil {
		return nil, err
	}
	shards, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	var found []foundFile
	for _, shard := range shards {
		if len(shard.Name()) != 2 || !shard.IsDir() {
			continue
		}
		names, err := os.ReadDir(filepath.Join(f.dir, shard.Name()))
		if errors.Is(err, fs.ErrNotExist) { // removed since it was listed
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			key, sum, ok := parseName(n.Name())
			if !ok || !strings.HasPrefix(n.Name(), shard.Name()) {
				continue
			}
			var st unix.Stat_t
			if unix.Lstat(f.path(key, sum), &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
				continue
			}
			found = append(found, foundFile{key, sum, st.Size, st.Blocks * 512, st.Ino, time.Unix(st.Mtim.Unix())})
		}
	}
	return found, nil
}
