package planfile

import (
	"github.com/vmihailenco/msgpack/v5"

	"tofu/internal/addrs"
	"tofu/internal/plans"
)

// deferred converts a deferred change to the form in which it is written.
func (e *encoder) deferred(d *plans.Deferred) (*wireDeferred, error) {
	out := &wireDeferred{Why: d.Why, Chain: d.Chain, Via: d.Via, Kept: d.Kept, Alone: d.Alone}
	for _, step := range d.Addr.Module.Steps() {
		key, err := toKey(step.Key)
		if err != nil {
			return nil, err
		}
		out.Module = append(out.Module, wireModuleStep{step.Name, key})
	}
	inRoot := d.InstanceChange
	inRoot.Addr.Module = addrs.RootInstance
	change, err := e.change(&inRoot)
	if err != nil {
		return nil, err
	}
	out.Change = *change
	return out, nil
}

// nextDeferred reads a deferred change.
func (d *decoder) nextDeferred(in *msgpack.Decoder) (*plans.Deferred, error) {
	var wire wireDeferred
	if err := in.Decode(&wire); err != nil {
		return nil, err
	}
	change, err := d.change(&wire.Change)
	if err != nil {
		return nil, err
	}
	for _, step := range wire.Module {
		key, err := step.Key.key()
		if err != nil {
			return nil, err
		}
		change.Addr.Module = change.Addr.Module.Child(step.Name, key)
	}
	return &plans.Deferred{InstanceChange: *change, Why: wire.Why, Chain: wire.Chain, Via: wire.Via,
		Kept: wire.Kept, Alone: wire.Alone}, nil
}
