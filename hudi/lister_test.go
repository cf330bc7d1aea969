package hudi_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/internal/tabletest"
	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/storage/storagetest"
)

// unzip reads a zipped table.
func unzip(t testing.TB, file string) *storagetest.Mem {
	t.Helper()
	return storagetest.NewMem(tabletest.Contents(t, file, nil))
}

// A view has the same files, of the same bytes, whether the metadata table lists them or their folders do.
func TestMetadataTableOnAndOff(t *testing.T) {
	used, answers := 0, 0
	tables := tabletest.All(t)
	for _, file := range tables {
		s := unzip(t, file)
		props, err := storage.ReadFile(t.Context(), s, ".hoodie/hoodie.properties", 1<<20)
		if err != nil || !bytes.Contains(props, []byte("metadata.partitions=")) {
			continue // without a metadata table both ways are one
		}
		var warned bytes.Buffer
		on, err := hudi.Open(t.Context(), s, &hudi.Options{Logger: slog.New(slog.NewTextHandler(&warned, nil))})
		if err != nil {
			continue
		}
		off, err := hudi.Open(t.Context(), s, &hudi.Options{NoMetadataTable: true})
		if err != nil {
			t.Fatal(err)
		}
		used++
		t.Run(tabletest.Name(file), func(t *testing.T) {
			instants, err := off.Timeline(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			queries := []hudi.Query{hudi.Latest()}
			for _, i := range instants {
				queries = append(queries, hudi.AsOf(i.Time), hudi.Incremental(i.Time, ""))
			}
			for _, q := range queries {
				a, b := fingerprint(t, on, q), fingerprint(t, off, q)
				if a != b {
					t.Errorf("%v\n on  %s\n off %s", q, a, b)
				}
				if strings.Contains(a, ".parquet ") {
					answers++
				}
			}
			if warned.Len() > 0 {
				t.Errorf("warned: %s", &warned)
			}
		})
	}
	t.Logf("%d of %d tables have a metadata table; %d views with files", used, len(tables), answers)
}

// fingerprint names the files of a view and their bytes, or says why there is none.
func fingerprint(t *testing.T, table *hudi.Table, q hudi.Query) string {
	t.Helper()
	v, err := table.View(t.Context(), q)
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	partitions, err := v.Partitions(t.Context())
	if err != nil {
		return err.Error()
	}
	for _, p := range partitions {
		files, err := v.Files(t.Context(), p)
		if err != nil {
			return err.Error()
		}
		for _, f := range files {
			id := f.ID()
			out.WriteString(path.Join(p, f.Name()) + " " + string(id[:]) + "\n")
		}
	}
	return out.String()
}

// A file that the metadata table still lists, though it is gone, harms none but itself (apache/hudi#10628).
func TestListedFileThatIsGone(t *testing.T) {
	tables := tabletest.Glob(t, "v?_mdt_cow")
	if len(tables) == 0 {
		t.Skip("SKIPPED: there are no real tables")
	}
	for _, zipped := range tables {
		s := unzip(t, zipped)
		all := latest(t, s)
		if len(all) < 2 {
			t.Fatalf("%s: %d files", zipped, len(all))
		}
		gone := all[0]
		s.Remove(path.Join(gone.Partition(), gone.Details().Base))
		left := latest(t, s)
		if len(left) != len(all) {
			t.Errorf("%s: %d files are listed, want %d", zipped, len(left), len(all))
		}
		for _, f := range left {
			_, _, err := f.Size(t.Context())
			if f.Name() == gone.Name() {
				if !errors.Is(err, storage.ErrNotExist) && !errors.Is(err, hudi.ErrCleaned) {
					t.Errorf("%s: %s, which is gone: %v", zipped, f.Name(), err)
				}
			} else if err != nil {
				t.Errorf("%s: %s: %v", zipped, f.Name(), err)
			}
		}
	}
}

// latest are the files of the newest snapshot.
func latest(t *testing.T, s storage.Store) []*hudi.File {
	t.Helper()
	table, err := hudi.Open(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return newest(t, table)
}

func newest(t *testing.T, table *hudi.Table) []*hudi.File {
	t.Helper()
	v, err := table.View(t.Context(), hudi.Latest())
	if err != nil {
		t.Fatal(err)
	}
	partitions, err := v.Partitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []*hudi.File
	for _, p := range partitions {
		files, err := v.Files(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, files...)
	}
	return out
}

// Whatever is wrong with the metadata table, folders are listed, and the log says so once.
func TestDamagedMetadataTable(t *testing.T) {
	tables := tabletest.Glob(t, "v?_mdt_cow")
	if len(tables) == 0 {
		t.Skip("SKIPPED: there are no real tables")
	}
	for _, zipped := range tables {
		s := unzip(t, zipped)
		files, err := s.List(t.Context(), ".hoodie/metadata/files")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			s.Put(".hoodie/metadata/files/"+f.Name, []byte("damaged"))
		}
		var warned bytes.Buffer
		broken, err := hudi.Open(t.Context(), s, &hudi.Options{Logger: slog.New(slog.NewTextHandler(&warned, nil))})
		if err != nil {
			t.Fatal(err)
		}
		plain, err := hudi.Open(t.Context(), s, &hudi.Options{NoMetadataTable: true})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if a, b := fingerprint(t, broken, hudi.Latest()), fingerprint(t, plain, hudi.Latest()); a != b {
				t.Errorf("%s:\n got  %s\n want %s", zipped, a, b)
			}
		}
		if n := strings.Count(warned.String(), "folders are listed instead"); n != 1 {
			t.Errorf("%s: %d warnings: %s", zipped, n, &warned)
		}
	}
}

func TestColumnStats(t *testing.T) {
	tables := tabletest.Glob(t, "v?_mdt_cow")
	if len(tables) == 0 {
		t.Skip("SKIPPED: there are no real tables")
	}
	for _, zipped := range tables {
		s := unzip(t, zipped)
		table, err := hudi.Open(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		stats, err := table.ColumnStats(t.Context())
		if err != nil || len(stats) == 0 {
			t.Fatalf("%s: %d statistics, %v", zipped, len(stats), err)
		}
		files := map[string]bool{}
		for _, st := range stats {
			if _, err := s.Open(t.Context(), path.Join(st.Partition, st.File)); err != nil {
				t.Errorf("%s: a statistic of %v", zipped, err)
			}
			files[st.File] = true
			if st.Column == "id" && (st.Min == nil || *st.Min > *st.Max || st.Nulls > 0 || st.Rows == 0) {
				t.Errorf("%s: %+v", zipped, st)
			}
		}
		if want := len(latest(t, s)); len(files) != want {
			t.Errorf("%s: statistics of %d files, want %d", zipped, len(files), want)
		}
		off, err := hudi.Open(t.Context(), s, &hudi.Options{NoMetadataTable: true})
		if err != nil {
			t.Fatal(err)
		}
		if stats, err := off.ColumnStats(t.Context()); stats != nil || err != nil {
			t.Errorf("%s: %d statistics without a metadata table, %v", zipped, len(stats), err)
		}
	}
}

// nameless is a store for which sizes cost more than names.
type nameless struct {
	*storagetest.Mem
	stats atomic.Int32
}

func (n *nameless) AppendNames(ctx context.Context, to []storage.Entry, dir string) ([]storage.Entry, error) {
	entries, err := n.List(ctx, dir)
	for _, e := range entries {
		if !e.Dir {
			e.Size = storage.Unknown
		}
		to = append(to, e)
	}
	return to, err
}

func (n *nameless) Stat(ctx context.Context, name string) (storage.Entry, error) {
	n.stats.Add(1)
	return storage.Stat(ctx, n.Mem, name)
}

// A view has the same files, of the same bytes and sizes, where only names are cheap to list.
func TestSizesAreAskedForLater(t *testing.T) {
	saved := 0
	for _, file := range tabletest.All(t) {
		s := unzip(t, file)
		sized, err := hudi.Open(t.Context(), s, &hudi.Options{NoMetadataTable: true})
		if err != nil {
			continue
		}
		n := &nameless{Mem: s}
		named, err := hudi.Open(t.Context(), n, &hudi.Options{NoMetadataTable: true})
		if err != nil {
			t.Fatal(err)
		}
		instants, err := sized.Timeline(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		queries := []hudi.Query{hudi.Latest(), hudi.ReadOptimized()}
		for _, i := range instants {
			queries = append(queries, hudi.AsOf(i.Time), hudi.Incremental(i.Time, ""), hudi.Difference(i.Time, "latest"))
		}
		for _, q := range queries {
			if a, b := fingerprint(t, sized, q), fingerprint(t, named, q); a != b {
				t.Errorf("%s: %v\n sized %s\n named %s", file, q, a, b)
			}
		}
		if !strings.Contains(fingerprint(t, sized, hudi.Latest()), ".parquet ") {
			continue
		}
		asked, want, got := n.stats.Load(), newest(t, sized), newest(t, named)
		if len(got) != len(want) {
			t.Fatalf("%s: %d files, want %d", file, len(got), len(want))
		}
		for i, f := range got {
			a, _, err := f.Size(t.Context())
			b, _, wantErr := want[i].Size(t.Context())
			if a != b || (err == nil) != (wantErr == nil) || f.Source() != want[i].Source() {
				t.Errorf("%s: %s has %d bytes of %d, %v; want %d of %d, %v", file, f.Name(), a, f.Source(), err, b, want[i].Source(), wantErr)
			}
		}
		if n.stats.Load() > asked {
			saved++
		}
	}
	if saved == 0 {
		t.Error("no size was left to be asked for")
	}
}

// A footer that was read to list files tells who opens that file what it needs to know: one is read for each further file of an instant.
func TestFooterOfListingServesOpen(t *testing.T) {
	served := 0
	for _, file := range tabletest.All(t) {
		s := storage.NewCounting(unzip(t, file))
		table, err := hudi.Open(t.Context(), s, nil)
		if err != nil || !strings.Contains(fingerprint(t, table, hudi.Latest()), ".parquet ") {
			continue
		}
		files, instants, want := newest(t, table), map[string]bool{}, int64(0)
		before := s.Counters().Opens
		for _, f := range files {
			if _, _, err := f.Base(t.Context()); err != nil {
				t.Errorf("%s: %s: %v", file, f.Name(), err)
			}
			switch d := f.Details(); {
			case !d.AsIs:
			case instants[d.Instant]:
				want++
			default:
				instants[d.Instant] = true
				served++
			}
		}
		if got := s.Counters().Opens - before; got != want {
			t.Errorf("%s: %d footers were read to open %d files of %d instants", file, got, len(files), len(instants))
		}
	}
	if served == 0 {
		t.Error("no file is served as it is")
	}
}
