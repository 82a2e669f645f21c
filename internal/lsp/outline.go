package lsp

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lsp/protocol"
	"tofu/internal/ui/planview"
)

// symbolKinds are the kinds of blocks in an outline. Other blocks are structs.
var symbolKinds = map[string]protocol.SymbolKind{"resource": protocol.SymbolKindClass, "data": protocol.SymbolKindInterface,
	"ephemeral": protocol.SymbolKindEvent, "action": protocol.SymbolKindMethod, "variable": protocol.SymbolKindVariable,
	"output": protocol.SymbolKindConstant, "module": protocol.SymbolKindModule, "provider": protocol.SymbolKindPackage,
	"locals": protocol.SymbolKindNamespace}

// outline returns the blocks of a body and, of a locals block, its values.
func (p *parsed) outline(body *hclsyntax.Body, depth int) []protocol.DocumentSymbol {
	out := []protocol.DocumentSymbol{}
	for _, block := range body.Blocks {
		one := protocol.DocumentSymbol{Name: strings.Join(append([]string{block.Type}, block.Labels...), " "),
			Kind: symbolKinds[block.Type], Range: p.rangeOf(block.Range()), SelectionRange: p.rangeOf(block.DefRange())}
		if one.Kind == 0 {
			one.Kind = protocol.SymbolKindStruct
		}
		if of, _ := blockSymbol(block); of != nil && depth == 0 && block.Type != "provider" {
			one.Name, one.Detail = fmt.Sprint(of), block.Type
		}
		if block.Type == "locals" && depth == 0 {
			for _, attr := range sorted(block.Body.Attributes) {
				one.Children = append(one.Children, protocol.DocumentSymbol{Name: "local." + attr.Name,
					Kind: protocol.SymbolKindConstant, Range: p.rangeOf(attr.SrcRange), SelectionRange: p.rangeOf(attr.NameRange)})
			}
		}
		if depth < 20 {
			one.Children = append(one.Children, p.outline(block.Body, depth+1)...)
		}
		out = append(out, one)
	}
	return out
}

// hints returns the values of the arguments in a part of a file that are not written there. An argument
// with different values in the instances of its block has no hint.
func (v *view) hints(p *parsed, dir string, start, end int) []protocol.InlayHint {
	out := []protocol.InlayHint{}
	if v == nil || v.values == nil || v.outdated || p.body == nil {
		return out
	}
	cfg := v.module(dir)
	for _, block := range p.body.Blocks {
		if block.Range().End.Byte < start || block.Range().Start.Byte > end {
			continue
		}
		switch block.Type {
		case "locals", "output", "module", "resource", "data":
		default:
			continue
		}
		u := under{blocks: []*hclsyntax.Block{block}}
		c := v.contentOf(cfg, u.open())
		points, more := v.points(dir, c.owner, maxPoints)
		if len(points) == 0 || more > 0 {
			continue
		}
		for _, attr := range sorted(block.Body.Attributes) {
			rng := attr.SrcRange
			if rng.End.Byte < start || rng.Start.Byte > end || rng.Start.Line != rng.End.Line || len(attr.Expr.Variables()) == 0 {
				continue
			}
			switch attr.Name {
			case "provider", "providers", "depends_on", "source", "version":
				continue
			}
			u.attr = attr
			if text, ok := v.sameEverywhere(&u, c, points); ok {
				out = append(out, protocol.InlayHint{Position: p.position(rng.End.Byte), Label: "= " + text, PaddingLeft: true})
			}
		}
	}
	return out
}

// sameEverywhere returns the value of an argument in one line, if all instances have the same.
func (v *view) sameEverywhere(u *under, c content, points []point) (string, bool) {
	var value cty.Value
	for i, p := range points {
		val, ok := v.argument(u, p, c)
		if !ok || i > 0 && !val.RawEquals(value) {
			return "", false
		}
		value = val
	}
	return short(value)
}

// showDifference is the command of code lenses: it shows the planned changes of a resource, or of the
// whole root module. Its arguments are the directory of the root module and the address.
const showDifference = "tofu.showDifference"

// lenses returns a code lens for each resource block whose objects the plan changes.
func (v *view) lenses(p *parsed, dir string) []protocol.CodeLens {
	out := []protocol.CodeLens{}
	if v == nil || v.shown == nil || p.body == nil {
		return out
	}
	groups := map[addrs.Resource][]*planview.Change{}
	paths := map[addrs.Resource]addrs.ConfigResource{}
	modules := map[addrs.Module]bool{}
	for _, m := range v.modules(dir) {
		modules[m.Path] = true
	}
	for _, c := range v.shown.Changes {
		if modules[c.Addr.Module.Module()] {
			groups[c.Addr.Resource] = append(groups[c.Addr.Resource], c)
			paths[c.Addr.Resource] = c.Addr.Config()
		}
	}
	age := ""
	if v.outdated {
		age = " (before the last edit)"
	}
	for i, block := range p.body.Blocks {
		at := p.rangeOf(block.DefRange())
		if i == 0 && dir == v.root {
			out = append(out, v.lens(at, totals(v.shown.Counts)+age, ""))
		}
		of, _ := blockSymbol(block)
		if r, ok := of.(addrs.Resource); ok && len(groups[r]) > 0 {
			out = append(out, v.lens(at, summary(groups[r])+age, paths[r].String()))
		}
	}
	return out
}

func (v *view) lens(at protocol.Range, title, address string) protocol.CodeLens {
	return protocol.CodeLens{Range: at, Command: &protocol.Command{Title: title, Command: showDifference,
		Arguments: []any{uriOf(v.root), address}}}
}

// totals describes the changes of a plan.
func totals(c planview.Counts) string {
	text := amounts([]amount{{c.Add - c.Replace, "add"}, {c.Change, "change"}, {c.Replace, "replace"},
		{c.Remove - c.Replace, "destroy"}, {c.Import, "import"}, {c.Forget, "forget"}, {c.Deferred, "plan later"}})
	if text == "" {
		return "No changes"
	}
	return "Plan: " + text
}

type amount struct {
	n    int
	verb string
}

func amounts(list []amount) string {
	var parts []string
	for _, a := range list {
		if a.n > 0 {
			parts = append(parts, fmt.Sprintf("%d to %s", a.n, a.verb))
		}
	}
	return strings.Join(parts, ", ")
}

// verbs are the words for the kinds of changes, in the order in which a lens names them.
var verbs = []struct {
	kind planview.Kind
	verb string
}{{planview.Destroyed, "destroy"}, {planview.Replaced, "replace"}, {planview.Updated, "change"}, {planview.Created, "add"},
	{planview.Imported, "import"}, {planview.Read, "read"}, {planview.Forgotten, "forget"}, {planview.Moved, "move"}}

// summary describes the changes of the instances of a resource, such as "3 to change".
func summary(changes []*planview.Change) string {
	count := map[planview.Kind]int{}
	for _, c := range changes {
		count[c.Kind()]++
	}
	var list []amount
	for _, v := range verbs {
		list = append(list, amount{count[v.kind], v.verb})
	}
	return amounts(list)
}
