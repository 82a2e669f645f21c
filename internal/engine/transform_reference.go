package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/lang"
	"tofu/internal/tfdiags"
)

var referenceTransformer = &Transformer{
	Name:  "Reference",
	Doc:   "adds an edge for every reference, depends_on and provider function, and for what a module's content owes its call",
	After: []*Transformer{analysisTransformer, providerTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
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
				b.connectRefs(p.node, p.module, p.body.Refs, inEach(p.each != nil))
			}
			b.after(p.node, p.module.expand)
		}
		for _, t := range b.imports {
			for _, e := range t.exprs() {
				b.connectRefs(t.resource.open, b.root, e.Refs, inEach(t.forEach != nil))
			}
		}
		b.connectInspection()
		return nil
	},
}

func sortedModules(modules map[addrs.Module]*module) []addrs.Module {
	return slices.Sorted(maps.Keys(modules))
}

// blockScope says which block-local names a reference may use, and what it must not refer to.
type blockScope struct {
	count, each, self bool
	except            addrs.Referenceable // a variable's own rules may name it without waiting for it
}

func inEach(each bool) blockScope { return blockScope{each: each} }

func inRepetition(rep repetitionExprs) blockScope {
	return blockScope{count: rep.count != nil, each: rep.forEach != nil}
}

func (b *build) connectModule(m *module) {
	if m.expand != nil {
		b.after(m.expand, m.parent.expand)
		for _, e := range []*lang.Expr{m.rep.count, m.rep.forEach, m.rep.enabled} {
			if e != nil {
				b.connectRefs(m.expand, m.parent, e.Refs, blockScope{})
			}
		}
		refs, diags := lang.DependsOn(m.call.DependsOn)
		m.expand.problems = m.expand.problems.Append(diags)
		b.connectDependsOn(m.expand, m.parent, refs)
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
			b.connectRefs(v.node, m.parent, v.expr.Refs, inRepetition(m.rep))
		}
		scope.except = addrs.InputVariable{Name: v.name}
	case outputValue:
		refs, diags := lang.DependsOn(v.output.DependsOn)
		v.node.problems = v.node.problems.Append(diags)
		b.connectDependsOn(v.node, m, refs)
		b.connectRefs(v.node, m, v.expr.Refs, scope)
	default:
		scope.except = addrs.LocalValue{Name: v.name}
		for _, ref := range v.expr.Refs.Objects {
			if ref.Subject == scope.except {
				v.node.problems = v.node.problems.Append(tfdiags.Errorf("Self-referencing local value",
					"The local value local.%s can't use its own result in its expression.", v.name).At(ref.Range))
			}
		}
		b.connectRefs(v.node, m, v.expr.Refs, scope)
	}
	b.connectRules(v.node, m, v.rules, scope)
}

func (b *build) connectRules(n *Node, m *module, rules []rule, scope blockScope) {
	for _, r := range rules {
		b.connectRefs(n, m, r.condition.Refs, scope)
		b.connectRefs(n, m, r.message.Refs, scope)
	}
}

func (b *build) connectResource(r *resource) {
	n, m, e := r.open, r.module, r.exprs
	b.after(n, m.expand)
	scope := inRepetition(e.rep)
	for _, x := range []*lang.Expr{e.rep.count, e.rep.forEach, e.rep.enabled} {
		if x != nil {
			b.connectRefs(n, m, x.Refs, blockScope{})
		}
	}
	if e.body != nil {
		b.checkSelf(r, e.body.Refs)
		b.connectRefs(n, m, e.body.Refs, b.without(r, scope))
	}
	if e.preventDestroy != nil {
		b.connectRefs(n, m, e.preventDestroy.Refs, blockScope{count: true, each: true})
		n.problems = n.problems.Append(checkPreventDestroy(e.preventDestroy.Refs))
	}
	b.connectRules(n, m, e.pre, b.without(r, scope))
	postScope := b.without(r, scope)
	postScope.self = true
	b.connectRules(n, m, e.post, postScope)
	for _, t := range e.triggers {
		b.connectRefs(n, m, t.Refs, scope)
	}
	if r.providerKey != nil {
		key := r.providerKey
		keyScope := scope
		if key.call != "" {
			keyScope = inRepetition(key.module.calls[key.call].rep)
		}
		b.connectRefs(n, key.module, key.expr.Refs, keyScope)
	}
	b.connectDependsOn(n, m, slices.DeleteFunc(slices.Clone(e.dependsOn), func(ref *addrs.Reference) bool { return m.resourceOf(ref.Subject) == r }))
	selfScope := b.without(r, scope)
	selfScope.self = true
	for _, p := range e.provisioners {
		if p.cfg.Destroy && !b.phase.unknownInputs {
			continue // evaluated from the object itself when it is destroyed
		}
		for _, body := range p.bodies() {
			b.connectRefs(n, m, body.Refs, selfScope)
		}
	}
	if r.cfg.Check != nil && b.phase.steps {
		return
	}
}

// checkPreventDestroy refuses what differs between instances: prevent_destroy is evaluated for instances that are gone from the
// configuration too.
func checkPreventDestroy(refs lang.Refs) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	for _, ref := range refs.Objects {
		switch ref.Subject.(type) {
		case addrs.CountAttr, addrs.ForEachAttr:
			diags = diags.Append(tfdiags.Errorf("Invalid reference in prevent_destroy",
				"prevent_destroy is the same for all instances of a resource, also for those that are to be destroyed, so it can't refer to %s.", ref.Subject).At(ref.Range))
		}
	}
	return diags
}

func (p *provisionerExprs) bodies() []*lang.Body {
	if p.body == nil {
		return nil
	}
	return append([]*lang.Body{p.body}, p.connections...)
}

// without is the scope of a resource's own block: naming itself there is an error that checkSelf reports, not a cycle.
func (b *build) without(r *resource, scope blockScope) blockScope {
	scope.except = r.addr.Resource
	return scope
}

func (b *build) checkSelf(r *resource, refs lang.Refs) {
	for _, ref := range refs.Objects {
		subject := ref.Subject
		if inst, ok := subject.(addrs.ResourceInstance); ok {
			subject = inst.Resource
		}
		if subject == r.addr.Resource {
			r.open.problems = r.open.problems.Append(tfdiags.Errorf("Self-referential block",
				"The block of %s can't refer to itself by name: it would wait for itself.", r.addr).At(ref.Range))
		}
	}
}

// connectRefs makes n wait for what the references name, or records why they name nothing.
func (b *build) connectRefs(n *Node, m *module, refs lang.Refs, scope blockScope) {
	for _, ref := range refs.Objects {
		subject := ref.Subject
		if inst, ok := subject.(addrs.ResourceInstance); ok {
			subject = inst.Resource
		}
		if subject == scope.except && scope.except != nil {
			continue
		}
		b.places.reference(&ref.Range)
		if d := b.connectRef(n, m, ref, scope); d != nil {
			if d.Subject == nil { // the schema knows a better place: the step that it doesn't have
				d.Subject = &ref.Range
			}
			n.problems = n.problems.Append(*d)
		}
	}
	b.places.reference(nil)
	for _, f := range refs.Functions {
		n.problems = n.problems.Append(b.connectFunction(n, m, f))
	}
}

func (b *build) connectRef(n *Node, m *module, ref *addrs.Reference, scope blockScope) *tfdiags.Diagnostic {
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

// checkBlockLocal checks the names that depend on nothing but the block they stand in.
func checkBlockLocal(ref *addrs.Reference, scope blockScope) *tfdiags.Diagnostic {
	var d tfdiags.Diagnostic
	switch s := ref.Subject.(type) {
	case addrs.CountAttr:
		switch {
		case s.Name != "index":
			d = tfdiags.Errorf("Invalid \"count\" attribute", "The \"count\" object has no attribute %q: its only one is \"index\".", s.Name)
		case !scope.count:
			d = tfdiags.Errorf("Reference to \"count\" in non-counted context", "count.index exists only in a block that has a \"count\" argument.")
		}
	case addrs.ForEachAttr:
		switch {
		case s.Name != "key" && s.Name != "value":
			d = tfdiags.Errorf("Invalid \"each\" attribute", "The \"each\" object has no attribute %q: it has \"key\" and \"value\".", s.Name)
		case !scope.each:
			d = tfdiags.Errorf("Reference to \"each\" in context without for_each", "each.key and each.value exist only in a block that has a \"for_each\" argument.")
		}
	case addrs.Self:
		if !scope.self {
			d = tfdiags.Errorf("Invalid \"self\" reference", "The \"self\" object is available only in provisioner, connection and postcondition blocks. Refer to the resource by its own name elsewhere.")
		}
	case addrs.PathAttr:
		if !slices.Contains([]string{"module", "root", "cwd"}, s.Name) {
			d = tfdiags.Errorf("Invalid \"path\" attribute", "The \"path\" object has no attribute %q: it has \"module\", \"root\" and \"cwd\".", s.Name)
		}
	case addrs.TerraformAttr:
		if s.Name != "workspace" && s.Name != "applying" {
			d = tfdiags.Errorf(fmt.Sprintf("Invalid %q attribute", s.Alias), "The %q object has no attribute %q: it has \"workspace\" and \"applying\".", s.Alias, s.Name)
		}
	default:
		d = tfdiags.Errorf("Invalid reference", "%s can't be referred to here.", ref.Subject)
	}
	if d.Summary == "" {
		return nil
	}
	return &d
}

func undeclared[V any](what, name string, m *module, declared map[string]V, hint string) *tfdiags.Diagnostic {
	detail := fmt.Sprintf("There is no %s %q in %s.", what, name, moduleName(m.path))
	if found := suggestion(name, sortedKeys(declared)); found != "" {
		detail += fmt.Sprintf(" Did you mean %q?", found)
	} else if hint != "" {
		detail += " " + fmt.Sprintf(hint, name)
	}
	return &tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: "Reference to undeclared " + what, Detail: detail}
}

func (b *build) connectResourceRef(n *Node, m *module, addr addrs.Resource, key addrs.InstanceKey, keyed bool, ref *addrs.Reference) *tfdiags.Diagnostic {
	r := m.resources[addr]
	if r == nil || r.cfg == nil {
		return b.undeclaredResource(m, addr)
	}
	if r.cfg.Check != nil && !b.inCheck(n, r) {
		return &tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: "Reference to scoped resource",
			Detail: fmt.Sprintf("%s is nested in check %q and can be referred to only from there.", addr, r.cfg.Check.Name)}
	}
	b.after(n, r.node)
	if b.phase.steps {
		b.noteReference(n, r, key, keyed)
	}
	return r.checkAccess(key, keyed, ref.Remaining)
}

// namedKeys says which instances of a resource a node refers to.
type namedKeys struct {
	whole bool // some reference names no instance
	keys  map[addrs.InstanceKey]bool
}

func (b *build) noteReference(n *Node, r *resource, key addrs.InstanceKey, keyed bool) {
	edge := [2]dag.ID{n.ID, r.node.ID}
	named := b.named[edge]
	if named == nil {
		named = &namedKeys{keys: map[addrs.InstanceKey]bool{}}
		b.named[edge] = named
	}
	named.whole = named.whole || !keyed
	named.keys[key] = true
}

// inCheck tells whether a node belongs to the check block that a scoped data source is nested in.
func (b *build) inCheck(n *Node, r *resource) bool {
	return n.Kind == KindValue && n.module == r.module && n.Name == inModule(r.module.path, "check."+r.cfg.Check.Name)
}

// checkAccess holds a reference against the block's repetition and the type's schema.
func (r *resource) checkAccess(key addrs.InstanceKey, keyed bool, rest hcl.Traversal) *tfdiags.Diagnostic {
	repeats := r.cfg.Count != nil || r.cfg.ForEach != nil
	switch {
	case keyed && !repeats:
		return &tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: "Unexpected resource instance key",
			Detail: fmt.Sprintf("%s has neither \"count\" nor \"for_each\", so it has no instance %s. Refer to it without an index.", r.addr.Resource, key)}
	case !keyed && repeats && len(rest) > 0:
		if attr, ok := rest[0].(hcl.TraverseAttr); ok {
			how := "count.index"
			if r.cfg.ForEach != nil {
				how = "each.key"
			}
			return &tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: "Missing resource instance key",
				Detail: fmt.Sprintf("%s has \"count\" or \"for_each\", so the attribute %q is one of an instance: for example %s[%s].%s.",
					r.addr.Resource, attr.Name, r.addr.Resource, how, attr.Name)}
		}
		return nil
	case !keyed && repeats, r.schema == nil:
		return nil
	}
	hclDiags := r.schema.Block.StaticValidateTraversal(rest)
	if hclDiags.HasErrors() {
		d := tfdiags.Diagnostics{}.Append(hclDiags)[0]
		return &d
	}
	return nil
}

func (b *build) undeclaredResource(m *module, addr addrs.Resource) *tfdiags.Diagnostic {
	what := map[addrs.ResourceMode]string{addrs.Managed: "resource", addrs.Data: "data source", addrs.Ephemeral: "ephemeral resource"}[addr.Mode]
	detail := fmt.Sprintf("A %s %q %q has not been declared in %s.", what, addr.Type, addr.Name, moduleName(m.path))
	var same []string
	for other := range m.resources {
		if other.Mode == addr.Mode && other.Type == addr.Type {
			same = append(same, other.Name)
		}
	}
	slices.Sort(same)
	if found := suggestion(addr.Name, same); found != "" {
		other := addr
		other.Name = found
		detail += fmt.Sprintf(" Did you mean %s?", other)
	} else if other := (addrs.Resource{Mode: addrs.Data, Type: addr.Type, Name: addr.Name}); addr.Mode == addrs.Managed && m.resources[other] != nil {
		detail += fmt.Sprintf(" Did you mean the data source %s?", other)
	}
	return &tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: "Reference to undeclared resource", Detail: detail}
}

func (b *build) connectCallRef(n *Node, m *module, call, output string, key addrs.InstanceKey, ref *addrs.Reference) *tfdiags.Diagnostic {
	child := m.calls[call]
	if child == nil {
		return undeclared("module", call, m, m.calls, "")
	}
	b.after(n, child.expand)
	repeats := child.rep.repeats()
	switch {
	case key != addrs.NoKey && !repeats:
		return &tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: "Unexpected module instance key",
			Detail: fmt.Sprintf("module.%s has neither \"count\" nor \"for_each\", so it has no instance %s.", call, key)}
	case output == "":
		for _, v := range child.outputs {
			b.after(n, v.node)
		}
		return nil
	case key == addrs.NoKey && repeats:
		return &tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: "Unsupported attribute",
			Detail: fmt.Sprintf("module.%s has \"count\" or \"for_each\", so the output %q is one of an instance: module.%s[…].%s.", call, output, call, output)}
	}
	v := child.outputs[output]
	if v == nil {
		d := undeclared("output value", output, child, child.outputs, "")
		d.Summary = "Unsupported attribute"
		d.Detail = fmt.Sprintf("The module has no output %q. ", output) + d.Detail
		return d
	}
	b.after(n, v.node)
	return nil
}

// connectDependsOn makes n wait for whole objects: a module call counts as everything in it.
func (b *build) connectDependsOn(n *Node, m *module, refs []*addrs.Reference) {
	for _, ref := range refs {
		if len(ref.Remaining) > 0 {
			n.problems = n.problems.Append(tfdiags.Errorf("Invalid depends_on reference",
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
		if d := b.connectRef(n, m, ref, blockScope{}); d != nil && d.Summary != "Missing resource instance key" {
			d.Subject = &ref.Range
			n.problems = n.problems.Append(*d)
		}
	}
	b.places.reference(nil)
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
		return tfdiags.Diagnostics{tfdiags.Errorf("Unknown function provider",
			"There is no provider %q in the required_providers of %s.", f.Func.Name, moduleName(m.path)).At(f.Range)}
	}
	local := addrs.LocalProviderConfig{LocalName: f.Func.Name, Alias: f.Func.Alias}
	use, ok := m.cfg.ProviderForLocal(local)
	if !ok {
		return tfdiags.Diagnostics{missingProvider(local, m.path).At(f.Range)}
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
		b.connectRefs(p.node, p.module, p.body.Refs, inEach(p.each != nil))
	}
	b.after(n, p.node)
	b.after(p.close, n)
	return nil
}
