package termtext

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Style formats text for a terminal. It uses colors if On is set.
type Style struct{ On bool }

// Color is the number of an ANSI text attribute.
type Color string

// Text attributes.
const (
	Bold      Color = "1"
	Underline Color = "4"
	Red       Color = "31"
	Green     Color = "32"
	Yellow    Color = "33"
	Blue      Color = "34"
	Magenta   Color = "35"
	Cyan      Color = "36"
	Grey      Color = "90"
)

// As returns text with a color or other attribute, or unchanged if s.On is not set.
func (s Style) As(c Color, text string) string {
	if !s.On || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// unbroken replaces the spaces in phrases that programs look for in errors, so that no line breaks
// in the middle of one. Otherwise it would depend on the length of a name whether Terragrunt finds
// its phrase and repeats a command.
var unbroken = sync.OnceValue(func() *strings.Replacer {
	var pairs []string
	for _, phrase := range []string{
		"context deadline exceeded", "Client.Timeout exceeded while awaiting headers",
		"net/http: TLS handshake timeout", "connection reset by peer", "Connection closed by remote host",
		": 429 Too Many Requests", "The requested URL returned error: 429", "Could not download module",
		"could not query provider registry", "could not connect to registry",
		"failed to request discovery document", "NoSuchBucket: The specified bucket does not exist",
		"request to update this alarm is in progress", "Error creating SSM parameter: TooManyUpdates:",
	} {
		pairs = append(pairs, phrase, strings.ReplaceAll(phrase, " ", "\x00"))
	}
	return strings.NewReplacer(pairs...)
})

// Wrap breaks text into lines of at most width columns at spaces. It doesn't break lines that
// start with a space, because they are examples. A width of 0 keeps all lines.
func Wrap(text string, width int) string {
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

// WrapItems is like Wrap, but also breaks the items of lists: lines that start with a dash, perhaps
// after spaces.
func WrapItems(text string, width int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		item, ok := strings.CutPrefix(strings.TrimLeft(line, " "), "- ")
		if !ok || width <= 0 {
			lines[i] = Wrap(line, width)
			continue
		}
		indent := len(line) - len(item)
		lines[i] = line[:indent] + strings.ReplaceAll(wrapLine(item, width-indent), "\n", "\n"+strings.Repeat(" ", indent))
	}
	return strings.Join(lines, "\n")
}

// Join makes one line of each paragraph. Lines that start with a space keep their place.
func Join(text string) string {
	lines := strings.Split(text, "\n")
	for i := len(lines) - 1; i > 0; i-- {
		if lines[i] != "" && lines[i-1] != "" && lines[i][0] != ' ' && lines[i-1][0] != ' ' {
			lines[i-1] += " " + lines[i]
			lines = slices.Delete(lines, i, i+1)
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
	for i, word := range strings.Split(unbroken().Replace(line), " ") {
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
		b.WriteString(strings.ReplaceAll(word, "\x00", " "))
		col += n
	}
	return b.String()
}

// ownColors matches the attributes that Style.As writes. Other attributes could hide text.
var ownColors = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b\[(?:0|1|4|3[1-6]|90)m`)
})

// PrintableText is like Printable, but keeps the colors of this program.
func PrintableText(text string) string {
	var b strings.Builder
	end := 0
	for _, code := range ownColors().FindAllStringIndex(text, -1) {
		b.WriteString(Printable(text[end:code[0]]) + text[code[0]:code[1]])
		end = code[1]
	}
	return b.String() + Printable(text[end:])
}

var colorCodes = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// Plain returns text without colors.
func Plain(text string) string { return colorCodes.ReplaceAllString(text, "") }
