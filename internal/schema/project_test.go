package schema_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// The model: schemas as trees that know their form, and rows as nested Go values: nil, a byte slice, a record (by name), or a
// list, which is what a map is too, of records of key and value.
type (
	formKind int
	form     struct {
		kind     formKind
		name     string
		optional bool
		typ      format.Type
		two      bool // a list of two levels
		children []*form
	}
	record map[string]any
	list   []any
)

const (
	leafForm formKind = iota
	recordForm
	listForm
	mapForm
)

func (f *form) element() element {
	r := required
	if f.optional {
		r = optional
	}
	switch f.kind {
	case leafForm:
	case recordForm:
		g := group(r, f.name)
		for _, c := range f.children {
			g.children = append(g.children, c.element())
		}
		return g
	case listForm:
		item := f.children[0].element()
		if f.two {
			item.Name, item.RepetitionType = "array", thrift.New(repeated)
			return group(r, f.name, item).as(deprecated.List)
		}
		return group(r, f.name, group(repeated, "list", item)).as(deprecated.List)
	case mapForm:
		return group(r, f.name, group(repeated, "key_value", f.children[0].element(), f.children[1].element())).as(deprecated.Map)
	}
	return leaf(r, f.name, f.typ)
}

// shredder makes columns of rows as the Dremel paper says, one row after the other.
type shredder struct {
	columns []*column.Vector
	next    int
}

func (s *shredder) row(fields []*form, row record) {
	s.next = 0
	for _, f := range fields {
		s.value(f, row[f.name], 0, 0, 0)
	}
}

// value adds a value. rep is the level of its first entry, depth that of the innermost list around it.
func (s *shredder) value(f *form, v any, rep, depth, def uint8) {
	if f.optional {
		if v == nil {
			s.nothing(f, rep, def)
			return
		}
		def++
	}
	switch f.kind {
	case leafForm:
		c := s.columns[s.next]
		s.next++
		c.AppendLevels(rep, def)
		c.AppendValue(v.([]byte))
	case recordForm:
		for _, c := range f.children {
			s.value(c, v.(record)[c.name], rep, depth, def)
		}
	case listForm, mapForm:
		items := v.(list)
		if len(items) == 0 {
			s.nothing(f, rep, def)
			return
		}
		first := s.next
		for i, item := range items {
			s.next = first
			if i > 0 {
				rep = depth + 1
			}
			if f.kind == listForm {
				s.value(f.children[0], item, rep, depth+1, def+1)
				continue
			}
			for _, c := range f.children {
				s.value(c, item.(record)[c.name], rep, depth+1, def+1)
			}
		}
	}
}

// nothing adds an entry without a value to each column below a node.
func (s *shredder) nothing(f *form, rep, def uint8) {
	if f.kind == leafForm {
		s.columns[s.next].AppendLevels(rep, def)
		s.next++
		return
	}
	for _, c := range f.children {
		s.nothing(c, rep, def)
	}
}

func messageOf(t testing.TB, fields []*form) *schema.Message {
	t.Helper()
	var es []element
	for _, f := range fields {
		es = append(es, f.element())
	}
	return message(t, es...)
}

func shred(m *schema.Message, fields []*form, rows []record) []*column.Vector {
	var s shredder
	for _, l := range m.Leaves {
		s.columns = append(s.columns, column.New(l.Leaf))
	}
	for _, r := range rows {
		s.row(fields, r)
	}
	return s.columns
}

// project brings one value into the form of another schema, row-wise. It says what stands in the way.
func project(v any, from, to *form) (any, error) {
	if v == nil {
		if !to.optional {
			return nil, fmt.Errorf("null for %s", to.name)
		}
		return nil, nil
	}
	switch to.kind {
	case listForm:
	case leafForm:
		return widen(v.([]byte), from.typ, to.typ), nil
	case recordForm:
		return projectFields(v.(record), from.children, to.children)
	case mapForm:
		var out list
		for _, item := range v.(list) {
			e, err := projectFields(item.(record), from.children, to.children)
			if err != nil {
				return nil, err
			}
			out = append(out, e)
		}
		return out, nil
	}
	var out list
	for _, item := range v.(list) {
		e, err := project(item, from.children[0], to.children[0])
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func projectFields(r record, from, to []*form) (record, error) {
	out := record{}
	for _, t := range to {
		i := slices.IndexFunc(from, func(f *form) bool { return f.name == t.name })
		if i < 0 {
			continue
		}
		v, err := project(r[t.name], from[i], t)
		if err != nil {
			return nil, err
		}
		out[t.name] = v
	}
	return out, nil
}

func widen(b []byte, from, to format.Type) []byte {
	if from == to {
		return b
	}
	n := int64(int32(binary.LittleEndian.Uint32(b)))
	if to == format.Int64 {
		return binary.LittleEndian.AppendUint64(nil, uint64(n))
	}
	return binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(n)))
}

// drawForm draws a column; depth bounds what lies below.
func drawForm(t *rapid.T, name string, depth int) *form {
	f := &form{name: name, optional: rapid.Bool().Draw(t, "optional")}
	if depth > 0 {
		f.kind = rapid.SampledFrom([]formKind{leafForm, recordForm, listForm, mapForm}).Draw(t, "kind")
	}
	switch f.kind {
	case leafForm:
		f.typ = rapid.SampledFrom([]format.Type{format.Int32, format.Int64, format.ByteArray}).Draw(t, "type")
	case recordForm:
		f.children = drawForms(t, depth-1)
	case listForm:
		f.two = rapid.Bool().Draw(t, "two levels")
		f.children = []*form{drawForm(t, "element", depth-1)}
		if f.two {
			f.children[0].optional = false
		}
	case mapForm:
		key := &form{name: "key", typ: format.ByteArray}
		f.children = []*form{key, drawForm(t, "value", depth-1)}
	}
	return f
}

func drawForms(t *rapid.T, depth int) []*form {
	var out []*form
	for _, name := range "abc"[:rapid.IntRange(1, 3).Draw(t, "fields")] {
		out = append(out, drawForm(t, string(name), depth))
	}
	return out
}

// evolve draws another schema for the same data: other forms, fields that come, go and move, wider numbers. Where kept is set nothing
// goes, and what may be null stays so, so that every row can be had back.
func evolve(t *rapid.T, fields []*form, kept bool) []*form {
	var out []*form
	for _, f := range fields {
		if !kept && len(fields) > 1 && rapid.IntRange(0, 3).Draw(t, "drop") == 0 {
			continue
		}
		out = append(out, evolveOne(t, f, kept))
	}
	for range rapid.IntRange(0, 1).Draw(t, "new") {
		fresh := drawForm(t, "new", 2)
		fresh.optional = true
		out = append(out, fresh)
	}
	if len(out) == 0 {
		out = []*form{{name: "new", optional: true, typ: format.Int64}}
	}
	return rapid.Permutation(out).Draw(t, "order")
}

func evolveOne(t *rapid.T, f *form, kept bool) *form {
	n := *f
	if !kept || !f.optional {
		n.optional = rapid.Bool().Draw(t, "optional")
	}
	switch f.kind {
	case leafForm:
		if !kept && f.typ == format.Int32 {
			n.typ = rapid.SampledFrom([]format.Type{format.Int32, format.Int64, format.Double}).Draw(t, "type")
		}
	case recordForm:
		n.children = evolve(t, f.children, kept)
	case listForm:
		n.two = rapid.Bool().Draw(t, "two levels") && (!kept || !f.children[0].optional)
		n.children = []*form{evolveOne(t, f.children[0], kept)}
		if n.two {
			n.children[0].optional = false
		}
	case mapForm:
		n.children = []*form{f.children[0], evolveOne(t, f.children[1], kept)}
	}
	return &n
}

func drawValue(t *rapid.T, f *form) any {
	if f.optional && rapid.IntRange(0, 3).Draw(t, "null") == 0 {
		return nil
	}
	switch f.kind {
	case recordForm:
		return drawRecord(t, f.children)
	case listForm, mapForm:
		out := list{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			if f.kind == listForm {
				out = append(out, drawValue(t, f.children[0]))
			} else {
				out = append(out, drawRecord(t, f.children))
			}
		}
		return out
	case leafForm:
	}
	n := rapid.Int32().Draw(t, "value")
	switch f.typ {
	case format.Int32:
		return binary.LittleEndian.AppendUint32(nil, uint32(n))
	case format.Int64:
		return binary.LittleEndian.AppendUint64(nil, uint64(n)<<20)
	default:
	}
	return fmt.Append(nil, n)[:rapid.IntRange(0, 1).Draw(t, "length")]
}

func drawRecord(t *rapid.T, fields []*form) record {
	r := record{}
	for _, f := range fields {
		r[f.name] = drawValue(t, f)
	}
	return r
}

func apply(maps []schema.LeafMap, target *schema.Message, src []*column.Vector, rows int) ([]*column.Vector, error) {
	out := make([]*column.Vector, len(maps))
	for i, l := range maps {
		out[i] = column.New(target.Leaves[i].Leaf)
		switch {
		case l.Source < 0:
			out[i].AppendNulls(rows)
		case l.Identity():
			out[i].Append(src[l.Source], src[l.Source].All())
		default:
			if err := l.Apply(out[i], src[l.Source]); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func dumpAll(m *schema.Message, columns []*column.Vector) string {
	var b strings.Builder
	for i, c := range columns {
		fmt.Fprintf(&b, "%s: %s\n", strings.Join(m.Leaves[i].Path, "."), dump(c))
	}
	return b.String()
}

// TestProjectIsRowWise compares projected columns with columns of rows that were projected one by one.
func TestProjectIsRowWise(t *testing.T) {
	failed := 0
	rapid.Check(t, func(rt *rapid.T) {
		from := drawForms(rt, 3)
		to := evolve(rt, from, false)
		a, b := messageOf(t, from), messageOf(t, to)
		var rows, want []record
		var wantErr error
		for range rapid.IntRange(0, 5).Draw(rt, "rows") {
			rows = append(rows, drawRecord(rt, from))
			r, err := projectFields(rows[len(rows)-1], from, to)
			if err != nil {
				wantErr = err
			}
			want = append(want, r)
		}
		src := shred(a, from, rows)
		maps, err := schema.Project(a, b)
		if err != nil {
			// What must not be null can be missing only as long as no record is there that lacks it.
			if !strings.Contains(err.Error(), "missing, and must not be null") {
				rt.Fatalf("%v\n%s\n%s", err, describe(a), describe(b))
			}
			return
		}
		got, err := apply(maps, b, src, len(rows))
		if (err != nil) != (wantErr != nil) {
			rt.Fatalf("error %v, row by row %v\nfrom %sto %scolumns %s", err, wantErr, describe(a), describe(b), dumpAll(a, src))
		}
		if err != nil {
			failed++
			wantInvalid(t, err, "a null where")
			return
		}
		if got, want := dumpAll(b, got), dumpAll(b, shred(b, to, want)); got != want {
			rt.Fatalf("from %sto %ssource:\n%s\ngot:\n%s\nwant:\n%s", describe(a), describe(b), dumpAll(a, src), got, want)
		}
	})
	if failed == 0 {
		t.Error("no case had a null that can't be held")
	}
}

// TestProjectBack projects to another form of the same data and back.
func TestProjectBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		from := drawForms(rt, 3)
		a, b := messageOf(t, from), messageOf(t, evolve(rt, from, true))
		var rows []record
		for range rapid.IntRange(0, 5).Draw(rt, "rows") {
			rows = append(rows, drawRecord(rt, from))
		}
		src := shred(a, from, rows)
		at := src
		for _, step := range [][2]*schema.Message{{a, b}, {b, a}} {
			maps, err := schema.Project(step[0], step[1])
			if err != nil {
				rt.Fatalf("%v\n%s\n%s", err, describe(step[0]), describe(step[1]))
			}
			if at, err = apply(maps, step[1], at, len(rows)); err != nil {
				rt.Fatalf("%v\n%s\n%s", err, describe(step[0]), describe(step[1]))
			}
		}
		if got, want := dumpAll(a, at), dumpAll(a, src); got != want {
			rt.Fatalf("by way of %s\ngot:\n%s\nwant:\n%s", describe(b), got, want)
		}
	})
}

// The levels of each way in which a column and its list can be required or optional, written out.
func TestProjectLevels(t *testing.T) {
	one, two := "01000000", "02000000"
	num := func(r format.FieldRepetitionType, name string) element { return leaf(r, name, format.Int32) }
	three := func(r format.FieldRepetitionType, item element) element {
		return group(r, "l", group(repeated, "list", item)).as(deprecated.List)
	}
	flat := func(r format.FieldRepetitionType) element {
		return group(r, "l", num(repeated, "array")).as(deprecated.List)
	}
	for _, tt := range []struct {
		name     string
		from, to element
		entries  string // rep/def pairs, values counted up from 1
		want     string // or the error
	}{
		{"required", num(required, "a"), num(required, "a"), "0/0 0/0", "0/0=" + one + " 0/0=" + two + " "},
		{"to optional", num(required, "a"), num(optional, "a"), "0/0 0/0", "0/1=" + one + " 0/1=" + two + " "},
		{"to required", num(optional, "a"), num(required, "a"), "0/1", "0/0=" + one + " "},
		{"null to required", num(optional, "a"), num(required, "a"), "0/1 0/0", "column a: a null where"},
		{"optional", num(optional, "a"), num(optional, "a"), "0/0 0/1", "0/0 0/1=" + one + " "},
		{
			"three levels to two", three(optional, num(optional, "element")), flat(optional),
			"0/0 0/1 0/3 1/3", "0/0 0/1 0/2=" + one + " 1/2=" + two + " ",
		},
		{"null element to two levels", three(optional, num(optional, "element")), flat(optional), "0/2", "a null where"},
		{"null list to a required one", three(optional, num(optional, "element")), flat(required), "0/0", "a null where"},
		{"empty list to a required one", three(optional, num(optional, "element")), flat(required), "0/1 0/3", "0/0 0/1=" + one + " "},
		{
			"two levels to three", flat(required), three(optional, num(optional, "element")),
			"0/0 0/1 1/1", "0/1 0/3=" + one + " 1/3=" + two + " ",
		},
		{
			"a field that is missing below a list",
			three(optional, group(optional, "element", num(optional, "a"))), three(optional, group(optional, "element", num(optional, "b"))),
			"0/0 0/1 0/2 1/3 1/4", "0/0 0/1 0/2 1/3 1/3 ",
		},
		{
			"a list that is missing below a list, its parent known by a list",
			three(optional, group(required, "element", group(optional, "x", num(repeated, "array")).as(deprecated.List))),
			three(optional, group(required, "element", group(optional, "y", num(repeated, "array")).as(deprecated.List))),
			"0/0 0/1 0/2 1/3 1/4 2/4", "0/0 0/1 0/2 1/2 1/2 ",
		},
		{
			"a record that has nothing in common", group(optional, "g", num(optional, "a")), group(optional, "g", num(optional, "b")),
			"0/0 0/1 0/2", "0/0 0/1 0/1 ",
		},
		{
			"a missing record that must be there, of what need not", group(required, "g", num(optional, "a")),
			group(required, "g", group(required, "h", num(optional, "b"))), "0/0 0/1", "0/0 0/0 ",
		},
		{
			"map to map of other names",
			group(optional, "m", group(repeated, "key_value", text(required, "key"), num(optional, "value"))).as(deprecated.Map),
			group(optional, "m", group(repeated, "map", text(required, "k"), num(optional, "v"))).as(deprecated.Map),
			"0/0 0/1 0/2 1/3", "0/0 0/1 0/2 1/3=" + one + " ",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := message(t, tt.from), message(t, tt.to)
			maps, err := schema.Project(a, b)
			if err != nil {
				t.Fatal(err)
			}
			l := maps[len(maps)-1]
			src, dst := column.New(a.Leaves[l.Source].Leaf), column.New(b.Leaves[len(maps)-1].Leaf)
			for e := range strings.FieldsSeq(tt.entries) {
				var rep, def uint8
				fmt.Sscanf(e, "%d/%d", &rep, &def)
				src.AppendLevels(rep, def)
				if def == src.Leaf.MaxDef {
					src.AppendValue(binary.LittleEndian.AppendUint32(nil, uint32(src.Values()+1)))
				}
			}
			err = l.Apply(dst, src)
			if strings.Contains(tt.want, "a null where") {
				wantInvalid(t, err, tt.want)
				return
			}
			if err != nil || dump(dst) != tt.want {
				t.Errorf("%s, %v, want %s", dump(dst), err, tt.want)
			}
		})
	}
}

func TestProjectRefuses(t *testing.T) {
	num := leaf(optional, "a", format.Int32)
	for _, tt := range []struct {
		name     string
		from, to element
		want     string
	}{
		{"a number to a record", num, group(optional, "a", num), "a primitive cannot become a struct"},
		{"a record to a list", group(optional, "a", num), group(optional, "a", leaf(repeated, "array", format.Int32)).as(deprecated.List), "a struct cannot become a list"},
		{
			"a list to a map", group(optional, "a", leaf(repeated, "array", format.Int32)).as(deprecated.List),
			group(optional, "a", group(repeated, "kv", text(required, "key"), num)).as(deprecated.Map), "a list cannot become a map",
		},
		{"a narrower number", leaf(optional, "a", format.Int64), num, "INT64 cannot become INT32"},
		{"within records", group(optional, "g", text(optional, "a")), group(optional, "g", num), "string cannot become INT32"},
		{"a column that must be there", text(optional, "b"), text(required, "a"), "column a is missing"},
		{"a field that must be there", group(optional, "g", text(optional, "b")), group(optional, "g", text(optional, "b"), text(required, "a")), "column a is missing"},
		{"a record of a field that must be there", text(optional, "b"), group(required, "g", text(required, "a")), "column g is missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := schema.Project(message(t, tt.from), message(t, tt.to))
			wantInvalid(t, err, tt.want)
		})
	}
}

func TestLeafMaps(t *testing.T) {
	from := message(t, leaf(optional, "same", format.Int32), leaf(required, "tighter", format.Int32), leaf(optional, "wider", format.Int32),
		group(optional, "g", leaf(optional, "a", format.Int32)), leaf(required, "req", format.Int32))
	to := message(t, leaf(optional, "same", format.Int32), leaf(optional, "tighter", format.Int32), leaf(optional, "wider", format.Int64),
		group(optional, "g", leaf(optional, "b", format.Int32)), leaf(optional, "gone", format.Int32), leaf(required, "req", format.Int32))
	maps := must(schema.Project(from, to))(t)
	for i, want := range []struct {
		source                int
		identity, kept, nulls bool
	}{
		{0, true, true, false},
		{1, false, true, false},
		{2, false, false, false},
		{3, false, false, true},
		{-1, false, false, true},
		{4, true, true, false},
	} {
		l := maps[i]
		if l.Source != want.source || l.Identity() != want.identity || l.ValuesKept() != want.kept || l.Nulls() != want.nulls {
			t.Errorf("%s: source %d, identity %v, values kept %v, nulls %v, want %+v", to.Leaves[i].Name, l.Source, l.Identity(), l.ValuesKept(), l.Nulls(), want)
		}
	}
	// A dictionary: its values are cast once, and pages only number them.
	wide := maps[2]
	dictionary, cast := column.New(column.Leaf{Kind: column.Int32}), column.New(column.Leaf{Kind: column.Int64})
	dictionary.AppendValue([]byte{7, 0, 0, 0})
	if err := wide.ApplyValues(cast, dictionary); err != nil || dump(cast) != "0/0=0700000000000000 " {
		t.Errorf("dictionary: %s, %v", dump(cast), err)
	}
	page, out := column.New(column.Leaf{Kind: column.Int32, MaxDef: 1}), column.New(column.Leaf{Kind: column.Int32, MaxDef: 1})
	page.AppendLevels(0, 1)
	page.AppendValue([]byte{0, 0, 0, 0})
	page.AppendLevels(0, 0)
	if err := wide.ApplyIndexes(out, page); err != nil || dump(out) != "0/1=00000000 0/0 " {
		t.Errorf("page: %s, %v", dump(out), err)
	}
	bare := maps[3]
	group := column.New(from.Leaves[3].Leaf)
	group.AppendLevels(0, 2)
	group.AppendValue([]byte{0, 0, 0, 0})
	got := column.New(to.Leaves[3].Leaf)
	if err := bare.ApplyIndexes(got, group); err != nil || dump(got) != "0/1 " {
		t.Errorf("page of a missing column: %s, %v", dump(got), err)
	}
}
