package engine

import (
	"maps"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/states"
)

// mover applies statements to a state. Spots find what a statement means without looking at everything else.
type mover struct {
	state     *states.State
	results   *moveResults
	cfg       *configs.Config
	root      *spot
	mentioned map[endKey][]*endpoint       // ends of explicit statements, by path
	within    map[addrs.Module][]*endpoint // the same by each module that they lie in
}

// spot is a module instance that has something in the state.
type spot struct {
	addr      addrs.ModuleInstance
	key       addrs.InstanceKey
	parent    *spot
	children  map[string]map[addrs.InstanceKey]*spot
	resources map[addrs.Resource]bool
}

func newMover(cfg *configs.Config, state *states.State, results *moveResults) *mover {
	m := &mover{state: state, results: results, cfg: cfg, root: &spot{}, mentioned: map[endKey][]*endpoint{}, within: map[addrs.Module][]*endpoint{}}
	for r := range state.Resources() {
		m.put(r.Addr)
	}
	return m
}

func (m *mover) put(addr addrs.AbsResource) {
	p := m.root
	for _, step := range addr.Module.Steps() {
		next := p.children[step.Name][step.Key]
		if next == nil {
			next = &spot{addr: p.addr.Child(step.Name, step.Key), key: step.Key, parent: p}
			if p.children == nil {
				p.children = map[string]map[addrs.InstanceKey]*spot{}
			}
			if p.children[step.Name] == nil {
				p.children[step.Name] = map[addrs.InstanceKey]*spot{}
			}
			p.children[step.Name][step.Key] = next
		}
		p = next
	}
	if p.resources == nil {
		p.resources = map[addrs.Resource]bool{}
	}
	p.resources[addr.Resource] = true
}

// mention notes what explicit statements speak of: nothing is implied there.
func (m *mover) mention(list []*moveStatement) {
	for _, st := range list {
		for _, e := range []*endpoint{&st.from, &st.to} {
			id := endKey{module: e.module(), res: e.res}
			m.mentioned[id] = append(m.mentioned[id], e)
			for n := range e.steps {
				if in := pathOf(e.steps[:n+1]); n+1 < len(e.steps) || !e.isModule() {
					m.within[in] = append(m.within[in], e)
				}
			}
		}
	}
}

// suppressed tells whether an explicit statement speaks of either end of an implied one at a spot, or of what lies in the module
// instance that would move.
func (m *mover) suppressed(st *moveStatement, p *spot) bool {
	at := st.from
	at.steps = nil
	for _, s := range p.addr.Steps() {
		at.steps = append(at.steps, endStep{name: s.Name, key: s.Key})
	}
	if st.from.isModule() && slices.ContainsFunc(m.within[st.from.module()], func(e *endpoint) bool { return e.overlaps(&at) }) {
		return true
	}
	for _, e := range m.mentioned[endKey{module: st.from.module(), res: st.from.res}] {
		for _, end := range []*endpoint{&st.from, &st.to} {
			here := at
			if here.key = end.key; end.isModule() {
				here.steps = append(slices.Clone(at.steps[:len(at.steps)-1]), *end.last())
			}
			if e.overlaps(&here) {
				return true
			}
		}
	}
	return false
}

func (m *mover) apply(st *moveStatement) {
	for _, p := range m.root.match(st.from.steps, nil) {
		if st.implied && m.suppressed(st, p) {
			continue
		}
		if st.from.isModule() {
			m.moveModule(st, p)
		} else if p.resources[st.from.res] {
			m.moveResource(st, p)
		}
	}
}

// match lists the spots that steps lead to, sorted.
func (p *spot) match(steps []endStep, out []*spot) []*spot {
	if len(steps) == 0 {
		return append(out, p)
	}
	byKey := p.children[steps[0].name]
	if !steps[0].any {
		if next := byKey[steps[0].key]; next != nil {
			out = next.match(steps[1:], out)
		}
		return out
	}
	for _, key := range slices.SortedFunc(maps.Keys(byKey), addrs.InstanceKey.Compare) {
		out = byKey[key].match(steps[1:], out)
	}
	return out
}

// all lists the resources of a spot and everything below it, sorted.
func (p *spot) all(out []addrs.AbsResource) []addrs.AbsResource {
	for _, r := range slices.SortedFunc(maps.Keys(p.resources), addrs.Resource.Compare) {
		out = append(out, r.InInstance(p.addr))
	}
	for _, name := range sortedKeys(p.children) {
		for _, key := range slices.SortedFunc(maps.Keys(p.children[name]), addrs.InstanceKey.Compare) {
			out = p.children[name][key].all(out)
		}
	}
	return out
}

// target gives the module instance that a statement moves what is at p to; ok is false where it doesn't move that.
func (st *moveStatement) target(p *spot) (to addrs.ModuleInstance, ok bool) {
	at := p.addr.Steps()
	for i, s := range st.to.steps {
		key := s.key
		switch {
		case i < st.depth:
			key = at[i].Key
		case s.any && st.from.isModule() && st.from.last().any:
			key = p.key // a whole call moves to a whole call
		}
		to = to.Child(s.name, key)
	}
	if st.from.isModule() && st.from.last().any && p.key != addrs.NoKey && !st.to.last().any {
		return to, false
	}
	return to, true
}

func (m *mover) moveModule(st *moveStatement, p *spot) {
	to, ok := st.target(p)
	if !ok {
		return
	}
	for _, addr := range p.all(nil) {
		target := addr.Resource.InInstance(to)
		for _, step := range addr.Module.Steps()[len(st.from.steps):] {
			target.Module = target.Module.Child(step.Name, step.Key)
		}
		r := m.state.Resource(addr)
		for _, key := range r.SortedKeys() {
			m.move(r, addr.Instance(key), target.Instance(key))
		}
	}
}

func (m *mover) moveResource(st *moveStatement, p *spot) {
	module, _ := st.target(p)
	from, to := st.from.res.InInstance(p.addr), st.to.res.InInstance(module)
	r := m.state.Resource(from)
	for _, key := range r.SortedKeys() {
		switch {
		case !st.from.whole && st.from.key == key:
			m.move(r, from.Instance(key), to.Instance(st.to.key))
		case st.from.whole && st.to.whole:
			m.move(r, from.Instance(key), to.Instance(key))
		case st.from.whole && key == addrs.NoKey:
			m.move(r, from.Instance(key), to.Instance(st.to.key))
		}
	}
}

func (m *mover) move(r *states.Resource, from, to addrs.AbsInstance) {
	if from == to {
		return
	}
	inst := m.state.Instance(from)
	if m.state.Instance(to) != nil {
		m.results.blocked = append(m.results.blocked, blockedMove{want: to.String(), at: from.String()})
		return
	}
	first := from
	if prev, ok := m.results.from[from]; ok {
		first = prev
		delete(m.results.from, from)
	}
	m.noteSource(from, to, r.Provider)
	target := m.targetProvider(to, r.Provider)
	m.state.Forget(from)
	if len(r.Instances) == 0 {
		m.state.RemoveResource(from.Abs())
		m.remove(from.Abs())
	}
	m.state.EnsureResource(to.Abs(), target).Instances[to.Key] = inst
	m.put(to.Abs())
	if first != to {
		m.results.from[to] = first
	}
}

func (m *mover) remove(addr addrs.AbsResource) {
	if found := m.root.match(exactly(addr.Module), nil); len(found) == 1 {
		delete(found[0].resources, addr.Resource)
	}
}

func exactly(m addrs.ModuleInstance) []endStep {
	var out []endStep
	for _, s := range m.Steps() {
		out = append(out, endStep{name: s.Name, key: s.Key})
	}
	return out
}

// noteSource remembers where an object came from as long as it is of another type or provider there.
func (m *mover) noteSource(from, to addrs.AbsInstance, provider addrs.AbsProviderConfig) {
	source := m.results.retype[from]
	delete(m.results.retype, from)
	if source == nil {
		source = &moveSource{addr: from, provider: provider}
	}
	if source.addr.Resource.Type != to.Resource.Type {
		m.results.retype[to] = source
	}
}

// targetProvider is the provider configuration of an object's new address: its own as long as the type stays.
func (m *mover) targetProvider(to addrs.AbsInstance, had addrs.AbsProviderConfig) addrs.AbsProviderConfig {
	c := m.cfg.Descendant(to.Module.Module())
	if c == nil {
		return had
	}
	rc := c.Module.Resources[to.Resource]
	if rc == nil || rc.ProviderAddr == had.Provider {
		return had
	}
	return addrs.AbsProviderConfig{Provider: rc.ProviderAddr}
}
