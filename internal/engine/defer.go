package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/checks"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/plans/objchange"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// Deferral
//
// A plan defers what can't be planned yet instead of failing. Three kinds of nodes are deferred
// first: a resource or module whose instances are unknown, a provider that can't be configured
// because its configuration is unknown, and a resource whose provider itself defers an instance.
// Each node that depends on a deferred node is deferred too. Deferred values, conditions and
// outputs are still evaluated, with unknown values for the deferred objects. Deferred resources
// aren't changed at all, and their objects stay in the state as they are.
//
// An apply treats the same resources and modules as deferred, although their instances may be known
// by then: the plan that the user approved says nothing about them. The next plan does.

// notYet is the Extra of a diagnostic about something that can't be planned yet. The diagnostic is
// an error only if the operation doesn't defer.
type notYet struct {
	why   plans.DeferReason
	chain []plans.DeferralStep
	extra any // Extra of the original diagnostic, for the printer
}

// UnwrapDiagnosticExtra lets hcl.DiagnosticExtra find the original Extra.
func (n notYet) UnwrapDiagnosticExtra() any { return n.extra }

// unknownArgument returns the error about the unknown argument e of a block, with the references
// through which it became unknown. Nothing can wait for the argument if it is unknown in every plan.
func (c *evalContext) unknownArgument(
	why plans.DeferReason, summary, detail string, e *lang.Expr, v cty.Value, what string,
) tfdiags.Diagnostic {
	gone, err := c.eval(e, cty.DynamicPseudoType)
	if err == nil && absent(gone) && c.e.op.past == nil && c.e.op.Mode != plans.RefreshOnly {
		return c.argError(valueGone, valueGoneDetail, e, v)
	}
	trace := unknownTrace{evalContext: c}
	chain := trace.unknownChain(e)
	// Nothing has to be planned for the block when everything is destroyed or only refreshed.
	if name := trace.varyingCall(e); name != "" && c.e.op.Mode == plans.Normal && !c.e.op.PreDestroy {
		return c.argError(summary, alwaysUnknown(name)+becauseOf(chain), e, v)
	}
	d := c.argError(summary, detail+becauseOf(chain), e, v)
	chain = append(chain, plans.DeferralStep{What: what, Where: tfdiags.Place(e.Range())})
	d.Extra = notYet{why: why, chain: chain, extra: d.Extra}
	return d
}

// deferredNode says why a node is deferred.
type deferredNode struct {
	why   plans.DeferReason
	chain []plans.DeferralStep // from the unknown object to the argument that needs it
	via   string               // the deferred block that the node depends on; "" if deferral begins here
	alone bool                 // only a single instance is deferred, not its whole resource
}

// behind returns why the dependents of the deferred block called name are deferred.
func (d *deferredNode) behind(name string) *deferredNode {
	return &deferredNode{why: plans.DeferredPrereq, chain: d.chain, via: name}
}

// only returns a copy of d that applies to a single instance instead of its whole resource.
func (d *deferredNode) only() *deferredNode {
	out := *d
	out.alone = true
	return &out
}

// deferredBy returns the reason for deferral if the operation defers and all errors in err are
// about something that can't be planned yet. Otherwise it returns nil.
func (e *evaluator) deferredBy(err error) *deferredNode {
	if err == nil || !e.op.defers {
		return nil
	}
	var out *deferredNode
	for _, d := range tfdiags.FromError(err) {
		cause, ok := d.Extra.(notYet)
		if !ok {
			return nil
		}
		if out == nil {
			out = &deferredNode{why: cause.why, chain: cause.chain}
		}
	}
	return out
}

// deferrals records which nodes and modules of a walk are deferred. It is safe for concurrent use.
// If the operation doesn't defer, nodes is nil and no node is deferred.
type deferrals struct {
	mu      sync.Mutex
	nodes   []*deferredNode // by node ID: why the dependents of the node are deferred; nil if they aren't
	modules []addrs.Module  // modules with unknown instances
}

// visit defers a node if it waits for a deferred node. It skips a resource whose instances are
// planned separately; resourceVisit.deferredByRead then decides for each instance.
func (d *deferrals) visit(g *graph.Graph, n *reads.Node) {
	if d.nodes == nil || n.Resource != nil && n.Resource.Inputs != n.Resource.Node && n.Kind == reads.KindResource {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.nodes[n.ID] != nil {
		return // a single instance has already been deferred
	}
	for _, need := range g.Edges.Needs(n.ID) {
		if why := d.nodes[need]; why != nil {
			d.nodes[n.ID] = why
			return
		}
	}
}

// set records that the dependents of a node are deferred.
func (d *deferrals) set(n *reads.Node, why *deferredNode) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.nodes[n.ID] = why
}

// add records that the dependents of a node are deferred, unless a reason is already recorded.
func (d *deferrals) add(n *reads.Node, why *deferredNode) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.nodes[n.ID] == nil {
		d.nodes[n.ID] = why
	}
}

// addModule defers everything in a module whose instances are unknown. n is the node of the module
// call.
func (d *deferrals) addModule(n *reads.Node, why *deferredNode) {
	d.add(n, why)
	d.mu.Lock()
	defer d.mu.Unlock()
	if path := n.Call().Path; !slices.Contains(d.modules, path) {
		d.modules = append(d.modules, path)
	}
}

// at returns why the dependents of a node are deferred, or nil if they aren't deferred (yet).
func (d *deferrals) at(n *reads.Node) *deferredNode {
	if d.nodes == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.nodes[n.ID]
}

// deferAll defers all changes of a resource.
func (v resourceVisit) deferAll(ctx context.Context, d *deferredNode) error {
	w, r := v.w, v.r
	w.deferrals.set(v.node(), d.behind(r.Addr.String()))
	if r.Config == nil {
		for _, prior := range r.Prior {
			v.deferOrphans(prior, nil, d)
		}
		return nil
	}
	var errs tfdiags.Diagnostics
	for _, in := range v.modules() {
		w.eval.unfinished.drop(r.Addr.Resource.InInstance(in.addr))
		x, err := v.eval().values(r).expandWhole(ctx, in)
		if err != nil && w.eval.deferredBy(err) == nil {
			errs = errs.AppendError(err)
			continue
		}
		if err != nil {
			v.deferUnknown(in, d)
			continue
		}
		in.resources[r.Slot] = x
		errs = errs.AppendError(w.each(len(x.keys), func(i int) error {
			return v.instanceAt(ctx, in, x, i, v.inputs().ID).deferChange(d)
		}))
		x.value = w.eval.values(r).whole(x)
	}
	for _, prior := range r.Prior {
		in := w.modules.at(r.Module, prior.Addr.Module)
		if v.inOne() || in == nil || in.resources[r.Slot] == nil || in.resources[r.Slot].mode == repeatUnknown {
			continue // the declared instances are unknown
		}
		v.deferOrphans(prior, in.resources[r.Slot], d)
	}
	return errs.Err()
}

// deferUnknown defers the changes of a resource in a module instance in which the resource's
// instances are unknown. The results of its conditions aren't recorded; see moduleInstance.unknown.
func (v resourceVisit) deferUnknown(in *moduleInstance, d *deferredNode) {
	r := v.r
	in.resources[r.Slot] = newExpansion(expandedKeys{mode: repeatUnknown})
	in.resources[r.Slot].value = v.w.eval.values(r).unknownWhole()
	addr := r.Addr.Resource.InInstance(in.addr).Instance(addrs.UnknownKey)
	if r.Selected.Has(addr) {
		ty := r.Schema.Block.ImpliedType()
		v.record(&plans.Deferred{Kept: v.kept(in), InstanceChange: plans.InstanceChange{Addr: addr,
			Action: v.expected(false), Before: cty.NullVal(ty), After: cty.UnknownVal(ty)}}, d)
	}
}

// kept returns the number of stored objects of a resource in a module instance. If the module
// instances are unknown, it counts the objects in all of them.
func (v resourceVisit) kept(in *moduleInstance) (n int) {
	if v.r.Addr.Resource.Mode != addrs.Managed {
		return 0
	}
	for _, prior := range v.r.Prior {
		if !in.unknown && prior.Addr.Module != in.addr {
			continue
		}
		for _, inst := range prior.Instances {
			if inst.Current != nil {
				n++
			}
		}
	}
	return n
}

// deferOrphans defers the deletion of stored instances that the configuration no longer declares. x
// holds the declared instances.
func (v resourceVisit) deferOrphans(prior *states.Resource, x *expansion, d *deferredNode) {
	r := v.r
	if r.Addr.Resource.Mode != addrs.Managed || r.Schema == nil {
		return
	}
	for _, key := range prior.SortedKeys() {
		addr, inst := prior.Addr.Instance(key), prior.Instances[key]
		_, declared := x.has(key)
		if declared || inst.Current == nil || !r.Selected.HasOrphan(addr) {
			continue
		}
		v.deferDeletion(addr, addrs.NotDeposed, inst.Current, d)
	}
}

// deferDeletion defers the deletion of one object.
func (v resourceVisit) deferDeletion(
	addr addrs.AbsInstance, deposed addrs.DeposedKey, obj *states.Object, d *deferredNode,
) {
	v.record(&plans.Deferred{Kept: 1, InstanceChange: plans.InstanceChange{Addr: addr, Deposed: deposed,
		Action: plans.Delete, Before: v.stored(addr, obj), After: cty.NullVal(v.r.Schema.Block.ImpliedType())}}, d)
}

// planOrDefer plans the object's deletion, or defers it if the provider can't plan it yet.
func (o *orphanPlan) planOrDefer(ctx context.Context) error {
	err := o.plan(ctx)
	d := o.w.eval.deferredBy(err)
	if d == nil {
		return err
	}
	v := resourceVisit{o.w, o.r, o.r.Node}
	o.w.deferrals.add(o.r.Node, d.behind(o.r.Addr.String()))
	v.deferDeletion(o.addr, o.deposed, o.stored.Object(o.deposed), d.only())
	return nil
}

// deferChange defers the change of one declared instance.
func (p *instancePlan) deferChange(d *deferredNode) error {
	w, r := p.w, p.r
	v := resourceVisit{w, r, r.Node}
	if r.HasConditions() && !p.in.unknown {
		w.out.recordCheck(p.conditionSet(""), checks.Unknown, nil)
	}
	if !r.Selected.Has(p.addr) {
		p.keepStored()
		return nil
	}
	marked, err := p.evalBody()
	if err != nil {
		return err
	}
	config, pvms, err := p.splitMarks(marked)
	if err != nil {
		return err
	}
	after := objchange.PlannedUnknown(r.Schema.Block, config)
	if len(pvms) > 0 {
		after = after.MarkWithPaths(pvms)
	}
	after = markStored(r.Schema.Block, after, nil)
	if r.Addr.Resource.Mode == addrs.Ephemeral {
		p.x.objs[p.at] = ephemeralValue(after)
		return nil
	}
	p.x.objs[p.at] = after
	before := cty.NullVal(r.Schema.Block.ImpliedType())
	obj, kept := w.op.Prior.Current(p.addr), 0
	exists := obj != nil && r.Addr.Resource.Mode == addrs.Managed
	if exists {
		before, kept = v.stored(p.addr, obj), 1
	}
	v.record(&plans.Deferred{Kept: kept, InstanceChange: plans.InstanceChange{Addr: p.addr,
		MovedFrom: w.op.moves.Previous(p.addr), Action: v.expected(exists), Before: before, After: after}}, d)
	return nil
}

// stored returns the value of a stored object. It is unknown if the object can't be decoded before
// its provider upgrades it.
func (v resourceVisit) stored(addr addrs.AbsInstance, obj *states.Object) cty.Value {
	val, err := decode(v.r, addr, obj)
	if err != nil {
		return cty.UnknownVal(v.r.Schema.Block.ImpliedType())
	}
	return val
}

// expected returns the action that a later plan is expected to have for a declared instance.
func (v resourceVisit) expected(exists bool) plans.Action {
	switch {
	case v.r.Addr.Resource.Mode == addrs.Data:
		return plans.Read
	case exists:
		return plans.Update
	}
	return plans.Create
}

// record adds a deferred change to the results.
func (v resourceVisit) record(c *plans.Deferred, d *deferredNode) {
	if v.r.Addr.Resource.Mode == addrs.Ephemeral {
		return // plans never list ephemeral objects
	}
	c.Why, c.Chain, c.Via, c.Alone = d.why, d.chain, d.via, d.alone
	c.Provider = addrs.ProviderInstance{Config: v.r.Provider.Addr}
	v.w.out.deferChange(c)
}

// deferProvider defers a provider if configuring it has failed and its configuration is not wholly
// known. failure is nil if configuring it succeeded. It reports whether the provider is deferred.
func (v providerVisit) deferProvider(ctx context.Context, config cty.Value, failure error) bool {
	w, p := v.w, v.p
	if failure == nil || config == cty.NilVal || config.IsWhollyKnown() || !w.op.defers {
		return false
	}
	step := plans.DeferralStep{What: fmt.Sprintf("the configuration of provider %q (%s)", p.Addr.Provider.Type,
		tfdiags.FromError(failure)[0].Summary)}
	if p.Config != nil {
		step.Where = tfdiags.Place(p.Config.Range)
	}
	var chain []plans.DeferralStep
	if in := w.modules.of(p.Module); len(in) > 0 {
		chain = unknownTrace{evalContext: w.eval.visiting(p.Node).newContext(ctx, in[0], repetition{})}.unknownIn(&p.Body.Refs)
	}
	w.deferrals.add(p.Node, &deferredNode{why: plans.DeferredProvider, chain: append(chain, step)})
	return true
}

// deferNeeded defers the deletion of objects that the stored objects of deferred resources still
// depend on. Replacements aren't deferred, because the deferred resources may need their results.
func (f finisher) deferNeeded() {
	w := f.w
	if len(w.out.deferred) == 0 {
		return
	}
	via := map[addrs.ConfigResource]*plans.Deferred{}
	var next []addrs.ConfigResource
	visit := func(addr addrs.ConfigResource, of *plans.Deferred) {
		if via[addr] == nil {
			via[addr] = of
			next = append(next, addr)
		}
	}
	for _, d := range w.out.deferred {
		visit(d.Addr.Config(), d)
	}
	for len(next) > 0 {
		addr := next[0]
		next = next[1:]
		r := w.graph.Resource(addr)
		if r == nil {
			continue
		}
		var last *states.Dependencies // the last dependencies seen; instances usually share them
		for _, prior := range r.Prior {
			for _, inst := range prior.Instances {
				if inst.Current == nil || inst.Current.Dependencies == last {
					continue
				}
				last = inst.Current.Dependencies
				for dep := range inst.Current.Dependencies.All() {
					visit(dep, via[addr])
				}
			}
		}
	}
	w.out.changes.Instances = slices.DeleteFunc(w.out.changes.Instances, func(c *plans.InstanceChange) bool {
		by := via[c.Addr.Config()]
		if c.Action != plans.Delete || c.Addr.Resource.Mode != addrs.Managed || by == nil {
			return false
		}
		w.out.deferred = append(w.out.deferred, &plans.Deferred{InstanceChange: *c, Why: plans.DeferredPrereq,
			Chain: by.Chain, Via: by.Addr.Config().String(), Alone: true})
		return true
	})
}

// place returns a deferral step for a reference: its text and its position in the configuration.
func place(text string, rng hcl.Range) plans.DeferralStep {
	return plans.DeferralStep{What: text, Where: tfdiags.Place(rng)}
}

// setDeferred makes the operation defer the same resources and modules as a plan.
func (o *operation) setDeferred(plan *plans.Plan) {
	if !plan.Defers() {
		return
	}
	o.deferredResources, o.plannedResources = plan.DeferredResources(), map[addrs.AbsResource]bool{}
	for _, c := range plan.Changes.Instances {
		if o.deferredResources[c.Addr.Config()] && c.Deposed == addrs.NotDeposed && c.Action != plans.Delete &&
			c.Action != plans.Forget {
			o.plannedResources[c.Addr.Abs()] = true
		}
	}
	o.deferredModules = map[addrs.Module]bool{}
	for _, m := range plan.DeferredModules {
		o.deferredModules[m] = true
	}
}

// leftForLater returns the error for something that an earlier plan deferred. This operation
// applies or continues that plan, and so defers it as well.
func leftForLater(what string) error {
	d := tfdiags.Errorf("Deferred changes", "Changes to %s are left for the next plan.", what)
	d.Extra = notYet{why: plans.DeferredPrereq}
	return d
}

// isDeferred reports whether the plan that is being applied, or continued, defers a resource in a
// module instance.
func (o *operation) isDeferred(r *reads.Resource, in *moduleInstance) bool {
	return o.deferredResources[r.Addr] && !o.plannedResources[r.Addr.Resource.InInstance(in.addr)]
}
