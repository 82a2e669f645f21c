package graph

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/tfdiags"
)

var referenceTransformer = &Transformer{
	Name:  "Reference",
	Doc:   "adds an edge for every reference, depends_on and provider function, and from modules to their calls",
	After: []*Transformer{analysisTransformer, providerTransformer},
	Run: func(ctx context.Context, b *build) error {
		c := &connector{b: b, ctx: ctx}
		c.connectAll(ctx)
		return c.unknownFunctions.Err()
	},
}

// connector connects nodes to the objects that their expressions refer to.
type connector struct {
	b                *build
	ctx              context.Context
	unknownFunctions tfdiags.Diagnostics // calls to functions of providers that are not required
}

func (c *connector) connectAll(ctx context.Context) {
	c.b.g.RefErrors = map[EvalUnit]tfdiags.Diagnostics{}
	for _, path := range sortedModules(c.b.g.Modules) {
		c.connectModule(ctx, c.b.g.Modules[path])
	}
	for _, v := range c.b.g.Values {
		c.connectValue(ctx, v)
	}
	for _, r := range c.b.g.Resources {
		if r.Config != nil {
			c.connectResource(ctx, r)
		}
		c.connectDeletionProvisioners(ctx, r)
	}
	for _, a := range c.b.actions {
		if a.Node.Kind == reads.KindAction {
			c.connectAction(a)
		}
	}
	for _, p := range c.b.g.sortedProviders() {
		if p.Body != nil {
			c.connectRefs(ctx, p.Node, p.Module, &p.Body.Refs, inEach(p.Instances != nil))
		}
		c.b.after(p.Node, p.Module.Expand)
	}
	for _, t := range c.b.imports {
		c.connectImport(ctx, t)
	}
	c.connectInspection(ctx)
}

func sortedModules(modules map[addrs.Module]*reads.Module) []addrs.Module {
	return slices.Sorted(maps.Keys(modules))
}

func inEach(each bool) reads.BlockScope { return reads.BlockScope{Each: each} }

func inRepetition(rep reads.Repetition) reads.BlockScope {
	return reads.BlockScope{Count: rep.Count != nil, Each: rep.ForEach != nil}
}

// connectModule connects the nodes of a module call and of its checks.
func (c *connector) connectModule(ctx context.Context, m *reads.Module) {
	if m.Expand != nil {
		c.b.after(m.Expand, m.Parent.Expand)
		c.connectRepetition(ctx, m.Expand, m.Parent, m.Repetition)
		m.DependsOn = lang.DependsOn(m.Call.DependsOn)
		c.connectDependsOn(m.Expand, m.Parent, m.DependsOn, func(ref *addrs.Reference) bool { return checkOwnCall(m, ref) })
		for _, refs := range m.Repetition.Refs() {
			for _, ref := range refs.Objects {
				checkOwnCall(m, ref)
			}
		}
	}
	for _, check := range m.Checks {
		c.b.after(check.Node, m.Expand)
		c.connectConditions(ctx, check.Node, m, check.Asserts, reads.BlockScope{})
		if check.Config.Data != nil {
			c.b.after(check.Node, m.Resources[check.Config.Data.Addr].Node)
		}
	}
}

// connectValue connects the node of a value.
func (c *connector) connectValue(ctx context.Context, v *reads.Value) {
	m := v.Module
	c.b.after(v.Node, m.Expand)
	scope := reads.BlockScope{}
	switch v.Kind {
	case reads.Variable:
		if v.Expr != nil {
			c.connectRefs(ctx, v.Node, m.Parent, &v.Expr.Refs, inRepetition(m.Repetition))
		}
		scope.Except = addrs.InputVariable{Name: v.Name}
	case reads.Output:
		v.DependsOn = lang.DependsOn(v.Output.DependsOn)
		c.connectDependsOn(v.Node, m, v.DependsOn, nil)
		c.connectRefs(ctx, v.Node, m, &v.Expr.Refs, scope)
	default:
		scope.Except = addrs.LocalValue{Name: v.Name}
		for _, ref := range v.Expr.Refs.Objects {
			if ref.Subject == scope.Except {
				v.Node.Problems = v.Node.Problems.Append(tfdiags.Errorf("Self-referencing local value",
					"The local value local.%s can't use its own result in its expression.", v.Name).At(ref.Range))
			}
		}
		c.connectRefs(ctx, v.Node, m, &v.Expr.Refs, scope)
	}
	c.connectConditions(ctx, v.Node, m, v.Conditions, scope)
}

// connectRepetition connects the node that decides the instances of a block.
func (c *connector) connectRepetition(ctx context.Context, n *reads.Node, m *reads.Module, rep reads.Repetition) {
	for _, refs := range rep.Refs() {
		c.connectRefs(ctx, n, m, refs, reads.BlockScope{})
	}
}

// checkOwnCall reports whether ref, which is in an argument of the call of m, refers to that
// call as a whole. If so, it records an error. The graph cannot represent this cycle, so the search
// for cycles does not find it.
func checkOwnCall(m *reads.Module, ref *addrs.Reference) bool {
	if of := m.Parent.Named(ref.Subject); of.Call != m || of.Output != "" {
		return false
	}
	m.Expand.Problems = m.Expand.Problems.Append(tfdiags.Errorf("Cycle: "+m.Expand.Name,
		"The instances and dependencies of a module call can't depend on the call itself: %s refers to itself at %s.",
		m.Expand.Name, tfdiags.Place(ref.Range)))
	return true
}

// connectImport connects the expressions of an import block.
func (c *connector) connectImport(ctx context.Context, t *reads.Import) {
	for _, e := range t.Exprs() {
		c.connectRefs(ctx, t.Resource.Inputs, t.Module, &e.Refs, inEach(t.ForEach != nil))
		c.addRefErrors(t.Resource.Inputs, EvalUnit{t.Module, &e.Refs}, selfReferences(t, e))
	}
}

func (c *connector) connectConditions(
	ctx context.Context, n *reads.Node, m *reads.Module, rules []reads.Condition, scope reads.BlockScope,
) {
	for _, r := range rules {
		c.connectRefs(ctx, n, m, &r.Condition.Refs, scope)
		c.connectRefs(ctx, n, m, &r.Message.Refs, scope)
	}
}

// connectResource connects the nodes of a resource block to the objects that the block refers to.
func (c *connector) connectResource(ctx context.Context, r *reads.Resource) {
	n, m, e := r.Inputs, r.Module, r.Exprs
	scope := inRepetition(e.Repetition)
	c.connectProviderKey(ctx, r, scope)
	if len(r.Prior) > 0 || !c.ignoresBlock(r) {
		c.connectMeta(ctx, r, true, reads.BlockScope{Count: true, Each: true})
		c.connectTriggers(r, c.ignoresBlock(r))
	}
	if c.ignoresBlock(r) {
		return
	}
	c.b.after(n, m.Expand)
	c.connectRepetition(ctx, n, m, e.Repetition)
	if e.Body != nil {
		c.connectBody(ctx, r, inOwnBlock(r, scope))
	}
	c.connectConditions(ctx, n, m, e.Preconditions, inOwnBlock(r, scope))
	postScope := inOwnBlock(r, scope)
	postScope.Self = r
	c.connectConditions(ctx, n, m, e.Postconditions, postScope)
	c.connectMeta(ctx, r, false, scope)
	c.connectDependsOn(n, m, e.DependsOn, func(ref *addrs.Reference) bool { return m.ResourceOf(ref.Subject) == r })
	selfScope := inOwnBlock(r, scope)
	selfScope.Self = r
	for _, p := range e.Provisioners {
		if p.Config.Destroy && c.b.op.Phase != phase.Validate {
			continue // connectDeletionProvisioners connects these
		}
		for _, body := range p.Bodies() {
			c.connectRefs(ctx, n, m, &body.Refs, selfScope)
		}
	}
}

// connectMeta connects the meta-arguments that are evaluated once for all instances, or the others.
func (c *connector) connectMeta(ctx context.Context, r *reads.Resource, once bool, scope reads.BlockScope) {
	for _, meta := range r.Exprs.MetaArguments() {
		if meta.Once != once {
			continue
		}
		c.b.after(r.Inputs, r.Module.Expand)
		c.connectRefs(ctx, r.Inputs, r.Module, &meta.Refs, scope)
		c.addRefErrors(r.Inputs, EvalUnit{r.Module, &meta.Refs}, meta.Check(r.Module, meta.Expr))
	}
}

// connectDeletionProvisioners makes the Steps that delete objects wait for providers if destroy
// provisioners call functions of these providers. Destroy provisioners cannot refer to other
// objects.
func (c *connector) connectDeletionProvisioners(ctx context.Context, r *reads.Resource) {
	if len(c.b.steps[r]) == 0 {
		return
	}
	if removal := c.b.g.Removals[r]; removal != nil {
		var problems tfdiags.Diagnostics // dropped, because planning has reported them
		for _, p := range removal.Config.Provisioners {
			removal.Provisioners = append(removal.Provisioners, c.b.op.AnalyzeProvisioner(p, nil, &problems))
		}
	}
	m, list := c.b.g.DeletionProvisioners(r)
	for _, p := range list {
		for _, body := range p.Bodies() {
			if p.Config.Destroy && len(body.Refs.Functions) > 0 {
				c.connectDeletions(ctx, r, m, &lang.Refs{Functions: body.Refs.Functions})
			}
		}
	}
}

func (c *connector) connectDeletions(ctx context.Context, r *reads.Resource, m *reads.Module, refs *lang.Refs) {
	for _, s := range c.b.steps[r] {
		if s.Part != reads.StepApply {
			c.connectRefs(ctx, s.Node, m, refs, reads.BlockScope{})
		}
	}
}

// ignoresBlock reports whether the destruction of a resource's objects is planned from the state
// alone. In this case, only prevent_destroy is evaluated in the block. The other arguments may
// refer to objects that no longer exist.
func (c *connector) ignoresBlock(r *reads.Resource) bool {
	return c.b.op.Phase == phase.PlanDestroy && r.Addr.Resource.Mode != addrs.Ephemeral
}

// connectProviderKey connects the expression for the provider instance that the resource uses.
func (c *connector) connectProviderKey(ctx context.Context, r *reads.Resource, scope reads.BlockScope) {
	key := r.ProviderKey
	if key == nil {
		return
	}
	if key.Call != "" {
		scope = inRepetition(key.Module.Calls[key.Call].Repetition)
	}
	c.connectRefs(ctx, r.Inputs, key.Module, &key.Expr.Refs, scope)
}

// inOwnBlock returns the scope for the block of r itself. References from the block to r add no
// edges, because they are errors of the instance rather than cycles.
func inOwnBlock(r *reads.Resource, scope reads.BlockScope) reads.BlockScope {
	scope.Except = r.Addr.Resource
	return scope
}

// connectBody connects a resource to the objects that its body refers to. Errors of references in
// the content of dynamic blocks become DeferredRefErrors.
func (c *connector) connectBody(ctx context.Context, r *reads.Resource, scope reads.BlockScope) {
	body := r.Exprs.Body
	r.DeferredRefErrors = nil
	var inContent map[hcl.Pos]bool
	deferErrors := func(ref *addrs.Reference, problems tfdiags.Diagnostics) bool {
		if inContent == nil {
			inContent = body.InContent()
		}
		if !inContent[ref.Range.Start] {
			return false
		}
		if r.DeferredRefErrors == nil {
			r.DeferredRefErrors = map[*addrs.Reference]tfdiags.Diagnostics{}
		}
		r.DeferredRefErrors[ref] = problems
		return true
	}
	c.connectUnit(ctx, r.Inputs, r.Module, &body.Refs, scope, deferErrors)
}

// connectInspection adds a node for the Inspected references of the operation.
func (c *connector) connectInspection(ctx context.Context) {
	if c.b.op.Inspected == nil || c.b.op.Phase.Destroys() {
		return
	}
	n := c.b.node(reads.KindInspection, c.b.g.Root, "(inspection)", nil)
	n.Kept = true
	c.connectRefs(ctx, n, c.b.g.Root, c.b.op.Inspected, reads.BlockScope{})
}
