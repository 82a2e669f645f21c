package graph

import (
	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
)

// EarlyKeys finds, before a walk, the keys of the instances that blocks read. At that time, every
// value that depends on a resource is still unknown. While validating, the variables of the root
// module are unknown too, and so are the keys of references in results that may not be used.
type EarlyKeys interface {
	// Instances returns the keys of the instances that a block declares in one module instance. It
	// returns false if they are not known.
	Instances(r *Resource, in addrs.ModuleInstance) ([]addrs.InstanceKey, bool)

	// ModuleInstances returns the instances of a module. It returns false if they are not known.
	ModuleInstances(m *Module) ([]addrs.ModuleInstance, bool)

	// Read returns the keys with which an instance of r reads another resource or a module call. It
	// returns false if some of them are not known.
	Read(r *Resource, in addrs.ModuleInstance, key addrs.InstanceKey, read Keyed) ([]KeyRead, bool)

	// ReadValue returns the keys with which a value reads a resource or a module call in one
	// instance of its module. For a variable, these are the keys in the argument of the call, which
	// reads from the calling module; only if the argument uses count or each does it matter which
	// instance of the call is given. It returns false if some of them are not known.
	ReadValue(v *Value, in addrs.ModuleInstance, read Keyed) ([]KeyRead, bool)
}

// manyInstances is the number of instances from which all instances of a resource count as the whole
// resource, even if they are selected one by one.
const manyInstances = 64

// KeyRead is the key of an instance, and the reference that selects it.
type KeyRead struct {
	Key addrs.InstanceKey
	At  hcl.Range
}

// ChainedTo returns the resource or alias in for_each = OBJECT, or nil if the block is not repeated
// this way.
func (r *Resource) ChainedTo() *IndexedRead {
	if r.Exprs == nil {
		return nil
	}
	read := r.Module.chain(r.Exprs.Repetition)
	if read == nil || read.Of == r {
		return nil
	}
	return read
}

// ChainedTo returns the resource or alias in for_each = OBJECT, or nil if the call is not repeated this
// way.
func (m *Module) ChainedTo() *IndexedRead { return m.Parent.chain(m.Repetition) }
