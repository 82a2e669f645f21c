package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs/configschema"
	"tofu/internal/engine/graph"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
)

// Limits of the search for objects that could be moved to another resource type: calls in a plan by
// which providers are asked, resources of a module that are compared with each new one, and
// instances of these that are tried.
const (
	maxRetypes     = 10
	maxGone        = 20
	maxRetypedKeys = 10
)

// retypes finds out which resources could be moved to another type: resources that the
// configuration no longer has, if a new block of another type in the same module has the same name
// or many of the same values. It asks the provider of the new type with one object per pair of
// resources, the likeliest pairs first.
type retypes struct {
	once  sync.Once
	gone  map[*graph.Module][]*gone             // at most maxGone of each module
	named map[goneName][]*gone                  // all
	new   map[*graph.Provider][]*graph.Resource // blocks in the modules that have gone resources

	mu    sync.Mutex
	asked int
	taken map[*graph.Resource]bool // resources in found
	found []plans.Retype
}

// gone is a resource that the configuration no longer has, with some of its objects.
type gone struct {
	*graph.Resource
	objects []goneObject
}

type goneObject struct {
	addr  addrs.AbsInstance
	prior *states.Resource
	obj   *states.Object
}

type goneName struct {
	module *graph.Module
	name   string
}

// retype is a pair of resources, with an object of the old one whose instance key the new one
// creates.
type retype struct {
	from *gone
	to   *graph.Resource
	goneObject
	change *plans.InstanceChange
	alike  float64 // share of the planned arguments whose values the object has
}

// offerRetypes asks a provider, before it is closed, which of the pairs it supports.
func (w *walk) offerRetypes(ctx context.Context, p *graph.Provider) {
	if w.op.Phase != graph.PhasePlan || w.op.Mode != plans.Normal || w.op.PreDestroy || p.Schema == nil ||
		!p.Schema.MoveResource {
		return
	}
	t := &w.retypes
	t.once.Do(func() { t.find(w.graph) })
	for _, pair := range w.retypePairs(t.new[p]) {
		if t.ask(pair) && w.supports(ctx, pair) {
			t.accept(pair)
		}
	}
}

// find finds the resources that may be pairs.
func (t *retypes) find(g *graph.Graph) {
	t.gone, t.new = map[*graph.Module][]*gone{}, map[*graph.Provider][]*graph.Resource{}
	t.named, t.taken = map[goneName][]*gone{}, map[*graph.Resource]bool{}
	for _, r := range g.Resources {
		if r.Config != nil || g.Removals[r] != nil || r.Addr.Resource.Mode != addrs.Managed {
			continue
		}
		old := &gone{r, someObjects(r)}
		if len(old.objects) == 0 {
			continue
		}
		name := goneName{r.Module, r.Addr.Resource.Name}
		t.named[name] = append(t.named[name], old)
		if len(t.gone[r.Module]) < maxGone {
			t.gone[r.Module] = append(t.gone[r.Module], old)
		}
	}
	for _, r := range g.Resources {
		if r.Config != nil && r.Addr.Resource.Mode == addrs.Managed && r.Provider != nil && len(t.gone[r.Module]) > 0 {
			t.new[r.Provider] = append(t.new[r.Provider], r)
		}
	}
}

// someObjects returns the first current objects of a resource.
func someObjects(r *graph.Resource) []goneObject {
	var out []goneObject
	for _, prior := range r.Prior {
		for _, key := range prior.SortedKeys() {
			if len(out) == maxRetypedKeys {
				return out
			}
			if obj := prior.Instances[key].Current; obj != nil && obj.Flatmap == nil {
				out = append(out, goneObject{prior.Addr.Instance(key), prior, obj})
			}
		}
	}
	return out
}

// ask reports whether a provider may be asked about a pair, and counts that it is.
func (t *retypes) ask(pair retype) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asked == maxRetypes || t.taken[pair.from.Resource] || t.taken[pair.to] {
		return false
	}
	t.asked++
	return true
}

func (t *retypes) accept(pair retype) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken[pair.from.Resource], t.taken[pair.to] = true, true
	t.found = append(t.found, plans.Retype{From: pair.from.Addr, To: pair.to.Addr})
}

// retypePairs returns the pairs of new resources: those with equal names first, and then the most
// alike.
func (w *walk) retypePairs(list []*graph.Resource) []retype {
	var out []retype
	for _, to := range list {
		sameName := w.retypes.named[goneName{to.Module, to.Addr.Resource.Name}]
		for i, from := range slices.Concat(sameName, w.retypes.gone[to.Module]) {
			if from.Addr.Resource.Type == to.Addr.Resource.Type || i >= len(sameName) && slices.Contains(sameName, from) {
				continue
			}
			pair, ok := w.movable(from, to)
			if !ok {
				continue
			}
			pair.alike = sharedValues(pair.obj, pair.change.After, to.Schema.Block)
			if i < len(sameName) {
				pair.alike++
			}
			if pair.alike >= minShared {
				out = append(out, pair)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b retype) int { return cmp.Compare(b.alike, a.alike) })
	return out
}

// minShared is the share of the planned arguments from which a provider is asked about resources
// with different names.
const minShared = 0.5

// supports reports whether the provider makes an object of the old type into one that is mostly as
// planned. Many providers move only what identifies an object, and set the rest when they read it.
func (w *walk) supports(ctx context.Context, pair retype) bool {
	change := pair.change
	impl, running := w.providers.get(pair.to.Provider, change.Provider.Key)
	if !running || impl == nil {
		return false
	}
	prov := &providerInstance{impl, change.Provider}
	req := moveRequest(pair.prior.Provider, pair.from.Addr.Resource.Type, pair.obj, pair.to)
	resp := callProvider(w.calls, prov, "MoveResourceState", change.Addr,
		func() providers.MoveResponse { return impl.MoveResourceState(ctx, req) })
	schema := pair.to.Schema.Block
	if resp.Diagnostics.HasErrors() || !isObject(resp.State, schema) {
		return false
	}
	if alike := mostlyEqual(resp.State, change.After, schema); alike || w.op.skipRefresh {
		return alike
	}
	read := callProvider(w.calls, prov, "ReadResource", change.Addr, func() providers.ReadResponse {
		return impl.ReadResource(ctx, providers.ReadRequest{Type: pair.to.Addr.Resource.Type, Prior: resp.State,
			Private: resp.Private, Identity: resp.Identity})
	})
	return !read.Diagnostics.HasErrors() && isObject(read.State, schema) && mostlyEqual(read.State, change.After, schema)
}

// isObject reports whether a value is an object of a schema.
func isObject(v cty.Value, schema *configschema.Block) bool {
	return v != cty.NilVal && !v.IsNull() && len(v.Type().TestConformance(schema.ImpliedType())) == 0
}

// movable returns a pair with the first object whose instance key the new resource creates. It
// reports whether there is one.
func (w *walk) movable(from *gone, to *graph.Resource) (retype, bool) {
	for _, old := range from.objects {
		c := w.out.change(to.Addr.Resource.InInstance(old.addr.Module).Instance(old.addr.Key))
		if c != nil && c.Action == plans.Create && c.Importing == nil {
			return retype{from: from, to: to, goneObject: old, change: c}, true
		}
	}
	return retype{}, false
}

// plannedArguments calls f with the known arguments of a planned object. Attributes that only the
// provider sets say nothing about whether two objects are alike. computed says that it may set this
// one, for example to a default.
func plannedArguments(planned cty.Value, schema *configschema.Block, f func(name string, want cty.Value, computed bool)) {
	planned = unmark(planned)
	for name := range planned.Type().AttributeTypes() {
		attr, want := schema.Attributes[name], planned.GetAttr(name)
		if attr != nil && attr.Computed && !attr.Optional || !want.IsWhollyKnown() || want.IsNull() ||
			want.CanIterateElements() && want.LengthInt() == 0 {
			continue
		}
		f(name, want, attr != nil && attr.Computed)
	}
}

// mostlyEqual reports whether an object has at least three quarters of the known arguments of a
// planned one. Defaults that it lacks don't count.
func mostlyEqual(v, planned cty.Value, schema *configschema.Block) bool {
	v = unmark(v)
	known, same := 0, 0
	plannedArguments(planned, schema, func(name string, want cty.Value, computed bool) {
		switch is := v.GetAttr(name); {
		case is.RawEquals(want):
			same++
			known++
		case !computed || !is.IsNull():
			known++
		}
	})
	return known > 0 && 4*same >= 3*known
}

// sharedValues returns the share of the known arguments of a planned object whose values a stored
// one has, whatever their names.
func sharedValues(obj *states.Object, planned cty.Value, schema *configschema.Block) float64 {
	var stored map[string]any
	d := json.NewDecoder(bytes.NewReader(obj.Attrs))
	d.UseNumber()
	if err := d.Decode(&stored); err != nil {
		return 0
	}
	has := map[any]bool{}
	for _, v := range stored {
		switch v.(type) {
		case string, json.Number:
			has[v] = true
		}
	}
	known, same := 0, 0
	plannedArguments(planned, schema, func(_ string, want cty.Value, computed bool) {
		found := want.Type() == cty.String && has[want.AsString()] ||
			want.Type() == cty.Number && has[json.Number(want.AsBigFloat().Text('f', -1))]
		if found {
			same++
		}
		if found || !computed {
			known++
		}
	})
	if known == 0 {
		return 0
	}
	return float64(same) / float64(known)
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
