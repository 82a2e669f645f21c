package explain

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/engine/reads"
	"tofu/internal/graphview"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
	"tofu/internal/ui/planview"
)

// Value explains a variable, a local or an output: its value, its sources, and what uses it. The
// plan does not say whether the value has changed.
func Value(ctx context.Context, s *Subject, addr addrs.AbsValue) (*Answer, error) {
	e := newExplainer(s)
	v := e.named(addr)
	if v == nil {
		return nil, tfdiags.Errorf("No such address", "The configuration has no %s.%s", addr,
			suggest.DidYouMean(addr.String(), e.valueNames(addr.Module)))
	}
	answer := &Answer{FormatVersion: formatVersion, Address: addr.String()}
	out := &NamedValue{Kind: string(valueKinds[v.Kind]), Place: placeOf(v.Node.Range)}
	answer.Value = out
	e.setOrigin(out, v)
	if v.Variable != nil {
		out.Description = v.Variable.Description.Value
	}
	if v.Output != nil {
		out.Description = v.Output.Description.Value
	}
	values, err := s.Values(ctx)
	in := e.fill(out, addr, values)
	isMissing := func(c *Content) bool { return c.Value == "" }
	if err != nil && slices.ContainsFunc(out.Instances, isMissing) {
		out.Problem = tfdiags.FormatError(err)
	}
	if v.Expr != nil {
		out.Sources = append(e.tracer().expr(v.Expr, v.Scope(in, e.Keys)), volatile(v.Expr.Expression)...)
	}
	if len(out.Sources) == 0 && out.Origin == "" && v.Expr != nil {
		out.Origin = "the configuration has this value"
	}
	out.Readers = e.readers(v.Node.Name)
	r := e.reach()
	r.values[v] = true
	out.Changes = r.changing(addr.Module)
	answer.InPlan = len(out.Changes) > 0
	if !answer.InPlan {
		answer.WhyNot = []*Ground{out.idle()}
	}
	return answer, nil
}

// valueKinds holds the names of the kinds of values, indexed by the engine's kind.
var valueKinds = [...]graphview.Kind{
	reads.Variable: graphview.Variable, reads.Local: graphview.Local, reads.Output: graphview.Output}

// idle says why no change uses a value.
func (v *NamedValue) idle() *Ground {
	if len(v.Readers) == 0 && v.Kind != string(graphview.Output) {
		return &Ground{Code: "unused", Text: "nothing in the configuration refers to it", Place: v.Place}
	}
	return &Ground{Code: "no_change", Text: "no planned change uses its value", Place: v.Place}
}

// named returns the value at an address, or nil if the configuration has none.
func (e *explainer) named(addr addrs.AbsValue) *reads.Value {
	m := e.Graph.Modules[addr.Module.Module()]
	if m == nil {
		return nil
	}
	switch s := addr.Value.(type) {
	case addrs.InputVariable:
		return m.Variables[s.Name]
	case addrs.LocalValue:
		return m.Locals[s.Name]
	case addrs.OutputValue:
		return m.Outputs[s.Name]
	}
	return nil
}

// valueNames returns the addresses of all values. For the values in the module of the given module
// instance, the addresses have the keys of this instance.
func (e *explainer) valueNames(in addrs.ModuleInstance) []string {
	var out []string
	for _, v := range e.Graph.Values {
		name := v.Node.Name
		if v.Module.Path == in.Module() && !in.IsRoot() {
			name = string(in) + strings.TrimPrefix(name, v.Module.Path.String())
		}
		out = append(out, name)
	}
	return out
}

// setOrigin describes how a variable was set.
func (e *explainer) setOrigin(out *NamedValue, v *reads.Value) {
	if v.Kind != reads.Variable {
		return
	}
	_, given := e.plan.Variables[v.Name]
	_, ephemeral := e.plan.EphemeralVariables[v.Name]
	root := v.Module.Parent == nil
	switch {
	case root && (given || ephemeral && e.plan.EphemeralVariables[v.Name]):
		out.Origin = "set for this plan"
	case !root && v.Expr != nil:
		at := v.Expr.Range()
		out.Origin, out.SetAt = "the argument of the module call", placeOf(&at)
	case v.Variable.Default.Set:
		out.Origin = "its default"
	}
}

// fill adds the value in each module instance that an address covers. It returns the first of these
// module instances, or the one in the address if it covers no planned module instance.
func (e *explainer) fill(out *NamedValue, addr addrs.AbsValue, values *engine.PlannedValues) addrs.ModuleInstance {
	first := addr.Module
	if values == nil {
		return first
	}
	for _, in := range values.Modules(addr.Module.Module()) {
		if !covers(addr.Module, in) {
			continue
		}
		if len(out.Instances) == 0 {
			first = in
		}
		content := &Content{Address: addrs.AbsValue{Module: in, Value: addr.Value}.String()}
		if v := values.Value(in, addr.Value); v != cty.NilVal {
			content.Value, content.Unknown = valueText(v), !wholly(v)
		}
		out.Instances = append(out.Instances, content)
	}
	return first
}

// covers reports whether a module address, with or without keys, includes an instance of the
// module.
func covers(m, in addrs.ModuleInstance) bool {
	return m.IsRoot() || addrs.Target{Module: m}.ContainsInstance(addrs.AbsInstance{Module: in})
}

// data explains what a data source returned and what uses it.
func (e *explainer) data(ctx context.Context, target addrs.Target, r *reads.Resource) *NamedValue {
	out := &NamedValue{Kind: string(graphview.Data), Place: placeOf(r.Node.Range)}
	values, err := e.Values(ctx)
	if values != nil {
		for _, in := range values.Modules(r.Addr.Module) {
			if !covers(target.Module, in) {
				continue
			}
			objects := values.Objects(in, r.Addr.Resource)
			for _, key := range slices.SortedFunc(maps.Keys(objects), addrs.InstanceKey.Compare) {
				addr := r.Addr.Resource.InInstance(in).Instance(key)
				if !target.ContainsInstance(addr) {
					continue
				}
				v := planview.MarkSecrets(objects[key], r.Schema)
				out.Instances = append(out.Instances, &Content{Address: addr.String(), Value: valueText(v),
					Unknown: !wholly(v)})
			}
		}
	}
	if err != nil && len(out.Instances) == 0 {
		out.Problem = tfdiags.FormatError(err)
	}
	out.Readers = e.readers(r.Addr.String())
	reached := e.reach()
	reached.whole = r
	out.Changes = reached.changing(target.Module)
	return out
}

// readers returns the blocks that refer directly to a value or a data source.
func (e *explainer) readers(address string) []*Reader {
	g := graphview.Build(e.Graph, nil, nil)
	at, found := slices.BinarySearchFunc(g.Nodes, address,
		func(n graphview.Node, address string) int { return strings.Compare(n.Address, address) })
	if !found {
		return nil
	}
	var out []*Reader
	for _, edge := range g.Edges {
		if edge.To == at {
			n := g.Nodes[edge.From]
			out = append(out, &Reader{Address: n.Address, Kind: string(n.Kind), Place: placeOf(edge.At)})
		}
	}
	return out
}
