package engine

import (
	"context"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
)

// maxRetypes bounds the calls by which a plan asks providers whether they could move objects to
// another resource type.
const maxRetypes = 10

// retypes finds out which resources could be moved to another type: resources that the
// configuration no longer has, if a block of the same name and module but of another type is there
// instead. It asks the provider of the new type with one object per pair of resources.
type retypes struct {
	once  sync.Once
	pairs map[*graph.Provider][]retype // by the provider of the new type

	mu    sync.Mutex
	asked int
	found []plans.Retype
}

type retype struct{ from, to *graph.Resource }

// offerRetypes asks a provider, before it is closed, which of the pairs it supports.
func (w *walk) offerRetypes(ctx context.Context, p *graph.Provider) {
	if w.op.Phase != graph.PhasePlan || w.op.Mode != plans.Normal || w.op.PreDestroy || p.Schema == nil ||
		!p.Schema.MoveResource {
		return
	}
	w.retypes.once.Do(func() { w.retypes.pairs = retypePairs(w.graph) })
	for _, pair := range w.retypes.pairs[p] {
		if w.supports(ctx, pair) {
			w.retypes.mu.Lock()
			w.retypes.found = append(w.retypes.found, plans.Retype{From: pair.from.Addr, To: pair.to.Addr})
			w.retypes.mu.Unlock()
		}
	}
}

// retypePairs returns the candidates by the provider of the new type.
func retypePairs(g *graph.Graph) map[*graph.Provider][]retype {
	type place struct {
		in   *graph.Module
		name string
	}
	gone := map[place][]*graph.Resource{}
	for _, r := range g.Resources {
		if r.Config == nil && g.Removals[r] == nil && r.Addr.Resource.Mode == addrs.Managed && len(r.Prior) > 0 {
			at := place{r.Module, r.Addr.Resource.Name}
			gone[at] = append(gone[at], r)
		}
	}
	out := map[*graph.Provider][]retype{}
	if len(gone) == 0 {
		return out
	}
	for _, r := range g.Resources {
		if r.Config == nil || r.Addr.Resource.Mode != addrs.Managed || r.Provider == nil {
			continue
		}
		for _, from := range gone[place{r.Module, r.Addr.Resource.Name}] {
			out[r.Provider] = append(out[r.Provider], retype{from, r})
		}
	}
	return out
}

// supports reports whether the provider makes an object of the old type into one that is mostly as
// planned.
func (w *walk) supports(ctx context.Context, pair retype) bool {
	from, obj, change := w.movable(pair)
	if obj == nil {
		return false
	}
	impl, running := w.providers.get(pair.to.Provider, change.Provider.Key)
	w.retypes.mu.Lock()
	ask := running && impl != nil && w.retypes.asked < maxRetypes
	if ask {
		w.retypes.asked++
	}
	w.retypes.mu.Unlock()
	if !ask {
		return false
	}
	prov := &providerInstance{impl, change.Provider}
	resp := callProvider(w.calls, prov, "MoveResourceState", change.Addr, func() providers.MoveResponse {
		return impl.MoveResourceState(ctx, moveRequest(from.Provider, from.Addr.Resource.Type, obj, pair.to))
	})
	if resp.Diagnostics.HasErrors() || resp.State == cty.NilVal || resp.State.IsNull() ||
		len(resp.State.Type().TestConformance(pair.to.Schema.Block.ImpliedType())) > 0 {
		return false
	}
	return mostlyEqual(resp.State, change.After)
}

// movable returns an object of the old resource whose instance key the new one creates.
func (w *walk) movable(pair retype) (*states.Resource, *states.Object, *plans.InstanceChange) {
	for _, prior := range pair.from.Prior {
		abs := pair.to.Addr.Resource.InInstance(prior.Addr.Module)
		for _, key := range prior.SortedKeys() {
			obj := prior.Instances[key].Current
			if obj == nil || obj.Flatmap != nil {
				continue
			}
			if c := w.out.change(abs.Instance(key)); c != nil && c.Action == plans.Create && c.Importing == nil {
				return prior, obj, c
			}
		}
	}
	return nil, nil, nil
}

// mostlyEqual reports whether an object has at least three quarters of the values that are known
// about a planned one.
func mostlyEqual(v, planned cty.Value) bool {
	v, planned = unmark(v), unmark(planned)
	known, same := 0, 0
	for name := range planned.Type().AttributeTypes() {
		want := planned.GetAttr(name)
		if !want.IsWhollyKnown() || want.IsNull() || want.CanIterateElements() && want.LengthInt() == 0 {
			continue
		}
		known++
		if v.GetAttr(name).RawEquals(want) {
			same++
		}
	}
	return 4*same >= 3*known
}

// moveRequest returns the request to make a stored object of a type into one of another resource.
func moveRequest(
	from addrs.AbsProviderConfig, typ string, obj *states.Object, to *graph.Resource,
) providers.MoveRequest {
	return providers.MoveRequest{
		SourceProvider: from.Provider.String(), SourceType: typ, SourceSchemaVersion: obj.SchemaVersion,
		SourceJSON: obj.Attrs, SourcePrivate: obj.Private, SourceIdentity: obj.Identity,
		SourceIdentityVersion: obj.IdentityVersion, TargetType: to.Addr.Resource.Type,
	}
}
