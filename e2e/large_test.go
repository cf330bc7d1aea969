package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func largeTable(t *testing.T) string {
	t.Helper()
	archive := filepath.Join(env.root, "..", "shared", "bench", "mor_500k.zip")
	if _, err := os.Stat(archive); err != nil {
		t.Skipf("the large table is not beside the repository: %v", err)
	}
	table := filepath.Join(tempDir(t), "large")
	unpack(t, archive, table)
	return table
}

// TestFootersOfLargeFiles: of files whose columns are made one by one.
func TestFootersOfLargeFiles(t *testing.T) {
	needEngines(t)
	testFooters(t, mount(t, largeTable(t)).path("latest"))
}

// TestManyReaders: sixty-four at once, on files that are each rendered once for
// all of them. They wait for each other; nobody fails, and memory stays what it
// was to be.
func TestManyReaders(t *testing.T) {
	m := mount(t, largeTable(t), "--memory", "128MiB")
	var paths []string
	for _, kind := range []string{"asof", "incremental"} {
		for _, view := range names(t, m.path(kind)) {
			for _, name := range sorted(files(t, m.path(kind, view))) {
				paths = append(paths, m.path(kind, view, name))
			}
		}
	}
	var mu sync.Mutex
	sums := map[string]string{}
	var readers sync.WaitGroup
	for n := range 64 {
		readers.Go(func() {
			file := paths[n%len(paths)]
			out, err := exec.Command("md5sum", file).CombinedOutput()
			mu.Lock()
			defer mu.Unlock()
			if before, ok := sums[file]; err != nil || ok && before != string(out) {
				t.Errorf("%s: %q, %v; before %q", file, out, err, before)
			}
			sums[file] = string(out)
		})
	}
	readers.Wait()
	if n := m.renders(t); n > len(sums) {
		t.Errorf("%d renderings of %d files", n, len(sums))
	}
	if peak := peakMemory(t, m); peak > (128+256)<<20 {
		t.Errorf("with --memory 128MiB the daemon took %d MiB", peak>>20)
	} else {
		t.Logf("%d files; the daemon took %d MiB at most", len(sums), peak>>20)
	}
}

// TestLargeTable queries half a million rows of 22 columns, 15 % of them
// changed in logs, and holds sums against Hudi's. The daemon must keep to the
// memory it was given.
func TestLargeTable(t *testing.T) {
	needFUSE(t)
	needEngines(t)
	m := mount(t, largeTable(t), "--memory", "256MiB")
	const columns = `count(*), sum(seq), sum(ts), sum(i_small), sum(i_big), sum("dec"), count(s_low), count(DISTINCT s_high), sum(b::int), max(day)`
	for view, want := range map[string]string{
		"latest":                                "495077 123766260472 638651 247345686 247807681849851 24725795855.99 445646 495077 248024 2025-06-22",
		"read_optimized":                        "500000 124999750000 500000 249695582 250139121485824 24978704766.51 449875 500000 250608 2025-06-22",
		"incremental/20261130013710447..latest": "24863 6222642699 99452 12508963 12414541183981 1240468821.14 22434 24863 12511 2025-06-22",
	} {
		a := ask(t, question{Do: "query", SQL: fmt.Sprintf("SELECT %s FROM '%s/**/*.parquet'", columns, m.path(view))})
		if got := strings.Join(a.Values, " "); got != want {
			t.Errorf("%s: DuckDB says %s, Hudi says %s", view, got, want)
		}
	}
	if peak := peakMemory(t, m); peak > 512<<20 {
		t.Errorf("with --memory 256MiB the daemon took %d MiB", peak>>20)
	} else {
		t.Logf("the daemon took %d MiB at most", peak>>20)
	}
}

// peakMemory returns the largest resident size that the daemon of a mount has
// had.
func peakMemory(t *testing.T, m mounted) int64 {
	t.Helper()
	for line := range strings.Lines(readFile(t, fmt.Sprintf("/proc/%d/status", m.daemon(t)))) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			n, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("the daemon's status tells no peak")
	return 0
}
