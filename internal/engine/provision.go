package engine

import (
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/lang/marks"
	"tofu/internal/tfdiags"
)

// provision runs a resource's provisioners of one kind on an object, in order, until one fails.
func (w *walk) provision(p *instancePlan, self cty.Value, destroy bool) tfdiags.Diagnostics {
	return w.runProvisioners(p.r.exprs.provisioners, p.withSelf(self), p.addr, destroy)
}

func (w *walk) runProvisioners(list []*provisionerExprs, c *EvalContext, addr addrs.AbsInstance, destroy bool) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	for _, prov := range list {
		if prov.cfg.Destroy != destroy || prov.body == nil {
			continue
		}
		more := w.runProvisioner(prov, c, addr)
		if prov.cfg.Continue {
			more = slices.DeleteFunc(more, func(d tfdiags.Diagnostic) bool { return d.Severity == tfdiags.Error })
		}
		diags = diags.Append(more)
		if more.HasErrors() {
			return diags
		}
	}
	return diags
}

func (w *walk) runProvisioner(prov *provisionerExprs, c *EvalContext, addr addrs.AbsInstance) tfdiags.Diagnostics {
	marked, diags := c.evalBody(prov.body)
	if diags.HasErrors() {
		return diags
	}
	connection := cty.NullVal(ConnectionType())
	if prov.connection != nil {
		v, more := c.evalBody(prov.connection)
		diags = diags.Append(more)
		if more.HasErrors() {
			return diags
		}
		connection = v
	}
	what := Object{Addr: addr}
	w.observe(ProvisionStart{what, prov.cfg.Type})
	out := func(line string) { w.observe(ProvisionOutput{what, prov.cfg.Type, line}) }
	if cause := w.op.hides(marked); cause != "" {
		out("(output suppressed due to " + cause + " value in config)")
		out = nil
	}
	more := ask(w, provisionerName(prov.cfg.Type), "Run", addr, func() tfdiags.Diagnostics {
		return w.op.env.Provisioner(prov.cfg.Type).Run(w.begin, unmark(marked), connection, out)
	})
	w.observe(ProvisionDone{what, prov.cfg.Type, more.HasErrors()})
	more = more.Each(func(d *tfdiags.Diagnostic) {
		if d.Subject == nil {
			d.Subject = &prov.cfg.Range
		}
	})
	return diags.Append(more.WithAddress(addr.String()))
}

// provisionerName is how a provisioner appears among those who are called.
type provisionerName string

func (n provisionerName) ForDisplay() string { return "provisioner " + string(n) }

// hides returns why the output of a provisioner with this configuration is not shown: "sensitive", "ephemeral", or "" if it is.
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

// checkConnection reports what is missing in the connection of a provisioner, and one of a type that is not supported.
func (p *provisionerExprs) checkConnection(r *configs.Resource, connection cty.Value) tfdiags.Diagnostics {
	block := p.cfg.Connection
	if block == nil {
		block = r.Connection
	}
	var diags tfdiags.Diagnostics
	if connection.GetAttr("host").IsNull() {
		at := block.Range
		if r.Connection != nil { // the one that all provisioners of the resource share
			at = r.Connection.Range
		}
		diags = diags.Append(tfdiags.Errorf("Missing required argument", "The argument \"host\" is required, but no definition was found.").At(at))
	}
	if typ := connection.GetAttr("type"); typ.IsKnown() && !typ.IsNull() && strings.EqualFold(typ.AsString(), "winrm") {
		rng := block.Range
		if attrs, _ := block.Config.JustAttributes(); attrs["type"] != nil {
			rng = attrs["type"].Expr.Range()
		}
		diags = diags.Append(tfdiags.Errorf("Unsupported connection type",
			"Connections with WinRM are not supported. Windows has an SSH server of its own: install it on the target and use type = \"ssh\" with target_platform = \"windows\".").At(rng))
	}
	return diags
}

// destroyProvisioners runs what is to be run before an object is deleted. The configuration's blocks know the object alone: it may
// be all that is left of it.
func (w *walk) destroyProvisioners(r *resource, addr addrs.AbsInstance, self cty.Value) tfdiags.Diagnostics {
	var list []*provisionerExprs
	switch {
	case r.removed != nil:
		list = w.removedProvisioners(r.removed)
	case r.exprs != nil:
		list = r.exprs.provisioners
	}
	if len(list) == 0 {
		return nil
	}
	in := w.instanceAt(r.module, addr.Module)
	if in == nil {
		m := r.module
		if m.cfg == nil {
			m = w.graph.root
		}
		in = newModuleInstance(m, addr.Module)
	}
	rep := repetition{}
	if n, ok := addr.Key.IsInt(); ok {
		rep.countIndex = cty.NumberIntVal(int64(n))
	}
	if s, ok := addr.Key.IsString(); ok {
		rep.eachKey, rep.eachValue = cty.StringVal(s), cty.DynamicVal
	}
	return w.runProvisioners(list, w.context(in, rep).withSelf(self), addr, true)
}

func (w *walk) removedProvisioners(cfg *configs.Removed) []*provisionerExprs {
	w.mu.Lock()
	defer w.mu.Unlock()
	var problems tfdiags.Diagnostics
	out := make([]*provisionerExprs, 0, len(cfg.Provisioners))
	for _, prov := range cfg.Provisioners {
		out = append(out, w.op.provisionerExprs(prov, nil, &problems))
	}
	return out
}
