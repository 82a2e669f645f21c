package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// moveResults say what applying the configuration's move statements to a state did. The zero pointer means nothing.
type moveResults struct {
	from    map[addrs.AbsInstance]addrs.AbsInstance // by new address
	retype  map[addrs.AbsInstance]*moveSource       // objects that came from another resource type or provider
	blocked []blockedMove
	ring    tfdiags.Diagnostics // the explicit statements contradict one another, so that nothing was moved
}

// moveSource is where an object of another type came from.
type moveSource struct {
	addr     addrs.AbsInstance
	provider addrs.AbsProviderConfig
}

type blockedMove struct{ want, at string }

// all gives the former address of everything that was moved, by the new one.
func (m *moveResults) all() map[addrs.AbsInstance]addrs.AbsInstance {
	if m == nil {
		return nil
	}
	return m.from
}

func (m *moveResults) prev(addr addrs.AbsInstance) (addrs.AbsInstance, bool) {
	if m == nil {
		return addrs.AbsInstance{}, false
	}
	from, ok := m.from[addr]
	return from, ok
}

// origin is where the object at an address was before: there, unless it was moved.
func (m *moveResults) origin(addr addrs.AbsInstance) addrs.AbsInstance {
	if from, ok := m.prev(addr); ok {
		return from
	}
	return addr
}

func (m *moveResults) retyped(addr addrs.AbsInstance) bool { return m.source(addr) != nil }

func (m *moveResults) source(addr addrs.AbsInstance) *moveSource {
	if m == nil {
		return nil
	}
	return m.retype[addr]
}

func (m *moveResults) blockedWarning() tfdiags.Diagnostics {
	if len(m.blocked) == 0 {
		return nil
	}
	var b strings.Builder
	for _, x := range m.blocked {
		fmt.Fprintf(&b, "\n  - %s could not move to %s", x.at, x.want)
	}
	return tfdiags.Diagnostics{tfdiags.Warningf("Unresolved resource instance address changes",
		"These objects stay at their old addresses, because there is another object at the new one:%s\n\nThe plan treats them as they are. To resolve this, move one of each pair out of the way with \"tofu state mv\".", b.String())}
}

// moveStatement is a moved block, or a move that the configuration implies.
type moveStatement struct {
	from, to endpoint
	depth    int // of the declaring module: the first steps of both ends are its own, in any of its instances
	implied  bool
	rng      hcl.Range
}

// endpoint is one end of a move: a resource or module, absolute but for the instances of the declaring module.
type endpoint struct {
	steps []endStep
	res   addrs.Resource // zero for a module
	key   addrs.InstanceKey
	whole bool // of resources: no key was written, so that all instances are meant
}

// endStep is a step of an endpoint's module path; any stands for all keys: in the declaring module's own path, and in the last step
// of a module written without a key.
type endStep struct {
	name string
	key  addrs.InstanceKey
	any  bool
}

func (e *endpoint) isModule() bool { return e.res == addrs.Resource{} }

func (e *endpoint) last() *endStep { return &e.steps[len(e.steps)-1] }

// module is the static path of the module (or of the resource's).
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

// moveEnd makes an endpoint of an address that is written in a module.
func moveEnd(in addrs.Module, t addrs.Target) endpoint {
	var e endpoint
	for _, name := range in.Names() {
		e.steps = append(e.steps, endStep{name: name, any: true})
	}
	for _, s := range t.Module.Steps() {
		e.steps = append(e.steps, endStep{name: s.Name, key: s.Key})
	}
	if t.IsModule() {
		e.last().any = e.last().key == addrs.NoKey
		return e
	}
	e.res, e.key, e.whole = t.Resource, t.Key, !t.HasKey
	return e
}

// covers tells whether two steps may mean the same module instance.
func (s endStep) covers(o endStep) bool {
	return s.name == o.name && (s.key == o.key || s.any || o.any)
}

// overlaps tells whether something may lie in both, or one in the other.
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

// collectMoves lists the move statements of all modules.
func collectMoves(cfg *configs.Config) []*moveStatement {
	var out []*moveStatement
	for _, mv := range cfg.Module.Moved {
		out = append(out, &moveStatement{from: moveEnd(cfg.Path, mv.From), to: moveEnd(cfg.Path, mv.To), depth: len(cfg.Path.Names()), rng: mv.Range})
	}
	for _, name := range sortedKeys(cfg.Children) {
		out = append(out, collectMoves(cfg.Children[name])...)
	}
	return out
}

// applyMoves gives the state with every object at the address where the configuration wants it. The statements are applied in an
// order in which each sees what those before it have moved; what they don't mention is touched by nothing.
func applyMoves(cfg *configs.Config, state *states.State) (*states.State, *moveResults, tfdiags.Diagnostics) {
	results := &moveResults{from: map[addrs.AbsInstance]addrs.AbsInstance{}, retype: map[addrs.AbsInstance]*moveSource{}}
	explicit := collectMoves(cfg)
	ordered, ring := orderMoves(explicit)
	if results.ring = ring; ring.HasErrors() {
		return state, results, nil
	}
	if implied := impliedMoves(cfg, state); len(implied) > 0 {
		ordered = orderImplied(ordered, implied)
	}
	if len(ordered) == 0 {
		return state, results, nil
	}
	m := newMover(cfg, state.Clone(), results)
	m.mention(explicit)
	for _, st := range ordered {
		m.apply(st)
	}
	return m.state, results, results.blockedWarning()
}

// impliedMoves are the moves that adding or removing count implies: between an instance without a key and the first one, of a
// resource or module call. Only what the state has of one of them is considered; outer modules come first.
func impliedMoves(cfg *configs.Config, state *states.State) []*moveStatement {
	w := impliedWalk{cfg: cfg, seen: map[endKey]bool{}}
	for r := range state.Resources() {
		steps := r.Addr.Module.Steps()
		c := cfg
		for i, step := range steps {
			if c = c.Children[step.Name]; c == nil {
				break
			}
			w.call(c, i, step)
		}
		if c != nil {
			w.resource(c, r)
		}
	}
	slices.SortFunc(w.out, func(a, b *moveStatement) int {
		if n := len(a.from.steps) - len(b.from.steps); n != 0 {
			return n
		}
		return strings.Compare(a.from.String(), b.from.String())
	})
	return w.out
}

// endKey identifies one end of a move, or a group of them: a static module path, a resource in it or none, and a key.
type endKey struct {
	module addrs.Module
	res    addrs.Resource
	key    addrs.InstanceKey
	any    bool
}

type impliedWalk struct {
	cfg  *configs.Config
	seen map[endKey]bool
	out  []*moveStatement
}

func (w *impliedWalk) call(c *configs.Config, depth int, step addrs.Step) {
	to, ok := impliedKey(c.Call.Count != nil, c.Call.ForEach != nil, step.Key)
	if id := (endKey{module: c.Path, key: step.Key}); ok && !w.seen[id] {
		w.seen[id] = true
		end := moveEnd(c.Path, addrs.Target{})
		st := &moveStatement{from: end, to: endpoint{steps: slices.Clone(end.steps)}, depth: depth, implied: true, rng: c.Call.Range}
		*st.from.last() = endStep{name: step.Name, key: step.Key}
		*st.to.last() = endStep{name: step.Name, key: to}
		w.out = append(w.out, st)
	}
}

func (w *impliedWalk) resource(c *configs.Config, r *states.Resource) {
	rc := c.Module.Resources[r.Addr.Resource]
	if rc == nil {
		return
	}
	for _, key := range []addrs.InstanceKey{addrs.NoKey, addrs.IntKey(0)} {
		to, ok := impliedKey(rc.Count != nil, rc.ForEach != nil, key)
		id := endKey{module: c.Path, res: r.Addr.Resource, key: key}
		if !ok || r.Instances[key] == nil || w.seen[id] {
			continue
		}
		w.seen[id] = true
		from := addrs.Target{Resource: r.Addr.Resource, Key: key, HasKey: true}
		target := from
		target.Key = to
		w.out = append(w.out, &moveStatement{from: moveEnd(c.Path, from), to: moveEnd(c.Path, target), depth: len(c.Path.Names()), implied: true, rng: rc.Range})
	}
}

// impliedKey gives the key to which an instance moves when repetition by count comes or goes.
func impliedKey(count, forEach bool, key addrs.InstanceKey) (addrs.InstanceKey, bool) {
	switch {
	case count && key == addrs.NoKey:
		return addrs.IntKey(0), true
	case !count && !forEach && key == addrs.IntKey(0):
		return addrs.NoKey, true
	}
	return addrs.NoKey, false
}
