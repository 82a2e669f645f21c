package engine

import (
	"time"

	"tofu/internal/moves"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// operation is what is asked for: everything that a graph is built from and that a walk goes by. Neither changes it.
type operation struct {
	phase Phase
	env   *Env
	cfg   *configs.Config
	prior *states.State // what is known before the walk
	plan  *plans.Plan   // what is to be carried out; nil unless the phase has Steps

	mode          plans.Mode
	skipRefresh   bool
	preDestroy    bool // the plan only refreshes what will be destroyed
	variables     map[string]Variable
	targets       []addrs.Target
	excludes      []addrs.Target
	forceReplace  map[addrs.AbsInstance]bool
	forceWhole    map[addrs.ConfigResource][]addrs.AbsInstance // those of forceReplace that have no key
	cliImports    []ImportTarget
	generate      bool
	showSensitive bool // output of provisioners, too
	inspection    *Inspection
	moves         *moves.Results
	timestamp     time.Time
}

// selective tells whether there are targets, or what is excluded.
func (o *operation) selective() bool { return len(o.targets)+len(o.excludes) > 0 }

// partial tells whether something that the configuration asks for may not be done, so that resources have other instances than it wants.
func (o *operation) partial() bool { return o.mode == plans.RefreshOnly || o.selective() }
