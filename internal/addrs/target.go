package addrs

// Target is what -target, -exclude, -replace and state commands name: a module, a module instance, a resource or an instance.
type Target struct {
	// Module is set always; for a resource it is the module instance that holds it.
	Module ModuleInstance
	// Resource is the zero Resource when a module is meant.
	Resource Resource
	// Key is the instance's key, HasKey tells NoKey from "all instances".
	Key    InstanceKey
	HasKey bool
}

// IsModule tells whether the target is a whole module.
func (t Target) IsModule() bool { return t.Resource == Resource{} }

func (t Target) String() string {
	if t.IsModule() {
		return string(t.Module)
	}
	s := dotted(string(t.Module), t.Resource.String())
	if t.HasKey {
		s += t.Key.String()
	}
	return s
}

// ContainsInstance tells whether the instance belongs to the target. A module step without key covers all its instances.
func (t Target) ContainsInstance(i AbsInstance) bool {
	if t.IsModule() {
		return t.coversModule(i.Module, true)
	}
	return t.Resource == i.Resource && t.coversModule(i.Module, false) && (!t.HasKey || t.Key == i.Key)
}

// ContainsConfig tells whether some instance of the block may belong to the target.
func (t Target) ContainsConfig(r ConfigResource) bool {
	if t.IsModule() {
		return t.Module.Module().Contains(r.Module)
	}
	return t.Resource == r.Resource && t.Module.Module() == r.Module
}

// coversModule compares step by step: a target's step without key matches every key.
func (t Target) coversModule(m ModuleInstance, below bool) bool {
	want, got := t.Module.Steps(), m.Steps()
	if len(want) > len(got) || !below && len(want) != len(got) {
		return false
	}
	for i, step := range want {
		if step.Name != got[i].Name || step.Key != NoKey && step.Key != got[i].Key {
			return false
		}
	}
	return true
}
