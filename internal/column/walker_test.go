package column_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/hudifs/hudifs/internal/column"
)

// TestWalkerAgreesWithIndex walks random vectors in random strides.
func TestWalkerAgreesWithIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := column.Leaf{
			Kind:   rapid.SampledFrom([]column.Kind{column.Int32, column.Bytes}).Draw(t, "kind"),
			MaxRep: rapid.Uint8Range(0, 2).Draw(t, "rep"),
		}
		l.MaxDef = rapid.Uint8Range(l.MaxRep, 3).Draw(t, "def")
		v := column.New(l)
		for i := range rapid.IntRange(0, 60).Draw(t, "entries") {
			rep := rapid.Uint8Range(0, l.MaxRep).Draw(t, "r")
			if i == 0 {
				rep = 0
			}
			def := rapid.Uint8Range(0, l.MaxDef).Draw(t, "d")
			if l.MaxRep > 0 && rep > 0 && def == 0 {
				def = 1
			}
			v.AppendLevels(rep, def)
			if def == l.MaxDef {
				v.AppendValue([]byte{1, 2, 3, byte(i)})
			}
		}
		x, w := column.NewIndex(v), column.NewWalker(v)
		for row := 0; row < x.Rows(); {
			n := rapid.IntRange(1, x.Rows()-row).Draw(t, "stride")
			if got, want := w.Next(n), x.Span(row, row+n); got != want {
				t.Fatalf("rows %d to %d: %+v, want %+v", row, row+n, got, want)
			}
			row += n
		}
	})
}
