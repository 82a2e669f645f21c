package addrs

// Target is an address in -target, -exclude, -replace or a state command: a module, module
// instance, resource or resource instance.
type Target struct {
	// Module is always set; for a resource it is the module instance that contains it.
	Module ModuleInstance
	// Resource is zero if the target is a module.
	Resource Resource
	// Key is the instance key. If HasKey is false, the target is the whole resource.
	Key    InstanceKey
	HasKey bool
}

// IsModule reports whether the target is a module.
func (t Target) IsModule() bool { return t.Resource == Resource{} }

func (t Target) String() string {
	if t.IsModule() {
		return string(t.Module)
	}
	s := joinDot(string(t.Module), t.Resource.String())
	if t.HasKey {
		s += t.Key.String()
	}
	return s
}

// ContainsInstance reports whether the target includes the instance. A module step without a key
// includes all instances of the module.
func (t Target) ContainsInstance(i AbsInstance) bool {
	if t.IsModule() {
		return t.coversModule(i.Module, true)
	}
	return t.Resource == i.Resource && t.coversModule(i.Module, false) && (!t.HasKey || t.Key == i.Key)
}

// coversModule reports whether the target's module is m or, if below is true, contains m. A step
// without a key matches every key.
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
