package engine

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
	Doc:   "adds an edge for every reference, depends_on and provider function, and for what a module's content owes its call",
	After: []*Transformer{analysisTransformer, providerTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		b.g.refused = map[unit]tfdiags.Diagnostics{}
		for _, path := range sortedModules(b.g.modules) {
			b.connectModule(b.g.modules[path])
		}
		for _, v := range b.g.values {
			b.connectValue(v)
		}
		for _, r := range b.g.resources {
			if r.cfg != nil {
				b.connectResource(r)
			}
		}
		for _, p := range b.sortedProviders() {
			if p.body != nil {
				b.connectRefs(p.node, p.module, &p.body.Refs, inEach(p.each != nil))
			}
			b.after(p.node, p.module.expand)
		}
		for _, t := range b.imports {
			b.connectImport(t)
		}
		b.connectInspection()
		return b.unknownFunctions
	},
}

func sortedModules(modules map[addrs.Module]*module) []addrs.Module {
	return slices.Sorted(maps.Keys(modules))
}

// blockScope says which block-local names a reference may use, and what it must not refer to.
type blockScope struct {
	count, each bool
	self        *resource           // what "self" means
	except      addrs.Referenceable // what the block itself declares: naming it makes nothing wait
}

func inEach(each bool) blockScope { return blockScope{each: each} }

func inRepetition(rep repetitionExprs) blockScope {
	return blockScope{count: rep.count != nil, each: rep.forEach != nil}
}

func (b *build) connectModule(m *module) {
	if m.expand != nil {
		b.after(m.expand, m.parent.expand)
		b.connectRepetition(m.expand, m.parent, m.rep)
		m.dependsOn = lang.DependsOn(m.call.DependsOn)
		b.connectDependsOn(m.expand, m.parent, &m.dependsOn, m.refuseItself)
		for _, refs := range m.rep.refs() {
			for _, ref := range refs.Objects {
				m.refuseItself(ref)
			}
		}
	}
	for _, c := range m.checks {
		b.after(c.node, m.expand)
		b.connectRules(c.node, m, c.rules, blockScope{})
		if c.cfg.Data != nil {
			b.after(c.node, m.resources[c.cfg.Data.Addr].node)
		}
	}
}

func (b *build) connectValue(v *value) {
	m := v.module
	b.after(v.node, m.expand)
	scope := blockScope{}
	switch v.kind {
	case variableValue:
		if v.expr != nil {
			b.connectRefs(v.node, m.parent, &v.expr.Refs, inRepetition(m.rep))
		}
		scope.except = addrs.InputVariable{Name: v.name}
	case outputValue:
		v.dependsOn = lang.DependsOn(v.output.DependsOn)
		b.connectDependsOn(v.node, m, &v.dependsOn, nil)
		b.connectRefs(v.node, m, &v.expr.Refs, scope)
	default:
		scope.except = addrs.LocalValue{Name: v.name}
		for _, ref := range v.expr.Refs.Objects {
			if ref.Subject == scope.except {
				v.node.Problems = v.node.Problems.Append(tfdiags.Errorf("Self-referencing local value",
					"The local value local.%s can't use its own result in its expression.", v.name).At(ref.Range))
			}
		}
		b.connectRefs(v.node, m, &v.expr.Refs, scope)
	}
	b.connectRules(v.node, m, v.rules, scope)
}

// connectRepetition connects what decides the instances of a block.
func (b *build) connectRepetition(n *Node, m *module, rep repetitionExprs) {
	for _, refs := range rep.refs() {
		b.connectRefs(n, m, refs, blockScope{})
	}
}

// refuseItself reports a reference of a module call to the call as a whole. That is the shortest circle; it has no edge of its own.
func (m *module) refuseItself(ref *addrs.Reference) bool {
	call, ok := moduleCallOf(ref.Subject)
	if !ok || m.parent.calls[call] != m {
		return false
	}
	m.expand.Problems = m.expand.Problems.Append(tfdiags.Errorf("Cycle: "+m.expand.Name,
		"What a module call needs before anything else can't be the call itself: %s refers to itself at %s.",
		m.expand.Name, tfdiags.Place(ref.Range)))
	return true
}

// connectImport connects the expressions of an import block.
func (b *build) connectImport(t *importTarget) {
	for _, e := range t.exprs() {
		b.connectRefs(t.resource.open, b.g.root, &e.Refs, inEach(t.forEach != nil))
	}
}

func (b *build) connectRules(n *Node, m *module, rules []rule, scope blockScope) {
	for _, r := range rules {
		b.connectRefs(n, m, &r.condition.Refs, scope)
		b.connectRefs(n, m, &r.message.Refs, scope)
	}
}

func (b *build) connectResource(r *resource) {
	b.separate(r)
	n, m, e := r.open, r.module, r.exprs
	scope := inRepetition(e.rep)
	b.connectProviderKey(r, scope)
	if e.preventDestroy != nil && (len(r.prior) > 0 || !b.onlyDestroyed(r)) {
		b.after(n, m.expand)
		b.connectRefs(n, m, &e.preventDestroy.Refs, blockScope{count: true, each: true})
		b.refuse(n, unit{m, &e.preventDestroy.Refs}, checkPreventDestroy(e.preventDestroy.Refs))
	}
	if b.onlyDestroyed(r) {
		return
	}
	b.after(n, m.expand, r.expand)
	b.after(r.expand, m.expand)
	b.connectRepetition(r.expand, m, e.rep)
	if e.body != nil {
		b.connectBody(r, r.without(scope))
	}
	b.connectRules(n, m, e.pre, r.without(scope))
	postScope := r.without(scope)
	postScope.self = r
	b.connectRules(n, m, e.post, postScope)
	for _, t := range e.triggers {
		b.connectRefs(n, m, &t.Refs, scope)
		b.refuse(n, unit{m, &t.Refs}, b.checkTrigger(m, t))
	}
	b.connectDependsOn(n, m, &e.dependsOn, func(ref *addrs.Reference) bool { return m.resourceOf(ref.Subject) == r })
	selfScope := r.without(scope)
	selfScope.self = r
	for _, p := range e.provisioners {
		if p.cfg.Destroy && b.op.phase != PhaseValidate {
			continue // evaluated from the object itself when it is destroyed
		}
		for _, body := range p.bodies() {
			b.connectRefs(n, m, &body.Refs, selfScope)
		}
	}
}

// onlyDestroyed tells whether the destruction of a resource's objects is planned from the state alone. What its block says doesn't
// matter then, except for prevent_destroy, and it could not always be evaluated: some of what it refers to may be gone already.
func (b *build) onlyDestroyed(r *resource) bool {
	return b.op.phase == PhasePlanDestroy && r.addr.Resource.Mode != addrs.Ephemeral
}

// connectProviderKey connects what says which instance of a provider configuration the resource belongs to.
func (b *build) connectProviderKey(r *resource, scope blockScope) {
	key := r.providerKey
	if key == nil {
		return
	}
	if key.call != "" {
		scope = inRepetition(key.module.calls[key.call].rep)
	}
	b.connectRefs(r.open, key.module, &key.expr.Refs, scope)
}

func (p *provisionerExprs) bodies() []*lang.Body {
	switch {
	case p.body == nil:
		return nil
	case p.connection == nil:
		return []*lang.Body{p.body}
	}
	return []*lang.Body{p.body, p.connection}
}

// without is the scope of a resource's own block: naming itself there is an error of the instance (see namesItself), not a cycle.
func (r *resource) without(scope blockScope) blockScope {
	scope.except = r.addr.Resource
	return scope
}

// connectBody connects what a resource's body refers to. What is wrong in the content of its dynamic blocks is kept until it is known
// whether they make any.
func (b *build) connectBody(r *resource, scope blockScope) {
	body := r.exprs.body
	r.unsure = nil
	var inContent map[hcl.Pos]bool
	b.connectUnit(r.open, r.module, &body.Refs, scope, func(ref *addrs.Reference, problems tfdiags.Diagnostics) bool {
		if inContent == nil {
			inContent = body.InContent()
		}
		if !inContent[ref.Range.Start] {
			return false
		}
		if r.unsure == nil {
			r.unsure = map[*addrs.Reference]tfdiags.Diagnostics{}
		}
		r.unsure[ref] = problems
		return true
	})
}

// connectInspection adds a node that waits for what the inspection reads.
func (b *build) connectInspection() {
	if b.op.inspected == nil || b.op.phase.Destroys() {
		return
	}
	n := b.node(KindInspection, b.g.root, "(inspection)", nil)
	n.kept = true
	b.connectRefs(n, b.g.root, b.op.inspected, blockScope{})
}
