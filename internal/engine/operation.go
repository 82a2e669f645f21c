package engine

import (
	"time"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/graph"
	"tofu/internal/moves"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
)

// operation describes what a walk does. The walk does not change it.
type operation struct {
	graph.Operation
	env *Env

	skipRefresh   bool
	defers        bool // puts off what can't be planned yet; see defer.go
	variables     map[string]Variable
	forceReplace  map[addrs.AbsInstance]bool
	forceWhole    map[addrs.ConfigResource][]addrs.AbsInstance // forceReplace addresses without keys
	showSensitive bool                                         // also in the output of provisioners
	inspection    *Inspection
	moves         *moves.Results
	past          *pastObjects // the objects to bring back; usually nil
	timestamp     time.Time
	planned       *plans.Changes // what PhaseEval takes objects from before it looks into the state; may be nil

	// What the plan that is being applied defers.
	deferredResources map[addrs.ConfigResource]bool
	deferredModules   map[addrs.Module]bool
}

func newOperation(phase graph.Phase, cfg *configs.Config, prior *states.State, env *Env) *operation {
	op := &operation{env: env, Operation: graph.Operation{
		Phase: phase, Config: cfg, Prior: prior, Mode: plans.Normal, Schema: env.Schema, Known: env.Known,
		Timings: env.Timings, Warn: env.Warn,
	}}
	op.Early = func(g *graph.Graph) graph.EarlyKeys { return newEarlyValues(op, g) }
	if env.Provisioner != nil {
		op.Provisioner = func(typ string) (*providers.ResourceSchema, bool, error) {
			impl := env.Provisioner(typ)
			if impl == nil {
				return nil, false, nil
			}
			schema, err := impl.Schema()
			return schema, true, err
		}
	}
	return op
}

// inspect adds the references of an inspection to the operation.
func (o *operation) inspect(i *Inspection) {
	o.inspection = i
	if i != nil {
		o.Inspected = &i.Refs
	}
}
