// Package jsonscan goes through JSON text that is in memory, once and from front to back, and gives its parts without building
// anything of them.
//
// It is for what is read whole by every command and is large: state files and the values in them. encoding/json looks at each byte
// of such a file twice, and at those of its raw parts four times.
//
// Invariants: what [Scanner.Raw] gives is valid JSON, by the rules of encoding/json; the text is never changed, and what is given of
// it shares its memory; no text makes a method panic or recurse without bound. Methods say false where the text isn't what was asked
// for, and leave the position there; what is wrong with it, encoding/json can say better.
package jsonscan

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// maxDepth is how deep arrays and objects may be nested: the limit of encoding/json.
const maxDepth = 10000

// Scanner is a position in a text. The zero value with Data is at its start.
type Scanner struct {
	Data []byte
	Pos  int
}

// Space skips white space and gives the next byte, 0 at the end.
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

// End tells whether nothing but white space is left.
func (s *Scanner) End() bool { return s.Space() == 0 && s.Pos == len(s.Data) }

// Word takes a word, one of true, false and null, if it is the next thing.
func (s *Scanner) Word(word string) bool {
	s.Space()
	if len(s.Data)-s.Pos < len(word) || string(s.Data[s.Pos:s.Pos+len(word)]) != word {
		return false
	}
	s.Pos += len(word)
	return true
}

// take skips one byte if it is the next.
func (s *Scanner) take(c byte) bool {
	if s.Space() != c {
		return false
	}
	s.Pos++
	return true
}

// Members goes through an object; read is called behind the colon of each member and passes over its value.
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

// Elements goes through an array; read passes over an element.
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

// Text takes a string and gives what it means.
func (s *Scanner) Text() (string, bool) {
	text, ok := s.bytes()
	return string(text), ok
}

// bytes takes a string and gives what it means: a part of the text where it is written as it is.
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
	err := json.Unmarshal(literal, &text) // which puts U+FFFD for what is not UTF-8
	return []byte(text), err == nil
}

// ends has the bytes at which a run of plain characters of a string ends.
var ends = func() (ends [256]bool) {
	for c := range 256 {
		ends[c] = c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf
	}
	return ends
}()

// literal takes a string with its quotes. It is plain if it has no escapes and ASCII only.
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

// escape gives the length of the escape sequence at the start of a text, 0 if it is none.
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

// Number takes a number as it is written.
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

// byte takes a byte if it comes next, without space before it.
func (s *Scanner) byte(c byte) bool {
	if s.Pos == len(s.Data) || s.Data[s.Pos] != c {
		return false
	}
	s.Pos++
	return true
}

// digits takes one digit or more.
func (s *Scanner) digits() bool {
	start := s.Pos
	for s.Pos < len(s.Data) && digit(s.Data[s.Pos]) {
		s.Pos++
	}
	return s.Pos > start
}

// Raw takes a value of any kind and gives its text.
func (s *Scanner) Raw() ([]byte, bool) {
	s.Space()
	start := s.Pos
	ok := s.skip(0)
	return s.Data[start:s.Pos:s.Pos], ok
}

// Skip takes a value of any kind.
func (s *Scanner) Skip() bool { return s.skip(0) }

// skip passes over a value inside as many arrays and objects.
func (s *Scanner) skip(depth int) (ok bool) {
	switch s.Space() {
	case '{':
		return depth < maxDepth && s.Members(func([]byte) bool { return s.skip(depth + 1) })
	case '[':
		return depth < maxDepth && s.Elements(func() bool { return s.skip(depth + 1) })
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
