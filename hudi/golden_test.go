package hudi_test

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/hudifs/hudifs/hudi"
)

// The bytes of rendered files are part of their IDs' meaning: caches and other hosts count on them. Where a hash differs because of a change that
// was meant, render.Version must grow, and the hashes here follow.
func TestBytesStayTheSame(t *testing.T) {
	for _, c := range []struct{ table, want string }{
		{"t6_mor_logs", "571739e7c583e07074c09bfbf6dac0e0e305f002a143d40232a0156430c936b3"},
		{"t8_types", "6c28bcc6665b3a9ad21c1505ea97cae5d6ae2b36a8109d3069e35d904c071795"},
		{"t9_mor_logs", "9fd3a5bf81e2cd149d22e59c768eacd7013cd19e6a46f5ae542674bfd9949422"},
		{"t9_types", "31027e2d2b5fd925d49fe85d1e9294cb967db8ce7c7fefaadb3224f665f30566"},
	} {
		r := testTable(t, c.table)
		table, err := hudi.Open(t.Context(), r.store(), nil)
		if err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		rendered := 0
		for _, q := range []hudi.Query{hudi.Latest(), hudi.Incremental("000", "latest")} {
			v, err := table.View(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			files, err := filesOf(t.Context(), v)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if f.Details().AsIs {
					continue
				}
				b, err := bytesOf(t.Context(), r.store(), f)
				if err != nil {
					t.Fatal(err)
				}
				h.Write(b)
				rendered++
			}
		}
		if got := fmt.Sprintf("%x", h.Sum(nil)); got != c.want || rendered == 0 {
			t.Errorf("%s: %d rendered files with hash %s, want %s", c.table, rendered, got, c.want)
		}
	}
}
