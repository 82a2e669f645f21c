package statefile

import (
	"strconv"

	"tofu/internal/jsonscan"
	"tofu/internal/states"
)

// A writer writes JSON in a single pass, in the layout of encoding/json: indented by two spaces or
// on one line. Its methods add commas and line breaks as needed.
type writer struct {
	buf    []byte
	depth  int
	indent bool
	first  bool // whether the innermost array or object is still empty
}

// open starts an array or object. bracket is its opening bracket.
func (w *writer) open(bracket byte) {
	w.buf = append(w.buf, bracket)
	w.depth++
	w.first = true
}

// close ends an array or object. If it is empty, there is nothing between its brackets.
func (w *writer) close(bracket byte) {
	w.depth--
	if !w.first {
		w.newline()
	}
	w.buf = append(w.buf, bracket)
	w.first = false
}

// between writes the separator before the next array element or object member.
func (w *writer) between() {
	if !w.first {
		w.buf = append(w.buf, ',')
	}
	w.first = false
	w.newline()
}

func (w *writer) newline() {
	if w.indent {
		w.buf = appendNewline(w.buf, w.depth)
	}
}

// item starts an element of an array.
func (w *writer) item() { w.between() }

// key starts a member of an object.
func (w *writer) key(name string) {
	w.between()
	w.label(name)
}

// label writes the name of a member.
func (w *writer) label(name string) {
	w.text(name)
	w.buf = append(w.buf, ':')
	if w.indent {
		w.buf = append(w.buf, ' ')
	}
}

func (w *writer) text(s string) { w.buf = states.AppendString(w.buf, s) }

// addresses writes a set of dependencies.
func (w *writer) addresses(deps *states.Dependencies) {
	w.open('[')
	for dep := range deps.All() {
		w.item()
		start := len(w.buf) + 1
		w.buf = append(dep.AppendText(append(w.buf, '"')), '"')
		if !states.PlainString(w.buf[start : len(w.buf)-1]) {
			w.buf = states.AppendString(w.buf[:start-1], dep.String())
		}
	}
	w.close(']')
}

func (w *writer) string(name, value string) {
	w.key(name)
	w.text(value)
}

// optional writes a string member unless the value is empty.
func (w *writer) optional(name, value string) {
	if value != "" {
		w.string(name, value)
	}
}

// flag writes a boolean member if the value is true.
func (w *writer) flag(name string, value bool) {
	if value {
		w.key(name)
		w.buf = append(w.buf, "true"...)
	}
}

func (w *writer) number(name string, n int64) {
	w.key(name)
	w.buf = strconv.AppendInt(w.buf, n, 10)
}

// rawField writes a member whose value is JSON text.
func (w *writer) rawField(name string, value []byte) {
	w.key(name)
	w.raw(value)
}

func (w *writer) raw(value []byte) { w.buf = appendJSON(w.buf, value, w.depth, w.indent) }

// appendJSON appends valid JSON in canonical layout: on one line, or indented and starting at
// depth. It escapes the characters that encoding/json escapes for HTML. Everything else, such as
// the spelling of numbers, stays the same.
func appendJSON(dst, src []byte, depth int, indent bool) []byte {
	empty := false // whether the last token was an opening bracket
	for i := 0; i < len(src); i++ {
		c := src[i]
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '}', ']':
			depth--
			if indent && !empty {
				dst = appendNewline(dst, depth)
			}
			dst = append(dst, c)
			empty = false
			continue
		}
		if empty {
			empty = false
			if indent {
				dst = appendNewline(dst, depth)
			}
		}
		switch c {
		case '{', '[':
			depth++
			empty = true
			dst = append(dst, c)
		case ',':
			dst = append(dst, c)
			if indent {
				dst = appendNewline(dst, depth)
			}
		case ':':
			dst = append(dst, c)
			if indent {
				dst = append(dst, ' ')
			}
		case '"':
			end := jsonscan.StringEnd(src, i)
			dst = appendEscaped(dst, src[i:end])
			i = end - 1
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// laidOut reports whether appendJSON would append valid JSON text as it is. It follows the rules of
// appendJSON and returns false at the first byte that would change.
func laidOut(src []byte, depth int, indent bool) bool {
	// newline consumes the line break at i with the indentation of the given depth.
	newline := func(i, depth int) (int, bool) {
		end := i + 1 + 2*depth
		return end, depth >= 0 && end <= len(src) && src[i] == '\n' && onlySpaces(src[i+1:end])
	}
	ok := true
	for i := 0; i < len(src) && ok; {
		c := src[i]
		i++
		switch c {
		case ' ', '\t', '\r':
			return false
		case '\n': // the only line breaks that no other token consumes are those before closing brackets
			i, ok = newline(i-1, depth-1)
			if !ok || !indent || i == len(src) || src[i] != '}' && src[i] != ']' {
				return false
			}
			depth--
			i++
		case '}', ']':
			if indent {
				return false
			}
			depth--
		case '{', '[':
			depth++
			switch {
			case i == len(src):
			case src[i] == '}' || src[i] == ']':
				depth--
				i++
			case indent:
				i, ok = newline(i, depth)
				ok = ok && i < len(src) && src[i] != '\n'
			}
		case ',':
			if indent {
				i, ok = newline(i, depth)
			}
		case ':':
			if indent {
				ok = i < len(src) && src[i] == ' '
				i++
			}
		case '"':
			i, ok = escapedEnd(src, i)
		}
	}
	return ok
}

func onlySpaces(text []byte) bool {
	for ; len(text) > len(spaces); text = text[len(spaces):] {
		if string(text[:len(spaces)]) != spaces {
			return false
		}
	}
	return string(text) == spaces[:len(text)]
}

// escapedEnd returns the offset after a string whose content starts at i. It returns false if the
// string has a character that appendEscaped would escape.
func escapedEnd(src []byte, i int) (int, bool) {
	for ; i < len(src); i++ {
		for i < len(src) && !special[src[i]] {
			i++
		}
		if i == len(src) {
			break
		}
		switch src[i] {
		case '"':
			return i + 1, true
		case '\\':
			i++
		case 0xe2:
			if i+2 < len(src) && src[i+1] == 0x80 && src[i+2]&^1 == 0xa8 {
				return i, false
			}
		default:
			return i, false
		}
	}
	return len(src), true
}

// special holds the bytes that end a run of characters that a string has as they are.
var special = [256]bool{'"': true, '\\': true, '<': true, '>': true, '&': true, 0xe2: true}

// appendEscaped appends a string literal and escapes its HTML special characters.
func appendEscaped(dst, literal []byte) []byte {
	start := 0
	for i, c := range literal {
		switch {
		case c == '<' || c == '>' || c == '&':
			dst = append(dst, literal[start:i]...)
			dst = append(dst, `\u00`...)
			dst = append(dst, hex[c>>4], hex[c&15])
			start = i + 1
		case c == 0xe2 && i+2 < len(literal) && literal[i+1] == 0x80 && literal[i+2]&^1 == 0xa8: // U+2028, U+2029
			dst = append(dst, literal[start:i]...)
			dst = append(dst, `\u202`...)
			dst = append(dst, hex[literal[i+2]&15])
			start = i + 3
		}
	}
	return append(dst, literal[start:]...)
}

const hex = "0123456789abcdef"

const spaces = "                                                                "

func appendNewline(dst []byte, depth int) []byte {
	dst = append(dst, '\n')
	n := 2 * depth
	for ; n > len(spaces); n -= len(spaces) {
		dst = append(dst, spaces...)
	}
	return append(dst, spaces[:max(n, 0)]...)
}
