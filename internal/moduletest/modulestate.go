package moduletest

import (
	"context"
	"maps"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// moduleState is the state that the runs of one module in a file share. It separates mocked objects
// from real ones. If a run mocks a resource for which an earlier run created a real object, the
// real object is set aside. If a later run doesn't mock the resource, the object is put back.
// Otherwise it is destroyed at the end.
type moduleState struct {
	state  *states.State
	mocked map[addrs.AbsInstance]bool       // mocked objects in the state
	aside  map[addrs.AbsInstance]realObject // real objects that are not in the state
	last   *execution                       // last run that applied changes to the state, or nil
	order  int                              // position of last among all runs
	stored Stored                           // where real objects are stored after each run; may be nil
}

// realObject is a real instance that was set aside, and the last run that used it.
type realObject struct {
	instance *states.Instance
	provider addrs.AbsProviderConfig
	last     *execution
}

// module returns the moduleState of the module under test. The first run that uses it may say where it
// is stored.
func (e *execution) module(ctx context.Context) (*moduleState, error) {
	key, block := e.stateKey(), e.run.Backend
	m := e.modules[key]
	switch {
	case m == nil:
		m = &moduleState{state: states.New(), mocked: map[addrs.AbsInstance]bool{},
			aside: map[addrs.AbsInstance]realObject{}}
		if block != nil {
			stored, err := e.Open(ctx, block)
			if err != nil {
				return nil, err
			}
			m.stored, m.state = stored, stored.State().Clone()
		}
		e.modules[key] = m
	case block != nil:
		return nil, tfdiags.Errorf("Late backend block", "An earlier run has used the state of this run. Put the backend "+
			"block into the first run that uses it, or set state_key to use another state.").At(block.Range)
	}
	return m, nil
}

// stateKey is the key of the state that a run uses.
type stateKey struct{ module, named string }

// stateKey returns the key of the run's state: its state_key or, without one, the module.
func (e *execution) stateKey() stateKey {
	if e.run.StateKey != "" {
		return stateKey{named: e.run.StateKey}
	}
	return stateKey{module: e.subject.key}
}

// attempt holds the initial state of a run. If the run applies, mocked and aside become the new
// content of moduleState.
type attempt struct {
	prior  *states.State
	mocked map[addrs.AbsInstance]bool
	aside  map[addrs.AbsInstance]realObject
}

// prepare returns the initial state of a run. It sets real objects aside and puts them back,
// according to what the run mocks.
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

// take stores the state that a run's apply returned.
func (m *moduleState) take(ctx context.Context, e *execution, a *attempt, st *states.State) error {
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
	return m.store(ctx)
}

// store stores the real objects, including those that were set aside, if the state has a place.
func (m *moduleState) store(ctx context.Context) error {
	if m.stored == nil {
		return nil
	}
	return m.stored.Store(ctx, m.kept())
}

// kept returns all real objects.
func (m *moduleState) kept() *states.State {
	st := m.real()
	for addr, obj := range m.aside {
		putBack(st, addr, obj)
	}
	return st
}

// real returns a copy of the state that contains only real managed objects.
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
