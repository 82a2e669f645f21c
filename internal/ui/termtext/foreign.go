package termtext

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable replaces characters that could move the cursor, hide text or change its order. Control
// characters become visible symbols, and bidirectional controls escape sequences such as \u202e. It
// keeps tabs and line breaks.
func Printable(text string) string {
	if !strings.Contains(text, "\r\n") {
		return visible(text, isUnsafe)
	}
	lines := strings.Split(text, "\r\n")
	for i, line := range lines {
		lines[i] = visible(line, isUnsafe)
	}
	return strings.Join(lines, "\r\n")
}

// OneLine is like Printable for a name or another text that must stay on one line. Line breaks and
// tabs become symbols too.
func OneLine(text string) string {
	return visible(text, func(r rune) bool { return isUnsafe(r) || r == '\n' || r == '\t' })
}

func isUnsafe(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(bidiControls, r)) ||
		r == '\u2028' || r == '\u2029'
}

// bidiControls are the characters that change the order in which other characters are shown. The
// marks that writers of Hebrew and Arabic use (U+200E, U+200F, U+061C) don't change it by much.
var bidiControls = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0x202a, Hi: 0x202e, Stride: 1},
	{Lo: 0x2066, Hi: 0x2069, Stride: 1}}}

// visible replaces the unsafe characters of a text, and bytes that are not UTF-8.
func visible(text string, unsafe func(rune) bool) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, unsafe) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !unsafe(r):
			b.WriteRune(r)
		case r < 0x20:
			b.WriteRune(0x2400 + r)
		case r == 0x7f:
			b.WriteRune(0x2421)
		case unicode.IsControl(r):
			b.WriteRune(unicode.ReplacementChar)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// InCI reports whether the output of the program is the log of a CI system that runs commands in
// logs: GitHub Actions and systems like it, Azure Pipelines, TeamCity.
func InCI(getenv func(string) string) bool {
	return getenv("GITHUB_ACTIONS") != "" || getenv("TF_BUILD") != "" || getenv("TEAMCITY_VERSION") != ""
}

// ciCommands matches the beginnings of commands in logs. "::" is one only at the start of a line
// and before a letter; "::1" is an address. The others are found anywhere in a line.
var ciCommands = regexp.MustCompile(`(?m)(^[\t\v\f\r ]*:)(:\pL)|(#)(#(?:\[|vso\[|teamcity\[))`)

// WithoutCommands breaks commands of CI systems in a text by a space.
func WithoutCommands(text string) string {
	if !strings.Contains(text, "::") && !strings.Contains(text, "##") {
		return text
	}
	return ciCommands.ReplaceAllString(text, "$1$3 $2$4")
}

// LogWriter writes text for people to the log of a CI system, without commands. Close writes the
// last line if it is incomplete.
type LogWriter struct {
	W    io.Writer
	line []byte // the beginning of a line
}

// Write implements io.Writer.
func (l *LogWriter) Write(p []byte) (int, error) {
	end := bytes.LastIndexByte(p, '\n') + 1
	if end == 0 {
		l.line = append(l.line, p...)
		return len(p), nil
	}
	text := WithoutCommands(string(l.line) + string(p[:end]))
	l.line = append(l.line[:0], p[end:]...)
	_, err := io.WriteString(l.W, text)
	return len(p), err
}

// Close implements io.Closer.
func (l *LogWriter) Close() error {
	_, err := io.WriteString(l.W, WithoutCommands(string(l.line)))
	l.line = nil
	return err
}
