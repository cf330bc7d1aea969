package views_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"

	"github.com/hudifs/hudifs/cache"
	"github.com/hudifs/hudifs/views"
)

// grown is t9_mor_logs with more rows in its base files, so that its merged files are made of parts. The keys of the added rows are new.
func grown(t testing.TB) map[string][]byte {
	t.Helper()
	grownLock.Lock()
	defer grownLock.Unlock()
	if grownFiles != nil {
		return grownFiles
	}
	out := map[string][]byte{}
	for p, data := range load(t, "t9_mor_logs").files {
		if strings.HasSuffix(p, ".parquet") && !isTimeline(p) {
			data = repeated(t, data, 8_000)
		}
		out[p] = data
	}
	grownFiles = out
	return out
}

var (
	grownFiles map[string][]byte
	grownLock  sync.Mutex
)

// repeated has the rows of a file and copies of them with other keys.
func repeated(t testing.TB, data []byte, rows int) []byte {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var all []parquet.Row
	for _, g := range f.RowGroups() {
		r := g.Rows()
		buf := make([]parquet.Row, g.NumRows())
		n, err := r.ReadRows(buf)
		if err != nil && !errors.Is(err, io.EOF) || int64(n) != g.NumRows() {
			t.Fatal(n, err)
		}
		for _, row := range buf[:n] {
			all = append(all, row.Clone())
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	key, _ := f.Schema().Lookup("_hoodie_record_key")
	var out bytes.Buffer
	schema := parquet.NewSchema(f.Schema().Name(), anyEncoding{f.Schema()})
	w := parquet.NewWriter(&out, schema, parquet.Compression(&parquet.Zstd), parquet.PageBufferSize(64<<10))
	for i := range rows {
		row := all[i%len(all)].Clone()
		if i >= len(all) {
			k := row[key.ColumnIndex]
			row[key.ColumnIndex] = parquet.ValueOf(fmt.Sprintf("%v-%d", k, i)).Level(k.RepetitionLevel(), k.DefinitionLevel(), key.ColumnIndex)
		}
		if _, err := w.WriteRows([]parquet.Row{row}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// anyEncoding is a schema that leaves the encodings to the writer: those of a file that was read may not be written.
type anyEncoding struct{ parquet.Node }

type anyField struct{ parquet.Field }

func (anyEncoding) Encoding() encoding.Encoding { return nil }

func (anyField) Encoding() encoding.Encoding { return nil }

func (n anyEncoding) Fields() []parquet.Field { return anyFields(n.Node) }

func (f anyField) Fields() []parquet.Field { return anyFields(f.Field) }

func anyFields(n parquet.Node) (out []parquet.Field) {
	for _, f := range n.Fields() {
		out = append(out, anyField{f})
	}
	return out
}

// lazyTree shows a table whose merged files are made of parts.
func lazyTree(t testing.TB, dir string, lazy bool, budget int64) (*views.Tree, *cache.Disk) {
	t.Helper()
	disk, err := cache.Open(t.TempDir(), &cache.Options{Budget: budget, Memory: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { disk.Close() })
	tree := openTree(t, fileStore(t, dir), &views.Options{Cache: disk, Lazy: lazy, NoMetadataTable: true})
	if lazy {
		tree.SetIdle(time.Hour)
	}
	return tree, disk
}

// merged are the rendered files of the latest view. They are not opened.
func merged(t testing.TB, tree *views.Tree) map[string]views.File {
	t.Helper()
	out := map[string]views.File{}
	latest := mustFind(t, tree.Root(), "latest")
	for _, partition := range names(t, latest) {
		for _, name := range names(t, mustFind(t, latest, partition)) {
			p := partition + "/" + name
			f := mustFind(t, latest, p)
			x, err := f.Xattrs(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if x["user.hudi.as_is"] == "false" {
				out[p] = f.(views.File)
			}
		}
	}
	if len(out) == 0 {
		t.Fatal("the table has no merged file")
	}
	return out
}

func TestLazyFilesHaveTheSameBytes(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, grown(t))
	whole, _ := lazyTree(t, dir, false, 0)
	lazy, disk := lazyTree(t, dir, true, 0)
	other := merged(t, lazy)
	for p, f := range merged(t, whole) {
		want, err := content(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		readInPieces(t, other[p], want)
	}
	if s := disk.Stats(); s.Renders > 0 {
		t.Errorf("%d files were rendered at once", s.Renders)
	}
	// All parts are made, so nothing is waited for.
	waitFor(t, func() bool { return disk.Stats().Entries == len(other) })
	for p, f := range other {
		h, err := f.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := h.(views.OSFile); !ok {
			t.Errorf("%s is complete, and yet not one local file", p)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

// readInPieces reads a file from many places at once, in no order, and then all of it.
func readInPieces(t *testing.T, f views.File, want []byte) {
	t.Helper()
	h, err := f.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, ok := h.(views.OSFile); ok {
		t.Fatal("the file is complete before it was read")
	}
	read := func(off, n int) {
		got := make([]byte, n)
		n, err := h.ReadAt(t.Context(), got, int64(off))
		if err != nil || !bytes.Equal(got[:n], want[off:off+n]) || n < min(len(got), len(want)-off) {
			t.Errorf("%d bytes at %d: %d were read, other ones or too few, %v", len(got), off, n, err)
		}
	}
	var readers sync.WaitGroup
	for seed := range uint64(8) {
		readers.Go(func() {
			r := rand.New(rand.NewPCG(seed, 1))
			for range 20 {
				read(r.IntN(len(want)), 1+r.IntN(200_000))
			}
		})
	}
	readers.Wait()
	read(0, len(want))
}

func TestTheRestOfALazyFileIsMadeWhenNobodyReads(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, grown(t))
	tree, disk := lazyTree(t, dir, true, 0)
	tree.SetIdle(time.Millisecond)
	files := merged(t, tree)
	for _, f := range files {
		readFrom(t, f, 1<<10, 1)
	}
	waitFor(t, func() bool { return disk.Stats().Entries == len(files) })
}

// readFrom opens a file and reads some of it.
func readFrom(t *testing.T, f views.File, off int64, n int) {
	t.Helper()
	h, err := f.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := h.ReadAt(t.Context(), make([]byte, n), off); got != n || err != nil {
		t.Errorf("%d bytes at %d: %d were read, %v", n, off, got, err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func TestTheRestOfALazyFileIsMadeWithMuchOfIt(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, grown(t))
	tree, disk := lazyTree(t, dir, true, 0)
	files := merged(t, tree)
	for _, f := range files {
		attr, err := f.Attr(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		readFrom(t, f, 1, int(attr.Size)/4*3)
	}
	waitFor(t, func() bool { return disk.Stats().Entries == len(files) })
	if s := disk.Stats(); s.Renders > 0 {
		t.Errorf("%d files were rendered at once", s.Renders)
	}
}

// Who reads from the beginning, as cp and cat do, will go on to the end.
func TestLazyFilesAreMadeForWhoBeginsAtTheBeginning(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, grown(t))
	tree, disk := lazyTree(t, dir, true, 0)
	files := merged(t, tree)
	for _, f := range files {
		readFrom(t, f, 0, 4)
	}
	waitFor(t, func() bool { return disk.Stats().Entries == len(files) })
}

// Where the disk is full the file is rendered into memory, and a handle that is open goes on there.
func TestLazyFilesOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, grown(t))
	whole, _ := lazyTree(t, dir, false, 0)
	lazy, disk := lazyTree(t, dir, true, 1<<12)
	other := merged(t, lazy)
	for p, f := range merged(t, whole) {
		want, err := content(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		h, err := other[p].Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want))
		for _, off := range []int{len(want) / 2, 0} {
			if n, err := h.ReadAt(t.Context(), got[off:], int64(off)); n != len(got)-off || err != nil {
				t.Errorf("%s: %d bytes from %d, %v", p, n, off, err)
			}
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: other bytes", p)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	if disk.Stats().Fallbacks == 0 {
		t.Error("nothing was rendered into memory: the disk was not full")
	}
}

// A reader who gives up takes nothing from others.
func TestLazyReadersGiveUp(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, grown(t))
	tree, _ := lazyTree(t, dir, true, 0)
	for _, f := range merged(t, tree) {
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if h, err := f.Open(gone); !errors.Is(err, context.Canceled) {
			t.Fatalf("open after the end: %v, %v", h, err)
		}
		h, err := f.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		attr, err := f.Attr(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, attr.Size)
		if _, err := h.ReadAt(gone, p, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("read after the end: %v", err)
		}
		if n, err := h.ReadAt(t.Context(), p, 0); err != nil || int64(n) != attr.Size {
			t.Errorf("%d bytes of %d, %v", n, attr.Size, err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}
