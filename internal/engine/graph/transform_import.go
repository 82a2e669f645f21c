package graph

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// Import is an import block, or an import that is requested on the command line.
type Import struct {
	Config   *configs.Import // nil for an import from the command line
	Resource *Resource
	to       *lang.Expr // only its index expressions are evaluated
	ID       *lang.Expr
	Identity *lang.Expr
	ForEach  *lang.Expr
	Command  CommandImport
	Generate bool // the resource has no block, so its configuration is generated
}

// Exprs returns the expressions of an import block.
func (t *Import) Exprs() []*lang.Expr {
	var out []*lang.Expr
	for _, e := range []*lang.Expr{t.ForEach, t.ID, t.Identity, t.to} { // in order of evaluation
		if e != nil {
			out = append(out, e)
		}
	}
	return out
}

// selfReferences returns an error for each reference of one of the import's expressions to the
// resource that it imports. It would wait for itself: there is no object before it is imported.
func (t *Import) selfReferences(root *Module, e *lang.Expr) error {
	var errs tfdiags.Diagnostics
	for _, ref := range e.Refs.Objects {
		if root.ResourceOf(ref.Subject) == t.Resource {
			errs = errs.Append(tfdiags.Errorf("Self-referential import block",
				"The import to %s can't refer to that resource, because it decides which objects the resource "+
					"has. Write the value itself, or refer to something else that has it.", t.Resource.Addr).At(ref.Range))
		}
	}
	return errs.Err()
}

var importTransformer = &Transformer{
	Name:  "Import",
	Doc:   "attaches imports to their Resource nodes",
	After: []*Transformer{configTransformer, stateTransformer},
	Run: func(_ context.Context, b *build) error {
		if !(b.op.Phase == PhaseValidate || b.op.Phase == PhasePlan) || b.op.Mode != plans.Normal || b.op.PreDestroy {
			return nil
		}
		var errs tfdiags.Diagnostics
		for _, cfg := range b.op.Config.Module.Imports {
			if len(b.op.CommandImports) > 0 {
				break // only the imports from the command line are carried out
			}
			errs = errs.AppendError(b.addImport(cfg))
		}
		for _, cli := range b.op.CommandImports {
			r := b.g.Resource(cli.Addr.Config())
			if r == nil || r.Config == nil {
				errs = errs.Append(tfdiags.Errorf("Resource configuration missing",
					"%s has no configuration to import into. Write a resource block for it first.", cli.Addr))
				continue
			}
			b.attach(r, &Import{Resource: r, Command: cli})
		}
		for _, imports := range b.g.Imports {
			slices.SortStableFunc(imports, forEachLast)
		}
		return errs.Err()
	},
}

func (b *build) addImport(cfg *configs.Import) error {
	t := &Import{Config: cfg}
	r := b.g.Resource(cfg.ToResource)
	if r == nil || r.Config == nil {
		if b.op.Phase == PhaseValidate {
			return nil // planning may generate the configuration
		}
		if !b.op.Generate {
			return noBlock(cfg, "Write one, or generate it with -generate-config-out.")
		}
		var err error
		if r, err = b.addGenerated(cfg); err != nil {
			return err
		}
		t.Generate = true
	}
	t.Resource = r
	if earlier := b.g.Imports[r]; len(earlier) > 0 {
		t.Generate = earlier[0].Generate
	}
	t.to, t.ID = b.known.Expr(cfg.To), b.known.Expr(cfg.ID)
	t.Identity, t.ForEach = b.known.Expr(cfg.Identity), b.known.Expr(cfg.ForEach)
	if t.to != nil {
		t.to = indexesOf(t.to, cfg.ToResource.Resource)
	}
	b.attach(r, t)
	return nil
}

// ImportsOnly reports whether the operation only imports objects into the resource. In this case,
// only the arguments of the block that decide its instances are evaluated. Users may therefore
// import into an empty block and write its arguments later.
func (o *Operation) ImportsOnly(g *Graph, r *Resource) bool {
	return len(o.CommandImports) > 0 && len(g.Imports[r]) > 0
}

// forEachLast compares two imports. It sorts imports with for_each last.
func forEachLast(x, y *Import) int {
	switch {
	case x.ForEach == nil && y.ForEach != nil:
		return -1
	case x.ForEach != nil && y.ForEach == nil:
		return 1
	}
	return 0
}

func (b *build) attach(r *Resource, t *Import) {
	b.g.Imports[r] = append(b.g.Imports[r], t)
	b.imports = append(b.imports, t)
}

// indexesOf returns a copy of an import's target that has only the references in index expressions,
// because the target address itself is not a reference.
func indexesOf(to *lang.Expr, target addrs.Resource) *lang.Expr {
	out := &lang.Expr{Expression: to.Expression}
	for _, ref := range to.Refs.Objects {
		switch s := ref.Whole().(type) {
		case addrs.ForEachAttr, addrs.LocalValue, addrs.InputVariable:
			out.Refs.Objects = append(out.Refs.Objects, ref)
		case addrs.Resource:
			if s != target || ref.Range.Start != to.Range().Start {
				out.Refs.Objects = append(out.Refs.Objects, ref)
			}
		}
	}
	return out
}

// Generates reports whether the configuration of a resource is generated.
func (g *Graph) Generates(r *Resource) bool {
	imports := g.Imports[r]
	return len(imports) > 0 && imports[0].Generate
}

// addGenerated adds an empty block for an import target whose configuration will be generated. The
// imports decide the instances of the resource.
func (b *build) addGenerated(cfg *configs.Import) (*Resource, error) {
	m := b.g.Modules[cfg.ToResource.Module]
	switch {
	case cfg.Keyed && cfg.ForEach == nil:
		return nil, noBlock(cfg, "Write one: it can't be generated for an instance key without for_each.")
	case m == nil || m.Config == nil:
		return nil, noBlock(cfg, "It has no call of that module either.")
	case !m.Config.Local():
		return nil, noBlock(cfg, fmt.Sprintf("Write one in %s: it can be generated only for modules in local directories, "+
			"and the source is %s.", cfg.ToResource.Module, m.Config.SourceText))
	}
	res := &configs.Resource{
		Addr: cfg.ToResource.Resource, Config: emptyBodyAt(cfg.Range), Provider: cfg.Provider,
		ProviderAddr: cfg.ProviderAddr, Lifecycle: new(configs.Lifecycle),
		TypeRange: cfg.Range, Range: cfg.Range,
	}
	if m != b.g.Root {
		res.ProviderAddr = m.Config.Module.ProviderByLocalName(res.Addr.ImpliedProvider())
	}
	if cfg.Keyed {
		res.ForEach = &hclsyntax.ObjectConsExpr{SrcRange: cfg.Range, OpenRange: cfg.Range}
	}
	if r := b.g.Resource(cfg.ToResource); r != nil {
		r.Config = res
		return r, nil
	}
	return b.addResource(m, res), nil
}

func noBlock(cfg *configs.Import, advice string) error {
	return tfdiags.Errorf("Configuration for import target does not exist",
		"The configuration has no resource block for %s. %s", cfg.ToResource, advice).At(cfg.Range)
}
