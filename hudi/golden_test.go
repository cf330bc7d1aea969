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
		{"t6_mor_logs", "819adab155b7a54966d8e4829b214db15787b9de1967803e653f61cc486c3388"},
		{"t8_types", "ce91106f1fda51cfbd2558e748de6aeae86fd5f3a0e1ba1a9925b9ec1acf10e3"},
		{"t9_mor_logs", "df920484e86ce7e03ee93019f0e5218baab6a9856aa8d3b1e68241c029563b65"},
		{"t9_types", "7b79bea2fad67adb68d4b2882f1eb01452ecde9fbde5dca35b5c5dc8387696ea"},
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
