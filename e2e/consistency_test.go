package e2e

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestCommitAppears: a commit is in latest without a remount, and without
// anybody who tells the daemon: it hears of it, or finds it when it looks next.
func TestCommitAppears(t *testing.T) {
	g := grow(t, "t9_mor_logs", 2)
	network, _ := loopback(t, g.dir) // where nothing is heard of what others do
	const interval = time.Second
	mounts := map[string]mounted{
		"heard":  mount(t, g.dir, "--poll-interval", "1h"),
		"polled": mount(t, network, "--poll-interval", interval.String()),
	}
	daemons := map[string]int{}
	for how, m := range mounts {
		m.shows(t, g.writes[1])
		daemons[how] = m.daemon(t)
	}
	for n := 3; n <= len(g.writes); n++ {
		g.commit(t, n)
		since := time.Now()
		for how, m := range mounts {
			m.shows(t, g.writes[n-1])
			if took := time.Since(since); took > interval+5*time.Second { // on a machine that does other things too
				t.Errorf("write %d is %s after %v", n, how, took)
			}
		}
	}
	anew := mount(t, g.dir)
	for how, m := range mounts {
		sameBytes(t, m.path("latest"), anew.path("latest"))
		if now := m.daemon(t); now != daemons[how] {
			t.Errorf("%s: another daemon", how)
		}
	}
}

// sums are the checksums of the files below a folder.
func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name := range files(t, dir) {
		out[name] = sum([]byte(readFile(t, filepath.Join(dir, name))))
	}
	return out
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// TestOldFolderStays: who has a folder or a file of latest open before a commit
// goes on with what it is of, and who comes with a path has what is latest now.
// Names that were listed before lead to what they led to.
func TestOldFolderStays(t *testing.T) {
	for _, flag := range []string{"--no-passthrough=false", "--no-passthrough"} {
		t.Run(flag, func(t *testing.T) {
			g := grow(t, "t9_mor_logs", 2)
			want := sums(t, mount(t, g.dir).path("latest")) // by another daemon: nothing of it is in a cache here
			m := mount(t, g.dir, flag)
			latest := m.path("latest")
			folder, err := os.OpenRoot(latest)
			if err != nil {
				t.Fatal(err)
			}
			defer folder.Close()
			open := map[string]*os.File{}
			for _, name := range keys(want)[:2] { // the others are opened later
				f, err := os.Open(filepath.Join(latest, name))
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				open[name] = f
			}
			asOf := sums(t, m.path("asof", g.writes[1]))

			for n := 3; n <= len(g.writes); n++ {
				g.commit(t, n)
			}
			m.shows(t, g.writes[len(g.writes)-1])

			for name, f := range open {
				if data, err := io.ReadAll(f); err != nil || sum(data) != want[name] {
					t.Errorf("%s, which was open: %d bytes, %v", name, len(data), err)
				}
			}
			now := files(t, latest)
			gone := 0
			for name := range want {
				if _, ok := now[name]; !ok {
					gone++
				}
				if got := sum([]byte(readFile(t, filepath.Join(latest, name)))); got != want[name] {
					t.Errorf("%s, which was listed before: other bytes", name)
				}
				f, err := folder.Open(name)
				if err != nil {
					t.Errorf("%s in the folder that was open: %v", name, err)
					continue
				}
				if data, err := io.ReadAll(f); err != nil || sum(data) != want[name] {
					t.Errorf("%s in the folder that was open: %d bytes, %v", name, len(data), err)
				}
				f.Close()
			}
			if gone == 0 {
				t.Error("all that was listed is still latest: nothing was tested")
			}
			var listed []string
			err = fs.WalkDir(folder.FS(), ".", func(p string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					listed = append(listed, p)
				}
				return err
			})
			if slices.Sort(listed); err != nil || !slices.Equal(listed, keys(want)) {
				t.Errorf("the folder that was open lists %q, %v", listed, err)
			}
			if got := sums(t, m.path("asof", g.writes[1])); fmt.Sprint(got) != fmt.Sprint(asOf) {
				t.Error("asof has changed")
			}
			// A daemon that was not there before, nobody of whose users has listed anything.
			other, strict := mount(t, g.dir), mount(t, g.dir, "--grace", "0")
			for name := range want {
				if got := sum([]byte(readFile(t, other.path("latest", name)))); got != want[name] {
					t.Errorf("%s, by another daemon: other bytes", name)
				}
				if _, ok := now[name]; ok {
					continue
				}
				if _, err := os.Stat(strict.path("latest", name)); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s, without any grace: %v", name, err)
				}
			}
		})
	}
}

func keys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// talk starts a program, and gives what it reads and the lines that it writes.
func talk(t *testing.T, cmd *exec.Cmd) (in io.Closer, lines *bufio.Scanner) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return in, bufio.NewScanner(out)
}

// TestWorkingDirectory: a shell that stands in latest stands in the old folder
// after a commit. It can go on reading there, but the folder has no path any
// more; with the next cd it is in the new one.
func TestWorkingDirectory(t *testing.T) {
	g := grow(t, "t9_mor_logs", 2)
	m := mount(t, g.dir)
	shell := exec.Command("/bin/sh", "-c", `
		cat */*.parquet | sha256sum
		read -r _
		cat */*.parquet | sha256sum
		/bin/pwd >/dev/null 2>&1 && echo found || echo lost
		cd "$0" && cat */*.parquet | sha256sum
		/bin/pwd`, m.path("latest"))
	shell.Dir = m.path("latest")
	in, lines := talk(t, shell)
	line := func() string {
		lines.Scan()
		return lines.Text()
	}
	before := line()
	g.commit(t, 3)
	m.shows(t, g.writes[2])
	in.Close()
	if after := line(); after != before || len(before) < 64 {
		t.Errorf("what is read where the shell stands: %q, then %q", before, after)
	}
	if got := line(); got != "lost" {
		t.Errorf("the path of the old folder is %s", got)
	}
	if got := line(); got == before || len(got) < 64 {
		t.Errorf("after cd: %q, as before", got)
	}
	if got := line(); got != m.path("latest") {
		t.Errorf("after cd the shell stands in %q", got)
	}
	if err := shell.Wait(); err != nil {
		t.Error(err)
	}
}

// mapVar makes this program map files, and read them again and again until its
// standard input ends. It says what it has read.
const mapVar = "HUDIFS_TEST_MAP"

func serveMaps(names string) {
	var all [][]byte
	for name := range strings.SplitSeq(names, "\n") {
		f, err := os.Open(name)
		fatal(err)
		info, err := f.Stat()
		fatal(err)
		for range mapsOfEach {
			data, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
			fatal(err)
			all = append(all, data)
		}
	}
	fmt.Println("mapped", len(all))
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(done)
	}()
	var readers sync.WaitGroup
	texts := make([]string, len(all))
	for i, data := range all {
		readers.Go(func() {
			for n := 0; ; n++ {
				if got := sum(data); n > 0 && got != texts[i] {
					fatal(errors.New("mapped bytes have changed"))
				} else {
					texts[i] = got
				}
				// Its pages are given back, so that the next round asks the mount again.
				fatal(syscall.Madvise(data, syscall.MADV_DONTNEED))
				select {
				case <-done:
					return
				case <-time.After(time.Millisecond):
				}
			}
		})
	}
	readers.Wait()
	for i := range all {
		fmt.Println(texts[i])
	}
	os.Exit(0)
}

const mapsOfEach = 10

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestMapsAcrossCommits: commits come while a hundred readers have files of
// latest mapped: none hangs, none sees another byte. To tell the kernel of a
// commit takes locks that their page faults hold.
func TestMapsAcrossCommits(t *testing.T) {
	for _, flag := range []string{"--no-passthrough=false", "--no-passthrough"} {
		t.Run(flag, func(t *testing.T) {
			g := grow(t, "t9_mor_logs", 2)
			m := mount(t, g.dir, flag)
			want := sums(t, m.path("latest"))
			names := keys(want)
			var paths []string
			for _, name := range names {
				paths = append(paths, m.path("latest", name))
			}
			type reader struct {
				cmd   *exec.Cmd
				stdin io.Closer
				lines *bufio.Scanner
			}
			var readers []reader
			for total := 0; total < 100; total += mapsOfEach * len(paths) {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), mapVar+"="+strings.Join(paths, "\n"))
				cmd.Stderr = os.Stderr
				in, lines := talk(t, cmd)
				t.Cleanup(func() { _ = cmd.Process.Kill() })
				r := reader{cmd, in, lines}
				if !r.lines.Scan() || !strings.HasPrefix(r.lines.Text(), "mapped ") {
					t.Fatalf("a reader says %q", r.lines.Text())
				}
				readers = append(readers, r)
			}
			for n := 3; n <= len(g.writes); n++ {
				g.commit(t, n)
				m.shows(t, g.writes[n-1])
				for name := range files(t, m.path("latest")) {
					readFile(t, m.path("latest", name))
				}
			}
			for _, r := range readers {
				soon(t, "a reader", func() error {
					r.stdin.Close()
					for i := 0; r.lines.Scan(); i++ {
						if name := names[i/mapsOfEach]; r.lines.Text() != want[name] {
							return fmt.Errorf("%s has other bytes", name)
						}
					}
					return r.cmd.Wait()
				})
			}
		})
	}
}

// TestCleanedFiles: what is open or rendered stays readable when the cleaner
// has taken what it was made of; the rest is stale, for a reason, and never
// shorter or empty. To have listed a name keeps nothing.
func TestCleanedFiles(t *testing.T) {
	for _, name := range []string{"t9_cow_partitioned", "t9_mor_compacted"} {
		t.Run(name, func(t *testing.T) {
			g := grow(t, name, 3)
			m := mount(t, g.dir)
			latest, err := os.OpenRoot(m.path("latest"))
			if err != nil {
				t.Fatal(err)
			}
			defer latest.Close()
			type was struct {
				base, sum    string
				asIs, opened bool
				open         *os.File
			}
			listed := map[string]*was{}
			for _, name := range sorted(files(t, m.path("latest"))) {
				p := m.path("latest", name)
				listed[name] = &was{
					base: filepath.Join(filepath.Dir(name), attribute(t, p, "base_file")),
					asIs: attribute(t, p, "as_is") == "true",
				}
			}
			reference := sums(t, mount(t, g.dir).path("latest"))
			for n, name := range keys(reference) {
				w := listed[name]
				w.sum, w.opened = reference[name], n%2 == 0
				if !w.opened {
					continue
				}
				f, err := latest.Open(name)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				w.open = f
			}
			g.commit(t, 4)
			m.shows(t, g.writes[3])
			now := sums(t, m.path("latest"))
			var removed []string
			for name, w := range listed {
				if _, ok := now[name]; !ok {
					removed = append(removed, w.base)
				}
			}
			g.clean(t, g.writes[3], removed...)
			eventually(t, "the clean is known", func() bool {
				return strings.Contains(readFile(t, m.path(".hudi", "timeline")), `"clean"`)
			})
			kept, stale := 0, []string{}
			for name, w := range listed {
				if w.opened {
					if data, err := io.ReadAll(w.open); err != nil || sum(data) != w.sum {
						t.Errorf("%s, which was open: %d bytes, %v", name, len(data), err)
					}
				}
				if _, ok := now[name]; ok {
					continue
				}
				for where, open := range map[string]func() ([]byte, error){
					"the folder that listed it": func() ([]byte, error) { return latest.ReadFile(name) },
					"latest":                    func() ([]byte, error) { return os.ReadFile(m.path("latest", name)) },
				} {
					data, err := open()
					switch {
					case err == nil && sum(data) == w.sum && w.opened:
						kept++
					case errors.Is(err, syscall.ESTALE) && len(data) == 0 && (w.asIs || !w.opened):
						stale = append(stale, w.base)
					default:
						t.Errorf("%s of %s, opened before %v, as it is %v: %d bytes, %v", name, where, w.opened, w.asIs, len(data), err)
					}
				}
			}
			if len(stale) == 0 || kept == 0 && name == "t9_mor_compacted" {
				t.Errorf("%d kept, %q stale: nothing was tested", kept, stale)
			}
			log := m.log(t)
			for _, base := range stale {
				if !strings.Contains(log, filepath.Base(base)) {
					t.Errorf("the log does not say that %s was removed:\n%s", base, log)
				}
			}
			sameBytes(t, m.path("latest"), mount(t, g.dir).path("latest"))

			for n, write := range g.writes[:4] {
				dir := m.path("asof", write)
				_, err := os.ReadDir(dir)
				if n < 3 && (!errors.Is(err, syscall.ESTALE) || attribute(t, dir, "error") == "") || n == 3 && err != nil {
					t.Errorf("as of write %d: %v", n+1, err)
				}
			}
		})
	}
}

// TestHollowCommit: a write that was requested before others and is not complete
// holds up no latest, but all as-of views that it could still change. What is as
// of an instant before it stays what it was, whatever becomes of it.
func TestHollowCommit(t *testing.T) {
	for _, end := range []string{"completed", "rolled back"} {
		t.Run(end, func(t *testing.T) {
			g := grow(t, "t9_cow_partitioned", 2)
			g.begin(t, 3)
			g.commit(t, 4)
			m := mount(t, g.dir)
			if got := attribute(t, m.path("latest"), "instant"); got != g.writes[3] {
				t.Errorf("latest is of %s", got)
			}
			third := func(name string) bool { return strings.Contains(name, g.writes[2]) }
			if got := sorted(files(t, m.path("latest"))); slices.ContainsFunc(got, third) {
				t.Errorf("latest shows what is not complete: %q", got)
			}
			if got := names(t, m.path("asof")); !slices.Equal(got, g.writes[:2]) {
				t.Errorf("asof lists %q", got)
			}
			for _, write := range g.writes[2:4] {
				dir := m.path("asof", write)
				_, err := os.ReadDir(dir)
				if reason := attribute(t, dir, "error"); !errors.Is(err, syscall.EOPNOTSUPP) || !strings.Contains(reason, g.writes[2]) {
					t.Errorf("as of %s: %v: %q", write, err, reason)
				}
			}
			before := sums(t, m.path("asof", g.writes[1]))
			want := slices.Clone(g.writes[:4])
			if end == "completed" {
				g.complete(t, 3)
			} else {
				want = slices.Delete(want, 2, 3)
				for _, state := range []string{"inflight", "commit.requested"} {
					if err := os.Remove(filepath.Join(g.dir, ".hoodie", "timeline", g.writes[2]+"."+state)); err != nil {
						t.Fatal(err)
					}
				}
			}
			eventually(t, "it is over", func() bool { return slices.Equal(names(t, m.path("asof")), want) })
			if after := sums(t, m.path("asof", g.writes[1])); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Error("as of before it: other files")
			}
			if got := sorted(files(t, m.path("asof", g.writes[2]))); slices.ContainsFunc(got, third) != (end == "completed") {
				t.Errorf("as of the write: %q", got)
			}
			if len(files(t, m.path("asof", g.writes[3]))) == 0 {
				t.Error("as of the one after it: nothing")
			}
		})
	}
}

// TestListedElsewhere: a daemon that has not looked for a while finds what another
// one has listed: it looks before it denies a name.
func TestListedElsewhere(t *testing.T) {
	g := grow(t, "t9_mor_logs", 2)
	network, _ := loopback(t, g.dir)
	behind := mount(t, network, "--poll-interval", "1h")
	old := files(t, behind.path("latest"))
	for n := 3; n <= len(g.writes); n++ {
		g.commit(t, n)
		ahead := mount(t, g.dir)
		appeared := 0
		for name := range files(t, ahead.path("latest")) {
			if _, ok := old[name]; !ok {
				appeared++
			}
			if one, other := readFile(t, ahead.path("latest", name)), readFile(t, behind.path("latest", name)); one != other {
				t.Errorf("%s: other bytes", name)
			}
		}
		if appeared == 0 {
			t.Errorf("write %d has made no name that was not there", n)
		}
	}
}

// TestUpgradeUnderMount: Hudi 1.1 upgrades a table of version 6 that is mounted,
// and goes on writing. The timeline moves to another folder, where its commits
// are heard of without a remount.
func TestUpgradeUnderMount(t *testing.T) {
	table := table(t, "t6_mor_logs")
	upgraded := filepath.Join(tempDir(t), "upgraded")
	unpack(t, filepath.Join(env.root, "testdata", "t9_upgraded", "table.zip"), upgraded)
	const compaction, first, last = "20261130080626822", "20261130080824694", "20261130080914042"
	if err := os.WriteFile(filepath.Join(upgraded, "version8"), []byte(readFile(t, filepath.Join(env.root, "testdata", "t9_upgraded", "version8.properties"))), 0o644); err != nil {
		t.Fatal(err)
	}
	put := func(from, to string) {
		t.Helper()
		p := filepath.Join(table, to)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p+".~", []byte(readFile(t, filepath.Join(upgraded, from))), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(p+".~", p); err != nil {
			t.Fatal(err)
		}
	}
	// write puts the files of a write, the one that completes it last.
	write := func(at string, name func(string) string) {
		t.Helper()
		var last string
		for p := range everything(t, upgraded) {
			switch {
			case !strings.Contains(p, at):
			case completed.MatchString(filepath.Base(p)):
				last = p
			default:
				put(p, name(p))
			}
		}
		put(last, name(last))
	}
	same := func(p string) string { return p }

	m := mount(t, table, "--poll-interval", "1h")
	daemon := m.daemon(t)
	before := sums(t, m.path("latest"))
	asOf := names(t, m.path("asof"))
	opened := firstFile(t, m, "latest")
	f, err := os.Open(opened)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	write(compaction, func(p string) string { // of the old layout still
		if m := completed.FindStringSubmatch(filepath.Base(p)); m != nil {
			return filepath.Join(".hoodie", m[1]+"."+m[3])
		}
		return strings.Replace(p, "/timeline/", "/", 1)
	})
	m.shows(t, compaction)
	compacted := sums(t, m.path("latest"))
	moved := 0
	for _, old := range names(t, filepath.Join(table, ".hoodie")) {
		at := instant.FindString(old)
		if at == "" {
			continue
		}
		for _, now := range names(t, filepath.Join(upgraded, ".hoodie", "timeline")) {
			state := func(name string) string {
				switch ext := filepath.Ext(name); ext {
				case ".requested", ".inflight":
					return ext
				}
				return ""
			}
			if strings.HasPrefix(now, at) && state(now) == state(old) {
				put(".hoodie/timeline/"+now, ".hoodie/timeline/"+now)
				moved++
			}
		}
		if err := os.Remove(filepath.Join(table, ".hoodie", old)); err != nil {
			t.Fatal(err)
		}
		if moved%5 == 0 {
			if got := sums(t, m.path("latest")); fmt.Sprint(got) != fmt.Sprint(compacted) {
				t.Errorf("latest has changed when %s was moved", old)
			}
		}
	}
	if moved < 20 {
		t.Errorf("only %d files were moved", moved)
	}
	put("version8", ".hoodie/hoodie.properties")
	eventually(t, "it is of version 8", func() bool { return attribute(t, m.dir, "version") == "8" })
	put(".hoodie/hoodie.properties", ".hoodie/hoodie.properties")
	eventually(t, "it is of version 9", func() bool { return attribute(t, m.dir, "version") == "9" })
	for _, at := range []string{first, last} {
		write(at, same)
		m.shows(t, at)
	}
	anew := mount(t, table)
	sameBytes(t, m.path("latest"), anew.path("latest"))
	if got, want := names(t, m.path("asof")), names(t, anew.path("asof")); !slices.Equal(got, want) || !slices.Equal(got[:len(asOf)], asOf) {
		t.Errorf("asof lists %q, want %q, before %q", got, want, asOf)
	}
	for _, at := range asOf {
		sameBytes(t, m.path("asof", at), anew.path("asof", at))
	}
	name, err := filepath.Rel(m.path("latest"), opened)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(f); err != nil || sum(data) != before[name] {
		t.Errorf("%s, which was open: %d bytes, %v", name, len(data), err)
	}
	if now := m.daemon(t); now != daemon {
		t.Error("another daemon")
	}
}

// TestMadeAnewUnderMount: a table is dropped under its mount, and another one of
// other columns is made in its place.
func TestMadeAnewUnderMount(t *testing.T) {
	old, other := table(t, "t9_mor_logs"), table(t, "t9_types")
	m := mount(t, old)
	daemon := m.daemon(t)
	before := sums(t, m.path("latest"))
	opened := firstFile(t, m, "latest")
	f, err := os.Open(opened)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.RemoveAll(old); err != nil {
		t.Fatal(err)
	}
	views := []string{"latest", "read_optimized", "asof/earliest", "incremental/000..latest"}
	eventually(t, "it is known that the table is gone", func() bool {
		_, err := os.ReadDir(m.path("latest"))
		return errors.Is(err, fs.ErrNotExist)
	})
	for _, view := range views {
		if list, err := os.ReadDir(m.path(view)); err == nil || attribute(t, m.path(view), "error") == "" {
			t.Errorf("%s of no table: %v, %v", view, list, err)
		}
	}
	readFile(t, m.path(".hudi", "status"))
	if err := os.Rename(other, old); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other table is there", func() bool {
		_, err := os.ReadDir(m.path("latest"))
		return err == nil
	})
	anew := mount(t, old)
	for _, view := range views {
		sameBytes(t, m.path(view), anew.path(view))
	}
	for name := range before {
		if data, err := os.ReadFile(m.path("latest", name)); err == nil {
			t.Errorf("%s of the table that was dropped: %d bytes", name, len(data))
		}
	}
	name, err := filepath.Rel(m.path("latest"), opened)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(f); err != nil || sum(data) != before[name] {
		t.Errorf("%s, which was open: %d bytes, %v", name, len(data), err)
	}
	if now := m.daemon(t); now != daemon {
		t.Error("another daemon")
	}
}
