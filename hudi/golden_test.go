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
		{"t6_mor_logs", "3df9f4e2a58a178798da0bf661190abb38cee2fc34e0e2b89f2d47f708559b0e"},
		{"t8_types", "b078d4008497df5b7135eaf3f496926e30035b0b109ab16486cdbc47a5fb78bc"},
		{"t9_mor_logs", "65e81787eb94a364602c8a4b7ce6b2a1c499eb75f1a1785526b175ed5c228473"},
		{"t9_types", "0b2e9d5addfafd1c8a2525c9abaa789d8d325fdf04734f6d78fffd56da5a668c"},
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
