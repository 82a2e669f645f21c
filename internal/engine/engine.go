package engine

import (
	"context"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/reads"
	"tofu/internal/pace"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
	"tofu/internal/timings"
)

// Env is the environment of an operation. The zero value of every optional field is usable.
type Env struct {
	// Provider starts a new, unconfigured provider process. It is called once for each instance of
	// a provider configuration in use. Required.
	Provider func(ctx context.Context, addr addrs.Provider) (providers.Interface, error)
	// Reuse returns a process that an earlier operation configured with config and has closed, or
	// nil. The operation configures it again. Optional.
	Reuse func(addr addrs.Provider, config cty.Value) providers.Interface
	// Schema returns a provider's schema, starting the provider if necessary. Required.
	Schema func(ctx context.Context, addr addrs.Provider) (*providers.Schema, tfdiags.Diagnostics)
	// Provisioner returns the provisioner of a type, or nil if the type doesn't exist.
	Provisioner func(typ string) Provisioner

	// Known is shared between successive operations on one configuration. Optional.
	Known *graph.Known

	// Unchanged knows blocks that need no validation or plan of their own. Optional.
	Unchanged Unchanged

	// Mocks replace providers. Optional.
	Mocks Mocks

	// Observe, if not nil, receives each event before dependents start. It must be safe for
	// concurrent use.
	Observe func(Event)

	// Warn, if not nil, receives warnings. Each operation calls it from one goroutine at a time.
	Warn tfdiags.Sink

	// Parallelism is the maximum number of concurrent calls to providers and provisioners; 0 means
	// 10.
	Parallelism int

	// Slots, if not nil, replaces Parallelism: it limits the calls of all operations that share it.
	Slots *pace.Slots

	// CheckReads makes a walk panic if an expression reads an instance before the instance is
	// finished. Otherwise the expression waits. The order of the graph should prevent such reads;
	// tests set CheckReads to verify this.
	CheckReads bool

	// InDoubt returns advice for the error if the creation of an instance fails that an earlier run
	// may have created; "" for other instances. replaced says that the instance still has the object
	// that was to be replaced. Optional.
	InDoubt func(addr addrs.AbsInstance, replaced bool) string

	// ProviderSecret returns an argument of a provider configuration that only the state has, without
	// secrets and what came from outside, and reports whether it is known. argument is its JSON pointer,
	// and variable the name of a variable without "TF_VAR_". It must be safe for concurrent use. Optional.
	ProviderSecret func(ctx context.Context, p addrs.ProviderInstance, argument, variable string) (string, bool)

	// Timings, if not nil, records how long each part of the operation takes.
	Timings *timings.Recorder

	// Now is the clock; nil means time.Now.
	Now func() time.Time

	// FileRead, if not nil, is told what functions read; see funcs.Options. It must be safe for concurrent use.
	FileRead func(path string)

	Workspace  string // the value of terraform.workspace
	WorkDir    string // path.cwd: the initial working directory, before -chdir
	RootModule string // path.root: the directory of the root module, usually "."
	// Base is the directory to which paths in the configuration are relative; "" means the working
	// directory.
	Base string

	// Stop is closed to interrupt operations: nothing new starts, and running calls should end
	// soon. If Stop is nil, operations can't be interrupted. Canceling the context of an operation
	// abandons running calls.
	Stop <-chan struct{}
}

func (e *Env) now() time.Time {
	if e.Now != nil {
		return e.Now()
	}
	return time.Now()
}

// Variable is the given value of a root input variable.
type Variable struct {
	Value cty.Value  // before conversion to the variable's type
	Range *hcl.Range // where it was given; nil for the command line and the environment
	From  string     // the source of the value for messages, such as "the -var option"
}

// PlanOptions are the options of [Plan]. A nil pointer means a normal plan without variables.
type PlanOptions struct {
	Mode        plans.Mode
	SkipRefresh bool
	// Refresh decides which stored objects are read, unless SkipRefresh is set. It must be safe for
	// concurrent use. If it is nil, all objects are read; otherwise Plan.Cone is set. Answers, if not
	// nil, is shared by several plans of one configuration and state.
	Refresh func(RefreshCandidate) bool
	Answers *Answers
	// Data, if not nil, may know what data sources outside of check blocks return.
	Data DataMemory
	// ReadDone, if not nil, is told of each stored object that was read: that it is gone, or the error.
	// It decides what follows from the error. It must be safe for concurrent use.
	ReadDone func(c RefreshCandidate, gone bool, err error) AfterError
	// Defer says that changes that can't be planned yet are deferred instead of causing errors.
	Defer     bool
	Variables map[string]Variable
	Targets   []addrs.Target
	Excludes  []addrs.Target
	// Invoke holds the actions that the plan invokes instead of changing anything. It reads the objects
	// that these depend on. Of actions that refer to caller, Targets then selects the callers.
	Invoke       []addrs.Target
	callers      []addrs.Target // Targets, if there are actions to invoke
	ForceReplace []addrs.AbsInstance
	AnyReplace   bool // no warning about addresses in ForceReplace that match nothing, as in tests
	// Past, if not nil, makes a normal plan restore objects to an earlier state. See past.go.
	Past *Past

	// Imports are import targets from the command line (`tofu import`). If there are any, the
	// import blocks in the configuration are ignored.
	Imports []reads.CommandImport
	// GenerateConfig requests configuration for import targets that have none.
	GenerateConfig bool
	// NotSaved says that the plan is shown and possibly applied, but never stored. The relevant
	// attributes of such a plan are needed only to explain drift. If there is no drift, they aren't
	// computed, because that takes as long as building the graph.
	NotSaved bool
	// LeaveOut says that the plan leaves out the blocks that Env.Unchanged knows, even if it reads objects
	// or is saved: it knows their objects, too, and the changes to list.
	LeaveOut bool
	// Inspect receives the planned values. Optional.
	Inspect *Inspection

	// RestOf is a plan that was only partly applied. Resources and modules that it defers are
	// deferred again, even if they could be planned now. Optional.
	RestOf *plans.Plan

	preDestroy bool // see graph.Operation.PreDestroy
}

// RefreshCandidate is a stored object that a plan may read.
type RefreshCandidate struct {
	Addr     addrs.AbsInstance // the present address, after moves
	Deposed  addrs.DeposedKey
	Provider addrs.Provider
}

// AfterError says how a plan continues after an object could not be read.
type AfterError uint8

const (
	ReportError AfterError = iota
	UseStored              // with the stored object
	TakeAsGone             // as if the object did not exist
)

// Past is an earlier state to restore.
type Past struct {
	State *states.State
	At    time.Time
	Undo  string // ID of the only run whose changes are taken back, or ""
	Run   string // ID of the run that ended with this state; "" if the state was selected by time
	// Created holds the present addresses of objects that a run has created since the earlier time.
	// Objects that did not exist at the earlier time and are not in Created are removed from the
	// state but not destroyed.
	Created map[addrs.AbsInstance]bool
	// Destroyed holds the earlier addresses of objects that a run has destroyed since the earlier
	// time. All other earlier objects may still exist, even if the present state doesn't have them.
	Destroyed map[addrs.AbsInstance]bool
}

// ApplyOptions are the options of [Apply] other than the plan. A nil pointer means the defaults.
type ApplyOptions struct {
	// Variables are the variables that are set for the apply. Ephemeral variables that were set for
	// the plan must be set again, and variables whose planned values are unknown must be set. All
	// others must have the same values as in the plan.
	Variables            map[string]Variable
	SuppressForgetErrors bool
	// ShowSensitive makes provisioners print their output even if their configuration is sensitive.
	ShowSensitive bool
	// Inspect receives the resulting values. Optional.
	Inspect *Inspection
}

// Provisioner runs an action for an object after its creation or before its destruction.
type Provisioner interface {
	// Schema returns the schema of the provisioner's block.
	Schema() (*providers.ResourceSchema, error)
	// Validate checks a configuration that may be partly unknown.
	Validate(config cty.Value) tfdiags.Diagnostics
	// Run runs the provisioner until it is done or ctx is canceled. connection is null if the
	// provisioner has no connection block. Marked parts of the connection must not be shown. Run
	// writes output lines to out. If out is nil, neither output nor commands may be shown, not even
	// in diagnostics.
	Run(ctx context.Context, config, connection cty.Value, out func(line string)) tfdiags.Diagnostics
}
