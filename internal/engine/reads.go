package engine

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/lang"
	"tofu/internal/lang/coerce"
	"tofu/internal/lang/marks"
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
		keys, err := t.c.keysRead(indexed)
		if err != nil || indexed.Of != t.r && selectsAll(len(keys), t.c.e.instancesRead(t.c.in, indexed)) {
			continue
		}
		if len(keys) == 0 {
			keys = []addrs.InstanceKey{addrs.NoKey}
		}
		for _, key := range keys {
			out = append(out, plans.InstanceRead{Resource: indexed.Name(), Key: key})
		}
	}
	return out
}

// selectsAll reports whether the n selected instances are all instances of a resource that has at
// least 64. A reader then waits for the whole resource: N readers that each list N instances would
// cost N².
func selectsAll(n int, x *expansion) bool { return n >= 64 && x != nil && n == len(x.keys) }

// awaited returns the instances of another resource that the instance waited for before it was
// planned. It returns nil if the instance waited for the whole resource, or may have waited for
// instances that it doesn't read.
func (t *instance) awaited(read graph.IndexedRead) instanceReads {
	if !t.r.WaitsFor(read.Of, read.Via) || read.Refs.Guarded() {
		return nil
	}
	return t.c.reads.of(read.Name())
}

// keysRead returns the keys of the instances that references select. Except in a partial run, it
// leaves out keys of instances that don't exist; such references fail later, if they are evaluated
// at all. It returns an error if a key is unknown or invalid. The block then waits for the whole
// resource.
func (c *evalContext) keysRead(indexed graph.IndexedRead) ([]addrs.InstanceKey, error) {
	own := indexed.Of.Keys()
	x := c.e.instancesRead(c.in, indexed)
	keys := make([]addrs.InstanceKey, 0, len(indexed.Refs))
	var found keySet
	for _, ref := range indexed.Refs {
		selected, err := c.keysOf(ref, own)
		if err != nil {
			return nil, err
		}
		for _, key := range selected {
			if key == addrs.NoKey {
				continue
			}
			if _, exists := x.has(key); (exists || c.e.op.Partial()) && found.add(key) {
				keys = append(keys, key)
			}
		}
	}
	return keys, nil
}

// keysOf returns the keys that a reference to an instance selects, one for each time that it is
// used. A key is NoKey if the index can't select an instance, because it is null or a number such
// as -1. It returns an error if a key is unknown or invalid.
func (c *evalContext) keysOf(ref lang.InstanceRef, of graph.Keys) ([]addrs.InstanceKey, error) {
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
func (c *evalContext) indexes(ref lang.InstanceRef) ([]cty.Value, error) {
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
func (c *evalContext) certain(refs lang.Instances, of graph.Keys) lang.Instances {
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
func (c *evalContext) keyOf(v cty.Value, ref lang.InstanceRef, of graph.Keys) (addrs.InstanceKey, error) {
	if ref.Index == nil && (of.Matches(ref.Key) || !of.Repeats()) {
		return ref.Key, nil
	}
	want := cty.String
	if of.Count != nil {
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
	case ref.How == lang.ByLookup && of.ForEach == nil,
		(ref.How == lang.ByElement || ref.How == lang.ByPosition) && of.Count == nil:
		return addrs.NoKey, &keyProblem{ref, "the expression can't select an instance of it"}
	case ref.How == lang.ByPosition && c.e.op.Partial():
		return addrs.NoKey, &keyProblem{ref, "the number of instances isn't known"}
	case v.IsNull():
		return addrs.NoKey, nil
	case ref.How == lang.ByElement:
		return c.elementKey(v, ref, of)
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

// withReads returns the context for applying a planned change. In this context, the instances that
// the plan recorded as read can be read before their resources are complete. It returns an error if
// the block now reads other instances.
func (c *evalContext) withReads(r *graph.Resource, change *plans.InstanceChange) (*evalContext, error) {
	if len(r.ByKey) == 0 {
		return c, nil
	}
	out := *c
	out.reads = change.Reads
	for _, indexed := range r.ByKey {
		addr := indexed.Name()
		planned := out.reads.of(addr)
		if planned == nil {
			continue
		}
		keys, err := out.keysRead(indexed)
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
	x := c.e.expansionOf(r, c.in)
	if x == nil {
		return cty.NilVal, false
	}
	read := c.reads.of(addr)
	if read == nil && (c.e.applies() || c.ofValue && c.e.valuesReadSingly()) && r.Exprs.Repetition.Repeats() {
		read = c.selected(graph.IndexedRead{Of: r, Refs: of})
	}
	if _, list := of.FromList(); list && read != nil {
		return c.elementList(of, r.Keys(), func(key addrs.InstanceKey) (cty.Value, bool) {
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
func (c *evalContext) selected(read graph.IndexedRead) instanceReads {
	keys, err := c.keysRead(read)
	if err != nil {
		return nil
	}
	out := instanceReads{{Resource: read.Name(), Key: addrs.NoKey}}
	for _, key := range keys {
		out = append(out, plans.InstanceRead{Resource: read.Name(), Key: key})
	}
	return out
}

// setEachValue sets each.value in a block whose for_each is a resource, an alias or a module call,
// for the instance with the given key. It does nothing for other blocks.
func (c *evalContext) setEachValue(of *graph.IndexedRead, call *graph.EachCall, key addrs.InstanceKey) {
	switch {
	case of != nil:
		c.rep.eachValue = c.eachValue(of, key)
	case call != nil:
		c.rep.eachValue = c.outputsIn(call, key)
	}
}

// outputsIn returns each.value for a block whose for_each is a module call: an object with the outputs
// of the instance with the given key, or the element of a local. It returns cty.NilVal if there is no
// such instance or its outputs aren't final.
func (c *evalContext) outputsIn(each *graph.EachCall, key addrs.InstanceKey) cty.Value {
	call := each.Call
	instances, outputs := c.e.callsOf(call, c.in), outputsOf(call, each.Outputs)
	if instances == nil {
		return cty.NilVal
	}
	i, exists := instances.find(key)
	if !exists {
		return cty.NilVal
	}
	if each.Local != nil {
		all, err := c.onlyElements(each.Local, lang.Instances{{Key: key}})
		if err != nil {
			return cty.NilVal
		}
		return elementAt(all, key)
	}
	v, err := instances.of[i].outputs(call, outputs, c.valueOf)
	if err != nil {
		return cty.NilVal
	}
	return v
}

// eachValue returns each.value for a block whose for_each is a resource or an alias. It is the
// value of the instance or element with the same key, or cty.NilVal if that doesn't exist or isn't
// finished.
func (c *evalContext) eachValue(read *graph.IndexedRead, key addrs.InstanceKey) cty.Value {
	if read.Via != nil {
		return c.element(*read, key)
	}
	of := read.Of
	if !c.e.unfinished.wait(c, of.Addr.Resource.InInstance(c.in.addr).Instance(key)) {
		return cty.NilVal
	}
	return c.instanceValue(of, key)
}

// moduleInstances returns the value of a module call with only the instances that an expression
// reads. The outputs of these may be final before the outputs of other instances. It returns false
// if a key is not known; the reader has then waited for the whole call.
func (c *evalContext) moduleInstances(
	m *graph.Module, instances *callInstances, use lang.CallUse,
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
		v, ok := c.elementList(use.Of, m.CallKeys(), value)
		if failed != nil {
			return cty.NilVal, false, failed
		}
		return v, ok, nil
	}
	for _, ref := range use.Of {
		keys, err := c.keysOf(ref, m.CallKeys())
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
func (c *evalContext) instanceValue(r *graph.Resource, key addrs.InstanceKey) cty.Value {
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
