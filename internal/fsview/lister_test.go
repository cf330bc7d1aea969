package fsview_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/hudifs/hudifs/internal/fsview"
	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/storage/storagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mem(paths ...string) *storagetest.Mem {
	files := map[string][]byte{}
	for _, p := range paths {
		files[p] = []byte("x")
	}
	return storagetest.NewMem(files)
}

// partitions are those that a lister walks, sorted.
func partitions(ctx context.Context, l fsview.Lister) ([]string, error) {
	var mu sync.Mutex
	var found []string
	err := l.Walk(ctx, false, func(partition string, _ []storage.Entry) error {
		mu.Lock()
		defer mu.Unlock()
		found = append(found, partition)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(found)
	return found, nil
}

const metafile = ".hoodie_partition_metadata"

func TestPartitions(t *testing.T) {
	deep := strings.Repeat("d/", 30)
	for _, tt := range []struct {
		name  string
		files []string
		want  []string
	}{
		{"an empty folder", nil, nil},
		{"not partitioned", []string{metafile, ".hoodie/hoodie.properties", "a_1_2.parquet"}, []string{""}},
		{"not partitioned: what lies below is foreign", []string{metafile, "sub/" + metafile}, []string{""}},
		{"one level, sorted", []string{"b/" + metafile, "a/" + metafile, "a b/" + metafile, "ü/" + metafile}, []string{"a", "a b", "b", "ü"}},
		{"several levels", []string{"2020/09/13/" + metafile, "2020/09/14/" + metafile, "2021/" + metafile}, []string{"2020/09/13", "2020/09/14", "2021"}},
		{"folders without a metafile", []string{"a/" + metafile, "notapartition/sub/x.parquet", "junk.parquet"}, []string{"a"}},
		{"the metafile's other forms", []string{"a/" + metafile + ".parquet", "b/" + metafile + ".orc"}, []string{"a", "b"}},
		{
			"a metafile that is being written",
			[]string{"a/" + metafile + "_0", "b/" + metafile + "_12.parquet", "c/x" + metafile, "d/." + metafile + ".crc", "e/" + metafile + "s"},
			nil,
		},
		{"a folder of the metafile's name", []string{"a/" + metafile + "/x"}, nil},
		{"the table's own folder", []string{".hoodie/" + metafile, ".hoodie/metadata/files/" + metafile, "a/.hoodie/x/" + metafile, "b/" + metafile}, []string{"b"}},
		{"other hidden folders may be partitions", []string{".a/" + metafile, "_b/" + metafile, ".hoodie2/" + metafile}, []string{".a", ".hoodie2", "_b"}},
		{"values as writers escape them", []string{"dt=2020%2F09/" + metafile, "__HIVE_DEFAULT_PARTITION__/" + metafile}, []string{"__HIVE_DEFAULT_PARTITION__", "dt=2020%2F09"}},
		{"a deep one", []string{deep + metafile}, []string{strings.TrimSuffix(deep, "/")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := partitions(t.Context(), fsview.NewPlain(mem(tt.files...)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A partition that is not looked for would be rows that silently are not there.
func TestPartitionTooDeep(t *testing.T) {
	_, err := partitions(t.Context(), fsview.NewPlain(mem(strings.Repeat("d/", 80)+metafile)))
	if err == nil || !strings.Contains(err.Error(), "deeper") {
		t.Errorf("80 levels: %v", err)
	}
}

// Each folder is listed once, and those of partitions have nothing below them looked at.
func TestPartitionsListsEachFolderOnce(t *testing.T) {
	var files []string
	for i := range 50 {
		files = append(files, fmt.Sprintf("p%d/%s", i, metafile), fmt.Sprintf("p%d/sub/x", i))
	}
	s := storage.NewCounting(mem(files...))
	got, err := partitions(t.Context(), fsview.NewPlain(s))
	if err != nil || len(got) != 50 {
		t.Fatalf("%d partitions, %v", len(got), err)
	}
	if c := s.Counters(); c.Lists != 51 || c.Opens != 0 {
		t.Errorf("%+v, want 51 listings and nothing opened", c)
	}
}

// vanishing is a store that loses a folder once its parent has been listed.
type vanishing struct {
	*storagetest.Mem
	once sync.Once
	path string
}

func (v *vanishing) List(ctx context.Context, dir string) ([]storage.Entry, error) {
	entries, err := v.Mem.List(ctx, dir)
	v.once.Do(func() { v.Remove(v.path) })
	return entries, err
}

func TestFolderVanishes(t *testing.T) {
	v := &vanishing{Mem: mem("a/"+metafile, "b/c/"+metafile, "d/"+metafile), path: "b"}
	if got, err := partitions(t.Context(), fsview.NewPlain(v)); !errors.Is(err, storage.ErrNotExist) || !strings.Contains(err.Error(), "list b") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestPartitionsFaults(t *testing.T) {
	want := map[storagetest.Effect]error{storagetest.Denied: storage.ErrPermission, storagetest.Unavailable: storage.ErrUnavailable, storagetest.Cancelled: context.Canceled}
	for _, dir := range []string{"", "a", "a/b"} {
		for effect, wantErr := range want {
			f := storagetest.NewFaulty(mem("a/b/"+metafile, "c/"+metafile), storagetest.Fault{Op: storagetest.List, Path: dir, N: nth(dir), Effect: effect})
			got, err := partitions(t.Context(), fsview.NewPlain(f))
			if !errors.Is(err, wantErr) || got != nil {
				t.Errorf("%v of %q: %v, %v", effect, dir, got, err)
			}
			f.Verify(t)
		}
	}
	// A table that is not there is no table without partitions.
	f := storagetest.NewFaulty(mem("a/"+metafile), storagetest.Fault{Op: storagetest.List, N: 1, Effect: storagetest.NotExist})
	if _, err := partitions(t.Context(), fsview.NewPlain(f)); !errors.Is(err, storage.ErrNotExist) {
		t.Errorf("the root is gone: %v", err)
	}
	f.Verify(t)
}

// nth says how a fault finds the listing of a folder: that of the root is the first.
func nth(dir string) int {
	if dir == "" {
		return 1
	}
	return 0
}

func TestPartitionsCancelled(t *testing.T) {
	var files []string
	for i := range 100 {
		files = append(files, fmt.Sprintf("p%d/%s", i, metafile))
	}
	f := storagetest.NewFaulty(mem(files...), storagetest.Fault{Op: storagetest.List, Path: "p*", Effect: storagetest.Slow, Delay: time.Minute})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if _, err := partitions(ctx, fsview.NewPlain(f)); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if d := time.Since(begun); d > 10*time.Second {
		t.Errorf("given up after %v", d)
	}
	f.Verify(t)
}

func TestFiles(t *testing.T) {
	p := fsview.NewPlain(mem("a/"+metafile, "a/z", "a/b", "a/sub/x", "b/y"))
	files, err := p.Files(t.Context(), "a")
	var got []string
	for _, e := range files {
		got = append(got, fmt.Sprint(e.Name, " ", e.Dir, " ", e.Size))
	}
	if diff := cmp.Diff([]string{metafile + " false 1", "b false 1", "sub true 0", "z false 1"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := p.Files(t.Context(), "nope"); !errors.Is(err, storage.ErrNotExist) {
		t.Errorf("no such partition: %v", err)
	}
}
