package graph

import (
	"context"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
	"tofu/internal/timings"
)

// Operation describes what a graph is built for. Building the graph does not change it.
type Operation struct {
	Phase  Phase
	Config *configs.Config
	Prior  *states.State // the state before the walk
	Plan   *plans.Plan   // the plan to carry out; nil unless the phase applies

	Mode           plans.Mode
	PreDestroy     bool // the plan only refreshes objects that will be destroyed
	Targets        []addrs.Target
	Excludes       []addrs.Target
	CommandImports []CommandImport
	Generate       bool       // configuration is generated for import targets without a resource block
	Inspected      *lang.Refs // references outside of the configuration that are evaluated too; may be nil

	// Schema returns the schema of a provider. Provisioner returns the schema of a provisioner type
	// and reports whether there is such a type; if it is nil, provisioners are not analyzed.
	Schema      func(context.Context, addrs.Provider) (*providers.Schema, tfdiags.Diagnostics)
	Provisioner func(typ string) (*providers.ResourceSchema, bool, error)

	// ByInstance says that a plan reads and plans each instance as soon as the instances that it
	// reads are planned. The graph has additional nodes then; see separateInstances.
	ByInstance bool

	// Early returns what is known about the keys of instances before the walk. If it is nil,
	// targets select whole resources only.
	Early func(*Graph) EarlyKeys

	Warn    tfdiags.Sink      // receives warnings; nil drops them
	Known   *Known            // nil: nothing is shared with other graphs
	Timings *timings.Recorder // may be nil
}

// CommandImport is an import that the command line requires.
type CommandImport struct {
	Addr addrs.AbsInstance
	ID   string
}

// Selective reports whether there are targets or excludes.
func (o *Operation) Selective() bool { return len(o.Targets)+len(o.Excludes) > 0 }

// Partial reports whether the operation may leave out changes that the configuration requires, so
// that resources may have other instances than those it declares.
func (o *Operation) Partial() bool { return o.Mode == plans.RefreshOnly || o.Selective() }
