package timeline

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPickJSON(t *testing.T) {
	for text, want := range map[string]map[string]any{
		`{}`:                   {},
		" {\n\"a\" : \"x\" } ": {"a": "x"},
		`{"b":{"a":1},"a":{"a":[true]},"c":[{"a":"}"}]}`:                               {"a": map[string]any{"a": []any{true}}},
		`{"b":"\\","c":"\"]","d":"\\\"","\u0061":null,"e":-1.5e3}`:                     {"a": nil},
		`{"a":1,"b":2,"a":"last"}`:                                                     {"a": "last"},
		`{"b":` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + `,"a":"deep"}`: {"a": "deep"},
	} {
		got, err := pickJSON("f", []byte(text), []string{"a"})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%.80s: %v (-want +got):\n%s", text, err, diff)
		}
	}
	for _, text := range []string{
		``, `{`, `[]`, `{"a"}`, `{"a":}`, `{"a":1`, `{"a":1,}`, `{,"a":1}`, `{"a":1 "b":2}`, `{"a":1}x`, `{"b":"}`, `{"b":"\"}`, `{"b":[}]}`, `{"b":{]}`,
		`{"a":[1,]}`, `{"b":x}`, `{b:1}`, "{\"a\":1}\x00", `{"b":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`,
	} {
		if got, err := pickJSON("f", []byte(text), []string{"a"}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%.80s: %v, %v", text, got, err)
		}
	}
}

// What is sound for who decodes everything is so for who picks, and says the same.
func FuzzPickJSON(f *testing.F) {
	f.Add([]byte(`{"a":{"x":[1,"\\\"",{}]},"b":"é\u0061"}`))
	f.Add([]byte(`{"b":[[],{}],"a":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := parseJSON("f", data)
		got, pickErr := pickJSON("f", data, []string{"a"})
		if err != nil || all == nil {
			return
		}
		want := map[string]any{}
		if a, ok := all["a"]; ok {
			want["a"] = a
		}
		if diff := cmp.Diff(want, got); pickErr != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", data, pickErr, diff)
		}
	})
}
