package engine

import (
	"context"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/checks"
	"tofu/internal/engine/reads"
	"tofu/internal/lang/marks"
	"tofu/internal/pace"
	"tofu/internal/plans"
	"tofu/internal/plans/objchange"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// dataPlan plans an instance of a data source, or reads it in an apply.
type dataPlan struct{ *instancePlan }

// planData reads a data source, or defers reading it to the apply.
func (p dataPlan) planData(ctx context.Context) error {
	w, r := p.w, p.r
	var err error
	p.prov, err = p.declaredProvider()
	if err != nil {
		return err
	}
	if err := p.preconditions(); err != nil {
		return err
	}
	marked, err := p.evalBody()
	if err != nil {
		return err
	}
	if absent(marked) {
		p.x.objs[p.at] = cty.UnknownVal(r.Schema.Block.ImpliedType()).Mark(marks.Absent)
		return nil
	}
	config, pvms, err := p.splitMarks(marked)
	if err != nil {
		return err
	}
	reason := plans.NoReason
	switch {
	case !config.IsWhollyKnown():
		reason = plans.ReadConfigUnknown
	case w.pending.dependency(p.r, p.c.in):
		reason = plans.ReadDependencyPending
	}
	if reason != plans.NoReason {
		v := p.deferData(objchange.PlannedUnknown(r.Schema.Block, config), pvms, reason)
		if mayFindNothing(r) { // it may be null
			v = cty.UnknownVal(r.Schema.Block.ImpliedType())
		}
		p.x.objs[p.at] = v
		return p.postconditions(p.x.objs[p.at])
	}
	v, hidden, err := p.readData(ctx, config, pvms)
	if err == nil && !v.IsWhollyKnown() {
		p.deferData(states.MarkSensitive(v, hidden), nil, plans.ReadDependencyPending)
		p.x.objs[p.at] = markStored(r.Schema.Block, v, nil)
		return p.postconditions(p.x.objs[p.at])
	}
	if r.Config.Check != nil {
		v, err = p.checkData(v, err, config)
	}
	if err != nil {
		return err
	}
	p.x.objs[p.at] = markStored(r.Schema.Block, v, nil)
	switch {
	case v.IsNull():
		p.w.out.setObject(p.addr, "", nil, p.prov.addr)
	case v.IsWhollyKnown():
		if err := p.storeData(v); err != nil {
			return err
		}
	}
	return p.postconditions(p.x.objs[p.at])
}

// dataConfig evaluates a data source's configuration.
func (p dataPlan) dataConfig() (cty.Value, []cty.PathValueMarks, error) {
	marked, err := p.evalBody()
	if err != nil {
		return cty.NilVal, nil, err
	}
	return p.splitMarks(marked)
}

// deferData defers reading the data source to apply and returns v, the known part of the result.
func (p dataPlan) deferData(v cty.Value, pvms []cty.PathValueMarks, reason plans.Reason) cty.Value {
	schema := p.r.Schema.Block
	if len(pvms) > 0 {
		v = v.MarkWithPaths(pvms)
	}
	p.w.out.setObject(p.addr, "", nil, p.prov.addr)
	if p.w.op.Mode == plans.RefreshOnly {
		return markStored(schema, v, nil)
	}
	p.w.addChange(p.r, &plans.InstanceChange{
		Addr: p.addr, MovedFrom: p.w.op.moves.Previous(p.addr), Provider: p.prov.addr,
		Action: plans.Read, Reason: reason,
		Before: cty.NullVal(schema.ImpliedType()), After: v, Reads: p.instanceReads(),
	})
	return markStored(schema, v, nil)
}

// readData asks the provider to read the data source. The object has only the marks of the
// configuration, because a state stores no other marks for a data source. hidden holds the paths of
// values that a plan must not show.
func (p dataPlan) readData(
	ctx context.Context, config cty.Value, pvms []cty.PathValueMarks,
) (v cty.Value, hidden []cty.Path, err error) {
	w, r := p.w, p.r
	what := Object{Addr: p.addr}
	meta, err := w.eval.providerMeta(ctx, r, p.c)
	if err != nil {
		return cty.NilVal, nil, err
	}
	req := providers.ReadDataRequest{Type: r.Addr.Resource.Type, Config: config, Meta: meta, Addr: p.addr}
	for _, pvm := range pvms {
		req.Sensitive = append(req.Sensitive, pvm.Path)
	}
	q := &DataRead{p.addr, p.prov.addr, req, r.Recorded.Dependencies}
	if known, ok := p.remembered(q); ok {
		v = objchange.NormalizeFromLegacy(r.Schema.Block, known)
		if len(pvms) > 0 {
			v = v.MarkWithPaths(pvms)
		}
		return v, nil, nil
	}
	err = w.callReader(ctx, p.prov, pace.Read, func(ctx context.Context) error {
		start := w.op.env.now()
		w.out.observe(ApplyStart{Object: what, Action: plans.Read, Provider: p.prov.addr,
			Builtin: p.prov.addr.Config.Provider.IsBuiltin()})
		v, hidden, err = p.callData(ctx, q)
		if err == nil {
			if len(pvms) > 0 {
				v = v.MarkWithPaths(pvms)
			}
			what.IDKey, what.IDValue = identify(markStored(r.Schema.Block, v, nil))
		}
		w.out.observe(ApplyDone{Object: what, Action: plans.Read, Failed: err != nil, Err: err,
			Elapsed: w.op.env.now().Sub(start)})
		return err
	})
	return v, hidden, err
}

// callData makes the provider call for readData. The caller has a call slot.
func (p dataPlan) callData(ctx context.Context, q *DataRead) (cty.Value, []cty.Path, error) {
	w, r, req := p.w, p.r, q.Request
	call := func() providers.ReadDataResponse {
		diags := p.prov.ValidateDataSource(ctx, req.Type, req.Config)
		if diags.HasErrors() {
			return providers.ReadDataResponse{Diagnostics: diags}
		}
		resp := p.prov.ReadDataSource(ctx, req)
		if mayFindNothing(r) && providers.SayMissing(resp.Diagnostics) {
			resp.State = cty.NullVal(r.Schema.Block.ImpliedType())
			resp.Diagnostics = resp.Diagnostics.Map(foundNothing)
		}
		resp.Diagnostics = diags.Append(resp.Diagnostics...)
		return resp
	}
	resp := recall(&p.instance, readData, req, func() providers.ReadDataResponse {
		return callWithSlot(w.calls, p.prov, readData, p.addr, call)
	})
	if w.op.data != nil {
		w.op.data.Remember(q, resp)
	}
	if err := p.report(resp.Diagnostics); err != nil {
		return cty.NilVal, nil, err
	}
	if resp.Deferred != "" {
		return cty.NilVal, nil, deferred(p.prov, p.addr, plans.DeferReason(resp.Deferred))
	}
	const bug = "Provider produced invalid object"
	if err := p.checkType(bug, resp.State, r.Schema.Block.ImpliedType()); err != nil {
		return cty.NilVal, nil, err
	}
	switch {
	case resp.State.IsNull() && mayFindNothing(r):
		return cty.NullVal(r.Schema.Block.ImpliedType()), nil, nil
	case resp.State.IsNull():
		return cty.NilVal, nil, providerBug(bug, p.prov.addr.Config.Provider, "returned no object for %s. If there may be none, "+
			"set ignore_missing = true in the lifecycle block of the data source.", p.addr)
	case !resp.State.IsWhollyKnown() && !(resp.Pending && w.op.Phase.Plans()):
		return cty.NilVal, nil, providerBug(bug, p.prov.addr.Config.Provider, "returned unknown values for %s.", p.addr)
	}
	return states.MarkSensitive(objchange.NormalizeFromLegacy(r.Schema.Block, resp.State), resp.Sensitive), resp.Hidden, nil
}

// foundNothing turns an error that says that an object doesn't exist into a warning.
func foundNothing(d *tfdiags.Diagnostic) {
	if d.Severity == tfdiags.Error {
		d.Severity, d.Summary, d.Detail = tfdiags.Warning, "Data source found nothing", strings.TrimSpace("Its value is null, "+
			"because the provider's answer says that there is no such object: "+d.Summary+"\n\n"+d.Detail)
	}
}

// storeData stores the result of a data source in the state.
func (p dataPlan) storeData(v cty.Value) error {
	obj, err := encodeObject(p.r, v, states.Object{})
	if err != nil {
		return err
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

// checkData handles the outcome of reading a data source that is nested in a check block. The
// outcome is v or an error, which becomes a failure of the check. checkData returns the value of
// the data source for references to it.
func (p dataPlan) checkData(v cty.Value, failure error, config cty.Value) (cty.Value, error) {
	w := p.w
	if failure != nil && reported(failure) == nil {
		return v, failure
	}
	after, status := v, checks.Unknown // the assertions determine the status later, if they are evaluated
	var messages []string
	var err error
	if failure != nil {
		after, status = objchange.PlannedUnknown(p.r.Schema.Block, config), checks.Fail
		for _, d := range tfdiags.FromError(failure) {
			d.Subject = nil
			messages = append(messages, d.Error())
		}
		v = cty.UnknownVal(p.r.Schema.Block.ImpliedType())
		err = p.storeData(cty.UnknownAsNull(after))
	}
	name := "check." + p.r.Config.Check.Name
	set := conditionSet{kind: checks.KindCheck, config: reads.InModule(p.r.Module.Path, name),
		object: inInstance(p.c.in.addr, name)}
	w.out.recordCheck(set, status, messages)
	w.out.warn(tfdiags.FromError(failure).Map(func(d *tfdiags.Diagnostic) {
		d.Severity, d.Extra = tfdiags.Warning, tfdiags.CheckRule{Address: set.object}
	})...)
	if w.op.Phase.Plans() && w.op.Mode == plans.Normal {
		w.out.mu.Lock()
		w.out.checkReads = append(w.out.checkReads, &plans.InstanceChange{
			Addr: p.addr, Provider: p.prov.addr, Action: plans.Read, Reason: plans.ReadCheckNested,
			Before: cty.NullVal(p.r.Schema.Block.ImpliedType()), After: after,
		})
		w.out.mu.Unlock()
	}
	return v, err
}

// planCheckReads plans to read the data sources of check blocks again after all changes. It does
// nothing if there are no changes to apply.
func (f finisher) planCheckReads() {
	w := f.w
	if !f.changesAnything() {
		return
	}
	for _, c := range w.out.checkReads {
		w.addChange(w.graph.Resource(c.Addr.Config()), c)
	}
}
