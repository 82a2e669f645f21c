package graph

import (
	"maps"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/phase"
	"tofu/internal/lang"
	"tofu/internal/tfdiags"
)

// How actions are carried out
//
// An action block has instances but no objects, and nothing can read it. It is a Resource that is not
// among the graph's resources (Module.Actions). What a change of an object triggers is part of the
// Step of that change, or of its plan: the resource refers to everything that its actions refer to,
// and uses their providers. So an action waits for what it reads, and what reads the object waits for
// the action. References of an action to the resource that triggers it read the object that changes.
//
// A Step that deletes an object waits for nothing that the configuration refers to. The configuration
// of an action that a destruction triggers must therefore be known when it is planned.
//
// An action has a node of its own only where no object triggers it: in a validation, and if it is
// requested by its address (Operation.Invoke). That node is like the one of a check.

// ActionTrigger is an action_trigger block with its analyzed expressions.
type ActionTrigger struct {
	Config    *configs.ActionTrigger
	Condition *lang.Expr   // may be nil
	Keys      []*lang.Expr // parallel to Config.Actions; nil for references without a key
}

// destroys reports whether the destruction of an object triggers the actions.
func (t *ActionTrigger) destroys() bool {
	return slices.ContainsFunc(t.Config.Events, configs.ActionEvent.Destroys)
}

// refs returns the references of the condition and the keys.
func (t *ActionTrigger) refs() []*lang.Refs {
	var out []*lang.Refs
	for _, e := range append(slices.Clip(t.Keys), t.Condition) {
		if e != nil {
			out = append(out, &e.Refs)
		}
	}
	return out
}

// DestroysActions reports whether the destruction of an object of the resource triggers actions.
func (r *Resource) DestroysActions() bool {
	return r.Exprs != nil && slices.ContainsFunc(r.Exprs.ActionTriggers, func(t ActionTrigger) bool { return t.destroys() })
}

// invokes reports whether an action is requested by its address.
func (o *Operation) invokes(addr addrs.ConfigResource) bool {
	return slices.ContainsFunc(o.Invoke, func(t addrs.Target) bool {
		return t.Resource == addr.Resource && t.Module.Module() == addr.Module
	})
}

// addActions adds the action blocks of a module.
func (b *build) addActions(m *Module) {
	blocks := m.Config.Module.Actions
	m.Actions = make(map[addrs.Resource]*Resource, len(blocks))
	for _, addr := range slices.SortedFunc(maps.Keys(blocks), addrs.Resource.Compare) {
		a := &Resource{Addr: addr.In(m.Path), Module: m, Config: blocks[addr]}
		m.Actions[addr] = a
		if b.op.Phase == phase.Validate || b.op.invokes(a.Addr) {
			a.Node = b.node(KindAction, m, a.Addr.String(), &a.Config.Range)
			a.Node.kept, a.Node.Object, a.Inputs = true, a, a.Node
			b.actions = append(b.actions, a)
		}
	}
}

// triggered returns the actions that a resource triggers.
func (r *Resource) triggered() []*Resource {
	if r.Config == nil || len(r.Config.Lifecycle.ActionTriggers) == 0 {
		return nil
	}
	var out []*Resource
	for _, t := range r.Config.Lifecycle.ActionTriggers {
		for _, ref := range t.Actions {
			if a := r.Module.Actions[ref.Action]; !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

// connectActions finds the provider configurations of actions, and connects the actions and what triggers
// them to these. It adds the actions without nodes of their own to b.actions; their errors are reported at
// a resource that triggers them.
func (s *providerSet) connectActions() error {
	var errs tfdiags.Diagnostics
	for _, a := range s.actions {
		errs = errs.AppendError(s.connect(a))
	}
	for _, r := range s.g.Resources {
		for _, a := range r.triggered() {
			if a.Node == nil {
				a.resourceNodes = r.resourceNodes
				s.actions = append(s.actions, a)
				errs = errs.AppendError(s.connect(a))
			}
			if p := a.Provider; p != nil && p != r.Provider && !slices.Contains(s.functionsOf[r], p) {
				s.functionsOf[r] = append(s.functionsOf[r], p)
				s.after(r.Node, p.Node)
				s.after(r.Inputs, p.Node)
			}
		}
	}
	return errs.Err()
}

// setActions analyzes the action_trigger blocks of a resource, whose actions have been analyzed.
func (e *ResourceExprs) setActions(k *Known, r *Resource) {
	for _, t := range r.Config.Lifecycle.ActionTriggers {
		trigger := ActionTrigger{Config: t, Condition: k.Expr(t.Condition)}
		for _, ref := range t.Actions {
			trigger.Keys = append(trigger.Keys, k.Expr(ref.Key))
		}
		for _, refs := range trigger.refs() {
			e.actionRefs = append(e.actionRefs, refs.Whole(r.Addr.Resource))
		}
		e.ActionTriggers = append(e.ActionTriggers, trigger)
	}
	for _, a := range r.triggered() {
		for _, refs := range a.Exprs.Repetition.Refs() {
			e.actionRefs = append(e.actionRefs, refs.Whole(r.Addr.Resource))
			for _, ref := range refs.Objects {
				if ref.Whole() == addrs.Referenceable(r.Addr.Resource) {
					e.problems = e.problems.Append(tfdiags.Errorf("Invalid reference in action",
						"%s is triggered by changes of %s, so the number of its instances can't depend on it.",
						a.Addr.Resource, r.Addr.Resource).At(ref.Range))
				}
			}
		}
		if a.Exprs.Body != nil {
			e.actionRefs = append(e.actionRefs, a.Exprs.Body.Refs.Whole(r.Addr.Resource))
		}
	}
}

// connectAction connects the node of an action.
func (c *connector) connectAction(a *Resource) {
	e, scope := a.Exprs, inRepetition(a.Exprs.Repetition)
	scope.caller = true
	c.after(a.Node, a.Module.expand)
	c.connectRepetition(c.ctx, a.Node, a.Module, e.Repetition)
	c.connectProviderKey(c.ctx, a, scope)
	if e.Body != nil {
		c.connectRefs(c.ctx, a.Node, a.Module, &e.Body.Refs, scope)
	}
}

// connectTriggers makes a resource wait for what the actions that it triggers refer to. If only is set, it
// does so only if the destruction of an object triggers any.
func (c *connector) connectTriggers(r *Resource, only bool) {
	if only && !r.DestroysActions() {
		return
	}
	scope := r.inOwnBlock(inRepetition(r.Exprs.Repetition))
	scope.caller = true
	for _, t := range r.Exprs.ActionTriggers {
		for _, refs := range t.refs() {
			c.connectRefs(c.ctx, r.Inputs, r.Module, refs, scope)
		}
	}
	anywhere := BlockScope{count: true, each: true, caller: true}
	for _, refs := range r.Exprs.actionRefs {
		c.connectRefs(c.ctx, r.Inputs, r.Module, refs, anywhere)
	}
	for _, a := range r.triggered() {
		if key := a.ProviderKey; key != nil {
			c.connectRefs(c.ctx, r.Inputs, key.Module, &key.Expr.Refs, anywhere)
		}
	}
}
