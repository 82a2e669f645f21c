package reads

import (
	"fmt"
	"iter"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/plans"
)

// Scope is where the references of a block or value are followed one by one: the block in one of its instances,
// the value in one instance of its module, or the arguments of a call in one instance of the call.
type Scope struct {
	Module *Module // the module whose objects the references name
	In     addrs.ModuleInstance
	Early  KnownKeys // nil if no keys are known early

	repetition Repetition // what decides count and each
	each       *Each      // what each.value is an instance of; nil if it is anything else
	key        addrs.InstanceKey
	read       func(KeyedRead) ([]KeyRead, bool) // what is known early of this scope; may be nil
	recorded   []plans.InstanceRead
	part       part
}

// part holds the instances that are read of the object that a value is as a whole, while the value is followed
// for no others. It is zero for a whole value.
type part struct {
	of      *Resource
	call    *Module
	outputs []*Value             // those of call that are read
	in      addrs.ModuleInstance // the module instance of the resource or module call
	keys    []addrs.InstanceKey
	known   bool // whether keys are known
}

// Scope returns the scope of a block in one of its instances. If key is NoKey although the block is repeated, it
// is that of the whole block. early may be nil. recorded is what the plan has recorded with the instance.
func (r *Resource) Scope(
	in addrs.ModuleInstance, key addrs.InstanceKey, early KnownKeys, recorded []plans.InstanceRead,
) Scope {
	s := Scope{Module: r.Module, In: in, key: key, Early: early, recorded: recorded}
	if r.Exprs == nil {
		return s
	}
	s.repetition, s.each = r.Exprs.Repetition, r.FindEach()
	if early != nil && (key != addrs.NoKey || !s.repetition.Repeats()) {
		s.read = func(read KeyedRead) ([]KeyRead, bool) { return early.Read(r, in, key, read) }
	}
	return s
}

// Scope returns the scope of a value in one instance of its module. early may be nil.
func (v *Value) Scope(in addrs.ModuleInstance, early KnownKeys) Scope {
	s := Scope{Module: v.Module, In: in}
	if v.Kind == Variable && v.Expr != nil {
		s = v.Module.callScope(in, slices.Values([]*lang.Refs{&v.Expr.Refs}))
	}
	if early != nil {
		s.Early = early
		s.read = func(read KeyedRead) ([]KeyRead, bool) { return early.ReadValue(v, in, read) }
	}
	return s
}

// CallScope returns the scope of the arguments that decide an instance of a module.
func (m *Module) CallScope(in addrs.ModuleInstance) Scope { return m.callScope(in, m.eachUnits()) }

func (m *Module) callScope(in addrs.ModuleInstance, units iter.Seq[*lang.Refs]) Scope {
	parent, step := in.Parent()
	s := Scope{Module: m.Parent, In: parent, repetition: m.Repetition, key: step.Key}
	if of := m.ChainedTo(); of != nil {
		s.each = of.each(units)
	}
	return s
}

// Lead says where a reference leads to: a resource, values, or only an argument that decides count or each. All of
// these are nil if the reference is to anything else, such as path, or to an object that isn't declared.
type Lead struct {
	Resource *Resource
	Values   []*Value   // a variable or a local, or the outputs that are read from each instance of Call
	Call     *Module    // nil unless Values are outputs
	Decides  *lang.Expr // for count and each, the argument that decides it

	// In is the module instance of the resource or value. For outputs, it is that of the module call.
	In addrs.ModuleInstance
	// Single says that the reference selects instances of the resource or call. Keys are their keys if Known; if
	// not, the reference leads to all instances.
	Single, Known bool
	Keys          []addrs.InstanceKey
	Rest          hcl.Traversal // what follows the object or its instances; see lang.Refs.Rest

	Early KnownKeys // that of the scope of the reference
	part  part
}

// Nothing reports whether the reference is known to select no instances.
func (l Lead) Nothing() bool { return l.Known && len(l.Keys) == 0 }

// Targets returns the instances of the resource, or the whole resource.
func (l Lead) Targets() []addrs.Target {
	whole := addrs.Target{Module: l.In, Resource: l.Resource.Addr.Resource}
	if !l.Known {
		return []addrs.Target{whole}
	}
	out := make([]addrs.Target, len(l.Keys))
	for i, key := range l.Keys {
		out[i] = whole
		out[i].Key, out[i].HasKey = key, true
	}
	return out
}

// Modules returns the module instances of the values. All instances of a call are one address without a key.
func (l Lead) Modules() []addrs.ModuleInstance {
	switch {
	case l.Call == nil:
		return []addrs.ModuleInstance{l.In}
	case !l.Known:
		return []addrs.ModuleInstance{l.In.Child(l.Call.Call.Name, addrs.NoKey)}
	}
	out := make([]addrs.ModuleInstance, len(l.Keys))
	for i, key := range l.Keys {
		out[i] = l.In.Child(l.Call.Call.Name, key)
	}
	return out
}

// Scope returns the scope of one of the values in one instance of its module. It is narrower than that of the
// whole value if the reference reads only some elements of a value that is a whole resource or module call.
func (l Lead) Scope(v *Value, in addrs.ModuleInstance) Scope {
	s := v.Scope(in, l.Early)
	s.part = l.part
	return s
}

// Part returns a text that differs between the scopes of different parts of a value. It is "" for the whole value.
func (l Lead) Part() string {
	if !l.part.known {
		return ""
	}
	return fmt.Sprint(l.part.keys, l.part.outputs)
}

// Behind returns what the elements are that the reference reads of a value that is a whole resource or module call:
// instances of this object. It returns l if the reference reads none.
func (l Lead) Behind() Lead {
	p := l.part
	if p.of == nil && p.call == nil {
		return l
	}
	return Lead{Resource: p.of, Call: p.call, Values: p.outputs, Decides: l.Decides, In: p.in, Single: true,
		Known: p.known, Keys: p.keys, Early: l.Early}
}

// Follow returns what one of the references in refs leads to.
func (s Scope) Follow(refs *lang.Refs, ref *addrs.Reference) Lead {
	l := Lead{In: s.In, Rest: refs.Rest(ref), Decides: s.repetition.Deciding(ref.Subject), Early: s.Early, part: s.part}
	switch of := s.each; {
	case of == nil:
	case of.Via == nil && s.IsEach(refs, ref):
		return s.eachOf(l)
	case isEachValue(ref):
		return s.value(l, of.Via, lang.InstanceRef{Key: s.key}, true, l.Rest)
	case l.Decides != nil && hasKey(s.key): // the key of an instance never changes
		return Lead{In: s.In}
	}
	of := s.Module.Named(ref.Subject)
	l.Resource, l.Call, l.Values = of.Resource, of.Call, of.Outputs()
	switch {
	case of.Value != nil && (of.Call == nil || !of.Call.Repetition.Repeats()):
		one, single := refs.Element(ref)
		if !s.IsEach(refs, ref) {
			return s.value(l, of.Value, one, single, refs.AfterElement(ref))
		}
		l = s.value(l, of.Value, lang.InstanceRef{Key: s.key}, true, nil)
		l.part.outputs = outputsOf(s.each.Reads)
		return l
	case of.Call != nil && of.Output == "":
		l.nameOutput()
	}
	one, single := refs.Selected(ref)
	switch part := s.part; {
	case of.Call != nil && !of.Call.Repetition.Repeats():
		l.Keys, l.Known = []addrs.InstanceKey{addrs.NoKey}, true
	case single:
		l.Single = true
		l.Keys, l.Known = s.keysOf(KeyedRead{Of: of.Resource, Call: of.Call, Refs: lang.Instances{one}})
	case !part.known:
	case of.Call != nil && of.Call == part.call:
		l.Values = part.outputs
		l.Keys, l.Known = part.keys, true
	case of.Resource != nil && of.Resource == part.of:
		l.Keys, l.Known = part.keys, true
	}
	return l
}

// IsEach reports whether a reference is each.value, or the one in for_each, where for_each is an object or a value
// that is one. Such a reference leads to one instance of the object.
func (s Scope) IsEach(refs *lang.Refs, ref *addrs.Reference) bool {
	return s.each != nil && (isEachValue(ref) || s.isForEach(refs))
}

func isEachValue(ref *addrs.Reference) bool { return ref.Subject == addrs.ForEachAttr{Name: "value"} }

// isForEach reports whether refs are those of the argument for_each.
func (s Scope) isForEach(refs *lang.Refs) bool {
	return s.repetition.ForEach != nil && refs == &s.repetition.ForEach.Refs
}

// hasKey reports whether a key is that of a single instance.
func hasKey(key addrs.InstanceKey) bool { return key != addrs.NoKey && key != addrs.UnknownKey }

// eachOf completes the Lead of a reference to the instance of a resource or module call that each.value is.
func (s Scope) eachOf(l Lead) Lead {
	l.Resource, l.Call, l.Single = s.each.Of, s.each.Call, true
	if hasKey(s.key) {
		l.Keys, l.Known = []addrs.InstanceKey{s.key}, true
	}
	l.Values = outputsOf(s.each.Reads)
	l.nameOutput()
	return l
}

// outputsOf returns the outputs that reads of a module call name.
func outputsOf(list []KeyedRead) (outputs []*Value) {
	for _, read := range list {
		outputs = append(outputs, read.Outputs()...)
	}
	return outputs
}

// nameOutput keeps only the output that follows the instances of a module call, if one does.
func (l *Lead) nameOutput() {
	if l.Call == nil {
		return
	}
	if v := l.Call.Outputs[addrs.FirstName(l.Rest)]; v != nil {
		l.Values = []*Value{v}
	}
}

// value completes the Lead of a reference to a value. If single, the reference reads only the element one of it, if
// the value is a resource or module call as a whole; rest follows the element.
func (s Scope) value(l Lead, v *Value, one lang.InstanceRef, single bool, rest hcl.Traversal) Lead {
	l.Values = []*Value{v}
	if v.Kind == Output {
		l.Call, l.Keys, l.Known = v.Module, []addrs.InstanceKey{addrs.NoKey}, true
	}
	if !single || v.Alias == nil && v.callAlias == nil {
		return l
	}
	read := KeyedRead{Via: v, Refs: lang.Instances{one}}
	if v.Alias != nil {
		read.Of = v.Alias.Of
		l.part = part{of: read.Of, in: read.In(s.Module, s.In)}
	} else {
		read.Call = v.callAlias.Call
		l.part = part{call: read.Call, in: s.In}
		l.part.outputs = outputsOf(v.elementOutputs(read.Refs, slices.Values([]hcl.Traversal{rest})))
	}
	if one.Index != nil || hasKey(one.Key) {
		l.part.keys, l.part.known = s.keysOf(read)
	}
	if l.part.known && len(l.part.keys) == 0 {
		l.Keys, l.Known = nil, true
	}
	return l
}

// keysOf returns the keys that a reference selects, or false if they are not known. It also returns false if they
// are all of the many instances of an object: N readers that each lead to N instances would cost N².
func (s Scope) keysOf(read KeyedRead) (keys []addrs.InstanceKey, known bool) {
	one := read.Refs[0]
	constant := one.Index == nil
	if s.read != nil && (!constant || len(one.Guards) > 0) && (read.Of == nil || read.Of.Config != nil) {
		var list []KeyRead
		list, known = s.read(read)
		for _, found := range list {
			keys = append(keys, found.Key)
		}
	}
	switch {
	case known:
		all := len(keys) >= ManyInstances && read.Call != nil ||
			read.Of != nil && isAll(s.Early, read.Of, read.In(s.Module, s.In), len(keys))
		return keys, !all
	case constant:
		return []addrs.InstanceKey{one.Key}, true
	case read.Call != nil:
		return nil, false
	}
	return plans.KeysRead(s.recorded, read.Name())
}
