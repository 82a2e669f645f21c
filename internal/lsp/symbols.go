package lsp

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang/nesting"
)

// A symbol is something with a name in a module: a comparable address, and the directory of the module.
type symbol struct {
	dir string
	of  any // an addrs.Referenceable without keys, or an addrs.LocalProviderConfig
}

// role says what an occurrence of a symbol is.
type role uint8

const (
	reference  role = iota
	definition      // the header of its block, or the attribute of a locals block
	argument        // the variable is set here: by a module call, a variable file or a test
	history         // in a moved, removed or import block, which keeps the old name
)

// An occurrence is a place where a symbol is named.
type occurrence struct {
	symbol
	role  role
	span  hcl.Range // everything that names the symbol, such as aws_instance.web
	name  hcl.Range // only the name, without quotes; it is empty if the name is written otherwise
	block hcl.Range // of a definition: the whole block
	// call is set if the symbol is in the module that a module call of dir calls, or in the root module
	// whose outputs a data source reads: the name of the call, or the result of remoteCall.
	call   string
	nested bool // a scoped data source of a check block
}

// remoteCall returns the text that stands for a terraform_remote_state data source in occurrence.call.
func remoteCall(name string) string { return "data.terraform_remote_state." + name }

// parsed is a file in native syntax with what it names. It is immutable.
type parsed struct {
	*document
	body        *hclsyntax.Body // nil for JSON syntax
	occurrences []occurrence    // in source order
}

// parse parses a file. After syntax errors, the result has what could be parsed.
func parse(path string, text []byte) *parsed {
	p := &parsed{document: newDocument(path, text)}
	if strings.HasSuffix(path, ".json") || nesting.Check(path, text) != nil {
		return p
	}
	file, _ := hclsyntax.ParseConfig(text, path, hcl.InitialPos)
	if file == nil {
		return p
	}
	p.body, _ = file.Body.(*hclsyntax.Body)
	s := &scanner{dir: filepath.Dir(path), text: text}
	switch {
	case strings.HasSuffix(path, ".tfvars"):
		s.arguments(p.body, "")
	case isTestFile(path):
		if filepath.Base(s.dir) == "tests" {
			s.dir = filepath.Dir(s.dir)
		}
		s.scope = addrs.TestScope
		s.testFile(p.body)
	default:
		s.file(p.body)
	}
	p.occurrences = s.out
	slices.SortStableFunc(p.occurrences, func(a, b occurrence) int { return a.span.Start.Byte - b.span.Start.Byte })
	return p
}

func isTestFile(path string) bool {
	return strings.HasSuffix(path, ".tftest.hcl") || strings.HasSuffix(path, ".tofutest.hcl")
}

// scanner collects the occurrences in a file.
type scanner struct {
	dir    string
	text   []byte
	scope  addrs.Scope
	role   role // of references
	out    []occurrence
	hidden []map[string]struct{} // names that "for" expressions and dynamic blocks define
}

// modes maps the types of blocks that use providers to the modes of their addresses.
var modes = map[string]addrs.ResourceMode{"resource": addrs.Managed, "data": addrs.Data,
	"ephemeral": addrs.Ephemeral, "action": addrs.Action}

// blockSymbol returns the address that a block declares, and the index of the label with its name.
func blockSymbol(block *hclsyntax.Block) (of any, label int) {
	if mode, ok := modes[block.Type]; ok && len(block.Labels) == 2 {
		return addrs.Resource{Mode: mode, Type: block.Labels[0], Name: block.Labels[1]}, 1
	}
	if len(block.Labels) != 1 {
		return nil, 0
	}
	switch name := block.Labels[0]; block.Type {
	case "variable":
		return addrs.InputVariable{Name: name}, 0
	case "output":
		return addrs.OutputValue{Name: name}, 0
	case "module":
		return addrs.ModuleCall{Name: name}, 0
	case "check":
		return addrs.Check{Name: name}, 0
	case "provider":
		return addrs.LocalProviderConfig{LocalName: name}, 0
	}
	return nil, 0
}

func (s *scanner) file(body *hclsyntax.Body) {
	for _, block := range body.Blocks {
		s.block(block, false)
	}
}

func (s *scanner) block(block *hclsyntax.Block, nested bool) {
	if of, label := blockSymbol(block); of != nil {
		name := s.unquoted(block.LabelRanges[label])
		if p, ok := of.(addrs.LocalProviderConfig); ok {
			of, name = s.providerAlias(p, block)
		}
		s.add(occurrence{symbol: symbol{s.dir, of}, role: definition, nested: nested, name: name,
			span: hcl.RangeBetween(block.TypeRange, block.DefRange()), block: block.Range()})
	}
	switch block.Type {
	case "locals":
		for _, attr := range sorted(block.Body.Attributes) {
			s.add(occurrence{symbol: symbol{s.dir, addrs.LocalValue{Name: attr.Name}}, role: definition,
				span: attr.NameRange, name: attr.NameRange, block: attr.SrcRange})
		}
	case "moved", "removed", "import":
		s.role = history
		defer func() { s.role = reference }()
	case "module":
		if len(block.Labels) == 1 {
			s.arguments(block.Body, block.Labels[0])
		}
	}
	s.body(block.Type, block.Body)
}

// providerAlias returns the name of a provider configuration, and where its alias is.
func (s *scanner) providerAlias(p addrs.LocalProviderConfig, block *hclsyntax.Block) (addrs.LocalProviderConfig,
	hcl.Range) {
	if attr := block.Body.Attributes["alias"]; attr != nil {
		if v, diags := attr.Expr.Value(nil); !diags.HasErrors() && v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
			p.Alias = v.AsString()
			return p, s.unquoted(attr.Expr.Range())
		}
	}
	return p, hcl.Range{}
}

// arguments adds the attributes of a body as arguments for the variables of a module. call is the
// call of the module; "" means the module of the directory itself.
func (s *scanner) arguments(body *hclsyntax.Body, call string) {
	for _, attr := range sorted(body.Attributes) {
		s.add(occurrence{symbol: symbol{s.dir, addrs.InputVariable{Name: attr.Name}}, role: argument, call: call,
			span: attr.NameRange, name: attr.NameRange})
	}
}

func (s *scanner) testFile(body *hclsyntax.Body) {
	for _, block := range body.Blocks {
		switch block.Type {
		case "variables":
			s.arguments(block.Body, "")
		case "run":
			other := false // the run tests another module
			for _, inner := range block.Body.Blocks {
				other = other || inner.Type == "module"
			}
			if other {
				continue
			}
			for _, inner := range block.Body.Blocks {
				if inner.Type == "variables" {
					s.arguments(inner.Body, "")
				}
			}
		}
		s.body(block.Type, block.Body)
	}
}

// body scans the expressions in a body. kind is the type of the block around it.
func (s *scanner) body(kind string, body *hclsyntax.Body) {
	for _, attr := range sorted(body.Attributes) {
		switch {
		case attr.Name == "provider" && modes[kind] != 0, attr.Name == "providers" && (kind == "module" || kind == "run"):
			hclsyntax.VisitAll(attr.Expr, func(node hclsyntax.Node) hcl.Diagnostics {
				if e, ok := node.(*hclsyntax.ScopeTraversalExpr); ok {
					s.providerRef(e.Traversal)
				}
				return nil
			})
		case attr.Name == "type" && kind == "variable", attr.Name == "ignore_changes" && kind == "lifecycle",
			attr.Name == "when" && kind == "provisioner", attr.Name == "on_failure" && kind == "provisioner":
		default:
			hclsyntax.Walk(attr.Expr, s)
		}
	}
	for _, block := range body.Blocks {
		if block.Type == "dynamic" && len(block.Labels) == 1 {
			s.dynamic(block)
		} else if kind == "check" && block.Type == "data" {
			s.block(block, true)
		} else {
			s.body(block.Type, block.Body)
		}
	}
}

// dynamic scans a dynamic block, in which the name of its iterator is not a reference.
func (s *scanner) dynamic(block *hclsyntax.Block) {
	iterator := block.Labels[0]
	for _, attr := range sorted(block.Body.Attributes) {
		if attr.Name == "iterator" {
			iterator = hcl.ExprAsKeyword(attr.Expr)
		} else if attr.Name == "for_each" {
			hclsyntax.Walk(attr.Expr, s)
		}
	}
	s.hidden = append(s.hidden, map[string]struct{}{iterator: {}})
	for _, attr := range sorted(block.Body.Attributes) {
		if attr.Name == "labels" {
			hclsyntax.Walk(attr.Expr, s)
		}
	}
	for _, inner := range block.Body.Blocks {
		s.body(inner.Type, inner.Body)
	}
	s.hidden = s.hidden[:len(s.hidden)-1]
}

// Enter implements hclsyntax.Walker.
func (s *scanner) Enter(node hclsyntax.Node) hcl.Diagnostics {
	switch e := node.(type) {
	case hclsyntax.ChildScope:
		s.hidden = append(s.hidden, e.LocalNames)
	case *hclsyntax.ScopeTraversalExpr:
		s.traversal(e.Traversal)
	case *hclsyntax.RelativeTraversalExpr: // module.NAME[INDEX].OUTPUT
		if index, ok := e.Source.(*hclsyntax.IndexExpr); ok {
			s.outputOf(index.Collection, e.Traversal)
		}
	case *hclsyntax.SplatExpr: // module.NAME[*].OUTPUT
		if each, ok := e.Each.(*hclsyntax.RelativeTraversalExpr); ok {
			s.outputOf(e.Source, each.Traversal)
		}
	}
	return nil
}

// Exit implements hclsyntax.Walker.
func (s *scanner) Exit(node hclsyntax.Node) hcl.Diagnostics {
	if _, ok := node.(hclsyntax.ChildScope); ok {
		s.hidden = s.hidden[:len(s.hidden)-1]
	}
	return nil
}

// outputOf adds the output that steps after instances of a module call select.
func (s *scanner) outputOf(call hclsyntax.Expression, steps hcl.Traversal) {
	e, ok := call.(*hclsyntax.ScopeTraversalExpr)
	if !ok || len(e.Traversal) != 2 || e.Traversal.RootName() != "module" || len(steps) == 0 {
		return
	}
	s.output(addrs.StepName(e.Traversal[1]), steps[0])
}

func (s *scanner) output(call string, step hcl.Traverser) {
	if name, ok := step.(hcl.TraverseAttr); ok && call != "" {
		at := nameOf(name.SrcRange, name.Name)
		s.add(occurrence{symbol: symbol{s.dir, addrs.OutputValue{Name: name.Name}}, call: call, role: s.role,
			span: at, name: at})
	}
}

func (s *scanner) traversal(tr hcl.Traversal) {
	for _, names := range s.hidden {
		if _, ok := names[tr.RootName()]; ok {
			return
		}
	}
	ref, err := addrs.ParseRef(tr, s.scope)
	if err != nil {
		return
	}
	used := len(tr) - len(ref.Remaining) // steps of the subject
	subject := ref.Whole()
	last := used - 1 // the step with the name
	switch of := subject.(type) {
	case addrs.ModuleCallOutput:
		s.module(tr, of.Call.Name)
		s.output(of.Call.Name, tr[used-1])
		return
	case addrs.ModuleCallInstance:
		s.module(tr, of.Name)
		return
	case addrs.ModuleCall:
		s.module(tr, of.Name)
		return
	case addrs.Resource:
		last = 1
		if tr.RootName() != of.Type {
			last = 2
		}
	case addrs.InputVariable, addrs.LocalValue, addrs.OutputValue, addrs.Check:
	default:
		return
	}
	if r, ok := subject.(addrs.Resource); ok && r.Mode == addrs.Data && r.Type == "terraform_remote_state" &&
		len(ref.Remaining) > 1 && addrs.StepName(ref.Remaining[0]) == "outputs" {
		s.output(remoteCall(r.Name), ref.Remaining[1])
	}
	s.add(occurrence{symbol: symbol{s.dir, subject}, role: s.role, name: stepName(tr[last]),
		span: hcl.RangeBetween(tr[0].SourceRange(), tr[last].SourceRange())})
}

func (s *scanner) module(tr hcl.Traversal, name string) {
	s.add(occurrence{symbol: symbol{s.dir, addrs.ModuleCall{Name: name}}, role: s.role, name: stepName(tr[1]),
		span: hcl.RangeBetween(tr[0].SourceRange(), tr[1].SourceRange())})
}

func (s *scanner) providerRef(tr hcl.Traversal) {
	p := addrs.LocalProviderConfig{LocalName: tr.RootName()}
	var name hcl.Range
	if len(tr) > 1 {
		p.Alias, name = addrs.StepName(tr[1]), stepName(tr[1])
	}
	s.add(occurrence{symbol: symbol{s.dir, p}, span: tr.SourceRange(), name: name})
}

// sorted returns the attributes of a body in source order.
func sorted(attrs hclsyntax.Attributes) []*hclsyntax.Attribute {
	return slices.SortedFunc(maps.Values(attrs), func(a, b *hclsyntax.Attribute) int {
		return a.SrcRange.Start.Byte - b.SrcRange.Start.Byte
	})
}

func (s *scanner) add(o occurrence) { s.out = append(s.out, o) }

// stepName returns the range of the name in a step such as .NAME.
func stepName(step hcl.Traverser) hcl.Range {
	if attr, ok := step.(hcl.TraverseAttr); ok {
		return nameOf(attr.SrcRange, attr.Name)
	}
	return hcl.Range{}
}

// nameOf returns the range of a name at the end of a range.
func nameOf(rng hcl.Range, name string) hcl.Range {
	n := rng.End.Byte - rng.Start.Byte - len(name)
	rng.Start.Byte += n
	rng.Start.Column += n
	return rng
}

// unquoted returns the range of a label or a string literal without quotes.
func (s *scanner) unquoted(rng hcl.Range) hcl.Range {
	if s.text[rng.Start.Byte] == '"' {
		rng.Start.Byte++
		rng.Start.Column++
		rng.End.Byte--
		rng.End.Column--
	}
	return rng
}
