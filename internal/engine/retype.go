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
	"tofu/internal/configschema"
	"tofu/internal/engine/graph"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
)

// Limits of the search for objects that could be moved to another resource type.
const (
	maxRetypesAsked  = 10 // pairs of resources about which providers are asked, in the whole plan
	maxRetypeSources = 20 // sources compared with each target: those of its module, and again as many with its name
	maxRetypeObjects = 10 // objects of each source that are considered
)

// retypes finds resources that could be moved to another resource type. Sources are resources in
// the state that the configuration no longer declares. Targets are blocks of another type in the
// same module that have the same name or share many values. For the most similar pairs of source
// and target, retypes asks the target's provider whether it can move one of the objects.
type retypes struct {
	w       *walk
	once    sync.Once
	sources map[*graph.Module][]*retypeSource     // at most maxRetypeSources for each module
	named   map[sourceName][]*retypeSource        // at most maxRetypeSources for each name
	targets map[*graph.Provider][]*graph.Resource // all blocks in modules with sources

	mu     sync.Mutex
	asked  int
	paired map[*graph.Resource]bool // the sources and targets of the pairs in found
	found  []plans.Retype
}

// retypeSource is a source with some of its objects.
type retypeSource struct {
	*graph.Resource
	objects []retypeObject
}

type retypeObject struct {
	addr   addrs.AbsInstance
	prior  *states.Resource
	obj    *states.Object
	values func() map[any]bool // the set of attribute values that are strings or json.Numbers
}

type sourceName struct {
	module *graph.Module
	name   string
}

// retype is a pair of a source and a target, with an object of the source. The target plans to
// create an object with the same instance key.
type retype struct {
	from *retypeSource
	to   *graph.Resource
	retypeObject
	change     *plans.InstanceChange // the planned creation of the target's object
	similarity float64               // from sharedValues, plus 1 if the names are equal
}

// offer asks a provider, before it is closed, which sources it can move to its resources.
func (t *retypes) offer(ctx context.Context, p *graph.Provider) {
	w := t.w
	if w.op.Phase != graph.PhasePlan || w.op.Mode != plans.Normal || w.op.PreDestroy || p.Schema == nil ||
		!p.Schema.MoveResource {
		return
	}
	t.once.Do(func() { t.findResources(w.graph) })
	for _, pair := range t.pairs(t.targets[p]) {
		if t.ask(pair) && t.supports(ctx, pair) {
			t.accept(pair)
		}
	}
}

// findResources finds the sources and targets.
func (t *retypes) findResources(g *graph.Graph) {
	t.sources, t.targets = map[*graph.Module][]*retypeSource{}, map[*graph.Provider][]*graph.Resource{}
	t.named, t.paired = map[sourceName][]*retypeSource{}, map[*graph.Resource]bool{}
	for _, r := range g.Resources {
		if r.Config != nil || g.Removals[r] != nil || r.Addr.Resource.Mode != addrs.Managed {
			continue
		}
		source := &retypeSource{r, someObjects(r)}
		if len(source.objects) == 0 {
			continue
		}
		name := sourceName{r.Module, r.Addr.Resource.Name}
		if len(t.named[name]) < maxRetypeSources { // resources of many types can share one name
			t.named[name] = append(t.named[name], source)
		}
		if len(t.sources[r.Module]) < maxRetypeSources {
			t.sources[r.Module] = append(t.sources[r.Module], source)
		}
	}
	for _, r := range g.Resources {
		isManaged := r.Config != nil && r.Addr.Resource.Mode == addrs.Managed
		if isManaged && r.Provider != nil && len(t.sources[r.Module]) > 0 {
			t.targets[r.Provider] = append(t.targets[r.Provider], r)
		}
	}
}

// someObjects returns up to maxRetypeObjects current objects of a resource.
func someObjects(r *graph.Resource) []retypeObject {
	var out []retypeObject
	for _, prior := range r.Prior {
		for _, key := range prior.SortedKeys() {
			if len(out) == maxRetypeObjects {
				return out
			}
			if obj := prior.Instances[key].Current; obj != nil && obj.Flatmap == nil {
				values := sync.OnceValue(func() map[any]bool { return storedValues(obj) })
				out = append(out, retypeObject{prior.Addr.Instance(key), prior, obj, values})
			}
		}
	}
	return out
}

// ask reports whether a provider may be asked about a pair. If so, it counts the pair toward
// maxRetypesAsked.
func (t *retypes) ask(pair retype) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asked == maxRetypesAsked || t.paired[pair.from.Resource] || t.paired[pair.to] {
		return false
	}
	t.asked++
	return true
}

func (t *retypes) accept(pair retype) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.paired[pair.from.Resource], t.paired[pair.to] = true, true
	t.found = append(t.found, plans.Retype{From: pair.from.Addr, To: pair.to.Addr})
}

// pairs returns the pairs of the given targets that are similar enough. Pairs with equal names come
// before all others. Within each of these two groups, the most similar pairs come first.
func (t *retypes) pairs(list []*graph.Resource) []retype {
	var out []retype
	for _, to := range list {
		sameName := t.named[sourceName{to.Module, to.Addr.Resource.Name}]
		for i, from := range slices.Concat(sameName, t.sources[to.Module]) {
			sameType := from.Addr.Resource.Type == to.Addr.Resource.Type
			if sameType || i >= len(sameName) && slices.Contains(sameName, from) {
				continue
			}
			pair, ok := t.movable(from, to)
			if !ok {
				continue
			}
			pair.similarity = sharedValues(pair.values(), pair.change.After, to.Schema.Block)
			if i < len(sameName) {
				pair.similarity++
			}
			if pair.similarity >= minSimilarity {
				out = append(out, pair)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b retype) int { return cmp.Compare(b.similarity, a.similarity) })
	return out
}

// minSimilarity is the smallest similarity for which a provider is asked about resources with
// different names.
const minSimilarity = 0.5

// supports reports whether the provider can move the object of a pair and the result is mostly
// equal to the planned object. Many providers move only the identifying attributes and set the rest
// when they read the object. For this reason, the result is read before the comparison, unless
// refreshing is disabled.
func (t *retypes) supports(ctx context.Context, pair retype) bool {
	w, change := t.w, pair.change
	impl, running := w.providers.get(pair.to.Provider, change.Provider.Key)
	if !running || impl == nil || w.halt.isSet() {
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
	if equal := mostlyEqual(resp.State, change.After, schema); equal || w.op.skipRefresh {
		return equal
	}
	read := callProvider(w.calls, prov, "ReadResource", change.Addr, func() providers.ReadResponse {
		return impl.ReadResource(ctx, providers.ReadRequest{Type: pair.to.Addr.Resource.Type, Prior: resp.State,
			Private: resp.Private, Identity: resp.Identity})
	})
	return !read.Diagnostics.HasErrors() && isObject(read.State, schema) &&
		mostlyEqual(read.State, change.After, schema)
}

// isObject reports whether a value is an object that conforms to a schema.
func isObject(v cty.Value, schema *configschema.Block) bool {
	return v != cty.NilVal && !v.IsNull() && len(v.Type().TestConformance(schema.ImpliedType())) == 0
}

// movable returns the pair of a source and a target. It uses the first object of the source whose
// instance key the target plans to create. It returns false if the source has no such object.
func (t *retypes) movable(from *retypeSource, to *graph.Resource) (retype, bool) {
	for _, old := range from.objects {
		c := t.w.out.change(to.Addr.Resource.InInstance(old.addr.Module).Instance(old.addr.Key))
		if c != nil && c.Action == plans.Create && c.Importing == nil {
			return retype{from: from, to: to, retypeObject: old, change: c}, true
		}
	}
	return retype{}, false
}

// plannedArguments calls f with the arguments of a planned object that are known and not empty. It
// skips attributes that only the provider can set, because they don't show whether two objects are
// similar. computed reports whether the provider may set the argument too, for example to a
// default.
func plannedArguments(
	planned cty.Value, schema *configschema.Block, f func(name string, want cty.Value, computed bool),
) {
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

// mostlyEqual reports whether an object has the same values as a planned object for at least three
// quarters of the known arguments. Arguments that are missing in v, and that the provider can set
// to a default, don't count.
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

// storedValues returns the strings and numbers (as json.Number) among the attributes of a stored
// object. An object that can't be decoded has none.
func storedValues(obj *states.Object) map[any]bool {
	var stored map[string]any
	d := json.NewDecoder(bytes.NewReader(obj.Attrs))
	d.UseNumber()
	if err := d.Decode(&stored); err != nil {
		return nil
	}
	out := map[any]bool{}
	for _, v := range stored {
		switch v.(type) {
		case string, json.Number:
			out[v] = true
		}
	}
	return out
}

// sharedValues returns the share, from 0 to 1, of a planned object's known arguments whose values
// also occur in a stored object. The names of the attributes don't matter. An argument that the
// provider can set to a default is ignored if its value doesn't occur there.
func sharedValues(stored map[any]bool, planned cty.Value, schema *configschema.Block) float64 {
	known, same := 0, 0
	plannedArguments(planned, schema, func(_ string, want cty.Value, computed bool) {
		found := want.Type() == cty.String && stored[want.AsString()] ||
			want.Type() == cty.Number && stored[json.Number(want.AsBigFloat().Text('f', -1))]
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

// moveRequest returns a request to move a stored object to another resource type. typ is the
// present type of the object, and from is its provider.
func moveRequest(
	from addrs.AbsProviderConfig, typ string, obj *states.Object, to *graph.Resource,
) providers.MoveRequest {
	return providers.MoveRequest{
		SourceProvider: from.Provider.String(), SourceType: typ, SourceSchemaVersion: obj.SchemaVersion,
		SourceJSON: obj.Attrs, SourcePrivate: obj.Private, SourceIdentity: obj.Identity,
		SourceIdentityVersion: obj.IdentityVersion, TargetType: to.Addr.Resource.Type,
	}
}
