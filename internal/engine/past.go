package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/genconfig"
	"tofu/internal/lang/marks"
	"tofu/internal/moves"
	"tofu/internal/plans"
	"tofu/internal/plans/objchange"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
)

// A plan can restore objects to how they were at an earlier time. It plans only the instances that
// the configuration declares. If an instance existed at that time, its configured arguments get
// their earlier values. If it did not exist, it is destroyed. Arguments that depend on changing
// objects, or on attributes that can't be restored, are evaluated as usual. For example, resources
// that refer to a newly created object get its new ID. Everything that the configuration doesn't
// declare stays as it is, except what the run created that a plan takes back: that is destroyed.
//
// If an earlier object is no longer in the state but no run destroyed it, it may still exist. If
// its provider finds it, it is imported again. An object that did not exist at the earlier time,
// and that no run created, is removed from the state but not destroyed. An object that was imported
// in place of an earlier one is left unchanged.

// pastObjects are the objects of an earlier state, at the addresses that they have now.
type pastObjects struct {
	*moves.Followed
	created, destroyed map[addrs.AbsInstance]bool // see Past
	movedThen          *moves.Results             // results of moved blocks on the earlier state
	movedNow           *moves.Results             // results of moved blocks on the present state
	undo               bool                       // one run is taken back
}

func newPastObjects(cfg *configs.Config, past *Past, prior *states.State, movedNow *moves.Results) *pastObjects {
	moved, results := moves.Apply(cfg, past.State, tfdiags.Drop)
	return &pastObjects{moves.Follow(moved, prior), past.Created, past.Destroyed, results, movedNow, past.Undo != ""}
}

// undoes reports whether the plan takes back a run that created the present object of an instance.
func (o *pastObjects) undoes(addr addrs.AbsInstance) bool {
	return o.undo && o.State.Current(addr) == nil && o.wasCreated(addr)
}

// wasCreated reports whether a run has created the present object of an instance since the earlier
// time.
func (o *pastObjects) wasCreated(addr addrs.AbsInstance) bool {
	return o.created[origin(o.movedNow, addr)]
}

// wasDestroyed reports whether a run has destroyed the earlier object of an instance since the
// earlier time.
func (o *pastObjects) wasDestroyed(addr addrs.AbsInstance) bool {
	return o.destroyed[origin(o.movedThen, addr)]
}

// origin returns the address that an instance had before moves.
func origin(m *moves.Results, addr addrs.AbsInstance) addrs.AbsInstance {
	if from := m.Previous(addr); from != nil {
		return *from
	}
	return addr
}

// restoration holds the data for restoring an earlier object's values in a plan or an apply.
type restoration struct {
	past, present cty.Value             // set while planning; with marks
	planned       *plans.InstanceChange // set while applying
}

// config returns the evaluated configuration of the instance, with the earlier values in place of
// the configured ones.
func (s *restoration) config(p *instancePlan, marked cty.Value) cty.Value {
	schema := p.r.Schema.Block
	if s.planned == nil {
		return objchange.Restored(schema, marked, s.past, s.present)
	}
	bare, pvms := marked.UnmarkDeepWithPaths()
	for _, path := range sensitivePaths(s.planned.After) {
		pvms = append(pvms, cty.PathValueMarks{Path: path, Marks: cty.NewValueMarks(marks.Sensitive)})
	}
	return objchange.Completed(schema, s.planned.Restored, bare).MarkWithPaths(pvms)
}

// pastPlan plans an instance as it was at an earlier time.
type pastPlan struct{ *instancePlan }

// planPast prepares the plan of an instance. If the instance existed at the earlier time, planPast
// sets p.restore and returns the object to change; if the state no longer has that object, planPast
// imports it. Otherwise it leaves p.restore nil and plans the removal of the object. It also leaves
// p.restore nil if the instance is a different object now, which stays as it is.
func (p pastPlan) planPast(ctx context.Context, prior *objectState) (*objectState, *plans.Importing, error) {
	past := p.w.op.past
	stored := past.State.Current(p.addr)
	if stored == nil {
		return nil, nil, p.planNewer(ctx, prior)
	}
	l, err := p.upgrade(ctx, stored)
	if err != nil {
		return nil, nil, err
	}
	switch now := p.w.op.Prior.Current(p.addr); {
	case now == nil && !past.wasDestroyed(p.addr):
		found, importing, err := p.importPast(ctx, l)
		if err != nil {
			return nil, nil, err
		}
		if found.exists() {
			prior = found
		}
		p.restore = &restoration{past: l.value, present: prior.value}
		return prior, importing, nil
	case prior.exists() && p.isOther(stored, now) && !past.wasCreated(p.addr):
		p.x.objs[p.at] = prior.value
		p.w.out.lose(plans.Lost{Addr: p.addr, Why: plans.LostOther})
		return nil, nil, nil
	}
	p.restore = &restoration{past: l.value, present: prior.value}
	return prior, nil, nil
}

// isOther reports whether two objects of the instance have identities that are known to differ.
func (p pastPlan) isOther(x, y *states.Object) bool {
	provider, typ := p.r.Provider.Addr.Provider, p.r.Addr.Resource.Type
	one, known := x.Identify(provider, typ)
	other, ok := y.Identify(provider, typ)
	return known && ok && one != other
}

// importPast imports an earlier object that is no longer in the state. If the provider doesn't find
// it, the exists method of the result returns false.
func (p pastPlan) importPast(ctx context.Context, l *objectState) (*objectState, *plans.Importing, error) {
	found, err := p.refresh(ctx, addrs.NotDeposed, l)
	if err != nil || !found.exists() {
		return found, nil, err
	}
	found.obj = withFlags(p.r, found.obj)
	p.store(found.obj, p.r.Recorded.Dependencies, nil)
	found.obj = p.w.out.current(p.addr)
	p.w.out.lose(plans.Lost{Addr: p.addr, Why: plans.LostRemoval})
	if id, ok := genconfig.ID(found.value); ok {
		return found, &plans.Importing{ID: id}, nil
	}
	return found, &plans.Importing{Identity: found.identity}, nil
}

// planNewer plans the removal of an object that did not exist at the earlier time. References to
// the object return its present value until it is removed. If the object doesn't exist now either,
// its value is unknown and marked as absent.
func (p pastPlan) planNewer(ctx context.Context, prior *objectState) error {
	if !prior.exists() {
		p.x.objs[p.at] = cty.UnknownVal(p.r.Schema.Block.ImpliedType()).Mark(marks.Absent)
		return nil
	}
	p.x.objs[p.at] = prior.value
	o := &orphanPlan{instance: p.instance, stored: p.w.op.Prior.Instance(p.addr)}
	if !p.w.op.past.wasCreated(p.addr) {
		p.w.out.lose(plans.Lost{Addr: p.addr, Why: plans.LostImport})
		p.w.addChange(p.r, o.change(prior, plans.Forget, plans.DeleteNewer))
		return nil
	}
	return o.planRemoval(ctx, prior)
}

// lose records the attributes that a planned change can't restore, and returns the planned value
// with the mark Renewed on those attributes.
func (p pastPlan) lose(change *plans.InstanceChange, past, planned cty.Value) cty.Value {
	lost := plans.Lost{Addr: p.addr, Why: plans.LostAttributes}
	if change.Action == plans.Create || change.Action.IsReplace() {
		lost.Why = plans.LostIdentity
	}
	after, past := unmark(change.After), unmark(past)
	for _, name := range slices.Sorted(maps.Keys(after.Type().AttributeTypes())) {
		if attr := p.r.Schema.Block.Attributes[name]; attr != nil && attr.WriteOnly {
			continue
		}
		if !after.GetAttr(name).RawEquals(past.GetAttr(name)) {
			lost.Attributes = append(lost.Attributes, name)
		}
	}
	if lost.Why == plans.LostIdentity || len(lost.Attributes) > 0 {
		p.w.out.lose(lost)
	}
	renewed := make([]cty.PathValueMarks, len(lost.Attributes))
	for i, name := range lost.Attributes {
		renewed[i] = cty.PathValueMarks{Path: cty.GetAttrPath(name), Marks: cty.NewValueMarks(marks.Renewed)}
	}
	return planned.MarkWithPaths(renewed)
}

func (s *results) lose(lost plans.Lost) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = append(s.lost, lost)
}

// past returns a description of the earlier state that the plan restores, with everything that the
// plan can't restore. It returns nil if the plan doesn't restore an earlier state.
func (f finisher) past(opts *PlanOptions) *plans.Past {
	w := f.w
	if opts.Past == nil {
		return nil
	}
	out := &plans.Past{At: opts.Past.At, Run: opts.Past.Run, Undo: opts.Past.Undo, Lost: w.out.lost}
	for _, addr := range w.op.past.Displaced {
		out.Lost = append(out.Lost, plans.Lost{Addr: addr, Why: plans.LostPlace})
	}
	seen := map[addrs.AbsInstance]bool{}
	for to, from := range w.op.past.From {
		if f.leaves(to) && f.declares(from) && w.op.Prior.Current(from) == nil {
			out.Lost = append(out.Lost, plans.Lost{Addr: from, Why: plans.LostMove, MovedTo: &to})
			seen[to] = true
		}
	}
	for _, st := range []*states.State{w.op.past.State, w.op.Prior} {
		for r := range st.Resources() {
			if r.Addr.Resource.Mode != addrs.Managed {
				continue
			}
			for key := range r.Instances {
				addr := r.Addr.Instance(key)
				if !seen[addr] && f.leaves(addr) && f.changedSince(addr) {
					out.Lost = append(out.Lost, plans.Lost{Addr: addr, Why: plans.LostConfig})
				}
				seen[addr] = true
			}
		}
	}
	out.Sort()
	return out
}

// leaves reports whether a plan that restores an earlier state doesn't change an instance, because
// the configuration doesn't declare it.
func (f finisher) leaves(addr addrs.AbsInstance) bool {
	r := f.w.graph.Resource(addr.Config())
	return (r == nil || r.Selected.HasOrphan(addr)) && !f.declares(addr) && !f.w.op.past.undoes(addr)
}

// changedSince reports whether the present object of an instance differs from its earlier object.
func (f finisher) changedSince(addr addrs.AbsInstance) bool {
	return !statefile.SameObject(f.w.op.past.State.Current(addr), f.w.op.Prior.Current(addr))
}
