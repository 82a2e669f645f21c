package graph

import (
	"context"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
	"tofu/internal/timings"
)

// Operation describes the operation for which a graph is built. Building the graph does not change
// it.
type Operation struct {
	Phase  phase.Phase
	Config *configs.Config
	Prior  *states.State // the state before the walk
	Plan   *plans.Plan   // the plan to carry out; nil unless the phase applies

	Mode           plans.Mode
	PreDestroy     bool // the plan only refreshes the objects that a second plan will destroy
	Targets        []addrs.Target
	Excludes       []addrs.Target
	Invoke         []addrs.Target // actions that are invoked instead of changing anything
	CommandImports []reads.CommandImport
	Generate       bool       // generate configuration for import targets without a resource block
	Inspected      *lang.Refs // references outside of the configuration that are evaluated too; may be nil

	// Schema returns the schema of a provider. Provisioner returns the schema of a provisioner type
	// and reports whether the type exists. If Provisioner is nil, provisioners are not analyzed.
	Schema      func(context.Context, addrs.Provider) (*providers.Schema, tfdiags.Diagnostics)
	Provisioner func(typ string) (*providers.ResourceSchema, bool, error)

	// ByInstance makes a plan handle each instance separately: each instance is planned as soon as
	// the instances that it reads are planned. The graph then has additional nodes; see
	// separateInstances.
	ByInstance bool

	// Early returns what is known about the keys of instances before the walk. If it is nil,
	// targets select whole resources only.
	Early func(*Graph) reads.KnownKeys

	Warn    tfdiags.Sink      // receives warnings; nil drops them
	Known   *Known            // nil if no other graph shares the analyzed expressions
	Timings *timings.Recorder // may be nil
}

// Selective reports whether there are targets, excludes or actions to invoke.
func (o *Operation) Selective() bool { return len(o.Targets)+len(o.Excludes)+len(o.Invoke) > 0 }

// Partial reports whether the operation may leave out changes that the configuration requires. The
// instances of a resource may then differ from those that it declares.
func (o *Operation) Partial() bool { return o.Mode == plans.RefreshOnly || o.Selective() }
