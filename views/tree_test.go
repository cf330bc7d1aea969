package views_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hudifs/hudifs/cache"
	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/storage/storagetest"
	"github.com/hudifs/hudifs/views"
)

// name is where the view of a case lies in a tree.
func (f *fixture) viewName(i int) string {
	v := f.Views[i]
	switch v.Kind {
	case "snapshot":
		return "latest"
	case "asof":
		return "asof/" + v.Instant
	case "incremental", "cdc":
		begin, end := v.Begin, v.End
		if v.BeginInclusive && len(begin) == 17 {
			at, _ := time.Parse("20060102150405.000", begin[:14]+"."+begin[14:])
			begin = strings.Replace(at.Add(-time.Millisecond).Format("20060102150405.000"), ".", "", 1)
		}
		if begin == "" {
			begin = "000"
		}
		if end == "" {
			end = "latest"
		}
		return v.Kind + "/" + begin + ".." + end
	}
	return v.Kind
}

// TestViews walks over every view that Hudi was asked for, and over everything that is listed besides. Which rows they are is for the
// end-to-end tests; here their number tells that the right view was shown.
func TestViews(t *testing.T) {
	for _, name := range all(t) {
		t.Run(name, func(t *testing.T) {
			f := load(t, name)
			disk, err := cache.Open(t.TempDir(), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { disk.Close() })
			tree := openTree(t, fileStore(t, f.dir(t)), &views.Options{Cache: disk})
			for i, v := range f.Views {
				at := f.viewName(i)
				if v.Doubt != "" || v.ErrorOK {
					continue
				}
				dir, err := find(t.Context(), tree.Root(), at)
				if v.Error != "" || v.RefusalOK && refused(t, dir, err) {
					if !refused(t, dir, err) {
						t.Errorf("%s: %v, want what Hudi says: %s", at, err, v.Error)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", at, err)
					continue
				}
				if got := rows(t, dir); got != *v.Rows {
					t.Errorf("%s: %d rows, want %d", at, got, *v.Rows)
				}
			}
			switch name { // all of every table would take long
			case "t6_types", "t9_mor_pending":
				checkInodes(t, walk(t, tree.Root()))
			}
		})
	}
}

// refused tells whether a view is one that can be looked up, says why it is not served, and is not.
func refused(t *testing.T, n views.Node, err error) bool {
	t.Helper()
	if err != nil {
		return false
	}
	_, err = n.(views.Dir).Entries(t.Context())
	if err == nil || !errors.Is(err, views.ErrRefused) && !errors.Is(err, views.ErrStale) {
		return false
	}
	x, xerr := n.Xattrs(t.Context())
	if xerr != nil || x["user.hudi.error"] != err.Error() {
		t.Errorf("user.hudi.error is %q, %v, listing says %q", x["user.hudi.error"], xerr, err)
	}
	if _, err := n.(views.Dir).Lookup(t.Context(), "x.parquet"); !errors.Is(err, views.ErrRefused) && !errors.Is(err, views.ErrStale) {
		t.Errorf("a file looked up: %v", err)
	}
	if a, err := n.Attr(t.Context()); err != nil || !a.Dir || a.Frozen {
		t.Errorf("attributes %+v, %v", a, err)
	}
	return true
}

// checkInodes holds that frozen files of one inode have the same bytes and size, and that folders never share theirs.
func checkInodes(t *testing.T, all map[string]seen) {
	t.Helper()
	first := map[uint64]string{}
	for _, p := range slices.Sorted(maps.Keys(all)) {
		s := all[p]
		q, shared := first[s.attr.Inode]
		if !shared {
			first[s.attr.Inode] = p
			continue
		}
		o := all[q]
		if s.attr.Dir || o.attr.Dir || !s.attr.Frozen || s.sum != o.sum || s.attr.Size != o.attr.Size {
			t.Errorf("%s and %s share inode %d", q, p, s.attr.Inode)
		}
	}
	if len(first) < 10 {
		t.Errorf("only %d inodes were seen", len(first))
	}
}

// TestTwoHosts compares trees over two copies of a table: an engine may list on one host, and read on another.
func TestTwoHosts(t *testing.T) {
	for _, name := range []string{"t6_mor_logs", "t9_mor_compacted"} {
		f := load(t, name)
		a := walk(t, openTree(t, fileStore(t, f.dir(t)), nil).Root())
		b := walk(t, openTree(t, storagetest.NewMem(f.files), nil).Root())
		if diff := cmp.Diff(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b))); diff != "" {
			t.Errorf("%s: paths differ:\n%s", name, diff)
		}
		for p, s := range a {
			if !s.attr.Frozen {
				s.attr.Size, s.attr.Disk = b[p].attr.Size, b[p].attr.Disk // .hudi/status
			}
			if s.attr.Inode != b[p].attr.Inode || s.attr.Size != b[p].attr.Size || !s.attr.ModTime.Equal(b[p].attr.ModTime) || s.attr.Frozen && s.sum != b[p].sum {
				t.Errorf("%s/%s: %+v on one host, %+v on another", name, p, s.attr, b[p].attr)
			}
		}
	}
}

// recording notes what is opened.
type recording struct {
	storage.Store
	mu     sync.Mutex
	opened map[string]int
}

func (r *recording) Open(ctx context.Context, p string) (storage.Object, error) {
	r.mu.Lock()
	r.opened[p]++
	r.mu.Unlock()
	return r.Store.Open(ctx, p)
}

// data are the files opened since the last call that are none of the table's own folder.
func (r *recording) data() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for p := range r.opened {
		if !isTimeline(p) {
			out = append(out, p)
		}
	}
	r.opened = map[string]int{}
	slices.Sort(out)
	return out
}

// TestListingOpensNoData counts what listing costs: a footer for each write that made files, once, and from version 8 on no log file.
func TestListingOpensNoData(t *testing.T) {
	for _, name := range []string{"t6_cow_partitioned", "t6_mor_logs", "t9_cow_partitioned", "t9_mor_logs"} {
		t.Run(name, func(t *testing.T) {
			f := load(t, name)
			r := &recording{Store: storagetest.NewMem(f.files), opened: map[string]int{}}
			root := openTree(t, r, nil).Root()
			for _, dir := range []string{"asof", "incremental", "diff"} {
				names(t, mustFind(t, root, dir))
			}
			names(t, root)
			if opened := r.data(); len(opened) > 0 {
				t.Errorf("folders above the views opened %v", opened)
			}
			latest := mustFind(t, root, "latest")
			for range 2 {
				for _, p := range names(t, latest) {
					names(t, mustFind(t, latest, p))
				}
			}
			instants := map[string]bool{}
			for _, p := range r.data() {
				base := path.Base(p)
				if strings.HasPrefix(base, ".") {
					if f.Version >= 8 {
						t.Errorf("a listing opened the log file %s", p)
					}
					continue
				}
				instant := base[strings.LastIndex(base, "_"):]
				if instants[instant] {
					t.Errorf("a listing opened a second base file of one write: %s", p)
				}
				instants[instant] = true
			}
		})
	}
}

// TestAttrNeverRenders looks at every attribute of a table before anything is opened.
func TestAttrNeverRenders(t *testing.T) {
	for _, name := range []string{"t6_mor_logs", "t8_mor_compacted", "t9_mor_logs", "t9_types"} {
		t.Run(name, func(t *testing.T) {
			f := load(t, name)
			disk, err := cache.Open("", nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { disk.Close() })
			root := openTree(t, storagetest.NewMem(f.files), &views.Options{Cache: disk}).Root()
			stated := map[string]int64{}
			var stat func(n views.Node, at string)
			stat = func(n views.Node, at string) {
				a, err := n.Attr(t.Context())
				if err != nil {
					t.Fatalf("%s: %v", at, err)
				}
				if d, ok := n.(views.Dir); ok {
					for _, name := range names(t, d) {
						if name != ".hudi" && name != "diff" { // what differs has no bound: it is compared to tell
							stat(mustFind(t, d, name), path.Join(at, name))
						}
					}
					return
				}
				stated[at] = a.Size
			}
			stat(root, "")
			s := status(t, root)
			if s.Renders > 0 || s.SizedByRendering > 0 {
				t.Errorf("%d renderings, %d of them for a size", s.Renders, s.SizedByRendering)
			}
			for p, size := range stated {
				if data, err := content(t.Context(), mustFind(t, root, p)); err != nil || int64(len(data)) != size {
					t.Errorf("%s: a size of %d, and %d bytes, %v", p, size, len(data), err)
				}
			}
			if s := status(t, root); s.Renders == 0 || s.Views == 0 || s.Store.Reads == 0 {
				t.Errorf("after everything was read: %+v", s)
			}
		})
	}
}

type statusText struct {
	Renders          int64            `json:"renders"`
	SizedByRendering int64            `json:"sized_by_rendering"`
	Views            int64            `json:"views"`
	Uptime           int64            `json:"uptime_seconds"`
	Store            storage.Counters `json:"store"`
	Cache            cache.Stats      `json:"cache"`
}

func status(t *testing.T, root views.Node) (s statusText) {
	t.Helper()
	parse(t, root, "status", &s)
	return s
}

func parse(t *testing.T, root views.Node, name string, v any) {
	t.Helper()
	data, err := content(t.Context(), mustFind(t, root, ".hudi/"+name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Errorf("%s: %v\n%s", name, err, data)
	}
}

func TestAbout(t *testing.T) {
	f := load(t, "t9_mor_pending")
	started := f.clock(t)()
	now := started
	r := &recording{Store: storagetest.NewMem(f.files), opened: map[string]int{}}
	tree := openTree(t, r, &views.Options{Clock: func() time.Time { return now }})
	root := tree.Root()
	dir := mustFind(t, root, ".hudi")
	if diff := cmp.Diff([]string{"configuration", "partitions", "schema", "status", "timeline"}, names(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	now = now.Add(90 * time.Second)
	if s := status(t, root); s.Uptime != 90 {
		t.Errorf("up for %d s", s.Uptime)
	}
	var conf hudi.Info
	parse(t, root, "configuration", &conf)
	if conf.Version != 9 || conf.Type != "MERGE_ON_READ" || conf.Properties["hoodie.table.name"] != conf.Name || conf.Name == "" || len(conf.RecordKeys) == 0 {
		t.Errorf("configuration: %+v", conf)
	}
	var partitions, columns []string
	parse(t, root, "partitions", &partitions)
	parse(t, root, "schema", &columns)
	if diff := cmp.Diff([]string{"north", "south", "west"}, partitions); diff != "" {
		t.Errorf("partitions (-want +got):\n%s", diff)
	}
	if len(columns) < 6 || columns[0] != "_hoodie_commit_time string" {
		t.Errorf("schema: %q", columns)
	}
	var timeline []hudi.Instant
	parse(t, root, "timeline", &timeline)
	if n := len(timeline); n != len(f.Timeline)+1 || timeline[n-1].State == "completed" || timeline[0].Time != f.Timeline[0].Requested || timeline[0].CompletionTime != f.Timeline[0].Completed {
		t.Errorf("timeline: %+v", timeline)
	}
	for _, name := range []string{"nope", "status.json", "", ".", ".."} {
		if _, err := dir.(views.Dir).Lookup(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", name, err)
		}
	}
	// What is known already is not listed again for each look at it.
	r.data()
	before := status(t, root).Store
	walk(t, dir)
	if after := status(t, root).Store; after.Lists != before.Lists || len(r.data()) > 0 {
		t.Errorf("a second look listed %d folders, and opened files", after.Lists-before.Lists)
	}
}

func TestNames(t *testing.T) {
	f := load(t, "t9_mor_logs")
	root := openTree(t, storagetest.NewMem(f.files), nil).Root()
	if diff := cmp.Diff([]string{".hudi", "asof", "diff", "incremental", "latest", "read_optimized"}, names(t, root)); diff != "" {
		t.Errorf("the table's folder (-want +got):\n%s", diff)
	}
	var want, steps []string
	begin := "000"
	for _, i := range f.Timeline {
		want = append(want, i.Requested)
		steps = append(steps, begin+".."+i.Completed)
		begin = i.Completed
	}
	if diff := cmp.Diff(want, names(t, mustFind(t, root, "asof"))); diff != "" {
		t.Errorf("asof (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(steps, names(t, mustFind(t, root, "incremental"))); diff != "" {
		t.Errorf("incremental (-want +got):\n%s", diff)
	}
	second := f.Timeline[1].Requested
	at, err := time.Parse("20060102150405.000", second[:14]+"."+second[14:])
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][]string{}
	for i := range f.Timeline {
		known[f.Timeline[i].Requested] = files(walk(t, mustFind(t, root, "asof/"+f.Timeline[i].Requested)))
	}
	first, last := known[f.Timeline[0].Requested], known[f.Timeline[len(f.Timeline)-1].Requested]
	for _, tt := range []struct {
		name string
		want []string
	}{
		{second, known[second]},
		{at.Format("2006-01-02 15:04:05.000"), known[second]},
		{at.Format(time.RFC3339Nano), known[second]},
		{at.In(time.FixedZone("", 5*3600+1800)).Format("2006-01-02T15:04:05.000Z07:00"), known[second]},
		{at.Format("2006-01-02 15:04:05"), known[second]}, // the last millisecond of the second
		{at.Format("20060102150405"), first},              // its first
		{at.Format("2006-01-02T15:04:05Z"), first},
		{"earliest", first},
		{"000", first},
		{"latest", last},
		{"2999-12-31", last},
		{"29991231235959999", last},
		{"2020-01-01", []string{"empty.parquet"}},
		{at.Format(time.DateOnly), []string{"empty.parquet"}}, // the start of the day
	} {
		if got := files(walk(t, mustFind(t, root, "asof/"+tt.name))); !slices.Equal(got, tt.want) {
			t.Errorf("asof/%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	for _, dir := range []string{"", "asof/", "incremental/", "diff/", ".hudi/"} {
		for _, name := range []string{"nonsense", "..", ".", "", "2026-13-01", "2026-11-30 25:00:00", "20261130", "2026", "latest..", "..latest", "a..b", "latest...latest", ".git", "*", "2026-11-30\x00"} {
			if n, err := find(t.Context(), root, dir+name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s%q: %T, %v", dir, name, n, err)
			}
		}
	}
	for _, name := range []string{"nonsense", "nonsense.parquet", ".git", "*.parquet", "_metadata", "north/x", "north/nope.parquet"} {
		if n, err := find(t.Context(), root, "latest/"+name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("latest/%q: %T, %v", name, n, err)
		}
	}
}

func TestRanges(t *testing.T) {
	f := load(t, "t9_mor_logs")
	root := openTree(t, storagetest.NewMem(f.files), nil).Root()
	c := f.Timeline
	text := func(completed string) string {
		at, _ := time.Parse("20060102150405.000", completed[:14]+"."+completed[14:])
		return at.Format("2006-01-02 15:04:05.000")
	}
	whole := files(walk(t, mustFind(t, root, "incremental/000..latest")))
	for _, name := range []string{"000.." + c[len(c)-1].Completed, "2020-01-01..2999-01-01"} {
		if got := files(walk(t, mustFind(t, root, "incremental/"+name))); !slices.Equal(got, whole) {
			t.Errorf("incremental/%s: %q, want %q", name, got, whole)
		}
	}
	part := rows(t, mustFind(t, root, "incremental/"+c[0].Completed+".."+c[2].Completed))
	if got := rows(t, mustFind(t, root, "incremental/"+text(c[0].Completed)+".."+text(c[2].Completed))); got != part || got == 0 {
		t.Errorf("a range in another spelling: %d rows, want %d", got, part)
	}
	for _, empty := range []string{"latest..latest", c[2].Completed + ".." + c[2].Completed, c[2].Completed + ".." + c[0].Completed, "2999-01-01..latest"} {
		seen := walk(t, mustFind(t, root, "incremental/"+empty))
		if got := files(seen); !slices.Equal(got, []string{"empty.parquet"}) || seen["empty.parquet"].rows != 0 {
			t.Errorf("incremental/%s: %q", empty, got)
		}
	}
}

func TestListInstants(t *testing.T) {
	f := load(t, "t9_mor_logs")
	for _, tt := range []struct{ limit, want int }{{0, 6}, {1, 1}, {4, 4}, {100, 6}} {
		root := openTree(t, storagetest.NewMem(f.files), &views.Options{ListInstants: tt.limit}).Root()
		asof, steps := names(t, mustFind(t, root, "asof")), names(t, mustFind(t, root, "incremental"))
		if len(asof) != tt.want || len(steps) != tt.want || asof[tt.want-1] != f.Timeline[5].Requested || !strings.HasSuffix(steps[tt.want-1], f.Timeline[5].Completed) {
			t.Errorf("of %d: %q, %q", tt.limit, asof, steps)
		}
		if n, err := find(t.Context(), root, "asof/"+f.Timeline[0].Requested); err != nil {
			t.Errorf("what is not listed can't be looked up: %T, %v", n, err)
		}
	}
}

func TestXattrs(t *testing.T) {
	f := load(t, "t9_mor_logs")
	root := openTree(t, storagetest.NewMem(f.files), nil).Root()
	newest := f.Timeline[len(f.Timeline)-1].Requested
	north := mustFind(t, root, "latest/north")
	merged, plain := "", ""
	for _, name := range names(t, north) {
		x, _ := mustFind(t, north, name).Xattrs(t.Context())
		if x["user.hudi.as_is"] == "true" {
			plain = name
		} else {
			merged = name
		}
	}
	for _, tt := range []struct {
		path string
		want map[string]string // "*" is any text
	}{
		{"", map[string]string{"table": "*", "version": "9", "type": "MERGE_ON_READ", "instant": newest}},
		{"latest", map[string]string{"table": "*", "query": "latest", "instant": newest}},
		{"asof/000", map[string]string{"table": "*", "query": "asof 000", "instant": f.Timeline[0].Requested}},
		{"latest/north", map[string]string{"table": "*", "partition": "north"}},
		{"latest/north/" + merged, map[string]string{"table": "*", "partition": "north", "file_group": "*", "base_file": "*", "log_files": "*", "instant": "*", "as_is": "false"}},
		{"latest/north/" + plain, map[string]string{"table": "*", "partition": "north", "file_group": "*", "base_file": plain, "log_files": "", "instant": "*", "as_is": "true"}},
		{"asof", nil},
		{"incremental", nil},
		{".hudi", nil},
		{".hudi/status", nil},
	} {
		n := views.Node(root)
		if tt.path != "" {
			n = mustFind(t, root, tt.path)
		}
		got, err := n.Xattrs(t.Context())
		if err != nil {
			t.Errorf("%s: %v", tt.path, err)
		}
		want := map[string]string{}
		for k, v := range tt.want {
			if k = "user.hudi." + k; v == "*" && got[k] != "" {
				v = got[k]
			}
			want[k] = v
		}
		if len(got) != len(want) || len(got) > 0 && !maps.Equal(got, want) {
			t.Errorf("%s: %q, want %q", tt.path, got, want)
		}
	}
}

// ioFS shows a directory as an io/fs file system, so that its tester can walk over it.
type ioFS struct{ top views.Dir }

func (f ioFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	n := views.Node(f.top)
	if name != "." {
		var err error
		if n, err = find(context.Background(), n, name); err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
	return newIOFile(path.Base(name), n)
}

type ioFile struct {
	name    string
	node    views.Node
	attr    views.Attr
	data    *strings.Reader
	entries []fs.DirEntry
}

func newIOFile(name string, n views.Node) (*ioFile, error) {
	attr, err := n.Attr(context.Background())
	f := &ioFile{name: name, node: n, attr: attr}
	if err != nil {
		return nil, err
	}
	if d, ok := n.(views.Dir); ok {
		entries, err := d.Entries(context.Background())
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			child, err := d.Lookup(context.Background(), e.Name)
			if err != nil {
				return nil, err
			}
			a, err := child.Attr(context.Background())
			if err != nil {
				return nil, err
			}
			f.entries = append(f.entries, fs.FileInfoToDirEntry(info{e.Name, a}))
		}
		return f, nil
	}
	data, err := content(context.Background(), n)
	f.data = strings.NewReader(string(data))
	return f, err
}

func (f *ioFile) Stat() (fs.FileInfo, error) { return info{f.name, f.attr}, nil }
func (f *ioFile) Close() error               { return nil }

func (f *ioFile) Read(p []byte) (int, error) {
	if f.data == nil {
		return 0, &fs.PathError{Op: "read", Path: f.name, Err: errors.New("is a directory")}
	}
	return f.data.Read(p)
}

func (f *ioFile) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(f.entries)
	} else if len(f.entries) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(f.entries))
	out := f.entries[:n:n]
	f.entries = f.entries[n:]
	return out, nil
}

type info struct {
	name string
	attr views.Attr
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.attr.Size }
func (i info) ModTime() time.Time { return i.attr.ModTime }
func (i info) IsDir() bool        { return i.attr.Dir }
func (i info) Sys() any           { return nil }
func (i info) Mode() fs.FileMode {
	if i.attr.Dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

func TestFS(t *testing.T) {
	for _, name := range []string{"t6_types", "t9_mor_pending"} {
		f := load(t, name)
		root := openTree(t, storagetest.NewMem(f.files), nil).Root()
		for _, dir := range []string{"latest", "asof", "incremental", "read_optimized"} {
			if err := fstest.TestFS(ioFS{mustFind(t, root, dir).(views.Dir)}, ""); err != nil && !strings.Contains(err.Error(), "expected but not found") {
				t.Errorf("%s/%s: %v", name, dir, err)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	f := load(t, "t9_cow_partitioned")
	for _, tt := range []struct {
		o    views.Options
		want string
	}{
		{views.Options{Partitions: "hive"}, `"hive" is none of plain, table, flat`},
		{views.Options{MergeRules: "2.x"}, `"2.x" is none of auto, 0.x, 1.x`},
		{views.Options{OnDamage: "ignore"}, `"ignore" is none of refuse, skip`},
		{views.Options{ListInstants: -1}, "negative"},
		{views.Options{PollInterval: -1}, "negative"},
		{views.Options{Memory: -1}, "negative"},
	} {
		if _, err := views.Open(t.Context(), storagetest.NewMem(f.files), &tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v", tt.o, err)
		}
	}
	for _, o := range []views.Options{{Partitions: "plain", MergeRules: "auto", OnDamage: "refuse"}, {MergeRules: "0.x"}, {MergeRules: "1.x", OnDamage: "skip"}} {
		openTree(t, storagetest.NewMem(f.files), &o)
	}
}

// The base file of a table of version 9 under other partitions: copies of one file, as far as a view is concerned.
func partitioned(t *testing.T, paths ...string) storage.Store {
	t.Helper()
	f := load(t, "t9_cow_partitioned")
	out := map[string][]byte{}
	for name, data := range f.upTo(1) {
		if isTimeline(name) {
			out[name] = data
			continue
		}
		for _, p := range paths {
			if dir, base := path.Split(name); dir == "north/" {
				out[path.Join(p, base)] = data
			}
		}
	}
	return storagetest.NewMem(out)
}

func TestLayouts(t *testing.T) {
	field := hudiField(t)
	long := strings.Repeat("v", 250)
	for _, tt := range []struct{ path, plain, table string }{
		{"north", "north", "north"},
		{field + "=north", "north", field + "=north"},
		{field + "=a=b", "a%3Db", field + "=a=b"},
		{"other=north", "other%3Dnorth", "other=north"},
		{field + "=", "%", field + "="},
		{"a b/ü", "a b/ü", "a b/ü"},
		{"2020/09/13", "2020/09/13", "2020/09/13"},
		{"x%2Fy", "x%2Fy", "x%2Fy"},
		{"__HIVE_DEFAULT_PARTITION__", "%5F_HIVE_DEFAULT_PARTITION__", "__HIVE_DEFAULT_PARTITION__"},
		{field + "=__HIVE_DEFAULT_PARTITION__", "%5F_HIVE_DEFAULT_PARTITION__", field + "=__HIVE_DEFAULT_PARTITION__"},
		{".hidden/_x", "%2Ehidden/%5Fx", ".hidden/_x"},
		{"19700102", "19700102", "19700102"},
		{"null", "null", "null"},
		{"a.b*c", "a.b%2Ac", "a.b*c"},
		{`a\b?[1-2]{x,y}`, "a%5Cb%3F%5B1-2%5D%7Bx,y%7D", `a\b?[1-2]{x,y}`},
		{"a\nb\x7f", "a%0Ab%7F", "a\nb\x7f"},
		{long + "=x", long + "%3Dx", long + "=x"},
	} {
		for layout, want := range map[string]string{"plain": tt.plain, "": tt.plain, "table": tt.table, "flat": ""} {
			root := openTree(t, partitioned(t, tt.path), &views.Options{Partitions: layout, NoMetadataTable: true}).Root()
			got := files(walk(t, mustFind(t, root, "latest")))
			if len(got) != 1 || path.Dir(got[0]) != path.Clean(want) {
				t.Errorf("%s, layout %q: %q, want one file in %q", tt.path, layout, got, want)
			}
			if x, _ := mustFind(t, root, "latest/"+got[0]).Xattrs(t.Context()); x["user.hudi.partition"] != tt.path {
				t.Errorf("%s, layout %q: partition %q", tt.path, layout, x["user.hudi.partition"])
			}
		}
	}
}

func hudiField(t *testing.T) string {
	t.Helper()
	f := load(t, "t9_cow_partitioned")
	var conf hudi.Info
	parse(t, openTree(t, storagetest.NewMem(f.files), nil).Root(), "configuration", &conf)
	if len(conf.PartitionFields) != 1 {
		t.Fatalf("partition fields %q", conf.PartitionFields)
	}
	return conf.PartitionFields[0]
}

// Values longer than a kernel takes, as an object store may have them.
func TestLongNames(t *testing.T) {
	a, b := strings.Repeat("v", 300)+"a", strings.Repeat("v", 300)+"b"
	for _, layout := range []string{"plain", "table"} {
		root := openTree(t, partitioned(t, a, b, strings.Repeat("ü", 128), strings.Repeat("=", 200)), &views.Options{Partitions: layout, NoMetadataTable: true}).Root()
		if got := files(walk(t, mustFind(t, root, "latest"))); len(got) != 4 {
			t.Errorf("layout %s: %q", layout, got)
		}
	}
}

// Partitions that one folder shows: no file hides another.
func TestPartitionsThatMeet(t *testing.T) {
	field := hudiField(t)
	for layout, n := range map[string]int{"plain": 4, "flat": 4, "table": 4} {
		root := openTree(t, partitioned(t, "a", field+"=a", "b", "b/c"), &views.Options{Partitions: layout, NoMetadataTable: true}).Root()
		seen := walk(t, mustFind(t, root, "latest"))
		if got := files(seen); len(got) != n-1 { // what lies below a partition is none
			t.Errorf("layout %s: %q", layout, got)
		}
	}
}

// Without folders a file has the same name whatever other partitions there are, in whatever order they are listed: two partitions may have
// files of one name, as the buckets of an index have.
func TestFlatNames(t *testing.T) {
	byInode := func(parts ...string) map[uint64]string {
		root := openTree(t, partitioned(t, parts...), &views.Options{Partitions: "flat", NoMetadataTable: true}).Root()
		out := map[uint64]string{}
		for p, s := range walk(t, mustFind(t, root, "latest")) {
			if !s.attr.Dir {
				out[s.attr.Inode] = p
			}
		}
		if len(out) != len(parts) {
			t.Errorf("%q: %d files", parts, len(out))
		}
		return out
	}
	all := byInode("a", "b", "c")
	for _, parts := range [][]string{{"a"}, {"b"}, {"c"}, {"c", "a"}, {"b", "c"}} {
		for inode, name := range byInode(parts...) {
			if all[inode] != name {
				t.Errorf("beside %q a file is called %s, and %s beside all", parts, name, all[inode])
			}
		}
	}
}

func TestHandles(t *testing.T) {
	f := load(t, "t9_mor_logs")
	root := openTree(t, fileStore(t, f.dir(t)), nil).Root()
	mem := openTree(t, storagetest.NewMem(f.files), nil).Root()
	latest := walk(t, mustFind(t, root, "latest"))
	for _, p := range append(files(latest), "") {
		for i, n := range []views.Node{root, mem} {
			at := ".hudi/timeline"
			if p != "" {
				at = "latest/" + p
			}
			n := mustFind(t, n, at)
			h, err := n.(views.File).Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			a, _ := n.Attr(t.Context())
			x, _ := n.Xattrs(t.Context())
			local, isLocal := h.(views.OSFile)
			if wantLocal := p != "" && (i == 0 || x["user.hudi.as_is"] == "false"); isLocal != wantLocal {
				t.Errorf("%s of tree %d: a local file: %v", at, i, isLocal)
			} else if isLocal {
				if st, err := local.OSFile().Stat(); err != nil || st.Size() != a.Size {
					t.Errorf("%s: local file %v, %v", at, st, err)
				}
			}
			for _, tt := range []struct {
				off  int64
				n, w int
			}{{0, 4, 4}, {a.Size - 4, 4, 4}, {a.Size - 4, 10, 4}, {a.Size, 4, 0}, {a.Size + 100, 4, 0}, {0, 0, 0}} {
				if n, err := h.ReadAt(t.Context(), make([]byte, tt.n), tt.off); n != tt.w || err != nil {
					t.Errorf("%s: read of %d at %d of %d: %d, %v", at, tt.n, tt.off, a.Size, n, err)
				}
			}
			if _, err := h.ReadAt(t.Context(), make([]byte, 4), -1); err == nil {
				t.Errorf("%s: read before the beginning", at)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := h.ReadAt(ctx, make([]byte, 4), 0); p != "" && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: read of one who gave up: %v", at, err)
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// The corpus has tables whose cleaner has run; what it removed must not look like an answer.
func TestCleaned(t *testing.T) {
	dirs, _ := filepath.Glob(filepath.Join("..", "..", "shared", "corpus", "v*_clean"))
	if len(dirs) == 0 {
		t.Skip("SKIPPED: there is no corpus of real tables")
	}
	for _, dir := range dirs {
		f := read(t, dir)
		root := openTree(t, storagetest.NewMem(f.files), nil).Root()
		refusals := 0
		for i, v := range f.Views {
			if v.Kind != "asof" || !strings.Contains(v.Error, "Cleaner") {
				continue
			}
			refusals++
			at := f.viewName(i)
			n, err := find(t.Context(), root, at)
			if !refused(t, n, err) {
				t.Errorf("%s: %s: %v", f.name, at, err)
			} else if _, err := n.(views.Dir).Entries(t.Context()); !errors.Is(err, views.ErrStale) {
				t.Errorf("%s: %s: %v", f.name, at, err)
			}
		}
		t.Log(f.name, fmt.Sprint(refusals, " refusals"))
	}
}
