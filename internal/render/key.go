package render

import (
	"fmt"

	"github.com/hudifs/hudifs/internal/schema"
)

// Key says where a row's record key is: in its meta field, or, for tables that do not fill it, in the columns that make it
// up (hudi-client-common: KeyGenUtils.getRecordKey).
type Key struct {
	// Fields are the record key columns of a table without meta fields, nil for others.
	Fields []string
}

type keyReader struct {
	names  []string
	leaves []*schema.Node
}

func newKeyReader(k Key, target *schema.Message) (*keyReader, error) {
	r := &keyReader{names: k.Fields}
	fields := k.Fields
	if fields == nil {
		fields = []string{schema.RecordKey}
	}
	for _, f := range fields {
		n := target.Find(f)
		if n == nil {
			return nil, fmt.Errorf("the table has no column %s, which its record keys are made of", f)
		}
		r.leaves = append(r.leaves, n)
	}
	return r, nil
}

func (r *keyReader) wanted() []int {
	var out []int
	for _, n := range r.leaves {
		out = append(out, n.Index)
	}
	return out
}

// key gives the record key of a row, as an appended-to buffer; ok is false where the row has none.
func (r *keyReader) key(b []byte, value func(leaf int) ([]byte, bool)) (key []byte, ok bool) {
	if len(r.leaves) == 1 {
		v, ok := value(r.leaves[0].Index)
		if !ok {
			return b, false
		}
		return append(b, text(r.leaves[0], v)...), true
	}
	for i, n := range r.leaves {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, r.names[i]...), ':')
		v, ok := value(n.Index)
		t := text(n, v)
		switch {
		case !ok:
			t = "__null__"
		case t == "":
			t = "__empty__"
		}
		b = append(b, t...)
	}
	return b, true
}

func text(n *schema.Node, v []byte) string {
	if n.Scalar.Text {
		return string(v)
	}
	if v == nil {
		return ""
	}
	return n.Scalar.TextOf(v)
}
