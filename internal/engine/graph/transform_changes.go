package graph

import (
	"context"

	"tofu/internal/addrs"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// stepParts lists the parts of each action.
var stepParts = map[plans.Action][]reads.StepPart{
	plans.NoOp:             {reads.StepApply},
	plans.Create:           {reads.StepApply},
	plans.Read:             {reads.StepApply},
	plans.Update:           {reads.StepApply},
	plans.DeleteThenCreate: {reads.StepDelete, reads.StepApply},
	plans.CreateThenDelete: {reads.StepApply, reads.StepDeposed},
	plans.Delete:           {reads.StepDelete},
	plans.Forget:           {reads.StepForget},
	plans.ForgetThenCreate: {reads.StepForget, reads.StepApply},
}

var changesTransformer = &Transformer{
	Name:  "Changes",
	Doc:   "adds the Steps of each planned change, and Steps that open ephemeral objects",
	After: []*Transformer{stateTransformer, schemaTransformer, analysisTransformer},
	Run: func(_ context.Context, b *build) error {
		if !b.op.Phase.Applies() {
			return nil
		}
		var errs tfdiags.Diagnostics
		for _, change := range b.op.Plan.Changes.Instances {
			r := b.g.Resource(change.Addr.Config())
			if r == nil {
				errs = errs.Append(tfdiags.Errorf(
					"Planned object unknown",
					"The plan has a change for %s, which is neither in the configuration nor in the plan's "+
						"prior state.",
					change.Addr,
				))
				continue
			}
			for _, part := range stepParts[change.Action] {
				if change.Deposed != "" && part == reads.StepDelete {
					part = reads.StepDeposed
				}
				if change.Action == plans.NoOp && !r.HasConditions() {
					b.idle[r] = true
					continue
				}
				b.addStep(&reads.Step{Resource: r, Change: change, Part: part})
			}
		}
		for _, r := range b.g.Resources {
			b.idle[r] = b.idle[r] || b.idleData(r)
		}
		b.addOpenings()
		return errs.Err()
	},
}

// addOpenings adds a Step for each instance of an ephemeral resource, which opens its object. A plan
// doesn't list these objects. So an ephemeral resource has Steps only if its instances are known
// before the walk. All other objects are opened together, when the instances are decided.
func (b *build) addOpenings() {
	if b.op.Phase != phase.Apply || b.op.Partial() || b.op.Early == nil {
		return
	}
	var early reads.KnownKeys
	for _, r := range b.g.Resources {
		if r.Addr.Resource.Mode != addrs.Ephemeral || r.Config == nil {
			continue
		}
		if early == nil {
			early = b.op.Early(b.g)
		}
		changes, _ := openings(r, early)
		for _, change := range changes {
			r.Opened = true
			b.addStep(&reads.Step{Resource: r, Change: change, Part: reads.StepApply})
		}
	}
}

// openings returns a change for each instance of an ephemeral resource, with the instances that it
// reads. It returns false if the instances are not known.
func openings(r *reads.Resource, early reads.KnownKeys) ([]*plans.InstanceChange, bool) {
	modules, known := early.ModuleInstances(r.Module)
	if !known {
		return nil, false
	}
	var out []*plans.InstanceChange
	for _, in := range modules {
		keys, known := early.Instances(r, in)
		if !known {
			return nil, false
		}
		for _, key := range keys {
			addr := r.Addr.Resource.InInstance(in).Instance(key)
			out = append(out, &plans.InstanceChange{Addr: addr, Action: plans.NoOp, Reads: earlyReads(r, early, addr)})
		}
	}
	return out, true
}

// earlyReads returns the instances that an instance of a resource reads by computed indexes, as far
// as they are known before the walk. A plan records them in this form for a change.
func earlyReads(r *reads.Resource, early reads.KnownKeys, addr addrs.AbsInstance) []plans.InstanceRead {
	var out []plans.InstanceRead
	for _, indexed := range r.ByKey {
		if !indexed.Recorded(r) {
			continue
		}
		keys, known := early.Read(r, addr.Module, addr.Key, indexed)
		if !known {
			continue
		}
		if len(keys) == 0 {
			keys = []reads.KeyRead{{Key: addrs.NoKey}}
		}
		for _, k := range keys {
			out = append(out, plans.InstanceRead{Resource: indexed.Name(), Key: k.Key})
		}
	}
	return out
}

// stepNames are the suffixes of the names of Step nodes.
var stepNames = [...]string{
	reads.StepApply:   "",
	reads.StepDelete:  " (destroy)",
	reads.StepDeposed: " (destroy deposed)",
	reads.StepForget:  " (forget)",
}

func (b *build) addStep(s *reads.Step) {
	r := s.Resource
	name := s.Change.Addr.String()
	if s.Part == reads.StepApply && name == r.Node.Name {
		name += " (apply)"
	}
	s.Node = b.node(reads.KindStep, r.Module, name+stepNames[s.Part], r.Node.Range)
	s.Node.Resource, s.Node.Object = r, s
	s.Node.Problems = r.Node.Problems
	b.after(s.Node, r.Provider.Node)
	for _, p := range b.functionsOf[r] { // those of actions; the functions are found later
		if len(s.Change.Invocations) > 0 {
			b.after(s.Node, p.Node)
		}
	}
	b.steps[r] = append(b.steps[r], s)
}
