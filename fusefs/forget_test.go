package fusefs

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"

	"github.com/hudifs/hudifs/views"
)

// inodes counts what is known below an inode.
func inodes(n *fs.Inode) int {
	count := 0
	for _, c := range n.Children() {
		count += 1 + inodes(c)
	}
	return count
}

func heap() int64 {
	for range 2 { // what lies in a sync.Pool outlives the first one
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What the kernel forgets costs nothing any more, as often as somebody walks over everything.
func TestForget(t *testing.T) {
	const many = 10_000
	if mnt, ok := inChild(); ok {
		out, err := exec.Command("find", mnt, "-size", "+1", "-printf", "x").Output() // asks each for its size
		check(t, err)
		if len(out) != many {
			t.Errorf("%d files found", len(out))
		}
		return
	}
	needFUSE(t)
	needRoot(t) // to have the kernel forget
	children := make(map[string]views.Node, many)
	for i := range many {
		f := newFile(uint64(1000+i), nil)
		f.attr.Size = 5000
		children[fmt.Sprintf("%08d-with-a-name-as-long-as-they-are.parquet", i)] = f
	}
	root := newDir(1, false, map[string]views.Node{"big": newDir(2, true, children)})
	s, mnt := mustMount(t, root, options(io.Discard))
	start := heap()
	for round := range 3 {
		check(t, child(t, mnt).Run())
		full, top := heap(), inodes(s.root.EmbeddedInode())
		if top < many/2 { // the kernel may have forgotten some by itself
			t.Errorf("round %d: %d inodes known after %d were looked up", round, top, many)
		}
		check(t, os.WriteFile("/proc/sys/vm/drop_caches", []byte("2"), 0))
		for end := time.Now().Add(20 * time.Second); inodes(s.root.EmbeddedInode()) > 2; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("round %d: %d of %d inodes are left", round, inodes(s.root.EmbeddedInode()), top)
			}
		}
		left := heap() - start
		if round == 0 { // the buffers of the FUSE library stay, as many as there were requests at once
			start += left
			t.Logf("%d bytes for %d inodes, %d left of the first round", full-start, top, left)
			continue
		}
		if left > (full-start)/5 {
			t.Errorf("round %d: of %d bytes %d are left", round, full-start, left)
		} else {
			t.Logf("round %d: %d bytes for %d inodes, %d left", round, full-start, top, left)
		}
	}
	runtime.KeepAlive(children)
}
