package moves

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// Results describes the moves that Apply has carried out. A nil pointer means that nothing was
// moved.
type Results struct {
	From    map[addrs.AbsInstance]addrs.AbsInstance // former address by new address
	sources map[addrs.AbsInstance]*Source           // origins of objects with a new type or provider, by new address
	blocked []blockedMove
	by      map[addrs.AbsInstance]*statement // the last moved block that moved an object, by new address
	Cycle   error                            // set if the explicit statements form a cycle; nothing is moved then
}

// Source describes the origin of an object whose resource type or provider has changed.
type Source struct {
	Addr     addrs.AbsInstance
	Provider addrs.AbsProviderConfig
}

type blockedMove struct{ want, at string }

// All returns the former addresses of all moved instances by their new addresses.
func (m *Results) All() map[addrs.AbsInstance]addrs.AbsInstance {
	if m == nil {
		return nil
	}
	return m.From
}

// Previous returns the former address of the instance at addr, or nil if it was not moved.
func (m *Results) Previous(addr addrs.AbsInstance) *addrs.AbsInstance {
	if m == nil {
		return nil
	}
	if from, ok := m.From[addr]; ok {
		return &from
	}
	return nil
}

// Retyped reports whether the resource type or provider of the object at addr has changed.
func (m *Results) Retyped(addr addrs.AbsInstance) bool { return m.Source(addr) != nil }

// Source returns the origin of the object at addr if its resource type or provider has changed.
// Otherwise it returns nil.
func (m *Results) Source(addr addrs.AbsInstance) *Source {
	if m == nil {
		return nil
	}
	return m.sources[addr]
}

// warnOfBlocked warns about the moves that were not possible.
func (m *Results) warnOfBlocked(warn tfdiags.Sink) {
	if len(m.blocked) == 0 {
		return
	}
	var b strings.Builder
	for _, x := range m.blocked {
		fmt.Fprintf(&b, "\n  - %s could not move to %s", x.at, x.want)
	}
	warn(tfdiags.Warningf("Unresolved resource instance address changes",
		"These objects keep their old addresses, because another object has the new address:%s\n\n"+
			"The plan uses the old addresses. To resolve this, move one object of each pair away with \"tofu "+
			"state mv\".", b.String()))
}

// statement is a moved block, or a move that is implied by adding or removing count.
type statement struct {
	from, to endpoint
	depth    int // number of leading steps that name the declaring module, in any of its instances
	implied  bool
	away     string // the root module to which the objects move; "" within one
	rng      hcl.Range
}

// endpoint is one end of a move: the absolute address of a resource or module. It refers to this
// address in every instance of the declaring module.
type endpoint struct {
	steps []endStep
	res   addrs.Resource // zero for a module
	key   addrs.InstanceKey
	whole bool // whether the address of a resource has no key and so refers to all instances
}

// endStep is a step in an endpoint's module path. If anyKey is set, it matches all keys. anyKey is
// set in the steps of the declaring module, and in the last step of a module address without a key.
type endStep struct {
	name   string
	key    addrs.InstanceKey
	anyKey bool
}

func (e *endpoint) isModule() bool { return e.res == addrs.Resource{} }

func (e *endpoint) last() *endStep { return &e.steps[len(e.steps)-1] }

// module returns the static path of the endpoint's module, or of the module of its resource.
func (e *endpoint) module() addrs.Module { return pathOf(e.steps) }

func pathOf(steps []endStep) addrs.Module {
	var m addrs.Module
	for _, s := range steps {
		m = m.Child(s.name)
	}
	return m
}

func (e *endpoint) String() string {
	var m addrs.ModuleInstance
	for _, s := range e.steps {
		m = m.Child(s.name, s.key)
	}
	return addrs.Target{Module: m, Resource: e.res, Key: e.key, HasKey: !e.isModule() && !e.whole}.String()
}

// newEndpoint returns the endpoint for an address in a block of the given module.
func newEndpoint(in addrs.Module, t addrs.Target) endpoint {
	var e endpoint
	for _, name := range in.Names() {
		e.steps = append(e.steps, endStep{name: name, anyKey: true})
	}
	for _, s := range t.Module.Steps() {
		e.steps = append(e.steps, endStep{name: s.Name, key: s.Key})
	}
	if t.IsModule() {
		e.last().anyKey = e.last().key == addrs.NoKey
		return e
	}
	e.res, e.key, e.whole = t.Resource, t.Key, !t.HasKey
	return e
}

// covers reports whether two steps may refer to the same module instance.
func (s endStep) covers(o endStep) bool {
	return s.name == o.name && (s.key == o.key || s.anyKey || o.anyKey)
}

// overlaps reports whether two endpoints may refer to the same object.
func (e *endpoint) overlaps(o *endpoint) bool {
	for i := range min(len(e.steps), len(o.steps)) {
		if !e.steps[i].covers(o.steps[i]) {
			return false
		}
	}
	switch {
	case e.isModule() && len(e.steps) <= len(o.steps), o.isModule() && len(o.steps) <= len(e.steps):
		return true
	}
	return len(e.steps) == len(o.steps) && e.res == o.res && (e.whole || o.whole || e.key == o.key)
}

// collect returns the move statements of all modules.
func collect(cfg *configs.Config) []*statement {
	var out []*statement
	for _, mv := range cfg.Module.Moved {
		out = append(out, &statement{from: newEndpoint(cfg.Path, mv.From), to: newEndpoint(cfg.Path, mv.To),
			depth: len(cfg.Path.Names()), rng: mv.Range})
	}
	for _, name := range sortedNames(cfg.Children) {
		out = append(out, collect(cfg.Children[name])...)
	}
	return out
}

// leaving returns the moves of the root module's objects to other root modules.
func leaving(cfg *configs.Config) []*statement {
	var out []*statement
	for _, mv := range cfg.Module.RootMoves {
		if mv.Leaves {
			out = append(out, &statement{from: newEndpoint(cfg.Path, mv.From), to: newEndpoint(cfg.Path, mv.To),
				away: mv.Root, rng: mv.Range})
		}
	}
	return out
}

// Apply returns a copy of the state in which every object has the address that the configuration's
// moved blocks specify. Statements are applied one after the other, so a statement also moves
// objects that earlier statements have moved to its starting address. Objects to which no statement
// applies are not changed. Apply doesn't change the given state. If there are no statements, or if
// they form a cycle, it returns the given state itself.
func Apply(cfg *configs.Config, state *states.State, warn tfdiags.Sink) (*states.State, *Results) {
	results := &Results{From: map[addrs.AbsInstance]addrs.AbsInstance{}, sources: map[addrs.AbsInstance]*Source{},
		by: map[addrs.AbsInstance]*statement{}}
	explicit := collect(cfg)
	ordered, err := sortStatements(explicit)
	if err != nil {
		results.Cycle = err
		return state, results
	}
	if implied := impliedMoves(cfg, state); len(implied) > 0 {
		ordered = insertImplied(ordered, implied)
	}
	if len(ordered) == 0 {
		return state, results
	}
	m := newMover(cfg, state.Clone(), results)
	m.explicit = newExplicitEnds(explicit)
	for _, st := range ordered {
		m.apply(st)
	}
	results.warnOfBlocked(warn)
	return m.state, results
}

// impliedMoves returns the moves that are implied when count is added to or removed from a resource
// or module call: between the instance without a key and the instance with index 0. Only moves of
// objects in the state are returned. Outer modules come first.
func impliedMoves(cfg *configs.Config, state *states.State) []*statement {
	w := impliedFinder{cfg: cfg, seen: map[endKey]bool{}}
	for r := range state.Resources() {
		steps := r.Addr.Module.Steps()
		c := cfg
		for i, step := range steps {
			c = c.Children[step.Name]
			if c == nil {
				break
			}
			w.call(c, i, step)
		}
		if c != nil {
			w.resource(c, r)
		}
	}
	slices.SortFunc(w.out, func(a, b *statement) int {
		if n := len(a.from.steps) - len(b.from.steps); n != 0 {
			return n
		}
		return strings.Compare(a.from.String(), b.from.String())
	})
	return w.out
}

// endKey identifies an endpoint or a group of endpoints.
type endKey struct {
	module addrs.Module
	res    addrs.Resource
	key    addrs.InstanceKey
	anyKey bool
}

type impliedFinder struct {
	cfg  *configs.Config
	seen map[endKey]bool
	out  []*statement
}

func (w *impliedFinder) call(c *configs.Config, depth int, step addrs.Step) {
	to, ok := impliedKey(c.Call.Count, c.Call.ForEach, step.Key)
	if id := (endKey{module: c.Path, key: step.Key}); ok && !w.seen[id] {
		w.seen[id] = true
		end := newEndpoint(c.Path, addrs.Target{})
		st := &statement{
			from:    end,
			to:      endpoint{steps: slices.Clone(end.steps)},
			depth:   depth,
			implied: true,
			rng:     c.Call.Range,
		}
		*st.from.last() = endStep{name: step.Name, key: step.Key}
		*st.to.last() = endStep{name: step.Name, key: to}
		w.out = append(w.out, st)
	}
}

func (w *impliedFinder) resource(c *configs.Config, r *states.Resource) {
	rc := c.Module.Resources[r.Addr.Resource]
	if rc == nil {
		return
	}
	for _, key := range []addrs.InstanceKey{addrs.NoKey, addrs.IntKey(0)} {
		to, ok := impliedKey(rc.Count, rc.ForEach, key)
		id := endKey{module: c.Path, res: r.Addr.Resource, key: key}
		if !ok || r.Instances[key] == nil || w.seen[id] {
			continue
		}
		w.seen[id] = true
		from := addrs.Target{Resource: r.Addr.Resource, Key: key, HasKey: true}
		target := from
		target.Key = to
		w.out = append(w.out, &statement{from: newEndpoint(c.Path, from), to: newEndpoint(c.Path, target),
			depth: len(c.Path.Names()), implied: true, rng: rc.Range})
	}
}

// impliedKey returns the key that an instance with the given key gets when count is added to its block
// or removed from it. It returns false if the instance keeps its key.
func impliedKey(count, forEach hcl.Expression, key addrs.InstanceKey) (addrs.InstanceKey, bool) {
	switch {
	case count != nil && key == addrs.NoKey:
		return addrs.IntKey(0), true
	case count == nil && forEach == nil && key == addrs.IntKey(0):
		return addrs.NoKey, true
	}
	return addrs.NoKey, false
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
