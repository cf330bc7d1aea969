package hudi_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	source "github.com/xitongsys/parquet-go-source/buffer"
	"github.com/xitongsys/parquet-go/reader"

	"github.com/hudifs/hudifs/hudi"
)

// TestRenderedFiles looks at the files of some views of every table: the size is the promised one, equal IDs and equal names mean equal bytes, in a
// copy of the table too, and another reader finds in what was rendered what the first one does.
func TestRenderedFiles(t *testing.T) {
	r := seeded(t)
	files, served, columns, unread := 0, 0, 0, map[string]int{}
	eachRealTable(t, func(t *testing.T, real *realTable) {
		o := &hudi.Options{BootstrapSource: real.bootstrapSource(t)}
		table, err := hudi.Open(t.Context(), real.store(), o)
		if err != nil {
			return // as wanted: the tests of what is refused
		}
		byID, byName := map[[32]byte]string{}, map[string]string{}
		queries := someQueries(t, table, r)
		if !strings.HasPrefix(real.folder, filepath.Join("..", "testdata")) {
			r.Shuffle(len(queries), func(i, j int) { queries[i], queries[j] = queries[j], queries[i] })
			queries = queries[:min(len(queries), 2)]
		}
		for _, q := range append(queries, hudi.Latest()) {
			v, err := table.View(t.Context(), q)
			if err != nil {
				continue
			}
			all, err := filesOf(t.Context(), v)
			if err != nil {
				continue
			}
			for _, f := range all {
				b, err := bytesOf(t.Context(), real.store(), f)
				if err != nil {
					if !refused(err) && !errors.Is(err, hudi.ErrCorrupt) {
						t.Errorf("%v: %s: %v", q, f.Name(), err)
					}
					continue
				}
				files++
				size, _, err := f.Size(t.Context())
				if err != nil || size != int64(len(b)) {
					t.Errorf("%v: %s: %d bytes, promised %d, %v", q, f.Name(), len(b), size, err)
				}
				sum := fmt.Sprintf("%x", sha256.Sum256(b))
				if other, ok := byID[f.ID()]; ok && other != sum {
					t.Errorf("%v: %s: other bytes under the ID of other files", q, f.Name())
				}
				name := path.Join(f.Partition(), f.Name())
				if other, ok := byName[name]; ok && other != sum && f.Name() != "empty.parquet" {
					t.Errorf("%v: %s: other bytes under the same name", q, name)
				}
				byID[f.ID()], byName[name] = sum, sum
				d := f.Details()
				if _, ok, _ := f.Base(t.Context()); ok {
					served++
					if f.Name() != d.Base {
						t.Errorf("%v: %s is served as it is, under the name %s", q, d.Base, f.Name())
					}
					continue
				}
				if id := f.ID(); f.Name() != "empty.parquet" && !d.AsIs && f.Name() != fmt.Sprintf("%s_%s_%s.parquet", d.FileGroup, hex.EncodeToString(id[:6]), f.Instant()) {
					t.Errorf("%v: a rendered file of group %s at %s is named %s", q, d.FileGroup, f.Instant(), f.Name())
				}
				n, err := readTwice(b, unread)
				if columns += n; err != nil {
					t.Errorf("%v: %s: %v", q, f.Name(), err)
				}
			}
		}
		if testing.Short() {
			return
		}
		again, err := hudi.Open(t.Context(), real.store(), o)
		if err != nil {
			t.Fatal(err)
		}
		v, err := again.View(t.Context(), hudi.Latest())
		if err != nil {
			t.Fatal(err)
		}
		all, err := filesOf(t.Context(), v)
		if err != nil || len(all) == 0 {
			return
		}
		f := all[r.IntN(len(all))]
		b, err := bytesOf(t.Context(), real.store(), f)
		if err != nil {
			return
		}
		if sum, ok := byName[path.Join(f.Partition(), f.Name())]; !ok || sum != fmt.Sprintf("%x", sha256.Sum256(b)) {
			t.Errorf("%s of a copy of the table is not the file that it was", f.Name())
		}
	})
	t.Logf("%d files, %d of them served as they are; %d columns read twice", files, served, columns)
	for why, n := range unread {
		t.Logf("NOT READ by the second reader: %d columns: %s", n, why)
	}
	if served == 0 || columns == 0 {
		t.Error("nothing was compared")
	}
}

// someQueries are a few views besides the newest snapshot.
func someQueries(t *testing.T, table *hudi.Table, r *rand.Rand) []hudi.Query {
	out := []hudi.Query{hudi.ReadOptimized()}
	if in, err := table.Servable(t.Context()); err == nil && len(in) > 0 {
		out = append(out, hudi.AsOf(in[r.IntN(len(in))].Time))
	}
	if steps, err := table.Steps(t.Context()); err == nil && len(steps) > 0 {
		i := r.IntN(len(steps))
		out = append(out, hudi.Incremental("000", steps[i]))
		if i > 0 {
			out = append(out, hudi.Incremental(steps[r.IntN(i)], steps[i]))
		}
	}
	return out
}

// readTwice compares what two readers find in a file, column by column. It returns how many they could compare.
func readTwice(data []byte, unread map[string]int) (columns int, err error) {
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return 0, err
	}
	for i, leaf := range f.Schema().Columns() {
		name := strings.Join(leaf, ".")
		theirs, err := secondReader(data, i)
		if err != nil {
			unread[err.Error()]++
			continue
		}
		ours := []string{}
		for _, g := range f.RowGroups() {
			pages := g.ColumnChunks()[i].Pages()
			values, err := allValues(pages)
			if err = errors.Join(err, pages.Close()); err != nil {
				return columns, fmt.Errorf("%s: %w", name, err)
			}
			for _, v := range values {
				ours = append(ours, cellText(v.RepetitionLevel(), v.DefinitionLevel(), goValue(v)))
			}
		}
		if !slices.Equal(ours, theirs) {
			return columns, fmt.Errorf("%s: one reader has %.300q, the other %.300q", name, ours, theirs)
		}
		columns++
	}
	return columns, nil
}

func allValues(pages parquet.Pages) ([]parquet.Value, error) {
	var out []parquet.Value
	for {
		p, err := pages.ReadPage()
		if p == nil {
			if err.Error() == "EOF" {
				return out, nil
			}
			return out, err
		}
		values := make([]parquet.Value, p.NumValues())
		n, _ := p.Values().ReadValues(values)
		for _, v := range values[:n] {
			out = append(out, v.Clone())
		}
		parquet.Release(p)
	}
}

func goValue(v parquet.Value) any {
	switch {
	case v.IsNull():
		return nil
	case v.Kind() == parquet.Boolean:
		return v.Boolean()
	case v.Kind() == parquet.Int32:
		return v.Int32()
	case v.Kind() == parquet.Int64:
		return v.Int64()
	case v.Kind() == parquet.Float:
		return v.Float()
	case v.Kind() == parquet.Double:
		return v.Double()
	}
	return string(v.ByteArray())
}

func cellText(rep, def int, v any) string { return fmt.Sprintf("%d.%d %q", rep, def, fmt.Sprint(v)) }

// secondReader reads a column with xitongsys/parquet-go.
func secondReader(data []byte, leaf int) (out []string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %.80s", fmt.Sprint(p))
		}
	}()
	r, err := reader.NewParquetColumnReader(source.NewBufferFileFromBytes(data), 1)
	if err != nil {
		return nil, err
	}
	defer r.ReadStop()
	values, rep, def, err := r.ReadColumnByIndex(int64(leaf), r.GetNumRows())
	if err != nil {
		return nil, err
	}
	out = []string{}
	for i, v := range values {
		out = append(out, cellText(int(rep[i]), int(def[i]), v))
	}
	return out, nil
}
