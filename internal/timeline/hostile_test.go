package timeline

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/hudifs/hudifs/internal/hostiletest"
	"github.com/hudifs/hudifs/storage"
)

// TestHostileContents: what an instant file says may be nested without end, or be many values in few bytes. The bound is what is allocated in
// all: some fifteen times as much as what is kept at once.
func TestHostileContents(t *testing.T) {
	for name, data := range map[string]string{
		"lists in lists":     `{"a":` + strings.Repeat("[", 1<<20),
		"objects in objects": strings.Repeat(`{"a":`, 1<<20),
		"many numbers":       `{"partitionToWriteStats":[` + strings.Repeat("0,", maxJSON) + `0]}`,
		"many write stats":   `{"partitionToWriteStats":{"p":[` + strings.Repeat("{},", maxJSON/2) + `{}]}}`,
		"a torn text":        `{"a":"` + strings.Repeat("x", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			tl, _ := table(t, 6, files{"1.commit": data})
			hostiletest.Allocates(t, 2<<20+4*int64(len(data)), func() {
				if _, err := tl.Commit(t.Context(), tl.Instants()[0]); !errors.Is(err, ErrCorrupt) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// A commit with as many write stats as its bytes can hold takes no more room in memory than the budget of what is remembered allows.
func TestMemoCountsWhatIsKept(t *testing.T) {
	const stats = 50_000
	f := files{}
	for i := range 12 {
		f[fmt.Sprintf("%02d.commit", i)] = `{"partitionToWriteStats":{"p":[` + strings.Repeat("{},", stats) + `{}]}}`
	}
	tl, _ := table(t, 6, f)
	hostiletest.Keeps(t, memoBudget+8<<20, func() *Timeline {
		for _, in := range tl.Instants() {
			c, err := tl.Commit(t.Context(), in)
			if err != nil || len(c.Stats) != stats+1 {
				t.Fatalf("%s: %v", in.Time, err)
			}
		}
		return tl
	})
}

// Large files are parsed one at a time, however many ask for them; who waits can give up.
func TestLargeFilesOneAtATime(t *testing.T) {
	text := `{"extraMetadata":{"x":"` + strings.Repeat("x", largeFile) + `"}}`
	tl, m := table(t, 6, files{"1.commit": text, "2.commit": text})
	slow := &gate{Store: m, reached: make(chan string, 2), pass: make(chan struct{})}
	tl.store = slow
	in := tl.Instants()
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := tl.Commit(t.Context(), in[0]); err != nil {
			t.Error(err)
		}
	})
	<-slow.reached
	ctx, cancel := context.WithCancel(t.Context())
	wg.Go(func() {
		if _, err := tl.Commit(ctx, in[1]); !errors.Is(err, context.Canceled) {
			t.Errorf("who gave up got %v", err)
		}
	})
	wg.Go(func() {
		if _, err := tl.Commit(t.Context(), in[0]); err != nil {
			t.Error(err)
		}
	})
	cancel()
	close(slow.pass)
	wg.Wait()
	if n := len(slow.reached); n > 0 {
		t.Errorf("%d more files were opened", n)
	}
}

// gate lets files be opened when pass is closed.
type gate struct {
	storage.Store
	reached chan string
	pass    chan struct{}
}

func (g *gate) Open(ctx context.Context, p string) (storage.Object, error) {
	g.reached <- p
	<-g.pass
	return g.Store.Open(ctx, p)
}

// many is a store whose timeline folder has a file for each of many instants.
type many struct {
	storage.Store
	folder string
	names  []storage.Entry
}

func (m *many) List(ctx context.Context, dir string) ([]storage.Entry, error) {
	if dir == m.folder {
		return m.names, nil
	}
	return m.Store.List(ctx, dir)
}

// TestManyInstants: an active timeline takes some hundred bytes of memory for each file; one of more than a million files is refused.
func TestManyInstants(t *testing.T) {
	const n = 1 << 17
	_, m := table(t, 9, nil)
	config, err := LoadConfig(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	s := &many{Store: m, folder: config.TimelinePath, names: make([]storage.Entry, n)}
	for i := range s.names {
		s.names[i].Name = fmt.Sprintf("%017d_%017d.commit", i, i+1)
	}
	tl := hostiletest.Keeps(t, 448*n, func() *Timeline {
		tl, err := Load(t.Context(), s, config)
		if err != nil {
			t.Fatal(err)
		}
		return tl
	})
	if writes := len(tl.CompletedWrites()); writes != n {
		t.Errorf("%d writes", writes)
	}
	if again, err := tl.Refresh(t.Context()); err != nil || again != tl {
		t.Errorf("a refresh without changes: %v", err)
	}
	s.names = slices.Repeat(s.names[:1], maxActive+1)
	if _, err := Load(t.Context(), s, config); !errors.Is(err, ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

// TestArchivedTimes: what the archive says of itself becomes names of folders, so it must be what active instants may be.
func TestArchivedTimes(t *testing.T) {
	for _, name := range []string{"../../etc", "a/b", ".", "\x00", "1\n", "x1", strings.Repeat("1", 65)} {
		block := archiveBlockBytes(t, entry(name, "commit", "COMPLETED", ""))
		for version, f := range map[int]files{
			6: {oldArchive + "1_1-0-1": block},
			9: {newArchive + "_version_": "1", newArchive + "manifest_1": `{"files":[{"fileName":"a"}]}`, newArchive + "a": historyBytes(t, historyTestRow{Time: name, Completed: "2", Action: "commit"})},
			8: {newArchive + "_version_": "1", newArchive + "manifest_1": `{"files":[{"fileName":"a"}]}`, newArchive + "a": historyBytes(t, historyTestRow{Time: "1", Completed: name, Action: "commit"})},
		} {
			tl, _ := table(t, version, f)
			if h, err := tl.History(t.Context()); !errors.Is(err, ErrCorrupt) {
				t.Errorf("version %d, %.20q: %v, %v", version, name, h, err)
			}
		}
		active := name + ".commit"
		if storage.CheckPath(path.Join(".hoodie", active)) != nil || strings.Contains(name, "/") {
			continue
		}
		if tl, _ := table(t, 6, files{active: "{}"}); len(tl.Instants()) > 0 {
			t.Errorf("%q is an active instant", active)
		}
	}
}

// TestManifestNames: a manifest names files of its folder, and no others.
func TestManifestNames(t *testing.T) {
	good := historyBytes(t, historyTestRow{Time: "1", Completed: "2", Action: "commit"})
	for _, name := range []string{"..", ".", "../a", "/a", "a/b", "a\x00", "", strings.Repeat("a", 5000)} {
		manifest := fmt.Sprintf(`{"files":[{"fileName":%q}]}`, name)
		manifest = strings.ReplaceAll(manifest, `\x00`, `\u0000`)
		tl, _ := table(t, 9, files{newArchive + "_version_": "1", newArchive + "manifest_1": manifest, "/a": good})
		if _, err := tl.History(t.Context()); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%.20q: got %v", name, err)
		}
	}
}

// TestHostileHistory: the files of an archived timeline may claim, and expand to, what they like.
func TestHostileHistory(t *testing.T) {
	type bombRow struct {
		Time      string `parquet:"instantTime,dict"`
		Completed string `parquet:"completionTime,dict"`
		Action    string `parquet:"action,dict"`
		Metadata  []byte `parquet:"metadata,optional,dict"`
	}
	bomb := func(rows int, r bombRow) []byte {
		var buf bytes.Buffer
		w := parquet.NewGenericWriter[bombRow](&buf, parquet.Compression(&zstd.Codec{}))
		if _, err := w.Write(slices.Repeat([]bombRow{r}, rows)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return buf.Bytes()
	}
	row := bombRow{"1", "2", "commit", []byte("{}")}
	wide := row
	wide.Metadata = make([]byte, 32<<20)
	one := bomb(1, row)
	for name, c := range map[string]struct {
		data  []byte
		limit int64
	}{
		"rows that are not there":        {hostiletest.ClaimRows(t, one, 100), 4 << 20},
		"a billion rows":                 {hostiletest.ClaimRows(t, one, 1<<30), 4 << 20},
		"as many rows as there can be":   {hostiletest.ClaimRows(t, one, 1<<47), 4 << 20},
		"one instant over and over":      {bomb(100_000, row), 4 << 20},
		"instants that are zeros inside": {bomb(20, wide), 512 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			tl, _ := table(t, 9, files{newArchive + "_version_": "1", newArchive + "manifest_1": `{"files":[{"fileName":"a"}]}`, newArchive + "a": string(c.data)})
			hostiletest.Allocates(t, c.limit, func() {
				h, err := tl.History(t.Context())
				for _, in := range h {
					_, err = tl.Commit(t.Context(), in)
				}
				if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// TestHostileArchive is the same for the log files of layout 1.
func TestHostileArchive(t *testing.T) {
	good := archiveBlockBytes(t, entry("1", "commit", "COMPLETED", ""))
	count := strings.Index(good, "\x00\x00\x00\x03\x00\x00\x00\x01") + 4
	claims := func(at int, n uint32) string {
		b := []byte(good)
		binary.BigEndian.PutUint32(b[at:], n)
		return string(b)
	}
	for name, data := range map[string]string{
		"two billion records":     claims(count, 1<<31-1),
		"a record of two billion": claims(count+4, 1<<31-1),
		"a negative record":       claims(count+4, 1<<31),
		"magics and nothing else": strings.Repeat("#HUDI#", 1<<19),
		"a schema of nothing":     strings.Replace(good, `"type":"record"`, `"type":"recore"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			tl, _ := table(t, 6, files{oldArchive + "1_1-0-1": data})
			hostiletest.Allocates(t, 128<<20, func() {
				if _, err := tl.History(t.Context()); !errors.Is(err, ErrCorrupt) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// TestLongHistory: a history of a hundred thousand instants is put together once.
func TestLongHistory(t *testing.T) {
	const n = 100_000
	var buf bytes.Buffer
	w := parquet.NewGenericWriter[historyTestRow](&buf)
	for i := range n {
		at := FormatTime(time.Unix(int64(i), 0), time.UTC)
		if _, err := w.Write([]historyTestRow{{Time: at, Completed: at, Action: "commit", Metadata: []byte("{}")}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	tl, _ := table(t, 9, files{newArchive + "_version_": "1", newArchive + "manifest_1": `{"files":[{"fileName":"a"}]}`, newArchive + "a": buf.String(), "3_4.commit": ""})
	hostiletest.Keeps(t, 400*n, func() *Timeline {
		if h, err := tl.History(t.Context()); err != nil || len(h) != n+1 || !slices.IsSortedFunc(h, Instant.compare) {
			t.Errorf("%d instants, %v", len(h), err)
		}
		return tl
	})
	hostiletest.Allocates(t, 1<<10, func() {
		if h, err := tl.History(t.Context()); err != nil || len(h) != n+1 {
			t.Errorf("%d instants, %v", len(h), err)
		}
	})
}

// TestHostileProperties: a table's own configuration is no more trusted than the rest.
func TestHostileProperties(t *testing.T) {
	many := propertiesText("hoodie.table.version=9")
	var b strings.Builder
	for i := range 1 << 15 {
		fmt.Fprintf(&b, "%x\n", i)
	}
	for name, text := range map[string]string{
		"thousands of keys":         many + b.String(),
		"a timeline that climbs":    propertiesText("hoodie.table.version=9", "hoodie.timeline.path=../../x"),
		"an archive that climbs":    propertiesText("hoodie.table.version=6", "hoodie.archivelog.folder=../../x"),
		"a history that climbs":     propertiesText("hoodie.table.version=9", "hoodie.timeline.history.path=x/../../../y"),
		"a version beyond numbers":  propertiesText("hoodie.table.version=99999999999999999999"),
		"an escape that never ends": propertiesText(`hoodie.x=\u12`),
	} {
		t.Run(name, func(t *testing.T) {
			m := mem(files{propertiesFile: text, backupFile: text})
			hostiletest.Allocates(t, 64<<20+4*int64(len(text)), func() {
				if _, err := LoadConfig(t.Context(), m); !errors.Is(err, ErrCorrupt) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}
