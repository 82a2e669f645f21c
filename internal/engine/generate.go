package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/genconfig"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// generatedBlocks holds the blocks that are generated for imported objects without configuration.
type generatedBlocks struct {
	mu     sync.Mutex // guards all and bodies
	all    []*genconfig.Block
	bodies map[*reads.Resource]*lang.Body
}

// generatedBody is the configuration that this walk generated for an instance.
type generatedBody struct {
	body    *lang.Body
	ignored []hcl.Traversal // attributes for which changes are ignored
}

// expandImported returns the instances of a resource whose configuration is generated: the targets of
// its imports.
func (v resourceVisit) expandImported(in *moduleInstance) (*expansion, error) {
	out := expandedKeys{mode: repeatDisabled, keys: v.w.result(v.r).importKeys[in.addr]}
	if v.r.Exprs.Repetition.Repeats() {
		out.mode = repeatForEach
	}
	slices.SortFunc(out.keys, addrs.InstanceKey.Compare)
	for i, key := range out.keys {
		mode := repeatSingle
		switch n, number := key.IsInt(); {
		case number && n == i:
			mode = repeatCount
		case number:
			return nil, v.notGenerated("The imports to %s have the keys %s, but those of a block with count are all numbers "+
				"from 0.", v.r.Addr.Resource.InInstance(in.addr), joinKeys(out.keys))
		case key != addrs.NoKey:
			mode, out.each = repeatForEach, append(out.each, key.Value())
		}
		if i > 0 && mode != out.mode {
			return nil, v.notGenerated("The imports to %s have the keys %s, which can't be those of one block.",
				v.r.Addr.Resource.InInstance(in.addr), joinKeys(out.keys))
		}
		out.mode = mode
	}
	return newExpansion(out), nil
}

// notGenerated returns an error for a resource whose configuration can't be generated.
func (v resourceVisit) notGenerated(format string, args ...any) error {
	return tfdiags.Errorf("Configuration can't be generated", format+" Write the resource block yourself.", args...).
		At(v.w.graph.Imports[v.r][0].Config.Range)
}

func joinKeys(keys []addrs.InstanceKey) string {
	var texts []string
	for _, key := range keys {
		if key == addrs.NoKey {
			texts = append(texts, "(none)")
			continue
		}
		texts = append(texts, strings.Trim(key.String(), "[]"))
	}
	return strings.Join(texts, ", ")
}

// generate generates the configuration of an imported object that has none, and uses it as the
// configuration of the instance.
func (p *instancePlan) generate(ctx context.Context, prior *objectState, req *importRequest) error {
	if !prior.exists() {
		return tfdiags.Errorf("Configuration can't be generated", "%s is in the state, but was deleted outside. Remove it "+
			"from the state to import it again, or remove the import block.", p.addr)
	}
	value := unmark(prior.value)
	if schema, diags := p.prov.Schema(ctx); !diags.HasErrors() && schema.GenerateConfig {
		made, diags := p.prov.GenerateConfig(ctx, p.r.Addr.Resource.Type, value)
		if err := diags.WithAddress(p.addr.String()).Report(p.w.out.warn); err != nil {
			return err
		}
		value = made
	}
	block := &genconfig.Block{Addr: p.addr, Schema: p.r.Schema.Block, Value: value, ID: req.id}
	if p.r.Config.Provider != nil {
		block.Provider = p.r.Config.Provider.String()
	}
	g := &p.w.generated
	g.mu.Lock()
	if g.bodies == nil {
		g.bodies = map[*reads.Resource]*lang.Body{}
	}
	g.all = append(g.all, block)
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
	text, ignored := genconfig.Text([]*genconfig.Block{block}, "")
	file, diags := hclsyntax.ParseConfig([]byte(text), "generated.tf", hcl.InitialPos)
	if diags.HasErrors() {
		return tfdiags.FromHCL(diags).Err()
	}
	inner := file.Body.(*hclsyntax.Body).Blocks[0].Body
	for _, name := range []string{"provider", "for_each", "count"} {
		delete(inner.Attributes, name)
	}
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

// writeGenerated adds the source text of all generated blocks to the plan, and to the changes that
// need it. If an argument's value is the ID of another imported object, the argument becomes a
// reference to that object.
func (f finisher) writeGenerated(plan *plans.Plan) error {
	w := f.w
	if len(w.generated.all) == 0 {
		return nil
	}
	var objects []genconfig.Object
	for _, c := range plan.Changes.Instances {
		if r := w.graph.Resource(c.Addr.Config()); r != nil && r.Schema != nil {
			objects = append(objects, genconfig.Object{Addr: c.Addr, Schema: r.Schema.Block, Value: unmark(c.After),
				Stays: c.Importing != nil || r.Config != nil && (c.Action == plans.NoOp || c.Action == plans.Update)})
		}
	}
	genconfig.SetRefs(w.generated.all, objects)
	slices.SortFunc(w.generated.all, func(x, y *genconfig.Block) int { return x.Addr.Compare(y.Addr) })
	texts := map[addrs.AbsResource]generatedText{}
	for all := w.generated.all; len(all) > 0; {
		of := all[0].Addr.Abs()
		n := 1
		for n < len(all) && all[n].Addr.Abs() == of {
			n++
		}
		text, _ := genconfig.Text(all[:n], w.sameForEach(of, all[:n]))
		texts[of] = generatedText{genconfig.Header(all[:n]), text}
		for _, b := range all[:n] {
			if c := plan.Changes.Instance(b.Addr, ""); c != nil {
				c.GeneratedConfig = strings.TrimSuffix(text, "\n")
			}
		}
		all = all[n:]
	}
	files, err := w.generatedFiles(texts)
	plan.GeneratedConfig = files
	return err
}

// generatedText is the block for a resource in one module instance, and the comment that precedes it.
type generatedText struct{ header, block string }

// sameForEach returns the for_each of the import block if it gives the keys of the generated blocks in
// the root module, otherwise "".
func (w *walk) sameForEach(of addrs.AbsResource, blocks []*genconfig.Block) string {
	r := w.graph.Resource(of.Config())
	imports := w.graph.Imports[r]
	if !of.Module.IsRoot() || len(imports) != 1 || len(blocks) != w.result(r).importElements {
		return ""
	}
	index, ok := imports[0].Config.To.(*hclsyntax.IndexExpr)
	if !ok {
		return ""
	}
	if tr, diags := hcl.AbsTraversalForExpr(index.Key); diags.HasErrors() || !isEachKey(tr) {
		return ""
	}
	if _, table := imports[0].Config.ForEach.(*hclsyntax.ObjectConsExpr); table { // of IDs, which the block doesn't need
		return ""
	}
	return imports[0].Config.ForEachText
}

// isEachKey reports whether a traversal is each.key.
func isEachKey(tr hcl.Traversal) bool {
	if len(tr) != 2 || tr.RootName() != "each" {
		return false
	}
	attr, ok := tr[1].(hcl.TraverseAttr)
	return ok && attr.Name == "key"
}

// generatedFiles returns the generated text by the directory of the module. A block is part of all
// instances of all calls of the directory's module, so these must agree in it.
func (w *walk) generatedFiles(texts map[addrs.AbsResource]generatedText) (map[string]string, error) {
	type block struct {
		dir string
		of  addrs.Resource
	}
	modules := map[string][]*reads.Module{} // by directory
	for _, path := range slices.Sorted(maps.Keys(w.graph.Modules)) {
		if m := w.graph.Modules[path]; m.Config != nil {
			modules[m.Config.Module.Dir] = append(modules[m.Config.Module.Dir], m)
		}
	}
	var errs tfdiags.Diagnostics
	done, files := map[block]bool{}, map[string]string{}
	for _, of := range slices.SortedFunc(maps.Keys(texts), addrs.AbsResource.Compare) {
		r := w.graph.Resource(of.Config())
		dir := r.Module.Config.Module.Dir
		if done[block{dir, of.Resource}] {
			continue
		}
		done[block{dir, of.Resource}] = true
		for _, m := range modules[dir] {
			for _, in := range w.modules.of(m) {
				if other := of.Resource.InInstance(in.addr); texts[other].block != texts[of].block {
					errs = errs.AppendError(resourceVisit{w, r, r.Node}.notGenerated("One block in %s would be used for %s and for %s, and %s.",
						dir, of, other, difference(texts[of].block, texts[other].block)))
				}
			}
		}
		if r.Module == w.graph.Root {
			dir = ""
		}
		files[dir] += texts[of].header + "\n" + texts[of].block
	}
	if len(errs) > 0 {
		return nil, errs.Err()
	}
	return files, nil
}

// difference describes the first difference between two generated blocks.
func difference(x, y string) string {
	if y == "" {
		return "nothing is imported to the second one"
	}
	xs, ys := strings.Split(x, "\n"), strings.Split(y, "\n")
	i := 0
	for i < min(len(xs), len(ys))-1 && xs[i] == ys[i] {
		i++
	}
	return fmt.Sprintf("they differ: %q and %q", strings.TrimSpace(xs[i]), strings.TrimSpace(ys[i]))
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
