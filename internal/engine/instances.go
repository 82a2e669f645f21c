package engine

import (
	"slices"
	"strconv"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// repetitionMode is how a block is repeated.
type repetitionMode uint8

const (
	repeatSingle repetitionMode = iota
	repeatDisabled
	repeatCount
	repeatForEach
	repeatUnknown // the instances are unknown, as during validation
)

// modeOf returns the repetition mode that a block's arguments declare.
func modeOf(r reads.Repetition) repetitionMode {
	switch {
	case r.Count != nil:
		return repeatCount
	case r.ForEach != nil:
		return repeatForEach
	}
	return repeatSingle
}

// storedKeys returns the keys of a resource's instances in the state that match its repetition.
// With count, it includes the missing keys below the largest. Without count and for_each, it
// returns NoKey, even if nothing is stored.
func storedKeys(r reads.Repetition, stored *states.Resource) []addrs.InstanceKey {
	switch {
	case !r.Repeats():
		return []addrs.InstanceKey{addrs.NoKey}
	case stored == nil:
		return nil
	}
	keys := slices.DeleteFunc(stored.SortedKeys(), func(key addrs.InstanceKey) bool { return !r.Matches(key) })
	if r.Count != nil {
		return upToLargest(keys)
	}
	return keys
}

// upToLargest returns all keys from 0 to the largest one.
func upToLargest(keys []addrs.InstanceKey) []addrs.InstanceKey {
	n := 0
	for _, k := range keys {
		if i, ok := k.IsInt(); ok {
			n = max(n, i+1)
		}
	}
	out := make([]addrs.InstanceKey, n)
	for i := range out {
		out[i] = addrs.IntKey(i)
	}
	return out
}

// repetition holds the values of count.index, each.key and each.value for one instance. Values that
// are not available are NilVal.
type repetition struct {
	countIndex         cty.Value
	eachKey, eachValue cty.Value
}

// expandedKeys holds the instance keys that result from count, for_each or enabled.
type expandedKeys struct {
	mode repetitionMode
	keys []addrs.InstanceKey // sorted
	// each holds the value of each.value for every key, with for_each only. It is nil if the values
	// are not known yet; see reads.Each.
	each []cty.Value
	set  bool // for_each is a set, so that each.value is each.key
}

// repetition returns count and each for the i-th instance.
func (x *expandedKeys) repetition(i int) repetition {
	switch x.mode {
	case repeatCount:
		return repetition{countIndex: x.keys[i].Value()}
	case repeatForEach:
		out := repetition{eachKey: x.keys[i].Value()}
		if x.each != nil {
			out.eachValue = x.each[i]
		}
		return out
	}
	return repetition{}
}

// find returns the position of a key, and reports whether the key exists. A nil x has no keys.
func (x *expandedKeys) find(key addrs.InstanceKey) (int, bool) {
	if x == nil {
		return 0, false
	}
	return slices.BinarySearchFunc(x.keys, key, addrs.InstanceKey.Compare)
}

var singleInstance = &expandedKeys{mode: repeatSingle, keys: []addrs.InstanceKey{addrs.NoKey}}

// unknownRepetition returns unknown values of count and each, which represent all instances.
func unknownRepetition(rep reads.Repetition) repetition {
	out := repetition{}
	if rep.Count != nil {
		out.countIndex = cty.UnknownVal(cty.Number).RefineNotNull()
	}
	if rep.ForEach != nil {
		out.eachKey, out.eachValue = cty.UnknownVal(cty.String).RefineNotNull(), cty.DynamicVal
	}
	return out
}

// whole returns the value of the whole block as expressions see it, built from the values of all
// instances. If "enabled" is false, it returns disabled.
func (x *expandedKeys) whole(values []cty.Value, disabled cty.Value) cty.Value {
	switch x.mode {
	case repeatDisabled:
		return disabled
	case repeatCount:
		return cty.TupleVal(values)
	case repeatForEach:
		byKey := make(map[string]cty.Value, len(values))
		for i, key := range x.keys {
			s, _ := key.IsString()
			byKey[s] = values[i]
		}
		return cty.ObjectVal(byKey)
	}
	return values[0]
}

// moduleInstance is one instance of a module.
type moduleInstance struct {
	addr   addrs.ModuleInstance
	module *reads.Module
	parent *moduleInstance
	rep    repetition // count and each as the call's arguments see them
	// unknown says that the instances of the module, or of a module that contains it, are unknown.
	// Results of conditions are then not recorded, because a state lists results by address.
	unknown bool
	// undeclared says that only the state has the instance; see storedCalls.
	undeclared bool

	// Each element of these slices is written by its first reader if lazy, or decided, is set, and
	// otherwise by the node of its Value, Resource or Module.
	values    []cty.Value      // indexed by Value.Slot
	resources []*expansion     // indexed by Resource.Slot
	calls     []*callInstances // indexed by Module.CallSlot
	lazy      []firstUse       // indexed by Value.Slot; nil while validating
	decided   *decided         // set where instances are decided on first use
}

// callInstances are the instances of a module call within one instance of the calling module.
type callInstances struct {
	expandedKeys
	of []*moduleInstance // parallel to keys; one instance with an unknown key if mode is repeatUnknown

	// resulting holds the instances that references see, if a partial run keeps undeclared ones.
	resulting *callInstances

	mu        sync.Mutex // guards the fields below
	built     map[string]cty.Value
	arguments map[argumentOf]*argument // see evaluator.argumentValue
}

// expansion holds the instances of a resource in one module instance and their values.
type expansion struct {
	expandedKeys
	objs  []cty.Value  // parallel to keys; NilVal if the instance has no object
	value cty.Value    // value of the whole resource, built once
	kept  *keptObjects // set if the plan leaves out the block; objs and value are set when they are read

	// The fields below are set for resources whose instances are planned in order; see
	// resourcePlan.start. The slices are parallel to keys.
	reads    [][]plans.InstanceRead // the single instances that each instance waits for; may be nil
	outputs  [][]*reads.Node        // the outputs of module instances that each instance waits for; may be nil
	deferred []*deferredNode        // why readers of each instance are deferred; may be nil
	vertex   dag.ID                 // plans the first instance; the vertices of the others follow it
	order    []dag.ID               // positions of the instances, in an order in which they can be planned
}

func newExpansion(of expandedKeys) *expansion {
	return &expansion{expandedKeys: of, objs: make([]cty.Value, len(of.keys))}
}

// keyName returns an instance key as an attribute name. Numbers work too, because HCL converts an
// index into an object to a string.
func keyName(key addrs.InstanceKey) string {
	if n, ok := key.IsInt(); ok {
		return strconv.Itoa(n)
	}
	s, _ := key.IsString()
	return s
}
