package addrs

// Target is what -target, -exclude, -replace and state commands name: a module, a module instance, a resource or an instance.
type Target struct {
	// Module is set always; for a resource it is the module instance that holds it.
	Module ModuleInstance
	// Resource is the zero Resource when a module is meant.
	Resource Resource
	// Key is the key of the instance that is meant. Without HasKey all instances of the resource are meant.
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

// ContainsInstance tells whether the instance belongs to the target. A module step without a key covers all instances of the module.
func (t Target) ContainsInstance(i AbsInstance) bool {
	if t.IsModule() {
		return t.coversModule(i.Module, true)
	}
	return t.Resource == i.Resource && t.coversModule(i.Module, false) && (!t.HasKey || t.Key == i.Key)
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
