package engine

import (
	"bytes"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// drift returns the changes that were made outside of OpenTofu since the previous run. It compares
// the refreshed state with the previous one. Unchanged objects are shared between the two states,
// so only changed ones are decoded.
func (f finisher) drift() []*plans.InstanceChange {
	w := f.w
	if w.out.prevRun == nil {
		return nil
	}
	var differing []*states.Resource
	for res := range w.out.prevRun.Resources() {
		shared := w.out.state.Resource(res.Addr) == res && len(w.op.moves.All()) == 0
		if !shared && res.Addr.Resource.Mode == addrs.Managed {
			differing = append(differing, res)
		}
	}
	slices.SortFunc(differing, func(a, b *states.Resource) int { return a.Addr.Compare(b.Addr) })
	var out []*plans.InstanceChange
	for _, res := range differing {
		r := w.graph.Resource(res.Addr.Config())
		if r == nil || r.Schema == nil {
			continue
		}
		for _, key := range res.SortedKeys() {
			if c := f.driftOf(r, res.Addr.Instance(key)); c != nil {
				out = append(out, c)
			}
		}
	}
	return out
}

// driftOf returns the change of one instance that was made outside of OpenTofu, or nil if no change
// must be reported.
func (f finisher) driftOf(r *reads.Resource, addr addrs.AbsInstance) *plans.InstanceChange {
	w := f.w
	before := w.out.prevRun.Instance(addr)
	if before == nil || before.Current == nil {
		return nil
	}
	from := w.op.moves.Previous(addr)
	after := w.out.state.Instance(addr)
	gone := after == nil || after.Current == nil
	same := !gone && (before.Current == after.Current || sameJSON(before.Current.Attrs, after.Current.Attrs) &&
		samePaths(before.Current.SensitivePaths, after.Current.SensitivePaths))
	// A refresh-only plan reports a moved instance as drift, even if nothing else changed.
	moveOnly := from != nil && w.op.Mode == plans.RefreshOnly
	if same && !moveOnly {
		return nil
	}
	ty := r.Schema.Block.ImpliedType()
	old, err := before.Current.Decode(ty)
	if err != nil {
		return nil
	}
	change := &plans.InstanceChange{
		Addr: addr, MovedFrom: from, Action: plans.Delete, Before: markStored(r.Schema.Block, old, nil),
		After:    cty.NullVal(ty),
		Provider: addrs.ProviderInstance{Config: r.Provider.Addr, Key: before.ProviderKey},
	}
	change.BeforeIdentity = identityOf(r, before.Current)
	if gone {
		return change
	}
	now, err := after.Current.Decode(ty)
	if err != nil {
		return nil
	}
	change.Action = plans.Update
	if now.RawEquals(old) {
		if !moveOnly {
			return nil
		}
		change.Action = plans.NoOp
	}
	change.AfterIdentity = identityOf(r, after.Current)
	change.After = markStored(r.Schema.Block, now, nil)
	return change
}

// refreshed reports whether the refresh changed any managed object of the previous state. Changes
// that are never shown count too.
func (f finisher) refreshed() bool {
	w := f.w
	for res := range w.out.prevRun.Resources() {
		if res.Addr.Resource.Mode != addrs.Managed {
			continue
		}
		for key, before := range res.Instances {
			after := w.out.state.Instance(res.Addr.Instance(key))
			if after == nil || !sameObject(after.Current, before.Current) {
				return true
			}
			for deposed, obj := range before.Deposed {
				if !sameObject(after.Deposed[deposed], obj) {
					return true
				}
			}
		}
	}
	return false
}

func sameObject(now, old *states.Object) bool {
	if now == old || now == nil || old == nil {
		return now == old
	}
	return sameJSON(now.Attrs, old.Attrs) && samePaths(now.SensitivePaths, old.SensitivePaths) &&
		sameJSON(now.Identity, old.Identity) &&
		bytes.Equal(now.Private, old.Private) && now.Dependencies.Equal(old.Dependencies) &&
		slices.Equal(now.DependencyInstances, old.DependencyInstances) &&
		now.SchemaVersion == old.SchemaVersion &&
		now.Status == old.Status && now.CreateBeforeDestroy == old.CreateBeforeDestroy &&
		now.SkipDestroy == old.SkipDestroy
}

// identityOf decodes an object's identity. It returns NilVal if no identity of the current schema
// version is stored.
func identityOf(r *reads.Resource, obj *states.Object) cty.Value {
	if r.Schema.Identity == nil || len(obj.Identity) == 0 || obj.IdentityVersion != r.Schema.IdentityVersion {
		return cty.NilVal
	}
	v, err := states.Unmarshal(obj.Identity, r.Schema.Identity.ImpliedType())
	if err != nil {
		return cty.NilVal
	}
	return v
}
