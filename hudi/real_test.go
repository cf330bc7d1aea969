package hudi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/internal/tabletest"
	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/storage/storagetest"
)

// realTable is a table that Hudi wrote, unzipped.
type realTable struct {
	name   string
	folder string
	files  map[string][]byte
}

// eachRealTable runs f for every table beside and in the repository.
func eachRealTable(t *testing.T, f func(t *testing.T, r *realTable)) {
	t.Helper()
	for _, file := range tabletest.All(t) {
		folder := filepath.Dir(file)
		t.Run(tabletest.Name(file), func(t *testing.T) {
			f(t, &realTable{name: tabletest.Name(file), folder: folder, files: tabletest.Contents(t, file, nil)})
		})
	}
}

// testTable is one of the tables that the repository carries.
func testTable(t testing.TB, name string) *realTable {
	t.Helper()
	folder := filepath.Join("..", "testdata", name)
	return &realTable{name: name, folder: folder, files: tabletest.Contents(t, filepath.Join(folder, "table.zip"), nil)}
}

func (r *realTable) store() *storagetest.Mem { return storagetest.NewMem(r.files) }

// bootstrapSource is the folder that a bootstrapped table was made from, nil for others.
func (r *realTable) bootstrapSource(t *testing.T) storage.Store {
	t.Helper()
	file := filepath.Join(r.folder, "bootstrap_source.zip")
	if _, err := os.Stat(file); err != nil {
		return nil
	}
	return unzip(t, file)
}

// completions are the times at which the instants of the table completed, by requested time, as they were noted when it was written. Table
// version 6 itself does not say.
func (r *realTable) completions(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.folder, "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Timeline []struct{ Requested, Instant, Completed, Completion, FileMtimeUTC string }
	}
	if err := json.Unmarshal(bytes.ReplaceAll(text, []byte("file_mtime_utc"), []byte("FileMtimeUTC")), &c); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, i := range c.Timeline {
		if done := i.Completed + i.Completion; done != "" {
			out[i.Requested+i.Instant] = done
		} else {
			out[i.Requested+i.Instant] = i.FileMtimeUTC
		}
	}
	return out
}

// row is what a file holds of one row, by leaf: its entries, each with the level at which it repeats, how many of the nodes on its path are
// there, and its value. Neither tighter nullability nor the form of a list or a decimal makes a difference.
type row map[string]string

func (r row) String() string {
	var out []string
	for k, v := range r {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// key is what a row is known by in its partition.
func (r row) key() string { return r["_hoodie_record_key"] }

// without leaves some columns out.
func (r row) without(columns ...string) row {
	out := row{}
	for k, v := range r {
		top, _, _ := strings.Cut(k, ".")
		if !slices.Contains(columns, top) {
			out[k] = v
		}
	}
	return out
}

// buffer takes a rendered file in memory.
type buffer []byte

func (b buffer) WriteAt(p []byte, off int64) (int, error) {
	if off < 0 || off+int64(len(p)) > int64(len(b)) {
		return 0, fmt.Errorf("%d bytes at %d in a file of %d", len(p), off, len(b))
	}
	return copy(b[off:], p), nil
}

// bytesOf are the bytes of a file, from the store where they lie there.
func bytesOf(ctx context.Context, s storage.Store, f *hudi.File) ([]byte, error) {
	p, ok, err := f.Base(ctx)
	if err != nil {
		return nil, err
	}
	if ok {
		return storage.ReadFile(ctx, s, p, 1<<30)
	}
	size, _, err := f.Size(ctx)
	if err != nil {
		return nil, err
	}
	b := make(buffer, size)
	return b, f.Render(ctx, b)
}

// rowsOf reads a Parquet file.
func rowsOf(data []byte) ([]row, error) {
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	leaves := f.Schema().Columns()
	texts := make([]func(parquet.Value) string, len(leaves))
	names := make([]string, len(leaves))
	for i, path := range leaves {
		names[i], texts[i] = entryOf(f.Schema(), path)
	}
	var out []row
	for _, g := range f.RowGroups() {
		rows := g.Rows()
		buf := make([]parquet.Row, 64)
		for {
			n, err := rows.ReadRows(buf)
			for _, values := range buf[:n] {
				r := row{}
				for _, v := range values {
					r[names[v.Column()]] += texts[v.Column()](v)
				}
				out = append(out, r)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, errors.Join(err, rows.Close())
			}
		}
		if err := rows.Close(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// entryOf gives the name of a leaf and the text of its entries. The item of a list of two levels counts as one of three.
func entryOf(schema *parquet.Schema, path []string) (string, func(parquet.Value) string) {
	depth := []int{0} // how many nodes are there, by definition level
	node := parquet.Node(schema)
	var names []string
	for _, name := range path {
		for _, f := range node.Fields() {
			if f.Name() == name {
				node = f
				break
			}
		}
		if !node.Required() {
			depth[len(depth)-1] = len(names)
			depth = append(depth, 0)
		}
		if node.Repeated() && name == "array" {
			names = append(names, "list", "element")
		} else {
			names = append(names, name)
		}
	}
	whole := len(names)
	depth[len(depth)-1] = whole
	decimal := false
	if l := node.Type().LogicalType(); l != nil {
		_, decimal = l.Value.(*format.DecimalType)
	}
	return strings.Join(names, "."), func(v parquet.Value) string {
		d := depth[v.DefinitionLevel()]
		text := ""
		switch {
		case d < whole:
			text = "null"
		case decimal && (v.Kind() == parquet.Int32 || v.Kind() == parquet.Int64):
			text = strconv.FormatInt(v.Int64(), 10)
		case decimal:
			n := new(big.Int).SetBytes(v.ByteArray())
			if b := v.ByteArray(); len(b) > 0 && b[0] >= 0x80 {
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
			}
			text = n.String()
		default:
			text = fmt.Sprintf("%q", v)
		}
		return fmt.Sprintf("%d.%d:%s|", v.RepetitionLevel(), d, text)
	}
}

// filesOf are all files of a view.
func filesOf(ctx context.Context, v *hudi.View) ([]*hudi.File, error) {
	partitions, err := v.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	var out []*hudi.File
	for _, p := range partitions {
		files, err := v.Files(ctx, p)
		if err != nil {
			return nil, err
		}
		out = append(out, files...)
	}
	return out, nil
}

// latest are all files of the table as it is now.
func (r *realTable) latest(t testing.TB, o *hudi.Options) []*hudi.File {
	t.Helper()
	return latestOf(t, r.store(), o)
}

// latestOf are the same of the table in a store.
func latestOf(t testing.TB, s storage.Store, o *hudi.Options) []*hudi.File {
	t.Helper()
	table, err := hudi.Open(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	v, err := table.View(t.Context(), hudi.Latest())
	if err != nil {
		t.Fatal(err)
	}
	files, err := filesOf(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// answer is what a query gives: the rows of each partition, in no order, and their columns.
type answer struct {
	rows   map[string][]row
	schema []string
}

// errUnreadable is a file that is no Parquet file.
var errUnreadable = errors.New("does not read back")

func ask(ctx context.Context, s storage.Store, o *hudi.Options, q hudi.Query) (*answer, error) {
	table, err := hudi.Open(ctx, s, o)
	if err != nil {
		return nil, err
	}
	v, err := table.View(ctx, q)
	if err != nil {
		return nil, err
	}
	files, err := filesOf(ctx, v)
	if err != nil {
		return nil, err
	}
	a := &answer{rows: map[string][]row{}}
	if a.schema, err = v.Schema(ctx); err != nil {
		return nil, err
	}
	for _, f := range files {
		b, err := bytesOf(ctx, s, f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path.Join(f.Partition(), f.Name()), err)
		}
		rows, err := rowsOf(b)
		if err != nil {
			return nil, fmt.Errorf("%s %w: %w", path.Join(f.Partition(), f.Name()), errUnreadable, err)
		}
		if len(rows) > 0 {
			a.rows[f.Partition()] = append(a.rows[f.Partition()], rows...)
		}
	}
	return a, nil
}

// text has a line for each row, sorted.
func (a *answer) text(without ...string) string {
	var out []string
	for p, rows := range a.rows {
		for _, r := range rows {
			out = append(out, p+": "+r.without(without...).String())
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func (a *answer) count() int {
	n := 0
	for _, r := range a.rows {
		n += len(r)
	}
	return n
}

// unshared shows a few lines that two texts don't share.
func unshared(got, want string) string {
	lines := func(s string) map[string]bool {
		m := map[string]bool{}
		for l := range strings.SplitSeq(s, "\n") {
			m[l] = true
		}
		return m
	}
	a, b := lines(got), lines(want)
	var out []string
	for l := range a {
		if !b[l] {
			out = append(out, "+ "+l)
		}
	}
	for l := range b {
		if !a[l] {
			out = append(out, "- "+l)
		}
	}
	slices.Sort(out)
	return strings.Join(out[:min(len(out), 6)], "\n")
}
