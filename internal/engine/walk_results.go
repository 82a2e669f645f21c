package engine

import (
	"cmp"
	"slices"
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
)

// moduleResult holds the results of a walk for one module. The node of the module writes it before
// any node in the module is visited.
type moduleResult struct {
	mu                   sync.RWMutex // guards both, in calls that several nodes expand
	declared, undeclared instanceList
}

// instanceList holds instances of a module.
type instanceList struct {
	all []*moduleInstance
	at  map[addrs.ModuleInstance]*moduleInstance
}

// resourceResult holds the results of a walk for one resource. The resource's instances are in
// moduleInstance.resources instead.
type resourceResult struct {
	pending pendingChanges

	deferralOnce sync.Once
	deferral     *deferral // for data sources and ephemeral resources, set when first needed

	importsOnce sync.Once
	imports     map[addrs.AbsInstance]*importRequest         // evaluated import targets
	importKeys  map[addrs.ModuleInstance][]addrs.InstanceKey // of imports, if the configuration is generated
	importsErr  error

	importElements int // number of elements in the for_each of the last import block
}

// moduleTree holds the instances of all modules.
type moduleTree []moduleResult

// of returns the instances of a module.
func (t moduleTree) of(m *reads.Module) []*moduleInstance { return t[m.Index].declared.all }

// at returns the instance of module m at the given address, or nil.
func (t moduleTree) at(m *reads.Module, addr addrs.ModuleInstance) *moduleInstance {
	t[m.Index].mu.RLock()
	defer t[m.Index].mu.RUnlock()
	return t[m.Index].declared.at[addr]
}

// missing returns the outermost module instance on the way from the root module to addr that does not
// exist. The configuration has all of the calls.
func (t moduleTree) missing(root *reads.Module, addr addrs.ModuleInstance) plans.MissingModule {
	m, at := root, addrs.RootInstance
	for _, step := range addr.Steps() {
		m, at = m.Calls[step.Name], at.Child(step.Name, step.Key)
		if t.at(m, at) == nil {
			return plans.MissingModule{At: at, Call: m.Repetition.Argument()}
		}
	}
	return plans.MissingModule{}
}

// sort sorts the instances of a module by address.
func (t moduleTree) sort(m *reads.Module) {
	slices.SortFunc(t[m.Index].declared.all, func(a, b *moduleInstance) int { return cmp.Compare(a.addr, b.addr) })
}

// within returns the instances of module m that are inside a module instance. call is the address
// of this module instance, which may itself be an instance of m.
func (t moduleTree) within(m *reads.Module, call addrs.ModuleInstance) []*moduleInstance {
	if in := t.at(m, call); in != nil || m.Parent == nil {
		return slices.DeleteFunc([]*moduleInstance{in}, func(in *moduleInstance) bool { return in == nil })
	}
	var out []*moduleInstance
	for _, parent := range t.within(m.Parent, call) {
		if calls := parent.calls[m.CallSlot]; calls != nil {
			out = append(out, calls.of...)
		}
	}
	return out
}

// add adds an instance of a module.
func (t moduleTree) add(in *moduleInstance) {
	res := &t[in.module.Index]
	res.mu.Lock()
	defer res.mu.Unlock()
	list := &res.declared
	if in.undeclared {
		list = &res.undeclared
	}
	if list.at == nil {
		list.at = map[addrs.ModuleInstance]*moduleInstance{}
	}
	list.all = append(list.all, in)
	list.at[in.addr] = in
}

// undeclared returns the instances of a module that the configuration no longer declares, as far as
// their values may be needed.
func (t moduleTree) undeclared(m *reads.Module) []*moduleInstance { return t[m.Index].undeclared.all }

// undeclaredAt returns the undeclared instance of module m at the given address. If its values were
// not needed before, they are unknown.
func (t moduleTree) undeclaredAt(m *reads.Module, addr addrs.ModuleInstance) *moduleInstance {
	t[m.Index].mu.RLock()
	defer t[m.Index].mu.RUnlock()
	if in := t[m.Index].undeclared.at[addr]; in != nil {
		return in
	}
	return newModuleInstance(m, addr)
}

func (w *walk) result(r *reads.Resource) *resourceResult { return &w.resources[r.Index] }
