package changes

import (
	"math/big"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// appendRecord writes a record as Avro's Java library prints it, nulls and blanks included (avro: GenericData.toString).
// It is no JSON always: a decimal of fixed width is a list of bytes.
func appendRecord(b []byte, t *schema.Type, fields []value, hash func(string) int32) []byte {
	b = append(b, '{')
	for i, f := range t.Fields {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(appendAvroString(b, f.Name), ": "...)
		b = appendAvro(b, f.Type, fields[i], hash)
	}
	return append(b, '}')
}

func appendAvro(b []byte, t *schema.Type, v value, hash func(string) int32) []byte {
	switch {
	case v.null:
		return append(b, "null"...)
	case t.Kind == schema.Record:
		return appendRecord(b, t, v.items, hash)
	case t.Kind == schema.Array:
		b = append(b, '[')
		for i, item := range v.items {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = appendAvro(b, t.Elem, item, hash)
		}
		return append(b, ']')
	case t.Kind == schema.Map:
		b = append(b, '{')
		for n, i := range hashMapOrder(keysOf(v), hash) {
			if n > 0 {
				b = append(b, ", "...)
			}
			b = append(appendAvroString(b, string(v.items[2*i].bytes)), ": "...)
			b = appendAvro(b, t.Elem, v.items[2*i+1], hash)
		}
		return append(b, '}')
	}
	return appendAvroLeaf(b, t, v)
}

func keysOf(m value) []string {
	var out []string
	for i := 0; i < len(m.items); i += 2 {
		out = append(out, string(m.items[i].bytes))
	}
	return out
}

func appendAvroLeaf(b []byte, t *schema.Type, v value) []byte {
	s := v.node.Scalar
	switch t.Kind {
	case schema.String, schema.Enum:
		return appendAvroString(b, string(v.bytes))
	case schema.Bytes:
		raw := v.bytes
		if s.Logical == schema.Decimal {
			raw = twosComplement(s.Unscaled(v.bytes), 0)
		}
		return appendAvroString(b, latin1(raw))
	case schema.Fixed:
		raw := v.bytes
		if s.Logical == schema.Decimal {
			raw = twosComplement(s.Unscaled(v.bytes), t.Size)
		}
		b = append(b, '[')
		for i, c := range raw {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = strconv.AppendInt(b, int64(int8(c)), 10)
		}
		return append(b, ']')
	default:
		return appendNumber(b, s, v.bytes)
	}
}

// appendNumber writes booleans and numbers as both Avro and Jackson do: what is no number in JSON in quotes.
func appendNumber(b []byte, s schema.Scalar, v []byte) []byte {
	s.Logical = schema.None // dates and times are numbers
	text := s.TextOf(v)
	if s.Kind == column.Float || s.Kind == column.Double {
		switch text {
		case "NaN", "Infinity", "-Infinity":
			return append(append(append(b, '"'), text...), '"')
		}
	}
	return append(b, text...)
}

// twosComplement is a number in big-endian bytes: as many as asked for, or as few as hold it.
func twosComplement(v *big.Int, size int) []byte {
	if size == 0 {
		bits := v.BitLen()
		if v.Sign() < 0 {
			bits = new(big.Int).Not(v).BitLen()
		}
		size = bits/8 + 1
	}
	if v.Sign() < 0 {
		v = new(big.Int).Add(v, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
	}
	return v.FillBytes(make([]byte, size))
}

func latin1(b []byte) string {
	out := make([]rune, len(b))
	for i, c := range b {
		out[i] = rune(c)
	}
	return string(out)
}

const upperHex = "0123456789ABCDEF"

// appendAvroString escapes as Avro does (avro: GenericData.writeEscapedString).
func appendAvroString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r <= 0x1f || r == '"' || r == '\\':
			b = appendEscape(b, r)
		case r >= 0x7f && r <= 0x9f || r >= 0x2000 && r <= 0x20ff:
			b = appendUnicode(b, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// appendEscape escapes what JSON demands to be escaped.
func appendEscape(b []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(b, '\\', byte(r))
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	return appendUnicode(b, r)
}

func appendUnicode(b []byte, r rune) []byte {
	return append(b, '\\', 'u', upperHex[r>>12&0xf], upperHex[r>>8&0xf], upperHex[r>>4&0xf], upperHex[r&0xf])
}

// stringHash is that of Java's String, bytesHash that of Avro's Utf8: both differ where text is not ASCII.
func stringHash(s string) int32 {
	h := int32(0)
	for _, c := range utf16.Encode([]rune(s)) {
		h = 31*h + int32(c)
	}
	return h
}

func bytesHash(s string) int32 {
	h := int32(0)
	for i := range len(s) {
		h = 31*h + int32(int8(s[i]))
	}
	return h
}

// hashMapOrder is the order in which a Java HashMap, made for so many entries, goes through keys that were put into it in their order.
func hashMapOrder(keys []string, hash func(string) int32) []int {
	size := 1
	for size < len(keys) {
		size *= 2
	}
	for len(keys) > size*3/4 {
		size *= 2
	}
	return orderBy(keys, func(key string) uint32 {
		h := uint32(hash(key))
		return (h ^ h>>16) & uint32(size-1)
	})
}

func orderBy(keys []string, rank func(string) uint32) []int {
	order := make([]int, len(keys))
	ranks := make([]uint32, len(keys))
	for i, k := range keys {
		order[i], ranks[i] = i, rank(k)
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(int64(ranks[a]) - int64(ranks[b])) })
	return order
}
