package render_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/render"
	"github.com/hudifs/hudifs/internal/schema"
)

// What a rendering costs, counted: only the pages are written anew whose rows the log changes, the rest is copied as it lies in the base file; the files are
// read little more than once; nothing is allocated for single rows. Seconds are for `make bench`.
func TestCounts(t *testing.T) {
	const (
		rows, page = 20_000, 500
		touched    = 3 // pages: of 300 neighbours that are updated, and a row that is deleted
		inserted   = 1 // page
	)
	fields := slices.Clone(metaFields)
	for i := range 12 {
		fields = append(fields, field(fmt.Sprint("n", i), `"long"`), field(fmt.Sprint("s", i), `"string"`))
	}
	avro := avroOf(append(fields, field("ts", `"long"`))...)
	rowOf := func(i int, instant string) row {
		key := fmt.Sprintf("key-%09d", i)
		out := row{
			"_hoodie_record_key": key, "_hoodie_commit_time": instant, "_hoodie_commit_seqno": instant + "_0_1", "_hoodie_partition_path": instant, "_hoodie_file_name": "f" + instant, "ts": int64(instant[2]),
		}
		for c := range 12 {
			out[fmt.Sprint("n", c)], out[fmt.Sprint("s", c)] = int64(1000*i+c)+int64(instant[2]), fmt.Sprint(instant, " of ", key, c)
		}
		return out
	}
	target := targetOf(t, avro)
	var base, log []row
	for i := range rows {
		base = append(base, rowOf(i, "001"))
	}
	for i := 10*page + 300; i < 10*page+600; i++ {
		log = append(log, rowOf(i, "002"))
	}
	log = append(log, rowOf(rows, "002"))
	l := fixed(rows, page, 0)
	l.codec = format.Zstd
	s := slice{
		base:  baseFile(t, target, vectors(t, avro, target, base), l),
		logs:  [][]byte{dataBlock(t, "002", avro, log), deleteBlock("003", del{key: base[20*page].key()})},
		input: render.Input{Target: target},
	}
	for _, tt := range []struct {
		name    string
		regions bool
	}{{"behind each other", false}, {"in regions", true}} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.regions {
				defer render.AlwaysInRegions()()
			} else {
				defer render.NeverInRegions()()
			}
			file, err := s.bytes(t)
			if err != nil {
				t.Fatal(err)
			}
			copied, anew := countPages(t, s.base, file)
			for i, leaf := range target.Leaves {
				want := touched
				if leaf == target.Leaf(schema.RecordKey) {
					want = 1 // an update leaves it as it is
				}
				if copied[i] != rows/page-want || anew[i] != want+inserted {
					t.Errorf("column %v: %d pages copied and %d made anew, want %d and %d", leaf.Path, copied[i], anew[i], rows/page-want, want+inserted)
				}
			}
			in, err := s.open()
			if err != nil {
				t.Fatal(err)
			}
			size, ok, err := in.Bound()
			if !ok || err != nil {
				t.Fatal(ok, err)
			}
			var ofBase, ofLogs atomic.Int64
			if in.Base, err = pqfile.Open(counted{bytes.NewReader(s.base), &ofBase}, int64(len(s.base))); err != nil {
				t.Fatal(err)
			}
			logs := int64(0)
			for i := range in.Logs {
				logs += int64(len(s.logs[i]))
				in.Logs[i].Reader = counted{in.Logs[i].Reader, &ofLogs}
			}
			if err := in.Render(t.Context(), discard{}, size); err != nil {
				t.Fatal(err)
			}
			if n := ofBase.Load(); n > int64(len(s.base))*5/4 {
				t.Errorf("%d bytes of the base file were read, it has %d", n, len(s.base))
			}
			if n := ofLogs.Load(); n > logs*9/4 {
				t.Errorf("%d bytes of the logs were read, they have %d", n, logs)
			}
			allocs := testing.AllocsPerRun(3, func() {
				if err := in.Render(t.Context(), discard{}, size); err != nil {
					t.Fatal(err)
				}
			})
			if allocs >= rows {
				t.Errorf("%v allocations for %d rows of %d columns", allocs, rows, len(target.Leaves))
			}
		})
	}
}

// counted counts the bytes that are read.
type counted struct {
	io.ReaderAt
	n *atomic.Int64
}

func (c counted) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, at)
	c.n.Add(int64(n))
	return n, err
}

// countPages counts by column the data pages of a file that another one has too, and those that it does not have.
func countPages(t *testing.T, base, file []byte) (copied, anew []int) {
	had := map[string]bool{}
	eachPage(t, base, func(_ int, p []byte) { had[string(p)] = true })
	eachPage(t, file, func(leaf int, p []byte) {
		for len(copied) <= leaf {
			copied, anew = append(copied, 0), append(anew, 0)
		}
		if had[string(p)] {
			copied[leaf]++
		} else {
			anew[leaf]++
		}
	})
	return copied, anew
}

// eachPage gives the data pages of a file as they lie there.
func eachPage(t *testing.T, file []byte, f func(leaf int, p []byte)) {
	footer, err := pqfile.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for g := range footer.Groups() {
		for leaf := range footer.Schema.Leaves {
			m := footer.Column(g, leaf)
			at := m.DataPageOffset
			for values := int64(0); values < m.NumValues; {
				p, size := pageAt(t, file[at:])
				if p.header.DataPageHeader.Valid {
					values += int64(p.header.DataPageHeader.V.NumValues)
					f(leaf, file[at:at+size])
				}
				at += size
			}
		}
	}
}
