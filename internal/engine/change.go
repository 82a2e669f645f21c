package engine

import (
	"context"
	"crypto/sha256"
	"slices"

	"github.com/zclconf/go-cty/cty"
	ctymsgpack "github.com/zclconf/go-cty/cty/msgpack"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/reads"
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

// evaluate evaluates the instance's configuration and asks the provider to validate it, unless it has
// validated the same configuration while this program made the plan.
func (p *instancePlan) evaluate(ctx context.Context) (*desired, error) {
	w, r := p.w, p.r
	marked, err := p.evalBody()
	if err != nil {
		return nil, err
	}
	if p.restore != nil {
		marked = p.restore.config(p, marked)
	}
	out := &desired{}
	out.config, out.marks, err = p.splitMarks(marked)
	if err != nil {
		return nil, err
	}
	var path cty.Path
	var infinite bool
	out.config, path, infinite = objchange.StorableNumbers(out.config)
	if infinite {
		d := infiniteNumber(path)
		d.Path = p.argument(path)
		return nil, p.explained(d)
	}
	out.meta, err = w.eval.providerMeta(ctx, r, p.c)
	if err != nil {
		return nil, err
	}
	if p.validated != ([sha256.Size]byte{}) && p.validated == p.identify(out.config) {
		return out, nil
	}
	const validate = "ValidateResourceConfig"
	err = p.report(recall(&p.instance, validate, struct{ Config cty.Value }{out.config}, func() tfdiags.Diagnostics {
		return callProvider(w.calls, p.prov, validate, p.addr, func() tfdiags.Diagnostics {
			return p.prov.ValidateResource(ctx, r.Addr.Resource.Type, out.config)
		})
	}))
	return out, err
}

// identify returns a hash of the configuration of the instance. It is zero if a value is unknown, or if
// validating the configuration takes no call of a plugin.
func (p *instancePlan) identify(config cty.Value) (sum [sha256.Size]byte) {
	if p.prov.addr.Config.Provider.IsBuiltin() || !config.IsWhollyKnown() {
		return sum
	}
	text, err := ctymsgpack.Marshal(config, p.r.Schema.Block.ImpliedType())
	if err != nil {
		return sum
	}
	return sha256.Sum256(text)
}

// splitMarks removes the marks from a configuration value. Ephemeral values are allowed in
// write-only attributes only, and absent ones where they are not needed.
func (p *instancePlan) splitMarks(marked cty.Value) (cty.Value, []cty.PathValueMarks, error) {
	if !marks.Any(marked) {
		return marked, nil, nil
	}
	var errs tfdiags.Diagnostics
	bare, all := marked.UnmarkDeepWithPaths()
	var sensitive []cty.PathValueMarks
	for _, pvm := range all {
		if _, ok := pvm.Marks[marks.Ephemeral]; ok && !p.writeOnly(pvm.Path) {
			errs = errs.Append(tfdiags.Diagnostic{Severity: tfdiags.Error,
				Summary: "Ephemeral value not allowed", Path: p.argument(pvm.Path),
				Detail: "This argument is stored in plans and states, so it can't be given an ephemeral " +
					"value. Ephemeral values may be used in write-only attributes, provider configurations, " +
					"provisioners and ephemeral resources."})
		}
		if v, _ := pvm.Path.Apply(bare); p.w.op.past == nil && absent(v.WithMarks(pvm.Marks)) {
			errs = errs.Append(tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: valueGone,
				Path: p.argument(pvm.Path), Detail: valueGoneDetail})
		}
		if _, ok := pvm.Marks[marks.Sensitive]; ok {
			sensitive = append(sensitive, cty.PathValueMarks{Path: pvm.Path, Marks: cty.NewValueMarks(marks.Sensitive)})
		}
	}
	return bare, sensitive, p.explained(errs.Err())
}

// argument returns the path of the attribute that contains the value at path. If no attribute
// contains it, argument returns path.
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
	ctx context.Context, prior *objectState, importing *plans.Importing,
) (*plans.InstanceChange, error) {
	w := p.w
	triggered, err := p.triggered()
	if err != nil {
		return nil, err
	}
	if err := p.preconditions(); err != nil {
		return nil, err
	}
	prop, err := p.evaluate(ctx)
	if err != nil {
		return nil, err
	}
	change, err := p.plan(ctx, prior, prop, replaceReasons{forced: w.op.forceReplace[p.addr], triggered: triggered})
	if err != nil {
		return nil, err
	}
	change.Importing, change.Reads = importing, p.instanceReads()
	if change.Action != plans.NoOp {
		change.Validated = p.identify(prop.config)
	}
	if p.restore != nil && change.Action != plans.NoOp {
		change.Restored = objchange.WithoutWriteOnly(p.r.Schema.Block, prop.config)
	}
	return change, nil
}

// replaceReasons are reasons for a replacement other than changed attributes.
type replaceReasons struct{ forced, triggered bool }

// plan asks the provider to plan the change and determines the action. Both planning and applying
// use it.
func (p *instancePlan) plan(
	ctx context.Context, prior *objectState, prop *desired, reasons replaceReasons,
) (*plans.InstanceChange, error) {
	r := p.r
	schema := r.Schema.Block
	ty := schema.ImpliedType()
	change := &plans.InstanceChange{Addr: p.addr, MovedFrom: p.w.op.moves.Previous(p.addr), Provider: p.prov.addr,
		Before: prior.value, BeforeIdentity: prior.identity}
	tainted := prior.exists() && prior.obj.Status == states.Tainted
	from := &objectState{value: cty.NullVal(ty), identity: cty.NilVal}
	if !prior.exists() {
		from.identity = prior.identity // the object is gone, but its provider may recognize the identity
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
	resp, err := p.planObject(ctx, from, config, private, prop.meta, p.warn)
	if err != nil {
		return nil, err
	}
	if resp.LegacyTypes && from.exists() {
		resp.Planned = p.ignore().InPlan(fromBare, resp.Planned)
	} else if !resp.LegacyTypes {
		if err := p.assertValid(from, prop, config, resp.Planned); err != nil {
			return nil, err
		}
	}

	circ := plans.Circumstances{
		HasPrior: from.exists(), Tainted: tainted, Forced: reasons.forced && prior.exists(),
		Triggered: reasons.triggered, CreateBeforeDestroy: r.CreateBeforeDestroy,
		Forgets: r.Config.Lifecycle.Destroy.Set && !r.Config.Lifecycle.Destroy.Value,
	}
	after := p.mark(resp.Planned, prop, from, config)
	if from.exists() {
		kept, writeOnly, err := p.replacePaths(fromBare, resp)
		if err != nil {
			return nil, err
		}
		change.RequiredReplace, circ.CannotUpdate, circ.WriteOnly = kept, len(kept) > 0, writeOnly
		circ.Equal = resp.Planned.RawEquals(fromBare)
		circ.SensitivityDiffers = circ.Equal && !sameMarks(prior.value, after)
	}
	change.Action, change.Reason = plans.Decide(circ)
	if change.Action.IsReplace() && from.exists() {
		resp, after, err = p.planReplacement(ctx, from, prop, config, resp.Private)
		if err != nil {
			return nil, err
		}
	}
	if change.Action == plans.NoOp {
		after = prior.value
	}
	change.After, change.AfterIdentity, change.Private = after, resp.Identity, resp.Private
	if change.Action == plans.NoOp && change.AfterIdentity == cty.NilVal {
		change.AfterIdentity = prior.identity
	}
	return change, nil
}

// planReplacement asks the provider to plan the new object of a replacement as if it were a
// creation. Unlike in the plan of an update, values that the provider decides are unknown again,
// and ignore_changes has no effect, since there are no prior values to keep. config is the
// configuration with the prior values of attributes in ignore_changes. Where it has these, the new
// value is as sensitive as the old one.
func (p *instancePlan) planReplacement(
	ctx context.Context, old *objectState, prop *desired, config cty.Value, private []byte,
) (resp providers.PlanResponse, after cty.Value, err error) {
	none := &objectState{value: cty.NullVal(p.r.Schema.Block.ImpliedType())}
	// Don't report warnings. The first plan, which required the replacement, has already reported
	// them.
	resp, err = p.planObject(ctx, none, prop.config, private, prop.meta, nil)
	if err != nil {
		return resp, cty.NilVal, err
	}
	after = p.markConfigured(resp.Planned, prop, none, prop.config)
	if kept := p.keptMarks(nil, prop.config, config, old); len(kept) > 0 {
		after = after.MarkWithPaths(kept)
	}
	return resp, after, nil
}

// replacePaths returns the attributes whose change requires a replacement, and reports whether one
// of them is write-only.
func (p *instancePlan) replacePaths(from cty.Value, resp providers.PlanResponse) ([]cty.Path, bool, error) {
	kept, writeOnly, unknown := objchange.ReplacePaths(p.r.Schema.Block, from, resp.Planned, resp.RequiresReplace)
	var errs tfdiags.Diagnostics
	for _, err := range unknown {
		errs = errs.Append(providerBug("Provider produced invalid plan", p.prov.addr.Config.Provider,
			"requires replacement of %s because of an attribute that it does not have: %s.", p.addr,
			tfdiags.FormatError(err)))
	}
	return kept, writeOnly, errs.Err()
}

// planObject asks the provider to plan a change from an object, or a creation if from is null.
func (p *instancePlan) planObject(
	ctx context.Context, from *objectState, config cty.Value, private []byte, meta cty.Value, warn tfdiags.Sink,
) (providers.PlanResponse, error) {
	schema, prior := p.r.Schema.Block, unmark(from.value)
	resp := p.planChange(ctx, providers.PlanRequest{
		Type: p.r.Addr.Resource.Type, Prior: prior, Proposed: objchange.Proposed(schema, prior, config),
		Config: config, Private: private,
		Meta: meta, Identity: from.identity,
	})
	if err := p.explained(resp.Diagnostics.Report(warn)); err != nil {
		return resp, err
	}
	if resp.Deferred != "" {
		return resp, deferred(p.prov, p.addr, plans.DeferReason(resp.Deferred))
	}
	if err := p.checkType("Provider produced invalid plan", resp.Planned, schema.ImpliedType()); err != nil {
		return resp, err
	}
	resp.Planned = objchange.NormalizeFromLegacy(schema, resp.Planned)
	return resp, nil
}

// assertValid checks a planned value against the rules that providers must follow. The errors quote
// values. They are built from marked values, so they don't show sensitive ones.
func (p *instancePlan) assertValid(from *objectState, prop *desired, config, planned cty.Value) error {
	schema := p.r.Schema.Block
	if len(objchange.AssertPlanValid(schema, from.value, config, planned)) == 0 {
		return nil
	}
	var errs tfdiags.Diagnostics
	marked := markStored(schema, config.MarkWithPaths(prop.marks), nil)
	for _, err := range objchange.AssertPlanValid(schema, from.value, marked, p.mark(planned, prop, from, config)) {
		errs = errs.Append(providerBug("Provider produced invalid plan", p.prov.addr.Config.Provider,
			"planned an invalid value for %s: %s.", p.addr, tfdiags.FormatError(err)))
	}
	return errs.WithAddress(p.addr.String()).Err()
}

// mark adds the marks of the configuration and of the schema to a planned value. Attributes that
// keep their prior values because of ignore_changes also keep the prior marks.
func (p *instancePlan) mark(planned cty.Value, prop *desired, from *objectState, config cty.Value) cty.Value {
	return markStored(p.r.Schema.Block, p.markConfigured(planned, prop, from, config), nil)
}

func (p *instancePlan) markConfigured(planned cty.Value, prop *desired, from *objectState, config cty.Value) cty.Value {
	configMarks := prop.marks
	if p.ignore().Any() {
		configMarks = p.keptMarks(configMarks, prop.config, config, from)
	}
	if len(configMarks) > 0 {
		planned = planned.MarkWithPaths(configMarks)
	}
	return planned
}

// keptMarks returns the marks of the configuration. At paths where ignore_changes restored the
// prior value, it returns the marks of the prior value instead. If both values are the same, it
// returns the marks of both.
func (p *instancePlan) keptMarks(
	configMarks []cty.PathValueMarks, written, used cty.Value, from *objectState,
) []cty.PathValueMarks {
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
			if p.ignore().Covers(pvm.Path) || !same(pvm.Path) {
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
// cty.NilVal if there is no such block.
func (e *evaluator) providerMeta(ctx context.Context, r *reads.Resource, c *evalContext) (cty.Value, error) {
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
			r.Provider.Addr.Provider.ForDisplay()).At(meta.Range)
	}
	if c == nil {
		modules := e.modulesOf(r.Module)
		if len(modules) == 0 {
			return cty.NilVal, nil
		}
		c = e.newContext(ctx, modules[0], repetition{})
	}
	body := lang.AnalyzeBody(meta.Config, schema.ProviderMeta, 0)
	if err := body.Refs.Problems.Err(); err != nil {
		return cty.NilVal, err
	}
	v, err := c.evalBody(body)
	return unmark(v), err
}

// ignore returns the attributes whose changes are ignored, as set by ignore_changes.
func (p *instancePlan) ignore() objchange.Ignore {
	if p.generated != nil {
		return objchange.Ignore{Paths: p.generated.ignored}
	}
	return objchange.Ignore{All: p.r.Config.Lifecycle.IgnoreAll, Paths: p.r.Config.Lifecycle.IgnoreChanges}
}

// evalBody evaluates the resource block for the instance. Errors and warnings include the
// instance's address.
func (p *instancePlan) evalBody() (cty.Value, error) {
	c := p.c
	if c.e.deprecates {
		named := *c
		named.blockAddr = p.addr.String()
		c = &named
	}
	var v cty.Value
	var err error
	if p.generated != nil {
		v, err = c.evalBody(p.generated.body)
	} else {
		v, err = c.resourceBody(p.r)
	}
	return v, tfdiags.MapError(err, func(errs tfdiags.Diagnostics) tfdiags.Diagnostics {
		return errs.WithAddress(p.addr.String())
	})
}
