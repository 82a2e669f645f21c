package statemgr

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/zclconf/go-cty/cty"
	ctymsgpack "github.com/zclconf/go-cty/cty/msgpack"

	"tofu/internal/addrs"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
)

// Operation is a step in which a provider changes an object.
type Operation struct {
	Addr     addrs.AbsInstance
	Deposed  addrs.DeposedKey
	Action   plans.Action
	Provider addrs.ProviderInstance
	// Planned is the planned value with sensitive marks; null for a deletion.
	Planned cty.Value
	// From says what triggers an action. An invocation has an ID of its own for each trigger: Deposed is
	// then derived from From.
	From string
	// Builtin marks a provider that is part of this program and has no remote objects. Its steps
	// are not recorded.
	Builtin bool
	Started time.Time // set when the step is recorded
	// Moving marks the record of an object that moves between two states. No other field but the address,
	// the provider and the time is then set.
	Moving *Moving
}

// deletes reports whether the step deletes the object. Such a step ends when the object is stored
// as deleted; any other step ends when an object is stored.
func (op *Operation) deletes() bool { return op.Action == plans.Delete }

// reads reports whether the step changes nothing and therefore need not be recorded.
func (op *Operation) reads() bool {
	return op.Builtin || op.Action == plans.Read
}

// entryKind is the kind of a journal entry.
type entryKind string

const (
	beginEntry    entryKind = "begin"    // the first entry, with the header
	startEntry    entryKind = "start"    // a step starts
	storeEntry    entryKind = "store"    // an object was stored or deleted
	endEntry      entryKind = "end"      // a step ended
	snapshotEntry entryKind = "snapshot" // a snapshot with this serial is about to be written
)

// entry is one line of a journal.
type entry struct {
	Kind   entryKind `json:"kind"`
	Header *header   `json:"header,omitempty"` // only in a begin entry
	Serial uint64    `json:"serial,omitempty"` // only in a begin or snapshot entry

	Addr     string           `json:"addr,omitempty"`
	Deposed  addrs.DeposedKey `json:"deposed,omitempty"`
	Provider string           `json:"provider,omitempty"`
	Object   json.RawMessage  `json:"object,omitempty"` // null for a deleted object

	// From is only in a store entry: the former deposed key, if the object moved within its
	// instance.
	From *addrs.DeposedKey `json:"from,omitempty"`

	Action  string     `json:"action,omitempty"`
	Caller  string     `json:"triggered_by,omitempty"` // of an action; see Operation.From
	Planned []byte     `json:"planned,omitempty"`      // MessagePack with type, as the value may be partly unknown
	Secret  []byte     `json:"secret,omitempty"`       // the sensitive paths, encoded in an object without other fields
	Time    *time.Time `json:"time,omitempty"`
	Moving  *Moving    `json:"moving,omitempty"`
}

// header is the content of the begin entry.
type header struct {
	Journal   int    `json:"journal"` // format version
	Program   string `json:"program"`
	Who       string `json:"who"`
	PID       int    `json:"pid"`
	Process   string `json:"process"` // the process, in the form of processInfo
	Workspace string `json:"workspace"`
	Lineage   string `json:"lineage"`
	Exists    bool   `json:"exists"` // a snapshot with the entry's serial existed
}

const journalVersion = 1

// encode returns the entry as JSON on one line. The object is inserted without encoding it again:
// it may be long, and is on one line already.
func (e *entry) encode() ([]byte, error) {
	if len(e.Object) == 0 {
		return json.Marshal(e)
	}
	rest := *e
	rest.Object = nil
	text, err := json.Marshal(&rest)
	if err != nil {
		return nil, err
	}
	text = append(text[:len(text)-1], `,"object":`...)
	return append(append(text, e.Object...), '}'), nil
}

func newStoreEntry(o *ObjectChange) (*entry, error) {
	e := &entry{Kind: storeEntry, Addr: o.Addr.String(), Deposed: o.Deposed, Object: json.RawMessage("null")}
	if o.Provider != (addrs.ProviderInstance{}) {
		e.Provider = o.Provider.String()
	}
	if o.Object == nil {
		return e, nil
	}
	var err error
	e.Object, err = statefile.EncodeObject(o.Object)
	return e, err
}

func newStartEntry(op *Operation) *entry {
	now := op.Started
	if now.IsZero() {
		now = time.Now().UTC()
	}
	e := &entry{
		Kind:     startEntry,
		Addr:     op.Addr.String(),
		Deposed:  op.Deposed,
		Provider: op.Provider.String(),
		Action:   op.Action.String(),
		Caller:   op.From,
		Time:     &now,
		Moving:   op.Moving,
	}
	if op.Planned == cty.NilVal || op.Planned.IsNull() {
		return e
	}
	bare, marked := op.Planned.UnmarkDeepWithPaths()
	var sensitive []cty.Path
	for _, pvm := range marked {
		if _, ok := pvm.Marks[marks.Sensitive]; ok {
			sensitive = append(sensitive, pvm.Path)
		}
	}
	planned, err := ctymsgpack.Marshal(bare, cty.DynamicPseudoType)
	if err == nil && sensitive != nil {
		e.Secret, err = statefile.EncodeObject(&states.Object{SensitivePaths: sensitive})
	}
	if err == nil { // the planned value is optional, so errors are ignored
		e.Planned = planned
	}
	return e
}

func newEndEntry(id ObjectID) *entry {
	return &entry{Kind: endEntry, Addr: id.Addr.String(), Deposed: id.Deposed}
}

// object returns the contents of a store entry. The object is nil if it was deleted.
func (e *entry) object() (addr addrs.AbsInstance, obj *states.Object, provider addrs.ProviderInstance, err error) {
	addr, err = e.instance()
	if err != nil {
		return
	}
	if e.Provider != "" {
		provider, err = addrs.ParseProviderInstanceText(e.Provider)
		if err != nil {
			return
		}
	}
	if string(e.Object) != "null" {
		obj, err = statefile.ParseObject(e.Object)
	}
	return
}

func (e *entry) instance() (addrs.AbsInstance, error) {
	addr, err := addrs.ParseInstanceText(e.Addr)
	return addr, err
}

// operation returns the contents of a start entry.
func (e *entry) operation() (*Operation, error) {
	addr, err := e.instance()
	if err != nil {
		return nil, err
	}
	op := &Operation{Addr: addr, Deposed: e.Deposed, From: e.Caller, Planned: cty.NullVal(cty.DynamicPseudoType),
		Moving: e.Moving}
	op.Provider, err = addrs.ParseProviderInstanceText(e.Provider)
	if err != nil {
		return nil, err
	}
	for a := plans.NoOp; a.Valid(); a++ {
		if a.String() == e.Action {
			op.Action = a
		}
	}
	if e.Time != nil {
		op.Started = *e.Time
	}
	if e.Planned == nil {
		return op, nil
	}
	op.Planned, err = states.UnmarshalPacked(e.Planned, cty.DynamicPseudoType)
	if err != nil {
		return nil, fmt.Errorf("reading planned values: %w", err)
	}
	if e.Secret != nil {
		obj, err := statefile.ParseObject(e.Secret)
		if err != nil {
			return nil, fmt.Errorf("reading sensitive paths: %w", err)
		}
		op.Planned = states.MarkSensitive(op.Planned, obj.SensitivePaths)
	}
	return op, nil
}

// EncodeStep encodes a step that starts, for ParseStep.
func EncodeStep(op *Operation) ([]byte, error) { return newStartEntry(op).encode() }

// ParseStep reads the result of EncodeStep.
func ParseStep(text []byte) (*Operation, error) {
	e := new(entry)
	if err := json.Unmarshal(text, e); err != nil {
		return nil, err
	}
	return e.operation()
}
