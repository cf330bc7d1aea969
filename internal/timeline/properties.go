package timeline

import (
	"unicode/utf16"
)

// parseProperties reads the text form of java.util.Properties as Java itself does: ISO-8859-1, backslash escapes, logical
// lines that continue after an odd number of backslashes. Of several lines with one key the last wins.
func parseProperties(file string, data []byte) (map[string]string, error) {
	const most = 10_000 // keys; Hudi knows less than a thousand
	p := &propertiesParser{file: file, data: data}
	props := map[string]string{}
	for p.err == nil && p.nextLine() {
		if len(props) > most {
			return nil, corruptf(file, int64(p.pos), "expected at most %d keys", most)
		}
		key := p.token(true)
		p.separator()
		value := p.token(false)
		props[key] = value
	}
	return props, p.err
}

type propertiesParser struct {
	file  string
	data  []byte
	pos   int
	units []uint16
	err   error
}

// nextLine moves to the first character of the next line that is neither blank nor a comment.
func (p *propertiesParser) nextLine() bool {
	for p.pos < len(p.data) {
		switch c := p.data[p.pos]; {
		case isBlank(c) || isLineEnd(c):
			p.pos++
		case c == '#' || c == '!':
			for p.pos < len(p.data) && !isLineEnd(p.data[p.pos]) {
				p.pos++
			}
		default:
			return true
		}
	}
	return false
}

// token reads a key, which ends at the first separator that is not escaped, or a value, which ends with the line.
func (p *propertiesParser) token(key bool) string {
	p.units = p.units[:0]
	for p.pos < len(p.data) {
		c := p.data[p.pos]
		if isLineEnd(c) || key && (c == '=' || c == ':' || isBlank(c)) {
			break
		}
		p.pos++
		if c == '\\' {
			p.escape()
		} else {
			p.units = append(p.units, uint16(c))
		}
	}
	return string(utf16.Decode(p.units))
}

// separator passes the white space around at most one '=' or ':'.
func (p *propertiesParser) separator() {
	p.blanks()
	if p.pos < len(p.data) && (p.data[p.pos] == '=' || p.data[p.pos] == ':') {
		p.pos++
		p.blanks()
	}
}

// blanks passes white space, and the line ends that an escape makes part of it.
func (p *propertiesParser) blanks() {
	for p.pos < len(p.data) {
		switch {
		case isBlank(p.data[p.pos]):
			p.pos++
		case p.data[p.pos] == '\\' && p.pos+1 < len(p.data) && isLineEnd(p.data[p.pos+1]):
			p.pos++
			p.continuation()
		default:
			return
		}
	}
}

func (p *propertiesParser) escape() {
	if p.pos >= len(p.data) {
		return
	}
	c := p.data[p.pos]
	if isLineEnd(c) {
		p.continuation()
		return
	}
	p.pos++
	switch c {
	case 't':
		c = '\t'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 'f':
		c = '\f'
	case 'u':
		p.unicode()
		return
	}
	p.units = append(p.units, uint16(c))
}

// continuation passes one line end and the blanks that the next line begins with.
func (p *propertiesParser) continuation() {
	if p.data[p.pos] == '\r' && p.pos+1 < len(p.data) && p.data[p.pos+1] == '\n' {
		p.pos++
	}
	p.pos++
	for p.pos < len(p.data) && isBlank(p.data[p.pos]) {
		p.pos++
	}
}

func (p *propertiesParser) unicode() {
	var unit uint16
	for i := range 4 {
		var digit byte
		if p.pos+i < len(p.data) {
			digit = p.data[p.pos+i]
		}
		switch {
		case '0' <= digit && digit <= '9':
			unit = unit<<4 | uint16(digit-'0')
		case 'a' <= digit|0x20 && digit|0x20 <= 'f':
			unit = unit<<4 | uint16(digit|0x20-'a'+10)
		default:
			p.err = corruptf(p.file, int64(p.pos+i), `expected four hexadecimal digits after \u`)
			p.pos = len(p.data)
			return
		}
	}
	p.pos += 4
	p.units = append(p.units, unit)
}

func isBlank(c byte) bool   { return c == ' ' || c == '\t' || c == '\f' }
func isLineEnd(c byte) bool { return c == '\n' || c == '\r' }
