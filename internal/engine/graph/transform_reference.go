package graph

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/engine/phase"
	"tofu/internal/lang"
	"tofu/internal/tfdiags"
)

var referenceTransformer = &Transformer{
	Name:  "Reference",
	Doc:   "adds an edge for every reference, depends_on and provider function, and from modules to their calls",
	After: []*Transformer{analysisTransformer, providerTransformer},
	Run: func(ctx context.Context, b *build) error {
		c := &connector{build: b, ctx: ctx}
		c.connectAll(ctx)
		return c.unknownFunctions.Err()
	},
}

// connector connects nodes to the objects that their expressions refer to.
type connector struct {
	*build
	ctx              context.Context
	unknownFunctions tfdiags.Diagnostics // calls to functions of providers that are not required
}

func (c *connector) connectAll(ctx context.Context) {
	c.g.RefErrors = map[EvalUnit]tfdiags.Diagnostics{}
	for _, path := range sortedModules(c.g.Modules) {
		c.connectModule(ctx, c.g.Modules[path])
	}
	for _, v := range c.g.Values {
		c.connectValue(ctx, v)
	}
	for _, r := range c.g.Resources {
		if r.Config != nil {
			c.connectResource(ctx, r)
		}
		c.connectDeletionProvisioners(ctx, r)
	}
	for _, a := range c.actions {
		if a.Node.Kind == KindAction {
			c.connectAction(a)
		}
	}
	for _, p := range c.g.sortedProviders() {
		if p.Body != nil {
			c.connectRefs(ctx, p.Node, p.Module, &p.Body.Refs, inEach(p.Instances != nil))
		}
		c.after(p.Node, p.Module.expand)
	}
	for _, t := range c.imports {
		c.connectImport(ctx, t)
	}
	c.connectInspection(ctx)
}

func sortedModules(modules map[addrs.Module]*Module) []addrs.Module {
	return slices.Sorted(maps.Keys(modules))
}

// BlockScope says which block-local names a reference may use.
type BlockScope struct {
	count, each bool
	caller      bool                // whether "caller" is allowed
	self        *Resource           // the resource that "self" refers to
	except      addrs.Referenceable // the object that the block declares; references to it add no edges
}

func inEach(each bool) BlockScope { return BlockScope{each: each} }

func inRepetition(rep Repetition) BlockScope {
	return BlockScope{count: rep.Count != nil, each: rep.ForEach != nil}
}

// connectModule connects the nodes of a module call and of its checks.
func (c *connector) connectModule(ctx context.Context, m *Module) {
	if m.expand != nil {
		c.after(m.expand, m.Parent.expand)
		c.connectRepetition(ctx, m.expand, m.Parent, m.Repetition)
		m.DependsOn = lang.DependsOn(m.Call.DependsOn)
		c.connectDependsOn(m.expand, m.Parent, m.DependsOn, m.checkSelfReference)
		for _, refs := range m.Repetition.Refs() {
			for _, ref := range refs.Objects {
				m.checkSelfReference(ref)
			}
		}
	}
	for _, check := range m.Checks {
		c.after(check.Node, m.expand)
		c.connectConditions(ctx, check.Node, m, check.Asserts, BlockScope{})
		if check.Config.Data != nil {
			c.after(check.Node, m.Resources[check.Config.Data.Addr].Node)
		}
	}
}

// connectValue connects the node of a value.
func (c *connector) connectValue(ctx context.Context, v *Value) {
	m := v.Module
	c.after(v.Node, m.expand)
	scope := BlockScope{}
	switch v.Kind {
	case Variable:
		if v.Expr != nil {
			c.connectRefs(ctx, v.Node, m.Parent, &v.Expr.Refs, inRepetition(m.Repetition))
		}
		scope.except = addrs.InputVariable{Name: v.Name}
	case Output:
		v.DependsOn = lang.DependsOn(v.Output.DependsOn)
		c.connectDependsOn(v.Node, m, v.DependsOn, nil)
		c.connectRefs(ctx, v.Node, m, &v.Expr.Refs, scope)
	default:
		scope.except = addrs.LocalValue{Name: v.Name}
		for _, ref := range v.Expr.Refs.Objects {
			if ref.Subject == scope.except {
				v.Node.Problems = v.Node.Problems.Append(tfdiags.Errorf("Self-referencing local value",
					"The local value local.%s can't use its own result in its expression.", v.Name).At(ref.Range))
			}
		}
		c.connectRefs(ctx, v.Node, m, &v.Expr.Refs, scope)
	}
	c.connectConditions(ctx, v.Node, m, v.Conditions, scope)
}

// connectRepetition connects the node that decides the instances of a block.
func (c *connector) connectRepetition(ctx context.Context, n *Node, m *Module, rep Repetition) {
	for _, refs := range rep.Refs() {
		c.connectRefs(ctx, n, m, refs, BlockScope{})
	}
}

// checkSelfReference reports whether ref, which is in an argument of the call of m, refers to that
// call as a whole. If so, it records an error. The graph cannot represent this cycle, so the search
// for cycles does not find it.
func (m *Module) checkSelfReference(ref *addrs.Reference) bool {
	if of := m.Parent.Named(ref.Subject); of.Call != m || of.Output != "" {
		return false
	}
	m.expand.Problems = m.expand.Problems.Append(tfdiags.Errorf("Cycle: "+m.expand.Name,
		"The instances and dependencies of a module call can't depend on the call itself: %s refers to itself at %s.",
		m.expand.Name, tfdiags.Place(ref.Range)))
	return true
}

// connectImport connects the expressions of an import block.
func (c *connector) connectImport(ctx context.Context, t *Import) {
	for _, e := range t.Exprs() {
		c.connectRefs(ctx, t.Resource.Inputs, t.Module, &e.Refs, inEach(t.ForEach != nil))
		c.addRefErrors(t.Resource.Inputs, EvalUnit{t.Module, &e.Refs}, t.selfReferences(e))
	}
}

func (c *connector) connectConditions(ctx context.Context, n *Node, m *Module, rules []Condition, scope BlockScope) {
	for _, r := range rules {
		c.connectRefs(ctx, n, m, &r.Condition.Refs, scope)
		c.connectRefs(ctx, n, m, &r.Message.Refs, scope)
	}
}

// connectResource connects the nodes of a resource block to the objects that the block refers to.
func (c *connector) connectResource(ctx context.Context, r *Resource) {
	n, m, e := r.Inputs, r.Module, r.Exprs
	scope := inRepetition(e.Repetition)
	c.connectProviderKey(ctx, r, scope)
	if len(r.Prior) > 0 || !c.ignoresBlock(r) {
		c.connectMeta(ctx, r, true, BlockScope{count: true, each: true})
		c.connectTriggers(r, c.ignoresBlock(r))
	}
	if c.ignoresBlock(r) {
		return
	}
	c.after(n, m.expand)
	c.connectRepetition(ctx, n, m, e.Repetition)
	if e.Body != nil {
		c.connectBody(ctx, r, r.inOwnBlock(scope))
	}
	c.connectConditions(ctx, n, m, e.Preconditions, r.inOwnBlock(scope))
	postScope := r.inOwnBlock(scope)
	postScope.self = r
	c.connectConditions(ctx, n, m, e.Postconditions, postScope)
	c.connectMeta(ctx, r, false, scope)
	c.connectDependsOn(n, m, e.DependsOn, func(ref *addrs.Reference) bool { return m.ResourceOf(ref.Subject) == r })
	selfScope := r.inOwnBlock(scope)
	selfScope.self = r
	for _, p := range e.Provisioners {
		if p.Config.Destroy && c.op.Phase != phase.Validate {
			continue // connectDeletionProvisioners connects these
		}
		for _, body := range p.bodies() {
			c.connectRefs(ctx, n, m, &body.Refs, selfScope)
		}
	}
}

// connectMeta connects the meta-arguments that are evaluated once for all instances, or the others.
func (c *connector) connectMeta(ctx context.Context, r *Resource, once bool, scope BlockScope) {
	for _, meta := range r.Exprs.metaArguments() {
		if meta.once != once {
			continue
		}
		c.after(r.Inputs, r.Module.expand)
		c.connectRefs(ctx, r.Inputs, r.Module, &meta.Refs, scope)
		c.addRefErrors(r.Inputs, EvalUnit{r.Module, &meta.Refs}, meta.check(c, r.Module, meta.Expr))
	}
}

// connectDeletionProvisioners makes the Steps that delete objects wait for providers if destroy
// provisioners call functions of these providers. Destroy provisioners cannot refer to other
// objects.
func (c *connector) connectDeletionProvisioners(ctx context.Context, r *Resource) {
	if len(c.steps[r]) == 0 {
		return
	}
	if removal := c.g.Removals[r]; removal != nil {
		var problems tfdiags.Diagnostics // dropped, because planning has reported them
		for _, p := range removal.Config.Provisioners {
			removal.Provisioners = append(removal.Provisioners, c.op.AnalyzeProvisioner(p, nil, &problems))
		}
	}
	m, list := c.g.DeletionProvisioners(r)
	for _, p := range list {
		for _, body := range p.bodies() {
			if p.Config.Destroy && len(body.Refs.Functions) > 0 {
				c.connectDeletions(ctx, r, m, &lang.Refs{Functions: body.Refs.Functions})
			}
		}
	}
}

func (c *connector) connectDeletions(ctx context.Context, r *Resource, m *Module, refs *lang.Refs) {
	for _, s := range c.steps[r] {
		if s.Part != stepApply {
			c.connectRefs(ctx, s.node, m, refs, BlockScope{})
		}
	}
}

// ignoresBlock reports whether the destruction of a resource's objects is planned from the state
// alone. In this case, only prevent_destroy is evaluated in the block. The other arguments may
// refer to objects that no longer exist.
func (c *connector) ignoresBlock(r *Resource) bool {
	return c.op.Phase == phase.PlanDestroy && r.Addr.Resource.Mode != addrs.Ephemeral
}

// connectProviderKey connects the expression for the provider instance that the resource uses.
func (c *connector) connectProviderKey(ctx context.Context, r *Resource, scope BlockScope) {
	key := r.ProviderKey
	if key == nil {
		return
	}
	if key.Call != "" {
		scope = inRepetition(key.Module.Calls[key.Call].Repetition)
	}
	c.connectRefs(ctx, r.Inputs, key.Module, &key.Expr.Refs, scope)
}

// bodies returns the bodies that are evaluated for a provisioner.
func (p *Provisioner) bodies() []*lang.Body {
	switch {
	case p.Body == nil:
		return nil
	case p.Connection == nil:
		return []*lang.Body{p.Body}
	}
	return []*lang.Body{p.Body, p.Connection}
}

// inOwnBlock returns the scope for the block of r itself. References from the block to r add no
// edges, because they are errors of the instance rather than cycles.
func (r *Resource) inOwnBlock(scope BlockScope) BlockScope {
	scope.except = r.Addr.Resource
	return scope
}

// connectBody connects a resource to the objects that its body refers to. Errors of references in
// the content of dynamic blocks become DeferredRefErrors.
func (c *connector) connectBody(ctx context.Context, r *Resource, scope BlockScope) {
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
	if c.op.Inspected == nil || c.op.Phase.Destroys() {
		return
	}
	n := c.node(KindInspection, c.g.Root, "(inspection)", nil)
	n.kept = true
	c.connectRefs(ctx, n, c.g.Root, c.op.Inspected, BlockScope{})
}
