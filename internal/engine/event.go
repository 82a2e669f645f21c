package engine

import (
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// Event is something that happened during an operation: one of the types below. Observers get it synchronously.
type Event interface{ event() }

// Object says which object an event is about.
type Object struct {
	Addr    addrs.AbsInstance
	Deposed addrs.DeposedKey
	// IDKey and IDValue name the object as its provider does ("id", "i-123"); empty when that is not known.
	IDKey, IDValue string
}

type (
	// RefreshStart and RefreshDone surround the reading of an object that is in the state already.
	RefreshStart struct{ Object }
	// RefreshDone: it was read. There is no such event where that failed.
	RefreshDone struct{ Object }

	// ImportStart and ImportDone surround the import of an object while planning.
	ImportStart struct {
		Object
		ID string
	}
	// ImportDone ends an import.
	ImportDone struct {
		Object
		ID string
	}

	// Planned: a change was decided. Change is final.
	Planned struct{ Change *plans.InstanceChange }

	// ApplyStart: a change is about to be made. Action is what this step does: Create, Update, Delete, Read, Open (never a
	// replacement as a whole). The observer must have recorded the event durably when it returns.
	ApplyStart struct {
		Object
		Action    plans.Action
		Provider  addrs.ProviderInstance
		Planned   cty.Value // what the object is to become; null for deletion; unmarked, nothing ephemeral
		Sensitive []cty.Path
		Builtin   bool // the provider is part of the program: nothing outside changes
	}
	// ApplyDone: the step ended. The object's new state was reported by ObjectStored before.
	ApplyDone struct {
		Object
		Action  plans.Action
		Failed  bool
		Elapsed time.Duration
		// Abandoned: the operation was killed during the provider call, so its outcome is unknown.
		Abandoned bool
	}

	// ObjectStored: the state of an object changed. A nil New means that the object is gone from the state.
	// The observer must have recorded the event durably when it returns.
	ObjectStored struct {
		Addr     addrs.AbsInstance
		Deposed  addrs.DeposedKey
		New      *states.Object
		Provider addrs.ProviderInstance
	}

	// ObjectMoved: an object was set aside for its successor, or taken back from there. It is one event so that no record, wherever it
	// ends, has the object in both places: the next run would delete it in the one and keep it in the other.
	ObjectMoved struct {
		Addr     addrs.AbsInstance
		From, To addrs.DeposedKey
		Object   *states.Object
		Provider addrs.ProviderInstance
	}

	// ProvisionStart, ProvisionOutput and ProvisionDone tell of a provisioner's run.
	ProvisionStart struct {
		Object
		Type string
	}
	// ProvisionOutput is one line that a provisioner printed; Hidden lines say only that there was output.
	ProvisionOutput struct {
		Object
		Type string
		Line string
	}
	// ProvisionDone ends a provisioner's run.
	ProvisionDone struct {
		Object
		Type   string
		Failed bool
	}

	// EphemeralStart and EphemeralDone surround opening, renewing and closing an ephemeral object; Verb is "open", "renew" or
	// "close".
	EphemeralStart struct {
		Object
		Verb string
	}
	// EphemeralDone ends it.
	EphemeralDone struct {
		Object
		Verb   string
		Failed bool
	}
)

func (RefreshStart) event()    {}
func (RefreshDone) event()     {}
func (ImportStart) event()     {}
func (ImportDone) event()      {}
func (Planned) event()         {}
func (ApplyStart) event()      {}
func (ApplyDone) event()       {}
func (ObjectStored) event()    {}
func (ObjectMoved) event()     {}
func (ProvisionStart) event()  {}
func (ProvisionOutput) event() {}
func (ProvisionDone) event()   {}
func (EphemeralStart) event()  {}
func (EphemeralDone) event()   {}
