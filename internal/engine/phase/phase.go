// Package phase names the purposes for which a graph is walked, and what follows from each of them.
// A new question about phases is a method here, not a comparison elsewhere.
package phase

// Phase is the purpose for which a graph is walked. It decides which nodes the graph has.
type Phase uint8

const (
	Validate    Phase = iota + 1 // check a configuration
	Plan                         // refresh objects and plan changes
	PlanDestroy                  // plan to destroy everything in the state, regardless of the configuration
	Apply                        // carry out the changes of a plan
	Destroy                      // carry out a plan that destroys everything
	Eval                         // evaluate values over a state
)

var names = [...]string{
	Validate: "validate", Plan: "plan", PlanDestroy: "planDestroy", Apply: "apply",
	Destroy: "destroy", Eval: "eval",
}

func (p Phase) String() string { return names[p] }

// InputsUnknown reports whether input variables and the instances of blocks are unknown, so that what
// depends on them is checked only as far as it goes and may be unknown without an error.
func (p Phase) InputsUnknown() bool { return p == Validate }

// Configures reports whether providers are configured.
func (p Phase) Configures() bool { return p != Validate && p != Eval }

// Waits reports whether the instances of a block may wait for the single instances that they read.
func (p Phase) Waits() bool { return p == Plan || p == Apply }

// Plans reports whether the walk plans changes.
func (p Phase) Plans() bool { return p == Plan || p == PlanDestroy }

// Applies reports whether the walk carries out planned changes. The graph then has Step nodes.
func (p Phase) Applies() bool { return p == Apply || p == Destroy }

// Destroys reports whether everything is destroyed. Only the parts of the configuration that the
// destruction needs are evaluated then.
func (p Phase) Destroys() bool { return p == PlanDestroy || p == Destroy }

// Checks reports whether conditions and check blocks are evaluated.
func (p Phase) Checks() bool { return p == Validate || p == Plan || p == Apply }

// Prunes reports whether values that no other node reads are left out.
func (p Phase) Prunes() bool { return p.Applies() || p == PlanDestroy }
