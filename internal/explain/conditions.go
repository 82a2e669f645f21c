package explain

import (
	"slices"

	"tofu/internal/checks"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
)

// conditions returns the result of the conditions in the block of an object, or nil if it has none.
func (e *explainer) conditions(r *reads.Resource, c *plans.InstanceChange) *Conditions {
	rules := ownRules(r)
	if len(rules) == 0 {
		return nil
	}
	out := &Conditions{Status: checks.Unknown.String()}
	if found := e.plan.Checks.Object(checks.KindResource, r.Addr.String(), c.Addr.String()); found != nil {
		out.Status, out.Messages = found.Status.String(), found.Messages
	}
	for _, rule := range rules {
		out.Places = append(out.Places, placeOf(&rule.Config.Range))
	}
	return out
}

// ownRules returns the conditions in the block of a resource.
func ownRules(r *reads.Resource) []reads.Condition {
	if r.Exprs == nil {
		return nil
	}
	return slices.Concat(r.Exprs.Preconditions, r.Exprs.Postconditions)
}

// checkedBy returns the conditions in other blocks that read an object, directly or through values.
func (e *explainer) checkedBy(r *reads.Resource, c *plans.InstanceChange) []*Condition {
	search := e.reach()
	search.whole, search.key, search.direct = r, c.Addr.Key, true
	var out []*Condition
	add := func(kind checks.Kind, address string, m *reads.Module, rules []reads.Condition) {
		for _, rule := range rules {
			if !search.refs(&rule.Condition.Refs, reads.Scope{Module: m}) {
				continue
			}
			found := &Condition{Address: address, Status: checks.Unknown.String(), Place: placeOf(&rule.Config.Range)}
			if block := e.plan.Checks.Block(kind, address); block != nil {
				found.Status = block.Status.String()
				for _, object := range block.SortedObjects() {
					found.Messages = append(found.Messages, object.Messages...)
				}
			}
			out = append(out, found)
		}
	}
	for _, m := range e.modules() {
		for _, check := range m.Checks {
			add(checks.KindCheck, check.Node.Name, m, check.Asserts)
		}
	}
	for _, other := range e.Graph.Resources {
		if other != r {
			add(checks.KindResource, other.Addr.String(), other.Module, ownRules(other))
		}
	}
	for _, v := range e.Graph.Values {
		if v.Kind == reads.Output {
			add(checks.KindOutput, v.Node.Name, v.Module, v.Conditions)
		}
	}
	return out
}

// modules returns the modules sorted by their index.
func (e *explainer) modules() []*reads.Module {
	out := make([]*reads.Module, 0, len(e.Graph.Modules))
	for _, m := range e.Graph.Modules {
		out = append(out, m)
	}
	slices.SortFunc(out, func(x, y *reads.Module) int { return x.Index - y.Index })
	return out
}
