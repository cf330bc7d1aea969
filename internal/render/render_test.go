package render_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/render"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/merge"
)

// narrow is the schema of most tables below.
var narrow = avroOf(append(slices.Clip(metaFields), field("ts", `"long"`), field("s", `"string"`), field("n", `"int"`))...)

func rowAt(key, instant string, ts int64, s any, n any) row {
	return row{
		schema.CommitTime: instant, schema.CommitSeqno: nil, schema.RecordKey: key, schema.PartitionPath: "p", schema.FileName: "f",
		"ts": ts, "s": s, "n": n,
	}
}

func narrowRows(n int, instant string) []row {
	var out []row
	for i := range n {
		out = append(out, rowAt(fmt.Sprintf("k%d", i), instant, 10, fmt.Sprint("s", i%3), int64(i)))
	}
	return out
}

// fixed is a layout of one group.
func fixed(rows, page int, mode pageMode) layout {
	return layout{groups: []int{rows}, page: page, mode: func(int, int) pageMode { return mode }}
}

// narrowSlice is a slice of rows of narrow in one base file, nil for none, and log files.
func narrowSlice(t testing.TB, base []row, l layout, logs ...[]byte) *slice {
	t.Helper()
	target := targetOf(t, narrow)
	s := &slice{logs: logs, input: render.Input{Target: target, Ordering: []string{"ts"}, BaseInstant: "001"}}
	if base != nil {
		s.base = baseFile(t, target, vectors(t, narrow, target, base), l)
	}
	return s
}

func (s *slice) check(t *testing.T, want []row) {
	t.Helper()
	file, err := s.bytes(t)
	if err != nil {
		t.Fatal(err)
	}
	if err := same(file, linesOf(t, narrow, s.input.Target, want)); err != nil {
		t.Error(err)
	}
}

func TestEveryPageModeMeetsTheLog(t *testing.T) {
	base := narrowRows(40, "001")
	fresh := rowAt("new", "002", 1, "s-new", int64(-1))
	other := base[17].with(row{"s": "other", "n": nil, schema.CommitTime: "002"})
	for mode := range modes {
		for _, page := range []int{1, 7, 40} {
			l := fixed(40, page, mode)
			for name, c := range map[string]struct {
				logs [][]byte
				want func() []row
			}{
				"nothing": {nil, func() []row { return base }},
				"insert":  {[][]byte{dataBlock(t, "002", narrow, []row{fresh})}, func() []row { return append(base[:40:40], fresh) }},
				"update": {[][]byte{dataBlock(t, "002", narrow, []row{other})}, func() []row {
					return append(append(base[:17:17], other), base[18:]...)
				}},
				"delete":     {[][]byte{deleteBlock("002", del{key: "k3"})}, func() []row { return append(base[:3:3], base[4:]...) }},
				"delete all": {[][]byte{deleteBlock("002", everyKey(40)...)}, func() []row { return nil }},
				"all and one": {[][]byte{deleteBlock("002", everyKey(40)...), dataBlock(t, "003", narrow, []row{fresh})}, func() []row {
					return []row{fresh}
				}},
				"update all": {[][]byte{dataBlock(t, "002", narrow, narrowRows(40, "002"))}, func() []row { return narrowRows(40, "002") }},
			} {
				t.Run(fmt.Sprintf("%d of %d %s", mode, page, name), func(t *testing.T) {
					narrowSlice(t, base, l, c.logs...).check(t, c.want())
				})
			}
		}
	}
}

// Pages that no log record touches are copied byte for byte, and only those; where few would be, none is.
func TestUntouchedPagesAreCopied(t *testing.T) {
	const pages, page = 12, 50
	base := narrowRows(pages*page, "001")
	for i := range base {
		base[i]["s"] = fmt.Sprintf("%x", sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
	}
	cases := []struct {
		name    string
		touched []int // pages
		codec   format.CompressionCodec
		copied  int
	}{
		{"few", []int{3}, format.Zstd, pages - 1},
		{"neighbours", []int{0, 1, 2, 11}, format.Gzip, pages - 4},
		{"most", []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, format.Zstd, 0},
		{"nothing", nil, format.Snappy, pages},
	}
	for _, c := range cases {
		var changed []row
		for _, p := range c.touched {
			changed = append(changed, rowAt(base[p*page+7].key(), "002", 19, "new", int64(1)))
		}
		l := fixed(len(base), page, plainPages)
		l.codec = c.codec
		s := narrowSlice(t, base, l, dataBlock(t, "002", narrow, changed))
		want := slices.Clone(base)
		for i, p := range c.touched {
			want[p*page+7] = changed[i]
		}
		s.check(t, want)
		file, err := s.bytes(t)
		if err != nil {
			t.Fatal(err)
		}
		leaf := s.input.Target.Leaf("s")
		copied := 0
		for _, p := range pagesOf(t, s.base, leaf.Index) {
			if bytes.Contains(file, p) {
				copied++
			}
		}
		if copied != c.copied {
			t.Errorf("%s: %d pages of %d were copied, want %d", c.name, copied, pages, c.copied)
		}
	}
}

// pagesOf are the data pages of a column as they lie in the file, without their headers.
func pagesOf(t *testing.T, file []byte, leaf int) (out [][]byte) {
	t.Helper()
	f, err := pqfile.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	m := f.Column(0, leaf)
	for at := m.DataPageOffset; at < m.DataPageOffset+m.TotalCompressedSize; {
		page, size := pageAt(t, file[at:])
		out = append(out, page.body)
		at += size
	}
	return out
}

func everyKey(n int) []del {
	var out []del
	for i := range n {
		out = append(out, del{key: fmt.Sprintf("k%d", i)})
	}
	return out
}

func TestSlicesWithoutRows(t *testing.T) {
	for name, s := range map[string]*slice{
		"no base, no log":         narrowSlice(t, nil, layout{}),
		"base without row groups": narrowSlice(t, []row{}, layout{}),
		"only deletes":            narrowSlice(t, nil, layout{}, deleteBlock("002", del{key: "k"})),
		"an empty block":          narrowSlice(t, nil, layout{}, dataBlock(t, "002", narrow, nil)),
		"all rows deleted":        narrowSlice(t, narrowRows(3, "001"), fixed(3, 2, dictPages), deleteBlock("002", everyKey(3)...)),
	} {
		t.Run(name, func(t *testing.T) {
			s.check(t, nil)
			file, err := s.bytes(t)
			if err != nil {
				t.Fatal(err)
			}
			f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
			if err != nil {
				t.Fatal(err)
			}
			if f.NumRows() != 0 || len(f.RowGroups()) != 0 || len(f.Schema().Columns()) != len(s.input.Target.Leaves) {
				t.Errorf("%d rows in %d groups of %d columns", f.NumRows(), len(f.RowGroups()), len(f.Schema().Columns()))
			}
		})
	}
}

func TestInsertsFollowTheLastRowGroup(t *testing.T) {
	base := narrowRows(9, "001")
	l := layout{groups: []int{4, 2, 3}, page: 2, mode: func(g, leaf int) pageMode { return pageMode((g + leaf) % int(modes)) }}
	fresh := rowAt("new", "002", 1, "s9", nil)
	s := narrowSlice(t, base, l, dataBlock(t, "002", narrow, []row{fresh}))
	s.check(t, append(base[:9:9], fresh))
	// Where the last group loses all of its rows, the inserts still have a place; a group in the middle without rows leaves none behind.
	s = narrowSlice(t, base, l, deleteBlock("002", everyKey(9)[4:]...), dataBlock(t, "003", narrow, []row{fresh}))
	s.check(t, append(base[:4:4], fresh))
	file, err := s.bytes(t)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(f.RowGroups()); n != 2 {
		t.Errorf("%d row groups, want 2", n)
	}
}

// A key of many versions, each of which loses against what came before and fills a hole of it.
func TestManyVersionsOfOneKey(t *testing.T) {
	const versions = 500
	var rows []row
	for i := range versions {
		rows = append(rows, rowAt("k", fmt.Sprintf("%03d", i+2), int64(versions-i), nil, nil))
	}
	rows[versions-1]["n"] = int64(7)
	s := narrowSlice(t, []row{rowAt("k", "001", versions+1, nil, nil)}, fixed(1, 1, plainPages), dataBlock(t, "002", narrow, rows))
	s.input.Rules = merge.EventTime
	s.input.Rules.Fold.Take, s.input.Rules.Base.Take = merge.TakeNulls, merge.TakeNulls
	s.check(t, []row{rowAt("k", "001", versions+1, nil, int64(7))})
}

func TestOnly(t *testing.T) {
	base := append(narrowRows(3, "001"), rowAt("k3", "002", 10, "two", nil), rowAt("k4", "003", 10, "three", nil))
	late := rowAt("k4", "004", 5, "late", nil)
	gone := rowAt("k0", "004", 20, "in", nil)
	log := dataBlock(t, "004", narrow, []row{late, gone})
	for _, c := range []struct {
		name  string
		after bool
		only  []string
		want  []row
	}{
		{"filtered first", false, []string{"002", "004"}, []row{base[3], late, gone}},
		{"a base row in the range is merged", false, []string{"003", "004"}, []row{base[4], gone}},
		{"merged first", true, []string{"002", "004"}, []row{gone, base[3]}},
		{"nothing", false, []string{}, []row{late, gone}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := narrowSlice(t, base, fixed(5, 2, dictThenPlain), log)
			s.input.Rules, s.input.Only, s.input.OnlyAfter = merge.EventTime, c.only, c.after
			s.check(t, c.want)
		})
	}
	f, err := narrowSlice(t, base, fixed(5, 2, dictPages)).open()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		only []string
		want int
	}{{[]string{"001"}, 3}, {[]string{"002", "003"}, 2}, {[]string{"000"}, 0}, {nil, 0}} {
		if n, err := render.Count(f.Base, c.only); n != c.want || err != nil {
			t.Errorf("%d rows of %q, %v, want %d", n, c.only, err, c.want)
		}
	}
}

func TestFillAndConstants(t *testing.T) {
	full, lacking := narrowRows(5, "001"), narrowRows(5, "001")
	lacking[1]["s"], lacking[4]["s"], lacking[2]["n"] = nil, nil, nil
	update := rowAt("k0", "002", 10, nil, int64(5))
	fresh := rowAt("new", "002", 10, nil, nil)
	log := dataBlock(t, "002", narrow, []row{update, fresh})
	number := binary.LittleEndian.AppendUint32(nil, 77)
	for mode := range modes {
		for name, c := range map[string]struct {
			fill, constants map[string][]byte
			change          func(row)
		}{
			"fill text": {map[string][]byte{"s": []byte(strings.Repeat("filled", 20))}, nil, func(r row) {
				if r["s"] == nil {
					r["s"] = strings.Repeat("filled", 20)
				}
			}},
			"fill a number": {map[string][]byte{"n": number}, nil, func(r row) {
				if r["n"] == nil {
					r["n"] = int64(77)
				}
			}},
			"constants":          {nil, map[string][]byte{"s": []byte("c"), "n": number}, func(r row) { r["s"], r["n"] = "c", int64(77) }},
			"a constant of null": {nil, map[string][]byte{"s": nil}, func(r row) { r["s"] = nil }},
			"an empty constant":  {nil, map[string][]byte{"s": {}}, func(r row) { r["s"] = "" }},
		} {
			t.Run(fmt.Sprint(name, mode), func(t *testing.T) {
				for _, base := range [][]row{full, lacking, nil} {
					s := narrowSlice(t, nil, layout{}, log)
					want := []row{update}
					if base != nil {
						s = narrowSlice(t, base, fixed(5, 2, mode), log)
						want = append(want, base[1:]...)
					}
					want = append(want, fresh)
					byLeaf := func(names map[string][]byte) map[int][]byte {
						out := map[int][]byte{}
						for n, v := range names {
							out[s.input.Target.Leaf(n).Index] = v
						}
						return out
					}
					s.input.Fill, s.input.Constants = byLeaf(c.fill), byLeaf(c.constants)
					for i := range want {
						want[i] = want[i].with(nil)
						c.change(want[i])
					}
					s.check(t, want)
				}
			})
		}
	}
}

// The data columns of a skeleton lie in a file of its own, whose row groups may be others.
func TestSkeleton(t *testing.T) {
	base := narrowRows(10, "001")
	target := targetOf(t, narrow)
	meta := targetOf(t, avroOf(metaFields...))
	data := targetOf(t, avroOf(field("n", `"int"`), field("s", `"string"`), field("ts", `"long"`)))
	for _, groups := range [][]int{{10}, {3, 7}, {1, 1, 8}, {5, 5}} {
		t.Run(fmt.Sprint(groups), func(t *testing.T) {
			l := layout{groups: groups, page: 2, mode: func(int, int) pageMode { return dictThenPlain }}
			source := baseFile(t, data, vectors(t, narrow, data, base), l)
			for _, logs := range [][][]byte{nil, {dataBlock(t, "002", narrow, []row{rowAt("k4", "002", 1, "x", nil), rowAt("new", "002", 1, nil, nil)})}} {
				s := &slice{logs: logs, base: baseFile(t, meta, vectors(t, narrow, meta, base), layout{
					groups: []int{3, 7}, page: 3, mode: func(int, int) pageMode { return dictPages },
				})}
				f, err := pqfile.Open(bytes.NewReader(source), int64(len(source)))
				if err != nil {
					t.Fatal(err)
				}
				s.input = render.Input{Target: target, Ordering: []string{"ts"}, Data: f, DataName: "source"}
				want := base
				if logs != nil {
					want = append(append(append(base[:4:4], rowAt("k4", "002", 1, "x", nil)), base[5:]...), rowAt("new", "002", 1, nil, nil))
				}
				s.check(t, want)
			}
		})
	}
	short := baseFile(t, data, vectors(t, narrow, data, base[:9]), fixed(9, 2, plainPages))
	f, err := pqfile.Open(bytes.NewReader(short), int64(len(short)))
	if err != nil {
		t.Fatal(err)
	}
	s := &slice{base: baseFile(t, meta, vectors(t, narrow, meta, base), fixed(10, 3, plainPages))}
	s.input = render.Input{Target: target, Data: f, DataName: "source"}
	if _, err := s.bytes(t); !errors.Is(err, pqfile.ErrCorrupt) || !strings.Contains(err.Error(), "source") {
		t.Errorf("a skeleton of 10 rows on 9: %v", err)
	}
}

// Where several base rows have one key, positions say which of them a record means; without them only the first one meets it.
func TestPositions(t *testing.T) {
	base := []row{rowAt("a", "001", 1, "0", nil), rowAt("b", "001", 1, "1", nil), rowAt("a", "001", 1, "2", nil), rowAt("a", "001", 1, "3", nil)}
	second := rowAt("a", "002", 1, "second", nil)
	third := rowAt("a", "002", 1, "third", nil)
	positions := func(instant, text string) map[logfile.HeaderKey]string {
		return map[logfile.HeaderKey]string{
			logfile.InstantTime: "002", logfile.SchemaText: narrow, logfile.PositionsBaseInstant: instant, logfile.RecordPositions: text,
		}
	}
	at := func(instant string, rows ...uint64) map[logfile.HeaderKey]string {
		return positions(instant, positionsText(t, rows...))
	}
	data := func(header map[logfile.HeaderKey]string, rows ...row) []byte {
		return block(logfile.AvroData, header, avroContent(t, narrow, rows))
	}
	for _, c := range []struct {
		name string
		log  []byte
		want []row
	}{
		{"updates", data(at("001", 2, 3), second, third), []row{base[0], base[1], second, third}},
		{"of another base file", data(at("000", 2, 3), second, third), []row{third, base[1], base[2], base[3]}},
		{"not in every block", append(data(at("001", 2), second), deleteBlock("003", del{key: "b"})...), []row{second, base[2], base[3]}},
		{"deletes", block(logfile.DeleteBlock, at("001", 0, 3), deleteContent([]del{{key: "a"}, {key: "a"}})), []row{base[1], base[2]}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := layout{groups: []int{1, 3}, page: 2, mode: func(int, int) pageMode { return dictPages }}
			narrowSlice(t, base, l, c.log).check(t, c.want)
		})
	}
	for name, log := range map[string][]byte{
		"fewer positions than records": data(at("001", 2), second, third),
		"far more positions":           block(logfile.DeleteBlock, positions("001", rangeText(t, 1<<24)), deleteContent([]del{{key: "a"}})),
		"no bitmap":                    data(positions("001", "AAAA"), second),
		"no Base64":                    data(positions("001", "%%"), second),
		"more bitmaps than bytes":      data(positions("001", base64.StdEncoding.EncodeToString(binary.LittleEndian.AppendUint64(nil, 1<<60))), second),
		"runs that overlap":            data(positions("001", partText(0x3B, 0x30, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 5, 0, 3, 0, 5, 0)), second),
		"a wrong number of bits": data(positions("001", partText(append([]byte{0x3A, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 0xFF, 0xFF, 16, 0, 0, 0},
			bytes.Repeat([]byte{1}, 8192)...)...)), second),
	} {
		if _, err := narrowSlice(t, base, fixed(4, 2, plainPages), log).bytes(t); !errors.Is(err, logfile.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An older file has narrower types, other columns, and lists in the form of two levels.
func TestOlderFilesBecomeTheTarget(t *testing.T) {
	old := avroOf(append(slices.Clip(metaFields),
		field("gone", `"string"`), field("n", `"int"`), field("f", `"float"`), field("t", `"int"`), field("d", `"int"`))...)
	now := avroOf(append(slices.Clip(metaFields),
		field("n", `"long"`), field("f", `"double"`), field("t", `"string"`), field("d", `"double"`), field("new", `"string"`))...)
	source, target := targetOf(t, old), targetOf(t, now)
	var before, want []row
	for i := range 30 {
		r := row{
			schema.CommitTime: "001", schema.CommitSeqno: "1", schema.RecordKey: fmt.Sprintf("k%d", i), schema.PartitionPath: "", schema.FileName: "f",
			"gone": "x", "n": int64(i - 15), "f": 1.5, "t": int64(i % 4), "d": nil,
		}
		before = append(before, r)
		want = append(want, r.with(row{"t": fmt.Sprint(i % 4), "new": nil}))
	}
	log := dataBlock(t, "002", old, []row{before[3].with(row{"n": nil, "t": int64(99), "d": int64(3)})})
	want[3] = want[3].with(row{"n": nil, "t": "99", "d": 3.0})
	for mode := range modes {
		s := &slice{base: baseFile(t, source, vectors(t, old, source, before), fixed(30, 8, mode)), logs: [][]byte{log}}
		s.input = render.Input{Target: target}
		file, err := s.bytes(t)
		if err != nil {
			t.Fatal(err)
		}
		if err := same(file, linesOf(t, now, target, want)); err != nil {
			t.Errorf("mode %d: %v", mode, err)
		}
	}
}

// Statistics that readers skip by must cover every value, also those that came from the log.
func TestStatisticsCoverTheLog(t *testing.T) {
	base := narrowRows(5, "001")
	s := narrowSlice(t, base, fixed(5, 5, dictPages), dataBlock(t, "002", narrow, []row{rowAt("a", "002", -5, "zz", int64(1000)), rowAt("z", "002", 99, "", nil)}))
	file, err := s.bytes(t)
	if err != nil {
		t.Fatal(err)
	}
	f, err := pqfile.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		min, max string
		nulls    int64
	}{
		schema.RecordKey: {"a", "z", 0}, "s": {"", "zz", 0}, schema.CommitSeqno: {"", "", 7},
		"n": {string(binary.LittleEndian.AppendUint32(nil, 0)), string(binary.LittleEndian.AppendUint32(nil, 1000)), 1},
	} {
		st := f.Column(0, f.Schema.Leaf(name).Index).Statistics
		if string(st.MinValue) != want.min || string(st.MaxValue) != want.max || !st.NullCount.Valid || st.NullCount.V != want.nulls {
			t.Errorf("%s: %q to %q, %v nulls, want %q to %q, %d", name, st.MinValue, st.MaxValue, st.NullCount, want.min, want.max, want.nulls)
		}
	}
}

// Long values that no codec shortens, in every row, in the dictionary and in plain pages too: what costs most is promised as well.
func TestBoundOfTheWorst(t *testing.T) {
	r := &randomRows{Rand: rand.New(rand.NewPCG(1, 2))}
	worst := 0.0
	for mode := range modes {
		for _, length := range []int{0, 100, 5000} {
			noise := func() string {
				b := make([]byte, length)
				for i := range b {
					b[i] = byte(r.Uint32())
				}
				return string(b)
			}
			base := narrowRows(60, "001")
			var updates []row
			for i := range 60 {
				updates = append(updates, rowAt(fmt.Sprintf("k%d", i), "002", 10, noise(), int64(r.Int32())))
			}
			updates = append(updates, rowAt("new", "002", 10, noise(), nil))
			l := layout{groups: []int{60}, page: 7, mode: func(int, int) pageMode { return mode }}
			target := targetOf(t, narrow)
			inParquet := block(logfile.ParquetData, map[logfile.HeaderKey]string{logfile.InstantTime: "002", logfile.SchemaText: narrow},
				baseFile(t, target, vectors(t, narrow, target, updates), fixed(61, 9, plainPages)))
			for _, log := range [][]byte{dataBlock(t, "002", narrow, updates), inParquet} {
				s := narrowSlice(t, base, l, log)
				if _, err := s.bytes(t); err != nil {
					t.Errorf("mode %d, texts of %d: %v", mode, length, err)
				}
				worst = max(worst, needed(t, s))
			}
		}
	}
	// Otherwise the promises are so large that nothing here puts them to the test.
	if worst < 0.8 {
		t.Errorf("at most %.2f of what was promised is needed", worst)
	}
}

// Numbers that become text grow, in dictionaries too: a listing knows by how much without reading them.
func TestBoundOfNumbersAsText(t *testing.T) {
	old := avroOf(append(slices.Clip(metaFields), field("l", `"long"`), field("i", `"int"`), field("d", `"double"`), field("f", `"float"`))...)
	now := avroOf(append(slices.Clip(metaFields), field("l", `"string"`), field("i", `"string"`), field("d", `"string"`), field("f", `"string"`))...)
	source, target := targetOf(t, old), targetOf(t, now)
	var rows []row
	for i := range 600 {
		rows = append(rows, row{
			schema.CommitTime: "001", schema.CommitSeqno: "1", schema.RecordKey: fmt.Sprint(i), schema.PartitionPath: "", schema.FileName: "f",
			"l": math.MinInt64 + int64(i), "i": int64(math.MinInt32 + i), "d": -math.MaxFloat64 / float64(i+3), "f": float64(-math.MaxFloat32 / float32(i+3)),
		})
	}
	for mode := range modes {
		s := &slice{base: baseFile(t, source, vectors(t, old, source, rows), fixed(600, 90, mode))}
		s.input = render.Input{Target: target}
		if _, err := s.bytes(t); err != nil {
			t.Errorf("mode %d: %v", mode, err)
		}
		in, err := s.open()
		if err != nil {
			t.Fatal(err)
		}
		if _, ok, err := in.Bound(); !ok || err != nil {
			t.Errorf("mode %d: bounded: %v, %v", mode, ok, err)
		}
	}
}

// needed is the part of the promised bytes that a slice needs.
func needed(t *testing.T, s *slice) float64 {
	t.Helper()
	in, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	size, _, err := in.Bound()
	if err != nil {
		t.Fatal(err)
	}
	n, err := in.Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return float64(n) / float64(size)
}

func TestRenderingIsCancelled(t *testing.T) {
	s := narrowSlice(t, narrowRows(5, "001"), fixed(5, 5, dictPages), dataBlock(t, "002", narrow, narrowRows(5, "002")))
	in, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := in.Measure(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("measured: %v", err)
	}
	if err := in.Render(ctx, make(buffer, 1<<20), 1<<20); !errors.Is(err, context.Canceled) {
		t.Errorf("rendered: %v", err)
	}
}

func TestRecordsWithoutKeysAreRefused(t *testing.T) {
	s := narrowSlice(t, nil, layout{}, dataBlock(t, "002", narrow, []row{rowAt("k", "002", 1, nil, nil).with(row{schema.RecordKey: nil})}))
	if _, err := s.bytes(t); !errors.Is(err, logfile.ErrCorrupt) || !strings.Contains(err.Error(), "log 0") {
		t.Errorf("got %v", err)
	}
	s = narrowSlice(t, nil, layout{}, dataBlock(t, "002", narrow, narrowRows(1, "002")))
	s.input.Key.Fields = []string{"nowhere"}
	if _, err := s.bytes(t); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("got %v", err)
	}
}
