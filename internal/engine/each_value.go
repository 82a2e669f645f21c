package engine

import (
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
)

// setEachValue sets each.value in a block whose for_each is an object, for the instance with the given
// key. It does nothing for other blocks.
func (c *evalContext) setEachValue(of *reads.Each, key addrs.InstanceKey) {
	switch {
	case of == nil:
	case of.Call != nil:
		c.rep.eachValue = chainedEach{c}.outputsIn(of, key)
	default:
		c.rep.eachValue = chainedEach{c}.eachValue(of.KeyedRead, key)
	}
}

// eachKeys returns the instances of a block whose for_each is the given object, or nil if they are not known.
// in is the module instance of the block.
func (e *evaluator) eachKeys(of *reads.KeyedRead, in *moduleInstance) *expandedKeys {
	if of == nil {
		return nil
	}
	x := e.declared(in, of.Keys())
	if x == nil || x.mode != repeatForEach {
		return nil
	}
	return &expandedKeys{mode: repeatForEach, keys: x.keys}
}

// chainedEach finds each.value in a block whose for_each is an object with instances of its own.
type chainedEach struct{ *evalContext }

// outputsIn returns each.value for a block whose for_each is a module call: an object with the outputs
// of the instance with the given key, or the element of a local. It returns cty.NilVal if there is no
// such instance or its outputs aren't final.
func (c chainedEach) outputsIn(each *reads.Each, key addrs.InstanceKey) cty.Value {
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
func (c chainedEach) eachValue(read reads.KeyedRead, key addrs.InstanceKey) cty.Value {
	if read.Via != nil {
		return c.element(read, key)
	}
	of := read.Of
	if !c.e.unfinished.wait(c.evalContext, of.Addr.Resource.InInstance(c.in.addr).Instance(key)) {
		return cty.NilVal
	}
	return c.instanceValue(of, key)
}
