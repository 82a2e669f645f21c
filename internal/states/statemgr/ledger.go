package statemgr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/backend"
	"tofu/internal/checks"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// A Ledger is a store that keeps the parts of a state one by one, and lets several runs change
// different parts of a workspace at the same time. The manager records the steps of an operation in
// the ledger, so it needs no journal. Runs claim parts instead of locking the workspace.
type Ledger interface {
	// LoadState returns the state as of one moment. codec may be nil.
	LoadState(ctx context.Context, workspace string, codec Codec) (*Loaded, error)
	OutputLedger
	// Reencrypt re-encrypts everything in a workspace that is not encrypted with codec's current
	// method and key. This includes earlier versions. It returns the number of parts that it has
	// written. Runs may change the workspace at the same time. After an error or a kill, it can be
	// repeated.
	Reencrypt(ctx context.Context, workspace string, codec Codec) (written int, err error)
	// Holds reports whether another store has the same states. It returns false if that is unknown.
	Holds(other backend.Store) bool
	// Unused returns a *backend.LockedError if a run is changing a workspace, and a *ChangedError
	// if a run has changed the workspace since a revision.
	Unused(ctx context.Context, workspace string, since uint64) error
	// NewRun returns a run that can change a workspace. It does no I/O. codec may be nil.
	NewRun(workspace string, codec Codec, info backend.LockInfo) LedgerRun
	// EndRun ends the run of another process, which can then no longer write.
	EndRun(ctx context.Context, workspace, id string) error
}

// An OutputLedger can read the outputs of a state without the rest of it.
type OutputLedger interface {
	// LoadOutputs returns the outputs as of one moment. codec may be nil.
	LoadOutputs(ctx context.Context, workspace string, codec Codec) (*Loaded, error)
	// CheckOutputs returns a *ChangedError if outputs were changed since they were read.
	CheckOutputs(ctx context.Context, read *plans.OutputsRead) error
}

// An AgeKeeper is a store that keeps beside a state when its objects were last read, as a document.
type AgeKeeper interface {
	// Ages returns the document of a workspace, or nil if it has no document.
	Ages(ctx context.Context, workspace string) ([]byte, error)
	// UpdateAges replaces the document by the result of the function update, which gets the previous
	// one. No other process changes it in the meantime. It does nothing if the workspace doesn't exist.
	UpdateAges(ctx context.Context, workspace string, update func(previous []byte) ([]byte, error)) error
}

// A Mender is a ledger in which damaged parts can be replaced.
type Mender interface {
	// Damage returns the parts of a workspace that can't be read.
	Damage(ctx context.Context, workspace string, codec Codec) ([]DamagedPart, error)
	// Mend makes one change: it replaces current parts with their latest readable versions, and
	// removes damaged earlier versions and the parts without a readable version. It returns a
	// *backend.LockedError if another run is running.
	Mend(ctx context.Context, workspace string, info backend.LockInfo, parts []DamagedPart) error
}

// A DamagedPart is a part of a state in a ledger that can't be read. Its error text says why.
type DamagedPart struct {
	What     string // such as "object aws_vpc.main"
	Cause    error
	Document string   // content of the part, as the ledger stores it
	Table    string   // name of the ledger's table that contains it
	Key      []string // key of the row, with its version at the end
	Current  bool     // it is part of the current state, and earlier versions may exist
	Restored string   // the version that can replace it; "" if none exists
}

func (p *DamagedPart) Error() string { return p.What + ": " + p.Cause.Error() }
func (p *DamagedPart) Unwrap() error { return p.Cause }

// A LedgerRun is a run that changes a workspace of a ledger.
type LedgerRun interface {
	// Claim claims everything that a plan has read or writes, without waiting. It returns a
	// *backend.LockedError if another run has claimed a part, and a *ChangedError if a part was
	// changed since the plan. A lease keeps the claims until Close.
	Claim(ctx context.Context, f *plans.Footprint) error
	// Start records that a provider is about to change objects. It calls next, which returns the
	// operations, at most once and as late as possible.
	Start(ctx context.Context, next func() []*Operation) error
	// Write makes a change, completely or not at all, and returns the serial and the revision of
	// the new state. It calls next, which returns the change, at most once, when it no longer waits
	// for other runs. If the run has no claims, Write claims the parts that the change writes,
	// until it returns. Otherwise, it leaves out objects that the run has not claimed and that
	// other runs have claimed or changed.
	Write(ctx context.Context, next func() *Change) (serial, revision uint64, err error)
	// Close ends the run and its claims.
	Close(ctx context.Context) error
}

// Loaded is a state in a ledger.
type Loaded struct {
	Exists   bool
	State    *states.State
	Serial   uint64
	Revision uint64 // revision of this state; increases with each change
	Lineage  string
	Version  string // version of the program that wrote last
	Outdated bool   // the encryption of some parts is outdated; Reencrypt renews it
	Lost     []LostRun
}

// LostRun is a run that has ended, or was killed, with the steps whose outcome is unknown.
type LostRun struct {
	ID      string
	Who     string
	Process string
	Done    bool // the run was not killed: it has ended itself
	Steps   []Operation
}

// Change is a change of a state in a ledger.
type Change struct {
	Base      uint64 // revision of the state that the change is based on
	Objects   []ObjectChange
	Resources []ResourceChange
	Outputs   map[string]*states.Output // nil for an output that is removed
	Checks    *checks.Results           // the new results, if NewChecks is set
	NewChecks bool
	Providers []ProviderChange // see ProviderChanges
	Ended     []ObjectID       // steps of this run that have ended
	// InDoubt are steps of this run that are in doubt from the beginning, because the state that it
	// writes lists them.
	InDoubt []*Operation
	Settled []ObjectID // objects for which no steps of runs that have ended are in doubt any more

	// Replaces says that the change replaces the whole state. It is refused if anything was changed
	// since Base, or if another run is running. Serial and Lineage are those of the new state.
	Replaces bool
	Serial   uint64
	Lineage  string // without Replaces, used only if the state has no lineage yet; may be ""
}

// Empty reports whether the change changes nothing but the records of steps.
func (c *Change) Empty() bool {
	return len(c.Objects) == 0 && len(c.Resources) == 0 && len(c.Outputs) == 0 && !c.NewChecks && !c.Replaces &&
		!slices.ContainsFunc(c.Providers, func(p ProviderChange) bool { return p.Changed })
}

// ObjectID identifies an object of a state.
type ObjectID struct {
	Addr    addrs.AbsInstance
	Deposed addrs.DeposedKey
}

// ObjectChange is a change of an object. Object is the new content, or nil if the object is
// removed.
type ObjectChange struct {
	ObjectID
	Object   *states.Object
	Provider addrs.ProviderInstance // not needed if the object is removed
	Existed  bool                   // the state already had an object of the instance
	// From identifies the object before the change. It differs from ObjectID only if the object is
	// moved. It is nil if the state had no such object.
	From *ObjectID
	// ByProvider reports whether a provider has created, changed or destroyed the object. Otherwise
	// only the state changes, for example because the object is imported or forgotten.
	ByProvider bool
}

// ResourceChange is a resource without instances that is added or removed.
type ResourceChange struct {
	Addr     addrs.AbsResource
	Provider addrs.AbsProviderConfig
	Gone     bool
}

// ProviderChange is a last configuration of a provider that accompanies changes of objects.
type ProviderChange struct {
	Provider addrs.ProviderInstance
	// Config is the configuration. It is nil if no object of the state needs it any more. It then stays as
	// long as the ledger has objects that other runs have added.
	Config *states.ProviderConfig
	// Changed says that the configuration differs from the one that was read. Otherwise it is written only
	// if another run has removed it since.
	Changed bool
}

// A ChangedError reports that another run changed a part of the state that a plan depends on.
type ChangedError struct {
	What      string // such as "aws_vpc.main"
	Run       string // ID of the run
	Operation string
	Who       string
	At        time.Time
}

func (e *ChangedError) Error() string {
	if e.Run == "" {
		return e.What + " was changed after it was read"
	}
	return fmt.Sprintf("%s was changed by %s at %s, in the run %s (%s)", e.What, e.Who,
		e.At.UTC().Format(time.RFC3339), e.Run, e.Operation)
}

// ExplainConflict explains a *backend.LockedError and a *ChangedError. It returns other errors
// unchanged.
func ExplainConflict(err error) error {
	var held *backend.LockedError
	var changed *ChangedError
	switch {
	case errors.As(err, &held):
		part := "a part of the state that this run needs"
		if held.Info != nil && held.Info.Path != "" {
			part = held.Info.Path
		}
		d := tfdiags.Errorf("Error acquiring the state lock", "Another run has claimed %s, which it has read or is "+
			"changing. Wait until that run ends, for example with -lock-timeout=10m. If its process was killed on "+
			"another machine, its claims end 30 seconds later; \"tofu force-unlock\" with the ID of its lock ends them "+
			"at once.\n\n%s",
			part, tfdiags.Capitalize(err.Error()))
		d.Extra = held.Info
		return d
	case errors.As(err, &changed):
		d := tfdiags.Errorf("Saved plan is stale", "A state was changed after it was read, so what was planned may "+
			"no longer match it: %s. Nothing was changed. Run the command again, or make a new plan.", changed)
		d.Extra = changed
		return d
	}
	return err
}
