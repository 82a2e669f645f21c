package engine

import (
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// step is one thing that is done to one object while applying.
type step struct {
	node     *Node
	resource *resource
	change   *plans.InstanceChange
	part     stepPart
	forced   bool // a step that depends on it creates before it destroys, so its own object must be replaced that way too
}

// stepPart is the part of its change that a step carries out; a replacement has two.
type stepPart uint8

const (
	stepApply   stepPart = iota // create, update, read, or look at the conditions of what doesn't change
	stepDelete                  // delete the current object
	stepDeposed                 // delete a deposed object, or the one that a replacement leaves
	stepForget                  // drop from the state
)

// stepParts says which parts an action has.
var stepParts = map[plans.Action][]stepPart{
	plans.NoOp:             {stepApply},
	plans.Create:           {stepApply},
	plans.Read:             {stepApply},
	plans.Update:           {stepApply},
	plans.DeleteThenCreate: {stepDelete, stepApply},
	plans.CreateThenDelete: {stepApply, stepDeposed},
	plans.Delete:           {stepDelete},
	plans.Forget:           {stepForget},
	plans.ForgetThenCreate: {stepForget, stepApply},
}

var changesTransformer = &Transformer{
	Name:  "Changes",
	Doc:   "adds the Steps of each planned change",
	After: []*Transformer{stateTransformer, schemaTransformer, analysisTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		if !b.op.phase.Applies() {
			return nil
		}
		var diags tfdiags.Diagnostics
		for _, change := range b.op.plan.Changes.Instances {
			r := b.g.byConfig[change.Addr.Config()]
			if r == nil {
				diags = diags.Append(tfdiags.Errorf("Planned object unknown",
					"The plan has a change for %s, which is neither in the configuration nor in the state that the plan was made from.", change.Addr))
				continue
			}
			for _, part := range stepParts[change.Action] {
				if change.Deposed != "" && part == stepDelete {
					part = stepDeposed
				}
				if change.Action == plans.NoOp && !r.hasConditions() {
					continue
				}
				b.addStep(&step{resource: r, change: change, part: part})
			}
		}
		return diags
	},
}

func (r *resource) hasConditions() bool {
	return r.cfg != nil && len(r.exprs.pre)+len(r.exprs.post) > 0
}

// stepVerbs say what a step does in the report of -timings, stepNames in the names of nodes.
var stepVerbs = [...]string{stepApply: "apply", stepDelete: "destroy", stepDeposed: "destroy deposed", stepForget: "forget"}

var stepNames = [...]string{stepApply: "", stepDelete: " (destroy)", stepDeposed: " (destroy deposed)", stepForget: " (forget)"}

func (b *build) addStep(s *step) {
	r := s.resource
	name := s.change.Addr.String()
	if s.part == stepApply && name == r.node.Name {
		name += " (apply)"
	}
	s.node = b.node(KindStep, r.module, name+stepNames[s.part], r.node.Range)
	s.node.Resource, s.node.Object = r, s
	s.node.Problems = r.node.Problems
	b.after(s.node, r.provider.node)
	if s.part == stepApply {
		r.module.noteSteps(s.change.Addr.Module)
	}
	b.steps[r] = append(b.steps[r], s)
}
