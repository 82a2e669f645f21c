package graph

// Phase is the purpose for which a graph is walked. It decides which nodes the graph has.
type Phase uint8

const (
	PhaseValidate    Phase = iota + 1 // check a configuration; input variables and repetitions are unknown
	PhasePlan                         // refresh objects and plan changes
	PhasePlanDestroy                  // plan to destroy everything in the state, regardless of the configuration
	PhaseApply                        // carry out the changes of a plan
	PhaseDestroy                      // carry out a plan that destroys everything
	PhaseEval                         // evaluate values over a state; providers are not configured
)

var phaseNames = [...]string{
	PhaseValidate: "validate", PhasePlan: "plan", PhasePlanDestroy: "planDestroy", PhaseApply: "apply",
	PhaseDestroy: "destroy", PhaseEval: "eval",
}

func (p Phase) String() string { return phaseNames[p] }

// Plans reports whether the walk plans changes.
func (p Phase) Plans() bool { return p == PhasePlan || p == PhasePlanDestroy }

// Applies reports whether the walk carries out planned changes. The graph then has Step nodes.
func (p Phase) Applies() bool { return p == PhaseApply || p == PhaseDestroy }

// Destroys reports whether everything is destroyed. Only the parts of the configuration that the
// destruction needs are evaluated then.
func (p Phase) Destroys() bool { return p == PhasePlanDestroy || p == PhaseDestroy }

// Checks reports whether conditions and check blocks are evaluated.
func (p Phase) Checks() bool { return p == PhaseValidate || p == PhasePlan || p == PhaseApply }

// prunes reports whether values that no other node reads are left out.
func (p Phase) prunes() bool { return p.Applies() || p == PhasePlanDestroy }
