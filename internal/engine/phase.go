package engine

import (
	"tofu/internal/tfdiags"
)

// phase is a row of the table below: what an operation's graph is made of and what its nodes do. Nothing else in the engine
// compares phases.
type phase struct {
	name string

	// resource is what a Resource node does. opens is what the node does that decides the resource's instances before its Steps; it is
	// nil where there are no Steps, and the Resource node decides them itself.
	resource func(*walk, *resource) tfdiags.Diagnostics
	opens    func(*walk, *resource) tfdiags.Diagnostics

	unknownInputs  bool // root variables and repetitions are unknown: there are no values yet
	impure         bool // functions whose result differs from call to call are run
	applying       bool // terraform.applying
	configure      bool // providers are configured
	stateOnly      bool // providers are started for their schemas and functions alone
	steps          bool // planned changes are carried out
	destroy        bool // nothing of the configuration but what the destruction needs is evaluated
	fromState      bool // changes are planned from the state alone: it doesn't matter what resource blocks say
	prune          bool // values that nobody reads are left out
	conditions     bool // checks are evaluated
	recordsOutputs bool // root outputs become planned changes
	storesOutputs  bool // root outputs are written to the state
	imports        bool // import blocks and targets are looked at
	readsState     bool // resources that are in the state only take part
}

var (
	phaseValidate = &phase{name: "validate", resource: (*walk).validateResource, unknownInputs: true, conditions: true, imports: true}
	phasePlan     = &phase{name: "plan", resource: (*walk).planResource, configure: true, conditions: true,
		recordsOutputs: true, imports: true, readsState: true}
	phasePlanDestroy = &phase{name: "planDestroy", resource: (*walk).planDestroyResource, configure: true, destroy: true, fromState: true,
		prune: true, recordsOutputs: true, readsState: true}
	phaseApply = &phase{name: "apply", resource: (*walk).settleResource, opens: (*walk).openResource, impure: true,
		applying: true, configure: true, steps: true, prune: true, conditions: true, storesOutputs: true, readsState: true}
	phaseDestroy = &phase{name: "destroy", resource: (*walk).settleResource, opens: (*walk).openResource, impure: true,
		applying: true, configure: true, steps: true, destroy: true, prune: true, storesOutputs: true, readsState: true}
	phaseEval = &phase{name: "eval", resource: (*walk).evalResource, stateOnly: true}
)
