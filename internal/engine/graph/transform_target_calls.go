package graph

import (
	"slices"

	"tofu/internal/addrs"
)

// callReaders finds the instances that read outputs of single module instances.
type callReaders struct {
	*targeting
	known map[callReader]*readersByKey
}

// callReader is a block or value that reads outputs of a module call, in one instance of the calling
// module.
type callReader struct {
	n    *Node
	call *Module
	in   addrs.ModuleInstance
}

// readersByKey holds, by the key of a module instance, what reads its outputs. It is nil if some keys
// are not known.
type readersByKey map[addrs.InstanceKey]*readersFound

// readersFound holds what reads the outputs of a module instance: instances of a block, or the
// places in which a value reads them.
type readersFound struct {
	instances []foundInstance
	places    []addrs.ModuleInstance
}

// newCallReaders returns nil if keys are not known before the walk.
func newCallReaders(t *targeting) *callReaders {
	if t.early == nil {
		return nil
	}
	return &callReaders{targeting: t, known: map[callReader]*readersByKey{}}
}

// of returns what is lost in a reader if an output, or the whole module, is lost in a module
// instance. It returns false if the reader reads more than single instances, or if its keys are not
// known.
func (c *callReaders) of(lost *Node, at addrs.ModuleInstance, reader *Node) (readersFound, bool) {
	if c == nil || lost.Module == nil || lost.Module.Parent == nil || !lost.isOutput() && !lost.closesModule() {
		return readersFound{}, false
	}
	call := lost.Module
	in, step := at.Parent()
	if at.Module() != call.Path || hasOpenSteps(call, at) || !reader.readsByInstance(call) {
		return readersFound{}, false
	}
	key := callReader{reader, call, in}
	found, known := c.known[key]
	if !known {
		c.find(key)
		found = c.known[key]
	}
	if found == nil {
		return readersFound{}, false
	}
	if of := (*found)[step.Key]; of != nil {
		return *of, true
	}
	return readersFound{}, true
}

// hasOpenSteps reports whether an address may stand for several instances of a module.
func hasOpenSteps(m *Module, at addrs.ModuleInstance) bool {
	for ; m.Parent != nil; m = m.Parent {
		parent, step := at.Parent()
		if m.Repetition.Repeats() && step.Key == addrs.NoKey {
			return true
		}
		at = parent
	}
	return false
}

// readsByInstance reports whether a node is a block or a value that reads a call only by instance.
func (n *Node) readsByInstance(call *Module) bool {
	reads := func(list []CallRead) bool {
		return slices.ContainsFunc(list, func(read CallRead) bool { return read.Call == call })
	}
	if v, ok := n.Object.(*Value); ok && n.Kind == KindValue {
		return v.Module != call && reads(v.CallReads)
	}
	return n.Resource != nil && n == n.Resource.Node && reads(n.Resource.CallReads)
}

// find finds what reads each instance of a call, and sets known.
func (c *callReaders) find(of callReader) {
	if v, ok := of.n.Object.(*Value); ok {
		c.findPlaces(v, of)
		return
	}
	r := of.n.Resource
	c.known[of] = nil
	keys, known := c.early.Instances(r, of.in)
	if !known {
		return
	}
	out := readersByKey{}
	for _, key := range keys {
		for _, read := range r.CallReads {
			if read.Call != of.call {
				continue
			}
			found, known := c.early.Read(r, of.in, key, read.keyed())
			if !known {
				return
			}
			for _, k := range found {
				x := foundInstance{instanceAt{r, of.in, key}, refersTo(of.in.Child(of.call.Call.Name, k.Key), k.At)}
				one := out.at(k.Key)
				one.instances = append(one.instances, x)
			}
		}
	}
	c.known[of] = &out
}

// findPlaces finds the module instances in which a value reads each instance of a call. For an
// argument, it does so for all instances of the calling module.
func (c *callReaders) findPlaces(v *Value, of callReader) {
	places := []addrs.ModuleInstance{of.in}
	c.known[of] = nil
	if v.Kind == Variable {
		all, known := c.early.ModuleInstances(v.Module)
		if !known {
			return
		}
		places = all
	}
	c.known[of] = &readersByKey{}
	for _, in := range places {
		at := of
		at.in = v.evaluatedIn(in)
		out, begun := c.known[at]
		switch {
		case !begun:
			out = &readersByKey{}
			c.known[at] = out
		case out == nil:
			continue
		}
		for _, read := range v.CallReads {
			if read.Call != of.call {
				continue
			}
			found, known := c.early.ReadValue(v, in, read.keyed())
			if !known {
				c.known[at] = nil
			}
			for _, k := range found {
				one := out.at(k.Key)
				one.places = append(one.places, in)
			}
		}
	}
}

// at returns the readers of the instance with a key.
func (r readersByKey) at(key addrs.InstanceKey) *readersFound {
	if r[key] == nil {
		r[key] = &readersFound{}
	}
	return r[key]
}
