package tfdiags

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// FormatError returns the text of an error for users. For a cty.PathError, the text includes the
// path in the notation of the configuration language.
func FormatError(err error) string {
	at, ok := errors.AsType[cty.PathError](err)
	if !ok || len(at.Path) == 0 {
		return err.Error()
	}
	return FormatPath(at.Path) + ": " + at.Error()
}

// Sentence returns the text of an error as a sentence, with a capital letter and a full stop.
func Sentence(err error) string { return Capitalize(strings.TrimSuffix(err.Error(), ".")) + "." }

// Capitalize returns the text with its first letter in upper case. Only ASCII letters change. It
// returns a text that begins with a name, such as the name of a file, host or resource, unchanged.
func Capitalize(text string) string {
	if text == "" || text[0] < 'a' || text[0] > 'z' {
		return text
	}
	first, _, _ := strings.Cut(text, " ")
	if strings.ContainsAny(strings.TrimRight(first, ".,:;"), `./\_=:`) {
		return text
	}
	return string(text[0]-'a'+'A') + text[1:]
}

// FormatPath returns a path in the notation of the configuration language, such as ".rule[0].port".
func FormatPath(path cty.Path) string {
	var b strings.Builder
	for _, step := range path {
		switch step := step.(type) {
		case cty.GetAttrStep:
			b.WriteString("." + step.Name)
		case cty.IndexStep:
			b.WriteString("[" + FormatKey(step.Key) + "]")
		}
	}
	return b.String()
}

// FormatKey returns an index in the notation of the configuration language. It writes unknown
// indexes, and indexes that are neither strings nor numbers, as "...".
func FormatKey(key cty.Value) string {
	key, _ = key.Unmark()
	switch {
	case !key.IsKnown() || key.IsNull():
		return "..."
	case key.Type() == cty.String:
		return Quote(key.AsString())
	case key.Type() == cty.Number:
		return key.AsBigFloat().Text('f', -1)
	}
	return "..."
}

// Quote returns s as a string literal of the configuration language.
func Quote(s string) string {
	plain := true
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c == '$' || c == '%' || c >= 0x7f {
			plain = false
			break
		}
	}
	if plain {
		return `"` + s + `"`
	}
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '"', r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case (r == '$' || r == '%') && strings.HasPrefix(s[i+1:], "{"):
			b.WriteRune(r)
			b.WriteRune(r)
		case !strconv.IsPrint(r):
			if r > 0xffff {
				fmt.Fprintf(&b, `\U%08x`, r)
			} else {
				fmt.Fprintf(&b, `\u%04x`, r)
			}
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
