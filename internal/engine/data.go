package engine

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/checks"
	"tofu/internal/dag"
	"tofu/internal/engine/graph"
	"tofu/internal/plans"
	"tofu/internal/plans/objchange"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// planData reads a data source, or plans to read it while applying.
func (p *instancePlan) planData() tfdiags.Diagnostics {
	w, r := p.w, p.r
	prov, diags := p.declaredProvider()
	if diags.HasErrors() {
		return diags
	}
	p.prov = prov
	diags = diags.Append(w.eval.evalConditions(p.c, r.Exprs.Preconditions,
		p.conditionSet("Resource precondition failed"))...)
	if diags.HasErrors() {
		return diags
	}
	config, pvms, more := p.dataConfig()
	diags = diags.Append(more...)
	if more.HasErrors() {
		return diags
	}
	reason := plans.NoReason
	switch {
	case !config.IsWhollyKnown():
		reason = plans.ReadConfigUnknown
	case w.dependencyPending(p.r, p.c.in):
		reason = plans.ReadDependencyPending
	}
	if reason != plans.NoReason {
		p.x.objs[p.at] = p.deferData(config, pvms, reason)
		return diags.Append(p.postconditions(p.x.objs[p.at])...)
	}
	v, more := p.readData(config, pvms)
	if r.Config.Check != nil {
		diags = diags.Append(p.checkData(more, &v, config)...)
	} else {
		diags = diags.Append(more...)
		if more.HasErrors() {
			return diags
		}
	}
	if v.IsWhollyKnown() {
		diags = diags.Append(p.storeData(v)...)
	}
	p.x.objs[p.at] = markStored(r.Schema.Block, v, nil)
	return diags.Append(p.postconditions(p.x.objs[p.at])...)
}

// dataConfig evaluates a data source's configuration.
func (p *instancePlan) dataConfig() (cty.Value, []cty.PathValueMarks, tfdiags.Diagnostics) {
	marked, diags := p.c.resourceBody(p.r)
	if diags.HasErrors() {
		return cty.NilVal, nil, diags.WithAddress(p.addr.String())
	}
	config, pvms, more := p.splitMarks(marked)
	return config, pvms, diags.Append(more...)
}

// deferData defers reading the data source to apply and returns the known part of the result.
func (p *instancePlan) deferData(config cty.Value, pvms []cty.PathValueMarks, reason plans.Reason) cty.Value {
	schema := p.r.Schema.Block
	v := objchange.PlannedUnknown(schema, config)
	if len(pvms) > 0 {
		v = v.MarkWithPaths(pvms)
	}
	p.w.out.setObject(p.addr, "", nil, p.prov.addr)
	if p.w.op.Mode == plans.RefreshOnly {
		return markStored(schema, v, nil)
	}
	p.w.addChange(p.r, &plans.InstanceChange{
		Addr: p.addr, PrevAddr: p.w.op.moves.Origin(p.addr), Provider: p.prov.addr, Action: plans.Read, Reason: reason,
		Before: cty.NullVal(schema.ImpliedType()), After: v,
	})
	return markStored(schema, v, nil)
}

// readData has the provider read the data source. The result has the marks of the configuration
// only, since a state stores no others for a data source.
func (p *instancePlan) readData(config cty.Value, pvms []cty.PathValueMarks) (cty.Value, tfdiags.Diagnostics) {
	w, r := p.w, p.r
	what := Object{Addr: p.addr}
	meta, diags := w.eval.providerMeta(r, p.c)
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	start := w.op.env.now()
	w.out.observe(ApplyStart{Object: what, Action: plans.Read, Provider: p.prov.addr,
		Builtin: p.prov.addr.Config.Provider.IsBuiltin()})
	v, more := p.callData(config, meta)
	diags = diags.Append(more...)
	if !diags.HasErrors() {
		if len(pvms) > 0 {
			v = v.MarkWithPaths(pvms)
		}
		what.IDKey, what.IDValue = identify(markStored(r.Schema.Block, v, nil))
	}
	w.out.observe(ApplyDone{Object: what, Action: plans.Read, Failed: diags.HasErrors(),
		Elapsed: w.op.env.now().Sub(start)})
	return v, diags
}

func (p *instancePlan) callData(config, meta cty.Value) (cty.Value, tfdiags.Diagnostics) {
	w, r := p.w, p.r
	resp := callProvider(w.calls, p.prov, "ReadDataSource", p.addr, func() providers.ReadDataResponse {
		diags := p.prov.ValidateDataSource(w.ctx, r.Addr.Resource.Type, config)
		if diags.HasErrors() {
			return providers.ReadDataResponse{Diagnostics: diags}
		}
		resp := p.prov.ReadDataSource(w.ctx, providers.ReadDataRequest{Type: r.Addr.Resource.Type,
			Config: config, Meta: meta, Addr: p.addr})
		resp.Diagnostics = diags.Append(resp.Diagnostics...)
		return resp
	})
	diags := p.explain(resp.Diagnostics)
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	if resp.Deferred != "" {
		return cty.NilVal, diags.Append(deferred(p.prov, p.addr, resp.Deferred))
	}
	bug := "Provider produced invalid object"
	if diags = diags.Append(p.checkType(bug, resp.State, r.Schema.Block.ImpliedType())...); diags.HasErrors() {
		return cty.NilVal, diags
	}
	switch {
	case resp.State.IsNull():
		return cty.NilVal,
			diags.Append(providerBug(bug, p.prov.addr.Config.Provider, "returned no object for %s.", p.addr))
	case !resp.State.IsWhollyKnown():
		return cty.NilVal,
			diags.Append(providerBug(bug, p.prov.addr.Config.Provider, "returned unknown values for %s.", p.addr))
	}
	return objchange.NormalizeFromLegacy(r.Schema.Block, resp.State), diags
}

// storeData stores the result of a data source in the state.
func (p *instancePlan) storeData(v cty.Value) tfdiags.Diagnostics {
	obj, err := encodeObject(p.r, v, states.Object{})
	if err != nil {
		return tfdiags.FromError(err)
	}
	if stored := p.w.out.current(p.addr); stored != nil && sameJSON(obj.Attrs, stored.Attrs) &&
		stored.SchemaVersion == obj.SchemaVersion && samePaths(obj.SensitivePaths, stored.SensitivePaths) {
		obj = stored
	}
	p.w.out.setObject(p.addr, "", obj, p.prov.addr)
	return nil
}

func samePaths(a, b []cty.Path) bool {
	return len(a) == len(b) && cty.NewPathSet(a...).Equal(cty.NewPathSet(b...))
}

// checkData handles the outcome of a data source that is nested in a check block: its errors become
// failures of the check.
func (p *instancePlan) checkData(outcome tfdiags.Diagnostics, v *cty.Value, config cty.Value) tfdiags.Diagnostics {
	w := p.w
	after, status := *v, checks.Unknown // until the assertions are evaluated, which this run may skip
	var messages []string
	if outcome.HasErrors() {
		after, status = objchange.PlannedUnknown(p.r.Schema.Block, config), checks.Fail
		for _, d := range outcome {
			messages = append(messages, d.Summary)
		}
		*v = cty.UnknownVal(p.r.Schema.Block.ImpliedType())
		outcome = outcome.Append(p.storeData(cty.UnknownAsNull(after))...)
	}
	name := "check." + p.r.Config.Check.Name
	set := conditionSet{kind: checks.KindCheck, config: graph.InModule(p.r.Module.Path, name),
		object: inInstance(p.c.in.addr, name)}
	w.out.recordCheck(set, status, messages)
	outcome = outcome.Map(func(d *tfdiags.Diagnostic) {
		if d.Severity == tfdiags.Error {
			d.Severity, d.Extra = tfdiags.Warning, tfdiags.CheckRule{Address: set.object}
		}
	})
	if w.op.Phase.Plans() && w.op.Mode == plans.Normal {
		w.out.mu.Lock()
		w.out.checkReads = append(w.out.checkReads, &plans.InstanceChange{
			Addr: p.addr, PrevAddr: p.addr, Provider: p.prov.addr, Action: plans.Read, Reason: plans.ReadCheckNested,
			Before: cty.NullVal(p.r.Schema.Block.ImpliedType()), After: after,
		})
		w.out.mu.Unlock()
	}
	return outcome
}

// planCheckReads plans to read the data sources of check blocks again after all changes, if there
// are any changes to apply.
func (f finisher) planCheckReads() {
	w := f.w
	if !f.changesAnything() {
		return
	}
	for _, c := range w.out.checkReads {
		w.addChange(w.graph.ByAddr[c.Addr.Config()], c)
	}
}

// pendingBefore reports whether a direct dependency of the node has a pending change, or depends on
// one that has.
func (w *walk) pendingBefore(n *graph.Node) bool {
	for _, need := range w.graph.Edges.Needs(n.ID) {
		if w.upstreamPending[need] {
			return true
		}
	}
	return false
}

// dependencyPending reports whether a managed resource that r names in depends_on, or refers to
// directly, has a pending change. For resources in the same module as r, only changes in the same
// module instance count.
func (w *walk) dependencyPending(r *graph.Resource, in *moduleInstance) bool {
	if !w.pendingBefore(r.Inputs) {
		return false
	}
	deferral := w.result(r).deferral
	pending := func(other *graph.Resource) bool {
		switch {
		case other == r || other.Addr.Resource.Mode != addrs.Managed:
			return false
		case other.Addr.Module == r.Addr.Module:
			return w.result(other).pending.in(in.addr)
		}
		return w.result(other).pending.exist()
	}
	return slices.ContainsFunc(deferral.direct, pending) || w.anyReached(deferral.from, pending)
}

// deferral determines whose pending changes defer a data source to apply: those of the resources in
// direct, and those of all resources that the nodes in from depend on, directly or indirectly.
type deferral struct {
	direct []*graph.Resource
	from   []dag.ID
}

func findDeferral(r *graph.Resource) *deferral {
	d := &deferral{}
	if r.HasConditions() {
		d.from = append(d.from, r.Inputs.ID)
		return d
	}
	m := r.Module
	for _, refs := range append(r.Exprs.Repetition.Refs(), &r.Exprs.Body.Refs) {
		for _, ref := range refs.Objects {
			if other := m.ResourceOf(ref.Subject); other != nil {
				d.direct = append(d.direct, other)
			}
		}
	}
	d.dependsOn(m, r.Exprs.DependsOn.Objects)
	for ; m.Call != nil; m = m.Parent {
		refs := m.DependsOn.Objects
		d.dependsOn(m.Parent, refs)
		for _, ref := range refs {
			if other := m.Parent.ResourceOf(ref.Subject); other != nil {
				d.from = append(d.from, other.Node.ID)
			}
		}
	}
	return d
}

// dependsOn adds the references of a depends_on argument in module m.
func (d *deferral) dependsOn(m *graph.Module, refs []*addrs.Reference) {
	for _, ref := range refs {
		if other := m.ResourceOf(ref.Subject); other != nil {
			d.direct = append(d.direct, other)
		} else if n := m.NodeOf(ref.Subject); n != nil {
			d.from = append(d.from, n.ID)
		}
	}
}

// anyReached reports whether match is true for a resource that one of the nodes in from depends on,
// directly or indirectly. It follows only nodes that have a pending change upstream, so it usually
// finds one at once.
func (w *walk) anyReached(from []dag.ID, match func(*graph.Resource) bool) bool {
	seen := map[dag.ID]bool{}
	todo := slices.Clone(from)
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[id] || !w.upstreamPending[id] {
			continue
		}
		seen[id] = true
		if n := w.graph.Nodes[id]; n.Kind.IsResource() && match(n.Resource) {
			return true
		}
		todo = append(todo, w.graph.Edges.Needs(id)...)
	}
	return false
}
