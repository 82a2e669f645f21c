package engine

import (
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// Event is an event of an operation: one of the types below. Observers are called synchronously.
type Event interface{ event() }

// Object identifies the object of an event.
type Object struct {
	Addr    addrs.AbsInstance
	Deposed addrs.DeposedKey
	// IDKey and IDValue identify the object as its provider does ("id", "i-123"). They are empty if
	// the object is not identified yet.
	IDKey, IDValue string
	// From says what triggers an action, such as "after_create of aws_instance.web". It is "" for an
	// action that is requested by its address, and for all other objects.
	From string
}

type (
	// RefreshStart is sent before an object that is in the state is read.
	RefreshStart struct{ Object }
	// RefreshDone is sent after the object was read. Err, here and below, says why an operation
	// failed.
	RefreshDone struct {
		Object
		Failed bool
		Err    error
	}

	// ImportStart is sent before an object is imported during a plan.
	ImportStart struct {
		Object
		ID string
	}
	// ImportDone is sent after the object was imported.
	ImportDone struct {
		Object
		ID     string
		Failed bool
		Err    error
	}

	// Planned is sent when a change has been planned. Change is final.
	Planned struct{ Change *plans.InstanceChange }

	// Failure is sent as soon as a part of the operation has failed. The operation continues with
	// the parts that don't depend on it, and returns the error at the end.
	Failure struct{ Err error }

	// Ordered is sent before the first change of an apply. Waiters returns the instances whose
	// changes wait directly for an action on an object. It leaves out changes that don't begin because
	// another one has failed; Lost returns the number of their steps so far. Both may be called
	// during the apply, and are safe for concurrent use.
	Ordered struct {
		Waiters func(Object, plans.Action) []addrs.AbsInstance
		Lost    func() int
	}

	// ApplyStart is sent before a change is made, a data source is read or an action is invoked. Action
	// is the action of this step: Create, Update, Delete, Read or Invoke, but never a replacement. Before the observer
	// returns, it must either record the event durably or close Env.Stop. If Stop is closed, the
	// change is not made.
	ApplyStart struct {
		Object
		Action    plans.Action
		Provider  addrs.ProviderInstance
		Planned   cty.Value // the planned object, unmarked and without ephemeral values; null for a deletion
		Sensitive []cty.Path
		Builtin   bool // the provider is built in, so nothing outside of this program changes
	}
	// ApplyDone is sent after the step. If a creation, update or deletion has changed the state, an
	// ObjectStored event has already reported that.
	ApplyDone struct {
		Object
		Action  plans.Action
		Failed  bool
		Err     error
		Elapsed time.Duration
		// InDoubt says that the provider call had no usable answer, so its outcome is unknown.
		InDoubt bool
	}

	// ApplyUnneeded is sent instead of ApplyStart and ApplyDone if a planned update changes nothing,
	// because values that were not known are the old ones.
	ApplyUnneeded struct{ Object }

	// ObjectStored is sent when the stored state of an object changed. New is nil if the object was
	// removed from the state. The observer must record the event durably before it returns.
	ObjectStored struct {
		Addr     addrs.AbsInstance
		Deposed  addrs.DeposedKey
		New      *states.Object
		Provider addrs.ProviderInstance
	}

	// ObjectMoved is sent when an object is deposed so that it can be replaced, or when it is
	// restored. A single event ensures that even an incomplete record never lists the object twice,
	// as current and as deposed. From such a record, the next run would delete the deposed object
	// although it is the current one.
	ObjectMoved struct {
		Addr     addrs.AbsInstance
		From, To addrs.DeposedKey
		Object   *states.Object
		Provider addrs.ProviderInstance
	}

	// ActionProgress is a message of a provider about an action that it carries out.
	ActionProgress struct {
		Object
		Text string
	}

	// ProvisionStart is sent before a provisioner runs.
	ProvisionStart struct {
		Object
		Type string
	}
	// ProvisionOutput is one line of a provisioner's output. If the output is hidden, there is only
	// one line, which says so.
	ProvisionOutput struct {
		Object
		Type string
		Line string
	}
	// ProvisionDone is sent after a provisioner has run.
	ProvisionDone struct {
		Object
		Type   string
		Failed bool
	}

	// EphemeralStart is sent before an ephemeral object is opened, renewed or closed. Verb is
	// "open", "renew" or "close".
	EphemeralStart struct {
		Object
		Verb string
	}
	// EphemeralDone is sent after an ephemeral object was opened, renewed or closed.
	EphemeralDone struct {
		Object
		Verb   string
		Failed bool
		Err    error
	}
)

func (RefreshStart) event()    {}
func (RefreshDone) event()     {}
func (ImportStart) event()     {}
func (ImportDone) event()      {}
func (Planned) event()         {}
func (Failure) event()         {}
func (Ordered) event()         {}
func (ApplyStart) event()      {}
func (ApplyDone) event()       {}
func (ApplyUnneeded) event()   {}
func (ObjectStored) event()    {}
func (ObjectMoved) event()     {}
func (ActionProgress) event()  {}
func (ProvisionStart) event()  {}
func (ProvisionOutput) event() {}
func (ProvisionDone) event()   {}
func (EphemeralStart) event()  {}
func (EphemeralDone) event()   {}
