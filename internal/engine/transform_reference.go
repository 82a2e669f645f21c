package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/spelling"
	"tofu/internal/tfdiags"
)

var referenceTransformer = &Transformer{
	Name:  "Reference",
	Doc:   "adds an edge for every reference, depends_on and provider function, and for what a module's content owes its call",
	After: []*Transformer{analysisTransformer, providerTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		b.refused = map[unit]tfdiags.Diagnostics{}
		for _, path := range sortedModules(b.modules) {
			b.connectModule(b.modules[path])
		}
		for _, v := range b.values {
			b.connectValue(v)
		}
		for _, r := range b.resources {
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
				v.node.problems = v.node.problems.Append(tfdiags.Errorf("Self-referencing local value",
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
	m.expand.problems = m.expand.problems.Append(tfdiags.Errorf("Cycle: "+m.expand.Name,
		"What a module call needs before anything else can't be the call itself: %s refers to itself at %s.",
		m.expand.Name, tfdiags.Place(ref.Range)))
	return true
}

// connectImport connects the expressions of an import block.
func (b *build) connectImport(t *importTarget) {
	for _, e := range t.exprs() {
		b.connectRefs(t.resource.open, b.root, &e.Refs, inEach(t.forEach != nil))
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
		if p.cfg.Destroy && !b.phase.unknownInputs {
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
	return b.phase.fromState && r.addr.Resource.Mode != addrs.Ephemeral
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

// A unit is what is evaluated as a whole, an expression or a body, in the place that its module has in the tree.
type unit struct {
	m    *module
	refs *lang.Refs
}

// refuse records what is wrong with the references of a unit.
func (b *build) refuse(n *Node, u unit, problems tfdiags.Diagnostics) {
	switch {
	case len(problems) == 0:
	case b.phase.unknownInputs:
		b.refused[u] = b.refused[u].Append(problems)
	default:
		n.problems = n.problems.Append(problems)
	}
}

// connectRefs makes n wait for what the references name, or records why they name nothing.
func (b *build) connectRefs(n *Node, m *module, refs *lang.Refs, scope blockScope) {
	b.connectUnit(n, m, refs, scope, nil)
}

// connectUnit is connectRefs with a function that may take what is wrong with a reference, to have it reported later. Errors about
// objects that have a block of their own come first, and hide those about values (see isValue): so the errors of one unit are of one
// kind, as they are in OpenTofu.
func (b *build) connectUnit(n *Node, m *module, refs *lang.Refs, scope blockScope, kept func(*addrs.Reference, tfdiags.Diagnostics) bool) {
	var objects, values, functions tfdiags.Diagnostics
	for _, ref := range refs.Objects {
		var problems tfdiags.Diagnostics
		if scope.except != nil && ref.Whole() == scope.except {
			problems = m.checkOwn(ref)
		} else {
			b.places.reference(&ref.Range)
			problems = b.connectRef(n, m, ref, scope)
		}
		for i := range problems {
			if problems[i].Subject == nil { // the schema knows a better place: the step that it doesn't have
				problems[i].Subject = &ref.Range
			}
		}
		switch {
		case len(problems) == 0, kept != nil && kept(ref, problems):
		case isValue(ref.Subject):
			values = values.Append(problems)
		default:
			objects = objects.Append(problems)
		}
	}
	b.places.reference(nil)
	for _, f := range refs.Functions {
		functions = functions.Append(b.connectFunction(n, m, f))
	}
	wrong := slices.Clip(refs.Problems)
	switch {
	case functions.HasErrors() && n.Kind != KindProvider && n.Kind != KindModule:
		b.unknownFunctions = b.unknownFunctions.Append(functions)
	case functions.HasErrors():
		wrong = functions
	case objects.HasErrors():
		wrong = wrong.Append(objects)
	default:
		wrong = wrong.Append(values)
	}
	b.refuse(n, unit{m, refs}, wrong)
}

// isValue tells whether a reference is to something that is asked for its value without a look at its block.
func isValue(subject addrs.Referenceable) bool {
	switch subject.(type) {
	case addrs.InputVariable, addrs.LocalValue, addrs.PathAttr, addrs.TerraformAttr, addrs.CountAttr, addrs.ForEachAttr:
		return true
	}
	return false
}

func (b *build) connectRef(n *Node, m *module, ref *addrs.Reference, scope blockScope) tfdiags.Diagnostics {
	switch s := ref.Subject.(type) {
	case addrs.InputVariable:
		if v := m.variables[s.Name]; v != nil {
			b.after(n, v.node)
			return nil
		}
		return undeclared("input variable", s.Name, m, m.cfg.Module.Variables, "A variable is declared with a block variable \"%s\" {}.")
	case addrs.LocalValue:
		if v := m.locals[s.Name]; v != nil {
			b.after(n, v.node)
			return nil
		}
		return undeclared("local value", s.Name, m, m.cfg.Module.Locals, "")
	case addrs.Resource:
		return b.connectResourceRef(n, m, s, addrs.NoKey, false, ref)
	case addrs.ResourceInstance:
		return b.connectResourceRef(n, m, s.Resource, s.Key, true, ref)
	case addrs.ModuleCall:
		return b.connectCallRef(n, m, s.Name, "", addrs.NoKey, ref)
	case addrs.ModuleCallInstance:
		return b.connectCallRef(n, m, s.Name, "", s.Key, ref)
	case addrs.ModuleCallOutput:
		return b.connectCallRef(n, m, s.Call.Name, s.Output, s.Call.Key, ref)
	case addrs.OutputValue:
		if v := m.outputs[s.Name]; v != nil {
			b.after(n, v.node)
			return nil
		}
		return undeclared("output value", s.Name, m, m.cfg.Module.Outputs, "")
	default:
		return checkBlockLocal(ref, scope)
	}
}

// checkOwn checks what a block asks of itself.
func (m *module) checkOwn(ref *addrs.Reference) tfdiags.Diagnostics {
	switch s := ref.Subject.(type) {
	case addrs.Resource:
		return m.resources[s].checkAccess(addrs.NoKey, false, ref.Remaining)
	case addrs.ResourceInstance:
		return m.resources[s.Resource].checkAccess(s.Key, true, ref.Remaining)
	}
	return nil
}

func (b *build) connectResourceRef(n *Node, m *module, addr addrs.Resource, key addrs.InstanceKey, keyed bool, ref *addrs.Reference) tfdiags.Diagnostics {
	r := m.resources[addr]
	if r == nil || r.cfg == nil {
		return m.undeclaredResource(addr)
	}
	if r.cfg.Check != nil && !n.inCheckOf(r) {
		return tfdiags.Diagnostics{{Severity: tfdiags.Error, Summary: "Reference to scoped resource",
			Detail: fmt.Sprintf("%s is nested in check %q and can be referred to only from there.", addr, r.cfg.Check.Name)}}
	}
	if keyed && b.phase.steps {
		b.after(n, b.single(r, key))
	} else {
		b.after(n, r.node)
	}
	return r.checkAccess(key, keyed, ref.Remaining)
}

// wholeCall is a reference from a node to a module call without an output's name.
type wholeCall struct {
	from *Node
	call *module
	rng  *hcl.Range
}

func (b *build) connectCallRef(n *Node, m *module, call, output string, key addrs.InstanceKey, ref *addrs.Reference) tfdiags.Diagnostics {
	child := m.calls[call]
	if child == nil {
		return undeclared("module", call, m, m.calls, "")
	}
	b.after(n, child.expand)
	v := child.outputs[output]
	if v == nil || (key != addrs.NoKey) != child.rep.repeats() { // a whole, a key written like an output, or a mistake that evaluating will tell
		b.wholeCalls = append(b.wholeCalls, wholeCall{n, child, &ref.Range})
		return nil
	}
	b.after(n, v.node)
	return nil
}

// connectDependsOn makes n wait for whole objects, but those for which except holds: a module call counts as everything in it. The
// first thing that is missing speaks for all.
func (b *build) connectDependsOn(n *Node, m *module, refs *lang.Refs, except func(*addrs.Reference) bool) {
	problems := slices.Clip(refs.Problems)
	for _, ref := range refs.Objects {
		if except != nil && except(ref) {
			continue
		}
		if len(ref.Remaining) > 0 {
			problems = problems.Append(tfdiags.Errorf("Invalid depends_on reference",
				"A reference in depends_on is to a whole object, not to an attribute of one: write %s.", ref.Subject).At(ref.Remaining.SourceRange()))
			continue
		}
		b.places.reference(&ref.Range)
		if call, ok := moduleCallOf(ref.Subject); ok {
			if child := m.calls[call]; child != nil {
				b.after(n, child.closed)
				continue
			}
		}
		missing := b.connectRef(n, m, ref, blockScope{})
		if problems.HasErrors() {
			continue
		}
		for _, d := range missing {
			d.Subject = &ref.Range
			problems = problems.Append(d)
		}
	}
	b.places.reference(nil)
	b.refuse(n, unit{m, refs}, problems)
}

func moduleCallOf(subject addrs.Referenceable) (string, bool) {
	switch s := subject.(type) {
	case addrs.ModuleCall:
		return s.Name, true
	case addrs.ModuleCallInstance:
		return s.Name, true
	}
	return "", false
}

// connectFunction makes n wait for the provider whose function it calls.
func (b *build) connectFunction(n *Node, m *module, f lang.FunctionRef) tfdiags.Diagnostics {
	if m.cfg.Module.RequiredProviders[f.Func.Name] == nil {
		hint := spelling.DidYouMean(f.Func.Name, sortedKeys(m.cfg.Module.RequiredProviders))
		return tfdiags.Diagnostics{tfdiags.Errorf("Unknown function provider",
			"There is no provider %q in the required_providers of %s.%s", f.Func.Name, moduleName(m.path), hint).At(f.Range)}
	}
	local := addrs.LocalProviderConfig{LocalName: f.Func.Name, Alias: f.Func.Alias}
	use, ok := m.cfg.ProviderForLocal(local)
	if !ok {
		return nil // reported when the function is called
	}
	p, key := b.provider(use)
	if key != nil {
		b.functionKeys[functionUse{m, f.Func}] = key
	}
	b.functions[functionUse{m, f.Func}] = p
	if p.schema == nil {
		addr := p.addr.Provider
		if b.schemas[addr] == nil {
			schema, more := b.env.Schema(b.ctx, addr)
			if more.HasErrors() {
				return more
			}
			b.schemas[addr] = schema
		}
		p.schema = b.schemas[addr]
		p.functionsOnly = p.cfg == nil // else it would be known from its resources
		b.analyseProvider(p)
		b.connectRefs(p.node, p.module, &p.body.Refs, inEach(p.each != nil))
	}
	b.after(n, p.node)
	b.after(p.close, n)
	return nil
}
