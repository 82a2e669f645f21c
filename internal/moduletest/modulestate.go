package moduletest

import (
	"maps"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// moduleState is the state that the runs of one module in a file share. It keeps mocked and real
// objects apart. If a run mocks a resource for which an earlier run created a real object, the real
// object is set aside. It comes back if a later run doesn't mock it, and otherwise is destroyed at
// the end.
type moduleState struct {
	state  *states.State
	mocked map[addrs.AbsInstance]bool       // mocked objects in state
	aside  map[addrs.AbsInstance]realObject // real objects that are not in state
	last   *execution                       // last run that applied to state, or nil
	order  int                              // position of last among all runs
}

// realObject is a real instance that was set aside, and the last run that used it.
type realObject struct {
	instance *states.Instance
	provider addrs.AbsProviderConfig
	last     *execution
}

// module returns the state of the module under test.
func (e *execution) module() *moduleState {
	m := e.modules[e.subject.key]
	if m == nil {
		m = &moduleState{state: states.New(), mocked: map[addrs.AbsInstance]bool{},
			aside: map[addrs.AbsInstance]realObject{}}
		e.modules[e.subject.key] = m
	}
	return m
}

// attempt holds the initial state of a run, and the new content of moduleState if the run applies.
type attempt struct {
	prior  *states.State
	mocked map[addrs.AbsInstance]bool
	aside  map[addrs.AbsInstance]realObject
}

// prepare sets aside or brings back real objects according to the run's mocks.
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

// take stores the state after a run's apply.
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

// real returns the state without mocked objects, outputs and data sources. It doesn't change m.
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

// objects returns all objects in a state.
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
