package hudi_test

import (
	"bytes"
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/storage"
)

// property changes a line of the table's properties, and takes the checksum away.
func (r *realTable) property(key, value string) {
	const file = ".hoodie/hoodie.properties"
	var lines []string
	for l := range strings.SplitSeq(string(r.files[file]), "\n") {
		if !strings.HasPrefix(l, key+"=") && !strings.HasPrefix(l, "hoodie.table.checksum=") {
			lines = append(lines, l)
		}
	}
	r.files[file] = []byte(strings.Join(append(lines, key+"="+value, ""), "\n"))
}

// named finds the files of a table whose name holds a text, sorted.
func (r *realTable) named(text string) []string {
	var out []string
	for p := range r.files {
		if !strings.HasPrefix(p, ".hoodie/") && strings.Contains(path.Base(p), text) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// instants are the completed writes of a table.
func (r *realTable) instants(t *testing.T) []hudi.Instant {
	t.Helper()
	table, err := hudi.Open(t.Context(), r.store(), nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := table.Timeline(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(i hudi.Instant) bool { return !write(i) || i.State != "completed" })
}

func TestRefusedQueries(t *testing.T) {
	pending := func(action string) func(*testing.T, *realTable, []hudi.Instant) {
		return func(_ *testing.T, r *realTable, in []hudi.Instant) {
			between := in[2].Time[:len(in[2].Time)-1] + "0"
			r.files[".hoodie/timeline/"+between+"."+action+".requested"] = []byte{}
		}
	}
	for _, c := range []struct {
		name, table string
		change      func(*testing.T, *realTable, []hudi.Instant)
		query       func([]hudi.Instant) hudi.Query
		want        error // nil: it is answered
		says        string
	}{
		{"as of behind a pending write", "t9_mor_logs", pending("deltacommit"), func(in []hudi.Instant) hudi.Query { return hudi.AsOf(in[3].Time) }, hudi.ErrRefused, "not complete"},
		{"as of before a pending write", "t9_mor_logs", pending("deltacommit"), func(in []hudi.Instant) hudi.Query { return hudi.AsOf(in[1].Time) }, nil, ""},
		{"latest behind a pending write", "t9_mor_logs", pending("deltacommit"), func([]hudi.Instant) hudi.Query { return hudi.Latest() }, nil, ""},
		{"as of the word latest behind a pending write", "t9_mor_logs", pending("deltacommit"), func([]hudi.Instant) hudi.Query { return hudi.AsOf("latest") }, nil, ""},
		{"as of behind a pending compaction", "t9_mor_pending", nil, func(in []hudi.Instant) hudi.Query { return hudi.AsOf(in[len(in)-1].Time) }, nil, ""},
		{"as of a text", "t9_mor_logs", nil, func([]hudi.Instant) hudi.Query { return hudi.AsOf("yesterday") }, hudi.ErrBadName, "yesterday"},
		{"as of too many digits", "t9_mor_logs", nil, func([]hudi.Instant) hudi.Query { return hudi.AsOf("202611300332341001") }, hudi.ErrBadName, ""},
		{"a range to nowhere", "t9_mor_logs", nil, func([]hudi.Instant) hudi.Query { return hudi.Incremental("000", "..") }, hudi.ErrBadName, ""},
		{"a range without meta fields", "t9_mor_logs", func(_ *testing.T, r *realTable, _ []hudi.Instant) {
			r.property("hoodie.populate.meta.fields", "false")
		}, func([]hudi.Instant) hudi.Query { return hudi.Incremental("000", "latest") }, hudi.ErrRefused, "meta fields"},
		{"a range whose files are gone and whose rows were overwritten", "t9_cow_partitioned", func(_ *testing.T, r *realTable, in []hudi.Instant) {
			for _, p := range r.named(in[0].Time + ".parquet") {
				delete(r.files, p)
			}
		}, func(in []hudi.Instant) hudi.Query {
			return hudi.Incremental("000", in[0].CompletionTime)
		}, hudi.ErrCleaned, "is gone"},
		{"a range whose commit says nothing", "t9_cow_partitioned", func(_ *testing.T, r *realTable, in []hudi.Instant) {
			r.files[".hoodie/timeline/"+in[1].Time+"_"+in[1].CompletionTime+".commit"] = []byte{}
		}, func(in []hudi.Instant) hudi.Query {
			return hudi.Incremental(in[0].CompletionTime, in[1].CompletionTime)
		}, hudi.ErrRefused, "empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := testTable(t, c.table)
			in := r.instants(t)
			if c.change != nil {
				c.change(t, r, in)
			}
			a, err := ask(t.Context(), r.store(), &hudi.Options{NoMetadataTable: true}, c.query(in))
			if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %v: %s", err, c.want, c.says)
			}
			if err == nil && a.count() == 0 {
				t.Error("no rows")
			}
		})
	}
}

// What can't be merged is refused file by file: base files without logs are still served.
func TestUnknownMerging(t *testing.T) {
	custom := func(r *realTable) {
		r.property("hoodie.record.merge.mode", "CUSTOM")
		r.property("hoodie.compaction.payload.class", "org.example.Payload")
	}
	for _, c := range []struct {
		name, table, says string
		change            func(*realTable)
	}{
		{"a payload class of the table's own", "t9_mor_logs", "org.example.Payload", custom},
		{"the same, of 1.0", "t8_mor_logs", "org.example.Payload", custom},
		{"the same, of 0.x", "t6_mor_logs", "org.example.Payload", func(r *realTable) {
			r.property("hoodie.compaction.payload.class", "org.example.Payload")
		}},
		{"a partial update mode of the future", "t9_mor_logs", "KEEP_SOME", func(r *realTable) {
			r.property("hoodie.table.partial.update.mode", "KEEP_SOME")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := testTable(t, c.table)
			c.change(r)
			refused, served := 0, 0
			for _, f := range r.latest(t, nil) {
				_, err := bytesOf(t.Context(), r.store(), f)
				switch logs := len(f.Details().Logs) > 0; {
				case logs && errors.Is(err, hudi.ErrUnsupported) && strings.Contains(err.Error(), c.says):
					refused++
				case !logs && err == nil:
					served++
				default:
					t.Errorf("%s, log files %v: %v", f.Name(), logs, err)
				}
			}
			if refused == 0 {
				t.Error("nothing had to be merged")
			}
			if _, err := ask(t.Context(), r.store(), nil, hudi.ReadOptimized()); err != nil {
				t.Errorf("base files: %v", err)
			}
		})
	}
}

func TestRefusedTables(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*realTable)
		want   error
	}{
		{"no properties", func(r *realTable) { delete(r.files, ".hoodie/hoodie.properties") }, hudi.ErrNotTable},
		{"a version of the future", func(r *realTable) { r.property("hoodie.table.version", "10") }, hudi.ErrUnsupported},
		{"another base file format", func(r *realTable) { r.property("hoodie.table.base.file.format", "ORC") }, hudi.ErrUnsupported},
		{"a wrong checksum", func(r *realTable) {
			r.files[".hoodie/hoodie.properties"] = bytes.Replace(r.files[".hoodie/hoodie.properties"], []byte("checksum=3"), []byte("checksum=4"), 1)
		}, hudi.ErrCorrupt},
		{"no such type", func(r *realTable) { r.property("hoodie.table.type", "READ_ON_WEDNESDAY") }, hudi.ErrUnsupported},
	} {
		r := testTable(t, "t9_mor_logs")
		c.change(r)
		if _, err := hudi.Open(t.Context(), r.store(), nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A partition path that does not divide into the columns that the files lack can't give them back.
func TestDroppedPartitionColumns(t *testing.T) {
	r := testTable(t, "t9_cow_partitioned")
	r.property("hoodie.datasource.write.drop.partition.columns", "true")
	if a, err := ask(t.Context(), r.store(), nil, hudi.Latest()); err != nil || a.count() == 0 {
		t.Errorf("one column: %v", err)
	}
	r.property("hoodie.table.partition.fields", "region,city")
	if _, err := ask(t.Context(), r.store(), nil, hudi.Latest()); !errors.Is(err, hudi.ErrUnsupported) || !strings.Contains(err.Error(), "does not divide") {
		t.Errorf("two columns: %v", err)
	}
}

// Damage that a completed write misses is refused, or skipped on demand; damage that nobody misses is skipped always.
func TestDamagedFiles(t *testing.T) {
	for _, name := range []string{"t6_mor_logs", "t9_mor_logs"} {
		good := testTable(t, name)
		want, err := ask(t.Context(), good.store(), nil, hudi.Latest())
		if err != nil {
			t.Fatal(err)
		}
		logs := good.named(".log.")
		log := logs[len(logs)-1]
		whole := good.files[log]
		scanned, err := logfile.Scan(bytes.NewReader(whole), int64(len(whole)))
		if err != nil {
			t.Fatal(err)
		}
		first := scanned.Blocks[0]
		block := whole[first.Offset:first.End]
		// The same block of a write that never completed: an instant of the same length that is on no timeline.
		dead := bytes.ReplaceAll(block, []byte(first.Instant()), []byte(first.Instant()[:len(first.Instant())-3]+"999"))
		for _, c := range []struct {
			name     string
			data     []byte
			harmless bool
		}{
			{"last byte gone", whole[:len(whole)-1], false},
			{"trailer gone", whole[:len(whole)-8], false},
			{"thirty bytes gone", whole[:len(whole)-30], false},
			{"ten bytes left", whole[:10], false},
			{"nothing left", nil, false},
			{"garbage behind", append(bytes.Clone(whole), bytes.Repeat([]byte{0xAA}, 100)...), false},
			{"a torn block of a dead write behind", append(bytes.Clone(whole), dead[:len(dead)-20]...), true},
			{"a torn block of a dead write in front", append(bytes.Clone(dead[:len(dead)-20]), whole...), true},
		} {
			t.Run(name+" "+c.name, func(t *testing.T) {
				r := testTable(t, name)
				r.files[log] = c.data
				got, err := ask(t.Context(), r.store(), &hudi.Options{NoMetadataTable: true}, hudi.Latest())
				switch {
				case c.harmless && err != nil:
					t.Errorf("refused: %v", err)
				case c.harmless && got.text() != want.text():
					t.Errorf("other rows:\n%s", unshared(got.text(), want.text()))
				case !c.harmless && (!errors.Is(err, hudi.ErrCorrupt) || !strings.Contains(err.Error(), log)):
					t.Errorf("got %v", err)
				}
				skipped, err := ask(t.Context(), r.store(), &hudi.Options{NoMetadataTable: true, SkipDamage: true}, hudi.Latest())
				if err != nil {
					t.Errorf("skipping: %v", err)
				} else if skipped.count() == 0 || !c.harmless && skipped.text() == want.text() {
					t.Errorf("skipping: %d rows, as if nothing was damaged", skipped.count())
				}
				others(t, r, log)
			})
		}
		t.Run(name+" base file", func(t *testing.T) {
			r := testTable(t, name)
			base := r.named(".parquet")[0]
			for _, data := range [][]byte{nil, r.files[base][:100], bytes.Repeat([]byte("x"), len(r.files[base]))} {
				r.files[base] = data
				if _, err := ask(t.Context(), r.store(), &hudi.Options{NoMetadataTable: true}, hudi.AsOf(r.instants(t)[0].Time)); !errors.Is(err, hudi.ErrCorrupt) || !strings.Contains(err.Error(), base) {
					t.Errorf("base file of %d bytes: %v", len(data), err)
				}
				others(t, r, base)
			}
		})
	}
}

// others checks that all files but that of the group with a damaged one can be read.
func others(t *testing.T, r *realTable, damaged string) {
	t.Helper()
	read := 0
	for _, f := range r.latest(t, &hudi.Options{NoMetadataTable: true}) {
		if strings.Contains(path.Base(damaged), f.Details().FileGroup) {
			continue
		}
		if _, err := bytesOf(t.Context(), r.store(), f); err != nil {
			t.Errorf("%s, which does not need what is damaged: %v", f.Name(), err)
		}
		read++
	}
	if read == 0 {
		t.Error("there is no other file")
	}
}

// A file that the cleaner takes while a view is open is gone for a reason.
func TestCleanedUnderAView(t *testing.T) {
	r := testTable(t, "t9_mor_logs")
	s := r.store()
	for _, f := range latestOf(t, s, &hudi.Options{NoMetadataTable: true}) {
		if d := f.Details(); len(d.Logs) > 0 && d.Base != "" {
			s.Remove(path.Join(f.Partition(), d.Base))
			if _, _, err := f.Size(t.Context()); !errors.Is(err, hudi.ErrCleaned) || !errors.Is(err, storage.ErrNotExist) {
				t.Errorf("%s: %v", f.Name(), err)
			}
			return
		}
	}
	t.Fatal("no file with logs")
}
