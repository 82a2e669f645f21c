package engine

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/lang/coerce"
	"tofu/internal/lang/marks"
	"tofu/internal/tfdiags"
)

// instanceKeys evaluates the keys with which references select instances.
type instanceKeys struct{ *evalContext }

func (c *evalContext) keys() instanceKeys { return instanceKeys{c} }

// keysRead returns the keys of the instances that references select. Except in a partial run, it
// leaves out keys of instances that don't exist; such references fail later, if they are evaluated
// at all. It returns an error if a key is unknown or invalid. The block then waits for the whole
// resource.
func (c instanceKeys) keysRead(indexed reads.KeyedRead) ([]addrs.InstanceKey, error) {
	of := indexed.Keys()
	x := c.e.declared(c.in, of)
	keys := make([]addrs.InstanceKey, 0, len(indexed.Refs))
	var found keySet
	for _, ref := range indexed.Refs {
		selected, err := c.keysOf(ref, of)
		if err != nil {
			return nil, err
		}
		for _, key := range selected {
			if key == addrs.NoKey {
				continue
			}
			if _, exists := x.find(key); (exists || c.e.op.Partial()) && found.add(key) {
				keys = append(keys, key)
			}
		}
	}
	return keys, nil
}

// keysOf returns the keys that a reference to an instance selects, one for each time that it is
// used. A key is NoKey if the index can't select an instance, because it is null or a number such
// as -1. It returns an error if a key is unknown or invalid.
func (c instanceKeys) keysOf(ref lang.InstanceRef, of reads.Keys) ([]addrs.InstanceKey, error) {
	indexes, err := c.indexes(ref)
	if err != nil {
		return nil, err
	}
	keys := make([]addrs.InstanceKey, len(indexes))
	for i, v := range indexes {
		keys[i], err = c.keyOf(v, ref, of)
		if err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// indexes evaluates the index of a reference for each time that it is used. Most indexes are
// count.index or each.key, which can be evaluated without a scope.
func (c instanceKeys) indexes(ref lang.InstanceRef) ([]cty.Value, error) {
	if ref.Index == nil || !ref.Certain() {
		return c.scope().Indexes(ref)
	}
	if _, plain := ref.Index.Expression.(*hclsyntax.ScopeTraversalExpr); plain && len(ref.Index.Refs.Objects) == 1 {
		switch used := ref.Index.Refs.Objects[0]; used.Subject.(type) {
		case addrs.CountAttr, addrs.ForEachAttr:
			if len(used.Remaining) == 0 {
				v, err := c.Value(used.Subject, used.Range)
				return []cty.Value{v}, err
			}
		}
	}
	return c.scope().Indexes(ref)
}

// certain returns the references whose conditions and keys are known. of decides the keys of the
// instances.
func (c instanceKeys) certain(refs lang.Instances, of reads.Keys) lang.Instances {
	return slices.DeleteFunc(slices.Clone(refs), func(ref lang.InstanceRef) bool {
		for _, guard := range ref.Guards {
			if v, err := c.scope().Eval(guard.Condition, cty.Bool); err != nil || !v.IsKnown() {
				return true
			}
		}
		_, err := c.keysOf(ref, of)
		return err != nil
	})
}

// keyOf returns the key that a reference selects if its index has the value v. It returns NoKey if
// no instance can have such a key, and a keyProblem if the value can't be used. of decides the keys
// of the instances.
func (c instanceKeys) keyOf(v cty.Value, ref lang.InstanceRef, of reads.Keys) (addrs.InstanceKey, error) {
	if ref.Index == nil && (of.Matches(ref.Key) || !of.Repeats()) {
		return ref.Key, nil
	}
	want := cty.String
	if of.Count != nil || ref.How == lang.ByOrder {
		want = cty.Number
	}
	if marks.Has(v, marks.Sensitive) || marks.Has(v, marks.Ephemeral) {
		return addrs.NoKey, &keyProblem{ref, "its key is sensitive or ephemeral"}
	}
	v, _ = v.Unmark()
	v, err := coerce.Convert(v, want)
	if err != nil {
		return addrs.NoKey, &keyProblem{ref, "its key has the wrong type: " + tfdiags.FormatError(err)}
	}
	switch {
	case !v.IsKnown():
		return addrs.NoKey, &keyProblem{ref, "its key is known only after apply"}
	case (ref.How == lang.ByLookup || ref.How == lang.ByOrder) && of.ForEach == nil,
		(ref.How == lang.ByElement || ref.How == lang.ByPosition) && of.Count == nil:
		return addrs.NoKey, &keyProblem{ref, "the expression can't select an instance of it"}
	case (ref.How == lang.ByPosition || ref.How == lang.ByOrder) && c.e.op.Partial():
		return addrs.NoKey, &keyProblem{ref, "the number of instances isn't known"}
	case v.IsNull():
		return addrs.NoKey, nil
	case ref.How == lang.ByElement:
		return c.elementKey(v, ref, of)
	case ref.How == lang.ByOrder:
		return c.orderKey(v, ref, of)
	}
	key, err := addrs.KeyFromValue(v)
	if err != nil {
		return addrs.NoKey, nil // no instance has such a key
	}
	return key, nil
}

// keyProblem says why the key of a reference can't be used.
type keyProblem struct {
	ref    lang.InstanceRef
	reason string
}

func (p *keyProblem) Error() string { return p.reason }

// elementKey returns the key for an index in a call of "element". In a partial run, it returns an
// error: the resource may have fewer instances than it declares, so the number at which the index
// wraps around is known only when the whole resource is.
func (c instanceKeys) elementKey(v cty.Value, ref lang.InstanceRef, of reads.Keys) (addrs.InstanceKey, error) {
	unknown := &keyProblem{ref, "the number of instances isn't known"}
	if c.e.op.Partial() {
		return addrs.NoKey, unknown
	}
	x := c.e.declared(c.in, of)
	if x == nil || x.mode != repeatCount || len(x.keys) == 0 {
		return addrs.NoKey, unknown
	}
	number, known := lang.WholeNumber(v)
	if !known {
		return addrs.NoKey, &keyProblem{ref, "its key isn't a whole number"}
	}
	return addrs.IntKey(lang.Wrap(number, len(x.keys))), nil
}

// declared returns the keys of all instances of what a reader in a module instance reads, or nil if they
// are not determined.
func (e *evaluator) declared(in *moduleInstance, of reads.Keys) *expandedKeys {
	if of.In != in.module { // the resource of an alias
		in = e.moduleAt(of.In, in.module.InstanceNear(of.In, in.addr))
	}
	switch {
	case in == nil:
	case of.Call != nil:
		if x := e.callsOf(of.Call, in); x != nil {
			return &x.expandedKeys
		}
	default:
		if x := e.expansionOf(of.Resource, in); x != nil {
			return &x.expandedKeys
		}
	}
	return nil
}

// orderKey returns the key for an index after "values", which counts the keys in their order.
func (c instanceKeys) orderKey(v cty.Value, ref lang.InstanceRef, of reads.Keys) (addrs.InstanceKey, error) {
	x := c.e.declared(c.in, of)
	number, whole := lang.WholeNumber(v)
	switch {
	case x == nil || x.mode != repeatForEach:
		return addrs.NoKey, &keyProblem{ref, "the keys aren't known"}
	case !whole, number < 0, number >= len(x.keys):
		return addrs.NoKey, nil // no instance has this place
	}
	return x.keys[number], nil
}

// elementObject is like elementList, for an expression that selects instances only with an index after
// "values". The object has all keys, in order that each instance is in its place; the others are unknown.
func (c instanceKeys) elementObject(
	refs lang.Instances, of reads.Keys, value func(addrs.InstanceKey) (cty.Value, bool),
) (cty.Value, bool) {
	x := c.e.declared(c.in, of)
	if x == nil {
		return cty.NilVal, false
	}
	byKey := make(map[string]cty.Value, len(x.keys))
	for _, key := range x.keys {
		byKey[keyName(key)] = cty.DynamicVal
	}
	for _, ref := range refs {
		keys, err := c.keysOf(ref, of)
		if err != nil {
			return cty.NilVal, false
		}
		for _, key := range keys {
			if key == addrs.NoKey {
				continue // there are fewer instances, so the evaluation reports it
			}
			v, _ := value(key)
			if v == cty.NilVal {
				return cty.NilVal, false
			}
			byKey[keyName(key)] = v
		}
	}
	return cty.ObjectVal(byKey), true
}

// elementList returns a list for an expression that selects instances only with "element", or only with
// an index after a splat. value returns the value of an instance, or cty.NilVal if it isn't
// available, and reports whether the instance exists. elementList returns false if a value isn't
// available, or if "element" selects an instance that doesn't exist.
func (c instanceKeys) elementList(
	refs lang.Instances, of reads.Keys, value func(addrs.InstanceKey) (cty.Value, bool),
) (list cty.Value, ok bool) {
	var all []lang.Picked
	how, _ := refs.FromList()
	if how == lang.ByOrder {
		return c.elementObject(refs, of, value)
	}
	for _, ref := range refs {
		indexes, err := c.indexes(ref)
		if err != nil {
			return cty.NilVal, false
		}
		for _, v := range indexes {
			key, err := c.keyOf(v, ref, of)
			if err != nil {
				return cty.NilVal, false
			}
			number, whole := lang.WholeNumber(v)
			at, counted := key.IsInt()
			v, exists := value(key)
			switch {
			case how == lang.ByPosition && !exists:
				continue // the list is too short for the index, so the evaluation reports it
			case !whole || !counted || v == cty.NilVal:
				return cty.NilVal, false
			}
			all = append(all, lang.Picked{Number: number, At: at, Value: v})
		}
	}
	if how == lang.ByPosition {
		return lang.SparseList(all), true
	}
	return lang.ShortList(all), true
}
