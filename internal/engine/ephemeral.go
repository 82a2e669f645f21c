package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/lang/marks"
	"tofu/internal/parallel"
	"tofu/internal/plans/objchange"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// openEphemeral is an open ephemeral object with the goroutine that renews it.
type openEphemeral struct {
	addr addrs.AbsInstance
	r    *graph.Resource
	prov *providerInstance
	stop context.CancelFunc
	done chan struct{}

	// The fields below belong to the renewing goroutine until done is closed.
	private []byte
	diags   tfdiags.Diagnostics // of renewals
}

// ephemerals holds the ephemeral objects that a walk has opened.
type ephemerals struct {
	w    *walk
	mu   sync.Mutex // guards open
	open map[*graph.Resource][]*openEphemeral
}

func (e *ephemerals) add(o *openEphemeral) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open == nil {
		e.open = map[*graph.Resource][]*openEphemeral{}
	}
	e.open[o.r] = append(e.open[o.r], o)
}

// closeLimit is the maximum duration of closing an ephemeral object.
const closeLimit = 10 * time.Second

// planEphemeral opens an ephemeral instance, or defers it if its configuration is not known yet.
// All phases share it, but an apply skips ephemeral resources that it does not use.
func (p *instancePlan) planEphemeral() tfdiags.Diagnostics {
	w, r := p.w, p.r
	if r.Unused {
		p.x.objs[p.at] = ephemeralValue(cty.UnknownVal(r.Schema.Block.ImpliedType()))
		return nil
	}
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
	marked, more := p.c.resourceBody(r)
	diags = diags.Append(more.WithAddress(p.addr.String())...)
	if more.HasErrors() {
		return diags
	}
	config, pvms := marked.UnmarkDeepWithPaths()
	schema := r.Schema.Block
	if !config.IsWhollyKnown() || !w.op.Phase.Destroys() && w.dependencyPending(r, p.c.in) {
		p.x.objs[p.at] = ephemeralValue(objchange.PlannedUnknown(schema, config))
		return diags
	}
	v, more := p.openEphemeral(config)
	diags = diags.Append(more...)
	if more.HasErrors() {
		return diags
	}
	v = ephemeralValue(markStored(schema, v.MarkWithPaths(pvms), nil))
	p.x.objs[p.at] = v
	return diags.Append(p.postconditions(v)...)
}

func (p *instancePlan) openEphemeral(config cty.Value) (cty.Value, tfdiags.Diagnostics) {
	w, r := p.w, p.r
	what := Object{Addr: p.addr}
	w.out.observe(EphemeralStart{what, "open"})
	resp := callProvider(w.calls, p.prov, "OpenEphemeralResource", p.addr, func() providers.OpenResponse {
		diags := p.prov.ValidateEphemeral(w.ctx, r.Addr.Resource.Type, config)
		if diags.HasErrors() {
			return providers.OpenResponse{Diagnostics: diags}
		}
		resp := p.prov.OpenEphemeral(w.ctx, r.Addr.Resource.Type, config)
		resp.Diagnostics = diags.Append(resp.Diagnostics...)
		return resp
	})
	diags := p.explain(resp.Diagnostics)
	switch {
	case diags.HasErrors():
	case resp.Deferred != "":
		diags = diags.Append(deferred(p.prov, p.addr, resp.Deferred))
	default:
		diags = diags.Append(p.checkType("Provider produced invalid object", resp.Result,
			r.Schema.Block.ImpliedType())...)
	}
	w.out.observe(EphemeralDone{what, "open", diags.HasErrors()})
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	ctx, stop := context.WithCancel(w.ctx)
	o := &openEphemeral{addr: p.addr, r: r, prov: p.prov, stop: stop, done: make(chan struct{}), private: resp.Private}
	w.ephemerals.add(o)
	go w.ephemerals.renew(ctx, o, resp.RenewAt)
	return resp.Result, diags
}

// renew renews an open object until it is closed. Cancelling ctx ends the waiting, but not a
// renewal in progress, whose result is needed for closing.
func (e *ephemerals) renew(ctx context.Context, o *openEphemeral, at time.Time) {
	w := e.w
	defer close(o.done)
	for !at.IsZero() {
		timer := time.NewTimer(time.Until(at))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		what := Object{Addr: o.addr}
		w.out.observe(EphemeralStart{what, "renew"})
		resp := o.prov.RenewEphemeral(w.ctx, o.r.Addr.Resource.Type, o.private)
		o.diags = o.diags.Append(resp.Diagnostics.WithAddress(o.addr.String())...)
		failed := resp.Diagnostics.HasErrors()
		if !failed {
			o.private = resp.Private
		}
		w.out.observe(EphemeralDone{what, "renew", failed})
		at = resp.RenewAt
		if failed {
			return
		}
	}
}

// close closes the open objects of a resource after their last user. It closes all of them, even if
// closing one fails or the walk has been stopped.
func (e *ephemerals) close(r *graph.Resource) tfdiags.Diagnostics {
	w := e.w
	e.mu.Lock()
	open := e.open[r]
	delete(e.open, r)
	e.mu.Unlock()
	results := make([]tfdiags.Diagnostics, len(open))
	parallel.Each(len(open), w.calls.limit(), func(i int) {
		results[i] = w.guard(open[i].addr.String(), func() tfdiags.Diagnostics { return e.closeOne(open[i]) })
	})
	return slices.Concat(results...)
}

func (e *ephemerals) closeOne(o *openEphemeral) tfdiags.Diagnostics {
	w := e.w
	o.stop()
	<-o.done
	what := Object{Addr: o.addr}
	w.out.observe(EphemeralStart{what, "close"})
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), closeLimit)
	defer cancel()
	diags := o.diags.Append(o.prov.CloseEphemeral(ctx, o.r.Addr.Resource.Type,
		o.private).WithAddress(o.addr.String())...)
	w.out.observe(EphemeralDone{what, "close", diags.HasErrors()})
	return diags
}

// ephemeralValue marks the whole object as ephemeral.
func ephemeralValue(v cty.Value) cty.Value { return v.Mark(marks.Ephemeral) }
