package engine

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// repetitionMode says how a block is repeated.
type repetitionMode uint8

const (
	repeatSingle repetitionMode = iota
	repeatDisabled
	repeatCount
	repeatForEach
	repeatUnknown // validating: how many there will be is not known
)

// repetitionExprs are the arguments that repeat a block; at most one is set.
type repetitionExprs struct {
	count, forEach, enabled *lang.Expr
}

// refs are what the arguments refer to.
func (r repetitionExprs) refs() []*lang.Refs {
	var out []*lang.Refs
	for _, e := range []*lang.Expr{r.count, r.forEach, r.enabled} {
		if e != nil {
			out = append(out, &e.Refs)
		}
	}
	return out
}

// refuse refuses arguments that refer to the resource that they repeat: it has no value before its instances are decided.
func (r repetitionExprs) refuse(itself addrs.Resource) (diags tfdiags.Diagnostics) {
	for _, refs := range r.refs() {
		for _, ref := range refs.Objects {
			if ref.Whole() == addrs.Referenceable(itself) {
				diags = diags.Append(tfdiags.Errorf("Self-referential block",
					"Which instances of %s there are can't depend on the resource itself.", itself).At(ref.Range))
			}
		}
	}
	return diags
}

// mode is the kind of repetition that the arguments ask for.
func (r repetitionExprs) mode() repetitionMode {
	switch {
	case r.count != nil:
		return repeatCount
	case r.forEach != nil:
		return repeatForEach
	}
	return repeatSingle
}

// repeats tells whether instances have keys.
func (r repetitionExprs) repeats() bool { return r.count != nil || r.forEach != nil }

// storedKeys gives the keys of what the state has of a resource, as far as they fit its repetition.
func (r repetitionExprs) storedKeys(stored *states.Resource) []addrs.InstanceKey {
	switch {
	case !r.repeats():
		return []addrs.InstanceKey{addrs.NoKey}
	case stored == nil:
		return nil
	}
	keys := slices.DeleteFunc(stored.SortedKeys(), func(key addrs.InstanceKey) bool { return !r.fits(key) })
	if r.count != nil {
		return upToLargest(keys)
	}
	return keys
}

// fits tells whether a key is of the kind that the repetition gives.
func (r repetitionExprs) fits(key addrs.InstanceKey) bool {
	_, isInt := key.IsInt()
	_, isString := key.IsString()
	return isInt == (r.count != nil) && isString == (r.forEach != nil)
}

// upToLargest gives all keys from 0 to the largest one.
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

// repetition is what count and each mean for one instance; NilVal where they mean nothing.
type repetition struct {
	countIndex         cty.Value
	eachKey, eachValue cty.Value
}

// instances is the outcome of count, for_each or enabled.
type instances struct {
	mode repetitionMode
	keys []addrs.InstanceKey // sorted
	each []cty.Value         // parallel to keys, for_each only
}

// repetition gives count and each for the instance at a position.
func (x *instances) repetition(i int) repetition {
	switch x.mode {
	case repeatCount:
		return repetition{countIndex: x.keys[i].Value()}
	case repeatForEach:
		return repetition{eachKey: x.keys[i].Value(), eachValue: x.each[i]}
	}
	return repetition{}
}

var singleInstance = &instances{mode: repeatSingle, keys: []addrs.InstanceKey{addrs.NoKey}}

// unknownRepetition stands for that of all instances while there are no values yet.
func unknownRepetition(rep repetitionExprs) repetition {
	out := repetition{}
	if rep.count != nil {
		out.countIndex = cty.UnknownVal(cty.Number).RefineNotNull()
	}
	if rep.forEach != nil {
		out.eachKey, out.eachValue = cty.UnknownVal(cty.String).RefineNotNull(), cty.DynamicVal
	}
	return out
}

// whole puts the values of instances together as expressions see them; disabled is what there is where none is enabled.
func (x *instances) whole(values []cty.Value, disabled cty.Value) cty.Value {
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
