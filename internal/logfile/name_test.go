package logfile

import (
	"slices"
	"testing"
)

func TestParseName(t *testing.T) {
	const id = "04a7d0bd-0ba5-43b1-9b4e-d5e1ca3a8a8e-0"
	for name, want := range map[string]Name{
		"." + id + "_20261130012227812.log.2_0-1290-1328":     {id, "20261130012227812", "log", 2, "0-1290-1328", false},
		"." + id + "_20261130012227812.log.2_0-1290-1328.cdc": {id, "20261130012227812", "log", 2, "0-1290-1328", true},
		"." + id + "_001.log.10":                              {id, "001", "log", 10, "", false},
		".commits_.archive.1_1-0-1":                           {"commits", "", "archive", 1, "1-0-1", false},
		".files-0000-0_00000000000000000.log.1_0-0-0":         {"files-0000-0", "00000000000000000", "log", 1, "0-0-0", false},
	} {
		if got, ok := ParseName(name); !ok || got != want {
			t.Errorf("%s: got %+v, %v", name, got, ok)
		}
	}
	for _, name := range []string{
		"", ".", id + "_001.log.1", "." + id + "_001.log.1_0-1-1.marker.APPEND", "." + id + "_001.log.1_0-1-1.cdc.crc", ".." + id + "_001.log.1_0-1-1.crc",
		".foo.log.1", ".a.b_001.log.1", "._001.log.1", ".a_001.log.", ".a_001.log.-1", ".a_001.log.x", ".a_001.log.1_", ".a_001.log.1_0-1", ".a_001.log.1_0--1",
		".a_.log.1", ".a_001.txt.1", ".a_001.log.99999999999", ".a_b_001.log.1",
	} {
		if got, ok := ParseName(name); ok {
			t.Errorf("%s: got %+v, want none", name, got)
		}
	}
}

func TestCompare(t *testing.T) {
	sorted := []string{
		".a_001.log.9_0-1-1",
		".a_001.log.10",
		".a_001.log.10_0-10-1",
		".a_001.log.10_0-9-1",
		".a_001.log.10_0-9-1.cdc",
		".a_002.log.1_0-1-1",
		".a_0020.log.1_0-1-1",
	}
	var names []Name
	for _, s := range sorted {
		n, ok := ParseName(s)
		if !ok {
			t.Fatal(s)
		}
		names = append(names, n)
	}
	got := slices.Clone(names)
	slices.Reverse(got)
	slices.SortFunc(got, Compare)
	if !slices.Equal(got, names) {
		t.Errorf("got %v", got)
	}
	if Compare(names[0], names[0]) != 0 {
		t.Error("a name differs from itself")
	}
}
