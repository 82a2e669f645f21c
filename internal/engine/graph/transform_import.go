package graph

import (
	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// importTarget is an import block, or an import asked for on the command line.
type Import struct {
	Config   *configs.Import // nil: the command line
	Resource *Resource
	to       *lang.Expr // only its index expressions are evaluated
	ID       *lang.Expr
	Identity *lang.Expr
	ForEach  *lang.Expr
	Command  CommandImport
}

func (t *Import) exprs() []*lang.Expr {
	var out []*lang.Expr
	for _, e := range []*lang.Expr{t.ForEach, t.ID, t.Identity, t.to} { // as they are evaluated
		if e != nil {
			out = append(out, e)
		}
	}
	return out
}

var importTransformer = &Transformer{
	Name:  "Import",
	Doc:   "attaches import targets to the Resource nodes that they fill",
	After: []*Transformer{configTransformer, stateTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		if !(b.op.Phase == PhaseValidate || b.op.Phase == PhasePlan) || b.op.Mode != plans.Normal || b.op.PreDestroy {
			return nil
		}
		var diags tfdiags.Diagnostics
		for _, cfg := range b.op.Config.Module.Imports {
			if len(b.op.CommandImports) > 0 {
				break // nothing but what the command line asks for
			}
			diags = diags.Append(b.addImport(cfg))
		}
		for _, cli := range b.op.CommandImports {
			r := b.g.ByAddr[cli.Addr.Config()]
			if r == nil || r.Config == nil {
				diags = diags.Append(tfdiags.Errorf("Resource configuration missing",
					"%s has no configuration to import into. Write a resource block for it first.", cli.Addr))
				continue
			}
			b.attach(r, &Import{Resource: r, Command: cli})
		}
		return diags
	},
}

func (b *build) addImport(cfg *configs.Import) tfdiags.Diagnostics {
	r := b.g.ByAddr[cfg.ToResource]
	if r == nil || r.Config == nil {
		if b.op.Phase == PhaseValidate {
			return nil // the configuration may yet be generated
		}
		if b.op.Generate && cfg.ToResource.Module.IsRoot() && cfg.ForEach == nil && !namesInstance(cfg.To) {
			r = b.addGenerated(cfg)
		} else {
			return tfdiags.Diagnostics{tfdiags.Errorf("Configuration for import target does not exist",
				"There is no block of %s in the configuration. Write one, or have it generated with -generate-config-out.", cfg.ToResource).At(cfg.Range)}
		}
	}
	t := &Import{Config: cfg, Resource: r}
	t.to, t.ID, t.Identity, t.ForEach = b.known.Expr(cfg.To), b.known.Expr(cfg.ID), b.known.Expr(cfg.Identity), b.known.Expr(cfg.ForEach)
	if t.to != nil {
		t.to = indexesOf(t.to)
	}
	b.attach(r, t)
	return nil
}

// importsOnly reports whether objects are imported to the resource and nothing else happens to it. Its instances matter then, but not
// the rest of its block: people import into an empty one and write its arguments afterwards.
func (o *Operation) ImportsOnly(r *Resource) bool {
	return len(o.CommandImports) > 0 && len(r.Imports) > 0
}

// namesInstance tells whether an import goes to one of several instances, for which no block could be written.
func namesInstance(to hcl.Expression) bool {
	tr, hclDiags := hcl.AbsTraversalForExpr(to)
	if hclDiags.HasErrors() {
		return true
	}
	target, diags := addrs.ParseTarget(tr)
	return diags.HasErrors() || target.Key != addrs.NoKey
}

func (b *build) attach(r *Resource, t *Import) {
	r.Imports = append(r.Imports, t)
	b.imports = append(b.imports, t)
}

// indexesOf gives the expression with only those references that are in its keys: the address itself is no reference.
func indexesOf(to *lang.Expr) *lang.Expr {
	out := &lang.Expr{Expression: to.Expression}
	for _, ref := range to.Refs.Objects {
		switch ref.Subject.(type) {
		case addrs.ForEachAttr, addrs.LocalValue, addrs.InputVariable:
			out.Refs.Objects = append(out.Refs.Objects, ref)
		}
	}
	return out
}

// addGenerated makes up a block for an import target whose configuration is to be written.
func (b *build) addGenerated(cfg *configs.Import) *Resource {
	res := &configs.Resource{
		Addr: cfg.ToResource.Resource, Config: emptyBodyAt(cfg.Range), Provider: cfg.Provider, ProviderAddr: cfg.ProviderAddr,
		TypeRange: cfg.Range, Range: cfg.Range,
	}
	r := b.g.ByAddr[cfg.ToResource]
	if r == nil {
		r = b.addResource(b.g.Root, res)
	} else {
		r.Config = res
	}
	r.Generated = true
	return r
}
