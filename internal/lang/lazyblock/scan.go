package lazyblock

import "github.com/hashicorp/hcl/v2"

const (
	maxDepth     = 50  // of brackets in brackets
	maxArguments = 100 // of a block, because the scanner compares all of their names
)

// Blocks returns the resource blocks of a text that consists of nothing else. start is the position
// of the text in the file; it must be the beginning of a line. Blocks reports false if the text may
// have errors, or contains anything other than what the package comment describes.
func Blocks(src []byte, file string, start hcl.Pos) ([]*hcl.Block, bool) {
	s := &scanner{src: src, file: file, base: start.Byte, line: start.Line}
	var out []*hcl.Block
	for s.skipLines(); s.at < len(src); s.skipLines() {
		block := s.block()
		if block == nil {
			return nil, false
		}
		out = append(out, block)
	}
	return out, true
}

// scanner reads blocks. Its methods report false for what is not accepted.
type scanner struct {
	src  []byte
	file string
	base int // offset of src in the file

	at, line, lineStart int  // lineStart is the offset of the line in src
	wide                bool // whether the line has other characters than ASCII, so that columns are unknown
	depth               int

	args, refs []span
}

// block reads one block, and the line break after it. It returns nil if it doesn't accept the block.
func (s *scanner) block() *hcl.Block {
	s.args, s.refs = nil, nil
	first := s.at
	keyword, ok := s.name()
	if !ok || string(s.src[first:s.at]) != "resource" || s.wide {
		return nil
	}
	b := &Body{file: s.file}
	out := &hcl.Block{Type: "resource", Labels: make([]string, 2), LabelRanges: make([]hcl.Range, 2), Body: b}
	out.TypeRange = b.rangeOf(keyword)
	b.start = out.TypeRange.Start
	for i := range out.Labels {
		s.blanks()
		from := s.at
		if !s.byte('"') {
			return nil
		}
		if _, ok := s.name(); !ok || !s.byte('"') {
			return nil
		}
		out.Labels[i] = string(s.src[from+1 : s.at-1])
		out.LabelRanges[i] = b.rangeOf(s.span(from))
	}
	out.DefRange = hcl.RangeBetween(out.TypeRange, out.LabelRanges[1])
	s.blanks()
	if b.open = s.next(); !s.byte('{') || !s.lineEnd() || !s.arguments() {
		return nil
	}
	s.at++ // the closing brace
	b.end = s.span(s.at)
	b.src, b.args, b.refs = s.src[first:s.at], s.args, s.refs
	if s.wide || !s.lineEnd() {
		return nil
	}
	return out
}

// arguments reads the arguments of a block up to its closing brace.
func (s *scanner) arguments() bool {
	for {
		s.skipLines()
		if s.at == len(s.src) {
			return false
		}
		if s.src[s.at] == '}' {
			return true
		}
		name, ok := s.name()
		if !ok || len(s.args) == maxArguments || s.has(name) {
			return false
		}
		s.args = append(s.args, name)
		if s.blanks(); !s.byte('=') || !s.expr() || !s.lineEnd() {
			return false
		}
	}
}

// has reports whether the block already has an argument with this name.
func (s *scanner) has(name span) bool {
	text := func(at span) string { return string(s.src[int(at.start)-s.base : int(at.end)-s.base]) }
	for _, other := range s.args {
		if text(other) == text(name) {
			return true
		}
	}
	return false
}

// expr reads an expression, which may begin with blanks.
func (s *scanner) expr() bool {
	s.blanks()
	if s.at == len(s.src) {
		return false
	}
	switch c := s.src[s.at]; {
	case c == '"':
		return s.quoted()
	case c == '{':
		return s.within(s.object)
	case c == '[':
		return s.within(s.tuple)
	case c == '-':
		s.at++
		return s.number()
	case digit(c):
		return s.number()
	}
	return s.word()
}

// within reads what is inside of brackets.
func (s *scanner) within(inside func() bool) bool {
	s.depth++
	s.at++
	ok := s.depth < maxDepth && inside()
	s.depth--
	return ok
}

// object reads the items of an object, and its closing brace. Lines end items.
func (s *scanner) object() bool {
	for {
		if s.skipLines(); s.byte('}') {
			return true
		}
		if !s.key() {
			return false
		}
		if s.blanks(); !s.byte('=') && !s.byte(':') {
			return false
		}
		if !s.expr() {
			return false
		}
		if s.blanks(); s.byte('}') {
			return true
		}
		if !s.byte(',') && !s.lineEnd() {
			return false
		}
	}
}

// key reads the key of an item.
func (s *scanner) key() bool {
	if s.at < len(s.src) && s.src[s.at] == '"' {
		return s.quoted()
	}
	from := s.at
	_, ok := s.name()
	return ok && string(s.src[from:s.at]) != "for"
}

// tuple reads the elements of a tuple, and its closing bracket. Lines don't matter.
func (s *scanner) tuple() bool {
	for {
		if s.skipLines(); s.byte(']') {
			return true
		}
		if !s.expr() {
			return false
		}
		if s.skipLines(); s.byte(']') {
			return true
		}
		if !s.byte(',') {
			return false
		}
	}
}

// quoted reads a string that may contain references.
func (s *scanner) quoted() bool {
	for s.at++; s.at < len(s.src); s.at++ {
		switch c := s.src[s.at]; {
		case c == '"':
			s.at++
			return true
		case c == '\\':
			s.at++
			if follows := s.peek(1); s.at == len(s.src) || follows == '$' || follows == '%' {
				return false
			}
			switch s.src[s.at] {
			case 'n', 'r', 't', '"', '\\':
			default:
				return false
			}
		case c == '$' && s.peek(1) == '{':
			s.at += 2
			if s.blanks(); !s.word() {
				return false
			}
			if s.blanks(); s.peek(0) != '}' {
				return false
			}
		case c == '$' && s.peek(1) == '$', c == '%' && (s.peek(1) == '{' || s.peek(1) == '%'):
			return false
		case !s.text(c):
			return false
		}
	}
	return false
}

// word reads a reference, or true, false or null.
func (s *scanner) word() bool {
	from := s.at
	root, ok := s.name()
	if !ok {
		return false
	}
	name := string(s.src[from:s.at])
	for ok && (s.peek(0) == '.' || s.peek(0) == '[') {
		if s.byte('.') {
			_, ok = s.name()
		} else {
			s.at++
			ok = s.index()
		}
	}
	switch name {
	case "for":
		return false
	case "true", "false", "null":
		return ok && s.span(from) == root
	}
	s.refs = append(s.refs, s.span(from))
	return ok && !s.wide
}

// index reads a constant index, and its closing bracket.
func (s *scanner) index() bool {
	from := s.at
	if !s.byte('"') {
		for digit(s.peek(0)) {
			s.at++
		}
		return s.at > from && s.byte(']')
	}
	for c := s.peek(0); identPart(c) || c == '/' || c == ':' || c == ' ' || c == '.'; c = s.peek(0) {
		s.at++
	}
	return s.byte('"') && s.byte(']')
}

func (s *scanner) number() bool {
	digits := func() bool {
		from := s.at
		for digit(s.peek(0)) {
			s.at++
		}
		return s.at > from
	}
	return digits() && (!s.byte('.') || digits())
}

// name reads an identifier of ASCII characters.
func (s *scanner) name() (span, bool) {
	from := s.at
	s.at = identEnd(s.src, s.at)
	return s.span(from), s.at > from
}

// identEnd returns the end of the identifier at an offset, or the offset without one.
func identEnd(src []byte, at int) int {
	if at == len(src) || !identPart(src[at]) || digit(src[at]) || src[at] == '-' {
		return at
	}
	for at < len(src) && identPart(src[at]) {
		at++
	}
	return at
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func identPart(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || digit(c) || c == '_' || c == '-'
}

// span returns the text from an offset in the line to the current one.
func (s *scanner) span(from int) span {
	return span{int32(s.base + from), int32(s.base + s.at), int32(s.line), int32(from - s.lineStart + 1)}
}

// next returns the place of the next character.
func (s *scanner) next() span {
	at := s.span(s.at)
	at.end++
	return at
}

func (s *scanner) peek(ahead int) byte {
	if s.at+ahead < len(s.src) {
		return s.src[s.at+ahead]
	}
	return 0
}

// byte reads one character if it is the given one.
func (s *scanner) byte(c byte) bool {
	if s.peek(0) != c {
		return false
	}
	s.at++
	return true
}

func (s *scanner) blanks() {
	for c := s.peek(0); c == ' ' || c == '\t'; c = s.peek(0) {
		s.at++
	}
}

// text reports whether a character may be in a string or a comment.
func (s *scanner) text(c byte) bool {
	s.wide = s.wide || c >= 0x80
	return c >= ' ' && c != 0x7f || c == '\t'
}

// lineEnd reads the end of a line, with the comment before it.
func (s *scanner) lineEnd() bool {
	s.blanks()
	if s.peek(0) == '#' || s.peek(0) == '/' && s.peek(1) == '/' {
		for s.at < len(s.src) && s.src[s.at] != '\n' {
			if !s.text(s.src[s.at]) {
				return false
			}
			s.at++
		}
	}
	if !s.byte('\n') {
		return false
	}
	s.line, s.lineStart, s.wide = s.line+1, s.at, false
	return true
}

// skipLines reads lines with nothing but blanks and comments, and the blanks of the next line.
func (s *scanner) skipLines() {
	for s.lineEnd() {
	}
}
