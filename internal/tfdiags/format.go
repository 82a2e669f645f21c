package tfdiags

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// FormatError returns the text of an error for users. The path of a cty.PathError is written in the
// notation of the language.
func FormatError(err error) string {
	var at cty.PathError
	if !errors.As(err, &at) || len(at.Path) == 0 {
		return err.Error()
	}
	return FormatPath(at.Path) + ": " + at.Error()
}

// Sentence returns the text of an error as a sentence, with a capital letter and a full stop.
func Sentence(err error) string { return Capitalize(strings.TrimSuffix(err.Error(), ".")) + "." }

// Capitalize returns the text with an upper-case first letter. Only ASCII letters change. A text
// that begins with a name, such as that of a file, host or resource, stays as it is.
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

// FormatPath returns a path in the notation of the language, such as ".rule[0].port".
func FormatPath(path cty.Path) string {
	var b strings.Builder
	for _, step := range path {
		switch step := step.(type) {
		case cty.GetAttrStep:
			b.WriteString("." + step.Name)
		case cty.IndexStep:
			b.WriteString("[" + formatKey(step.Key) + "]")
		}
	}
	return b.String()
}

func formatKey(key cty.Value) string {
	key, _ = key.Unmark()
	switch {
	case !key.IsKnown() || key.IsNull():
		return "…"
	case key.Type() == cty.String:
		return fmt.Sprintf("%q", key.AsString())
	case key.Type() == cty.Number:
		return key.AsBigFloat().Text('f', -1)
	}
	return "…"
}
