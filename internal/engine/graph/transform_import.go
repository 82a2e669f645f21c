package graph

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// selfReferences returns an error for each reference of one of the import's expressions to the
// resource that it imports. It would wait for itself: there is no object before it is imported.
func selfReferences(t *reads.Import, e *lang.Expr) error {
	var errs tfdiags.Diagnostics
	for _, ref := range e.Refs.Objects {
		if t.Module.ResourceOf(ref.Subject) == t.Resource {
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
		if !(b.op.Phase == phase.Validate || b.op.Phase == phase.Plan) || b.op.Mode != plans.Normal || b.op.PreDestroy {
			return nil
		}
		var errs tfdiags.Diagnostics
		for in := range b.op.Config.AllModules() {
			if len(b.op.CommandImports) > 0 {
				break // only the imports from the command line are carried out
			}
			for _, cfg := range in.Module.Imports {
				errs = errs.AppendError(b.addImport(b.g.Modules[in.Path], cfg))
			}
		}
		for _, cli := range b.op.CommandImports {
			r := b.g.Resource(cli.Addr.Config())
			if r == nil || r.Config == nil {
				errs = errs.Append(tfdiags.Errorf("Resource configuration missing",
					"%s has no configuration to import into. Write a resource block for it first.", cli.Addr))
				continue
			}
			b.attach(r, &reads.Import{Module: b.g.Root, Resource: r, Command: cli})
		}
		for _, imports := range b.g.Imports {
			slices.SortStableFunc(imports, forEachLast)
		}
		return errs.Err()
	},
}

func (b *build) addImport(m *reads.Module, cfg *configs.Import) error {
	t := &reads.Import{Config: cfg, Module: m}
	target := targetOf(t)
	r := b.g.Resource(target)
	if r == nil || r.Config == nil {
		if b.op.Phase.InputsUnknown() {
			return nil // planning may generate the configuration
		}
		if !b.op.Generate {
			return noBlock(t, "Write one, or generate it with -generate-config-out.")
		}
		if cfg.IgnoreMissing {
			return noBlock(t, "Write one: it can't be generated with ignore_missing, since there may be no object.")
		}
		var err error
		if r, err = b.addGenerated(t); err != nil {
			return err
		}
		t.Generate = true
	}
	t.Resource = r
	if earlier := b.g.Imports[r]; len(earlier) > 0 {
		t.Generate = earlier[0].Generate
	}
	t.To, t.ID = b.known.Expr(cfg.To), b.known.Expr(cfg.ID)
	t.Identity, t.ForEach = b.known.Expr(cfg.Identity), b.known.Expr(cfg.ForEach)
	if t.To != nil {
		t.To = indexesOf(t.To, target.Resource)
	}
	b.attach(r, t)
	return nil
}

// targetOf returns the address of the resource of an import block. The block names it as its module does.
func targetOf(t *reads.Import) addrs.ConfigResource {
	path := t.Module.Path
	for _, name := range t.Config.ToResource.Module.Names() {
		path = path.Child(name)
	}
	return t.Config.ToResource.Resource.In(path)
}

// ImportsOnly reports whether the operation only imports objects into the resource. In this case,
// only the arguments of the block that decide its instances are evaluated. Users may therefore
// import into an empty block and write its arguments later.
func (o *Operation) ImportsOnly(g *Graph, r *reads.Resource) bool {
	return len(o.CommandImports) > 0 && len(g.Imports[r]) > 0
}

// forEachLast compares two imports. It sorts imports with for_each last.
func forEachLast(x, y *reads.Import) int {
	switch {
	case x.ForEach == nil && y.ForEach != nil:
		return -1
	case x.ForEach != nil && y.ForEach == nil:
		return 1
	}
	return 0
}

func (b *build) attach(r *reads.Resource, t *reads.Import) {
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
func (g *Graph) Generates(r *reads.Resource) bool {
	imports := g.Imports[r]
	return len(imports) > 0 && imports[0].Generate
}

// addGenerated adds an empty block for an import target whose configuration will be generated. The
// imports decide the instances of the resource.
func (b *build) addGenerated(t *reads.Import) (*reads.Resource, error) {
	cfg, target := t.Config, targetOf(t)
	m := b.g.Modules[target.Module]
	switch {
	case cfg.Keyed && cfg.ForEach == nil:
		return nil, noBlock(t, "Write one: it can't be generated for an instance key without for_each.")
	case m == nil || m.Config == nil:
		return nil, noBlock(t, "It has no call of that module either.")
	case !m.Config.Local():
		return nil, noBlock(t, fmt.Sprintf("Write one in %s: it can be generated only for modules in local directories, "+
			"and the source is %s.", target.Module, m.Config.SourceText))
	}
	res := &configs.Resource{
		Addr: target.Resource, Config: emptyBodyAt(cfg.Range), Provider: cfg.Provider,
		ProviderAddr: cfg.ProviderAddr, Lifecycle: new(configs.Lifecycle),
		TypeRange: cfg.Range, Range: cfg.Range,
	}
	if m != b.g.Root {
		res.ProviderAddr = m.Config.Module.ProviderByLocalName(res.Addr.ImpliedProvider())
	}
	if cfg.Keyed {
		res.ForEach = &hclsyntax.ObjectConsExpr{SrcRange: cfg.Range, OpenRange: cfg.Range}
	}
	if r := b.g.Resource(target); r != nil {
		r.Config = res
		return r, nil
	}
	return configNodes{b}.addResource(m, res), nil
}

func noBlock(t *reads.Import, advice string) error {
	return tfdiags.Errorf("Configuration for import target does not exist",
		"The configuration has no resource block for %s. %s", targetOf(t), advice).At(t.Config.Range)
}
