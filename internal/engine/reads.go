package engine

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// instanceReads lists instances of resources, grouped by resource. Resources have the names by
// which the reading block refers to them; see plans.InstanceRead. An entry with NoKey means that no
// instance of its resource is read.
type instanceReads []plans.InstanceRead

// of returns the entries of a resource, or nil if the resource is not listed.
func (l instanceReads) of(addr addrs.Resource) instanceReads {
	first := slices.IndexFunc(l, func(read plans.InstanceRead) bool { return read.Resource == addr })
	if first < 0 {
		return nil
	}
	out, _ := l[first:].cut(addr)
	return out
}

// cut splits off the entries of a resource from the beginning of a list. The first part is nil if
// the list doesn't begin with that resource.
func (l instanceReads) cut(addr addrs.Resource) (of, rest instanceReads) {
	n := 0
	for n < len(l) && l[n].Resource == addr {
		n++
	}
	if n == 0 {
		return nil, l
	}
	return l[:n], l[n:]
}

// keySet is a set of instance keys. The zero value is empty. Most sets have one or two keys.
type keySet struct {
	few  []addrs.InstanceKey
	many map[addrs.InstanceKey]bool // nil while there are few
}

// add adds a key, and reports whether the key is new.
func (s *keySet) add(key addrs.InstanceKey) bool {
	const few = 8
	switch {
	case s.has(key):
		return false
	case s.many != nil:
		s.many[key] = true
	case len(s.few) < few:
		s.few = append(s.few, key)
	default:
		s.many = map[addrs.InstanceKey]bool{key: true}
		for _, k := range s.few {
			s.many[k] = true
		}
	}
	return true
}

func (s *keySet) has(key addrs.InstanceKey) bool {
	if s.many != nil {
		return s.many[key]
	}
	return slices.Contains(s.few, key)
}

// instanceReads returns the instances that the block reads by computed indexes. It leaves out a
// resource if any index for it is unknown or invalid, or if all of the many instances of another
// resource are selected.
func (t *instance) instanceReads() []plans.InstanceRead {
	var out []plans.InstanceRead
	for _, indexed := range t.r.ByKey {
		if !indexed.Recorded(t.r) {
			continue
		}
		if awaited := t.awaited(indexed); awaited != nil {
			out = append(out, awaited...)
			continue
		}
		keys, err := t.c.keys().keysRead(indexed)
		if err != nil || indexed.Of != t.r && selectsAll(len(keys), t.c.e.declared(t.c.in, indexed.Keys())) {
			continue
		}
		out = addReads(out, indexed, keys)
	}
	return out
}

// selectsAll reports whether the n selected instances are all of the many instances of a resource. A
// reader then waits for the whole resource: N readers that each list N instances would cost N².
func selectsAll(n int, x *expandedKeys) bool {
	return n >= reads.ManyInstances && x != nil && n == len(x.keys)
}

// awaited returns the instances of another resource that the instance waited for before it was
// planned. It returns nil if the instance waited for the whole resource, or may have waited for
// instances that it doesn't read.
func (t *instance) awaited(read reads.KeyedRead) instanceReads {
	if read.Whole || read.Of == t.r || read.Refs.Guarded() {
		return nil
	}
	return t.c.reads.of(read.Name())
}

// withReads returns the context for applying a planned change. In this context, the instances that
// the plan recorded as read can be read before their resources are complete. It returns an error if
// the block now reads other instances.
func (c *evalContext) withReads(r *reads.Resource, change *plans.InstanceChange) (*evalContext, error) {
	if len(r.ByKey) == 0 {
		return c, nil
	}
	out := *c
	out.reads = change.Reads
	for _, indexed := range r.ByKey {
		if indexed.Call != nil {
			continue
		}
		addr := indexed.Name()
		planned := out.reads.of(addr)
		if planned == nil {
			continue
		}
		keys, err := out.keys().keysRead(indexed)
		if err != nil {
			continue // the evaluation of the block reports the error
		}
		var known keySet
		for _, read := range planned {
			known.add(read.Key)
		}
		for _, key := range keys {
			if !known.has(key) {
				return nil, tfdiags.Errorf("Reference changed after planning",
					"%s now refers to %s%s, but it was planned with other instances of %[2]s. Probably a file or an "+
						"environment variable that decides this has changed. Create a new plan.",
					change.Addr, addr, key).At(r.Config.Range)
			}
		}
	}
	return &out, nil
}

// Instances implements lang.Data. It returns the values of single instances before their resource
// is complete. This is needed for blocks that refer to single instances, of their own resource or
// of others.
func (c *evalContext) Instances(subject addrs.Referenceable, of lang.Instances) (cty.Value, bool) {
	addr, ok := subject.(addrs.Resource)
	if !ok {
		return c.listed(subject, of)
	}
	r := c.in.module.Resources[addr]
	if r == nil || c.before != nil {
		return cty.NilVal, false
	}
	if c.own != nil && c.own.r == r {
		v, err := c.own.read(c, of)
		return v, err == nil
	}
	x := c.e.expansionOf(r, c.in)
	if x == nil {
		return cty.NilVal, false
	}
	read := c.reads.of(addr)
	if read == nil && (c.e.applies() || c.ofValue && c.e.valuesReadSingly()) && r.Exprs.Repetition.Repeats() {
		read = c.selected(reads.KeyedRead{Of: r, Refs: of})
	}
	if _, list := of.FromList(); list && read != nil {
		return c.keys().elementList(of, r.Keys(), func(key addrs.InstanceKey) (cty.Value, bool) {
			if _, exists := x.has(key); !exists {
				return cty.NilVal, false
			}
			if !c.e.unfinished.wait(c, addr.InInstance(c.in.addr).Instance(key)) {
				return cty.NilVal, true
			}
			return c.instanceValue(r, key), true
		})
	}
	if read == nil {
		return cty.NilVal, false // the reader has waited for the whole resource
	}
	byKey := make(map[string]cty.Value, len(read))
	for _, one := range read {
		if one.Key == addrs.NoKey {
			continue
		}
		if !c.e.unfinished.wait(c, addr.InInstance(c.in.addr).Instance(one.Key)) {
			return cty.NilVal, false // the caller then reads the whole resource and reports the error
		}
		if v := c.instanceValue(r, one.Key); v != cty.NilVal {
			byKey[keyName(one.Key)] = v
		}
	}
	return c.inForm(cty.ObjectVal(byKey)), true
}

// selected returns the instances that references select, or nil if a key is not known. In an apply, and
// where a value is evaluated, the reader has waited for these instances, or for the whole resource.
func (c *evalContext) selected(read reads.KeyedRead) instanceReads {
	keys, err := c.keys().keysRead(read)
	if err != nil {
		return nil
	}
	out := instanceReads{{Resource: read.Name(), Key: addrs.NoKey}}
	for _, key := range keys {
		out = append(out, plans.InstanceRead{Resource: read.Name(), Key: key})
	}
	return out
}

// moduleInstances returns the value of a module call with only the instances that an expression
// reads. The outputs of these may be final before the outputs of other instances. It returns false
// if a key is not known; the reader has then waited for the whole call.
func (c *evalContext) moduleInstances(
	m *reads.Module, instances *callInstances, use lang.CallUse,
) (_ cty.Value, ok bool, _ error) {
	outputs, byKey := outputsOf(m, use.Outputs), make(map[string]cty.Value, len(use.Of))
	var failed error
	value := func(key addrs.InstanceKey) (_ cty.Value, exists bool) {
		i, exists := instances.find(key)
		if !exists {
			return cty.NilVal, false
		}
		var v cty.Value
		v, failed = instances.of[i].outputs(m, outputs, c.valueOf)
		return v, true
	}
	if _, list := use.Of.FromList(); list {
		v, ok := c.keys().elementList(use.Of, m.CallKeys(), value)
		if failed != nil {
			return cty.NilVal, false, failed
		}
		return v, ok, nil
	}
	for _, ref := range use.Of {
		keys, err := c.keys().keysOf(ref, m.CallKeys())
		if err != nil {
			return cty.NilVal, false, nil
		}
		for _, key := range keys {
			name := keyName(key)
			if _, again := byKey[name]; again {
				continue
			}
			if v, _ := value(key); v != cty.NilVal {
				byKey[name] = v
			}
			if failed != nil {
				return cty.NilVal, false, failed
			}
		}
	}
	return cty.ObjectVal(byKey), true, nil
}

// instanceValue returns the value of an instance for references, or cty.NilVal if it has none.
func (c *evalContext) instanceValue(r *reads.Resource, key addrs.InstanceKey) cty.Value {
	x, values := c.e.expansionOf(r, c.in), c.e.values(r)
	i, ok := x.has(key)
	if c.e.applies() && ok {
		obj := values.object(c.in, x, i)
		if obj == cty.NilVal {
			return cty.UnknownVal(r.Schema.Block.ImpliedType())
		}
		return values.visible([]cty.Value{obj})[0]
	}
	switch {
	case !ok && !c.e.op.Partial():
		return cty.NilVal // if such an object is in the state, it will be removed
	case !ok:
		// Readers of the whole resource report a decoding error.
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
