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
