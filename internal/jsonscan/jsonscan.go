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
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"unicode/utf8"
	"unsafe"

	"tofu/internal/limits"
)

// Scanner is a text and a position in it. If only Data is set, the position is the start of the
// text.
type Scanner struct {
	Data  []byte
	Pos   int
	depth int // the number of arrays and objects that contain the position
}

// Space skips white space and returns the next byte, or 0 at the end.
func (s *Scanner) Space() byte {
	for ; s.Pos < len(s.Data); s.Pos++ {
		switch c := s.Data[s.Pos]; c {
		case '\n':
			s.Pos = indentation(s.Data, s.Pos+1) - 1
		case ' ', '\t', '\r':
		default:
			return c
		}
	}
	return 0
}

// each is a word of eight equal bytes, when multiplied by one of them. The functions below look at
// eight bytes at a time.
const each = 0x0101010101010101

// indentation returns the offset after the spaces at offset i.
func indentation(data []byte, i int) int {
	for ; len(data)-i >= 8; i += 8 {
		if other := binary.LittleEndian.Uint64(data[i:]) ^ ' '*each; other != 0 {
			return i + bits.TrailingZeros64(other)/8
		}
	}
	for i < len(data) && data[i] == ' ' {
		i++
	}
	return i
}

// plainEnd returns the offset after the plain characters of a string at offset i.
func plainEnd(data []byte, i int) int {
	for ; len(data)-i >= 8; i += 8 {
		// The highest bit of a byte of this word is set if the byte of text is not ASCII, or if a
		// subtraction was below zero in it: it is a control character, a quote or a backslash. The
		// carry can set that bit in later bytes, but the first one is right.
		text := binary.LittleEndian.Uint64(data[i:])
		found := text | (text - ' '*each) | ((text ^ '"'*each) - each) | ((text ^ '\\'*each) - each)
		if found &= utf8.RuneSelf * each; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(data) && !ends[data[i]] {
		i++
	}
	return i
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
	return s.within('{', func() bool {
		name, ok := s.bytes()
		return ok && s.take(':') && read(name)
	})
}

// Elements consumes an array. It calls read at each element; read must consume the element.
func (s *Scanner) Elements(read func() bool) bool { return s.within('[', read) }

// within consumes an array or an object. bracket is its opening bracket.
func (s *Scanner) within(bracket byte, read func() bool) bool {
	if s.depth >= limits.Depth || !s.take(bracket) {
		return false
	}
	if s.take(closing(bracket)) {
		return true
	}
	s.depth++
	defer func() { s.depth-- }()
	for read() {
		if s.take(closing(bracket)) {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
	return false
}

// closing returns the bracket that closes an array or an object.
func closing(bracket byte) byte { return bracket + 2 } // in ASCII

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
	if plain {
		return inner, true
	}
	if utf8.Valid(inner) {
		if text, ok := unescaped(inner); ok {
			return text, true
		}
	}
	var text string
	err := json.Unmarshal(literal, &text) // replaces invalid UTF-8 with U+FFFD
	return []byte(text), err == nil
}

// unescaped returns the value of a valid string in UTF-8. It returns false if the string has an escape
// with a number, which may be half of a character.
func unescaped(inner []byte) ([]byte, bool) {
	var out []byte
	for {
		i := bytes.IndexByte(inner, '\\')
		switch {
		case i < 0 && out == nil:
			return inner, true
		case i < 0:
			return append(out, inner...), true
		case inner[i+1] == 'u':
			return nil, false
		case out == nil:
			out = make([]byte, 0, len(inner))
		}
		out = append(append(out, inner[:i]...), escaped[inner[i+1]])
		inner = inner[i+2:]
	}
}

// escaped holds the characters that short escapes stand for.
var escaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

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
		i = plainEnd(s.Data, i)
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
	ok := s.Skip()
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
func (s *Scanner) Skip() bool {
	var few [64]byte
	open := few[:0] // the brackets of the arrays and objects around the position
	for {
		ended := true // whether the position is after a value, or in an empty array or object
		switch c := s.Space(); c {
		case '{', '[':
			if s.depth+len(open) >= limits.Depth {
				return false
			}
			s.Pos++
			open = append(open, c)
			ended = s.Space() == closing(c)
			if !ended && c == '{' && !s.name() {
				return false
			}
		default:
			if !s.single(c) {
				return false
			}
		}
		for ended {
			if len(open) == 0 {
				return true
			}
			bracket := open[len(open)-1]
			switch s.Space() {
			case closing(bracket):
				open = open[:len(open)-1]
			case ',':
				ended = false
			default:
				return false
			}
			s.Pos++
			if !ended && bracket == '{' && !s.name() {
				return false
			}
		}
	}
}

// name consumes the name of a member and the colon.
func (s *Scanner) name() bool {
	_, _, ok := s.literal()
	return ok && s.take(':')
}

// single consumes a value that is neither an array nor an object. c is its first byte.
func (s *Scanner) single(c byte) (ok bool) {
	switch c {
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
