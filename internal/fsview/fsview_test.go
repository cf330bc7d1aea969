package fsview_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hudifs/hudifs/internal/fsview"
	"github.com/hudifs/hudifs/storage"
)

func TestParseBase(t *testing.T) {
	const uuid = "12ab34cd-0000-4a5b-8c7d-112233445566-0"
	for _, tt := range []struct{ name, fileID, instant string }{
		{uuid + "_0-12-3_20261130002208095.parquet", uuid, "20261130002208095"},
		{uuid + "_0-12-3_20261130002208.parquet", uuid, "20261130002208"},
		{"12ab34cd-0000-4a5b-8c7d-112233445566_1_20170101010101.parquet", "12ab34cd-0000-4a5b-8c7d-112233445566", "20170101010101"},
		{"00000003-0000-0000-0000-000000000000_0-1-0_20261130002208095.parquet", "00000003-0000-0000-0000-000000000000", "20261130002208095"},
		{uuid + "_0-12-3_extra_20261130002208095.parquet", uuid, "20261130002208095"},
		{"f_1-0-1_00000000000001.parquet", "f", "00000000000001"},
		{"files-0000-0_0-1-0_20261130002208095001.parquet", "files-0000-0", "20261130002208095001"},
	} {
		f, ok := fsview.ParseBase(tt.name, fsview.Parquet)
		if want := (fsview.BaseFile{Name: tt.name, FileID: tt.fileID, Instant: tt.instant}); !ok || f != want {
			t.Errorf("%s: %+v, %v", tt.name, f, ok)
		}
		if _, ok := fsview.ParseBase(tt.name, fsview.HFile); ok {
			t.Errorf("%s is a base file of another extension", tt.name)
		}
	}
	if f, ok := fsview.ParseBase("files-0000-0_0-1-0_00000000000000010.hfile", fsview.HFile); !ok || f.FileID != "files-0000-0" || f.Instant != "00000000000000010" {
		t.Errorf("a metadata table's file: %+v, %v", f, ok)
	}
	for _, name := range foreign {
		if f, ok := fsview.ParseBase(name, fsview.Parquet); ok {
			t.Errorf("%s is a base file: %+v", name, f)
		}
	}
}

// foreign are names of files that may lie in a partition and are none of its table's. Each would sort before every instant, or behind.
var foreign = []string{
	"", ".", "_", "__", "._.parquet", "data.parquet", "a_b_c.parquet", "_b_20261130002208095.parquet", "a_20261130002208095.parquet",
	"part_0_1.parquet", "sales_eu_2023.parquet", "sales_eu_20230101.parquet", "a_b_.parquet", "a_b_20261130002208o95.parquet",
	"a_1-0-1_20261130002208095.orc", "a_1-0-1_20261130002208095.parquet.crc", "a_1-0-1_20261130002208095.parquet.tmp",
	"a_1-0-1_20261130002208095", "a_1-0-1_20261130002208095.PARQUET", ".a_1-0-1_20261130002208095.parquet",
	".a_1-0-1_20261130002208095.parquet.crc", ".hoodie_partition_metadata", ".hoodie_partition_metadata.parquet",
	"a_1-0-1_20261130002208095_1.log.parquet", "a_1-0-1_20261130002208095.deletes.parquet", "data.parquet_20261130002208095_hudiext",
	".foo.log.1", "server.log", ".server_access.log.1", ".a_2023.log.1", ".a_20261130002208095.log", ".a_20261130002208095.log.x",
	".a_20261130002208095.archive.1", ".a_20261130002208095.log.1_1-0-1.cdc", "a_20261130002208095.log.1", "_SUCCESS",
	".a_1_20261130002208095.log.1", "a.parquet.marker.CREATE",
}

// history is a timeline by hand: the completion time of each instant, "" while it is pending. Instants before boundary are archived.
type history struct {
	done     map[string]string
	boundary string
	bases    map[string]string // instant -> name
	err      error
}

func (h history) IsCommitted(i string) bool { return h.done[i] != "" || i < h.boundary }

func (h history) CompletionTime(_ context.Context, i string) (string, bool, error) {
	if h.err != nil {
		return "", false, h.err
	}
	if i < h.boundary && h.done[i] == "" {
		return i, true, nil
	}
	return h.done[i], h.done[i] != "", nil
}

func (h history) BaseFile(_ context.Context, instant, partition, fileID string) (string, error) {
	if partition != "p" || fileID != "f" {
		return "", fmt.Errorf("asked about %s in %q", fileID, partition)
	}
	return h.bases[instant], h.err
}

// at makes an instant of 17 digits out of a small number, so that tables of tests can be read.
func at(n string) string { return "20261130000000" + fmt.Sprintf("%03s", n) }

// names makes file names of a short form:
//
//	B5        base file of instant 5; B5b by another attempt of its task
//	L5.2      log file of version 2; instant 5 in its name; L5.2b with another write token
//	C5.1      the same for change data
func names(text string) []storage.Entry {
	var out []storage.Entry
	for i, w := range strings.Fields(text) {
		w, again := strings.CutSuffix(w, "b")
		token := "0-10-1"
		if again {
			token = "0-9-1"
		}
		instant, version, _ := strings.Cut(w[1:], ".")
		name := "f_" + token + "_" + at(instant) + ".parquet"
		switch w[0] {
		case 'L':
			name = ".f_" + at(instant) + ".log." + version + "_" + token
		case 'C':
			name = ".f_" + at(instant) + ".log." + version + "_" + token + ".cdc"
		}
		out = append(out, storage.Entry{Name: name, Size: int64(100 + i)})
	}
	return out
}

// short is the reverse of names for a slice.
func short(s fsview.Slice) string {
	trim := func(instant string) string {
		return strings.TrimLeft(strings.TrimPrefix(instant, "20261130000000"), "0")
	}
	again := func(name string) string {
		if strings.Contains(name, "0-9-1") {
			return "b"
		}
		return ""
	}
	out := []string{trim(s.Instant) + ":"}
	if s.Base != nil {
		out = append(out, "B"+trim(s.Base.Instant)+again(s.Base.Name))
	}
	for _, l := range s.Logs {
		out = append(out, fmt.Sprintf("L%s.%d%s", trim(l.Instant), l.Version, again(l.File)))
	}
	return strings.Join(out, " ")
}

func timelineOf(text string) history {
	h := history{done: map[string]string{}}
	for w := range strings.FieldsSeq(text) {
		instant, done, completed := strings.Cut(w, "-")
		switch {
		case !completed: // up to version 7, where the requested time is all there is
			h.done[at(instant)] = at(instant)
		case done == "":
			h.done[at(instant)] = ""
		default:
			h.done[at(instant)] = at(done)
		}
	}
	return h
}

// sliceCases are the cases of the two ways of slicing: the timeline as instants (up to version 7), with completion times (from 8 on, as
// 1-3), or pending (1-); the files of one group; its slices, oldest first; and which slice it has at instants.
var sliceCases = []struct {
	name     string
	version  int
	timeline string
	files    string
	slices   []string
	at       map[string]string // "" is the end of time
}{
	{
		"base files", 6, "1 2 3", "B1 B2 B3",
		[]string{"1: B1", "2: B2", "3: B3"},
		map[string]string{"": "3: B3", "3": "3: B3", "2": "2: B2", "0": "none"},
	},
	{"the newest is not committed", 6, "1 2-", "B1 B2", []string{"1: B1"}, map[string]string{"": "1: B1"}},
	{"nothing is committed", 6, "1-", "B1", nil, nil},
	{"logs on a base", 6, "1 2 3", "B1 L1.1 L1.2", []string{"1: B1 L1.1 L1.2"}, map[string]string{"": "1: B1 L1.1 L1.2", "1": "1: B1 L1.1 L1.2"}},
	{"ten comes after nine", 6, "1", "B1 L1.10 L1.2 L1.9", []string{"1: B1 L1.2 L1.9 L1.10"}, nil},
	{"write tokens are text", 6, "1", "B1 L1.1b L1.1", []string{"1: B1 L1.1 L1.1b"}, nil},
	{"a compaction", 6, "1 2 3 4", "B1 L1.1 B3 L3.1", []string{"1: B1 L1.1", "3: B3 L3.1"}, map[string]string{"": "3: B3 L3.1", "2": "1: B1 L1.1"}},
	{
		"a compaction is pending: new logs lie under its instant", 6, "1 2 3- 4", "B1 L1.1 L3.1",
		[]string{"1: B1 L1.1", "3: L3.1"},
		map[string]string{"": "1: B1 L1.1 L3.1", "4": "1: B1 L1.1 L3.1", "2": "1: B1 L1.1"},
	},
	{
		"a compaction has written its file and is pending", 6, "1 2 3- 4", "B1 L1.1 B3 L3.1",
		[]string{"1: B1 L1.1", "3: L3.1"},
		map[string]string{"": "1: B1 L1.1 L3.1"},
	},
	{
		"a second compaction is pending", 6, "1 2 3 4 5- 6", "B1 L1.1 B3 L3.1 L5.1",
		[]string{"1: B1 L1.1", "3: B3 L3.1", "5: L5.1"},
		map[string]string{"": "3: B3 L3.1 L5.1", "4": "3: B3 L3.1", "2": "1: B1 L1.1"},
	},
	{"log files alone", 6, "1 2", "L1.1 L1.2", []string{"1: L1.1 L1.2"}, map[string]string{"": "1: L1.1 L1.2", "0": "none"}},
	{
		"log files alone, a compaction is pending", 6, "1 2 3- 4", "L1.1 L3.1",
		[]string{"1: L1.1", "3: L3.1"},
		map[string]string{"": "1: L1.1 L3.1"},
	},
	{"log files alone, then a base file", 6, "1 2 3", "L1.1 B3", []string{"1: L1.1", "3: B3"}, map[string]string{"": "3: B3", "2": "1: L1.1"}},
	{"change data is never merged", 6, "1", "B1 C1.1 L1.1", []string{"1: B1 L1.1"}, nil},

	{
		"base files", 8, "1-2 3-4", "B1 B3",
		[]string{"1: B1", "3: B3"},
		map[string]string{"": "3: B3", "3": "3: B3", "2": "1: B1"},
	},
	{"logs by completion", 8, "1-2 3-4 5-6", "B1 L3.1 L5.1", []string{"1: B1 L3.1 L5.1"}, map[string]string{"": "1: B1 L3.1 L5.1", "2": "1: B1 L3.1 L5.1"}},
	{"uncommitted logs", 8, "1-2 3- 5-6", "B1 L3.1 L5.1", []string{"1: B1 L5.1"}, nil},
	{"uncommitted logs alone", 8, "3-", "L3.1", nil, nil},
	{"an uncommitted log begins a group", 8, "1- 3-4", "L1.1 L3.1", []string{"3: L3.1"}, map[string]string{"": "3: L3.1"}},
	{
		"a compaction", 8, "1-2 3-4 5-6 7-8", "B1 L3.1 B5 L7.1",
		[]string{"1: B1 L3.1", "5: B5 L7.1"},
		map[string]string{"": "5: B5 L7.1", "4": "1: B1 L3.1"},
	},
	{
		"a log that completes after a compaction was requested was not part of its plan", 8, "1-2 3-6 5-8", "B1 L3.1 B5",
		[]string{"1: B1", "5: B5 L3.1"},
		map[string]string{"": "5: B5 L3.1", "3": "1: B1"},
	},
	{"a log that completes as a compaction is requested", 8, "1-2 3-5 5-8", "B1 L3.1 B5", []string{"1: B1", "5: B5 L3.1"}, nil},
	{
		"a pending compaction: later logs stay where they are", 8, "1-2 3-4 5- 7-8", "B1 L3.1 B5 L7.1",
		[]string{"1: B1 L3.1 L7.1"},
		map[string]string{"": "1: B1 L3.1 L7.1"},
	},
	{
		"log files alone, then a base file", 8, "1-2 3-4 5-6", "L1.1 B3 L5.1",
		[]string{"1: L1.1", "3: B3 L5.1"},
		map[string]string{"": "3: B3 L5.1", "2": "1: L1.1"},
	},
	{"log files alone, out of order", 8, "1-9 3-4", "L3.1 L1.1", []string{"1: L1.1 L3.1"}, map[string]string{"": "1: L1.1 L3.1", "0": "none"}},
	{"a later writer completes first", 8, "1-2 3-9 4-5 6-7", "B1 L3.1 L4.1 B6", []string{"1: B1 L4.1", "6: B6 L3.1"}, nil},
	{"a clock that went backwards", 8, "1-2 5-3", "B1 L5.1", []string{"1: B1 L5.1"}, nil},
	{"change data is never merged", 8, "1-2 3-4", "B1 C3.1 L3.1", []string{"1: B1 L3.1"}, nil},
	{"of a table that was upgraded: logs carry their base's instant", 8, "1-1 3-3", "B1 L1.1 B3 L3.1 L3.2", []string{"1: B1 L1.1", "3: B3 L3.1 L3.2"}, nil},
}

func TestSlices(t *testing.T) {
	for _, tt := range sliceCases {
		t.Run(fmt.Sprintf("%d/%s", tt.version, tt.name), func(t *testing.T) {
			files := names(tt.files)
			for range 3 { // whatever order they are listed in
				groups, err := fsview.Groups(t.Context(), timelineOf(tt.timeline), fsview.Format{Version: tt.version, Base: fsview.Parquet}, "p", files)
				if err != nil {
					t.Fatal(err)
				}
				if tt.slices == nil {
					if len(groups) > 0 {
						t.Errorf("a group of %d slices, want none", len(groups[0].Slices))
					}
					return
				}
				if len(groups) != 1 || groups[0].FileID != "f" || groups[0].Partition != "p" {
					t.Fatalf("groups %+v", groups)
				}
				var got []string
				for _, s := range groups[0].Slices {
					got = append(got, short(s))
				}
				if diff := cmp.Diff(tt.slices, got); diff != "" {
					t.Errorf("slices (-want +got):\n%s", diff)
				}
				for instant, want := range tt.at {
					if instant != "" {
						instant = at(instant)
					}
					got := "none"
					if s, ok := groups[0].At(instant); ok {
						got = short(s)
					}
					if got != want {
						t.Errorf("at %q: %s, want %s", instant, got, want)
					}
				}
				rand.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
			}
		})
	}
}

func TestSizes(t *testing.T) {
	groups, err := fsview.Groups(t.Context(), timelineOf("1"), fsview.Format{Version: 6, Base: fsview.Parquet}, "p", names("B1 L1.1"))
	if err != nil || groups[0].Slices[0].Base.Size != 100 || groups[0].Slices[0].Logs[0].Size != 101 {
		t.Errorf("%+v, %v", groups, err)
	}
}

// Of two files that attempts of one task have left the commit names the right one.
func TestTwoBaseFilesOfOneInstant(t *testing.T) {
	name := map[string]string{"": "", "a": names("B1")[0].Name, "b": names("B1b")[0].Name, "neither": "gone.parquet"}
	for _, tt := range []struct{ named, files, want string }{
		{"a", "B1 B1b", "1: B1"},
		{"a", "B1b B1", "1: B1"},
		{"b", "B1 B1b", "1: B1b"},
		{"b", "B1b B1", "1: B1b"},
		{"", "B1 B1b", "1: B1b"}, // nobody knows; the last one, as Hudi has it
		{"neither", "B1", "1: B1"},
	} {
		h := timelineOf("1")
		h.bases = map[string]string{at("1"): name[tt.named]}
		groups, err := fsview.Groups(t.Context(), h, fsview.Format{Version: 6, Base: fsview.Parquet}, "p", names(tt.files))
		if err != nil || len(groups) != 1 || len(groups[0].Slices) != 1 || short(groups[0].Slices[0]) != tt.want {
			t.Errorf("commit names %q of %s: %+v, %v, want %s", tt.named, tt.files, groups, err, tt.want)
		}
	}
}

func TestArchivedInstants(t *testing.T) {
	for _, version := range []int{6, 8, 9} {
		h := timelineOf("5-6")
		h.boundary = at("5")
		groups, err := fsview.Groups(t.Context(), h, fsview.Format{Version: version, Base: fsview.Parquet}, "p", names("B1 B5"))
		if err != nil || len(groups) != 1 || len(groups[0].Slices) != 2 {
			t.Errorf("version %d: %+v, %v", version, groups, err)
		}
	}
}

func TestForeignFiles(t *testing.T) {
	var files []storage.Entry
	for _, name := range foreign {
		files = append(files, storage.Entry{Name: name, Size: 1})
	}
	// Folders count for nothing, whatever their names.
	files = append(files, storage.Entry{Name: "g_0-10-1_" + at("1") + ".parquet", Dir: true}, storage.Entry{Name: ".g_" + at("1") + ".log.1", Dir: true})
	h := timelineOf("1")
	h.boundary = "zzz"
	for _, version := range []int{6, 8} {
		groups, err := fsview.Groups(t.Context(), h, fsview.Format{Version: version, Base: fsview.Parquet}, "p", append(files, names("B1")...))
		if err != nil || len(groups) != 1 || groups[0].FileID != "f" || len(groups[0].Slices) != 1 {
			t.Errorf("version %d: %+v, %v", version, groups, err)
		}
	}
}

func TestGroupsAreOrdered(t *testing.T) {
	var files []storage.Entry
	for _, id := range []string{"c", "a", "b-1", "b"} {
		files = append(files, storage.Entry{Name: id + "_1-0-1_" + at("1") + ".parquet"}, storage.Entry{Name: "." + id + "_" + at("1") + ".log.1_1-0-1"})
	}
	groups, err := fsview.Groups(t.Context(), timelineOf("1"), fsview.Format{Version: 6, Base: fsview.Parquet}, "p", files)
	var ids []string
	for _, g := range groups {
		ids = append(ids, g.FileID)
		if len(g.Slices) != 1 || len(g.Slices[0].Logs) != 1 {
			t.Errorf("%+v", g)
		}
	}
	if err != nil || !slices.Equal(ids, []string{"a", "b", "b-1", "c"}) {
		t.Errorf("%v, %v", ids, err)
	}
}

func TestTimelineThatFails(t *testing.T) {
	broken := errors.New("broken")
	h := timelineOf("1-2 3-4")
	h.err = broken
	for _, tt := range []struct {
		version int
		files   string
	}{{8, "L3.1"}, {8, "B1 B1b"}, {6, "B1 B1b"}} {
		if _, err := fsview.Groups(t.Context(), h, fsview.Format{Version: tt.version, Base: fsview.Parquet}, "p", names(tt.files)); !errors.Is(err, broken) {
			t.Errorf("version %d, %s: %v", tt.version, tt.files, err)
		}
	}
}

func FuzzParseBase(f *testing.F) {
	for _, name := range foreign {
		f.Add(name)
	}
	for _, e := range names("B1 B1b L1.1 C1.1") {
		f.Add(e.Name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		b, ok := fsview.ParseBase(name, fsview.Parquet)
		if !ok {
			if b != (fsview.BaseFile{}) {
				t.Errorf("%q: %+v, and not ok", name, b)
			}
			return
		}
		middle, has := strings.CutPrefix(name, b.FileID+"_")
		middle, ends := strings.CutSuffix(middle, "_"+b.Instant+".parquet")
		if !has || !ends || b.FileID == "" || len(b.Instant) < 14 || b.Name != name || strings.Contains(b.FileID, "_") || strings.Contains(middle, ".") && !strings.Contains(strings.SplitN(middle, "_", 2)[0], ".") {
			t.Errorf("%q: %+v, with %q in the middle", name, b, middle)
		}
		// What is a base file is never a log file too.
		groups, err := fsview.Groups(t.Context(), history{boundary: "z"}, fsview.Format{Version: 6, Base: fsview.Parquet}, "p", []storage.Entry{{Name: name}})
		if err != nil || len(groups) != 1 || groups[0].Slices[0].Base == nil || len(groups[0].Slices[0].Logs) > 0 {
			t.Errorf("%q: %+v, %v", name, groups, err)
		}
	})
}
