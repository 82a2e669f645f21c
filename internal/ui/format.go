package ui

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/marks"
	"tofu/internal/states"
	"tofu/internal/ui/termtext"
	"tofu/internal/ui/valuediff"
)

// FormatValue formats a value as an expression, as the console and `output` print it. Sensitive
// parts are hidden.
func FormatValue(v cty.Value) string { return formatValue(v, 0, false) }

// formatValue is like FormatValue, but indents the lines after the first, and shows sensitive
// parts if showSensitive is set.
func formatValue(v cty.Value, depth int, showSensitive bool) string {
	switch {
	case marks.Has(v, marks.Ephemeral):
		return valuediff.EphemeralText
	case marks.Has(v, marks.Sensitive) && !showSensitive:
		return valuediff.SensitiveText
	}
	v, _ = v.Unmark()
	switch {
	case !v.IsKnown():
		return valuediff.UnknownText
	case v.IsNull():
		return formatNull(v.Type())
	}
	ty := v.Type()
	elems := func(open, end string) string { return formatElements(v, open, end, depth, showSensitive) }
	switch {
	case ty == cty.String:
		return formatString(v.AsString(), depth)
	case ty.IsPrimitiveType():
		return valuediff.LeafText(v)
	case ty.IsListType():
		return elems("tolist([", "])")
	case ty.IsSetType():
		return elems("toset([", "])")
	case ty.IsTupleType():
		return elems("[", "]")
	case ty.IsMapType():
		return formatMembers(v, "tomap({", "})", depth, showSensitive)
	case ty.IsObjectType():
		return formatMembers(v, "{", "}", depth, showSensitive)
	}
	return "(" + ty.FriendlyName() + ")"
}

// formatNull formats null together with its type, if possible as a conversion such as
// tostring(null).
func formatNull(ty cty.Type) string {
	switch {
	case ty == cty.DynamicPseudoType:
		return "null"
	case ty.IsPrimitiveType():
		return "to" + ty.FriendlyName() + "(null)"
	case ty.IsCollectionType():
		name, _, _ := strings.Cut(ty.FriendlyName(), " ")
		return fmt.Sprintf("to%s(null) /* of %s */", name, ty.ElementType().FriendlyName())
	}
	return "null /* " + ty.FriendlyName() + " */"
}

func formatString(s string, depth int) string {
	if !strings.Contains(s, "\n") {
		return quoted(s)
	}
	lines := strings.Split(s, "\n")
	end := "EOT"
	for i, text := range lines {
		body, returns := strings.CutSuffix(text, "\r")
		lines[i] = termtext.Printable(body)
		if returns {
			lines[i] += "\r"
		}
		for strings.TrimSpace(body) == end {
			end += "_"
		}
	}
	if depth == 0 {
		return "<<" + end + "\n" + strings.Join(lines, "\n") + "\n" + end
	}
	pad := strings.Repeat("  ", depth)
	return "<<-" + end + "\n" + pad + strings.Join(lines, "\n"+pad) + "\n" + pad + end
}

func formatElements(v cty.Value, open, end string, depth int, showSensitive bool) string {
	if v.LengthInt() == 0 {
		return open + end
	}
	pad := strings.Repeat("  ", depth)
	var b strings.Builder
	b.WriteString(open + "\n")
	for it := v.ElementIterator(); it.Next(); {
		_, elem := it.Element()
		b.WriteString(pad + "  " + formatValue(elem, depth+1, showSensitive) + ",\n")
	}
	return b.String() + pad + end
}

func formatMembers(v cty.Value, open, end string, depth int, showSensitive bool) string {
	if v.LengthInt() == 0 {
		return open + end
	}
	pad := strings.Repeat("  ", depth)
	var b strings.Builder
	b.WriteString(open + "\n")
	for name, elem := range valuediff.Members(v) {
		b.WriteString(pad + "  " + quoted(name) + " = " + formatValue(elem, depth+1, showSensitive) + "\n")
	}
	return b.String() + pad + end
}

// OutputsText formats outputs as `output` prints them.
func OutputsText(outputs map[string]*states.Output, showSensitive bool) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		o := outputs[name]
		text := "<sensitive>"
		if !o.Sensitive || showSensitive {
			text = formatValue(o.Value, 0, showSensitive)
		}
		fmt.Fprintf(&b, "%s = %s\n", name, text)
	}
	return b.String()
}
