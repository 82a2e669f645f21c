// Package jsonscan scans JSON text in memory, once and from front to back, and returns parts of it
// without building values.
//
// It is for large documents that every command reads completely: state files and the values in
// them. In comparison, encoding/json visits each byte of such a file twice, and each byte that it
// decodes to a json.RawMessage four times.
//
// Invariants: the results of [Scanner.Raw] are valid JSON by the rules of encoding/json. The text
// is never modified, and results share its memory. No text makes a method panic or recurse without
// bound. If the text at the position is not what a method expects, the method returns false, and
// the position is that of the error. Callers can then use encoding/json to get a better error
// message.
package jsonscan

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
	"unsafe"

	"tofu/internal/limits"
)

// Scanner is a text and a position in it. If only Data is set, the position is the start of the
// text.
type Scanner struct {
	Data []byte
	Pos  int
}

// Space skips white space and returns the next byte, or 0 at the end.
func (s *Scanner) Space() byte {
	for ; s.Pos < len(s.Data); s.Pos++ {
		switch c := s.Data[s.Pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// End reports whether only white space is left.
func (s *Scanner) End() bool { return s.Space() == 0 && s.Pos == len(s.Data) }

// Word consumes the given word, which is true, false or null, if it comes next. Otherwise it
// returns false.
func (s *Scanner) Word(word string) bool {
	s.Space()
	if len(s.Data)-s.Pos < len(word) || string(s.Data[s.Pos:s.Pos+len(word)]) != word {
		return false
	}
	s.Pos += len(word)
	return true
}

// take skips white space and consumes c if it comes next. Otherwise it returns false.
func (s *Scanner) take(c byte) bool {
	if s.Space() != c {
		return false
	}
	s.Pos++
	return true
}

// Members consumes an object. It calls read after the colon of each member; read must consume the
// value.
func (s *Scanner) Members(read func(name []byte) bool) bool {
	if !s.take('{') {
		return false
	}
	if s.take('}') {
		return true
	}
	for {
		name, ok := s.bytes()
		if !ok || !s.take(':') || !read(name) {
			return false
		}
		if s.take('}') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

// Elements consumes an array. It calls read at each element; read must consume the element.
func (s *Scanner) Elements(read func() bool) bool {
	if !s.take('[') {
		return false
	}
	if s.take(']') {
		return true
	}
	for {
		if !read() {
			return false
		}
		if s.take(']') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

// Text consumes a string and returns its value.
func (s *Scanner) Text() (string, bool) {
	text, ok := s.bytes()
	return string(text), ok
}

// SharedText is like Text, but the result shares the memory of the text if possible. It is for long
// values of a text that stays in memory anyway.
func (s *Scanner) SharedText() (string, bool) {
	text, ok := s.bytes()
	return unsafe.String(unsafe.SliceData(text), len(text)), ok
}

// bytes consumes a string and returns its value. It copies the value only if the string has escapes
// or invalid UTF-8.
func (s *Scanner) bytes() ([]byte, bool) {
	literal, plain, ok := s.literal()
	if !ok {
		return nil, false
	}
	inner := literal[1 : len(literal)-1]
	if plain || bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return inner, true
	}
	var text string
	err := json.Unmarshal(literal, &text) // replaces invalid UTF-8 with U+FFFD
	return []byte(text), err == nil
}

// ends holds the bytes that end a run of plain characters in a string.
var ends = func() (ends [256]bool) {
	for c := range 256 {
		ends[c] = c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf
	}
	return ends
}()

// literal consumes a string and returns it with its quotes. plain reports whether the string has
// only ASCII characters and no escapes.
func (s *Scanner) literal() (literal []byte, plain, ok bool) {
	if s.Space() != '"' {
		return nil, false, false
	}
	start, i := s.Pos, s.Pos+1
	plain = true
	for {
		for i < len(s.Data) && !ends[s.Data[i]] {
			i++
		}
		s.Pos = i
		if i == len(s.Data) {
			return nil, false, false
		}
		switch c := s.Data[i]; {
		case c == '"':
			s.Pos++
			return s.Data[start:s.Pos:s.Pos], plain, true
		case c == '\\':
			n := escape(s.Data[i:])
			if n == 0 {
				return nil, false, false
			}
			i += n
		case c < ' ':
			return nil, false, false
		default:
			i++
		}
		plain = false
	}
}

// escape returns the length of the escape sequence at the start of text, or 0 if it is invalid.
func escape(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(text) >= 6 && hex(text[2]) && hex(text[3]) && hex(text[4]) && hex(text[5]) {
			return 6
		}
	}
	return 0
}

func hex(c byte) bool { return digit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }

func digit(c byte) bool { return '0' <= c && c <= '9' }

// Number consumes a number and returns its text.
func (s *Scanner) Number() ([]byte, bool) {
	s.Space()
	start := s.Pos
	s.byte('-')
	ok := s.byte('0') || s.digits()
	if ok && s.byte('.') {
		ok = s.digits()
	}
	if ok && (s.byte('e') || s.byte('E')) {
		_ = s.byte('+') || s.byte('-')
		ok = s.digits()
	}
	return s.Data[start:s.Pos:s.Pos], ok
}

// byte consumes c if it comes next, without skipping white space. Otherwise it returns false.
func (s *Scanner) byte(c byte) bool {
	if s.Pos == len(s.Data) || s.Data[s.Pos] != c {
		return false
	}
	s.Pos++
	return true
}

// digits consumes one or more digits. It returns false if the next character is not a digit.
func (s *Scanner) digits() bool {
	start := s.Pos
	for s.Pos < len(s.Data) && digit(s.Data[s.Pos]) {
		s.Pos++
	}
	return s.Pos > start
}

// Raw consumes a value of any kind and returns its text.
func (s *Scanner) Raw() ([]byte, bool) {
	s.Space()
	start := s.Pos
	ok := s.skip(0)
	return s.Data[start:s.Pos:s.Pos], ok
}

// StringEnd returns the offset after the string that starts at start in a text.
func StringEnd(src []byte, start int) int {
	for i := start + 1; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(src)
}

// Skip consumes a value of any kind.
func (s *Scanner) Skip() bool { return s.skip(0) }

// skip consumes a value. depth is the number of arrays and objects that contain the value.
func (s *Scanner) skip(depth int) (ok bool) {
	switch s.Space() {
	case '{':
		return depth < limits.Depth && s.Members(func([]byte) bool { return s.skip(depth + 1) })
	case '[':
		return depth < limits.Depth && s.Elements(func() bool { return s.skip(depth + 1) })
	case '"':
		_, _, ok = s.literal()
	case 't':
		ok = s.Word("true")
	case 'f':
		ok = s.Word("false")
	case 'n':
		ok = s.Word("null")
	default:
		_, ok = s.Number()
	}
	return ok
}
