package graph

import (
	"maps"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
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
// requested by its address (Operation.Invoke). That node is like the one of a check. If the action then
// refers to caller, it is invoked for each object that would trigger it, so its node waits for these.

// invokes reports whether an action is requested by its address.
func (o *Operation) invokes(addr addrs.ConfigResource) bool {
	return slices.ContainsFunc(o.Invoke, func(t addrs.Target) bool {
		return t.Resource == addr.Resource && t.Module.Module() == addr.Module
	})
}

// addActions adds the action blocks of a module.
func (b *build) addActions(m *reads.Module) {
	blocks := m.Config.Module.Actions
	m.Actions = make(map[addrs.Resource]*reads.Resource, len(blocks))
	for _, addr := range slices.SortedFunc(maps.Keys(blocks), addrs.Resource.Compare) {
		a := &reads.Resource{Addr: addr.In(m.Path), Module: m, Config: blocks[addr]}
		m.Actions[addr] = a
		if b.op.Phase == phase.Validate || b.op.invokes(a.Addr) {
			a.Node = b.node(reads.KindAction, m, a.Addr.String(), &a.Config.Range)
			a.Node.Kept, a.Node.Object, a.Inputs = true, a, a.Node
			b.actions = append(b.actions, a)
		}
	}
}

// connectActions finds the provider configurations of actions, and connects the actions and what triggers
// them to these. It adds the actions without nodes of their own to b.actions; their errors are reported at
// a resource that triggers them.
func (s *providerSet) connectActions() error {
	var errs tfdiags.Diagnostics
	for _, a := range s.b.actions {
		errs = errs.AppendError(s.connect(a))
	}
	for _, r := range s.b.g.Resources {
		for _, a := range r.Triggered() {
			if a.Node == nil {
				a.Node, a.Inputs = r.Node, r.Inputs
				s.b.actions = append(s.b.actions, a)
				errs = errs.AppendError(s.connect(a))
			}
			if p := a.Provider; p != nil && p != r.Provider && !slices.Contains(s.b.functionsOf[r], p) {
				s.b.functionsOf[r] = append(s.b.functionsOf[r], p)
				s.b.after(r.Node, p.Node)
				s.b.after(r.Inputs, p.Node)
			}
		}
	}
	return errs.Err()
}

// setActions analyzes the action_trigger blocks of a resource, whose actions have been analyzed.
func (k *Known) setActions(e *reads.ResourceExprs, r *reads.Resource) {
	for _, t := range r.Config.Lifecycle.ActionTriggers {
		trigger := reads.ActionTrigger{Config: t, Condition: k.Expr(t.Condition)}
		for _, ref := range t.Actions {
			trigger.Keys = append(trigger.Keys, k.Expr(ref.Key))
		}
		for _, refs := range trigger.Refs() {
			e.ActionRefs = append(e.ActionRefs, refs.Whole(r.Addr.Resource))
		}
		e.ActionTriggers = append(e.ActionTriggers, trigger)
	}
	for _, a := range r.Triggered() {
		for _, refs := range a.Exprs.Repetition.Refs() {
			e.ActionRefs = append(e.ActionRefs, refs.Whole(r.Addr.Resource))
			for _, ref := range refs.Objects {
				if ref.Whole() == addrs.Referenceable(r.Addr.Resource) {
					e.Problems = e.Problems.Append(tfdiags.Errorf("Invalid reference in action",
						"%s is triggered by changes of %s, so the number of its instances can't depend on it.",
						a.Addr.Resource, r.Addr.Resource).At(ref.Range))
				}
			}
		}
		if a.Exprs.Body != nil {
			e.ActionRefs = append(e.ActionRefs, a.Exprs.Body.Refs.Whole(r.Addr.Resource))
		}
	}
}

// findCallers finds what triggers the requested actions that refer to caller.
func (b *build) findCallers() {
	if b.op.Phase == phase.Validate {
		return
	}
	for _, a := range b.actions {
		if a.Node.Kind != reads.KindAction || a.Exprs.Body == nil || !a.Exprs.Body.Refs.Name(addrs.Caller{}) {
			continue
		}
		for _, r := range b.g.Resources {
			if r.Module == a.Module && slices.Contains(r.Triggered(), a) {
				a.Callers = append(a.Callers, r)
			}
		}
	}
}

// connectAction connects the node of an action.
func (c *connector) connectAction(a *reads.Resource) {
	e, scope := a.Exprs, inRepetition(a.Exprs.Repetition)
	scope.Caller = true
	c.b.after(a.Node, a.Module.Expand)
	c.connectRepetition(c.ctx, a.Node, a.Module, e.Repetition)
	c.connectProviderKey(c.ctx, a, scope)
	if e.Body != nil {
		c.connectRefs(c.ctx, a.Node, a.Module, &e.Body.Refs, scope)
	}
	for _, r := range a.Callers {
		c.b.after(a.Node, r.Node)
		for _, t := range r.Exprs.ActionTriggers {
			for _, key := range t.Keys {
				if key != nil {
					c.connectRefs(c.ctx, a.Node, a.Module, key.Refs.Whole(r.Addr.Resource), anywhere)
				}
			}
		}
	}
}

// anywhere is the scope of references that another node has checked.
var anywhere = reads.BlockScope{Count: true, Each: true, Caller: true}

// connectTriggers makes a resource wait for what the actions that it triggers refer to. If only is set, it
// does so only if the destruction of an object triggers any.
func (c *connector) connectTriggers(r *reads.Resource, only bool) {
	if only && !r.DestroysActions() {
		return
	}
	scope := inOwnBlock(r, inRepetition(r.Exprs.Repetition))
	scope.Caller = true
	for _, t := range r.Exprs.ActionTriggers {
		for _, refs := range t.Refs() {
			c.connectRefs(c.ctx, r.Inputs, r.Module, refs, scope)
		}
	}
	for _, refs := range r.Exprs.ActionRefs {
		c.connectRefs(c.ctx, r.Inputs, r.Module, refs, anywhere)
	}
	for _, a := range r.Triggered() {
		if key := a.ProviderKey; key != nil {
			c.connectRefs(c.ctx, r.Inputs, key.Module, &key.Expr.Refs, anywhere)
		}
	}
}
