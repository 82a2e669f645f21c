package graph

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/tfdiags"
)

var referenceTransformer = &Transformer{
	Name:  "Reference",
	Doc:   "adds an edge for every reference, depends_on and provider function, and from modules to their calls",
	After: []*Transformer{analysisTransformer, providerTransformer},
	Run: func(b *build) error {
		b.g.RefErrors = map[EvalUnit]tfdiags.Diagnostics{}
		for _, path := range sortedModules(b.g.Modules) {
			b.connectModule(b.g.Modules[path])
		}
		for _, v := range b.g.Values {
			b.connectValue(v)
		}
		for _, r := range b.g.Resources {
			if r.Config != nil {
				b.connectResource(r)
			}
			b.connectDeletionProvisioners(r)
		}
		for _, p := range b.sortedProviders() {
			if p.Body != nil {
				b.connectRefs(p.Node, p.Module, &p.Body.Refs, inEach(p.Instances != nil))
			}
			b.after(p.Node, p.Module.expand)
		}
		for _, t := range b.imports {
			b.connectImport(t)
		}
		b.connectInspection()
		return b.unknownFunctions.Err()
	},
}

func sortedModules(modules map[addrs.Module]*Module) []addrs.Module {
	return slices.Sorted(maps.Keys(modules))
}

// BlockScope says which block-local names a reference may use.
type BlockScope struct {
	count, each bool
	self        *Resource           // the resource that "self" refers to
	except      addrs.Referenceable // the object that the block declares; references to it add no edges
}

func inEach(each bool) BlockScope { return BlockScope{each: each} }

func inRepetition(rep Repetition) BlockScope {
	return BlockScope{count: rep.Count != nil, each: rep.ForEach != nil}
}

// connectModule connects the nodes of a module call and of its checks.
func (b *build) connectModule(m *Module) {
	if m.expand != nil {
		b.after(m.expand, m.Parent.expand)
		b.connectRepetition(m.expand, m.Parent, m.Repetition)
		m.DependsOn = lang.DependsOn(m.Call.DependsOn)
		b.connectDependsOn(m.expand, m.Parent, &m.DependsOn, m.checkSelfReference)
		for _, refs := range m.Repetition.Refs() {
			for _, ref := range refs.Objects {
				m.checkSelfReference(ref)
			}
		}
	}
	for _, c := range m.Checks {
		b.after(c.Node, m.expand)
		b.connectConditions(c.Node, m, c.Asserts, BlockScope{})
		if c.Config.Data != nil {
			b.after(c.Node, m.Resources[c.Config.Data.Addr].Node)
		}
	}
}

// connectValue connects the node of a value.
func (b *build) connectValue(v *Value) {
	m := v.Module
	b.after(v.Node, m.expand)
	scope := BlockScope{}
	switch v.Kind {
	case Variable:
		if v.Expr != nil {
			b.connectRefs(v.Node, m.Parent, &v.Expr.Refs, inRepetition(m.Repetition))
		}
		scope.except = addrs.InputVariable{Name: v.Name}
	case Output:
		v.DependsOn = lang.DependsOn(v.Output.DependsOn)
		b.connectDependsOn(v.Node, m, &v.DependsOn, nil)
		b.connectRefs(v.Node, m, &v.Expr.Refs, scope)
	default:
		scope.except = addrs.LocalValue{Name: v.Name}
		for _, ref := range v.Expr.Refs.Objects {
			if ref.Subject == scope.except {
				v.Node.Problems = v.Node.Problems.Append(tfdiags.Errorf("Self-referencing local value",
					"The local value local.%s can't use its own result in its expression.", v.Name).At(ref.Range))
			}
		}
		b.connectRefs(v.Node, m, &v.Expr.Refs, scope)
	}
	b.connectConditions(v.Node, m, v.Conditions, scope)
}

// connectRepetition connects the node that decides the instances of a block.
func (b *build) connectRepetition(n *Node, m *Module, rep Repetition) {
	for _, refs := range rep.Refs() {
		b.connectRefs(n, m, refs, BlockScope{})
	}
}

// checkSelfReference reports whether ref, in an argument of the call of m, refers to the call as a
// whole, and records an error if so. The graph cannot represent this cycle, so cycles does not find
// it.
func (m *Module) checkSelfReference(ref *addrs.Reference) bool {
	call, ok := moduleCallOf(ref.Subject)
	if !ok || m.Parent.Calls[call] != m {
		return false
	}
	m.expand.Problems = m.expand.Problems.Append(tfdiags.Errorf("Cycle: "+m.expand.Name,
		"The instances and dependencies of a module call can't depend on the call itself: %s refers to itself at %s.",
		m.expand.Name, tfdiags.Place(ref.Range)))
	return true
}

// connectImport connects the expressions of an import block.
func (b *build) connectImport(t *Import) {
	for _, e := range t.exprs() {
		b.connectRefs(t.Resource.Inputs, b.g.Root, &e.Refs, inEach(t.ForEach != nil))
	}
}

func (b *build) connectConditions(n *Node, m *Module, rules []Condition, scope BlockScope) {
	for _, r := range rules {
		b.connectRefs(n, m, &r.Condition.Refs, scope)
		b.connectRefs(n, m, &r.Message.Refs, scope)
	}
}

// connectResource connects the nodes of a resource block to the objects that the block refers to.
func (b *build) connectResource(r *Resource) {
	b.separateExpansion(r)
	n, m, e := r.Inputs, r.Module, r.Exprs
	scope := inRepetition(e.Repetition)
	b.connectProviderKey(r, scope)
	if e.PreventDestroy != nil && (len(r.Prior) > 0 || !b.ignoresBlock(r)) {
		b.after(n, m.expand)
		b.connectRefs(n, m, &e.PreventDestroy.Refs, BlockScope{count: true, each: true})
		b.addRefErrors(n, EvalUnit{m, &e.PreventDestroy.Refs}, checkPreventDestroy(e.PreventDestroy.Refs))
	}
	if b.ignoresBlock(r) {
		return
	}
	b.after(n, m.expand, r.expand)
	b.after(r.expand, m.expand)
	b.connectRepetition(r.expand, m, e.Repetition)
	if e.Body != nil {
		b.connectBody(r, r.inOwnBlock(scope))
	}
	b.connectConditions(n, m, e.Preconditions, r.inOwnBlock(scope))
	postScope := r.inOwnBlock(scope)
	postScope.self = r
	b.connectConditions(n, m, e.Postconditions, postScope)
	for _, t := range e.Triggers {
		b.connectRefs(n, m, &t.Refs, scope)
		b.addRefErrors(n, EvalUnit{m, &t.Refs}, b.checkTrigger(m, t))
	}
	b.connectDependsOn(n, m, &e.DependsOn, func(ref *addrs.Reference) bool { return m.ResourceOf(ref.Subject) == r })
	selfScope := r.inOwnBlock(scope)
	selfScope.self = r
	for _, p := range e.Provisioners {
		if p.Config.Destroy && b.op.Phase != PhaseValidate {
			continue // see connectDeletionProvisioners
		}
		for _, body := range p.bodies() {
			b.connectRefs(n, m, &body.Refs, selfScope)
		}
	}
}

// connectDeletionProvisioners makes the Steps that delete objects wait for the providers whose
// functions the destroy provisioners call. Destroy provisioners cannot refer to other objects.
func (b *build) connectDeletionProvisioners(r *Resource) {
	if len(b.steps[r]) == 0 {
		return
	}
	if r.Removed != nil {
		var problems tfdiags.Diagnostics // planning reported them
		for _, p := range r.Removed.Provisioners {
			b.g.atRemoval[r] = append(b.g.atRemoval[r], b.op.AnalyseProvisioner(p, nil, &problems))
		}
	}
	m, list := b.g.DeletionProvisioners(r)
	for _, p := range list {
		for _, body := range p.bodies() {
			if p.Config.Destroy && len(body.Refs.Functions) > 0 {
				b.connectDeletions(r, m, &lang.Refs{Functions: body.Refs.Functions})
			}
		}
	}
}

func (b *build) connectDeletions(r *Resource, m *Module, refs *lang.Refs) {
	for _, s := range b.steps[r] {
		if s.Part != stepApply {
			b.connectRefs(s.node, m, refs, BlockScope{})
		}
	}
}

// ignoresBlock reports whether the destruction of a resource's objects is planned from the state
// alone. Of its block, only prevent_destroy is evaluated then. The other arguments may refer to
// objects that no longer exist.
func (b *build) ignoresBlock(r *Resource) bool {
	return b.op.Phase == PhasePlanDestroy && r.Addr.Resource.Mode != addrs.Ephemeral
}

// connectProviderKey connects the expression for the provider instance that the resource uses.
func (b *build) connectProviderKey(r *Resource, scope BlockScope) {
	key := r.ProviderKey
	if key == nil {
		return
	}
	if key.Call != "" {
		scope = inRepetition(key.Module.Calls[key.Call].Repetition)
	}
	b.connectRefs(r.Inputs, key.Module, &key.Expr.Refs, scope)
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

// inOwnBlock returns the scope for the block of r itself. References of the block to r add no
// edges: they are errors of the instance, not cycles.
func (r *Resource) inOwnBlock(scope BlockScope) BlockScope {
	scope.except = r.Addr.Resource
	return scope
}

// connectBody connects a resource to the references in its body. Errors of references in the
// content of dynamic blocks become DeferredRefErrors.
func (b *build) connectBody(r *Resource, scope BlockScope) {
	body := r.Exprs.Body
	r.DeferredRefErrors = nil
	var inContent map[hcl.Pos]bool
	b.connectUnit(r.Inputs, r.Module, &body.Refs, scope, func(ref *addrs.Reference, problems tfdiags.Diagnostics) bool {
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
	})
}

// connectInspection adds a node for the Inspected references of the operation.
func (b *build) connectInspection() {
	if b.op.Inspected == nil || b.op.Phase.Destroys() {
		return
	}
	n := b.node(KindInspection, b.g.Root, "(inspection)", nil)
	n.kept = true
	b.connectRefs(n, b.g.Root, b.op.Inspected, BlockScope{})
}
