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
		{"t6_mor_logs", "491b120560c0b98b825d7bb961816f414c36bb83e0cefcb3f28f8e1b1dc55cd4"},
		{"t8_types", "8de1676a066e356550d8d2094832ad5998ac79e10d44e11000dc03b7e9751f69"},
		{"t9_mor_logs", "a58b400da567e5d94a9c8fe83f06e1fb7f9d2d45b5bcaf32e319a67468e948b7"},
		{"t9_types", "73d3a57589d6782169709eaaaa6e41473a4a7c4781d034247a1a3d84c907cf68"},
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
