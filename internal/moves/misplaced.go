package moves

import (
	"fmt"
	"maps"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

// CheckKeys returns an error for each moved block that has moved an object to an address that can't
// exist: it lacks the key that a module call or a resource has, or has a key of the wrong kind. A
// plan would destroy the object and create another, although the block says that it is the same.
func (m *Results) CheckKeys(cfg *configs.Config) error {
	var errs tfdiags.Groups
	reported := map[*statement]bool{}
	for _, to := range slices.SortedFunc(maps.Keys(m.by), addrs.AbsInstance.Compare) {
		st := m.by[to]
		why := Misplaced(cfg, to, st.depth)
		if why == "" || reported[st] {
			continue
		}
		reported[st] = true
		errs.Add(tfdiags.Errorf("Moved to an address without an object",
			"The block moves %s to %s, but %s Otherwise the object would be destroyed and another one created.",
			m.From[to], to, why).At(st.rng), fmt.Sprintf("%s to %s", m.From[to], to))
	}
	return errs.Err()
}

// Misplaced says why no block can declare an instance with the given address, although the module
// calls and the resource exist, and what to do. It returns "" if there is no such reason. The first
// depth steps of the address name the module of the moved block, whose own key the block can't change.
// Calls in modules that cfg doesn't have are not checked.
func Misplaced(cfg *configs.Config, addr addrs.AbsInstance, depth int) string {
	c, at := cfg, addrs.RootInstance
	for i, step := range addr.Module.Steps() {
		call := c.Module.Calls[step.Name]
		if call == nil {
			return ""
		}
		why := wrongKey(call.Count != nil, call.ForEach != nil, step.Key, at.Child(step.Name, addrs.NoKey))
		switch {
		case why != "" && i < depth:
			return ""
		case why != "":
			return why
		}
		if c = c.Children[step.Name]; c == nil {
			return ""
		}
		at = at.Child(step.Name, step.Key)
	}
	r := c.Module.Resources[addr.Resource]
	if r == nil {
		return ""
	}
	return wrongKey(r.Count != nil, r.ForEach != nil, addr.Key, addr.Resource.InInstance(addr.Module))
}

// wrongKey says what is wrong with the key of an instance of a block and what to do, or "" if the
// key is possible.
func wrongKey(count, forEach bool, key addrs.InstanceKey, block fmt.Stringer) string {
	_, index := key.IsInt()
	_, name := key.IsString()
	switch {
	case forEach && !name:
		return fmt.Sprintf(`%[1]s has for_each, so its instances have strings as keys. Write the key in "to": `+
			`%[1]s["KEY"].`, block)
	case count && !index:
		return fmt.Sprintf(`%[1]s has count, so its instances have numbers as keys. Write the number in "to": `+
			`%[1]s[0].`, block)
	case !count && !forEach && (index || name):
		return fmt.Sprintf(`%[1]s has neither count nor for_each, so it has no keys. Name the instance that becomes `+
			`%[1]s in "from", and write "to" without a key.`, block)
	}
	return ""
}
