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
		{"t6_mor_logs", "1b97502541eef83a3244c250a3f304dac999a24e81152116bd6330ecbb600593"},
		{"t8_types", "ebc70b0e55cb09eb117ab40753eb796dc755dba92801eecb80dba8affe7399de"},
		{"t9_mor_logs", "0eee5cefbd7d5fd258d20e991ef03533d60482a80ff7b45458c1c0ce509daa11"},
		{"t9_types", "eb146615adeefb4895a53309df43b188c438e9ccf8267bc3bfe52ba8286ea87d"},
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
