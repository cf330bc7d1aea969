package timeline

import (
	"errors"
	"maps"
	"testing"
)

func TestParseProperties(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       map[string]string
	}{
		{"empty", "", map[string]string{}},
		{"plain", "a=b\n", map[string]string{"a": "b"}},
		{"no line end", "a=b", map[string]string{"a": "b"}},
		{"separators", "a=1\nb:2\nc 3\nd = 4\ne\t:\t5\nf==6\ng= =7", map[string]string{"a": "1", "b": "2", "c": "3", "d": "4", "e": "5", "f": "=6", "g": "=7"}},
		{"comments and blanks", "#a=1\n  !b=2\n\n \t\n c=3\n", map[string]string{"c": "3"}},
		{"a comment does not continue", "#a\\\nb=1", map[string]string{"b": "1"}},
		{"line ends", "a=1\rb=2\r\nc=3", map[string]string{"a": "1", "b": "2", "c": "3"}},
		{"escapes", `s={"type"\:"record"\=\#\!}` + "\n" + `t=\t\n\r\f\x\\`, map[string]string{"s": `{"type":"record"=#!}`, "t": "\t\n\r\fx\\"}},
		{"escaped key", `a\:b\=c\ d=1`, map[string]string{"a:b=c d": "1"}},
		{"leading blank of a value", `a=\  b`, map[string]string{"a": "  b"}},
		{"trailing blanks stay", "a=b  \n", map[string]string{"a": "b  "}},
		{"unicode", `a=\u00e9\uD83D\uDE00`, map[string]string{"a": "é😀"}},
		{"Latin 1", "a=\xe9", map[string]string{"a": "é"}},
		{"continuation", "a=1,\\\n   2,\\\r\n\t3\nb=4", map[string]string{"a": "1,2,3", "b": "4"}},
		{"continuation in a key", "a\\\n b=1", map[string]string{"ab": "1"}},
		{"continuation before a value", "a=\\\n   b", map[string]string{"a": "b"}},
		{"even backslashes end the line", "a=b\\\\\nc=d", map[string]string{"a": `b\`, "c": "d"}},
		{"backslash at the end", `a=b\`, map[string]string{"a": "b"}},
		{"later wins", "a=1\na=2", map[string]string{"a": "2"}},
		{"no value", "a\nb=\n", map[string]string{"a": "", "b": ""}},
		{"no key", "=1", map[string]string{"": "1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseProperties("f", []byte(c.text))
			if err != nil || !maps.Equal(got, c.want) {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestParsePropertiesDamage(t *testing.T) {
	for text, offset := range map[string]int64{`a=\u12`: 6, "ok=1\na=\\uzz11": 9, `\u`: 2} {
		_, err := parseProperties("f", []byte(text))
		corrupt, ok := errors.AsType[*CorruptError](err)
		if !ok || corrupt.Offset != offset || corrupt.File != "f" {
			t.Errorf("%q: got %v, want a CorruptError at byte %d", text, err, offset)
		}
	}
}

func FuzzProperties(f *testing.F) {
	f.Add([]byte(propertiesText("a\\:b=\\u00e9 c\\\n  d")))
	f.Add([]byte("#\n!\n =\\"))
	f.Fuzz(func(t *testing.T, data []byte) {
		props, err := parseProperties("f", data)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		size := 0
		for key, value := range props {
			size += len(key) + len(value)
		}
		// A Latin 1 byte takes two in UTF-8.
		if size > 2*len(data) {
			t.Errorf("%d bytes from %d", size, len(data))
		}
		if err == nil {
			_, _ = newConfig("f", props)
		}
	})
}
