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
	// Each holds the reads of each.value, if for_each is an object: the instance of a resource or alias that has the
	// key Key, or outputs of the module instance that has it.
	Each []KeyedRead
	Key  addrs.InstanceKey                 // key of the instance
	read func(KeyedRead) ([]KeyRead, bool) // see Selected; nil if no keys are known
}

// One reports whether each.value is a single instance.
func (s Scope) One() bool {
	return s.Key != addrs.NoKey && s.Key != addrs.UnknownKey && len(s.Each) > 0
}

// Chain returns the resource or alias of which each.value is an instance, or nil.
func (s Scope) Chain() *KeyedRead {
	if len(s.Each) == 0 || s.Each[0].Call != nil {
		return nil
	}
	return &s.Each[0]
}

// Scope returns the scope of a block in one of its instances. early may be nil.
func (r *Resource) Scope(in addrs.ModuleInstance, key addrs.InstanceKey, early EarlyKeys) Scope {
	s := Scope{Module: r.Module, In: in, Repetition: r.Exprs.Repetition, Key: key,
		Each: eachReads(r.ChainedTo(), r.Calls())}
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
		s.Repetition, s.Key, s.Each = v.Module.Repetition, step.Key, eachReads(v.Module.ChainedTo(), v.CallReads)
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

// eachReads returns what a block or an argument reads with each.value of the object in for_each. calls are its
// reads of module calls.
func eachReads(of *KeyedRead, calls []KeyedRead) []KeyedRead {
	if of != nil && of.Call == nil {
		return []KeyedRead{*of}
	}
	return slices.DeleteFunc(slices.Clone(calls), func(read KeyedRead) bool { return !read.ByEach() })
}
