package reads

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/lang/funcs"
	"tofu/internal/lang/lazyblock"
)

// Origin says where the value of an argument comes from, through locals, outputs and the arguments of
// modules.
type Origin struct {
	// Written says that the value comes from the configuration, variables, resources and data sources
	// alone; the state has the values of these anyway. It is false if the value comes from an ephemeral
	// resource, or from a function that reads something else, such as a file.
	Written bool
	// Variables are the variables of the root module that the value may come from.
	Variables []*Value

	seen map[*Value]bool
}

// Origins returns the origins of the arguments and nested blocks of a provider configuration, by name.
// All nested blocks of a type have one origin. Names that are missing have an unknown origin.
func (p *Provider) Origins() map[string]*Origin {
	out := map[string]*Origin{}
	if p.Config == nil || p.Module == nil {
		return out
	}
	forEach := lang.Analyze(p.Config.ForEach, addrs.ModuleScope)
	add := func(name string, expr hcl.Expression) {
		if out[name] == nil {
			out[name] = &Origin{Written: true, seen: map[*Value]bool{}}
		}
		out[name].expr(p.Module, lang.Analyze(expr, addrs.ModuleScope), forEach)
	}
	attrs, _ := p.Config.Config.JustAttributes() // in JSON, blocks too
	for name, attr := range attrs {
		add(name, attr.Expr)
	}
	body, native := lazyblock.Native(p.Config.Config)
	if !native {
		return out
	}
	for _, block := range body.Blocks {
		name := dynamicName(block)
		_ = hclsyntax.VisitAll(block, func(n hclsyntax.Node) hcl.Diagnostics {
			if attr, ok := n.(*hclsyntax.Attribute); ok {
				add(name, attr.Expr)
			}
			return nil
		})
	}
	return out
}

// dynamicName returns the type of the blocks that a dynamic block generates, or that of another block.
func dynamicName(b *hclsyntax.Block) string {
	if b.Type == "dynamic" && len(b.Labels) > 0 {
		return b.Labels[0]
	}
	return b.Type
}

// expr adds the origin of an expression in a module. each is the for_each of its block; it may be nil.
func (o *Origin) expr(m *Module, e, each *lang.Expr) {
	if e == nil {
		return
	}
	funcs.VisitCalls(e.Expression, func(call *hclsyntax.FunctionCallExpr) {
		name := strings.TrimPrefix(call.Name, funcs.Namespace)
		path := name == "abspath" || name == "pathexpand" // they say where the configuration is, as path.cwd does
		o.Written = o.Written && (path || funcs.Steady(name))
	})
	for _, ref := range e.Refs.Objects {
		switch of := m.Named(ref.Subject); {
		case of.Value != nil:
			o.value(of.Value)
		case of.Call != nil && of.Output == "":
			for _, output := range of.Outputs() {
				o.value(output)
			}
		default:
			o.subject(m, ref.Subject, each)
		}
	}
}

// subject adds the origin of an object that isn't a value. The keys of instances and the name of the
// workspace are in the state anyway, and paths say where the configuration is.
func (o *Origin) subject(m *Module, subject addrs.Referenceable, each *lang.Expr) {
	switch s := subject.(type) {
	case addrs.PathAttr, addrs.TerraformAttr, addrs.CountAttr:
	case addrs.ForEachAttr:
		if s.Name == "value" {
			o.expr(m, each, nil)
		}
	case addrs.Resource:
		o.Written = o.Written && s.Mode != addrs.Ephemeral // Managed is also the iterator of a dynamic block
	default:
		o.Written = false
	}
}

func (o *Origin) value(v *Value) {
	if o.seen[v] {
		return
	}
	o.seen[v] = true
	in := v.EvaluatedBy()
	switch {
	case in == nil:
		o.Variables = append(o.Variables, v)
	case v.Kind == Variable:
		o.expr(in, v.Expr, v.Module.Repetition.ForEach)
	default:
		o.expr(in, v.Expr, nil)
	}
}
