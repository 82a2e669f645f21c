package lsp

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/hclfmt"
	"tofu/internal/lsp/protocol"
	"tofu/internal/suggest"
)

// edits collects changes of files by URI.
type edits map[string][]protocol.TextEdit

func (e edits) add(d *document, start, end int, text string) {
	uri := uriOf(d.path)
	e[uri] = append(e[uri], protocol.TextEdit{Range: d.span(start, end), NewText: text})
}

// renameable returns the symbol at an offset and the range of its name, or an error if it has no name
// that can be changed.
func (x *index) renameable(path string, offset int) (symbol, hcl.Range, error) {
	o, s, ok := x.at(path, offset)
	if !ok {
		return s, hcl.Range{}, fmt.Errorf("there is no name of a block, a variable or a value here")
	}
	if p, isProvider := s.of.(addrs.LocalProviderConfig); isProvider && p.Alias == "" {
		return s, hcl.Range{}, fmt.Errorf("the local name of a provider can't be changed here; change required_providers")
	}
	if o.name.Empty() {
		return s, hcl.Range{}, fmt.Errorf("the name is not written as a name here; rename it at its definition")
	}
	def, ok := x.definition(s)
	if !ok {
		return s, hcl.Range{}, fmt.Errorf("%s is not defined in the open root modules", nameText(s))
	}
	if dir := filepath.Dir(def.span.Filename); !x.local[dir] {
		return s, hcl.Range{}, fmt.Errorf("%s is defined in %s, which is a downloaded module", nameText(s), dir)
	}
	return s, o.name, nil
}

// nameText returns the address of a symbol.
func nameText(s symbol) string { return fmt.Sprint(s.of) }

// renamed returns the symbol with another name.
func renamed(s symbol, name string) symbol {
	switch of := s.of.(type) {
	case addrs.InputVariable:
		s.of = addrs.InputVariable{Name: name}
	case addrs.LocalValue:
		s.of = addrs.LocalValue{Name: name}
	case addrs.OutputValue:
		s.of = addrs.OutputValue{Name: name}
	case addrs.ModuleCall:
		s.of = addrs.ModuleCall{Name: name}
	case addrs.Check:
		s.of = addrs.Check{Name: name}
	case addrs.Resource:
		of.Name = name
		s.of = of
	case addrs.LocalProviderConfig:
		of.Alias = name
		s.of = of
	}
	return s
}

// rename returns the edits that rename the symbol at an offset. A resource and a module call get a moved
// block, so that their objects are kept.
func (x *index) rename(path string, offset int, name string) (edits, error) {
	s, _, err := x.renameable(path, offset)
	if err != nil {
		return nil, err
	}
	if !hclsyntax.ValidIdentifier(name) {
		return nil, fmt.Errorf("%q is not a valid name: it must begin with a letter or an underscore, and may "+
			"contain letters, digits, underscores and dashes", name)
	}
	to := renamed(s, name)
	if to == s {
		return edits{}, nil
	}
	if other, ok := x.definition(to); ok {
		return nil, fmt.Errorf("%s exists already, at %s:%d", nameText(to), other.span.Filename, other.span.Start.Line)
	}
	out := edits{}
	for _, o := range x.bySymbol[s] {
		if o.role == history {
			continue
		}
		if o.name.Empty() {
			return nil, fmt.Errorf("%s:%d names it in a way that can't be changed, such as an index; write it with a dot",
				o.span.Filename, o.span.Start.Line)
		}
		out.add(x.files[o.span.Filename].document, o.name.Start.Byte, o.name.End.Byte, name)
	}
	def, _ := x.definition(s)
	r, isResource := s.of.(addrs.Resource)
	_, isCall := s.of.(addrs.ModuleCall)
	if isCall || isResource && r.Mode == addrs.Managed {
		d := x.files[def.span.Filename].document
		end := d.lineEnd(def.block.End.Byte)
		out.add(d, end, end, "\n\n"+strings.TrimSuffix(movedBlock(nameText(s), nameText(to)), "\n"))
	}
	return out, nil
}

func movedBlock(from, to string) string {
	return fmt.Sprintf("moved {\n  from = %s\n  to   = %s\n}\n", from, to)
}

// format returns the edits that bring a file into the canonical format: one for each run of lines that
// changes.
func format(d *document) ([]protocol.TextEdit, error) {
	formatted, err := hclfmt.Format(d.text, filepath.Base(d.path))
	if err != nil {
		return nil, err
	}
	before, after := strings.SplitAfter(string(d.text), "\n"), strings.SplitAfter(string(formatted), "\n")
	if len(before) != len(after) {
		return []protocol.TextEdit{{Range: d.span(0, len(d.text)), NewText: string(formatted)}}, nil
	}
	out := []protocol.TextEdit{}
	for i := 0; i < len(before); i++ {
		end := i
		for end < len(before) && before[end] != after[end] {
			end++
		}
		if end > i {
			last := len(d.text)
			if end < len(d.lines) {
				last = d.lines[end]
			}
			out = append(out, protocol.TextEdit{Range: d.span(d.lines[i], last), NewText: strings.Join(after[i:end], "")})
			i = end
		}
	}
	return out, nil
}

// actions returns the code actions for a range of a file: moved blocks for objects that seem to have been
// renamed, and fixes for diagnostics that say what to write instead.
func (v *view) actions(p *parsed, at protocol.Range, diagnostics []protocol.Diagnostic) []protocol.CodeAction {
	out := []protocol.CodeAction{}
	start, end := p.offset(at.Start), p.offset(at.End)
	for _, d := range diagnostics {
		if d.Source == "tofu" {
			out = append(out, fixes(p, d)...)
		}
	}
	if v == nil || v.shown == nil || p.body == nil {
		return out
	}
	for _, r := range v.shown.Renames {
		m := v.config.Descendant(r.Module)
		if m == nil || m.Module == nil || v.abs(m.Module.Dir) != filepath.Dir(p.path) {
			continue
		}
		target, err := addrs.ParseTargetText(r.To)
		if err != nil {
			continue
		}
		for _, block := range p.body.Blocks {
			of, _ := blockSymbol(block)
			isTarget := of == any(target.Resource)
			if target.IsModule() {
				_, step := target.Module.Parent()
				isTarget = of == any(addrs.ModuleCall{Name: step.Name})
			}
			if !isTarget || block.Range().End.Byte < start || block.DefRange().Start.Byte > end {
				continue
			}
			e, after := edits{}, p.lineEnd(block.Range().End.Byte)
			e.add(p.document, after, after, "\n\n"+strings.TrimSuffix(movedBlock(r.From, r.To), "\n"))
			out = append(out, protocol.CodeAction{Title: fmt.Sprintf("Add a moved block: %s is now %s", r.From, r.To),
				Kind: protocol.CodeActionKindQuickFix, Edit: &protocol.WorkspaceEdit{Changes: e}})
		}
	}
	return out
}

// fixes returns the code actions for a diagnostic.
func fixes(p *parsed, d protocol.Diagnostic) []protocol.CodeAction {
	start, end := p.offset(d.Range.Start), p.offset(d.Range.End)
	fix := func(title string, e edits) []protocol.CodeAction {
		return []protocol.CodeAction{{Title: title, Kind: protocol.CodeActionKindQuickFix, IsPreferred: true,
			Diagnostics: []protocol.Diagnostic{d}, Edit: &protocol.WorkspaceEdit{Changes: e}}}
	}
	e := edits{}
	if meant := between(d.Message, "Did you mean ", "?"); meant != "" {
		from, to, ok := misspelled(string(p.text[start:end]), strings.Trim(meant, `"`))
		if ok {
			e.add(p.document, start+from, start+to, strings.Trim(meant, `"`))
			return fix("Replace by "+strings.Trim(meant, `"`), e)
		}
	}
	if name := between(d.Message, `The argument "`, `" is required`); name != "" {
		u := p.underAt(start)
		if len(u.blocks) > 0 {
			block := u.blocks[len(u.blocks)-1]
			at, indent := block.OpenBraceRange.End.Byte, strings.Repeat("  ", len(u.blocks))
			text := "\n" + indent + name + " = "
			if block.CloseBraceRange.Start.Line == block.OpenBraceRange.Start.Line {
				text += "null\n" + indent[2:]
			} else {
				text += "null"
			}
			e.add(p.document, at, at, text)
			return fix("Add the argument "+name, e)
		}
	}
	return nil
}

func between(text, before, after string) string {
	_, rest, ok := strings.Cut(text, before)
	if !ok {
		return ""
	}
	// Names may contain dots, but a suggestion never contains a space.
	found, _, ok := strings.Cut(strings.Join(strings.Fields(rest), " "), after)
	if !ok || strings.Contains(found, " ") {
		return ""
	}
	return found
}

// misspelled returns the part of a text that a suggestion replaces: the most similar of the text itself
// and the names in it.
func misspelled(text, meant string) (from, to int, ok bool) {
	if strings.ContainsAny(text, "{\n") {
		return 0, 0, false
	}
	if strings.HasPrefix(text, `"`) && strings.HasSuffix(text, `"`) && len(text) > 1 {
		return 1, len(text) - 1, true
	}
	parts := strings.Count(meant, ".") + 1 // an address such as var.name replaces as many names
	var starts []int
	for i := range text {
		if i == 0 || strings.ContainsRune(". [", rune(text[i-1])) {
			starts = append(starts, i)
		}
	}
	best := -1
	for i, s := range starts {
		e := len(text)
		if i+parts < len(starts) {
			e = starts[i+parts] - 1
		}
		e = s + len(strings.TrimRight(text[s:e], " =]"))
		if d := suggest.Distance(text[s:e], meant, len(meant)); best < 0 || d < best {
			best, from, to = d, s, e
		}
	}
	return from, to, best >= 0 && best <= len(meant)/2+1
}

// sortEdits orders edits by their positions, because tests and people read them.
func sortEdits(e edits) {
	for _, list := range e {
		slices.SortFunc(list, func(a, b protocol.TextEdit) int {
			if a.Range.Start.Line != b.Range.Start.Line {
				return int(a.Range.Start.Line) - int(b.Range.Start.Line)
			}
			return int(a.Range.Start.Character) - int(b.Range.Start.Character)
		})
	}
}
