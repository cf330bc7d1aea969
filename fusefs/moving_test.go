package fusefs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hudifs/hudifs/views"
)

// moving is a directory whose entry latest leads to another view after each commit. All views of a kind have one file, named after it.
type moving struct {
	*fakeDir
	files   []*fakeFile
	commits atomic.Uint64
}

func (d *moving) view() *fakeDir {
	n := d.commits.Load()
	kind := int(n % uint64(len(d.files)))
	return newDir(1000+n, true, map[string]views.Node{fmt.Sprint(kind): d.files[kind]})
}

func (d *moving) Lookup(ctx context.Context, name string) (views.Node, error) {
	if name == "latest" {
		return d.view(), nil
	}
	return d.fakeDir.Lookup(ctx, name)
}

func (d *moving) Entries(context.Context) ([]views.Entry, error) {
	return []views.Entry{{Name: "latest", Dir: true, Inode: d.view().attr.Inode}}, nil
}

// TestChangesUnderLoad: commits come one after the other, and the kernel is told of each, while many threads walk, list, read and map: nothing
// hangs, and whoever has a folder open sees that one to the end. Telling the kernel takes locks that requests hold.
func TestChangesUnderLoad(t *testing.T) {
	const kinds, threads = 5, 256
	content := func(kind int) []byte { return bytesOf(uint64(kind), 100_000+kind) }
	use := func(t *testing.T, mnt string) {
		end := time.Now().Add(2 * time.Second)
		var wg sync.WaitGroup
		var want [kinds][]byte
		for k := range want {
			want[k] = content(k)
		}
		for range threads {
			wg.Go(func() {
				for n := 0; time.Now().Before(end); n++ {
					if err := lookAround(mnt, want[:]); err != nil {
						t.Error(err)
						return
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
	root := &moving{fakeDir: newDir(1, false, nil)}
	for k := range kinds {
		f := newFile(uint64(10+k), content(k))
		if k%2 == 0 {
			f.local = filepath.Join(t.TempDir(), "local")
			check(t, os.WriteFile(f.local, f.content, 0o600))
		}
		root.files = append(root.files, f)
	}
	o := options(io.Discard)
	o.EntryTimeout = time.Hour
	s, mnt := mustMount(t, root, o)
	done := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
				root.commits.Add(1)
				s.Invalidate()
			}
		}
	})
	err := child(t, mnt).Run()
	close(done)
	writer.Wait()
	check(t, err)
	if n := root.commits.Load(); n < 100 {
		t.Errorf("only %d commits", n)
	}
	for k, f := range root.files {
		if f.opens.Load() == 0 {
			t.Errorf("nobody has opened file %d", k)
		}
	}
}

// lookAround opens latest and reads what is in it, by name and by path.
func lookAround(mnt string, want [][]byte) (err error) {
	dir, err := os.OpenRoot(mnt + "/latest")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	list, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return err
	}
	if len(list) != 1 {
		return fmt.Errorf("the folder lists %v", list)
	}
	name := list[0].Name()
	kind := int(name[0] - '0')
	f, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if rand.IntN(2) == 0 {
		got, err := io.ReadAll(f)
		if err != nil || !bytes.Equal(got, want[kind]) {
			return fmt.Errorf("file %s: %d bytes, %w", name, len(got), err)
		}
	} else {
		m, err := unix.Mmap(int(f.Fd()), 0, len(want[kind]), unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			return fmt.Errorf("map file %s: %w", name, err)
		}
		same := bytes.Equal(m, want[kind])
		if err := unix.Munmap(m); err != nil || !same {
			return fmt.Errorf("mapped file %s has other bytes, %w", name, err)
		}
	}
	got, err := os.ReadFile(mnt + "/latest/" + name)
	if err == nil && !bytes.Equal(got, want[kind]) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("by its path: %d bytes, %w", len(got), err)
	}
	return nil
}
