package engine

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

// graphOp describes the operation that a graph is built for. Building the graph does not change it.
type graphOp struct {
	phase Phase
	cfg   *configs.Config
	prior *states.State // the state before the walk
	plan  *plans.Plan   // the plan to carry out; nil unless the phase applies

	mode       plans.Mode
	preDestroy bool // the plan only refreshes objects that will be destroyed
	targets    []addrs.Target
	excludes   []addrs.Target
	cliImports []CommandImport
	generate   bool       // configuration is generated for import targets without a resource block
	inspected  *lang.Refs // references outside of the configuration that are evaluated too; nil for none

	// schema returns a provider's schema, and provisioner the schema of a provisioner type; it reports false
	// if there is no such type. A nil provisioner func means that provisioners are not analysed.
	schema      func(context.Context, addrs.Provider) (*providers.Schema, tfdiags.Diagnostics)
	provisioner func(typ string) (*providers.ResourceSchema, bool, error)

	known   *Known            // nil: nothing is shared with other graphs
	timings *timings.Recorder // nil for none
}

// CommandImport is an import that the command line asks for.
type CommandImport struct {
	Addr addrs.AbsInstance
	ID   string
}

// selective reports whether there are targets or excludes.
func (o *graphOp) selective() bool { return len(o.targets)+len(o.excludes) > 0 }

// partial reports whether the operation may leave out changes that the configuration requires, so that
// resources keep other instances than those it declares.
func (o *graphOp) partial() bool { return o.mode == plans.RefreshOnly || o.selective() }
