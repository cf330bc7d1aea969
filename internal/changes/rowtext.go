package changes

import (
	"encoding/base64"
	"encoding/binary"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// appendRow writes a row as Jackson prints the map that Hudi makes of a Spark row (spark: InternalRowToJsonStringConverter): without
// nulls, times in microseconds, dates in days, bytes in Base64. Of decimals it tells only whether they are zero: Jackson sees
// no more of Spark's class for them. order is that of the columns.
//
// Of nested columns 0.x prints the raw memory that they lie in; they are shown as 1.x does.
func appendRow(b []byte, fields []value, order []int) []byte {
	b = append(b, '{')
	first := true
	for _, i := range order {
		b, first = appendEntry(b, fields[i].node.Name, fields[i], first)
	}
	return append(b, '}')
}

// appendEntry writes an entry of an object, unless it is null.
func appendEntry(b []byte, name string, v value, first bool) (out []byte, stillFirst bool) {
	if v.null {
		return b, first
	}
	if !first {
		b = append(b, ',')
	}
	b = append(appendRowString(b, name), ':')
	return appendRowValue(b, v), false
}

func appendRowValue(b []byte, v value) []byte {
	if v.null {
		return append(b, "null"...)
	}
	switch v.node.Shape {
	case schema.StructShape:
		names := make([]string, len(v.items))
		for i, f := range v.items {
			names[i] = f.node.Name
		}
		return appendScalaMap(b, names, func(i int) value { return v.items[i] })
	case schema.MapShape:
		return appendScalaMap(b, keysOf(v), func(i int) value { return v.items[2*i+1] })
	case schema.ListShape:
		b = append(b, '[')
		for i, item := range v.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendRowValue(b, item)
		}
		return append(b, ']')
	case schema.LeafShape:
	}
	return appendRowLeaf(b, v)
}

func appendScalaMap(b []byte, keys []string, get func(i int) value) []byte {
	b = append(b, '{')
	first := true
	for _, i := range immutableMapOrder(keys) {
		b, first = appendEntry(b, keys[i], get(i), first)
	}
	return append(b, '}')
}

func appendRowLeaf(b []byte, v value) []byte {
	s := v.node.Scalar
	switch {
	case s.Text:
		return appendRowString(b, string(v.bytes))
	case s.Logical == schema.Decimal:
		b = append(b, `{"zero":`...)
		b = strconv.AppendBool(b, s.Unscaled(v.bytes).Sign() == 0)
		return append(b, '}')
	case s.Logical == schema.TimestampMillis || s.Logical == schema.LocalTimestampMillis:
		return strconv.AppendInt(b, int64(binary.LittleEndian.Uint64(v.bytes))*1000, 10)
	case s.Kind == column.Bytes || s.Kind == column.Fixed:
		return append(base64.StdEncoding.AppendEncode(append(b, '"'), v.bytes), '"')
	}
	return appendNumber(b, s, v.bytes)
}

func appendRowString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		if r <= 0x1f || r == '"' || r == '\\' {
			b = appendEscape(b, r)
		} else {
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// immutableMapOrder is the order in which Scala's immutable Map goes through keys that were added in their order: that order up to four, beyond it
// that of a trie of hashes (scala: HashMap.HashTrieMap).
func immutableMapOrder(keys []string) []int {
	if len(keys) <= 4 {
		return orderBy(keys, func(string) uint32 { return 0 })
	}
	return orderBy(keys, func(key string) uint32 {
		h := uint32(stringHash(key))
		h += ^(h << 9)
		h ^= h >> 14
		h += h << 4
		h ^= h >> 10
		// Five bits choose a branch on each level, the lowest ones first.
		rank := uint32(0)
		for level := 0; level < 30; level += 5 {
			rank = rank<<5 | h>>level&31
		}
		return rank<<2 | h>>30
	})
}

// mutableMapOrder is the order in which Scala's mutable HashMap goes through keys that were put into it in their order (scala: HashTable).
func mutableMapOrder(keys []string) []int {
	const least, mix, seed = 16, 0x9e3775cd, 4
	table := make([][]int, least)
	index := func(key string, size int) uint32 {
		h := bits.ReverseBytes32(uint32(stringHash(key))*mix) * mix
		return bits.RotateLeft32(h, -seed) >> bits.LeadingZeros32(uint32(size-1)) & uint32(size-1)
	}
	count := 0
	for i, key := range keys {
		n := len(table)
		// The newest entry of a bucket comes first, until the table grows, which turns buckets over.
		at := index(key, n)
		table[at] = append([]int{i}, table[at]...)
		if count++; count > n*3/4 {
			grown := make([][]int, 2*n)
			for _, bucket := range slices.Backward(table) {
				for _, k := range bucket {
					to := index(keys[k], 2*n)
					grown[to] = append([]int{k}, grown[to]...)
				}
			}
			table = grown
		}
	}
	var out []int
	for _, bucket := range slices.Backward(table) {
		out = append(out, bucket...)
	}
	return out
}
