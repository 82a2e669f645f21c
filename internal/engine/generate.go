package engine

import (
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// generatedBlocks are the blocks that are written for imported objects without configuration.
type generatedBlocks struct {
	mu  sync.Mutex // guards all
	all map[addrs.AbsInstance]*generatedBlock
}

// generatedBlock is a block to write.
type generatedBlock struct {
	resource *resource
	header   string // the comment above it, which names the ID
	value    cty.Value
}

// generate writes the configuration of an imported object that has none, and makes it the instance's configuration.
func (p *instancePlan) generate(prior *live, importing *plans.Importing) tfdiags.Diagnostics {
	block := &generatedBlock{resource: p.r, value: unmark(prior.value), header: "# __generated__ by OpenTofu"}
	if importing.ID != "" {
		block.header += fmt.Sprintf(" from %q", importing.ID)
	}
	g := &p.w.generated
	g.mu.Lock()
	if g.all == nil {
		g.all = map[addrs.AbsInstance]*generatedBlock{}
	}
	g.all[p.addr] = block
	g.mu.Unlock()

	w := block.writer(nil)
	file, hclDiags := hclsyntax.ParseConfig([]byte(w.text(block)), "generated.tf", hcl.InitialPos)
	var diags tfdiags.Diagnostics
	if diags = diags.Append(hclDiags); diags.HasErrors() {
		return diags
	}
	inner := file.Body.(*hclsyntax.Body).Blocks[0].Body
	delete(inner.Attributes, "provider")
	inner.Blocks = withoutLifecycle(inner.Blocks)
	body := lang.AnalyseBody(inner, p.r.schema.Block, addrs.ModuleScope)
	more := body.Refs.Problems
	exprs := *p.r.exprs
	exprs.body = body
	p.r.exprs = &exprs
	for _, path := range w.ignored {
		tr, hclDiags := hclsyntax.ParseTraversalAbs([]byte(path), "generated.tf", hcl.InitialPos)
		p.r.cfg.IgnoreChanges, more = append(p.r.cfg.IgnoreChanges, tr), more.Append(hclDiags)
	}
	return diags.Append(more)
}

// withoutLifecycle leaves out the block that is no part of the type's own schema.
func withoutLifecycle(blocks hclsyntax.Blocks) hclsyntax.Blocks {
	var out hclsyntax.Blocks
	for _, b := range blocks {
		if b.Type != "lifecycle" {
			out = append(out, b)
		}
	}
	return out
}

// writeGenerated puts the texts of all generated blocks into the plan. An argument that is the id of another imported object becomes
// a reference to it.
func (w *walk) writeGenerated(plan *plans.Plan) {
	if len(w.generated.all) == 0 {
		return
	}
	plan.GeneratedConfig = map[string]string{}
	refs := w.importedIDs(plan)
	for addr, block := range w.generated.all {
		text := block.writer(refs[addr]).text(block)
		plan.GeneratedConfig[addr.String()] = block.header + "\n" + text
		if c := plan.Changes.Instance(addr, ""); c != nil {
			c.GeneratedConfig = strings.TrimSuffix(text, "\n")
		}
	}
}

// importedIDs gives, for each generated block, the expressions that name what is imported in the same run, by id. Ids that several
// objects have stay literal, and so do those by which objects refer to one another in a circle.
func (w *walk) importedIDs(plan *plans.Plan) map[addrs.AbsInstance]map[string]string {
	byID := map[string]addrs.AbsInstance{}
	nobody := addrs.AbsInstance{}
	for _, c := range plan.Changes.Instances {
		id, ok := idOf(c.After)
		if c.Importing == nil || !ok || !c.Addr.Module.IsRoot() {
			continue
		}
		if _, twice := byID[id]; twice {
			byID[id] = nobody
			continue
		}
		byID[id] = c.Addr
	}
	delete(byID, "")
	var graph dag.Graph
	nodes := map[addrs.AbsInstance]dag.ID{}
	for addr := range w.generated.all {
		nodes[addr] = graph.Add()
	}
	found := map[addrs.AbsInstance]map[string]string{}
	for addr, block := range w.generated.all {
		found[addr] = map[string]string{}
		eachString(block.value, func(s string) {
			other, ok := byID[s]
			if !ok || other == nobody || other == addr {
				return
			}
			found[addr][s] = other.String() + ".id"
			if to, generated := nodes[other]; generated {
				graph.Connect(nodes[addr], to)
			}
		})
	}
	cyclic := graph.Cyclic()
	for addr, refs := range found {
		maps.DeleteFunc(refs, func(id, _ string) bool {
			to, generated := nodes[byID[id]]
			return generated && cyclic[to] && cyclic[nodes[addr]]
		})
	}
	return found
}

// idOf gives the id of an object that has one.
func idOf(v cty.Value) (string, bool) {
	if v = unmark(v); v.IsNull() || !v.IsKnown() || !v.Type().HasAttribute("id") {
		return "", false
	}
	id := v.GetAttr("id")
	if id.Type() != cty.String || id.IsNull() || !id.IsKnown() {
		return "", false
	}
	return id.AsString(), true
}

// eachString visits all strings in a value.
func eachString(v cty.Value, visit func(string)) {
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
			visit(v.AsString())
		}
		return true, nil
	})
}
