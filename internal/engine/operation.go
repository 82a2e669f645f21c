package engine

import (
	"time"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/lastconfig"
	"tofu/internal/memo"
	"tofu/internal/moves"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
)

// operation describes what a walk has to do. The walk does not change it.
type operation struct {
	graph.Operation
	env *Env

	skipRefresh   bool
	omits         bool                                                      // whether the plan leaves out unchanged blocks
	remembers     bool                                                      // see PlanOptions.LeaveOut
	refresh       func(RefreshCandidate) bool                               // nil means all; see PlanOptions
	answers       *Answers                                                  // may be nil
	data          DataMemory                                                // may be nil
	readDone      func(c RefreshCandidate, gone bool, err error) AfterError // may be nil
	defers        bool                                                      // whether changes that can't be planned yet are deferred instead of causing errors; see defer.go
	variables     map[string]Variable
	forceReplace  map[addrs.AbsInstance]bool
	forceWhole    map[addrs.ConfigResource][]addrs.AbsInstance // -replace addresses without keys, by resource
	showSensitive bool                                         // whether to show hidden output of provisioners
	inspection    *Inspection
	moves         *moves.Results
	past          *pastObjects // the earlier objects to restore; usually nil
	timestamp     time.Time
	origins       *memo.Map[*reads.Provider, map[string]lastconfig.Source] // see sources
	// refreshed holds the values of objects in Prior that the refresh before a destruction has decoded.
	refreshed map[*states.Object]objectState
	// planned holds objects that PhaseEval uses instead of those in the state. It may be nil.
	planned *plans.Changes
	callers []addrs.Target // the objects for which a plan invokes the requested actions that refer to caller; none for all
	invoked *invoked       // the requested actions that an apply invokes

	// The resources and modules that are deferred by the plan that this operation applies or
	// continues.
	deferredResources map[addrs.ConfigResource]bool
	deferredModules   map[addrs.Module]bool
	// plannedResources holds the resources in deferredResources that the plan nevertheless changes
	// in some module instances. Only their other module instances are deferred.
	plannedResources map[addrs.AbsResource]bool
}

func newOperation(phase phase.Phase, cfg *configs.Config, prior *states.State, env *Env) *operation {
	op := &operation{env: env, origins: &memo.Map[*reads.Provider, map[string]lastconfig.Source]{}, Operation: graph.Operation{
		Phase: phase, Config: cfg, Prior: prior, Mode: plans.Normal, Schema: env.Schema, Known: env.Known,
		Timings: env.Timings, Warn: env.Warn,
	}}
	op.Early = func(g *graph.Graph) reads.KnownKeys { return knownKeys{newEarlyValues(op, g).e} }
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

// refreshesPart reports whether the plan only refreshes the objects that a second plan will destroy,
// and not all of them. It follows only some of the references by instance.
func (o *operation) refreshesPart() bool { return o.PreDestroy && o.Selective() }

// reads reports whether a plan reads a stored object.
func (o *operation) reads(addr addrs.AbsInstance, deposed addrs.DeposedKey, by *providerInstance) bool {
	return !o.skipRefresh && (o.refresh == nil || o.refresh(RefreshCandidate{addr, deposed, by.addr.Config.Provider}))
}

// inspect makes the operation run an inspection, and adds the references of the inspection.
func (o *operation) inspect(i *Inspection) {
	o.inspection = i
	if i != nil {
		o.Inspected = &i.Refs
	}
}
