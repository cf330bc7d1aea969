package rowdiff

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/schema"
)

// The table of the tests: two meta fields, a number, and a list of structs of a text, all of which may be null.
func testTable(t testing.TB) *schema.Message {
	t.Helper()
	text := func(name string) schema.Field { return schema.Text(name) }
	item := &schema.Type{Kind: schema.Record, Name: "item", Nullable: true, Fields: []schema.Field{text("s")}}
	m, err := schema.Target(&schema.Type{Kind: schema.Record, Fields: []schema.Field{
		text(schema.CommitTime), text(schema.RecordKey),
		{Name: "n", Type: &schema.Type{Kind: schema.Int, Nullable: true}},
		{Name: "l", Type: &schema.Type{Kind: schema.Array, Nullable: true, Elem: item}},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// testRow is a row of it. A number of 0 is null, and so is the list of nil; within, "" stands for an item that is null and "-" for a text that is.
type testRow struct {
	commit, key string
	n           int32
	l           []string
}

// data is what counts of a row.
func (r testRow) data() string { return fmt.Sprintf("%d %v %q", r.n, r.l == nil, r.l) }

func (r testRow) String() string { return fmt.Sprintf("%s %s %s", r.commit, r.key, r.data()) }

// fixed are rows in row groups.
type fixed [][]testRow

func (f fixed) Groups() int    { return len(f) }
func (f fixed) Rows(g int) int { return len(f[g]) }

// Column gives vectors of three rows.
func (f fixed) Column(g int, leaf *schema.Node, take func(*column.Vector) error) error {
	for rows := range slices.Chunk(f[g], 3) {
		v := column.New(leaf.Leaf)
		for _, r := range rows {
			r.appendTo(v, leaf.Path[0])
		}
		if err := take(v); err != nil {
			return err
		}
	}
	return nil
}

func (r testRow) appendTo(v *column.Vector, name string) {
	top := v.Leaf.MaxDef
	switch {
	case name == schema.CommitTime:
		v.AppendLevels(0, top)
		v.AppendValue([]byte(r.commit))
	case name == schema.RecordKey:
		v.AppendLevels(0, top)
		v.AppendValue([]byte(r.key))
	case name == "n" && r.n != 0:
		v.AppendLevels(0, top)
		v.AppendValue(binary.LittleEndian.AppendUint32(nil, uint32(r.n)))
	case name == "n", r.l == nil:
		v.AppendLevels(0, 0)
	case len(r.l) == 0:
		v.AppendLevels(0, 1)
	default:
		for i, s := range r.l {
			rep := min(uint8(i), 1)
			switch s {
			case "":
				v.AppendLevels(rep, 2)
			case "-":
				v.AppendLevels(rep, 3)
			default:
				v.AppendLevels(rep, top)
				v.AppendValue([]byte(s))
			}
		}
	}
}

func (f fixed) all() []testRow { return slices.Concat(f...) }

func source(f fixed) Source {
	return func(context.Context) (Rows, func(), error) { return f, func() {}, nil }
}

func testInput(t testing.TB, before, after []fixed) *Input {
	t.Helper()
	in := &Input{Table: testTable(t)}
	in.Key = []int{in.Table.Leaf(schema.RecordKey).Index}
	var err error
	if in.Output, err = Schema(in.Table); err != nil {
		t.Fatal(err)
	}
	for _, f := range before {
		in.Before = append(in.Before, source(f))
	}
	for _, f := range after {
		in.After = append(in.After, source(f))
	}
	return in
}

// buffer takes a file.
type buffer []byte

func (b buffer) WriteAt(p []byte, off int64) (int, error) { return copy(b[off:], p), nil }

// difference makes the file.
func difference(t testing.TB, in *Input, groupRows int) []byte {
	t.Helper()
	r, err := in.Compare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if groupRows > 0 {
		r.groupRows = groupRows
	}
	size, err := in.Measure(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	b := make(buffer, size)
	if err := in.Write(context.Background(), r, b, size); err != nil {
		t.Fatal(err)
	}
	return b
}

// texts reads a file with a reader that is not ours, a line a row.
func texts(t testing.TB, file []byte) (lines []string, groups int) {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	r := parquet.NewReader(f)
	defer r.Close()
	names := make([]string, 0)
	for _, p := range f.Schema().Columns() {
		names = append(names, strings.Join(p, "."))
	}
	for {
		rows := make([]parquet.Row, 1)
		n, err := r.ReadRows(rows)
		if n == 1 {
			lines = append(lines, line(names, rows[0]))
		}
		if errors.Is(err, io.EOF) {
			return lines, len(f.RowGroups())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// line is a row as text: each column's entries with their levels.
func line(names []string, row parquet.Row) string {
	var b strings.Builder
	for _, v := range row {
		fmt.Fprintf(&b, "%s %d %d %s;", names[v.Column()], v.RepetitionLevel(), v.DefinitionLevel(), v)
	}
	return b.String()
}

// line is the line of a change.
func (c expected) line(in *Input) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s 0 1 %s;", Op, c.op)
	at := 1
	for _, r := range []*testRow{c.before, c.after} {
		for range in.Table.Leaves {
			leaf := in.Output.Leaves[at]
			at++
			name := strings.Join(leaf.Path, ".")
			if r == nil {
				fmt.Fprintf(&b, "%s 0 0 %s;", name, parquet.Value{})
				continue
			}
			v := column.New(in.Table.Leaves[(at-2)%len(in.Table.Leaves)].Leaf)
			r.appendTo(v, leaf.Path[1])
			value := 0
			for e := range v.Entries() {
				rep := uint8(0)
				if v.Leaf.MaxRep > 0 {
					rep = v.Rep[e]
				}
				text := parquet.Value{}
				if v.Def[e] == v.Leaf.MaxDef {
					text = parquet.ByteArrayValue(v.Value(value))
					if v.Leaf.Kind == column.Int32 {
						text = parquet.Int32Value(int32(binary.LittleEndian.Uint32(v.Value(value))))
					}
					value++
				}
				fmt.Fprintf(&b, "%s %d %d %s;", name, rep, v.Def[e]+1, text)
			}
		}
	}
	return b.String()
}

type expected struct {
	op            string
	before, after *testRow
}

// naive compares two states without hashes, keys in the order of their first row.
func naive(before, after []testRow) []expected {
	type pick struct {
		expected
		at [2]int
	}
	var out []pick
	keys := map[string]bool{}
	for _, r := range slices.Concat(before, after) {
		if keys[r.key] {
			continue
		}
		keys[r.key] = true
		of := func(rows []testRow) (at []int) {
			for i, o := range rows {
				if o.key == r.key {
					at = append(at, i)
				}
			}
			return at
		}
		b, a := of(before), of(after)
		for i := 0; i < len(b); i++ {
			if k := slices.IndexFunc(a, func(k int) bool { return after[k].data() == before[b[i]].data() }); k >= 0 {
				a, b = slices.Delete(a, k, k+1), slices.Delete(b, i, i+1)
				i--
			}
		}
		if len(b) == 1 && len(a) == 1 {
			out = append(out, pick{expected{opUpdate, &before[b[0]], &after[a[0]]}, [2]int{b[0], a[0]}})
			continue
		}
		for _, i := range b {
			out = append(out, pick{expected{opDelete, &before[i], nil}, [2]int{i, 0}})
		}
		for _, i := range a {
			out = append(out, pick{expected{opInsert, nil, &after[i]}, [2]int{len(before), i}})
		}
	}
	slices.SortFunc(out, func(a, b pick) int { return cmp.Or(cmp.Compare(a.at[0], b.at[0]), cmp.Compare(a.at[1], b.at[1])) })
	var sorted []expected
	for _, p := range out {
		sorted = append(sorted, p.expected)
	}
	return sorted
}

func drawState(t *rapid.T, name string, keys int) []fixed {
	row := rapid.Custom(func(t *rapid.T) testRow {
		return testRow{
			commit: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "commit"),
			key:    fmt.Sprint("k", rapid.IntRange(0, keys).Draw(t, "key")),
			n:      rapid.Int32Range(0, 2).Draw(t, "n"),
			l:      rapid.SampledFrom([][]string{nil, {}, {""}, {"-"}, {"a"}, {"a", "-"}, {"", "b"}}).Draw(t, "l"),
		}
	})
	group := rapid.SliceOfN(row, 0, 8)
	return rapid.SliceOfN(rapid.Map(rapid.SliceOfN(group, 0, 3), func(g [][]testRow) fixed { return g }), 0, 3).Draw(t, name)
}

func flat(parts []fixed) (all []testRow) {
	for _, f := range parts {
		all = append(all, f.all()...)
	}
	return all
}

// Whatever the two states, the file has what comparing row by row finds, in that order; neither the number of passes nor where row groups end changes it.
func TestAgainstNaive(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		keys := rapid.SampledFrom([]int{3, 40}).Draw(rt, "keys")
		before, after := drawState(rt, "before", keys), drawState(rt, "after", keys)
		in := testInput(t, before, after)
		var want []string
		for _, c := range naive(flat(before), flat(after)) {
			want = append(want, c.line(in))
		}
		once := difference(t, in, 0)
		if got, _ := texts(t, once); !slices.Equal(got, want) {
			rt.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		in.Memory = 3 * imprintBytes
		if !bytes.Equal(difference(t, in, 0), once) {
			rt.Fatal("several passes make another file than one")
		}
		small := rapid.IntRange(1, 5).Draw(rt, "rows of a group")
		got, groups := texts(t, difference(t, in, small))
		if !slices.Equal(got, want) || groups != (len(want)+small-1)/small {
			rt.Fatalf("in %d row groups of %d rows: got\n%s\nwant\n%s", groups, small, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// Beyond the budget imprints are in a file that has no name.
func TestPasses(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	r := rand.New(rand.NewPCG(1, 2))
	var before, after []testRow
	for i := range 5000 {
		row := testRow{commit: "1", key: fmt.Sprint("key", i), n: int32(1 + i), l: []string{"x"}}
		before = append(before, row)
		if row.commit = "2"; i%10 == 0 {
			row.n = -row.n
		}
		if i%100 != 1 {
			after = append(after, row)
		}
	}
	r.Shuffle(len(after), func(i, j int) { after[i], after[j] = after[j], after[i] })
	in := testInput(t, []fixed{{before}}, []fixed{{after[:1000], after[1000:]}})
	one, err := in.Compare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if one.Rows() != 550 {
		t.Errorf("%d rows differ, want 500 updates and 50 deletes", one.Rows())
	}
	in.Memory = 1000 * imprintBytes
	p := imprints{memory: in.Memory}
	defer p.close()
	if err := errors.Join(p.add(make([]imprint, 999)), p.add(make([]imprint, 2))); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); p.file == nil || len(p.held) > 0 || len(left) > 0 {
		t.Errorf("file %v, %d held, left behind %v", p.file, len(p.held), left)
	}
	many, err := in.Compare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(one.pairs, many.pairs) || one.groupRows != many.groupRows {
		t.Errorf("%d pairs in one pass, %d in several", len(one.pairs), len(many.pairs))
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "none"))
	if _, err := in.Compare(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a folder for it: %v", err)
	}
}

// A state without rows, on either side or both.
func TestEmpty(t *testing.T) {
	rows := []fixed{{{{commit: "1", key: "a", n: 1}}}}
	for _, c := range []struct {
		before, after []fixed
		want          int
	}{{nil, nil, 0}, {rows, nil, 1}, {nil, rows, 1}, {rows, rows, 0}, {[]fixed{{}, {{}}}, []fixed{{{}, {}}}, 0}} {
		if got, _ := texts(t, difference(t, testInput(t, c.before, c.after), 0)); len(got) != c.want {
			t.Errorf("%v to %v: %q", c.before, c.after, got)
		}
	}
}

// A key of several columns is the tuple of them: null is not empty.
func TestKeyOfColumns(t *testing.T) {
	in := testInput(t, []fixed{{{{key: "", n: 0}, {key: "", n: 1}}}}, []fixed{{{{key: "", n: 1, l: []string{}}, {key: "1", n: 0}}}})
	in.Key = append(in.Key, in.Table.Leaf("n").Index)
	got, _ := texts(t, difference(t, in, 0))
	var ops []string
	for _, l := range got {
		op, _, _ := strings.Cut(strings.TrimPrefix(l, Op+" 0 1 "), ";")
		ops = append(ops, op)
	}
	if !slices.Equal(ops, []string{"d", "u", "i"}) {
		t.Errorf("got %q", got)
	}
}

// short are rows of which a column has fewer than there are.
type short struct{ fixed }

func (s short) Rows(g int) int { return s.fixed.Rows(g) + 1 }

func TestDamage(t *testing.T) {
	rows := fixed{{{key: "a"}}}
	for name, open := range map[string]Source{
		"unreadable": func(context.Context) (Rows, func(), error) { return nil, nil, io.ErrUnexpectedEOF },
		"short":      func(context.Context) (Rows, func(), error) { return short{rows}, func() {}, nil },
	} {
		in := testInput(t, nil, []fixed{rows})
		in.Before = append(in.Before, open)
		_, err := in.Compare(t.Context())
		if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, pqfile.ErrCorrupt) || !strings.Contains(err.Error(), "part 0 of the state before") {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := testInput(t, nil, []fixed{rows}).Compare(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
