package engine

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/lang"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/plans/objchange"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// desired is the evaluated configuration of a managed instance, before its provider plans the
// change.
type desired struct {
	config cty.Value // unmarked, for the provider
	meta   cty.Value
	marks  []cty.PathValueMarks // sensitive parts of config
}

// evaluate evaluates the instance's configuration and has its provider validate it.
func (p *instancePlan) evaluate() (*desired, tfdiags.Diagnostics) {
	w, r := p.w, p.r
	marked, diags := p.evalBody()
	if diags.HasErrors() {
		return nil, diags.WithAddress(p.addr.String())
	}
	out := &desired{}
	var more tfdiags.Diagnostics
	out.config, out.marks, more = p.splitMarks(marked)
	diags = diags.Append(more...)
	if more.HasErrors() {
		return nil, diags
	}
	var path cty.Path
	var infinite bool
	if out.config, path, infinite = objchange.StorableNumbers(out.config); infinite {
		d := infiniteNumber(path)
		d.Path = p.argument(path)
		return nil, p.explain(diags.Append(d))
	}
	if out.meta, more = w.eval.providerMeta(r, p.c); more.HasErrors() {
		return nil, diags.Append(more...)
	}
	more = callProvider(w.calls, p.prov, "ValidateResourceConfig", p.addr, func() tfdiags.Diagnostics {
		return p.prov.ValidateResource(w.ctx, r.Addr.Resource.Type, out.config)
	})
	diags = diags.Append(p.explain(more)...)
	return out, diags
}

// splitMarks removes the marks from a configuration value. Ephemeral values are allowed in
// write-only attributes only.
func (p *instancePlan) splitMarks(marked cty.Value) (cty.Value, []cty.PathValueMarks, tfdiags.Diagnostics) {
	if !marks.Any(marked) {
		return marked, nil, nil
	}
	var diags tfdiags.Diagnostics
	bare, all := marked.UnmarkDeepWithPaths()
	var sensitive []cty.PathValueMarks
	for _, pvm := range all {
		if _, ok := pvm.Marks[marks.Ephemeral]; ok && !p.writeOnly(pvm.Path) {
			diags = diags.Append(tfdiags.Diagnostic{Severity: tfdiags.Error,
				Summary: "Ephemeral value not allowed", Path: p.argument(pvm.Path),
				Detail: "This argument is stored in plans and states, so it can't be given an ephemeral " +
					"value. Ephemeral values may be used in write-only attributes, provider configurations, " +
					"provisioners and ephemeral resources."})
		}
		if _, ok := pvm.Marks[marks.Sensitive]; ok {
			sensitive = append(sensitive, cty.PathValueMarks{Path: pvm.Path, Marks: cty.NewValueMarks(marks.Sensitive)})
		}
	}
	return bare, sensitive, p.explain(diags)
}

// argument returns the path of the argument that contains the value at path.
func (p *instancePlan) argument(path cty.Path) cty.Path {
	for n := range path {
		if p.r.Schema.Block.AttributeByPath(path[:n+1]) != nil {
			return path[:n+1]
		}
	}
	return path
}

func (p *instancePlan) writeOnly(path cty.Path) bool {
	if p.r.Addr.Resource.Mode != addrs.Managed {
		return p.r.Schema.Block.Ephemeral
	}
	for n := len(path); n > 0; n-- {
		if attr := p.r.Schema.Block.AttributeByPath(path[:n]); attr != nil && attr.WriteOnly {
			return true
		}
	}
	return false
}

// change plans a managed instance. It returns nil if planning failed before an action was
// determined.
func (p *instancePlan) change(
	prior *objectState, importing *plans.Importing,
) (*plans.InstanceChange, tfdiags.Diagnostics) {
	w, r := p.w, p.r
	triggered, diags := p.triggered()
	if diags.HasErrors() {
		return nil, diags
	}
	diags = diags.Append(w.eval.evalConditions(p.c, r.Exprs.Preconditions,
		p.conditionSet("Resource precondition failed"))...)
	if diags.HasErrors() {
		return nil, diags
	}
	prop, more := p.evaluate()
	diags = diags.Append(more...)
	if more.HasErrors() {
		return nil, diags
	}
	change, more := p.plan(prior, prop, replaceReasons{forced: w.op.forceReplace[p.addr], triggered: triggered})
	diags = diags.Append(more...)
	if change != nil {
		change.Importing = importing
	}
	return change, diags
}

// replaceReasons are reasons for a replacement that do not follow from the attributes of the
// object.
type replaceReasons struct{ forced, triggered bool }

// plan has the provider plan the change and determines the action. Plan and apply share it.
func (p *instancePlan) plan(
	prior *objectState, prop *desired, wish replaceReasons,
) (*plans.InstanceChange, tfdiags.Diagnostics) {
	r := p.r
	schema := r.Schema.Block
	ty := schema.ImpliedType()
	change := &plans.InstanceChange{Addr: p.addr, PrevAddr: p.w.op.moves.Origin(p.addr), Provider: p.prov.addr,
		Before: prior.value, BeforeIdentity: prior.identity}
	tainted := prior.exists() && prior.obj.Status == states.Tainted
	from := &objectState{value: cty.NullVal(ty), identity: cty.NilVal}
	if !prior.exists() {
		from.identity = prior.identity // the object is gone; its provider may recognise it
	}
	if prior.exists() && !tainted {
		from = prior
	}
	fromBare := unmark(from.value)

	config := prop.config
	if from.exists() {
		config = p.ignore().InConfig(schema, fromBare, config)
	}
	var private []byte
	if from.exists() {
		private = from.obj.Private
	}
	resp, diags := p.planObject(from, config, private, prop.meta)
	if diags.HasErrors() {
		return nil, diags
	}
	if resp.LegacyTypes && from.exists() {
		resp.Planned = p.ignore().InPlan(fromBare, resp.Planned)
	} else if !resp.LegacyTypes {
		diags = diags.Append(p.assertValid(from, prop, config, resp.Planned)...)
		if diags.HasErrors() {
			return nil, diags
		}
	}

	circ := plans.Circumstances{
		HasPrior: from.exists(), Tainted: tainted, Forced: wish.forced && prior.exists(), Triggered: wish.triggered,
		CreateBeforeDestroy: r.CreateBeforeDestroy, Forgets: r.Config.Destroy.Set && !r.Config.Destroy.Value,
	}
	after := p.mark(resp.Planned, prop, from, config)
	if from.exists() {
		kept, writeOnly, errs := objchange.ReplacePaths(schema, fromBare, resp.Planned, resp.RequiresReplace)
		for _, err := range errs {
			diags = diags.Append(providerBug("Provider produced invalid plan", p.prov.addr.Config.Provider,
				"requires replacement of %s because of an attribute that it does not have: %s.", p.addr,
				tfdiags.FormatError(err)))
		}
		if diags.HasErrors() {
			return nil, diags
		}
		change.RequiredReplace, circ.CannotUpdate, circ.WriteOnly = kept, len(kept) > 0, writeOnly
		circ.Equal = resp.Planned.RawEquals(fromBare)
		circ.SensitivityDiffers = circ.Equal && !sameMarks(prior.value, after)
	}
	change.Action, change.Reason = plans.Decide(circ)
	if change.Action.IsReplace() && from.exists() {
		var more tfdiags.Diagnostics
		none := &objectState{value: cty.NullVal(ty)}
		resp, more = p.planObject(none, prop.config, resp.Private, prop.meta)
		if more.HasErrors() { // the first plan has reported the warnings
			return nil, diags.Append(more...)
		}
		after = p.markConfigured(resp.Planned, prop, none, prop.config)
		if kept := keptMarks(nil, prop.config, config, from); len(kept) > 0 {
			after = after.MarkWithPaths(kept)
		}
	}
	if change.Action == plans.NoOp {
		after = prior.value
	}
	change.After, change.AfterIdentity, change.Private = after, resp.Identity, resp.Private
	if change.Action == plans.NoOp && change.AfterIdentity == cty.NilVal {
		change.AfterIdentity = prior.identity
	}
	return change, diags
}

// planObject has the provider plan a change from an object, or a creation if from is null.
func (p *instancePlan) planObject(
	from *objectState, config cty.Value, private []byte, meta cty.Value,
) (providers.PlanResponse, tfdiags.Diagnostics) {
	schema, prior := p.r.Schema.Block, unmark(from.value)
	resp := p.planChange(providers.PlanRequest{
		Type: p.r.Addr.Resource.Type, Prior: prior, Proposed: objchange.Proposed(schema, prior, config),
		Config: config, Private: private,
		Meta: meta, Identity: from.identity,
	})
	diags := p.explain(resp.Diagnostics)
	if diags.HasErrors() {
		return resp, diags
	}
	if resp.Deferred != "" {
		return resp, diags.Append(deferred(p.prov, p.addr, resp.Deferred))
	}
	diags = diags.Append(p.checkType("Provider produced invalid plan", resp.Planned, schema.ImpliedType())...)
	if !diags.HasErrors() {
		resp.Planned = objchange.NormalizeFromLegacy(schema, resp.Planned)
	}
	return resp, diags
}

// assertValid checks a planned value against the rules for plans. The errors quote values, so they
// are made from marked values, in which sensitive parts are hidden.
func (p *instancePlan) assertValid(from *objectState, prop *desired, config, planned cty.Value) tfdiags.Diagnostics {
	schema := p.r.Schema.Block
	errs := objchange.AssertPlanValid(schema, from.value, config, planned)
	if len(errs) == 0 {
		return nil
	}
	var diags tfdiags.Diagnostics
	marked := markStored(schema, config.MarkWithPaths(prop.marks), nil)
	for _, err := range objchange.AssertPlanValid(schema, from.value, marked, p.mark(planned, prop, from, config)) {
		diags = diags.Append(providerBug("Provider produced invalid plan", p.prov.addr.Config.Provider,
			"planned an invalid value for %s: %s.", p.addr, tfdiags.FormatError(err)))
	}
	return diags.WithAddress(p.addr.String())
}

// mark adds the marks of the configuration and of the schema to a planned value. Attributes that
// ignore_changes keeps at their prior values keep the prior marks too.
func (p *instancePlan) mark(planned cty.Value, prop *desired, from *objectState, config cty.Value) cty.Value {
	return markStored(p.r.Schema.Block, p.markConfigured(planned, prop, from, config), nil)
}

func (p *instancePlan) markConfigured(planned cty.Value, prop *desired, from *objectState, config cty.Value) cty.Value {
	configMarks := prop.marks
	if p.ignore().Any() {
		configMarks = keptMarks(configMarks, prop.config, config, from)
	}
	if len(configMarks) > 0 {
		planned = planned.MarkWithPaths(configMarks)
	}
	return planned
}

// keptMarks returns the marks of the configuration, except that paths where ignore_changes restored
// the prior value get the marks of the prior value.
func keptMarks(configMarks []cty.PathValueMarks, written, used cty.Value, from *objectState) []cty.PathValueMarks {
	var out []cty.PathValueMarks
	same := func(path cty.Path) bool {
		a, errA := path.Apply(written)
		b, errB := path.Apply(used)
		return errA == nil && errB == nil && a.RawEquals(b)
	}
	for _, pvm := range configMarks {
		if same(pvm.Path) {
			out = append(out, pvm)
		}
	}
	if from.exists() && marks.Any(from.value) {
		_, prior := from.value.UnmarkDeepWithPaths()
		for _, pvm := range prior {
			if !same(pvm.Path) {
				out = append(out, pvm)
			}
		}
	}
	return out
}

// sameMarks reports whether two equal values have marks at the same paths.
func sameMarks(a, b cty.Value) bool {
	if !marks.Any(a) && !marks.Any(b) {
		return true
	}
	_, am := a.UnmarkDeepWithPaths()
	_, bm := b.UnmarkDeepWithPaths()
	if len(am) != len(bm) {
		return false
	}
	set := cty.NewPathSet()
	for _, pvm := range am {
		set.Add(pvm.Path)
	}
	return !slices.ContainsFunc(bm, func(pvm cty.PathValueMarks) bool { return !set.Has(pvm.Path) })
}

// providerMeta evaluates the module's provider_meta block for the resource's provider. It returns
// cty.NilVal if there is none.
func (e *evaluator) providerMeta(r *graph.Resource, c *evalContext) (cty.Value, tfdiags.Diagnostics) {
	schema := r.Provider.Schema
	if r.Module.Config == nil || len(r.Module.Config.Module.ProviderMetas) == 0 {
		return cty.NilVal, nil
	}
	meta := r.Module.Config.Module.ProviderMetas[graph.LocalName(r.Module.Config.Module, r.Provider.Addr.Provider)]
	if meta == nil {
		return cty.NilVal, nil
	}
	if schema.ProviderMeta == nil {
		return cty.NilVal, tfdiags.Errorf("Provider does not support provider_meta",
			"The provider %s does not support provider_meta blocks.",
			r.Provider.Addr.Provider.ForDisplay()).At(meta.Range).List()
	}
	if c == nil {
		if len(e.modules.of(r.Module)) == 0 {
			return cty.NilVal, nil
		}
		c = e.newContext(e.modules.of(r.Module)[0], repetition{})
	}
	body := lang.AnalyseBody(meta.Config, schema.ProviderMeta, 0)
	if body.Refs.Problems.HasErrors() {
		return cty.NilVal, body.Refs.Problems
	}
	v, diags := c.evalBody(body)
	return unmark(v), diags
}

// ignore returns the changes that the instance ignores.
func (p *instancePlan) ignore() objchange.Ignore {
	if p.generated != nil {
		return objchange.Ignore{Paths: p.generated.ignored}
	}
	return objchange.Ignore{All: p.r.Config.IgnoreAll, Paths: p.r.Config.IgnoreChanges}
}

// evalBody evaluates the resource block for the instance.
func (p *instancePlan) evalBody() (cty.Value, tfdiags.Diagnostics) {
	if p.generated != nil {
		return p.c.evalBody(p.generated.body)
	}
	return p.c.resourceBody(p.r)
}
