package planview

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/plans"
	"tofu/internal/ui/valuediff"
)

// Inline formats a value that exists only before or only after a change, on one line.
func Inline(n *valuediff.Node) string {
	var b strings.Builder
	inline(&b, n)
	return b.String()
}

func inline(b *strings.Builder, n *valuediff.Node) {
	switch n.Form {
	case valuediff.ObjectForm, valuediff.MapForm, valuediff.NestedMapForm, valuediff.BlockForm:
		inlineMembers(b, n)
	case valuediff.ListForm, valuediff.NestedListForm, valuediff.SetForm:
		b.WriteByte('[')
		for i, e := range n.Elements {
			if i > 0 {
				b.WriteString(", ")
			}
			inline(b, e)
		}
		b.WriteByte(']')
	case valuediff.TypeChangeForm:
		inline(b, n.From)
		b.WriteString(" -> ")
		inline(b, n.To)
	case valuediff.JSONForm:
		b.WriteString(strings.Join(n.Calls, "(") + "(")
		inline(b, n.Elements[0])
		b.WriteString(strings.Repeat(")", len(n.Calls)))
	case valuediff.TextForm:
		inlineText(b, n)
	case valuediff.HiddenBlockForm:
		b.WriteString(valuediff.SensitiveText)
	default:
		b.WriteString(n.Text)
	}
}

func inlineMembers(b *strings.Builder, n *valuediff.Node) {
	b.WriteByte('{')
	separator := " "
	for _, m := range n.Members {
		b.WriteString(separator)
		separator = ", "
		if m.Quote || !hclsyntax.ValidIdentifier(m.Name) {
			b.WriteString(strconv.Quote(m.Name))
		} else {
			b.WriteString(m.Name)
		}
		b.WriteString(" = ")
		inline(b, m.Node)
	}
	for _, group := range n.Blocks {
		for _, item := range group.Items {
			b.WriteString(separator + group.Name + " ")
			separator = ", "
			if item.Name != "" {
				b.WriteString(strconv.Quote(item.Name) + " ")
			}
			inline(b, item.Node)
		}
	}
	if separator != " " {
		b.WriteByte(' ')
	}
	b.WriteByte('}')
}

// inlineText describes a string of several lines by its first line and the number of lines.
func inlineText(b *strings.Builder, n *valuediff.Node) {
	var first string
	for _, l := range n.Lines {
		first = strings.TrimSpace(l.Text)
		if first != "" {
			break
		}
	}
	text := strconv.Quote(first)
	if len(n.Lines) > 1 {
		text = fmt.Sprintf("%s … (%d lines)", text, len(n.Lines))
	}
	if len(n.Calls) > 0 {
		text = strings.Join(n.Calls, "(") + "(" + text + strings.Repeat(")", len(n.Calls))
	}
	b.WriteString(text)
}

// symbols maps actions to the symbols in the legend of the full view.
var symbols = map[plans.Action]string{
	plans.NoOp: " ", plans.Create: "+", plans.Update: "~", plans.Delete: "-", plans.DeleteThenCreate: "-/+",
	plans.CreateThenDelete: "+/-", plans.Read: "<=", plans.Forget: ".", plans.ForgetThenCreate: "./+", plans.Invoke: "=>",
}

// Symbol returns the symbol of an action: "+", "~", "-/+" and so on.
func Symbol(a plans.Action) string { return symbols[a] }
