package engine

import (
	"time"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/moves"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
)

// operation describes what a walk does. The walk does not change it.
type operation struct {
	graphOp
	env *Env

	skipRefresh   bool
	variables     map[string]Variable
	forceReplace  map[addrs.AbsInstance]bool
	forceWhole    map[addrs.ConfigResource][]addrs.AbsInstance // those of forceReplace that have no key
	showSensitive bool                                         // output of provisioners, too
	inspection    *Inspection
	moves         *moves.Results
	timestamp     time.Time
}

func newOperation(phase Phase, cfg *configs.Config, prior *states.State, env *Env) *operation {
	op := &operation{env: env, graphOp: graphOp{
		phase: phase, cfg: cfg, prior: prior, mode: plans.Normal, schema: env.Schema, known: env.Known, timings: env.Timings,
	}}
	if env.Provisioner != nil {
		op.provisioner = func(typ string) (*providers.ResourceSchema, bool, error) {
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

// inspect sets what is looked at besides the configuration.
func (o *operation) inspect(i *Inspection) {
	o.inspection = i
	if i != nil {
		o.inspected = &i.Refs
	}
}
