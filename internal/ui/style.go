package ui

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// style colors text for a terminal, unless colors are off.
type style struct{ on bool }

// color is the number of an ANSI text attribute.
type color string

const (
	bold      color = "1"
	underline color = "4"
	red       color = "31"
	green     color = "32"
	yellow    color = "33"
	blue      color = "34"
	magenta   color = "35"
	cyan      color = "36"
	grey      color = "90"
)

// as returns text in a color.
func (s style) as(c color, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// wrap breaks text into lines of at most width columns at spaces. It keeps lines that start with a
// space, because they are examples. A width of 0 keeps all lines.
func wrap(text string, width int) string {
	if width <= 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, " ") {
			lines[i] = wrapLine(line, width)
		}
	}
	return strings.Join(lines, "\n")
}

func wrapLine(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	var b strings.Builder
	col := 0
	for i, word := range strings.Split(line, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case col+1+n > width:
			b.WriteByte('\n')
			col = 0
		default:
			b.WriteByte(' ')
			col++
		}
		b.WriteString(word)
		col += n
	}
	return b.String()
}

// printable replaces control characters, which could move the cursor or hide text, with visible
// symbols. It keeps tabs and line ends.
func printable(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, isControl) {
		return text
	}
	lines := strings.Split(text, "\r\n")
	for i, line := range lines {
		lines[i] = strings.Map(controlSymbol, line)
	}
	return strings.Join(lines, "\r\n")
}

// controlSymbol returns the symbol for a control character, and other characters as they are.
func controlSymbol(r rune) rune {
	switch {
	case !isControl(r):
		return r
	case r < 0x20:
		return 0x2400 + r
	case r == 0x7f:
		return 0x2421
	}
	return unicode.ReplacementChar
}

// printableText is printable for text that may contain colors of this program.
func printableText(text string) string {
	var b strings.Builder
	end := 0
	for _, code := range colorCodes.FindAllStringIndex(text, -1) {
		b.WriteString(printable(text[end:code[0]]) + text[code[0]:code[1]])
		end = code[1]
	}
	return b.String() + printable(text[end:])
}

func isControl(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }
