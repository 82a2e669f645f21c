package engine

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/reads"
	"tofu/internal/lang/marks"
	"tofu/internal/tfdiags"
)

// provision runs the resource's creation-time provisioners for a new object.
func (p *instancePlan) provision(ctx context.Context, self cty.Value) error {
	return p.runProvisioners(ctx, p.r.Exprs.Provisioners, p.withSelf(self).withSlot(p.prov), false)
}

// runProvisioners runs the creation-time or destroy-time provisioners in order, until one fails.
// Failures of provisioners with on_failure = continue are ignored. The caller has a call slot.
func (t *instance) runProvisioners(
	ctx context.Context, list []*reads.Provisioner, c *evalContext, destroy bool,
) error {
	for _, prov := range list {
		if prov.Config.Destroy != destroy || prov.Body == nil {
			continue
		}
		if err := t.runProvisioner(ctx, prov, c); err != nil && !prov.Config.Continue {
			return err
		}
	}
	return nil
}

func (t *instance) runProvisioner(ctx context.Context, prov *reads.Provisioner, c *evalContext) error {
	addr, w := t.addr, t.w
	marked, err := c.evalBody(prov.Body)
	if err != nil {
		return err
	}
	connection := cty.NullVal(graph.ConnectionType())
	if prov.Connection != nil {
		connection, err = c.evalBody(prov.Connection)
		if err != nil {
			return err
		}
	}
	what := Object{Addr: addr}
	w.out.observe(ProvisionStart{what, prov.Config.Type})
	out := func(line string) { w.out.observe(ProvisionOutput{what, prov.Config.Type, line}) }
	if cause := w.op.hides(marked); cause != "" {
		out("(output suppressed due to " + cause + " value in config)")
		out = nil
	}
	diags := callWithSlot(w.calls, provisionerName(prov.Config.Type), "Run", addr, func() tfdiags.Diagnostics {
		ctx, cancel := w.halt.context(ctx)
		defer cancel()
		return w.op.env.Provisioner(prov.Config.Type).Run(w.op.Timings.Context(ctx, addr), unmark(marked),
			connection, out)
	})
	w.out.observe(ProvisionDone{what, prov.Config.Type, diags.HasErrors()})
	diags = diags.Map(func(d *tfdiags.Diagnostic) {
		if d.Subject == nil {
			d.Subject = &prov.Config.Range
		}
		if w.out.stopped() { // the interrupt ended the provisioner
			d.Extra = tfdiags.Interrupted{}
		}
	})
	return diags.WithAddress(addr.String()).Report(w.out.warn)
}

// provisionerName is the name of a provisioner. It implements callee.
type provisionerName string

func (n provisionerName) ForDisplay() string { return "provisioner " + string(n) }

// hides returns why the output of a provisioner with the given configuration is hidden: "sensitive"
// or "ephemeral". It returns "" if the output is shown.
func (o *operation) hides(config cty.Value) string {
	switch {
	case o.showSensitive:
		return ""
	case marks.Contains(config, marks.Ephemeral):
		return "ephemeral"
	case marks.Contains(config, marks.Sensitive):
		return "sensitive"
	}
	return ""
}

// runDestroyProvisioners runs the destroy-time provisioners of an object. These can refer only to
// the object itself, because everything else may be gone.
func (t *instance) runDestroyProvisioners(ctx context.Context, self cty.Value) error {
	r, addr, w := t.r, t.addr, t.w
	m, list := w.graph.DeletionProvisioners(r)
	if len(list) == 0 {
		return nil
	}
	in := w.eval.moduleAt(r.Module, addr.Module)
	if in == nil {
		in = newModuleInstance(m, addr.Module)
	}
	c := t.newContext(ctx, in, undeclaredRepetition(addr.Key))
	return t.runProvisioners(ctx, list, c.withSelf(self).withSlot(t.prov), true)
}

// undeclaredRepetition returns the repetition for an instance that the configuration may no longer declare.
func undeclaredRepetition(key addrs.InstanceKey) repetition {
	rep := repetition{}
	if n, ok := key.IsInt(); ok {
		rep.countIndex = cty.NumberIntVal(int64(n))
	}
	if s, ok := key.IsString(); ok {
		rep.eachKey, rep.eachValue = cty.StringVal(s), cty.DynamicVal
	}
	return rep
}
