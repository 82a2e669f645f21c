package reads

import (
	"slices"

	"tofu/internal/addrs"
)

// Scope is where the references of a block or value are followed one by one: the block in one of its instances,
// or the value in one instance of its module.
type Scope struct {
	Module     *Module // the module whose objects the references name
	In         addrs.ModuleInstance
	Repetition Repetition // what decides count and each
	Each
	read func(KeyedRead) ([]KeyRead, bool) // see Selected; nil if no keys are known
}

// Each describes each.value in a block whose for_each is a resource, an alias of one or a module call.
type Each struct {
	Key     addrs.InstanceKey // key of the instance
	Chain   *KeyedRead        // the resource or alias; nil for a call
	Outputs []KeyedRead       // the outputs of the call that are read with each.value
}

// One reports whether each.value is a single instance.
func (e Each) One() bool {
	return e.Key != addrs.NoKey && e.Key != addrs.UnknownKey && (e.Chain != nil || len(e.Outputs) > 0)
}

// Scope returns the scope of a block in one of its instances. early may be nil.
func (r *Resource) Scope(in addrs.ModuleInstance, key addrs.InstanceKey, early EarlyKeys) Scope {
	s := Scope{Module: r.Module, In: in, Repetition: r.Exprs.Repetition, Each: Each{key, r.ChainedTo(), byEach(r.Calls())}}
	if early != nil {
		s.read = func(read KeyedRead) ([]KeyRead, bool) { return early.Read(r, in, key, read) }
	}
	return s
}

// Scope returns the scope of a value in one instance of its module. early may be nil.
func (v *Value) Scope(in addrs.ModuleInstance, early EarlyKeys) Scope {
	s := Scope{Module: v.EvaluatedBy(), In: v.EvaluatedIn(in)}
	if v.Kind == Variable {
		_, step := in.Parent()
		s.Repetition, s.Each = v.Module.Repetition, Each{step.Key, v.Module.ChainedTo(), byEach(v.CallReads)}
	}
	if early != nil {
		s.read = func(read KeyedRead) ([]KeyRead, bool) { return early.ReadValue(v, in, read) }
	}
	return s
}

// Selected returns the keys of the instances that a read selects. It returns false if they are not known.
func (s Scope) Selected(read KeyedRead) (keys []addrs.InstanceKey, known bool) {
	if s.read == nil {
		return nil, false
	}
	list, known := s.read(read)
	for _, one := range list {
		keys = append(keys, one.Key)
	}
	return keys, known
}

// byEach returns the reads in a list that are reads of each.value.
func byEach(list []KeyedRead) []KeyedRead {
	return slices.DeleteFunc(slices.Clone(list), func(read KeyedRead) bool { return !read.ByEach() })
}
