package moduletest

import (
	"maps"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// moduleState is the state that a file's runs of one module share. Objects that a run makes up are told apart from real ones: when a
// run makes up what an earlier one made for real, the real object is put aside, to come back or to be destroyed at the end.
type moduleState struct {
	state  *states.State
	mocked map[addrs.AbsInstance]bool       // what in state is made up
	aside  map[addrs.AbsInstance]realObject // what is real and not in state
	last   *execution                       // that applied to state; nil for none
	order  int                              // when that was
}

// realObject is a real instance put aside, and the last run that knew it.
type realObject struct {
	instance *states.Instance
	provider addrs.AbsProviderConfig
	last     *execution
}

// module gives the state of the module under test.
func (e *execution) module() *moduleState {
	m := e.modules[e.subject.key]
	if m == nil {
		m = &moduleState{state: states.New(), mocked: map[addrs.AbsInstance]bool{},
			aside: map[addrs.AbsInstance]realObject{}}
		e.modules[e.subject.key] = m
	}
	return m
}

// attempt is what a run starts from, and what becomes of the state's bookkeeping if the run applies.
type attempt struct {
	prior  *states.State
	mocked map[addrs.AbsInstance]bool
	aside  map[addrs.AbsInstance]realObject
}

// prepare exchanges real and made-up objects as the run's mocks want it.
func (m *moduleState) prepare(e *execution) *attempt {
	a := &attempt{prior: m.state.Clone(), mocked: maps.Clone(m.mocked), aside: maps.Clone(m.aside)}
	for _, r := range m.state.Sorted() {
		if r.Addr.Resource.Mode != addrs.Managed {
			continue
		}
		for key, inst := range r.Instances {
			addr := r.Addr.Instance(key)
			switch now := e.mocks.covers(addr, r.Provider); {
			case now && !m.mocked[addr]:
				a.aside[addr] = realObject{inst, r.Provider, m.last}
				a.mocked[addr] = true
			case !now && m.mocked[addr]:
				delete(a.mocked, addr)
				a.prior.Forget(addr)
				if obj, ok := a.aside[addr]; ok {
					delete(a.aside, addr)
					putBack(a.prior, addr, obj)
				}
			}
		}
	}
	a.prior.Prune()
	return a
}

func putBack(st *states.State, addr addrs.AbsInstance, obj realObject) {
	provider := addrs.ProviderInstance{Config: obj.provider, Key: obj.instance.ProviderKey}
	if obj.instance.Current != nil {
		st.SetCurrent(addr, obj.instance.Current, provider)
	}
	for key, deposed := range obj.instance.Deposed {
		st.SetDeposed(addr, key, deposed, provider)
	}
}

// take takes over the state that a run's apply left.
func (m *moduleState) take(e *execution, a *attempt, st *states.State) {
	m.state, m.mocked, m.aside, m.last = st, a.mocked, a.aside, e
	e.fileRun.order++
	m.order = e.fileRun.order
	present := map[addrs.AbsInstance]bool{}
	for r := range st.Resources() {
		if r.Addr.Resource.Mode != addrs.Managed {
			continue
		}
		for key := range r.Instances {
			addr := r.Addr.Instance(key)
			present[addr] = true
			if e.mocks.covers(addr, r.Provider) {
				m.mocked[addr] = true
			}
		}
	}
	maps.DeleteFunc(m.mocked, func(addr addrs.AbsInstance, _ bool) bool { return !present[addr] })
}

// real gives what is real in the state, without outputs and data.
func (m *moduleState) real() *states.State {
	out := m.state.Clone()
	for _, r := range m.state.Sorted() {
		if r.Addr.Resource.Mode != addrs.Managed {
			out.RemoveResource(r.Addr)
			continue
		}
		for key := range r.Instances {
			if addr := r.Addr.Instance(key); m.mocked[addr] {
				out.Forget(addr)
			}
		}
	}
	for _, name := range out.OutputNames() {
		out.SetOutput(name, nil)
	}
	out.Checks = nil
	out.Prune()
	return out
}

// objects lists everything in a state.
func objects(st *states.State) []Object {
	var out []Object
	for _, r := range st.Sorted() {
		if r.Addr.Resource.Mode != addrs.Managed {
			continue
		}
		for _, key := range r.SortedKeys() {
			inst := r.Instances[key]
			name := r.Addr.Instance(key).String()
			if inst.Current != nil {
				out = append(out, Object{Instance: name})
			}
			for _, deposed := range slices.Sorted(maps.Keys(inst.Deposed)) {
				out = append(out, Object{Instance: name, Deposed: string(deposed)})
			}
		}
	}
	return out
}
