package engine

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/lang/marks"
	"tofu/internal/pace"
	"tofu/internal/parallel"
	"tofu/internal/plans"
	"tofu/internal/plans/objchange"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// openEphemeral is an open ephemeral object with the goroutine that renews it.
type openEphemeral struct {
	addr addrs.AbsInstance
	r    *reads.Resource
	prov *providerInstance
	stop chan struct{} // closed to stop renewing
	done chan struct{} // closed when renew has returned

	// The fields below belong to the renewing goroutine until done is closed.
	private []byte
	err     error // error of the last renewal
}

// ephemerals holds the ephemeral objects that a walk has opened.
type ephemerals struct {
	w    *walk
	mu   sync.Mutex // guards open
	open map[*reads.Resource]map[addrs.AbsInstance]*openEphemeral
}

func (e *ephemerals) add(o *openEphemeral) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open == nil {
		e.open = map[*reads.Resource]map[addrs.AbsInstance]*openEphemeral{}
	}
	if e.open[o.r] == nil {
		e.open[o.r] = map[addrs.AbsInstance]*openEphemeral{}
	}
	e.open[o.r][o.addr] = o
}

// closeLimit is the maximum duration of closing an ephemeral object.
const closeLimit = 10 * time.Second

// planEphemeral opens an ephemeral instance, or defers it if its configuration is not known yet.
// All phases use it, but an apply skips instances that nothing uses. by is the node that opens the
// instance, or that completes the resource.
func (p *instancePlan) planEphemeral(ctx context.Context, by *reads.Node) error {
	w, r := p.w, p.r
	if w.graph.Unused[by] {
		p.x.objs[p.at] = ephemeralValue(cty.UnknownVal(r.Schema.Block.ImpliedType()))
		return nil
	}
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
	config, pvms := marked.UnmarkDeepWithPaths()
	schema := r.Schema.Block
	if !config.IsWhollyKnown() || !w.op.Phase.Destroys() && w.pending.dependency(r, p.c.in) {
		p.x.objs[p.at] = ephemeralValue(objchange.PlannedUnknown(schema, config))
		return nil
	}
	v, err := p.openEphemeral(ctx, config)
	if err != nil {
		return err
	}
	v = ephemeralValue(markStored(schema, v.MarkWithPaths(pvms), nil))
	p.x.objs[p.at] = v
	return p.postconditions(v)
}

func (p *instancePlan) openEphemeral(ctx context.Context, config cty.Value) (cty.Value, error) {
	w := p.w
	resp, err := p.callOpen(ctx, config)
	if err != nil {
		return cty.NilVal, err
	}
	o := &openEphemeral{addr: p.addr, r: p.r, prov: p.prov, stop: make(chan struct{}), done: make(chan struct{}),
		private: resp.Private}
	w.ephemerals.add(o)
	go w.ephemerals.renew(ctx, o, resp.RenewAt)
	return resp.Result, nil
}

// callOpen asks the provider to open the object.
func (p *instancePlan) callOpen(ctx context.Context, config cty.Value) (providers.OpenResponse, error) {
	w, r, what := p.w, p.r, Object{Addr: p.addr}
	defer w.calls.acquire(p.prov, pace.Read)()
	if w.halt.isSet() {
		return providers.OpenResponse{}, errHalted
	}
	w.out.observe(EphemeralStart{what, "open"})
	resp := callWithSlot(w.calls, p.prov, "OpenEphemeralResource", p.addr, func() providers.OpenResponse {
		diags := p.prov.ValidateEphemeral(ctx, r.Addr.Resource.Type, config)
		if diags.HasErrors() {
			return providers.OpenResponse{Diagnostics: diags}
		}
		resp := p.prov.OpenEphemeral(ctx, r.Addr.Resource.Type, config)
		resp.Diagnostics = diags.Append(resp.Diagnostics...)
		return resp
	})
	err := p.report(resp.Diagnostics)
	switch {
	case err != nil:
	case resp.Deferred != "":
		err = deferred(p.prov, p.addr, plans.DeferReason(resp.Deferred))
	default:
		err = p.checkType("Provider produced invalid object", resp.Result, r.Schema.Block.ImpliedType())
	}
	w.out.observe(EphemeralDone{what, "open", err != nil, err})
	return resp, err
}

// renew renews an open object until it is closed. It doesn't acquire a call slot, because the
// object could expire while renew waits for the slot. Closing o.stop ends the wait for the next
// renewal, but not a renewal in progress, whose result is needed to close the object.
func (e *ephemerals) renew(ctx context.Context, o *openEphemeral, at time.Time) {
	w := e.w
	defer close(o.done)
	for !at.IsZero() {
		timer := time.NewTimer(time.Until(at))
		select {
		case <-o.stop:
			timer.Stop()
			return
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		what := Object{Addr: o.addr}
		w.out.observe(EphemeralStart{what, "renew"})
		resp := o.prov.RenewEphemeral(ctx, o.r.Addr.Resource.Type, o.private)
		o.err = resp.Diagnostics.WithAddress(o.addr.String()).Report(w.out.warn)
		w.out.observe(EphemeralDone{what, "renew", o.err != nil, o.err})
		if o.err != nil {
			return
		}
		o.private, at = resp.Private, resp.RenewAt
	}
}

// closeAfter closes the open objects that a node has opened, after their last user. These are the
// object of a Step, or all objects of a resource.
func (e *ephemerals) closeAfter(ctx context.Context, n *reads.Node) error {
	s := n.Step()
	if s == nil {
		return e.close(ctx, n.Resource)
	}
	e.mu.Lock()
	o := e.open[s.Resource][s.Change.Addr]
	delete(e.open[s.Resource], s.Change.Addr)
	e.mu.Unlock()
	if o == nil {
		return nil
	}
	return e.w.guard(o.addr.String(), func() error { return e.closeOne(ctx, o) })
}

// close closes all open objects of a resource, even if closing one fails or the walk has been
// stopped.
func (e *ephemerals) close(ctx context.Context, r *reads.Resource) error {
	w := e.w
	e.mu.Lock()
	open := slices.Collect(maps.Values(e.open[r]))
	delete(e.open, r)
	e.mu.Unlock()
	slices.SortFunc(open, func(a, b *openEphemeral) int { return a.addr.Compare(b.addr) })
	errs := make([]error, len(open))
	parallel.Each(len(open), w.calls.limit(), func(i int) {
		errs[i] = w.guard(open[i].addr.String(), func() error { return e.closeOne(ctx, open[i]) })
	})
	return tfdiags.Join(errs...)
}

func (e *ephemerals) closeOne(ctx context.Context, o *openEphemeral) error {
	w := e.w
	close(o.stop)
	<-o.done
	what := Object{Addr: o.addr}
	defer w.calls.acquire(o.prov, pace.Local)()
	w.out.observe(EphemeralStart{what, "close"})
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	diags := o.prov.CloseEphemeral(ctx, o.r.Addr.Resource.Type, o.private).WithAddress(o.addr.String())
	err := tfdiags.Join(o.err, diags.Report(w.out.warn))
	w.out.observe(EphemeralDone{what, "close", err != nil, err})
	return err
}

// ephemeralValue marks the whole object as ephemeral.
func ephemeralValue(v cty.Value) cty.Value { return v.Mark(marks.Ephemeral) }
