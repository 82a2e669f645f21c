package engine

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/lang"
	"tofu/internal/lang/coerce"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// instanceReads returns the instances that the block reads by computed indexes, for the resources
// of which all these indexes are known.
func (t *instance) instanceReads() []plans.InstanceRead {
	var out []plans.InstanceRead
	for _, indexed := range t.r.Indexed {
		keys := t.c.indexKeys(indexed)
		for _, key := range keys {
			out = append(out, plans.InstanceRead{Resource: indexed.Of.Addr.Resource, Key: key})
		}
	}
	return out
}

// indexKeys returns the instance keys that indexes select. It returns nil if an index is unknown,
// marked or not valid: the block then waits for the whole resource, and its evaluation reports the
// error.
func (c *evalContext) indexKeys(indexed graph.IndexedRead) []addrs.InstanceKey {
	want := cty.String
	if indexed.Of.Exprs.Repetition.Count != nil {
		want = cty.Number
	}
	keys := make([]addrs.InstanceKey, 0, len(indexed.Indexes))
	for _, index := range indexed.Indexes {
		v, err := c.scope().Eval(index, cty.DynamicPseudoType)
		if err != nil || v.IsMarked() {
			return nil
		}
		if v, err = coerce.Convert(v, want); err != nil {
			return nil
		}
		key, err := addrs.KeyFromValue(v)
		if err != nil {
			return nil
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// withReads returns the context of a planned change, in which the instances that the plan recorded
// can be read before their resources are complete. It is an error if the block reads others now.
func (c *evalContext) withReads(r *graph.Resource, change *plans.InstanceChange) (*evalContext, error) {
	if len(r.Indexed) == 0 {
		return c, nil
	}
	out := *c
	out.reads = map[addrs.Resource][]addrs.InstanceKey{}
	for _, read := range change.Reads {
		out.reads[read.Resource] = append(out.reads[read.Resource], read.Key)
	}
	for _, indexed := range r.Indexed {
		addr := indexed.Of.Addr.Resource
		planned := out.reads[addr]
		for _, key := range out.indexKeys(indexed) {
			if planned != nil && !slices.Contains(planned, key) {
				return nil, tfdiags.Errorf("Reference changed after planning",
					"%s was planned with other instances of %s than %s%s, to which it refers now. A file or an "+
						"environment variable that decides this has probably changed. Create a new plan.",
					change.Addr, addr, addr, key).At(r.Config.Range)
			}
		}
	}
	return &out, nil
}

// Instances implements lang.Data: during an apply, instances with nodes of their own have values
// before the resource has one.
func (c *evalContext) Instances(addr addrs.Resource, of lang.Instances) (cty.Value, bool) {
	r := c.in.module.Resources[addr]
	if r == nil || c.in.resources[r.Slot] == nil {
		return cty.NilVal, false
	}
	keys := of.Keys
	for _, key := range keys {
		if r.Barriers[key] == nil {
			return cty.NilVal, false // the expression has waited for the whole resource
		}
	}
	if len(of.Indexes) > 0 {
		if len(c.reads[addr]) == 0 {
			return cty.NilVal, false // so has this one
		}
		keys = append(slices.Clip(keys), c.reads[addr]...)
	}
	byKey := make(map[string]cty.Value, len(keys))
	for _, key := range keys {
		if v := c.instanceValue(r, key); v != cty.NilVal {
			byKey[keyName(key)] = v
		}
	}
	return cty.ObjectVal(byKey), true
}

// instanceValue returns the value of an instance for references, cty.NilVal if there is none.
func (c *evalContext) instanceValue(r *graph.Resource, key addrs.InstanceKey) cty.Value {
	x, values := c.in.resources[r.Slot], c.e.values(r)
	i, ok := x.has(key)
	switch {
	case !ok:
		// A decoding error is reported by readers of the whole resource.
		v, _ := values.keptOrphan(r.Addr.Resource.InInstance(c.in.addr).Instance(key))
		if v == cty.NilVal {
			return cty.NilVal
		}
		return values.visible([]cty.Value{v})[0]
	case x.objs[i] == cty.NilVal:
		return cty.UnknownVal(r.Schema.Block.ImpliedType())
	}
	return values.visible(x.objs[i : i+1])[0]
}
