package timeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

func parseJSON(file string, data []byte) (map[string]any, error) {
	var m map[string]any
	if err := decodeJSON(file, data, 0, &m); err != nil {
		return nil, err
	}
	return m, nil
}

// decodeJSON decodes one value, which lies at an offset of a file, with nothing behind it.
func decodeJSON(file string, data []byte, at int64, v any) error {
	if n := countJSON(data); n > maxJSON {
		return corruptf(file, at, "expected at most %d values, found %d", maxJSON, n)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		offset := int64(len(data))
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			offset = syntax.Offset
		}
		return corruptf(file, at+offset, "expected a JSON object: %v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return corruptf(file, at+d.InputOffset(), "expected the end of the JSON object")
	}
	return nil
}

// countJSON bounds the number of values of a JSON text from above.
func countJSON(data []byte) int {
	n, quoted := 1, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == '[' || c == '{' || c == ':'):
			n++
		}
	}
	return n
}

// pickJSON decodes some fields of a JSON object. The others are passed over, which costs a hundredth of decoding them: of these it is only known
// that their strings end and their brackets match.
func pickJSON(file string, data []byte, names []string) (map[string]any, error) {
	s := jsonSkipper{data: data}
	picked := map[string]any{}
	bad := func() error { return corruptf(file, int64(s.pos), "expected a JSON object") }
	if s.next() != '{' {
		return nil, bad()
	}
	for first := true; ; first = false {
		c := s.next()
		if c == '}' && first {
			break
		}
		if !first {
			if c == '}' {
				break
			}
			if c != ',' {
				return nil, bad()
			}
			c = s.next()
		}
		start := s.pos - 1
		var name string
		if c != '"' || !s.skipString() || json.Unmarshal(data[start:s.pos], &name) != nil || s.next() != ':' {
			return nil, bad()
		}
		begin := s.pos
		if !s.skipValue() {
			return nil, bad()
		}
		if slices.Contains(names, name) {
			var v any
			if err := decodeJSON(file, data[begin:s.pos], int64(begin), &v); err != nil {
				return nil, err
			}
			picked[name] = v
		}
	}
	if len(bytes.Trim(data[s.pos:], " \t\r\n")) > 0 {
		return nil, corruptf(file, int64(s.pos), "expected the end of the JSON object")
	}
	return picked, nil
}

// jsonSkipper passes over JSON values.
type jsonSkipper struct {
	data []byte
	pos  int
	open []byte // the closing brackets that are awaited
}

// next is the next byte that is no space, 0 at the end.
func (s *jsonSkipper) next() byte {
	for s.pos < len(s.data) {
		c := s.data[s.pos]
		s.pos++
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c
		}
	}
	return 0
}

// skipString passes to the end of the string that has begun.
func (s *jsonSkipper) skipString() bool {
	for {
		n := bytes.IndexByte(s.data[s.pos:], '"')
		if n < 0 {
			return false
		}
		quote := s.pos + n
		escapes := 0
		for escapes < n && s.data[quote-1-escapes] == '\\' {
			escapes++
		}
		s.pos = quote + 1
		if escapes%2 == 0 {
			return true
		}
	}
}

// maxJSONDepth is more than enough for what Hudi nests.
const maxJSONDepth = 1000

// skipValue passes over one value.
func (s *jsonSkipper) skipValue() bool {
	switch c := s.next(); c {
	case '"':
		return s.skipString()
	case '{', '[':
		s.open = append(s.open[:0], c+2)
		return s.skipNested()
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 't', 'f', 'n':
		n := bytes.IndexAny(s.data[s.pos:], ",}] \n\r\t")
		if n < 0 {
			return false
		}
		s.pos += n
		return true
	}
	return false
}

// skipNested passes to the end of the outermost bracket that has been opened.
func (s *jsonSkipper) skipNested() bool {
	for len(s.open) > 0 {
		if s.pos == len(s.data) {
			return false
		}
		c := s.data[s.pos]
		s.pos++
		switch c {
		case '"':
			if !s.skipString() {
				return false
			}
		case '{', '[':
			if len(s.open) == maxJSONDepth {
				return false
			}
			s.open = append(s.open, c+2) // } and ] are two behind { and [
		case '}', ']':
			if s.open[len(s.open)-1] != c {
				return false
			}
			s.open = s.open[:len(s.open)-1]
		}
	}
	return true
}
