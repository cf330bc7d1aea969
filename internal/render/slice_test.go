package render_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/linkedin/goavro/v2"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/render"
	"github.com/hudifs/hudifs/internal/schema"
)

// row is a row by column: nil, string, int64, float64, bool, []any for a list, map[string]any for a struct or a map.
type row map[string]any

func (r row) key() string { return r[schema.RecordKey].(string) }

// with is a copy with some columns changed.
func (r row) with(changes row) row {
	out := row{}
	maps.Copy(out, r)
	maps.Copy(out, changes)
	return out
}

// field is a column of an Avro schema.
func field(name, typ string) string { return fmt.Sprintf(`{"name":%q,"type":["null",%s]}`, name, typ) }

func avroOf(fields ...string) string {
	return `{"type":"record","name":"r","fields":[` + strings.Join(fields, ",") + `]}`
}

var metaFields = []string{
	field(schema.CommitTime, `"string"`), field(schema.CommitSeqno, `"string"`), field(schema.RecordKey, `"string"`),
	field(schema.PartitionPath, `"string"`), field(schema.FileName, `"string"`),
}

// wide has flat and nested columns of every physical type that Avro writes.
var wide = avroOf(slices.Concat(metaFields, []string{
	field("ts", `"long"`), field("s", `"string"`), field("n", `"long"`), field("i", `"int"`), field("d", `"double"`), field("f", `"float"`),
	field("b", `"boolean"`), field("y", `"bytes"`), field("x", `{"type":"fixed","name":"fx","size":5}`),
	field("l", `{"type":"array","items":["null","string"]}`),
	field("st", `{"type":"record","name":"st","fields":[`+field("a", `"int"`)+`,`+field("w", `{"type":"array","items":["null","long"]}`)+`]}`),
	field("m", `{"type":"map","values":["null","double"]}`),
})...)

func parse(t testing.TB, avro string) *schema.Type {
	t.Helper()
	typ, err := schema.ParseAvro(avro)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

func targetOf(t testing.TB, avro string) *schema.Message {
	t.Helper()
	m, err := schema.Target(parse(t, avro), nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// native is a value as goavro takes it.
func native(typ *schema.Type, v any) any {
	if typ.Nullable {
		if v == nil {
			return nil
		}
		plain := *typ
		plain.Nullable = false
		name := typ.Name
		if name == "" {
			name = typ.Kind.String()
		}
		return map[string]any{name: native(&plain, v)}
	}
	switch typ.Kind {
	case schema.Int:
		return int32(v.(int64))
	case schema.Float:
		return float32(v.(float64))
	case schema.Bytes, schema.Fixed:
		return []byte(v.(string))
	case schema.Array:
		out := []any{}
		for _, e := range v.([]any) {
			out = append(out, native(typ.Elem, e))
		}
		return out
	case schema.Map:
		out := map[string]any{}
		for k, e := range v.(map[string]any) {
			out[k] = native(typ.Elem, e)
		}
		return out
	case schema.Record:
		out := map[string]any{}
		var fields map[string]any
		switch v := v.(type) {
		case row:
			fields = v
		case map[string]any:
			fields = v
		}
		for _, f := range typ.Fields {
			out[f.Name] = native(f.Type, fields[f.Name])
		}
		return out
	default:
		return v
	}
}

var codecs = map[string]*goavro.Codec{}

// avroContent is the content of an Avro block.
func avroContent(t testing.TB, avro string, rows []row) []byte {
	t.Helper()
	codec := codecs[avro]
	if codec == nil {
		var err error
		if codec, err = goavro.NewCodec(avro); err != nil {
			t.Fatal(err)
		}
		codecs[avro] = codec
	}
	typ := parse(t, avro)
	out := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 3), uint32(len(rows)))
	for _, r := range rows {
		b, err := codec.BinaryFromNative(nil, native(typ, r))
		if err != nil {
			t.Fatal(err)
		}
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(b))), b...)
	}
	return out
}

// deleteContent is the content of a delete block. A nil ordering value is none.
func deleteContent(deletes []del) []byte {
	b := binary.AppendVarint(nil, int64(len(deletes)))
	text := func(s string) { b = append(binary.AppendVarint(append(b, 2), int64(len(s))), s...) }
	for _, d := range deletes {
		text(d.key)
		text("")
		if d.ts == nil {
			b = append(b, 4, 0) // the int 0
		} else {
			b = binary.AppendVarint(append(b, 6), *d.ts)
		}
	}
	if len(deletes) > 0 {
		b = append(b, 0)
	}
	out := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 3), uint32(len(b)))
	return append(out, b...)
}

type del struct {
	key string
	ts  *int64
}

// block is a log block as it lies in a file.
func block(typ logfile.BlockType, header map[logfile.HeaderKey]string, content []byte) []byte {
	var body []byte
	body = binary.BigEndian.AppendUint32(body, 1)
	body = binary.BigEndian.AppendUint32(body, uint32(typ))
	body = binary.BigEndian.AppendUint32(body, uint32(len(header)))
	for k := logfile.InstantTime; k <= logfile.PositionsBaseInstant; k++ {
		if v, ok := header[k]; ok {
			body = binary.BigEndian.AppendUint32(body, uint32(k))
			body = append(binary.BigEndian.AppendUint32(body, uint32(len(v))), v...)
		}
	}
	body = append(binary.BigEndian.AppendUint64(body, uint64(len(content))), content...)
	body = binary.BigEndian.AppendUint32(body, 0)
	size := uint64(len(body) + 8)
	out := append([]byte("#HUDI#"), binary.BigEndian.AppendUint64(nil, size)...)
	return binary.BigEndian.AppendUint64(append(out, body...), size+6)
}

func positionsText(t testing.TB, rows ...uint64) string {
	t.Helper()
	return bitmapText(t, roaring64.BitmapOf(rows...))
}

// rangeText has the first so many positions, in few bytes.
func rangeText(t testing.TB, rows uint64) string {
	t.Helper()
	set := roaring64.New()
	set.AddRange(0, rows)
	set.RunOptimize()
	return bitmapText(t, set)
}

func bitmapText(t testing.TB, set *roaring64.Bitmap) string {
	t.Helper()
	b, err := set.ToBytes()
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// partText is a bitmap of one part, whose upper 32 bits are 0 and whose lower ones lie in b.
func partText(b ...byte) string {
	return base64.StdEncoding.EncodeToString(append(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, 1), 0), b...))
}

// dataBlock is a block of rows of an Avro schema.
func dataBlock(t testing.TB, instant, avro string, rows []row) []byte {
	t.Helper()
	return block(logfile.AvroData, map[logfile.HeaderKey]string{logfile.InstantTime: instant, logfile.SchemaText: avro}, avroContent(t, avro, rows))
}

func deleteBlock(instant string, deletes ...del) []byte {
	return block(logfile.DeleteBlock, map[logfile.HeaderKey]string{logfile.InstantTime: instant}, deleteContent(deletes))
}

// vectors are rows as columns of a target.
func vectors(t testing.TB, avro string, m *schema.Message, rows []row) []*column.Vector {
	t.Helper()
	b := dataBlock(t, "1", avro, rows)
	l, err := logfile.Scan(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	d, err := logfile.OpenData(bytes.NewReader(b), l.Blocks[0])
	if err != nil {
		t.Fatal(err)
	}
	all := make([]int, len(m.Leaves))
	for i := range all {
		all[i] = i
	}
	out, err := d.Columns(m, all)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// pageMode is how a column chunk of a base file is encoded.
type pageMode int

const (
	plainPages pageMode = iota
	dictPages
	dictThenPlain // as writers do whose dictionary has grown too large
	plainThenDict
	dictBetween
	modes
)

func (m pageMode) dict(page int) bool {
	switch m {
	case dictPages:
		return true
	case dictThenPlain:
		return page < 1
	case plainThenDict:
		return page > 0
	case dictBetween:
		return page%2 == 1
	default:
		return false
	}
}

// layout is the form of a base file.
type layout struct {
	groups []int // rows of each
	page   int   // rows of a page
	mode   func(group, leaf int) pageMode
	codec  format.CompressionCodec
}

func (l layout) String() string {
	return fmt.Sprintf("%v in pages of %d, %v", l.groups, l.page, l.codec)
}

// buffer is a file in memory.
type buffer []byte

func (b buffer) WriteAt(p []byte, off int64) (int, error) {
	if off < 0 || off+int64(len(p)) > int64(len(b)) {
		return 0, fmt.Errorf("%d bytes at %d in a file of %d", len(p), off, len(b))
	}
	return copy(b[off:], p), nil
}

// baseFile writes rows as a Parquet file.
func baseFile(t testing.TB, m *schema.Message, columns []*column.Vector, l layout) []byte {
	t.Helper()
	size := 0
	for _, v := range columns {
		size += 2*v.Size() + 8*v.Entries() + 4096
	}
	out := make(buffer, 1<<16+3*size*(1+len(l.groups)))
	w := pqfile.NewWriter(out, m)
	first := 0
	for g, rows := range l.groups {
		if rows == 0 {
			continue
		}
		w.BeginGroup()
		for i, leaf := range m.Leaves {
			if err := writeChunk(w, leaf, columns[i], first, rows, l.page, l.mode(g, i), l.codec); err != nil {
				t.Fatal(err)
			}
		}
		first += rows
	}
	n, err := w.Needed()
	if err != nil {
		t.Fatal(err)
	}
	out = out[:n]
	if err := w.Finish(n); err != nil {
		t.Fatal(err)
	}
	return out
}

func writeChunk(w *pqfile.Writer, leaf *schema.Node, all *column.Vector, first, rows, page int, mode pageMode, codec format.CompressionCodec) error {
	if leaf.Leaf.Kind == column.Bool {
		mode = plainPages
	}
	x := column.NewIndex(all)
	dict := column.New(column.Leaf{Kind: leaf.Leaf.Kind, Size: leaf.Leaf.Size})
	known := map[string]uint32{}
	numbers := leaf.Leaf
	numbers.Kind, numbers.Size = column.Int32, 0
	var pages []*pqfile.Page
	stats := pqfile.NewMinMax(leaf.Scalar)
	for at := first; at < first+rows; at += page {
		v := column.New(leaf.Leaf)
		v.Append(all, x.Span(at, min(at+page, first+rows)))
		stats.AddVector(v)
		p := &pqfile.Page{Vector: v}
		if mode.dict(len(pages)) {
			n := column.New(numbers)
			n.Rep, n.Def = v.Rep, v.Def
			for i := range v.Values() {
				k, ok := known[string(v.Value(i))]
				if !ok {
					k = uint32(dict.Values())
					known[string(v.Value(i))] = k
					dict.AppendValue(v.Value(i))
				}
				n.AppendValue(binary.LittleEndian.AppendUint32(nil, k))
			}
			p = &pqfile.Page{Vector: n, Dict: true}
		}
		pages = append(pages, p)
	}
	chunk := w.Chunk(leaf, pqfile.ChunkOptions{Codec: codec, Dictionary: dict})
	for _, p := range pages {
		if err := chunk.WritePage(p); err != nil {
			return err
		}
	}
	return w.EndChunk(chunk, stats)
}

// slice is a file slice under test.
type slice struct {
	input render.Input
	base  []byte
	logs  [][]byte
}

// open makes an Input that has not been used before.
func (s *slice) open() (*render.Input, error) {
	in := s.input
	if s.base != nil {
		var err error
		if in.Base, err = pqfile.Open(bytes.NewReader(s.base), int64(len(s.base))); err != nil {
			return nil, err
		}
		in.BaseName = "base"
	}
	var scanned []*logfile.Log
	for i, b := range s.logs {
		l, err := logfile.Scan(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return nil, err
		}
		scanned = append(scanned, l)
		in.Logs = append(in.Logs, render.Log{Name: fmt.Sprintf("log %d", i), Reader: bytes.NewReader(b)})
	}
	in.Blocks = render.Select(scanned, func(string) bool { return true })
	return &in, nil
}

// bytes renders the slice in the size that it promises, and checks the promise.
func (s *slice) bytes(t testing.TB) ([]byte, error) {
	t.Helper()
	in, err := s.open()
	if err != nil {
		return nil, err
	}
	size, ok, err := in.Bound()
	if err != nil {
		return nil, err
	}
	needed, err := in.Measure(t.Context())
	if err != nil {
		return nil, err
	}
	switch {
	case !ok:
		size = needed
	case needed > size:
		return nil, fmt.Errorf("%w: %d bytes are needed, %d were promised", errBroken, needed, size)
	}
	out := make(buffer, size)
	if err := in.Render(t.Context(), out, size); err != nil {
		return nil, err
	}
	again := make(buffer, size)
	if in, err = s.open(); err != nil {
		return nil, err
	}
	if err := in.Render(t.Context(), again, size); err != nil {
		return nil, err
	}
	if !bytes.Equal(out, again) {
		return nil, fmt.Errorf("%w: the second rendering has other bytes", errBroken)
	}
	return out, nil
}

// errBroken is a broken promise, not damaged input.
var errBroken = errors.New("broken promise")

// lines reads a Parquet file: a line for each row.
func lines(file []byte) ([]string, error) {
	out := []string{}
	err := eachRow(file, func(_ int, r parquet.Row) error {
		var b strings.Builder
		for _, v := range r {
			fmt.Fprintf(&b, "%d.%d.%d:", v.Column(), v.RepetitionLevel(), v.DefinitionLevel())
			if !v.IsNull() {
				fmt.Fprintf(&b, "%x", v.Bytes())
			}
			b.WriteByte(' ')
		}
		out = append(out, b.String())
		return nil
	})
	return out, err
}

// eachRow gives the rows of a file, with the number of their row group.
func eachRow(file []byte, f func(group int, r parquet.Row) error) error {
	from, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return err
	}
	for group, g := range from.RowGroups() {
		rows := g.Rows()
		buf := make([]parquet.Row, 100)
		for {
			n, err := rows.ReadRows(buf)
			for _, r := range buf[:n] {
				if err := f(group, r); err != nil {
					return errors.Join(err, rows.Close())
				}
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return errors.Join(err, rows.Close())
			}
		}
		if err := rows.Close(); err != nil {
			return err
		}
	}
	return nil
}

// checkFooter compares what the footer says of the columns with their values: readers skip rows by it.
func checkFooter(file []byte) error {
	footer, err := pqfile.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return err
	}
	nulls, values := map[[2]int]int64{}, map[[2]int][]parquet.Value{} // by row group and leaf
	err = eachRow(file, func(group int, r parquet.Row) error {
		for _, v := range r {
			if at := [2]int{group, v.Column()}; v.IsNull() {
				nulls[at]++
			} else {
				values[at] = append(values[at], v.Clone())
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for at, list := range values {
		if err := checkBounds(footer, at, list); err != nil {
			return fmt.Errorf("row group %d, column %v: %w", at[0], footer.Schema.Leaves[at[1]].Path, err)
		}
	}
	for group := range footer.Groups() {
		for i, leaf := range footer.Schema.Leaves {
			if said := footer.Column(group, i).Statistics.NullCount; said.Valid && said.V != nulls[[2]int{group, i}] {
				return fmt.Errorf("row group %d, column %v: %d nulls, the footer says %d", group, leaf.Path, nulls[[2]int{group, i}], said.V)
			}
		}
	}
	return nil
}

// checkBounds: bounds cover the values, and are among them where the footer does not say otherwise, which it never does of numbers. They never come without
// the number of nulls.
func checkBounds(footer *pqfile.File, at [2]int, values []parquet.Value) error {
	st := &footer.Column(at[0], at[1]).Statistics
	if st.MinValue == nil && st.MaxValue == nil {
		return nil
	}
	compare := compareBytes
	switch values[0].Kind() {
	case parquet.Boolean, parquet.Int32, parquet.Int64:
		compare = func(v parquet.Value, bound []byte) int {
			var b [8]byte
			copy(b[:], bound)
			if x := int64(binary.LittleEndian.Uint64(b[:])); len(bound) == 4 {
				return cmp.Compare(int64(v.Int32()), int64(int32(x)))
			} else if len(bound) == 8 {
				return cmp.Compare(v.Int64(), x)
			}
			return int(v.Bytes()[0]) - int(bound[0])
		}
	case parquet.Float:
		compare = func(v parquet.Value, bound []byte) int {
			return cmp.Compare(v.Float(), math.Float32frombits(binary.LittleEndian.Uint32(bound)))
		}
	case parquet.Double:
		compare = func(v parquet.Value, bound []byte) int {
			return cmp.Compare(v.Double(), math.Float64frombits(binary.LittleEndian.Uint64(bound)))
		}
	case parquet.FixedLenByteArray:
		if footer.Schema.Leaves[at[1]].Scalar.Logical == schema.Decimal {
			return nil
		}
	case parquet.ByteArray, parquet.Int96:
	}
	number := values[0].Kind() < parquet.ByteArray
	if exact := st.IsMinExact.V && st.IsMaxExact.V; !st.NullCount.Valid || number && !exact {
		return fmt.Errorf("statistics %+v", *st)
	}
	hasMin, hasMax := false, false
	for _, v := range values {
		lo, hi := compare(v, st.MinValue), compare(v, st.MaxValue)
		if lo < 0 || hi > 0 {
			return fmt.Errorf("a value %v, the footer says from %x to %x", v, st.MinValue, st.MaxValue)
		}
		hasMin, hasMax = hasMin || lo == 0, hasMax || hi == 0
	}
	if st.IsMinExact.V && !hasMin || st.IsMaxExact.V && !hasMax {
		return fmt.Errorf("from %x to %x is not exact: %v", st.MinValue, st.MaxValue, values)
	}
	return nil
}

func compareBytes(v parquet.Value, bound []byte) int { return bytes.Compare(v.ByteArray(), bound) }

// linesOf are rows as lines gives them.
func linesOf(t testing.TB, avro string, m *schema.Message, rows []row) []string {
	t.Helper()
	columns := vectors(t, avro, m, rows)
	out := make([]string, len(rows))
	for leaf, v := range columns {
		x := column.NewIndex(v)
		for i := range rows {
			s := x.Span(i, i+1)
			value := s.V0
			for e := s.E0; e < s.E1; e++ {
				rep, def := byte(0), byte(0)
				if v.Rep != nil {
					rep = v.Rep[e]
				}
				if v.Def != nil {
					def = v.Def[e]
				}
				out[i] += fmt.Sprintf("%d.%d.%d:", leaf, rep, def)
				if def == v.Leaf.MaxDef {
					out[i] += fmt.Sprintf("%x", v.Value(value))
					value++
				}
				out[i] += " "
			}
		}
	}
	return out
}

// same tells where a file's rows are not the wanted ones.
func same(file []byte, want []string) error {
	got, err := lines(file)
	if err != nil {
		return fmt.Errorf("it does not read back: %w", err)
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d rows, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			return fmt.Errorf("row %d is\n %s, want\n %s", i, got[i], want[i])
		}
	}
	return checkFooter(file)
}

// randomRows makes rows. What is drawn decides how many values are alike, null or long.
type randomRows struct {
	*rand.Rand
	nulls    float64
	distinct int
	length   int
}

func (g *randomRows) text() string {
	n := g.length
	if n > 0 {
		n = g.IntN(n + 1)
	}
	if g.distinct > 0 {
		return strings.Repeat(fmt.Sprint(g.IntN(g.distinct)), max(n, 1))[:n]
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(g.Uint32())
	}
	return string(b)
}

func (g *randomRows) number() int64 {
	if g.distinct > 0 {
		return int64(g.IntN(g.distinct))
	}
	return int64(int32(g.Uint32()))
}

func (g *randomRows) maybe(value func() any) any {
	if g.Float64() < g.nulls {
		return nil
	}
	return value()
}

func (g *randomRows) list(value func() any) any {
	out := []any{}
	for range g.IntN(4) {
		out = append(out, g.maybe(value))
	}
	return out
}

func (g *randomRows) row(key string, ts int64, instant string) row {
	number := func() any { return g.number() }
	return row{
		schema.CommitTime: instant, schema.CommitSeqno: instant + "_0_1", schema.RecordKey: key, schema.PartitionPath: "p", schema.FileName: "f",
		"ts": ts,
		"s":  g.maybe(func() any { return g.text() }), "n": g.maybe(number), "i": g.maybe(number),
		"d": g.maybe(func() any { return float64(g.number()) / 3 }), "f": g.maybe(func() any { return float64(float32(g.number()) / 3) }),
		"b": g.maybe(func() any { return g.IntN(2) == 0 }), "y": g.maybe(func() any { return g.text() }),
		"x": g.maybe(func() any { return fmt.Sprintf("%05d", g.IntN(max(g.distinct, 99999))) }),
		"l": g.maybe(func() any { return g.list(func() any { return g.text() }) }),
		"st": g.maybe(func() any {
			return map[string]any{"a": g.maybe(number), "w": g.maybe(func() any { return g.list(number) })}
		}),
		"m": g.maybe(func() any {
			out := map[string]any{}
			if g.IntN(2) == 0 { // of one entry: goavro writes larger maps in any order
				out[g.text()] = g.maybe(func() any { return float64(g.number()) })
			}
			return out
		}),
	}
}

// partialAvro is the schema of a block with the meta fields and a few columns of wide.
func partialAvro(t testing.TB, columns ...string) string {
	t.Helper()
	var s struct {
		Fields []json.RawMessage `json:"fields"`
	}
	if err := json.Unmarshal([]byte(wide), &s); err != nil {
		t.Fatal(err)
	}
	fields := slices.Clone(metaFields)
	for i, f := range parse(t, wide).Fields {
		if slices.Contains(columns, f.Name) {
			fields = append(fields, string(s.Fields[i]))
		}
	}
	return avroOf(fields...)
}
