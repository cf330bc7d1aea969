package hudi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/merge"
	"github.com/hudifs/hudifs/storage"
)

// larger keeps the larger fare of two versions of a ride, adds up the tips by which it is told apart from every rule of Hudi's,
// and leaves all else as the newer version has it.
type larger struct{ t *testing.T }

func (m larger) Merge(older, newer merge.Row) (merge.Result, error) {
	r := merge.Result{Values: map[string]any{"driver": fmt.Sprint(older.Value("driver"), "+", newer.Value("driver"))}}
	a, okA := older.Value("fare").(*big.Rat)
	b, okB := newer.Value("fare").(*big.Rat)
	if okA && okB && a.Cmp(b) > 0 {
		r.Take = []string{"fare"}
	}
	if newer.Value("no such column") != nil {
		m.t.Error("a column that does not exist has a value")
	}
	return r, nil
}

// customTable is the demo table, made to say that a class of its own merges it.
func customTable(t *testing.T) storage.Store {
	t.Helper()
	s := unzip(t, "../testdata/demo/table.zip")
	const properties = ".hoodie/hoodie.properties"
	text, err := storage.ReadFile(t.Context(), s, properties, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	custom := strings.ReplaceAll(string(text), "hoodie.record.merge.mode=EVENT_TIME_ORDERING", "hoodie.record.merge.mode=CUSTOM")
	if custom == string(text) {
		t.Fatal("the table does not state its merge mode as expected")
	}
	s.Put(properties, []byte(custom+"hoodie.compaction.payload.class=com.example.LargerFare\n"))
	return s
}

func TestMerger(t *testing.T) {
	store, ctx := customTable(t), t.Context()

	refusing, err := hudi.Open(ctx, store, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readLatest(ctx, refusing); !errors.Is(err, hudi.ErrUnsupported) || !strings.Contains(err.Error(), "LargerFare") {
		t.Errorf("without a merger: %v; want a refusal that names the class", err)
	}

	table, err := hudi.Open(ctx, store, &hudi.Options{Mergers: map[string]merge.Merger{"com.example.LargerFare": larger{t}}})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := readLatest(ctx, table)
	if err != nil {
		t.Fatal(err)
	}
	merged := 0
	for _, driver := range rows {
		if strings.Contains(driver, "+") {
			merged++
		}
	}
	if merged == 0 || merged == len(rows) {
		t.Errorf("%d of %d rows are merged ones, want some", merged, len(rows))
	}
}

// readLatest gives the driver of each ride.
func readLatest(ctx context.Context, table *hudi.Table) (map[string]string, error) {
	v, err := table.View(ctx, hudi.Latest())
	if err != nil {
		return nil, err
	}
	partitions, err := v.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, p := range partitions {
		files, err := v.Files(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			size, _, err := f.Size(ctx)
			if err != nil {
				return nil, err
			}
			if _, asIs, err := f.Base(ctx); asIs || err != nil {
				continue
			}
			content := sparse(make([]byte, size))
			if err := f.Render(ctx, content); err != nil {
				return nil, err
			}
			type ride struct {
				ID     string `parquet:"ride_id,optional"`
				Driver string `parquet:"driver,optional"`
			}
			rides, err := parquet.Read[ride](bytes.NewReader(content), size)
			if err != nil {
				return nil, err
			}
			for _, r := range rides {
				out[r.ID] = r.Driver
			}
		}
	}
	return out, nil
}

// sparse is a file in memory.
type sparse []byte

func (s sparse) WriteAt(p []byte, off int64) (int, error) { return copy(s[off:], p), nil }
