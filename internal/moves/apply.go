package moves

import (
	"maps"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/states"
)

// mover applies statements to a state. It has a tree of module instances, so that it finds the
// objects of a statement without searching the whole state.
type mover struct {
	state          *states.State
	results        *Results
	cfg            *configs.Config
	root           *stateModule
	explicit       map[endKey][]*endpoint       // endpoints of explicit statements, by resource or module
	explicitWithin map[addrs.Module][]*endpoint // the same endpoints, by each module that contains them
}

// stateModule is a module instance that has objects in the state, or contains a module instance
// that has some.
type stateModule struct {
	addr      addrs.ModuleInstance
	key       addrs.InstanceKey
	parent    *stateModule
	children  map[string]map[addrs.InstanceKey]*stateModule
	resources map[addrs.Resource]bool
}

func newMover(cfg *configs.Config, state *states.State, results *Results) *mover {
	m := &mover{
		state:          state,
		results:        results,
		cfg:            cfg,
		root:           &stateModule{},
		explicit:       map[endKey][]*endpoint{},
		explicitWithin: map[addrs.Module][]*endpoint{},
	}
	for r := range state.Resources() {
		m.insert(r.Addr)
	}
	return m
}

func (m *mover) insert(addr addrs.AbsResource) {
	p := m.root
	for _, step := range addr.Module.Steps() {
		next := p.children[step.Name][step.Key]
		if next == nil {
			next = &stateModule{addr: p.addr.Child(step.Name, step.Key), key: step.Key, parent: p}
			if p.children == nil {
				p.children = map[string]map[addrs.InstanceKey]*stateModule{}
			}
			if p.children[step.Name] == nil {
				p.children[step.Name] = map[addrs.InstanceKey]*stateModule{}
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

// index records the endpoints of explicit statements, which suppress implied moves.
func (m *mover) index(list []*statement) {
	for _, st := range list {
		for _, e := range []*endpoint{&st.from, &st.to} {
			id := endKey{module: e.module(), res: e.res}
			m.explicit[id] = append(m.explicit[id], e)
			for n := range e.steps {
				if in := pathOf(e.steps[:n+1]); n+1 < len(e.steps) || !e.isModule() {
					m.explicitWithin[in] = append(m.explicitWithin[in], e)
				}
			}
		}
	}
}

// suppressed reports whether an explicit statement names either end of an implied move in p, or
// something within the module instance that would move.
func (m *mover) suppressed(st *statement, p *stateModule) bool {
	at := st.from
	at.steps = nil
	for _, s := range p.addr.Steps() {
		at.steps = append(at.steps, endStep{name: s.Name, key: s.Key})
	}
	overlaps := func(e *endpoint) bool { return e.overlaps(&at) }
	if st.from.isModule() && slices.ContainsFunc(m.explicitWithin[st.from.module()], overlaps) {
		return true
	}
	for _, e := range m.explicit[endKey{module: st.from.module(), res: st.from.res}] {
		for _, end := range []*endpoint{&st.from, &st.to} {
			here := at
			here.key = end.key
			if end.isModule() {
				here.steps = append(slices.Clone(at.steps[:len(at.steps)-1]), *end.last())
			}
			if e.overlaps(&here) {
				return true
			}
		}
	}
	return false
}

func (m *mover) apply(st *statement) {
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

// match appends the module instances that the steps lead to, sorted.
func (p *stateModule) match(steps []endStep, out []*stateModule) []*stateModule {
	if len(steps) == 0 {
		return append(out, p)
	}
	byKey := p.children[steps[0].name]
	if !steps[0].anyKey {
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

// all appends the resources in a module instance and in the module instances within it, sorted.
func (p *stateModule) all(out []addrs.AbsResource) []addrs.AbsResource {
	for _, r := range slices.SortedFunc(maps.Keys(p.resources), addrs.Resource.Compare) {
		out = append(out, r.InInstance(p.addr))
	}
	for _, name := range sortedNames(p.children) {
		for _, key := range slices.SortedFunc(maps.Keys(p.children[name]), addrs.InstanceKey.Compare) {
			out = p.children[name][key].all(out)
		}
	}
	return out
}

// target returns the module instance to which the statement moves the content of p. It returns
// false if the statement does not apply to p.
func (st *statement) target(p *stateModule) (to addrs.ModuleInstance, ok bool) {
	at := p.addr.Steps()
	for i, s := range st.to.steps {
		key := s.key
		switch {
		case i < st.depth:
			key = at[i].Key
		case s.anyKey && st.from.isModule() && st.from.last().anyKey:
			key = p.key // moving a whole call keeps the keys of its instances
		}
		to = to.Child(s.name, key)
	}
	if st.from.isModule() && st.from.last().anyKey && p.key != addrs.NoKey && !st.to.last().anyKey {
		return to, false
	}
	return to, true
}

func (m *mover) moveModule(st *statement, p *stateModule) {
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

func (m *mover) moveResource(st *statement, p *stateModule) {
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
	if prev, ok := m.results.From[from]; ok {
		first = prev
		delete(m.results.From, from)
	}
	target := m.targetProvider(to, r.Provider)
	m.noteSource(from, to, r.Provider, target)
	m.state.Forget(from)
	if len(r.Instances) == 0 {
		m.state.RemoveResource(from.Abs())
		m.remove(from.Abs())
	}
	m.state.EnsureResource(to.Abs(), target).Instances[to.Key] = inst
	m.insert(to.Abs())
	if first != to {
		m.results.From[to] = first
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

// noteSource records the former address of an object if its new resource has another type or
// provider. A move between instances of one resource does not count as a change of provider: the
// object is adopted as it is.
func (m *mover) noteSource(from, to addrs.AbsInstance, provider, target addrs.AbsProviderConfig) {
	source := m.results.sources[from]
	delete(m.results.sources, from)
	if source == nil {
		source = &Source{Addr: from, Provider: provider}
	}
	otherProvider := source.Provider.Provider != target.Provider && source.Addr.Abs() != to.Abs()
	if source.Addr.Resource.Type != to.Resource.Type || otherProvider {
		m.results.sources[to] = source
	}
}

// targetProvider returns the provider configuration for an object's new address. This is the
// object's old configuration, unless the new resource uses another provider.
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
