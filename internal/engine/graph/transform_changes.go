package graph

import (
	"context"

	"tofu/internal/addrs"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// Step is one change to one object.
type Step struct {
	node     *reads.Node
	Resource *reads.Resource
	Change   *plans.InstanceChange
	Part     stepPart
	Forced   bool // whether a dependent's create_before_destroy also applies to this object
}

// stepPart is the part of a change that a Step carries out; a replacement has two.
type stepPart uint8

// Node returns the node at which a walk carries out the step.
func (s *Step) Node() *reads.Node { return s.node }

// Removes reports whether the step deletes or forgets an object.
func (s *Step) Removes() bool { return s.Part != stepApply }

// CallsProvider reports whether the step changes or reads an object.
func (s *Step) CallsProvider() bool {
	deletesData := s.Change.Action == plans.Delete && s.Change.Addr.Resource.Mode == addrs.Data
	return s.Change.Action != plans.NoOp && s.Part != StepForget && !deletesData
}

// Opens reports whether the step opens an ephemeral object.
func (s *Step) Opens() bool { return s.Resource.Addr.Resource.Mode == addrs.Ephemeral }

const (
	stepApply   stepPart = iota // create, update or read, or just evaluate conditions
	StepDelete                  // delete the current object
	StepDeposed                 // delete a deposed object, or the old object of a replacement
	StepForget                  // remove from the state
)

// stepParts lists the parts of each action.
var stepParts = map[plans.Action][]stepPart{
	plans.NoOp:             {stepApply},
	plans.Create:           {stepApply},
	plans.Read:             {stepApply},
	plans.Update:           {stepApply},
	plans.DeleteThenCreate: {StepDelete, stepApply},
	plans.CreateThenDelete: {stepApply, StepDeposed},
	plans.Delete:           {StepDelete},
	plans.Forget:           {StepForget},
	plans.ForgetThenCreate: {StepForget, stepApply},
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
				if change.Deposed != "" && part == StepDelete {
					part = StepDeposed
				}
				if change.Action == plans.NoOp && !r.HasConditions() {
					b.idle[r] = true
					continue
				}
				b.addStep(&Step{Resource: r, Change: change, Part: part})
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
	var early reads.EarlyKeys
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
			b.addStep(&Step{Resource: r, Change: change, Part: stepApply})
		}
	}
}

// openings returns a change for each instance of an ephemeral resource, with the instances that it
// reads. It returns false if the instances are not known.
func openings(r *reads.Resource, early reads.EarlyKeys) ([]*plans.InstanceChange, bool) {
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
func earlyReads(r *reads.Resource, early reads.EarlyKeys, addr addrs.AbsInstance) []plans.InstanceRead {
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

var stepVerbs = [...]string{
	stepApply:   "apply",
	StepDelete:  "destroy",
	StepDeposed: "destroy deposed",
	StepForget:  "forget",
}

// Verb returns what the step does, for the report of -timings.
func (s *Step) Verb() string {
	if s.Opens() {
		return "open"
	}
	return stepVerbs[s.Part]
}

// stepNames are the suffixes of the names of Step nodes.
var stepNames = [...]string{
	stepApply:   "",
	StepDelete:  " (destroy)",
	StepDeposed: " (destroy deposed)",
	StepForget:  " (forget)",
}

func (b *build) addStep(s *Step) {
	r := s.Resource
	name := s.Change.Addr.String()
	if s.Part == stepApply && name == r.Node.Name {
		name += " (apply)"
	}
	s.node = b.node(reads.KindStep, r.Module, name+stepNames[s.Part], r.Node.Range)
	s.node.Resource, s.node.Object = r, s
	s.node.Problems = r.Node.Problems
	b.after(s.node, r.Provider.Node)
	for _, p := range b.functionsOf[r] { // those of actions; the functions are found later
		if len(s.Change.Invocations) > 0 {
			b.after(s.node, p.Node)
		}
	}
	b.steps[r] = append(b.steps[r], s)
}
