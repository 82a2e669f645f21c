package valuediff

import (
	"strconv"
	"strings"

	"tofu/internal/ui/termtext"
)

// Printable converts a string with marked parts for output. It returns the converted string and the
// new positions of the parts.
func Printable(text string, marks []Span, convert func(string) string) (string, []Span) {
	var b strings.Builder
	out := make([]Span, len(marks))
	end := 0
	for i, m := range marks {
		b.WriteString(convert(text[end:m.Start]))
		out[i].Start = b.Len()
		b.WriteString(convert(text[m.Start:m.End]))
		out[i].End = b.Len()
		end = m.End
	}
	b.WriteString(convert(text[end:]))
	return b.String(), out
}

// Underlined returns text whose marked parts are underlined.
func Underlined(s termtext.Style, text string, marks []Span) string {
	var b strings.Builder
	end := 0
	for _, m := range marks {
		b.WriteString(text[end:m.Start] + s.As(termtext.Underline, text[m.Start:m.End]))
		end = m.End
	}
	return b.String() + text[end:]
}

// Carets returns a line with carets below the marked parts of another line. Where the other
// line has tabs, it has tabs too.
func Carets(text string, marks []Span) string {
	var b strings.Builder
	end := 0
	for _, m := range marks {
		below(&b, text[end:m.Start], " ")
		below(&b, text[m.Start:m.End], "^")
		end = m.End
	}
	return b.String()
}

func below(b *strings.Builder, text, sign string) {
	for i, part := range strings.Split(text, "\t") {
		if i > 0 {
			b.WriteByte('\t')
		}
		b.WriteString(strings.Repeat(sign, termtext.Width(part)))
	}
}

// maxWhole is the maximum number of bytes of a whole word that Quoted returns.
const maxWhole = 60

// Quoted returns the marked parts of a string as a list of quoted strings. Each part is extended to
// whole words, unless these are too long.
func Quoted(text string, marks []Span) string {
	var parts []string
	end := 0
	for _, m := range marks {
		if m.Start < end {
			continue // the last part contains this one
		}
		whole := Span{strings.LastIndexAny(text[:m.Start], " \t") + 1, len(text)}
		if i := strings.IndexAny(text[m.End:], " \t"); i >= 0 {
			whole.End = m.End + i
		}
		if whole.End-whole.Start <= maxWhole {
			m = whole
		}
		parts, end = append(parts, strconv.Quote(strings.Trim(text[m.Start:m.End], `"`))), m.End
	}
	return strings.Join(parts, ", ")
}
