package reads

import (
	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// KnownKeys finds the keys of the instances that blocks read, as far as they are known. Before a walk, every
// value that depends on a resource is still unknown. While validating, the variables of the root
// module are unknown too, and so are the keys of references in results that may not be used.
type KnownKeys interface {
	// Instances returns the keys of the instances that a block declares in one module instance. It
	// returns false if they are not known.
	Instances(r *Resource, in addrs.ModuleInstance) ([]addrs.InstanceKey, bool)

	// ModuleInstances returns the instances of a module. It returns false if they are not known.
	ModuleInstances(m *Module) ([]addrs.ModuleInstance, bool)

	// Read returns the keys with which an instance of r reads another resource or a module call. It
	// returns false if some of them are not known.
	Read(r *Resource, in addrs.ModuleInstance, key addrs.InstanceKey, read KeyedRead) ([]KeyRead, bool)

	// ReadValue returns the keys with which a value reads a resource or a module call in one
	// instance of its module. For a variable, these are the keys in the argument of the call, which
	// reads from the calling module; only if the argument uses count or each does it matter which
	// instance of the call is given. It returns false if some of them are not known.
	ReadValue(v *Value, in addrs.ModuleInstance, read KeyedRead) ([]KeyRead, bool)
}

// ManyInstances is the number of instances from which all instances of a resource count as the whole
// resource, even if they are selected one by one.
const ManyInstances = 64

// KeyRead is the key of an instance, and the reference that selects it.
type KeyRead struct {
	Key addrs.InstanceKey
	At  hcl.Range
}

// RecordedKeys returns the keys with which an instance reads a resource or an alias, from the reads that a plan has
// recorded. It returns false if they don't say.
func RecordedKeys(list []plans.InstanceRead, of KeyedRead) (keys []KeyRead, known bool) {
	if of.Call != nil || len(list) == 0 {
		return nil, false
	}
	found, known := plans.KeysRead(list, of.Name())
	for _, key := range found {
		keys = append(keys, KeyRead{Key: key})
	}
	return keys, known
}

// plannedModules finds the module instances of a plan.
type plannedModules struct {
	plan    *plans.Plan
	prior   *states.State
	modules map[addrs.Module][]addrs.ModuleInstance // see modulesOf
}

// modulesOf returns the instances of a module that have planned objects.
func (k *plannedModules) modulesOf(m *Module) []addrs.ModuleInstance {
	if k.modules == nil {
		k.modules = map[addrs.Module][]addrs.ModuleInstance{}
		seen := map[addrs.ModuleInstance]bool{}
		add := func(in addrs.ModuleInstance) {
			for ; !in.IsRoot() && !seen[in]; in, _ = in.Parent() {
				seen[in] = true
				k.modules[in.Module()] = append(k.modules[in.Module()], in)
			}
		}
		for _, change := range k.plan.Changes.Instances {
			add(change.Addr.Module)
		}
		for r := range k.prior.Resources() {
			add(r.Addr.Module)
		}
	}
	return k.modules[m.Path]
}
