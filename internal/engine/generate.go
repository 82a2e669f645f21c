package engine

import (
	"context"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/genconfig"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// generatedBlocks holds the blocks that are generated for imported objects without configuration.
type generatedBlocks struct {
	mu     sync.Mutex // guards all and bodies
	all    map[addrs.AbsInstance]*genconfig.Block
	bodies map[*graph.Resource]*lang.Body
}

// generatedBody is the configuration that this walk generated for an instance.
type generatedBody struct {
	body    *lang.Body
	ignored []hcl.Traversal // attributes for which changes are ignored
}

// generate generates the configuration of an imported object that has none, and uses it as the
// configuration of the instance.
func (p *instancePlan) generate(ctx context.Context, prior *objectState, importing *plans.Importing) error {
	block := &genconfig.Block{Addr: p.r.Addr.Resource, Schema: p.r.Schema.Block, Value: unmark(prior.value),
		ID: importing.ID}
	if p.r.Config.Provider != nil {
		block.Provider = p.r.Config.Provider.Local().String()
	}
	g := &p.w.generated
	g.mu.Lock()
	if g.all == nil {
		g.all, g.bodies = map[addrs.AbsInstance]*genconfig.Block{}, map[*graph.Resource]*lang.Body{}
	}
	g.all[p.addr] = block
	g.mu.Unlock()

	for {
		if err := p.useGenerated(block); err != nil {
			return err
		}
		errs, err := p.refused(ctx)
		if err != nil || !block.Omit(errs) {
			return err
		}
	}
}

// refused returns the provider's errors about the generated configuration.
func (p *instancePlan) refused(ctx context.Context) (tfdiags.Diagnostics, error) {
	v, err := p.evalBody()
	if err != nil {
		return nil, err
	}
	return callProvider(p.w.calls, p.prov, "ValidateResourceConfig", p.addr, func() tfdiags.Diagnostics {
		return p.prov.ValidateResource(ctx, p.r.Addr.Resource.Type, unmark(v))
	}), nil
}

// useGenerated makes the text of a generated block the configuration of the instance.
func (p *instancePlan) useGenerated(block *genconfig.Block) error {
	g := &p.w.generated
	text, ignored := block.Text(nil)
	file, diags := hclsyntax.ParseConfig([]byte(text), "generated.tf", hcl.InitialPos)
	if diags.HasErrors() {
		return tfdiags.FromHCL(diags).Err()
	}
	inner := file.Body.(*hclsyntax.Body).Blocks[0].Body
	delete(inner.Attributes, "provider")
	inner.Blocks = withoutLifecycle(inner.Blocks)
	body := lang.AnalyzeBody(inner, p.r.Schema.Block, addrs.ModuleScope)
	p.generated = &generatedBody{body: body}
	g.mu.Lock()
	g.bodies[p.r] = body
	g.mu.Unlock()
	var errs tfdiags.Diagnostics
	for _, path := range ignored {
		tr, diags := hclsyntax.ParseTraversalAbs([]byte(path), "generated.tf", hcl.InitialPos)
		errs = errs.AppendHCL(diags)
		p.generated.ignored = append(p.generated.ignored, tr)
	}
	return errs.Append(body.Refs.Problems...).Err()
}

// withoutLifecycle removes the lifecycle block, which is not part of the resource type's schema.
func withoutLifecycle(blocks hclsyntax.Blocks) hclsyntax.Blocks {
	var out hclsyntax.Blocks
	for _, b := range blocks {
		if b.Type != "lifecycle" {
			out = append(out, b)
		}
	}
	return out
}

// writeGenerated adds the source text of all generated blocks to the plan. If an argument's value
// is the ID of another imported object, the argument becomes a reference to that object.
func (f finisher) writeGenerated(plan *plans.Plan) {
	w := f.w
	if len(w.generated.all) == 0 {
		return
	}
	var objects []genconfig.Object
	for _, c := range plan.Changes.Instances {
		if r := w.graph.Resource(c.Addr.Config()); r != nil && r.Schema != nil {
			objects = append(objects, genconfig.Object{Addr: c.Addr, Schema: r.Schema.Block, Value: unmark(c.After),
				Imported: c.Importing != nil})
		}
	}
	plan.GeneratedConfig = map[string]string{}
	refs := genconfig.References(w.generated.all, objects)
	for addr, block := range w.generated.all {
		text, _ := block.Text(refs[addr])
		plan.GeneratedConfig[addr.String()] = block.Header() + "\n" + text
		if c := plan.Changes.Instance(addr, ""); c != nil {
			c.GeneratedConfig = strings.TrimSuffix(text, "\n")
		}
	}
}

// generatedChanges returns an error if a plan changes objects whose configuration was generated,
// because the configuration to apply doesn't have it. An import without changes doesn't need it.
func generatedChanges(plan *plans.Plan) error {
	var errs tfdiags.Diagnostics
	for _, c := range plan.Changes.Instances {
		if c.GeneratedConfig != "" && c.Action != plans.NoOp {
			errs = errs.Append(tfdiags.Errorf("Generated configuration is not part of the plan",
				"%s differs from the configuration that was generated for it. Check the generated file, and plan again "+
					"without -generate-config-out.", c.Addr))
		}
	}
	return errs.Err()
}
