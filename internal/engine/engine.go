package engine

import (
	"context"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
	"tofu/internal/timings"
)

// Env is what an operation finds around it. The zero value of every optional field is usable.
type Env struct {
	// Provider starts a provider: a new process, unconfigured. Required. It is called once per configuration in use.
	Provider func(ctx context.Context, addr addrs.Provider) (providers.Interface, error)
	// Schema returns a provider's schema, starting the provider if necessary. Required.
	Schema func(ctx context.Context, addr addrs.Provider) (*providers.Schema, tfdiags.Diagnostics)
	// Provisioner returns a provisioner by type, or nil if there is none.
	Provisioner func(typ string) Provisioner

	// Known is what operations on one configuration, one after the other, share; nil for nothing.
	Known *graph.Known

	// Mocks stand in for providers; nil for nothing.
	Mocks Mocks

	// Observe, if not nil, receives each event before dependents start. It must be safe for concurrent use.
	Observe func(Event)

	// Parallelism bounds what talks to providers and provisioners at one time; 0 means 10.
	Parallelism int

	// Timings, if not nil, records how long each part takes.
	Timings *timings.Recorder

	// Now is the clock; nil for time.Now. UUID and Random stay in the functions' hands.
	Now func() time.Time

	Workspace  string // terraform.workspace
	WorkDir    string // path.cwd: where the command was started, before -chdir
	RootModule string // path.root: the root module's directory, "." as a rule

	// Stop is closed when nothing new may start and what runs should end soon; nil for never.
	Stop <-chan struct{}
	// Kill is closed when nothing may be waited for any more; nil for never.
	Kill <-chan struct{}
}

func (e *Env) now() time.Time {
	if e.Now != nil {
		return e.Now()
	}
	return time.Now()
}

// Variable is a root input value as it was given.
type Variable struct {
	Value cty.Value  // before conversion to the variable's type
	Range *hcl.Range // where it was given; nil for the command line and the environment
	From  string     // what gave it, for messages: "the -var option"
}

// PlanOptions say what kind of plan is wanted; nil means an ordinary one without variables.
type PlanOptions struct {
	Mode         plans.Mode
	SkipRefresh  bool
	Variables    map[string]Variable
	Targets      []addrs.Target
	Excludes     []addrs.Target
	ForceReplace []addrs.AbsInstance

	// Imports are import targets from the command line (`tofu import`), besides the configuration's import blocks.
	Imports []graph.CommandImport
	// GenerateConfig: write configuration for import targets that have none.
	GenerateConfig bool
	// NotSaved: the plan is shown and perhaps applied, and nobody sees it later. The attributes that it depends on, which cost as much
	// as the graph does, are then only worked out when something changed outside.
	NotSaved bool
	// Inspect looks at the planned values.
	Inspect *Inspection
}

// ApplyOptions say what is needed to apply a plan besides the plan; nil means nothing.
type ApplyOptions struct {
	// Variables are given again; ephemeral ones must be, others must agree with the plan's.
	Variables            map[string]Variable
	SuppressForgetErrors bool
	// ShowSensitive has provisioners print their output also where their configuration is sensitive.
	ShowSensitive bool
	// Inspect looks at the values that result.
	Inspect *Inspection
}

// Provisioner runs something on or for an object after its creation or before its destruction.
type Provisioner interface {
	// Schema returns the schema of the provisioner's block.
	Schema() (*providers.ResourceSchema, error)
	// Validate checks a configuration that may be partly unknown.
	Validate(config cty.Value) tfdiags.Diagnostics
	// Run does the work. Connection is null when there is none; what is marked in it may not be shown. Output lines go to out; a nil out says that
	// neither output nor commands may be shown, in diagnostics either. It ends soon after ctx does.
	Run(ctx context.Context, config, connection cty.Value, out func(line string)) tfdiags.Diagnostics
}
