package logfile

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/linkedin/goavro/v2"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// assembler puts the rows of vectors together again, as values of the kind that goavro decodes to: the inverse of what
// the decoder does, so that both can be compared whatever the order of map entries.
type assembler struct {
	vectors      []*column.Vector // by leaf of the target
	entry, value []int
}

func newAssembler(vectors []*column.Vector) *assembler {
	return &assembler{vectors, make([]int, len(vectors)), make([]int, len(vectors))}
}

func (a *assembler) peek(n *schema.Node) (leaf int, rep, def uint8, ok bool) {
	for n.Shape != schema.LeafShape {
		n = n.Children[0]
	}
	i, v := n.Index, a.vectors[n.Index]
	if a.entry[i] >= v.Entries() {
		return i, 0, 0, false
	}
	if v.Leaf.MaxRep > 0 {
		rep = v.Rep[a.entry[i]]
	}
	if v.Leaf.MaxDef > 0 {
		def = v.Def[a.entry[i]]
	}
	return i, rep, def, true
}

func (a *assembler) drop(n *schema.Node) {
	if n.Shape == schema.LeafShape {
		a.entry[n.Index]++
		return
	}
	for _, c := range n.Children {
		a.drop(c)
	}
}

// get takes the next value of a node. t is its type, which tells what a repeated group is, and how bytes are shown.
func (a *assembler) get(n *schema.Node, t *schema.Type) any {
	_, _, def, _ := a.peek(n)
	if def < n.MaxDef {
		a.drop(n)
		return nil
	}
	var out any
	switch t.Kind {
	case schema.Record:
		m := map[string]any{}
		for i, c := range n.Children {
			m[c.Name] = a.get(c, t.Fields[i].Type)
		}
		out = m
	case schema.Array, schema.Map:
		out = a.list(n, t, def)
	default:
		out = a.leaf(n, t)
	}
	if t.Nullable {
		return map[string]any{unionName(t): out}
	}
	return out
}

func (a *assembler) list(n *schema.Node, t *schema.Type, def uint8) any {
	repeated := n.Children[0]
	item := repeated
	if t.Kind == schema.Array && len(repeated.Children) == 1 && repeated.Name == "list" {
		item = repeated.Children[0]
	}
	m, l := map[string]any{}, []any{}
	if def < repeated.MaxDef {
		a.drop(n)
	} else {
		for {
			if t.Kind == schema.Map {
				key := a.get(repeated.Children[0], &schema.Type{Kind: schema.String})
				m[key.(string)] = a.get(repeated.Children[1], t.Elem)
			} else {
				l = append(l, a.get(item, t.Elem))
			}
			if _, rep, _, ok := a.peek(repeated); !ok || rep != repeated.MaxRep {
				break
			}
		}
	}
	if t.Kind == schema.Map {
		return m
	}
	return l
}

func (a *assembler) leaf(n *schema.Node, t *schema.Type) any {
	v := a.vectors[n.Index]
	b := v.Value(a.value[n.Index])
	a.entry[n.Index]++
	a.value[n.Index]++
	switch t.Kind {
	case schema.Boolean:
		return b[0] == 1
	case schema.Int:
		return int32(binary.LittleEndian.Uint32(b))
	case schema.Long:
		return int64(binary.LittleEndian.Uint64(b))
	case schema.Float:
		return math.Float32frombits(binary.LittleEndian.Uint32(b))
	case schema.Double:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	case schema.String, schema.Enum:
		return string(b)
	default:
		return b
	}
}

func unionName(t *schema.Type) string {
	switch t.Kind {
	case schema.Record, schema.Enum, schema.Fixed:
		return t.Name
	default:
		return t.Kind.String()
	}
}

// equal compares values with NaN equal to itself and nil bytes to empty ones.
func equal(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			w, ok := y[k]
			if !ok || !equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equal(x[i], y[i]) {
				return false
			}
		}
		return true
	case []byte:
		y, ok := b.([]byte)
		return ok && string(x) == string(y)
	case float32:
		y, ok := b.(float32)
		return ok && math.Float32bits(x) == math.Float32bits(y)
	case float64:
		y, ok := b.(float64)
		return ok && math.Float64bits(x) == math.Float64bits(y)
	}
	return a == b
}

// bare takes the logical types off a schema: goavro would turn them into big.Rat and time.Time, we into other physical types.
func bare(text string) string { return strings.ReplaceAll(text, `"logicalType"`, `"ignored"`) }

// checkFacts compares what was said of columns with the columns.
func checkFacts(d *Data, target *schema.Message, vectors []*column.Vector) error {
	facts, exact := make([]Facts, len(vectors)), make([]Facts, len(vectors))
	if err := d.AppendColumns(nil, Pass{Target: target, Facts: facts}); err != nil {
		return err
	}
	var all []int
	again := make([]*column.Vector, len(vectors))
	for i := range vectors {
		all, again[i] = append(all, i), column.New(target.Leaves[i].Leaf)
	}
	if err := d.AppendColumns(again, Pass{Target: target, Leaves: all, Facts: exact}); err != nil {
		return err
	}
	for i, v := range vectors {
		n, f := target.Leaves[i], facts[i]
		if n.Leaf.Kind == column.Bytes && f.Bytes < int64(len(v.Buf)) {
			return fmt.Errorf("leaf %v: %d bytes where %d were said to be all", n.Path, len(v.Buf), f.Bytes)
		}
		if nulls := int64(v.Entries() - v.Values()); len(n.Path) == 1 && f.Nulls != nulls {
			return fmt.Errorf("leaf %v: %d nulls where %d were said to be", n.Path, nulls, f.Nulls)
		}
		if f.Bytes != exact[i].Bytes {
			return fmt.Errorf("leaf %v: %d bytes, %d after it was decoded", n.Path, f.Bytes, exact[i].Bytes)
		}
	}
	return nil
}

// checkOnly compares some records, read by themselves, with those among all.
func checkOnly(d *Data, target *schema.Message, vectors []*column.Vector) error {
	for _, step := range []int{1, 2, 7, d.Rows() + 1} {
		for from := range min(step, 3) {
			pass := Pass{Target: target, Only: []int32{}}
			for r := from; r < d.Rows(); r += step {
				pass.Only = append(pass.Only, int32(r))
			}
			var got []*column.Vector
			for i := range vectors {
				pass.Leaves, got = append(pass.Leaves, i), append(got, column.New(target.Leaves[i].Leaf))
			}
			pass.All = Expected{len(pass.Only), 1 << 20}
			if err := d.AppendColumns(got, pass); err != nil {
				return err
			}
			for i, v := range vectors {
				want, x := column.New(v.Leaf), column.NewIndex(v)
				for _, r := range pass.Only {
					want.Append(v, x.Span(int(r), int(r)+1))
				}
				if !sameVector(got[i], want) {
					return fmt.Errorf("leaf %v: records %v read alone differ from those among all", target.Leaves[i].Path, pass.Only)
				}
			}
		}
	}
	return nil
}

// checkAgainst compares all records of a block, whose schema must be bare, with what goavro makes of them, as far as typ has
// their fields; target must be one of typ.
func checkAgainst(codec *goavro.Codec, d *Data, typ *schema.Type, target *schema.Message, records [][]byte) error {
	all := make([]int, len(target.Leaves))
	for i := range all {
		all[i] = i
	}
	vectors, err := d.Columns(target, all)
	if err != nil {
		return err
	}
	if d.Rows() != len(records) {
		return fmt.Errorf("%d rows, want %d", d.Rows(), len(records))
	}
	a := newAssembler(vectors)
	for i, r := range records {
		want, rest, err := codec.NativeFromBinary(r)
		if err != nil || len(rest) > 0 {
			return fmt.Errorf("goavro: record %d: %w, %d bytes are left", i, err, len(rest))
		}
		got := map[string]any{}
		for _, f := range typ.Fields {
			got[f.Name] = a.get(target.Field(f.Name), f.Type)
		}
		want = prune(want, typ)
		if !equal(got, want) {
			return fmt.Errorf("record %d: got %v, want %v", i, got, want)
		}
	}
	if err := checkFacts(d, target, vectors); err != nil {
		return err
	}
	if err := checkOnly(d, target, vectors); err != nil {
		return err
	}
	for i, v := range vectors {
		if v.Rows() != len(records) || a.entry[i] != v.Entries() || a.value[i] != v.Values() {
			return fmt.Errorf("leaf %v: %d rows, %d of %d entries and %d of %d values used", target.Leaves[i].Path, v.Rows(), a.entry[i], v.Entries(), a.value[i], v.Values())
		}
		one, err := d.Columns(target, []int{i})
		if err != nil {
			return err
		}
		if !sameVector(one[0], v) {
			return fmt.Errorf("leaf %v read alone differs from itself read with the others", target.Leaves[i].Path)
		}
	}
	return nil
}

func sameVector(a, b *column.Vector) bool {
	if a.Leaf != b.Leaf || string(a.Rep) != string(b.Rep) || string(a.Def) != string(b.Def) || a.Values() != b.Values() {
		return false
	}
	for i := range a.Values() {
		if string(a.Value(i)) != string(b.Value(i)) {
			return false
		}
	}
	return true
}

// prune leaves of a decoded value what a type has of it.
func prune(v any, t *schema.Type) any {
	if t.Nullable {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		present := *t
		present.Nullable = false
		return map[string]any{unionName(t): prune(m[unionName(t)], &present)}
	}
	switch t.Kind {
	case schema.Record:
		out := map[string]any{}
		for _, f := range t.Fields {
			out[f.Name] = prune(v.(map[string]any)[f.Name], f.Type)
		}
		return out
	case schema.Map:
		out := map[string]any{}
		for k, e := range v.(map[string]any) {
			out[k] = prune(e, t.Elem)
		}
		return out
	case schema.Array:
		out := []any{}
		for _, e := range v.([]any) {
			out = append(out, prune(e, t.Elem))
		}
		return out
	default:
		return v
	}
}
