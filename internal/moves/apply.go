package moves

import (
	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/states"
)

// mover applies statements to a state.
type mover struct {
	state    *states.State
	results  *Results
	cfg      *configs.Config
	root     *stateModule
	explicit explicitEnds
}

func newMover(cfg *configs.Config, state *states.State, results *Results) *mover {
	m := &mover{state: state, results: results, cfg: cfg, root: &stateModule{}}
	for r := range state.Resources() {
		m.root.insert(r.Addr)
	}
	return m
}

func (m *mover) apply(st *statement) {
	for _, p := range m.root.match(st.from.steps, nil) {
		if st.implied && m.explicit.suppress(st, p) {
			continue
		}
		if st.from.isModule() {
			m.moveModule(st, p)
		} else if p.resources[st.from.res] {
			m.moveResource(st, p)
		}
	}
}

// target returns the module instance to which the statement moves the content of the module
// instance p. It returns false if the statement does not apply to p.
func (st *statement) target(p *stateModule) (to addrs.ModuleInstance, ok bool) {
	at := p.addr.Steps()
	for i, s := range st.to.steps {
		key := s.key
		switch {
		case i < st.depth:
			key = at[i].Key
		case s.anyKey && st.from.isModule() && st.from.last().anyKey:
			key = p.key // moving a whole module call keeps the keys of its instances
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
			m.move(st, r, addr.Instance(key), target.Instance(key))
		}
	}
}

func (m *mover) moveResource(st *statement, p *stateModule) {
	module, _ := st.target(p)
	from, to := st.from.res.InInstance(p.addr), st.to.res.InInstance(module)
	r := m.state.Resource(from)
	if st.from.whole && st.to.whole {
		for _, key := range r.SortedKeys() {
			m.move(st, r, from.Instance(key), to.Instance(key))
		}
		return
	}
	if r.Instances[st.from.key] != nil { // without a key if the whole resource moves to one instance
		m.move(st, r, from.Instance(st.from.key), to.Instance(st.to.key))
	}
}

func (m *mover) move(st *statement, r *states.Resource, from, to addrs.AbsInstance) {
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
	by := m.results.by[from]
	if !st.implied {
		by = st
	}
	delete(m.results.by, from)
	if by != nil {
		m.results.by[to] = by
	}
	m.state.Forget(from)
	if len(m.state.Resource(from.Abs()).Instances) == 0 {
		m.state.RemoveResource(from.Abs())
		m.root.remove(from.Abs())
	}
	m.state.SetInstance(to, inst, target)
	m.root.insert(to.Abs())
	if first != to {
		m.results.From[to] = first
	}
}

// noteSource records the former address of an object if its new resource has another type or
// provider. It ignores a change of provider if the object stays in the same resource.
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

// targetProvider returns the provider configuration for an object at its new address. It is the
// object's old configuration, unless the new resource belongs to another provider.
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
