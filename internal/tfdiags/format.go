package tfdiags

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// FormatError words an error for a user; a cty.PathError names its path in the language's own notation.
func FormatError(err error) string {
	var at cty.PathError
	if !errors.As(err, &at) || len(at.Path) == 0 {
		return err.Error()
	}
	return FormatPath(at.Path) + ": " + at.Error()
}

// Sentence makes a sentence of an error, which by custom has neither a capital nor a full stop.
func Sentence(err error) string { return Capital(strings.TrimSuffix(err.Error(), ".")) + "." }

// Capital gives the text with a capital as its first letter, where that is one of the 26.
func Capital(text string) string {
	if text == "" || text[0] < 'a' || text[0] > 'z' {
		return text
	}
	return string(text[0]-'a'+'A') + text[1:]
}

// FormatPath writes a path as the language does: ".rule[0].port".
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
