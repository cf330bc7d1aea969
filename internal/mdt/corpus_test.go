package mdt

import (
	"bytes"
	"errors"
	"math/big"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/hudifs/hudifs/internal/fsview"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/tabletest"
	"github.com/hudifs/hudifs/internal/timeline"
	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/storage/storagetest"
)

// eachTable opens the real tables beside and in the repository that have a metadata table.
func eachTable(t *testing.T, f func(t *testing.T, s *storagetest.Mem, tl *timeline.Timeline, m *Table)) {
	t.Helper()
	with, tables := 0, tabletest.All(t)
	for _, file := range tables {
		s := storagetest.NewMem(tabletest.Contents(t, file, nil))
		c, err := timeline.LoadConfig(t.Context(), s)
		if err != nil {
			continue // broken ones: internal/timeline
		}
		tl, err := timeline.Load(t.Context(), s, c)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		m, err := Open(t.Context(), s, tl)
		if !c.HasMetadataFiles() {
			if !errors.Is(err, ErrUnavailable) {
				t.Errorf("%s: a table without metadata: %v", file, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		with++
		t.Run(tabletest.Name(file), func(t *testing.T) { f(t, s, tl, m) })
	}
	t.Logf("%d of %d tables have a metadata table", with, len(tables))
}

// The judge of the metadata table is the plain lister: the same partitions, the same committed files, the same sizes.
func TestBothListersAgree(t *testing.T) {
	eachTable(t, func(t *testing.T, s *storagetest.Mem, tl *timeline.Timeline, m *Table) {
		plain := fsview.NewPlain(s)
		got, err := partitions(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		want, err := partitions(t.Context(), plain)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("partitions %q, want %q, %v", got, want, err)
		}
		for _, p := range got {
			listed, err := m.Files(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			found, err := plain.Files(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := sliced(t, tl, p, listed), sliced(t, tl, p, found); !reflect.DeepEqual(a, b) {
				t.Errorf("partition %q:\n got %+v\nwant %+v", p, a, b)
			}
			sizes := map[string]int64{}
			for _, e := range found {
				sizes[e.Name] = e.Size
			}
			for _, e := range listed {
				if size, ok := sizes[e.Name]; (!ok || size != e.Size) && committed(tl, e.Name) {
					t.Errorf("partition %q: %s of %d bytes, found %d, %v", p, e.Name, e.Size, size, ok)
				}
				delete(sizes, e.Name)
			}
			for name := range sizes {
				if committed(tl, name) {
					t.Errorf("partition %q: %s is not listed", p, name)
				}
			}
		}
	})
}

func sliced(t *testing.T, tl *timeline.Timeline, partition string, files []storage.Entry) []fsview.Group {
	g, err := fsview.Groups(t.Context(), tl, fsview.Format{Version: tl.Config().Version, Base: fsview.Parquet}, partition, files)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// committed tells whether a file belongs to a completed write. Those of table version 6 do not say who wrote a log file.
func committed(tl *timeline.Timeline, name string) bool {
	if b, ok := fsview.ParseBase(name, fsview.Parquet); ok {
		return tl.IsCommitted(b.Instant)
	}
	if l, ok := logfile.ParseName(name); ok {
		return tl.Config().Version < 8 || tl.IsCommitted(l.Instant)
	}
	return false
}

// The judge of the statistics are the base files themselves.
func TestColumnStatsAgreeWithFiles(t *testing.T) {
	checked := 0
	eachTable(t, func(t *testing.T, s *storagetest.Mem, tl *timeline.Timeline, m *Table) {
		if !slices.Contains(tl.Config().MetadataPartitions, statsPartition) {
			if _, err := m.ColumnStats(t.Context(), nil); !errors.Is(err, ErrUnavailable) {
				t.Errorf("statistics of a table without: %v", err)
			}
			return
		}
		at := map[string]string{}
		found, err := partitions(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range found {
			files, err := m.Files(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range files {
				if _, ok := fsview.ParseBase(e.Name, fsview.Parquet); ok && committed(tl, e.Name) {
					at[e.Name] = path.Join(p, e.Name)
				}
			}
		}
		stats, err := m.ColumnStats(t.Context(), func(file string) bool { return at[file] != "" })
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range stats {
			data, err := storage.ReadFile(t.Context(), s, at[st.File], 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			checked += compare(t, st, data)
		}
	})
	t.Logf("%d columns of base files compared", checked)
}

// compare holds a statistic against the values of a Parquet file. It gives the number of columns compared, 1 or, for those that
// are nested, 0.
func compare(t *testing.T, st ColumnStat, data []byte) int {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	leaf, ok := f.Schema().Lookup(st.Column)
	if !ok {
		return 0
	}
	var least, most parquet.Value
	var rows, nulls int64
	for _, g := range f.RowGroups() {
		pages := g.ColumnChunks()[leaf.ColumnIndex].Pages()
		for {
			p, err := pages.ReadPage()
			if err != nil {
				break
			}
			values := make([]parquet.Value, p.NumValues())
			n, _ := p.Values().ReadValues(values)
			for _, v := range values[:n] {
				rows++
				switch v = v.Clone(); {
				case v.IsNull():
					nulls++
				case least.IsNull():
					least, most = v, v
				case leaf.Node.Type().Compare(v, least) < 0:
					least = v
				case leaf.Node.Type().Compare(v, most) > 0:
					most = v
				}
			}
		}
		pages.Close()
	}
	if st.Values != rows || st.Nulls != nulls {
		t.Errorf("%s, %s: %d values, %d nulls; the file has %d, %d", st.File, st.Column, st.Values, st.Nulls, rows, nulls)
	}
	for bound, v := range map[*string]parquet.Value{st.Min: least, st.Max: most} {
		switch want := valueText(leaf.Node, v); {
		case bound == nil && st.Min == nil && st.Max == nil && (v.IsNull() || nulls > 0 || leaf.Node.Type().Length() > 0):
		case bound == nil || strings.TrimPrefix(*bound, "-0") != strings.TrimPrefix(want, "0") && *bound != want && !sameTime(*bound, leaf.Node, v):
			t.Errorf("%s, %s: bound %v, the file has %q", st.File, st.Column, deref(bound), want)
		}
	}
	return 1
}

// sameTime tells whether a bound is a timestamp: before table version 9 those are bare numbers.
func sameTime(bound string, n parquet.Node, v parquet.Value) bool {
	at, err := time.Parse("2006-01-02T15:04:05.999999999Z", bound)
	return err == nil && strings.Contains(n.Type().String(), "MICROS") && at.Equal(time.UnixMicro(v.Int64()))
}

func deref(s *string) string {
	if s == nil {
		return "none"
	}
	return strconv.Quote(*s)
}

func valueText(n parquet.Node, v parquet.Value) string {
	kind := n.Type().String()
	switch {
	case kind == "DATE":
		return time.Unix(int64(v.Int32())*86400, 0).UTC().Format(time.DateOnly)
	case strings.HasPrefix(kind, "DECIMAL"):
		unscaled := v.ByteArray()
		if k := v.Kind(); k == parquet.Int32 || k == parquet.Int64 {
			unscaled = append([]byte{0}, big.NewInt(v.Int64()).Bytes()...) // none is negative
		}
		scale, err := strconv.Atoi(strings.TrimSuffix(kind[strings.Index(kind, ",")+1:], ")"))
		if err != nil {
			return kind
		}
		return decimalText(unscaled, scale)
	case v.Kind() == parquet.Int32:
		return strconv.Itoa(int(v.Int32()))
	case v.Kind() == parquet.Int64:
		return strconv.FormatInt(v.Int64(), 10)
	case v.Kind() == parquet.Double:
		return strconv.FormatFloat(v.Double(), 'g', -1, 64)
	case v.Kind() == parquet.Float:
		return strconv.FormatFloat(float64(v.Float()), 'g', -1, 32)
	case v.Kind() == parquet.Boolean:
		return strconv.FormatBool(v.Boolean())
	}
	return string(v.ByteArray())
}
