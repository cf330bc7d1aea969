package hudi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/internal/hostiletest"
	"github.com/hudifs/hudifs/storage"
)

// partitioned is a store whose table has many partitions, each with the one file of a real one.
type partitioned struct {
	storage.Store
	names []storage.Entry
	like  string // the real partition
}

func (p *partitioned) List(ctx context.Context, dir string) ([]storage.Entry, error) {
	switch {
	case dir == "":
		return p.names, nil
	case strings.HasPrefix(dir, "p0"):
		return p.Store.List(ctx, p.like)
	}
	return p.Store.List(ctx, dir)
}

func (p *partitioned) Open(ctx context.Context, name string) (storage.Object, error) {
	if strings.HasPrefix(name, "p0") {
		name = path.Join(p.like, path.Base(name))
	}
	return p.Store.Open(ctx, name)
}

// TestManyPartitions: a view takes a kilobyte of memory for each file, however many partitions they lie in.
func TestManyPartitions(t *testing.T) {
	const n = 20_000
	r := testTable(t, "t9_cow_partitioned")
	s := &partitioned{Store: r.store(), like: "north", names: make([]storage.Entry, n)}
	for i := range s.names {
		s.names[i] = storage.Entry{Name: fmt.Sprintf("p%07d", i), Dir: true}
	}
	table, err := hudi.Open(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	hostiletest.Keeps(t, 1<<10*2*n, func() *hudi.View {
		v, err := table.View(t.Context(), hudi.Latest())
		if err != nil {
			t.Fatal(err)
		}
		files, err := filesOf(t.Context(), v)
		if err != nil || len(files) != 2*n {
			t.Fatalf("%d files, %v", len(files), err)
		}
		return v
	})
}

// queries are one of each kind.
func queries(in []hudi.Instant) map[string]hudi.Query {
	last := in[len(in)-1].Time
	return map[string]hudi.Query{
		"latest": hudi.Latest(), "asof": hudi.AsOf(last), "incremental": hudi.Incremental("000", "latest"), "read optimized": hudi.ReadOptimized(),
		"diff": hudi.Difference("000", "latest"), "cdc": hudi.Changes("000", "latest"),
	}
}

// known tells whether an error is of a class that says what is wrong with a table.
func known(err error) bool {
	return refused(err) || errors.Is(err, hudi.ErrCorrupt)
}

// TestHostilePaths: what commits say of where files lie leads nowhere but into the table: the answer is the same as ever, or an error. The same
// number of bytes takes the place of a partition's name or a file's id, so that no length is wrong.
func TestHostilePaths(t *testing.T) {
	for _, name := range []string{"t6_mor_logs", "t6_changes_cow", "t8_cow_partitioned", "t9_changes_mor", "t9_mor_logs", "t9_clustering"} {
		r := testTable(t, name)
		in := r.instants(t)
		base := r.named(".parquet")[0]
		id, _, _ := strings.Cut(path.Base(base), "_")
		partition := path.Dir(base)
		fill := func(s string, n int) string { return (s + strings.Repeat("x", n))[:n] }
		for what, swap := range map[string][2]string{
			"a partition that climbs":       {partition, fill("../../../../../", len(partition))},
			"a partition of dots":           {partition, fill("..", 2) + fill("/", len(partition)-2)},
			"an absolute partition":         {partition, fill("/etc/", len(partition))},
			"a partition with a zero":       {partition, fill("\x00", len(partition))},
			"a file id that climbs":         {id, fill("../../../../etc/", len(id))},
			"a file id with a newline":      {id, fill("a\nb", len(id))},
			"a path that climbs":            {partition + "/" + id, fill("../../", len(partition)+1+len(id))},
			"an absolute path":              {partition + "/" + id, fill("/etc/passwd/", len(partition)+1+len(id))},
			"a path that climbs in between": {"/" + id, fill("/../", 1+len(id))},
		} {
			bad := testTable(t, name)
			for p, data := range bad.files {
				if strings.HasPrefix(p, ".hoodie/") && !strings.HasPrefix(p, ".hoodie/metadata/") && !strings.HasSuffix(p, ".properties") {
					bad.files[p] = bytes.ReplaceAll(data, []byte(swap[0]), []byte(swap[1]))
				}
			}
			for kind, q := range queries(in) {
				want, _ := ask(t.Context(), r.store(), nil, q)
				got, err := ask(t.Context(), inside{t, bad.store()}, nil, q)
				switch {
				case err != nil && !known(err):
					t.Errorf("%s: %s: %s: %v", name, what, kind, err)
				case err == nil && (want == nil || got.text("_hoodie_file_name") != want.text("_hoodie_file_name")):
					t.Errorf("%s: %s: %s: other rows", name, what, kind)
				}
			}
		}
	}
}

// inside is a store that fails the test for each path that leads out of it and is used nevertheless.
type inside struct {
	t *testing.T
	storage.Store
}

func (s inside) Open(ctx context.Context, p string) (storage.Object, error) {
	o, err := s.Store.Open(ctx, p)
	if err == nil && storage.CheckPath(p) != nil {
		s.t.Errorf("opened %q", p)
	}
	return o, err
}

// TestNamesOfFiles: no view shows a name that could not be one. The commits here say the truth of all files but for whose they are.
func TestNamesOfFiles(t *testing.T) {
	r := testTable(t, "t6_changes_cow")
	in := r.instants(t)
	said := regexp.MustCompile(`("fileId"\s*:\s*")[^"]*`)
	changed := 0
	for p, data := range r.files {
		if bad := said.ReplaceAll(data, []byte("${1}../../x")); strings.HasSuffix(p, "commit") && !bytes.Equal(bad, data) {
			r.files[p] = bad
			changed++
		}
	}
	if changed == 0 {
		t.Fatal("no commit names a file id")
	}
	table, err := hudi.Open(t.Context(), r.store(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for kind, q := range queries(in) {
		v, err := table.View(t.Context(), q)
		var files []*hudi.File
		if err == nil {
			files, err = filesOf(t.Context(), v)
		}
		if err != nil && !known(err) {
			t.Errorf("%s: %v", kind, err)
		}
		if i := slices.IndexFunc(files, func(f *hudi.File) bool { return strings.ContainsAny(f.Name(), "/\x00") }); i >= 0 {
			t.Errorf("%s: a file named %q", kind, files[i].Name())
		}
	}
}

// nowhere takes a rendered file.
type nowhere struct{}

func (nowhere) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

// TestRowsWithoutEnd: a base file that says it has more rows than it has is damaged. With so many that their numbers have no room in a plan it
// is refused, whatever is left of the number in the room that there is.
func TestRowsWithoutEnd(t *testing.T) {
	for _, name := range []string{"t6_mor_logs", "t9_mor_logs"} {
		for rows, want := range map[int64]error{1000: hudi.ErrCorrupt, 1 << 20: hudi.ErrCorrupt, 1 << 31: hudi.ErrUnsupported, 1<<32 + 3: hudi.ErrUnsupported, 1<<33 - 1: hudi.ErrUnsupported} {
			r := testTable(t, name)
			for _, p := range r.named(".parquet") {
				r.files[p] = hostiletest.ClaimRows(t, r.files[p], rows)
			}
			merged := 0
			for _, f := range r.latest(t, nil) {
				if len(f.Details().Logs) == 0 {
					continue // the base file as it is
				}
				merged++
				var err error
				hostiletest.Allocates(t, 256<<20, func() { err = f.Render(t.Context(), nowhere{}) })
				if !errors.Is(err, want) || !strings.Contains(err.Error(), f.Details().Base) {
					t.Errorf("%s: %d rows: %v", name, rows, err)
				}
			}
			if merged == 0 {
				t.Errorf("%s: nothing is merged", name)
			}
		}
	}
}
