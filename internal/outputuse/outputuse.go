// Package outputuse determines which outputs of other root modules a configuration uses. These are
// the outputs of its terraform_remote_state data sources to which expressions refer. The package
// follows local values and the names in "for" expressions. If it can't tell which outputs are used,
// it treats all of them as used.
package outputuse

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
)

// Set is a set of outputs of a root module. The zero value is empty.
type Set struct {
	All   bool
	Names []string // sorted names; nil if All is set
}

// Select returns the values of the outputs in the set.
func (o Set) Select(values map[string]cty.Value) map[string]cty.Value {
	if o.All {
		return values
	}
	out := make(map[string]cty.Value)
	for _, name := range o.Names {
		if v, has := values[name]; has {
			out[name] = v
		}
	}
	return out
}

// Has reports whether the set contains an output.
func (o Set) Has(name string) bool { return o.All || slices.Contains(o.Names, name) }

// Empty reports whether the set contains no outputs.
func (o Set) Empty() bool { return !o.All && len(o.Names) == 0 }

// Plus returns the union of two sets.
func (o Set) Plus(other Set) Set {
	if o.All || other.All {
		return Set{All: true}
	}
	names := slices.Concat(o.Names, other.Names)
	slices.Sort(names)
	return Set{Names: slices.Compact(names)}
}

// Find returns the outputs that a module uses of each of its terraform_remote_state data sources,
// by the name of the data source.
func Find(p *configs.Parser, m *configs.Module) map[string]Set {
	f := &outputFinder{sources: make(map[string]*configs.Resource), locals: make(map[string]hclsyntax.Expression),
		handled: make(map[hclsyntax.Node]bool), found: make(map[string]Set)}
	for addr, r := range m.Resources {
		if addr == DataSource(addr.Name) {
			f.sources[addr.Name] = r
			f.found[addr.Name] = Set{}
		}
	}
	if len(f.sources) == 0 {
		return nil
	}
	var bodies []*hclsyntax.Body
	for _, name := range m.Files {
		file, _ := p.ParseFile(name) // loading the module reports the errors
		if file == nil {
			continue
		}
		if body, native := file.Body.(*hclsyntax.Body); native {
			bodies = append(bodies, body)
		} else {
			f.inText(string(file.Bytes))
		}
	}
	if len(bodies) == len(m.Files) {
		f.nameLocals(bodies)
	}
	for _, body := range bodies {
		_ = hclsyntax.Walk(body, f)
	}
	return f.found
}

// DataSource returns the address of a terraform_remote_state data source.
func DataSource(name string) addrs.Resource {
	return addrs.Resource{Mode: addrs.Data, Type: "terraform_remote_state", Name: name}
}

// outputFinder finds the uses of outputs of terraform_remote_state data sources. It follows local
// values, and names in "for" expressions, if they refer to a data source or a part of one. It
// implements hclsyntax.Walker.
type outputFinder struct {
	sources map[string]*configs.Resource    // data sources by name
	locals  map[string]hclsyntax.Expression // local values that only refer to a data source or a part of it
	names   []forName                       // names in the "for" expressions around the current node
	// self holds, for each block around the current node, the name of the data source that it
	// declares, or "".
	self    []string
	handled map[hclsyntax.Node]bool // parts of expressions that have been recorded as a whole
	found   map[string]Set
}

// forName is the name that a "for" expression defines for an element.
type forName struct {
	name string
	part *part // nil if the element isn't an instance of a data source
}

// part is a data source or a part of it.
type part struct {
	source string // name of the data source
	whole  bool   // whether the part is all instances of a data source with count or for_each
	steps  []string
}

// computed represents a step whose name is not constant.
const computed = ""

// then returns the part that a step selects in p.
func (p part) then(step string) part {
	if p.whole {
		p.whole = false // the step selects one instance or all of them
		return p
	}
	p.steps = append(slices.Clone(p.steps), step)
	return p
}

// inText records, for each data source whose name occurs in text, that all of its outputs are used.
// text is the content of a JSON file.
func (f *outputFinder) inText(text string) {
	for name := range f.sources {
		if strings.Contains(text, "terraform_remote_state."+name) {
			f.found[name] = Set{All: true}
		}
	}
}

// nameLocals finds the local values that are nothing but a reference to a data source or a part of
// it. The references in their definitions are not recorded as uses.
func (f *outputFinder) nameLocals(bodies []*hclsyntax.Body) {
	for _, body := range bodies {
		for _, block := range body.Blocks {
			if block.Type == "locals" {
				for name, attr := range block.Body.Attributes {
					f.locals[name] = attr.Expr
				}
			}
		}
	}
	parts := make(map[string]hclsyntax.Expression)
	for name, expr := range f.locals {
		if f.part(expr, len(f.locals)) != nil {
			parts[name] = expr
		}
	}
	f.locals = parts
	for _, expr := range parts {
		f.handle(expr)
	}
}

// Enter implements hclsyntax.Walker.
func (f *outputFinder) Enter(node hclsyntax.Node) hcl.Diagnostics {
	switch n := node.(type) {
	case *hclsyntax.Block:
		self := ""
		if n.Type == "data" && len(n.Labels) == 2 && n.Labels[0] == "terraform_remote_state" {
			self = n.Labels[1]
		} else if len(f.self) > 0 {
			self = f.self[len(f.self)-1]
		}
		f.self = append(f.self, self)
	case *hclsyntax.Attribute:
		if items, ok := n.Expr.(*hclsyntax.TupleConsExpr); ok && n.Name == "depends_on" {
			for _, item := range items.Exprs {
				f.handle(item)
			}
		}
	case *hclsyntax.ForExpr:
		element := f.part(n.CollExpr, len(f.locals))
		switch {
		case element == nil:
		case element.whole:
			f.handle(n.CollExpr)
			one := element.then(computed)
			element = &one
		default:
			f.use(n.CollExpr, element)
			element = nil
		}
		f.names = append(f.names, forName{n.ValVar, element}, forName{n.KeyVar, nil})
	case *hclsyntax.ScopeTraversalExpr, *hclsyntax.RelativeTraversalExpr, *hclsyntax.IndexExpr, *hclsyntax.SplatExpr:
		expr := n.(hclsyntax.Expression)
		if f.handled[expr] {
			break
		}
		if p := f.part(expr, len(f.locals)); p != nil {
			f.use(expr, p)
		}
	}
	return nil
}

// Exit implements hclsyntax.Walker.
func (f *outputFinder) Exit(node hclsyntax.Node) hcl.Diagnostics {
	switch node.(type) {
	case *hclsyntax.Block:
		f.self = f.self[:len(f.self)-1]
	case *hclsyntax.ForExpr:
		f.names = f.names[:len(f.names)-2]
	}
	return nil
}

// use records that an expression uses p, a part of a data source.
func (f *outputFinder) use(expr hclsyntax.Expression, p *part) {
	f.handle(expr)
	used := Set{All: true}
	switch {
	case p.whole || len(p.steps) == 0 || p.steps[0] == computed:
	case p.steps[0] != "outputs":
		return
	case len(p.steps) > 1 && p.steps[1] != computed:
		used = Set{Names: p.steps[1:2:2]}
	}
	f.found[p.source] = f.found[p.source].Plus(used)
}

// handle excludes an expression that refers to a part of a data source from the further search.
// Only the indexes in it are still searched.
func (f *outputFinder) handle(expr hclsyntax.Expression) {
	f.handled[expr] = true
	switch e := expr.(type) {
	case *hclsyntax.ParenthesesExpr:
		f.handle(e.Expression)
	case *hclsyntax.RelativeTraversalExpr:
		f.handle(e.Source)
	case *hclsyntax.IndexExpr:
		f.handle(e.Collection)
	case *hclsyntax.SplatExpr:
		f.handle(e.Source)
		f.handle(e.Each)
	}
}

// part returns the part of a data source that an expression refers to, or nil if it is another
// expression. It follows at most depth local values, because a longer chain must be a cycle.
func (f *outputFinder) part(expr hclsyntax.Expression, depth int) *part {
	switch e := expr.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return f.named(e.Traversal, depth)
	case *hclsyntax.ParenthesesExpr:
		return f.part(e.Expression, depth)
	case *hclsyntax.RelativeTraversalExpr:
		return follow(f.part(e.Source, depth), e.Traversal)
	case *hclsyntax.IndexExpr:
		return follow(f.part(e.Collection, depth), hcl.Traversal{hcl.TraverseIndex{Key: constant(e.Key)}})
	case *hclsyntax.SplatExpr:
		p := f.part(e.Source, depth)
		if p == nil {
			return nil
		}
		if p.whole || len(p.steps) > 0 { // a splat applied to a single object selects the object itself
			p = follow(p, hcl.Traversal{hcl.TraverseSplat{}})
		}
		switch each := e.Each.(type) {
		case *hclsyntax.RelativeTraversalExpr:
			if _, direct := each.Source.(*hclsyntax.AnonSymbolExpr); direct {
				return follow(p, each.Traversal)
			}
		case *hclsyntax.AnonSymbolExpr:
			return p
		}
	}
	return nil
}

// constant returns the value of an expression. The value is unknown if the expression is not
// constant.
func constant(expr hclsyntax.Expression) cty.Value {
	v, diags := expr.Value(nil)
	if diags.HasErrors() {
		return cty.DynamicVal
	}
	return v
}

// named returns the part of a data source that a traversal refers to, or nil.
func (f *outputFinder) named(tr hcl.Traversal, depth int) *part {
	root := tr.RootName()
	for _, known := range slices.Backward(f.names) {
		if known.name == root && root != "" {
			return follow(known.part, tr[1:])
		}
	}
	switch {
	case root == "self" && len(f.self) > 0 && f.self[len(f.self)-1] != "":
		return follow(&part{source: f.self[len(f.self)-1]}, tr[1:])
	case root == "local" && len(tr) > 1 && depth > 0:
		expr := f.locals[attrName(tr[1])]
		if expr == nil {
			return nil
		}
		return follow(f.part(expr, depth-1), tr[2:])
	case root == "data" && len(tr) > 2 && attrName(tr[1]) == "terraform_remote_state":
		name := attrName(tr[2])
		r := f.sources[name]
		if r == nil {
			return nil
		}
		return follow(&part{source: name, whole: r.Count != nil || r.ForEach != nil}, tr[3:])
	}
	return nil
}

func attrName(step hcl.Traverser) string {
	attr, _ := step.(hcl.TraverseAttr)
	return attr.Name
}

// follow returns the part that a traversal selects in p.
func follow(p *part, tr hcl.Traversal) *part {
	if p == nil {
		return nil
	}
	out := *p
	for _, step := range tr {
		name := computed
		switch step := step.(type) {
		case hcl.TraverseAttr:
			name = step.Name
		case hcl.TraverseIndex:
			if key := step.Key; key.Type() == cty.String && key.IsKnown() && !key.IsNull() {
				name = key.AsString()
			}
		}
		out = out.then(name)
	}
	return &out
}
