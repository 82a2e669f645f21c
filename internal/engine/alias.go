package engine

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
)

// expansionRead returns the instances of a resource that is read in a module instance. name is the
// name of a resource, or of an alias of one; see plans.InstanceRead. The result is nil if neither
// exists or the instances are not determined yet.
func (e *evaluator) expansionRead(in *moduleInstance, name addrs.Resource) *expansion {
	read, found := in.module.ReadNamed(name)
	if !found {
		return nil
	}
	if read.Via != nil {
		in = e.moduleAt(read.Of.Module, read.In(in.module, in.addr))
	}
	return e.expansionOf(read.Of, in)
}

// elements returns the value of an alias with only the elements that the reader has waited for. in is
// the module instance of the alias. It returns false if the reader has waited for the whole value.
// The result is an object with the keys of the elements, even if the value is a list.
func (c *evalContext) elements(v *reads.Value, in *moduleInstance) (cty.Value, bool, error) {
	read := c.reads.of(reads.KeyedRead{Via: v}.Name())
	if read == nil {
		return cty.NilVal, false, nil
	}
	at := in
	if v.Kind == reads.Variable {
		at = in.parent
	}
	inner := c.e.newContext(c.ctx, at, repetition{})
	inner.reader, inner.blockAddr = c.reader, c.blockAddr
	inner.partial, inner.ignoreDeprecations = true, true // visiting the value's own node reports deprecations
	for _, one := range read {
		one.Resource = v.Alias.ReadName()
		inner.reads = append(inner.reads, one)
	}
	eval := inner.eval
	if v.Alias.List {
		eval = inner.evalOneByOne
	}
	val, err := eval(v.Expr, cty.DynamicPseudoType)
	if err == nil && v.Kind == reads.Variable {
		val, err = convertElements(v, in, val)
	}
	return val, true, err
}

// evalOneByOne evaluates an expression that makes a list from the instances of a resource or the
// elements of an alias. It evaluates the expression for each of those in c.reads alone, and returns
// an object with their keys.
func (c *evalContext) evalOneByOne(e *lang.Expr, want cty.Type) (cty.Value, error) {
	byKey := map[string]cty.Value{}
	one := *c
	one.asList = true
	for i, read := range c.reads {
		one.reads = c.reads[i : i+1]
		list, err := one.eval(e, want)
		if err != nil {
			return cty.DynamicVal, err
		}
		list, marks := list.Unmark()
		switch {
		case !list.IsKnown():
			byKey[keyName(read.Key)] = cty.DynamicVal.WithMarks(marks)
		case list.LengthInt() == 1: // it is empty if there is no such instance
			byKey[keyName(read.Key)] = list.Index(cty.Zero).WithMarks(marks)
		}
	}
	return cty.ObjectVal(byKey), nil
}

// inForm returns an object of elements as a list if c.asList is set. The object then has at most one
// element.
func (c *evalContext) inForm(elements cty.Value) cty.Value {
	if !c.asList || elements.IsMarked() || !elements.IsKnown() || !elements.Type().IsObjectType() {
		return elements
	}
	return cty.TupleVal(slices.Collect(maps.Values(elements.AsValueMap())))
}

// localElements are the instances of a module call that a block or value reads through a local.
type localElements struct {
	call   *reads.CallAlias
	refs   lang.Instances
	reader *evalContext // the context of the block or value, in which the keys are evaluated
}

// throughLocal returns the value of a local that is a module call, with only the instances that the
// visited block or value reads. It returns false for all other values.
func (c *evalContext) throughLocal(v *reads.Value) (_ cty.Value, ok bool, _ error) {
	if v.Kind != reads.Local || c.e.early != nil {
		return cty.NilVal, false, nil
	}
	refs := c.visited.ReadsVia(v)
	if refs == nil {
		return cty.NilVal, false, nil
	}
	val, err := c.onlyElements(v, refs)
	return val, true, err
}

// onlyElements evaluates a local that is a module call with only the instances that references read.
func (c *evalContext) onlyElements(v *reads.Value, refs lang.Instances) (cty.Value, error) {
	inner := c.e.newContext(c.ctx, c.in, repetition{})
	inner.reader, inner.blockAddr, inner.ignoreDeprecations = c.reader, c.blockAddr, true
	inner.only = &localElements{v.CallAlias(), refs, c}
	return inner.eval(v.Expr, cty.DynamicPseudoType)
}

// exist reports whether all instances that the reader reads exist. If one doesn't, the reader has waited
// for the whole call in a plan, and an error shows all instances.
func (o *localElements) exist(instances *callInstances) bool {
	for _, ref := range o.refs {
		keys, err := o.reader.keys().keysOf(ref, o.call.Call.CallKeys())
		if err != nil {
			return false
		}
		for _, key := range keys {
			if _, exists := instances.find(key); !exists && ref.How != lang.ByLookup {
				return false
			}
		}
	}
	return true
}

// listed returns a list for an expression that reads elements of an alias only from a list. It
// returns false if the reader has waited for the whole value, or if subject isn't an alias.
func (c *evalContext) listed(subject addrs.Referenceable, of lang.Instances) (cty.Value, bool) {
	v := c.in.module.AliasOf(subject)
	if v == nil || c.before != nil {
		return cty.NilVal, false
	}
	list, ok, err := c.elementsOf(v, c.in, of)
	return list, ok && err == nil
}

// elementsOf returns the same as elements, but as a list if the references of need one.
func (c *evalContext) elementsOf(
	v *reads.Value, in *moduleInstance, of lang.Instances,
) (_ cty.Value, ok bool, _ error) {
	found, ok, err := c.elements(v, in)
	if _, list := of.FromList(); !list || !ok || err != nil || !found.IsKnown() || !found.Type().IsObjectType() {
		return found, ok, err
	}
	found, marks := found.Unmark()
	byKey := found.AsValueMap()
	list, complete := c.keys().elementList(of, v.Alias.Of.Keys(), func(key addrs.InstanceKey) (cty.Value, bool) {
		element, exists := byKey[keyName(key)]
		return element, exists
	})
	return list.WithMarks(marks), complete, nil
}

// element returns the element of an alias with the given key, or cty.NilVal if that element doesn't
// exist or its instance isn't finished.
func (c *evalContext) element(read reads.KeyedRead, key addrs.InstanceKey) cty.Value {
	one, in := *c, c.in
	one.reads = instanceReads{{Resource: read.Name(), Key: key}}
	if read.Via.Kind == reads.Output {
		calls := c.e.callsOf(read.Via.Module, c.in)
		if calls == nil {
			return cty.NilVal
		}
		in = calls.of[0]
	}
	all, _, err := one.elements(read.Via, in)
	if err != nil {
		return cty.NilVal
	}
	return elementAt(all, key)
}

// elementAt returns the element of an object with the given key, or cty.NilVal if the object has no
// such element.
func elementAt(all cty.Value, key addrs.InstanceKey) cty.Value {
	v, diags := hcl.Index(all, key.Value(), nil)
	if diags.HasErrors() {
		return cty.NilVal
	}
	return v
}

// convertElements converts the elements of an argument to the type that its variable has.
func convertElements(v *reads.Value, in *moduleInstance, given cty.Value) (cty.Value, error) {
	rng := v.Expr.Range()
	final := func(given cty.Value) (cty.Value, error) {
		return finalValue(v, in, Variable{Value: given, Range: &rng})
	}
	if !v.Variable.Type.Type.IsListType() || given.IsMarked() || !given.IsKnown() || !given.Type().IsObjectType() {
		return final(given)
	}
	// A list arrives here as an object with one attribute per index, because some indexes may be
	// missing.
	byKey := given.AsValueMap()
	for name, element := range byKey {
		list, err := final(cty.TupleVal([]cty.Value{element}))
		if err != nil {
			return cty.DynamicVal, err
		}
		byKey[name] = list.Index(cty.Zero)
	}
	return cty.ObjectVal(byKey), nil
}

// callElements returns the value of a module call with a single instance for a reader that has waited
// for elements of some of the outputs. It returns false if the reader has waited for whole outputs.
func (c *evalContext) callElements(
	m *reads.Module, instances *callInstances, use lang.CallUse,
) (_ cty.Value, ok bool, _ error) {
	if len(c.reads) == 0 || m.Repetition != (reads.Repetition{}) {
		return cty.NilVal, false, nil
	}
	outputs := outputsOf(m, use.Outputs)
	found := map[*reads.Value]cty.Value{}
	for _, name := range outputs {
		if v := m.Outputs[name]; v != nil && v.Alias != nil {
			val, ok, err := c.elementsOf(v, instances.of[0], use.Lists[name])
			if err != nil {
				return cty.NilVal, false, err
			}
			if ok {
				found[v] = c.inForm(val)
				continue
			}
		}
	}
	if len(found) == 0 {
		return cty.NilVal, false, nil
	}
	val, err := instances.build(m, outputs, func(v *reads.Value, in *moduleInstance) (cty.Value, error) {
		if val, ok := found[v]; ok {
			return val, nil
		}
		return c.valueOf(v, in)
	})
	return val, err == nil, err
}
