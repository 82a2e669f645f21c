package engine

import (
	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// importTarget is an import block, or an import asked for on the command line.
type importTarget struct {
	cfg      *configs.Import // nil: the command line
	resource *resource
	to       *lang.Expr // only its index expressions are evaluated
	id       *lang.Expr
	identity *lang.Expr
	forEach  *lang.Expr
	cli      CommandImport
}

func (t *importTarget) exprs() []*lang.Expr {
	var out []*lang.Expr
	for _, e := range []*lang.Expr{t.forEach, t.id, t.identity, t.to} { // as they are evaluated
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
		if !(b.op.phase == PhaseValidate || b.op.phase == PhasePlan) || b.op.mode != plans.Normal || b.op.preDestroy {
			return nil
		}
		var diags tfdiags.Diagnostics
		for _, cfg := range b.op.cfg.Module.Imports {
			if len(b.op.cliImports) > 0 {
				break // nothing but what the command line asks for
			}
			diags = diags.Append(b.addImport(cfg))
		}
		for _, cli := range b.op.cliImports {
			r := b.g.byConfig[cli.Addr.Config()]
			if r == nil || r.cfg == nil {
				diags = diags.Append(tfdiags.Errorf("Resource configuration missing",
					"%s has no configuration to import into. Write a resource block for it first.", cli.Addr))
				continue
			}
			b.attach(r, &importTarget{resource: r, cli: cli})
		}
		return diags
	},
}

func (b *build) addImport(cfg *configs.Import) tfdiags.Diagnostics {
	r := b.g.byConfig[cfg.ToResource]
	if r == nil || r.cfg == nil {
		if b.op.phase == PhaseValidate {
			return nil // the configuration may yet be generated
		}
		if b.op.generate && cfg.ToResource.Module.IsRoot() && cfg.ForEach == nil && !namesInstance(cfg.To) {
			r = b.addGenerated(cfg)
		} else {
			return tfdiags.Diagnostics{tfdiags.Errorf("Configuration for import target does not exist",
				"There is no block of %s in the configuration. Write one, or have it generated with -generate-config-out.", cfg.ToResource).At(cfg.Range)}
		}
	}
	t := &importTarget{cfg: cfg, resource: r}
	t.to, t.id, t.identity, t.forEach = b.known.expr(cfg.To), b.known.expr(cfg.ID), b.known.expr(cfg.Identity), b.known.expr(cfg.ForEach)
	if t.to != nil {
		t.to = indexesOf(t.to)
	}
	b.attach(r, t)
	return nil
}

// importsOnly reports whether objects are imported to the resource and nothing else happens to it. Its instances matter then, but not
// the rest of its block: people import into an empty one and write its arguments afterwards.
func (o *graphOp) importsOnly(r *resource) bool { return len(o.cliImports) > 0 && len(r.imports) > 0 }

// namesInstance tells whether an import goes to one of several instances, for which no block could be written.
func namesInstance(to hcl.Expression) bool {
	tr, hclDiags := hcl.AbsTraversalForExpr(to)
	if hclDiags.HasErrors() {
		return true
	}
	target, diags := addrs.ParseTarget(tr)
	return diags.HasErrors() || target.Key != addrs.NoKey
}

func (b *build) attach(r *resource, t *importTarget) {
	r.imports = append(r.imports, t)
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
func (b *build) addGenerated(cfg *configs.Import) *resource {
	res := &configs.Resource{
		Addr: cfg.ToResource.Resource, Config: emptyBodyAt(cfg.Range), Provider: cfg.Provider, ProviderAddr: cfg.ProviderAddr,
		TypeRange: cfg.Range, Range: cfg.Range,
	}
	r := b.g.byConfig[cfg.ToResource]
	if r == nil {
		r = b.addResource(b.g.root, res)
	} else {
		r.cfg = res
	}
	r.hadTarget = true
	return r
}
