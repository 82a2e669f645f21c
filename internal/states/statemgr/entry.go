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

// Operation is a step that asks a provider to change something.
type Operation struct {
	Addr     addrs.AbsInstance
	Deposed  addrs.DeposedKey
	Action   plans.Action
	Provider addrs.ProviderInstance
	// Planned is what the object is to become, sensitive parts marked; null for a deletion.
	Planned cty.Value
	// Builtin: the provider is part of this program and changes nothing outside; such steps aren't recorded.
	Builtin bool
	Started time.Time // set when the operation is read from a journal
}

// deletes tells whether the object is to be gone afterwards. Storing that it is gone ends such a step, storing an object the others:
// what the provider answered is known then.
func (op *Operation) deletes() bool { return op.Action == plans.Delete }

// reads tells whether the step changes nothing, so that it need not be recorded.
func (op *Operation) reads() bool {
	return op.Builtin || op.Action == plans.Read || op.Action == plans.Open
}

// entryKind is the first field of a journal's entry.
type entryKind string

const (
	beginEntry    entryKind = "begin"    // the first line: what the journal belongs to
	startEntry    entryKind = "start"    // a step starts
	storeEntry    entryKind = "store"    // an object is now this, or gone
	endEntry      entryKind = "end"      // a step ended
	snapshotEntry entryKind = "snapshot" // a snapshot of this serial is about to be put into the store
)

// entry is one line of a journal.
type entry struct {
	Kind   entryKind `json:"kind"`
	Header *header   `json:"header,omitempty"` // of begin
	Serial uint64    `json:"serial,omitempty"` // of begin and snapshot

	Addr     string           `json:"addr,omitempty"`
	Deposed  addrs.DeposedKey `json:"deposed,omitempty"`
	Provider string           `json:"provider,omitempty"`
	Object   json.RawMessage  `json:"object,omitempty"` // null: gone

	From *addrs.DeposedKey `json:"from,omitempty"` // of store: where the object was until then; nil if it wasn't elsewhere

	Action  string     `json:"action,omitempty"`
	Planned []byte     `json:"planned,omitempty"` // msgpack of value and type: it may be partly unknown
	Secret  []byte     `json:"secret,omitempty"`  // the sensitive paths, as an object with nothing else has them
	Time    *time.Time `json:"time,omitempty"`
}

// header is what the first line says.
type header struct {
	Journal   int    `json:"journal"` // version of the format
	Program   string `json:"program"`
	Who       string `json:"who"`
	PID       int    `json:"pid"`
	Process   string `json:"process"` // as locks name it
	Workspace string `json:"workspace"`
	Lineage   string `json:"lineage"`
	Exists    bool   `json:"exists"` // there was a snapshot, and the entry's serial is its
}

const journalVersion = 1

// text is the entry as JSON on one line. The object is on one line already, and may be long: it is put in as it is.
func (e *entry) text() ([]byte, error) {
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

func storing(objects *statefile.Encoder, addr addrs.AbsInstance, deposed addrs.DeposedKey, obj *states.Object, provider addrs.ProviderInstance) (*entry, error) {
	e := &entry{Kind: storeEntry, Addr: addr.String(), Deposed: deposed, Object: json.RawMessage("null")}
	if provider != (addrs.ProviderInstance{}) {
		e.Provider = provider.String()
	}
	if obj == nil {
		return e, nil
	}
	var err error
	e.Object, err = objects.Object(obj)
	return e, err
}

func starting(op *Operation) *entry {
	now := op.Started
	if now.IsZero() {
		now = time.Now().UTC()
	}
	e := &entry{Kind: startEntry, Addr: op.Addr.String(), Deposed: op.Deposed, Provider: op.Provider.String(), Action: op.Action.String(), Time: &now}
	if op.Planned == cty.NilVal || op.Planned.IsNull() {
		return e
	}
	bare, marked := op.Planned.UnmarkDeepWithPaths()
	var secret []cty.Path
	for _, pvm := range marked {
		if _, ok := pvm.Marks[marks.Sensitive]; ok {
			secret = append(secret, pvm.Path)
		}
	}
	planned, err := ctymsgpack.Marshal(bare, cty.DynamicPseudoType)
	if err == nil && secret != nil {
		e.Secret, err = statefile.EncodeObject(&states.Object{SensitivePaths: secret})
	}
	if err == nil { // otherwise there is less to tell; that the step started is what counts
		e.Planned = planned
	}
	return e
}

// object gives what a store entry says; a nil object is gone.
func (e *entry) object() (addr addrs.AbsInstance, obj *states.Object, provider addrs.ProviderInstance, err error) {
	if addr, err = e.instance(); err != nil {
		return
	}
	if e.Provider != "" {
		if provider, err = addrs.ParseProviderInstanceText(e.Provider); err != nil {
			return
		}
	}
	if string(e.Object) != "null" {
		obj, err = statefile.ParseObject(e.Object)
	}
	return
}

func (e *entry) instance() (addrs.AbsInstance, error) {
	addr, diags := addrs.ParseInstanceText(e.Addr)
	return addr, diags.Err()
}

// operation gives what a start entry says.
func (e *entry) operation() (*Operation, error) {
	addr, err := e.instance()
	if err != nil {
		return nil, err
	}
	op := &Operation{Addr: addr, Deposed: e.Deposed, Planned: cty.NullVal(cty.DynamicPseudoType)}
	if op.Provider, err = addrs.ParseProviderInstanceText(e.Provider); err != nil {
		return nil, err
	}
	for a := plans.NoOp; a <= plans.Open; a++ {
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
	if op.Planned, err = states.UnmarshalPacked(e.Planned, cty.DynamicPseudoType); err != nil {
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
