package ui

import (
	"fmt"
	"slices"
	"strings"

	"tofu/internal/tfdiags"
	"tofu/internal/ui/termtext"
)

// diagWriter formats diagnostics for humans. They are in a box if colors are enabled.
type diagWriter struct {
	sources *sources
	style   termtext.Style
	width   int // columns; 0 means unlimited
}

// one formats one diagnostic. more says how many similar diagnostics there are.
func (w *diagWriter) one(d tfdiags.Diagnostic, more string) string {
	desc := w.sources.describe(d)
	title, edge := "Error: ", termtext.Red
	if d.Severity == tfdiags.Warning {
		title, edge = "Warning: ", termtext.Yellow
	}
	width := w.width - 1
	if w.style.On {
		width -= 2 // the width of the box
	}
	var b strings.Builder
	b.WriteString(w.style.As(termtext.Bold, w.style.As(edge, title)))
	b.WriteString(w.style.As(termtext.Bold, termtext.Printable(desc.Summary)) + "\n\n")
	w.place(&b, desc)
	if desc.Detail != "" {
		wrap := termtext.Wrap
		if w.style.On {
			wrap = termtext.WrapItems // programs that read lists have no colors
		}
		b.WriteString(wrap(termtext.Printable(desc.Detail), width) + "\n")
	}
	if more != "" {
		b.WriteString("\n" + more + "\n")
	}
	if !w.style.On {
		return "\n" + b.String()
	}
	return w.boxed(b.String(), edge)
}

func (w *diagWriter) boxed(text string, edge termtext.Color) string {
	var b strings.Builder
	b.WriteString(w.style.As(edge, "╷") + "\n")
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		b.WriteString(w.style.As(edge, "│") + " " + line + "\n")
	}
	b.WriteString(w.style.As(edge, "╵") + "\n")
	return b.String()
}

// place writes the location of the problem, an excerpt of the source code, and the values
// involved.
func (w *diagWriter) place(b *strings.Builder, d *diagnostic) {
	if d.Address != "" {
		fmt.Fprintf(b, "  with %s,\n", termtext.OneLine(d.Address))
	}
	switch {
	case d.Range == nil:
		if d.Address != "" {
			b.WriteByte('\n')
		}
		return
	case d.Snippet == nil:
		fmt.Fprintf(b, "  on %s line %d:\n  (source code not available)\n\n", termtext.OneLine(d.Range.Filename),
			d.Range.Start.Line)
		return
	}
	s := d.Snippet
	context := ""
	if s.Context != nil {
		context = ", in " + termtext.OneLine(*s.Context)
	}
	fmt.Fprintf(b, "  on %s line %d%s:\n", termtext.OneLine(d.Range.Filename), d.Range.Start.Line, context)
	w.code(b, s)
	w.involved(b, d)
	b.WriteByte('\n')
}

// involved writes the called function, the values in the expression, and the difference between
// the two sides of a comparison.
func (w *diagWriter) involved(b *strings.Builder, d *diagnostic) {
	edge := "    " + w.style.As(termtext.Grey, "│") + " "
	rule := func() {
		b.WriteString("    " + w.style.As(termtext.Grey, "├────────────────") + "\n")
	}
	line := func(text string) {
		b.WriteString(edge + termtext.Printable(text) + "\n")
	}
	if call := d.Snippet.FunctionCall; len(d.Snippet.Values) > 0 || call != nil && call.Signature != nil {
		rule()
		if call != nil && call.Signature != nil {
			name := w.style.As(termtext.Bold, call.CalledAs)
			b.WriteString(edge + "while calling " + name + "(" + parameterNames(call.Signature) + ")\n")
		}
		for _, v := range d.Snippet.Values {
			name := w.style.As(termtext.Bold, termtext.Printable(v.Traversal))
			b.WriteString(edge + name + " " + termtext.Printable(v.Statement) + "\n")
		}
	}
	if d.Difference != nil {
		rule()
		line("Diff: ")
		for text := range strings.SplitSeq(valueDiff(d.difference[0], d.difference[1], w.style), "\n") {
			b.WriteString(edge + "    " + text + "\n")
		}
	}
}

func parameterNames(sig *functionSignature) string {
	var names []string
	for _, p := range sig.Params {
		names = append(names, p.Name)
	}
	if sig.Variadic != nil {
		names = append(names, sig.Variadic.Name+"...")
	}
	return strings.Join(names, ", ")
}

// group is a diagnostic with others that have the same summary.
type group struct {
	first  tfdiags.Diagnostic
	others int
}

// grouped groups diagnostics with the same summary if wanted returns true for their severity.
// Failed checks stay separate, because each has its own message.
func grouped(diags tfdiags.Diagnostics, wanted func(tfdiags.Severity) bool) []group {
	var out []group
	index := make(map[string]int)
	for _, d := range diags {
		_, check := d.Extra.(tfdiags.CheckRule)
		host := unreachable(d)
		if check || !wanted(d.Severity) && host == "" {
			out = append(out, group{first: d})
			continue
		}
		key := d.Severity.String() + " " + d.Summary + " " + host
		if by, ok := d.Extra.(tfdiags.Deprecation); ok {
			key += " " + by.Of // advice differs for each deprecated object
		}
		if i, known := index[key]; known {
			out[i].others++
			continue
		}
		index[key] = len(out)
		out = append(out, group{first: d})
	}
	return out
}

// unreachable returns the host to which no connection could be made, or "". Several errors about one host
// have one cause, so they are one error with a number.
func unreachable(d tfdiags.Diagnostic) string {
	_, rest, found := strings.Cut(d.Detail, "could not connect to ")
	host, _, ended := strings.Cut(rest, ": ")
	if d.Severity != tfdiags.Error || !found || !ended || strings.ContainsAny(host, " \n") {
		return ""
	}
	return host
}

// similar says how many other diagnostics the group has.
func (g group) similar() string {
	switch {
	case g.others == 0:
		return ""
	case g.others == 1:
		return fmt.Sprintf("(one more %s like this one)", g.first.Severity)
	}
	return fmt.Sprintf("(%d more %ss like this one)", g.others, g.first.Severity)
}

// compact formats warnings in a few words each.
func (w *diagWriter) compact(groups []group) string {
	var b strings.Builder
	b.WriteString("\n" + w.style.As(termtext.Bold, w.style.As(termtext.Yellow, "Warnings:")) + "\n\n")
	for _, g := range groups {
		fmt.Fprintf(&b, "- %s\n", termtext.Printable(g.first.Summary))
		if s := g.first.Subject; s != nil {
			fmt.Fprintf(&b, "  on %s line %d", termtext.OneLine(s.Filename), s.Start.Line)
			if g.others > 0 {
				fmt.Fprintf(&b, " (and %d more)", g.others)
			}
			b.WriteByte('\n')
		}
	}
	b.WriteString("\nTo show them in full, run the command without -compact-warnings.\n")
	return b.String()
}

// sorted returns the diagnostics in the order in which users read them.
func sorted(diags tfdiags.Diagnostics) tfdiags.Diagnostics {
	out := slices.Clone(diags)
	out.Sort()
	return out
}
