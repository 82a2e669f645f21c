package engine

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/checks"
	"tofu/internal/dag"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// resourceVisit is a walk's visit to a resource.
type resourceVisit struct {
	w *walk
	r *reads.Resource
	n *reads.Node // the visited node, of all module instances or of one
}

// inOne reports whether the visit covers only one instance of a module call.
func (v resourceVisit) inOne() bool { return !v.n.In.IsRoot() }

// inputs returns the node that waits for everything that the block refers to.
func (v resourceVisit) inputs() *reads.Node {
	if v.inOne() {
		return v.n
	}
	return v.r.Inputs
}

// eval returns an evaluator for the visit.
func (v resourceVisit) eval() *evaluator { return v.w.eval.visiting(v.inputs()) }

// node returns the node that completes the visited instances.
func (v resourceVisit) node() *reads.Node { return v.w.graph.NodeIn(v.r.Node, v.n.In) }

// all returns the module instances that the visit covers.
func (v resourceVisit) all() []*moduleInstance {
	if v.inOne() {
		return v.w.modules.within(v.r.Module, v.n.In)
	}
	all := v.w.eval.modulesOf(v.r.Module)
	return all
}

// modules returns the module instances that the visit covers, without those for which other nodes have
// done the work.
func (v resourceVisit) modules() []*moduleInstance {
	all := v.all()
	if v.inOne() || v.w.graph.Apart(v.r.Node) == nil {
		return all
	}
	var rest []*moduleInstance
	for _, in := range all {
		if in.resources[v.r.Slot] == nil {
			rest = append(rest, in)
		}
	}
	return rest
}

// declaresAny reports whether the resource has a declared instance.
func (v resourceVisit) declaresAny() bool {
	for _, in := range v.w.modules.of(v.r.Module) {
		if x := in.resources[v.r.Slot]; x != nil && len(x.keys) > 0 {
			return true
		}
	}
	return false
}

// findDeferral finds the changes that can defer a data source or an ephemeral resource, on the
// first call for the resource.
func (v resourceVisit) findDeferral() {
	res := v.w.result(v.r)
	res.deferralOnce.Do(func() { res.deferral = findDeferral(v.r) })
}

// plan plans all instances of a resource: declared instances, orphans and deposed objects.
func (v resourceVisit) plan(ctx context.Context) error {
	if v.w.leavesOut(v.r) {
		return v.keep(ctx)
	}
	p, deferred, err := v.begin(ctx)
	switch {
	case deferred != nil:
		return v.deferAll(ctx, deferred)
	case p == nil:
		return err
	}
	return p.end(p.planAll())
}

// resourcePlan plans all objects of a resource.
type resourcePlan struct {
	resourceVisit
	planned []*moduleInstance    // the module instances whose declared instances are in run
	run     []func(dag.ID) error // functions that each plan one object, declared instances first; see runOne
	errs    tfdiags.Diagnostics  // errors found before planning the objects
}

// begin determines the instances of a resource and prepares their plans. It returns nil if the
// resource is deferred or can't be planned at all.
func (v resourceVisit) begin(ctx context.Context) (*resourcePlan, *deferredNode, error) {
	w, r := v.w, v.r
	if d := w.deferrals.at(v.inputs()); d != nil {
		return nil, d, nil
	}
	if err := v.resolveImports(ctx); err != nil {
		return nil, w.eval.deferredBy(err), err
	}
	if r.Config != nil && r.Addr.Resource.Mode != addrs.Managed && w.pending.before(v.inputs()) {
		v.findDeferral()
	}
	p := &resourcePlan{resourceVisit: v}
	var broken map[addrs.ModuleInstance]bool
	if r.Config != nil {
		for _, in := range v.modules() {
			x, err := v.expand(ctx, in)
			if d := w.eval.deferredBy(err); d != nil {
				return nil, d, err
			}
			if err != nil {
				p.errs = p.errs.AppendError(err)
				if broken == nil {
					broken = map[addrs.ModuleInstance]bool{}
				}
				broken[in.addr] = true
				continue
			}
			p.addInstances(ctx, in, x)
		}
	}
	if v.inOne() {
		return p, nil, nil
	}
	if len(broken) == 0 && r.HasConditions() && !v.declaresAny() {
		w.out.recordNoObjects(checks.KindResource, r.Addr.String())
	}
	p.checkForceReplace()
	if len(broken) == 0 && len(w.result(r).imports) > 0 {
		p.errs = p.errs.AppendError(v.checkImports())
	}
	for _, prior := range r.Prior {
		if !broken[prior.Addr.Module] {
			p.run = append(p.run, v.orphans(ctx, prior)...)
		}
	}
	w.out.fail(p.errs.Err())
	return p, nil, nil
}

// planAll plans all objects and returns all errors.
func (p *resourcePlan) planAll() error {
	switch {
	case len(p.run) == 0:
		return nil
	case p.r.OwnInstances() != nil:
		return p.planOwn()
	}
	return p.w.each(len(p.run), func(i int) error { return p.runOne(i, p.inputs().ID) })
}

// planOwn plans the instances of a resource one after another, in the order in which they read each
// other.
func (p *resourcePlan) planOwn() error {
	errs := make([]error, len(p.run))
	var first int
	for _, in := range p.planned {
		x := in.resources[p.r.Slot]
		failed := make([]bool, len(x.keys))
		for _, id := range x.order {
			failed[id] = p.w.halt.isSet() || slices.ContainsFunc(x.reads[id], func(read plans.InstanceRead) bool {
				at, exists := x.has(read.Key)
				return exists && failed[at]
			})
			if !failed[id] {
				errs[first+int(id)] = p.runOne(first+int(id), p.inputs().ID)
				failed[id] = errs[first+int(id)] != nil
			}
		}
		first += len(x.keys)
	}
	return tfdiags.Join(errs...)
}

// runOne plans one object during the visit of the given vertex. It reports a failure at once, because
// planning the other objects can be slow.
func (p *resourcePlan) runOne(i int, vertex dag.ID) error {
	err := p.run[i](vertex)
	p.w.out.fail(err)
	return err
}

// addInstances adds functions that plan the instances in one module instance.
func (p *resourcePlan) addInstances(ctx context.Context, in *moduleInstance, x *expansion) {
	p.planned = append(p.planned, in)
	for i, key := range x.keys {
		p.run = append(p.run, func(vertex dag.ID) error {
			err := p.planInstance(ctx, in, x, i, vertex)
			p.w.eval.unfinished.finish(p.r.Addr.Resource.InInstance(in.addr).Instance(key), err)
			return err
		})
	}
}

// end sets the values of the resource in the module instances whose objects have been planned. Others
// may not be complete yet. err holds the errors of the plans. end
// returns it together with all other errors.
func (p *resourcePlan) end(err error) error {
	w, r := p.w, p.r
	errs := p.errs.AppendError(err)
	if r.Schema == nil || r.Config == nil {
		return errs.Err()
	}
	for _, in := range p.planned {
		x := in.resources[r.Slot]
		if x == nil || x.value != cty.NilVal {
			continue
		}
		remaining, err := w.eval.values(r).resulting(in, x)
		errs = errs.AppendError(err)
		x.value = w.eval.values(r).whole(remaining)
		w.eval.unfinished.completed(r.Addr.Resource.InInstance(in.addr))
	}
	if !p.inOne() {
		errs = errs.AppendError(w.eval.values(r).completeUndeclared())
		r.Exprs.Body.Release()
	}
	return errs.Err()
}

// expand determines the instances in one module instance, and what each of them waits for.
func (v resourceVisit) expand(ctx context.Context, in *moduleInstance) (*expansion, error) {
	var x *expansion
	var err error
	if v.w.graph.Generates(v.r) {
		x, err = v.expandImported(in)
	} else {
		x, err = v.eval().values(v.r).expand(ctx, in)
	}
	if err != nil {
		return nil, err
	}
	in.resources[v.r.Slot] = x
	if !v.inOrder() {
		return x, nil
	}
	x.reads = make([][]plans.InstanceRead, len(x.keys))
	if v.w.op.defers {
		x.deferred = make([]*deferredNode, len(x.keys))
	}
	if err := v.orderInstances(ctx, in, x); err != nil {
		in.resources[v.r.Slot] = nil
		return nil, err
	}
	v.findReads(ctx, in, x)
	v.w.eval.unfinished.add(v.r.Addr.Resource.InInstance(in.addr), x.keys)
	return x, nil
}

// instanceAt returns the plan of the i-th declared instance. It is planned during the visit of the
// given vertex.
func (v resourceVisit) instanceAt(
	ctx context.Context, in *moduleInstance, x *expansion, i int, vertex dag.ID,
) *instancePlan {
	by := reader{visited: v.inputs(), vertex: vertex}
	c := v.w.eval.newContext(ctx, in, x.repetition(i))
	c.reader = by
	if x.mode == repeatForEach && x.each == nil {
		c.setEachValue(v.r.Each, x.keys[i])
	}
	if x.reads != nil {
		c.reads = x.reads[i]
	}
	addr := v.r.Addr.Resource.InInstance(in.addr).Instance(x.keys[i])
	return &instancePlan{instance: instance{w: v.w, r: v.r, addr: addr, in: in, c: c, by: by}, x: x, at: i}
}

// planInstance plans one declared instance, or defers its change.
func (v resourceVisit) planInstance(
	ctx context.Context, in *moduleInstance, x *expansion, i int, vertex dag.ID,
) error {
	p := v.instanceAt(ctx, in, x, i, vertex)
	d := v.deferredByRead(in, x, i)
	if d == nil {
		err := p.planDeclared(ctx)
		d = v.w.eval.deferredBy(err)
		if d == nil {
			return err
		}
	}
	if x.deferred != nil {
		x.deferred[i] = d.behind(p.addr.String())
	}
	v.w.deferrals.add(v.node(), d.behind(v.r.Addr.String()))
	return p.deferChange(d.only())
}

// planDeclared plans the instance without checking whether it is deferred.
func (p *instancePlan) planDeclared(ctx context.Context) (err error) {
	w, r := p.w, p.r
	defer w.trackWork("plan", p.addr)(&err)
	if !r.Selected.Has(p.addr) {
		if r.HasConditions() { // the plan leaves the instance out, so its conditions stay undecided
			w.out.recordCheck(p.conditionSet(""), checks.Unknown, nil)
		}
		p.keepStored()
		return nil
	}
	if named, err := p.selfReferences(); named {
		return err
	}
	defer func() {
		if err != nil {
			p.undecided()
		}
	}()
	switch r.Addr.Resource.Mode {
	case addrs.Data:
		return dataPlan{p}.planData(ctx)
	case addrs.Ephemeral:
		return p.planEphemeral(ctx, r.Node)
	}
	return p.planManaged(ctx)
}

// selfReferences reports whether the instance's block refers to its own resource as a whole, and
// returns an error for each such reference. If the block has several instances, only the first
// returns the errors. A block without repetition returns each error twice, like OpenTofu.
func (p *instancePlan) selfReferences() (named bool, err error) {
	if p.r.Exprs.Body == nil {
		return false, nil
	}
	times := 1
	switch {
	case p.addr.Key == addrs.NoKey:
		times = 2
	case p.at > 0:
		times = 0 // reported by the first instance
	}
	var errs tfdiags.Diagnostics
	refs := &p.r.Exprs.Body.Refs
	for _, ref := range refs.Objects {
		one := p.r.OwnInstances() != nil && refs.SelectsInstance(ref)
		if one || ref.Whole() != addrs.Referenceable(p.r.Addr.Resource) {
			continue
		}
		named = true
		for range times {
			errs = errs.Append(reads.SelfReference(p.addr.String(), ref))
		}
	}
	return named, errs.Err()
}

// orphans returns functions that each plan one undeclared object of the resource: an instance
// that is no longer declared, or a deposed object.
func (v resourceVisit) orphans(ctx context.Context, prior *states.Resource) []func(dag.ID) error {
	w, r, past := v.w, v.r, v.w.op.past
	var run []func(dag.ID) error
	add := func(o *orphanPlan) {
		run = append(run, func(vertex dag.ID) error {
			o.by = reader{visited: v.inputs(), vertex: vertex}
			return o.planOrDefer(ctx)
		})
	}
	var x *expansion
	in := w.modules.at(r.Module, prior.Addr.Module)
	if in != nil && r.Config != nil {
		x = in.resources[r.Slot]
	}
	for _, key := range prior.SortedKeys() {
		inst := prior.Instances[key]
		addr := prior.Addr.Instance(key)
		if !r.Selected.HasOrphan(addr) || past != nil && !past.undoes(addr) {
			continue
		}
		if _, wanted := x.has(key); !wanted && inst.Current != nil {
			add(&orphanPlan{instance: instance{w: w, r: r, addr: addr, in: in}, stored: inst})
		}
		if past != nil {
			continue
		}
		for _, deposed := range slices.Sorted(maps.Keys(inst.Deposed)) {
			add(&orphanPlan{instance: instance{w: w, r: r, addr: addr, in: in}, stored: inst, deposed: deposed})
		}
	}
	return run
}

// has returns the position of an instance, and reports whether it exists. A nil expansion has no
// instances.
func (x *expansion) has(key addrs.InstanceKey) (int, bool) {
	if x == nil {
		return 0, false
	}
	return x.find(key)
}

// checkForceReplace warns about -replace addresses without a key that name a resource whose
// instances have keys, or that has no instances.
func (p *resourcePlan) checkForceReplace() {
	w, r := p.w, p.r
	if w.op.forceWhole[r.Addr] == nil {
		return
	}
	var done []*expansion
	for _, in := range w.modules.of(r.Module) {
		if x := in.resources[r.Slot]; x != nil {
			done = append(done, x)
		}
	}
	warn := func(format string, args ...any) {
		w.out.warn(tfdiags.Warningf("Incompletely-matched force-replace resource instance", format, args...))
	}
	hasInstances := func(x *expansion) bool { return len(x.keys) > 0 }
	for _, addr := range w.op.forceWhole[r.Addr] {
		keyed := slices.IndexFunc(done,
			func(x *expansion) bool { _, ok := x.has(addrs.NoKey); return !ok && len(x.keys) > 0 })
		switch {
		case keyed >= 0:
			warn("-replace=%s has no instance key, but the instances of the resource have keys. Add a key, for "+
				"example -replace='%s%s'.", addr, addr, done[keyed].keys[0])
		case len(done) > 0 && !slices.ContainsFunc(done, hasInstances):
			warn("-replace=%s has no effect, because the configuration declares no instance of this resource.", addr)
		}
	}
}

// instancePlan plans one declared instance.
type instancePlan struct {
	instance
	x  *expansion
	at int // position in x

	generated *generatedBody    // nil if the configuration has a block for the instance
	restore   *restoration      // nil unless an earlier object is brought back
	validated [sha256.Size]byte // see plans.InstanceChange
	judged    bool              // postconditions were evaluated
}

// withSelf returns a context of the instance in which "self" has the given value.
func (p *instancePlan) withSelf(v cty.Value) *evalContext {
	return p.c.withSelf(p.w.eval.markDeprecated(p.r, v))
}

// preconditions evaluates the preconditions of the instance.
func (p *instancePlan) preconditions() error {
	return p.conditionSet("Resource precondition failed").eval(p.c, p.r.Exprs.Preconditions)
}

// postconditions evaluates the postconditions for the instance's object.
func (p *instancePlan) postconditions(self cty.Value) error {
	p.judged = true
	return p.conditionSet("Resource postcondition failed").eval(p.withSelf(self), p.r.Exprs.Postconditions)
}

// undecided records that the postconditions of an instance with an error were not reached, whatever
// its preconditions say.
func (p *instancePlan) undecided() {
	if len(p.r.Exprs.Postconditions) > 0 && !p.judged && !p.in.unknown {
		p.w.out.recordCheck(p.conditionSet(""), checks.Unknown, nil)
	}
}

// keepStored keeps the stored object of an instance that is not part of this run.
func (p *instancePlan) keepStored() {
	obj := p.w.op.Prior.Current(p.addr)
	if obj == nil || p.r.Schema == nil {
		return
	}
	// If the object can't be decoded before its provider upgrades it, its value stays unknown.
	if v, err := decode(p.r, p.addr, obj); err == nil {
		p.x.objs[p.at] = v
	}
}

// objectState is a decoded object with marks on its sensitive parts.
type objectState struct {
	value    cty.Value // null if there is no object
	identity cty.Value // NilVal if the object has no identity
	obj      *states.Object
}

func (l *objectState) exists() bool { return l != nil && l.obj != nil }

func (p *instancePlan) planManaged(ctx context.Context) error {
	w, r := p.w, p.r
	if err := r.Config.Lifecycle.DestroyProblem; err != nil {
		return err
	}
	var err error
	if p.prov, err = p.declaredProvider(); err != nil {
		return err
	}
	prior, importing, err := p.prior(ctx)
	if err != nil {
		return err
	}
	if w.op.Mode == plans.RefreshOnly {
		return p.refreshOnly(prior)
	}
	if w.op.past != nil {
		if prior, importing, err = (pastPlan{p}).planPast(ctx, prior); p.restore == nil {
			return err
		}
	}
	if w.op.ImportsOnly(w.graph, r) {
		p.x.objs[p.at] = prior.value
		w.addChange(r, &plans.InstanceChange{
			Addr: p.addr, Provider: p.prov.addr, Before: prior.value, After: prior.value,
			Action: plans.NoOp, Importing: importing,
		})
		return nil
	}
	if w.graph.Generates(r) {
		if err := p.generate(ctx, prior, w.result(r).imports[p.addr]); err != nil {
			return err
		}
	}
	change, err := p.change(ctx, prior, importing)
	if err != nil {
		return err
	}
	if err := p.planInvocations(ctx, change); err != nil {
		return err
	}
	w.addChange(r, change)
	err = p.preventDestroy(ctx, change)
	p.x.objs[p.at] = change.After
	if change.Action.IsReplace() { // a replacement's unknown attributes are sensitive if the schema says so
		p.x.objs[p.at] = markStored(r.Schema.Block, change.After, nil)
	}
	if p.restore != nil {
		p.x.objs[p.at] = pastPlan{p}.lose(change, p.restore.past, p.x.objs[p.at])
	}
	if prior.exists() {
		p.storeDependencies(prior.obj, change)
	}
	if err != nil {
		return err
	}
	return p.postconditions(p.x.objs[p.at])
}

// storeDependencies updates the dependencies of an object in the refreshed state. If the object
// changes, they stay the same, except for instances that the state has lost.
func (p *instancePlan) storeDependencies(obj *states.Object, change *plans.InstanceChange) {
	noOp, instances := change.Action == plans.NoOp, obj.DependencyInstances
	switch {
	case noOp && p.w.op.refreshesPart(): // withLostInstances finds what the state has lost
		p.store(obj, p.r.Recorded.Dependencies, instances)
	case noOp:
		p.store(obj, p.r.Recorded.Dependencies, p.dependencyInstances(change))
	case len(instances) == 0 && p.w.needs.lost() && !p.w.op.refreshesPart():
		p.store(obj, obj.Dependencies, p.ownInstances(change))
	}
}

// conditionSet returns where the results of the instance's conditions are recorded, and the summary
// of their errors.
func (p *instancePlan) conditionSet(failed string) conditionSet {
	return conditionSet{kind: checks.KindResource, config: p.r.Addr.String(), object: p.addr.String(), failed: failed}
}

// prior returns the object before the change: the imported object, or the stored object after
// refreshing it.
func (p *instancePlan) prior(ctx context.Context) (*objectState, *plans.Importing, error) {
	w := p.w
	stored := w.op.Prior.Current(p.addr)
	if stored == nil {
		req := p.w.result(p.r).imports[p.addr]
		if req == nil || w.op.past != nil { // a plan for an earlier time imports nothing new
			return &objectState{value: cty.NullVal(p.r.Schema.Block.ImpliedType())}, nil, nil
		}
		l, err := p.importObject(ctx, req)
		if err == nil && !l.exists() {
			return l, nil, nil
		}
		return l, req.importing(), err
	}
	l, err := p.upgrade(ctx, stored)
	if err != nil {
		return nil, nil, err
	}
	w.out.setPrevious(p.addr, "", l.obj, p.prov.addr)
	l.obj = withFlags(p.r, l.obj)
	deps := l.obj.Dependencies
	if w.op.reads(p.addr, addrs.NotDeposed, p.prov) {
		deps = p.r.Recorded.Dependencies.Union(deps)
		if l, err = p.refresh(ctx, addrs.NotDeposed, l); err != nil {
			return nil, nil, err
		}
	}
	if !l.exists() {
		w.out.setObject(p.addr, "", nil, p.prov.addr)
		return l, nil, nil
	}
	p.store(l.obj, deps, l.obj.DependencyInstances)
	l.obj = w.out.current(p.addr)
	return l, nil, nil
}

// store sets the object in the refreshed state, with the given dependencies.
func (p *instancePlan) store(obj *states.Object, deps *states.Dependencies, instances []addrs.AbsInstance) {
	if !obj.Dependencies.Equal(deps) || !slices.Equal(obj.DependencyInstances, instances) {
		obj = changed(obj, func(o *states.Object) { o.Dependencies, o.DependencyInstances = deps, instances })
	}
	p.w.out.setObject(p.addr, "", obj, p.prov.addr)
}

// changed returns a modified copy of a shared object.
func changed(obj *states.Object, change func(*states.Object)) *states.Object {
	out := *obj
	change(&out)
	return &out
}

// withFlags returns the object with its stored lifecycle flags updated from the configuration.
func withFlags(r *reads.Resource, obj *states.Object) *states.Object {
	skip := r.Config != nil && r.Config.Lifecycle.Destroy.Set && !r.Config.Lifecycle.Destroy.Value
	first := r.Config != nil && r.Recorded.CreateBeforeDestroy
	if obj.SkipDestroy == skip && obj.CreateBeforeDestroy == first {
		return obj
	}
	return changed(obj, func(o *states.Object) { o.SkipDestroy, o.CreateBeforeDestroy = skip, first })
}

// refreshOnly makes the refreshed object the value of the instance and evaluates the conditions. It
// plans nothing.
func (p *instancePlan) refreshOnly(prior *objectState) error {
	w, r := p.w, p.r
	err := p.preconditions()
	switch {
	case prior.exists():
		p.x.objs[p.at] = prior.value
		return tfdiags.Join(err, p.postconditions(prior.value))
	case len(r.Exprs.Postconditions) > 0:
		w.out.recordCheck(p.conditionSet(""), checks.Unknown, nil)
	}
	return err
}

// addChange adds a planned change of an instance of r to the results.
func (w *walk) addChange(r *reads.Resource, change *plans.InstanceChange) {
	change.NeededBy = r.Selected.NeededBy(change.Addr)
	if change.Action != plans.NoOp && change.Deposed == "" { // nothing reads deposed objects
		w.pending.of(r).add(change.Addr.Module)
	}
	w.out.addChange(change)
}
