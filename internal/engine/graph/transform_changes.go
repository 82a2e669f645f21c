package graph

import (
	"context"

	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// Step is one change to one object.
type Step struct {
	node     *Node
	Resource *Resource
	Change   *plans.InstanceChange
	Part     stepPart
	Forced   bool // whether a dependent's create_before_destroy also applies to this object
}

// stepPart is the part of a change that a Step carries out; a replacement has two.
type stepPart uint8

// Node returns the node of the step.
func (s *Step) Node() *Node { return s.node }

// Removes reports whether the step deletes or forgets an object.
func (s *Step) Removes() bool { return s.Part != stepApply }

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
	Doc:   "adds the Steps of each planned change",
	After: []*Transformer{stateTransformer, schemaTransformer, analysisTransformer},
	Run: func(_ context.Context, b *build) error {
		if !b.op.Phase.Applies() {
			return nil
		}
		b.openInputs()
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
					b.instances.idle[r] = true
					continue
				}
				b.addStep(&Step{Resource: r, Change: change, Part: part})
			}
		}
		return errs.Err()
	},
}

// HasConditions reports whether the resource has preconditions or postconditions.
func (r *Resource) HasConditions() bool {
	return r.Config != nil && len(r.Exprs.Preconditions)+len(r.Exprs.Postconditions) > 0
}

var stepVerbs = [...]string{
	stepApply:   "apply",
	StepDelete:  "destroy",
	StepDeposed: "destroy deposed",
	StepForget:  "forget",
}

// Verb returns what the step does, for the report of -timings.
func (p stepPart) Verb() string { return stepVerbs[p] }

// stepNames are the suffixes of the names of Step nodes.
var stepNames = [...]string{
	stepApply:   "",
	StepDelete:  " (destroy)",
	StepDeposed: " (destroy deposed)",
	StepForget:  " (forget)",
}

// openInputs makes all Steps wait for the root variables whose values were unknown to the plan. If
// one of them turns out to be invalid, nothing is changed.
func (b *build) openInputs() {
	for _, name := range b.op.Plan.UnknownVariables() {
		v := b.g.Root.Variables[name]
		if v == nil {
			continue
		}
		if b.inputs == nil {
			b.inputs = b.node(KindBarrier, nil, "(variables)", nil)
		}
		b.after(b.inputs, v.Node)
	}
}

func (b *build) addStep(s *Step) {
	r := s.Resource
	name := s.Change.Addr.String()
	if s.Part == stepApply && name == r.Node.Name {
		name += " (apply)"
	}
	s.node = b.node(KindStep, r.Module, name+stepNames[s.Part], r.Node.Range)
	s.node.Resource, s.node.Object = r, s
	s.node.Problems = r.Node.Problems
	b.after(s.node, r.Provider.Node, b.inputs)
	if s.Part == stepApply {
		b.instances.noteSteps(r.Module, s.Change.Addr.Module)
	}
	b.steps[r] = append(b.steps[r], s)
}
