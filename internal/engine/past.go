package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/lang/marks"
	"tofu/internal/moves"
	"tofu/internal/plans"
	"tofu/internal/plans/objchange"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
)

// A plan can bring back how objects were at an earlier time. It plans the instances that the
// configuration declares: those that existed then get their earlier values where the configuration
// has arguments for them, and those that did not exist then are destroyed. Arguments that follow
// from objects that change now, or from attributes that can't be brought back, are evaluated as
// always, so that a new object's ID reaches those that refer to it. Everything that the configuration doesn't declare stays as it is.

// pastObjects returns the objects of an earlier state at the addresses that they have now.
func pastObjects(cfg *configs.Config, past, prior *states.State) *states.State {
	moved, _ := moves.Apply(cfg, past, tfdiags.Drop)
	return moves.Follow(moved, prior)
}

// restoration brings back the values of an earlier object.
type restoration struct {
	past, present cty.Value             // marked; while planning
	planned       *plans.InstanceChange // while applying
}

// config returns the evaluated configuration of the instance with the earlier values.
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

// planPast prepares the plan of an instance that existed at the earlier time. It returns nil and
// plans a removal, if necessary, for one that did not.
func (p *instancePlan) planPast(ctx context.Context, prior *objectState) (*restoration, error) {
	stored := p.w.op.past.Instance(p.addr)
	if stored == nil || stored.Current == nil {
		return nil, p.planNewer(ctx, prior)
	}
	l, err := p.upgrade(ctx, stored.Current)
	if err != nil {
		return nil, err
	}
	return &restoration{past: l.value, present: prior.value}, nil
}

// planNewer plans the removal of an object that did not exist at the earlier time. References see
// it as it is now.
func (p *instancePlan) planNewer(ctx context.Context, prior *objectState) error {
	if !prior.exists() {
		p.x.objs[p.at] = cty.UnknownVal(p.r.Schema.Block.ImpliedType()).Mark(marks.Absent)
		return nil
	}
	p.x.objs[p.at] = prior.value
	o := &orphanPlan{instance: p.instance, stored: p.w.op.Prior.Instance(p.addr)}
	return o.planRemoval(ctx, prior)
}

// lose records what a planned change does not bring back, and returns the planned value with marks
// on those attributes.
func (p *instancePlan) lose(change *plans.InstanceChange, past, planned cty.Value) cty.Value {
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
	var renewed []cty.PathValueMarks
	for _, name := range lost.Attributes {
		renewed = append(renewed, cty.PathValueMarks{Path: cty.GetAttrPath(name), Marks: cty.NewValueMarks(marks.Renewed)})
	}
	return planned.MarkWithPaths(renewed)
}

func (s *results) lose(lost plans.Lost) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = append(s.lost, lost)
}

// past returns what the plan says about the earlier time, or nil.
func (f finisher) past(opts *PlanOptions) *plans.Past {
	w := f.w
	if opts.Past == nil {
		return nil
	}
	out := &plans.Past{At: opts.Past.At, Run: opts.Past.Run, Lost: w.out.lost}
	seen := map[addrs.AbsInstance]bool{}
	for _, st := range []*states.State{w.op.past, w.op.Prior} {
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

// leaves reports whether a plan for an earlier time leaves an instance alone because the
// configuration doesn't declare it.
func (f finisher) leaves(addr addrs.AbsInstance) bool {
	r := f.w.graph.Resource(addr.Config())
	return (r == nil || r.Selected.HasOrphan(addr)) && !f.declares(addr)
}

// changedSince reports whether the object of an instance differs from the earlier one.
func (f finisher) changedSince(addr addrs.AbsInstance) bool {
	current := func(st *states.State) *states.Object {
		if inst := st.Instance(addr); inst != nil {
			return inst.Current
		}
		return nil
	}
	return !statefile.SameObject(current(f.w.op.past), current(f.w.op.Prior))
}
