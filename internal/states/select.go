package states

import (
	"fmt"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
)

// Select returns the addresses of the instances that the targets cover, in the order of the module
// tree. Without targets, it returns all instances. A target that is a module without a key covers
// all instances of the module. In the address of a resource, a module without a key covers only the
// module instance without a key, because a command that changes the state must not change more than
// the user has named.
func (s *State) Select(targets []addrs.Target) []addrs.AbsInstance {
	var found []addrs.AbsInstance
	if len(targets) == 0 && s != nil {
		found = make([]addrs.AbsInstance, 0, len(s.resources)) // it is large
	}
	for _, r := range s.Sorted() { // so that the list is almost sorted before the sort below
		for _, key := range r.SortedKeys() {
			addr := r.Addr.Instance(key)
			if len(targets) == 0 || slices.ContainsFunc(targets, func(t addrs.Target) bool { return covers(t, addr) }) {
				found = append(found, addr)
			}
		}
	}
	addrs.SortByModuleTree(found, func(addr addrs.AbsInstance) addrs.AbsInstance { return addr })
	return found
}

// CountManaged returns how many instances of managed resources the state has. Instances of data sources
// don't count: they stand for nothing that would be left behind.
func (s *State) CountManaged() int {
	n := 0
	for r := range s.Resources() {
		if r.Addr.Resource.Mode == addrs.Managed {
			n += len(r.Instances)
		}
	}
	return n
}

func covers(t addrs.Target, addr addrs.AbsInstance) bool {
	return t.ContainsInstance(addr) && (t.IsModule() || t.Module == addr.Module)
}

// Holds returns a function that reports whether the state has objects at or below an address. A module
// without a key stands for all of its instances if it is the last part of the address.
func (s *State) Holds() func(addrs.Target) bool {
	known := make(map[string]bool)
	for r := range s.Resources() {
		for key := range r.Instances {
			for _, text := range Around(r.Addr.Instance(key)) {
				known[text] = true
			}
		}
	}
	return func(t addrs.Target) bool { return known[t.String()] }
}

// Around returns the addresses that include an instance: its own, that of its resource, and those of the
// modules around it, with and without their keys.
func Around(addr addrs.AbsInstance) []string {
	out := []string{addr.String(), addr.Abs().String()}
	var in addrs.ModuleInstance
	for _, step := range addr.Module.Steps() {
		out = append(out, string(in.Child(step.Name, addrs.NoKey)))
		in = in.Child(step.Name, step.Key)
		out = append(out, string(in))
	}
	return out
}

// Unmatched returns the targets that cover, in the sense of [State.Select], none of the instances.
func Unmatched(targets []addrs.Target, instances []addrs.AbsInstance) []addrs.Target {
	return slices.DeleteFunc(slices.Clone(targets), func(t addrs.Target) bool {
		return slices.ContainsFunc(instances, func(addr addrs.AbsInstance) bool { return covers(t, addr) })
	})
}

// NotFound returns the error for an address at which the state has no object.
func (s *State) NotFound(addr fmt.Stringer) tfdiags.Diagnostic {
	return tfdiags.Errorf("No such object in the state",
		"The state does not contain %s.%s `tofu state list` shows what it contains.", addr, s.Suggestion(addr))
}

// Suggestion returns a sentence that names the module, resource or instance with the most similar
// address, or "" if none is similar.
func (s *State) Suggestion(addr fmt.Stringer) string {
	var names []string
	seen := make(map[addrs.ModuleInstance]bool)
	for _, a := range s.Select(nil) {
		names = append(names, a.String(), a.Abs().String())
		for at := a.Module; !at.IsRoot() && !seen[at]; at, _ = at.Parent() {
			parent, step := at.Parent()
			names, seen[at] = append(names, at.String(), parent.Child(step.Name, addrs.NoKey).String()), true
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == addr.String() })
	return suggest.DidYouMean(addr.String(), names)
}
