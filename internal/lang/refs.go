package lang

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/configs/configschema"
	"tofu/internal/tfdiags"
)

// Refs are the objects and provider functions that an expression or a body uses, in the order in which they are written.
type Refs struct {
	Objects   []*addrs.Reference
	Functions []FunctionRef
	Problems  tfdiags.Diagnostics // of what is written like a reference, and is none

	long bool // some resource is written as resource.TYPE.NAME

	// named has the keys of those resources of which nothing but single instances is named; nil for none.
	named map[addrs.Resource][]addrs.InstanceKey
}

// FunctionRef is one call of a provider-defined function.
type FunctionRef struct {
	Func  addrs.ProviderFunction
	Range hcl.Range
}

// Add appends another list.
func (r *Refs) Add(other Refs) {
	r.Objects = append(r.Objects, other.Objects...)
	r.Functions = append(r.Functions, other.Functions...)
	r.Problems = r.Problems.Append(other.Problems...)
	r.long = r.long || other.long
	r.named = namedInstances(r.Objects)
}

// namedInstances finds the resources of which nothing but single instances is named.
func namedInstances(refs []*addrs.Reference) map[addrs.Resource][]addrs.InstanceKey {
	var out map[addrs.Resource][]addrs.InstanceKey
	for _, ref := range refs {
		if inst, ok := ref.Subject.(addrs.ResourceInstance); ok {
			if out == nil {
				out = map[addrs.Resource][]addrs.InstanceKey{}
			}
			out[inst.Resource] = append(out[inst.Resource], inst.Key)
		}
	}
	if out == nil {
		return nil
	}
	for _, ref := range refs {
		if whole, ok := ref.Subject.(addrs.Resource); ok {
			delete(out, whole)
		}
	}
	return out
}

// Expr is an analysed expression. The zero Expr is no expression.
type Expr struct {
	hcl.Expression
	Refs Refs
}

// Body is a body analysed against its schema.
type Body struct {
	Body   hcl.Body
	Schema *configschema.Block
	Refs   Refs
	Meta   *hcl.BodySchema // what was taken out of the body before; nil: nothing. It is offered to who misspells it

	prepared hcl.Body
}

// Analyse finds what an expression refers to. A nil expression gives nil.
func Analyse(expr hcl.Expression, scope addrs.Scope) *Expr {
	if expr == nil {
		return nil
	}
	var f finder
	f.inExpr(expr)
	return &Expr{Expression: expr, Refs: f.refs(scope)}
}

// AnalyseBody finds what a body of that schema refers to.
func AnalyseBody(body hcl.Body, schema *configschema.Block, scope addrs.Scope) *Body {
	out := &Body{Body: body, Schema: schema, prepared: schema.Prepare(body)}
	var f finder
	if exprs, all := configschema.Expressions(out.prepared); all {
		for expr := range exprs {
			f.inExpr(expr)
		}
	} else {
		f.callsInBody(body, schema)
		f.variables = schema.Variables(body)
	}
	out.Refs = f.refs(scope)
	return out
}

// InContent gives where the references begin that stand in the content of dynamic blocks: they matter only if some content is made.
func (b *Body) InContent() map[hcl.Pos]bool {
	certain := map[hcl.Pos]bool{}
	for _, tr := range b.Schema.CertainVariables(b.Body) {
		certain[tr.SourceRange().Start] = true
	}
	out := map[hcl.Pos]bool{}
	for _, ref := range b.Refs.Objects {
		if start := ref.Range.Start; !certain[start] {
			out[start] = true
		}
	}
	return out
}

// without gives the body without some of its references to objects.
func (b *Body) without(unwanted func(*addrs.Reference) bool) *Body {
	out := *b
	out.Refs.Objects = slices.DeleteFunc(slices.Clone(b.Refs.Objects), unwanted)
	out.Refs.named = namedInstances(out.Refs.Objects)
	return &out
}

// references reads traversals as references. Traversals of temporary names (dynamic block iterators) never get here.
func references(traversals []hcl.Traversal, scope addrs.Scope) ([]*addrs.Reference, tfdiags.Diagnostics) {
	if len(traversals) == 0 {
		return nil, nil
	}
	var diags tfdiags.Diagnostics
	out := make([]*addrs.Reference, 0, len(traversals))
	for _, tr := range traversals {
		ref, more := addrs.ParseRef(tr, scope)
		diags = diags.Append(more...)
		if ref != nil {
			out = append(out, ref)
		}
	}
	return out, diags
}

// longForm tells whether a resource is written with the word "resource" before its type.
func longForm(traversals []hcl.Traversal) bool {
	return slices.ContainsFunc(traversals, func(tr hcl.Traversal) bool { return tr.RootName() == "resource" })
}

// DependsOn reads the traversals of a depends_on argument.
func DependsOn(traversals []hcl.Traversal) Refs {
	objects, problems := references(traversals, addrs.ModuleScope)
	return Refs{Objects: objects, Problems: problems}
}
