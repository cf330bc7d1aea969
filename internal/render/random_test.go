package render_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/render"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/merge"
)

// version is a row of the naive merge, or a delete.
type version struct {
	row     row
	deleted bool
	ts      *int64          // of a delete: nil is none
	has     map[string]bool // the columns of a partial row; nil is all
}

func (v version) time() int64 {
	if v.ts != nil {
		return *v.ts
	}
	return v.row["ts"].(int64)
}

// naive merges rows one by one, as the rules of the two merge modes are told in words.
type naive struct {
	eventTime, takeNulls bool
}

// newerWins tells which of two versions of a key stands.
func (n naive) newerWins(newer, older version, base bool) bool {
	if !n.eventTime {
		return true
	}
	if older.deleted && older.ts == nil {
		return !newer.deleted
	}
	if newer.deleted && newer.ts == nil {
		return true
	}
	return newer.time() >= older.time()
}

func (n naive) fold(newer, older version, base bool) version {
	winner, loser := newer, older
	if !n.newerWins(newer, older, base) {
		winner, loser = older, newer
	}
	if winner.deleted || loser.deleted || !n.takeNulls && winner.has == nil {
		return winner
	}
	out := version{row: row{}}
	if winner.has != nil && loser.has != nil {
		out.has = map[string]bool{}
	}
	for c := range wideColumns {
		v, has := winner.row[c], winner.has == nil || winner.has[c]
		loserHas := loser.has == nil || loser.has[c]
		if (!has || n.takeNulls && v == nil) && loserHas {
			v = loser.row[c]
		}
		out.row[c] = v
		if out.has != nil && (has || loserHas) {
			out.has[c] = true
		}
	}
	return out
}

var wideColumns = func() map[string]bool {
	typ, err := schema.ParseAvro(wide)
	if err != nil {
		panic(err)
	}
	out := map[string]bool{}
	for _, f := range typ.Fields {
		out[f.Name] = true
	}
	return out
}()

func (n naive) merge(base []row, log []logged) []row {
	var order []string
	entries := map[string]version{}
	for _, l := range log {
		if e, ok := entries[l.key]; ok {
			entries[l.key] = n.fold(l.version, e, false)
		} else {
			order = append(order, l.key)
			entries[l.key] = l.version
		}
	}
	var out []row
	met := map[string]bool{}
	for _, r := range base {
		e, ok := entries[r.key()]
		if !ok || met[r.key()] {
			out = append(out, r)
			continue
		}
		met[r.key()] = true
		if v := n.fold(e, version{row: r}, true); !v.deleted {
			out = append(out, v.row)
		}
	}
	for _, k := range order {
		if e := entries[k]; !e.deleted && !met[k] {
			out = append(out, e.row)
		}
	}
	return out
}

type logged struct {
	key string
	version
}

// drawn is a random slice, and its rows.
type drawn struct {
	slice
	want []string
}

func drawSlice(rt *rapid.T, t testing.TB) *drawn {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 7))
	draw := func(name string, of ...int) int { return rapid.SampledFrom(of).Draw(rt, name) }
	gen := func(name string) *randomRows {
		return &randomRows{
			Rand: r, nulls: float64(draw(name+" nulls", 0, 2, 10)) / 10, distinct: draw(name+" distinct", 0, 1, 3), length: draw(name+" length", 0, 3, 40, 700),
		}
	}
	old, fresh := gen("base"), gen("log")
	n := naive{eventTime: draw("event time", 0, 1) == 1, takeNulls: draw("take nulls", 0, 0, 1) == 1}
	target := targetOf(t, wide)

	count := draw("base rows", -1, 0, 1, 7, 60, 150)
	keys := max(count, 5)
	key := func() string { return fmt.Sprintf("k%03d", r.IntN(keys+keys/4)) }
	var base []row
	positions := count > 0 && draw("positions", 0, 0, 1) == 1
	for i := range count {
		k := fmt.Sprintf("k%03d", i)
		if draw("duplicates", 0, 0, 0, 1) == 1 && i > 0 && !positions {
			k = fmt.Sprintf("k%03d", i-1)
		}
		base = append(base, old.row(k, int64(r.IntN(20)), "001"))
	}
	d := &drawn{}
	if count >= 0 {
		l := layout{page: draw("page", 1, 13, 1000), codec: rapid.SampledFrom([]format.CompressionCodec{format.Uncompressed, format.Snappy, format.Zstd}).Draw(rt, "codec")}
		for left := count; left > 0; {
			n := 1 + r.IntN(left)
			l.groups = append(l.groups, n)
			left -= n
		}
		fixed := draw("mode", -1, 0, 1, 2, 3, 4)
		l.mode = func(int, int) pageMode {
			if fixed >= 0 {
				return pageMode(fixed)
			}
			return pageMode(r.IntN(int(modes)))
		}
		d.base = baseFile(t, target, vectors(t, wide, target, base), l)
		d.base = otherPages(rt, d.base, draw("page version", 1, 2) == 2, rapid.Bool().Draw(rt, "numbers of nulls"))
	}
	var log []logged
	if draw("neighbours", 0, 0, 1) == 1 {
		next := 0
		key = func() string { // runs of rows next to each other
			if r.IntN(10) == 0 {
				next = r.IntN(keys)
			}
			next++
			return fmt.Sprintf("k%03d", next-1)
		}
	}
	share := draw("touched", 0, 1, 30, 150)
	blockKeys := func(header map[logfile.HeaderKey]string) (list []string) {
		for range r.IntN(share + 1) {
			list = append(list, key())
		}
		if positions {
			list = inBase(list, count)
			header[logfile.RecordPositions], header[logfile.PositionsBaseInstant] = positionsOf(t, list), "001"
		}
		return list
	}
	partial := partialAvro(t, "ts", "s", "st")
	for b := range draw("blocks", 0, 1, 2, 5) {
		instant := fmt.Sprintf("%03d", b+2)
		if draw("kind", 0, 0, 0, 1) == 1 {
			var deletes []del
			header := map[logfile.HeaderKey]string{logfile.InstantTime: instant}
			for _, k := range blockKeys(header) {
				x := del{key: k}
				if r.IntN(2) == 0 {
					ts := int64(r.IntN(20))
					x.ts = &ts
				}
				deletes = append(deletes, x)
				log = append(log, logged{x.key, version{deleted: true, ts: x.ts}})
			}
			d.logs = append(d.logs, block(logfile.DeleteBlock, header, deleteContent(deletes)))
			continue
		}
		var rows []row
		avro, has := wide, map[string]bool(nil)
		header := map[logfile.HeaderKey]string{logfile.InstantTime: instant}
		if draw("partial", 0, 0, 0, 1) == 1 {
			avro, has = partial, map[string]bool{"ts": true, "s": true, "st": true}
			for _, f := range parse(t, avro).Fields {
				has[f.Name] = true
			}
			header[logfile.IsPartial] = "true"
		}
		header[logfile.SchemaText] = avro
		for _, k := range blockKeys(header) {
			x := fresh.row(k, int64(r.IntN(20)), instant)
			if has != nil {
				for c := range x {
					if !has[c] {
						delete(x, c)
					}
				}
			}
			rows = append(rows, x)
			log = append(log, logged{x.key(), version{row: x, has: has}})
		}
		if has == nil && draw("parquet", 0, 0, 1) == 1 {
			l := fixed(len(rows), 11, pageMode(r.IntN(int(modes))))
			d.logs = append(d.logs, block(logfile.ParquetData, header, baseFile(t, target, vectors(t, wide, target, rows), l)))
			continue
		}
		d.logs = append(d.logs, block(logfile.AvroData, header, avroContent(t, avro, rows)))
	}
	d.input = render.Input{Target: target, Ordering: []string{"ts"}, BaseInstant: "001"}
	d.input.Pruning = rapid.SliceOfDistinct(rapid.SampledFrom(slices.Sorted(maps.Keys(wideColumns))), rapid.ID[string]).Draw(rt, "pruning")
	if n.eventTime {
		d.input.Rules = merge.EventTime
	}
	if n.takeNulls {
		d.input.Rules.Fold.Take, d.input.Rules.Base.Take = merge.TakeNulls, merge.TakeNulls
	}
	want := n.merge(base, log)
	d.fill(rt, want)
	d.want = linesOf(t, wide, target, want)
	return d
}

// inBase are those of some keys that the base file has, in the order of its rows.
func inBase(keys []string, rows int) []string {
	keys = slices.DeleteFunc(keys, func(k string) bool { return rowOf(k) >= uint64(rows) })
	slices.Sort(keys)
	return slices.Compact(keys)
}

// rowOf is the base row that a key belongs to.
func rowOf(key string) uint64 {
	n, err := strconv.ParseUint(strings.TrimPrefix(key, "k"), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func positionsOf(t testing.TB, keys []string) string {
	t.Helper()
	rows := make([]uint64, len(keys))
	for i, k := range keys {
		rows[i] = rowOf(k)
	}
	return positionsText(t, rows...)
}

// fill has some columns filled where a row has no value.
func (d *drawn) fill(rt *rapid.T, want []row) {
	d.input.Fill = map[int][]byte{}
	for _, c := range []struct {
		name    string
		value   any
		encoded []byte
	}{
		{"s", "filled", []byte("filled")},
		{"n", int64(-77), binary.LittleEndian.AppendUint64(nil, math.MaxUint64-76)},
		{"i", int64(5), binary.LittleEndian.AppendUint32(nil, 5)},
	} {
		if rapid.SampledFrom([]bool{false, false, true}).Draw(rt, "fill "+c.name) {
			d.input.Fill[d.input.Target.Leaf(c.name).Index] = c.encoded
			for i, r := range want {
				if r[c.name] == nil {
					want[i] = r.with(row{c.name: c.value})
				}
			}
		}
	}
}

// otherPages makes data pages of version 2 out of those of a file, where they are not compressed, or says of pages of nulls that they have numbers, as
// parquet-mr does of columns without a value: there is no dictionary then.
func otherPages(rt *rapid.T, file []byte, second, numbers bool) []byte {
	f, err := pqfile.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		rt.Fatal(err)
	}
	out := []byte(pqfile.Head)
	for g := range f.Groups() {
		for i, leaf := range f.Schema.Leaves {
			c := &f.Meta.RowGroups[g].Columns[i]
			m := &c.MetaData
			at, dictionary := m.DataPageOffset, m.DictionaryPageOffset > 0
			if dictionary {
				at = m.DictionaryPageOffset
				m.DictionaryPageOffset = int64(len(out))
			}
			data, end := m.DataPageOffset, at+m.TotalCompressedSize
			c.FileOffset, m.TotalUncompressedSize = int64(len(out)), 0
			for at < end {
				if at == data {
					m.DataPageOffset = int64(len(out))
				}
				page, size := pageAt(rt, file[at:])
				if h := &page.header.DataPageHeader.V; numbers && !dictionary && page.header.Type == format.DataPage && h.Statistics.NullCount == int64(h.NumValues) {
					h.Encoding = format.RLEDictionary
					if !slices.Contains(m.Encoding, format.RLEDictionary) {
						m.Encoding = append(m.Encoding, format.RLEDictionary)
					}
				}
				if second && leaf.Leaf.MaxRep == 0 && page.header.Type == format.DataPage && m.Codec == format.Uncompressed {
					page.second(leaf.Leaf)
				}
				written := page.bytes(rt)
				out = append(out, written...)
				m.TotalUncompressedSize += int64(len(written)-len(page.body)) + int64(page.header.UncompressedPageSize)
				at += size
			}
			m.TotalCompressedSize = int64(len(out)) - c.FileOffset
			m.EncodingStats = nil
		}
	}
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), f.Meta)
	if err != nil {
		rt.Fatal(err)
	}
	out = append(out, footer...)
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(footer))), pqfile.Head...)
}

// filePage is a page of a file.
type filePage struct {
	header format.PageHeader
	body   []byte
}

func pageAt(t interface{ Fatal(args ...any) }, b []byte) (p filePage, size int64) {
	r := bytes.NewReader(b)
	if err := thrift.NewDecoder(new(thrift.CompactProtocol).NewReader(r)).Decode(&p.header); err != nil {
		t.Fatal(err)
	}
	at := len(b) - r.Len()
	p.body = b[at : at+int(p.header.CompressedPageSize)]
	return p, int64(at + len(p.body))
}

func (p *filePage) bytes(t *rapid.T) []byte {
	head, err := thrift.Marshal(new(thrift.CompactProtocol), &p.header)
	if err != nil {
		t.Fatal(err)
	}
	return append(head, p.body...)
}

// second makes it a page of version 2, of a column that is not repeated.
func (p *filePage) second(l column.Leaf) {
	b, old := p.body, p.header.DataPageHeader.V
	var def []byte
	if l.MaxDef > 0 {
		n := binary.LittleEndian.Uint32(b)
		def, b = b[4:4+n], b[4+n:]
	}
	p.body = slices.Concat(def, b)
	p.header.Type = format.DataPageV2
	p.header.DataPageHeader = thrift.Null[format.DataPageHeader]{}
	p.header.DataPageHeaderV2 = thrift.New(format.DataPageHeaderV2{
		NumValues: old.NumValues, NumNulls: int32(old.Statistics.NullCount), NumRows: old.NumValues, Encoding: old.Encoding,
		DefinitionLevelsByteLength: int32(len(def)), IsCompressed: thrift.New(false),
	})
	p.header.UncompressedPageSize, p.header.CompressedPageSize = int32(len(p.body)), int32(len(p.body))
	p.header.CRC = int32(crc32.ChecksumIEEE(p.body))
}

// Whatever the base file looks like and the log says, the file has the rows of a naive merge, within the size that was promised, and the
// same bytes when it is rendered again.
func TestRenderedRowsAreThoseOfANaiveMerge(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawSlice(rt, t)
		file, err := d.bytes(t)
		if err != nil {
			rt.Fatal(err)
		}
		if err := same(file, d.want); err != nil {
			rt.Fatal(err)
		}
	})
}

// What a slice becomes does not depend on how much of its log is in memory at once: whether columns are decoded together, or in windows of records, and keys merged
// in turns.
func TestLargeLogs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		if rapid.Bool().Draw(rt, "regions") {
			defer render.AlwaysInRegions()()
		}
		d := drawSlice(rt, t)
		file, err := d.bytes(t)
		if err != nil {
			rt.Fatal(err)
		}
		read, keys := d.read(rt, t), d.logKeys(rt, t)
		kept := d.keep(rt, t, keys)
		defer render.DecodeAtOnce(rapid.SampledFrom([]int64{2000, 20_000}).Draw(rt, "at once"))()
		again, err := d.bytes(t)
		if err != nil {
			rt.Fatal(err)
		}
		if !bytes.Equal(again, file) {
			rt.Error("the file has other bytes")
		}
		if again := d.read(rt, t); !slices.Equal(again, read) {
			rt.Errorf("read\n%q, want\n%q", again, read)
		}
		if again := d.keep(rt, t, keys); !slices.Equal(again, kept) {
			rt.Errorf("kept\n%q, want\n%q", again, kept)
		}
		if again := d.logKeys(rt, t); again != nil && !maps.Equal(again, keys) {
			rt.Errorf("keys %v, want %v", again, keys)
		}
	})
}

// read reads what becomes of each row.
func (d *drawn) read(rt *rapid.T, t *testing.T) []string {
	in, err := d.open()
	if err != nil {
		rt.Fatal(err)
	}
	return readRows(rt, t, in)
}

// keep keeps the rows that have some keys, and reads them again.
func (d *drawn) keep(rt *rapid.T, t *testing.T, keys map[string]bool) []string {
	in, err := d.open()
	if err != nil {
		rt.Fatal(err)
	}
	in.Keys = keys
	base, closeBase, err := in.Keep(t.Context())
	if err != nil {
		rt.Fatal(err)
	}
	defer closeBase()
	return readRows(rt, t, &render.Input{Target: in.Target, Base: base, BaseName: "kept", Rules: in.Rules, Key: in.Key})
}

func (d *drawn) logKeys(rt *rapid.T, t *testing.T) map[string]bool {
	in, err := d.open()
	if err != nil {
		rt.Fatal(err)
	}
	keys, err := in.LogKeys(t.Context())
	if err != nil {
		rt.Fatal(err)
	}
	return keys
}

func readRows(rt *rapid.T, t *testing.T, in *render.Input) []string {
	r, err := in.Read(t.Context())
	if err != nil {
		rt.Fatal(err)
	}
	var out []string
	for {
		fate, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		line := fmt.Sprint(fate)
		for leaf := range in.Target.Leaves {
			versions := []func(int) (*column.Vector, column.Span, error){r.Before, r.After}
			switch fate {
			case render.Dropped:
				versions = versions[:1]
			case render.Added:
				versions = versions[1:]
			case render.Kept, render.Replaced:
			}
			for _, get := range versions {
				v, s, failed := get(leaf)
				if err = errors.Join(err, failed); err != nil {
					rt.Fatal(err)
				}
				one := column.New(v.Leaf)
				one.Append(v, s)
				line += fmt.Sprintf(" %x %x %x", one.Rep, one.Def, one.Buf)
			}
		}
		out = append(out, line)
	}
	return out
}

// All of it holds where columns lie in regions. Each can be made by itself, in any order, and the file has the same bytes as when it is rendered at once.
func TestRegions(t *testing.T) {
	defer render.AlwaysInRegions()()
	laidOut := 0
	rapid.Check(t, func(rt *rapid.T) {
		defer render.DecodeAtOnce(rapid.SampledFrom([]int64{64 << 20, 64 << 20, 5000}).Draw(rt, "at once"))()
		d := drawSlice(rt, t)
		file, err := d.bytes(t)
		if err != nil {
			rt.Fatal(err)
		}
		if err := same(file, d.want); err != nil {
			rt.Fatal(err)
		}
		in, err := d.open()
		if err != nil {
			rt.Fatal(err)
		}
		if ok, err := in.InRegions(); err != nil {
			rt.Fatal(err)
		} else if !ok {
			return
		}
		laidOut++
		parts := make(buffer, len(file))
		l, err := in.Layout(t.Context(), parts)
		if err != nil {
			rt.Fatal(err)
		}
		if err := l.WriteEnds(parts, int64(len(file))); err != nil {
			rt.Fatal(err)
		}
		order := rapid.Permutation(numbers(l.Parts())).Draw(rt, "order")
		for _, i := range order {
			before := slices.Clone(parts)
			if err := l.Make(parts, i); err != nil {
				rt.Fatal(err)
			}
			from, size := l.Region(i)
			copy(before[from:from+size], parts[from:from+size])
			if !bytes.Equal(before, parts) {
				rt.Fatalf("part %d wrote outside of its region", i)
			}
		}
		if !bytes.Equal(parts, file) {
			rt.Fatal("made in parts, the file has other bytes")
		}
	})
	if laidOut == 0 {
		t.Error("no slice was laid out in regions")
	}
}

func numbers(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Bytes that are flipped make an error, or nothing: the pages of base files are checked. Log records are not, so that other values can come out,
// but nothing else.
func TestFlippedBytes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawSlice(rt, t)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "flips"), 8))
		inBase := len(d.base) > 0 && (len(d.logs) == 0 || r.IntN(2) == 0)
		pages := 0 // where the pages of the base file end
		if inBase {
			f, err := d.open()
			if err != nil {
				rt.Fatal(err)
			}
			for g := range f.Base.Groups() {
				for i := range f.Base.Schema.Leaves {
					m := f.Base.Column(g, i)
					from := m.DataPageOffset
					if m.DictionaryPageOffset > 0 {
						from = min(from, m.DictionaryPageOffset)
					}
					pages = max(pages, int(from+m.TotalCompressedSize))
				}
			}
		}
		target := &d.base
		if !inBase {
			if len(d.logs) == 0 {
				return
			}
			target = &d.logs[r.IntN(len(d.logs))]
		}
		broken := slices.Clone(*target)
		at := r.IntN(len(broken))
		broken[at] ^= 1 << r.IntN(8)
		*target = broken
		type result struct {
			file []byte
			err  error
		}
		done := make(chan result, 1)
		go func() {
			defer func() {
				if p := recover(); p != nil {
					done <- result{err: fmt.Errorf("%w: panic: %v", errBroken, p)}
				}
			}()
			file, err := d.bytes(t)
			done <- result{file, err}
		}()
		var got result
		select {
		case got = <-done:
		case <-time.After(30 * time.Second):
			rt.Fatalf("it hangs: byte %d of the base file: %v", at, inBase)
		}
		switch {
		case errors.Is(got.err, errBroken):
			rt.Fatalf("byte %d, base file: %v: %v", at, inBase, got.err)
		case got.err != nil:
			if inBase && !errors.Is(got.err, pqfile.ErrCorrupt) && !errors.Is(got.err, pqfile.ErrUnsupported) && !errors.Is(got.err, schema.ErrInvalid) {
				rt.Fatalf("byte %d of the base file: an error of no class: %v", at, got.err)
			}
		default:
			if err := same(got.file, d.want); err != nil && inBase && at < pages {
				rt.Fatalf("byte %d of the base file's pages: %v", at, err)
			}
			if _, err := lines(got.file); err != nil {
				// Pages that are copied without a look are as their footer says, which no checksum covers.
				if _, before := lines(d.base); !inBase || at < pages || before == nil {
					rt.Fatalf("byte %d, base file: %v: what was rendered does not read back: %v", at, inBase, err)
				}
			}
		}
	})
}
