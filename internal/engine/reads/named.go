package reads

import (
	"tofu/internal/addrs"
	"tofu/internal/lang"
)

// Named is the object that a reference in a module names. For an object that the configuration doesn't declare,
// the field that it would be in is nil. All fields are empty for count, each, self, path and terraform.
type Named struct {
	Resource *Resource
	Value    *Value  // a variable, a local, or an output of Call
	Call     *Module // for references to a module call or to one of its outputs
	Output   string  // name of the output, if the reference is to one
	// Key is the constant key after the name of the resource or module call, or NoKey.
	Key addrs.InstanceKey
}

// Named returns what a reference in the module names.
func (m *Module) Named(subject addrs.Referenceable) Named {
	switch s := subject.(type) {
	case addrs.Resource:
		return Named{Resource: m.Resources[s]}
	case addrs.ResourceInstance:
		return Named{Resource: m.Resources[s.Resource], Key: s.Key}
	case addrs.InputVariable:
		return Named{Value: m.Variables[s.Name]}
	case addrs.LocalValue:
		return Named{Value: m.Locals[s.Name]}
	case addrs.OutputValue:
		return Named{Value: m.Outputs[s.Name]}
	}
	call, output, isCall := lang.ModuleSubject(subject)
	if !isCall || m.Calls[call.Name] == nil {
		return Named{}
	}
	child := m.Calls[call.Name]
	return Named{Call: child, Key: call.Key, Output: output, Value: child.Outputs[output]}
}

// Outputs returns the outputs of the module call that the reference reads: the one that it names or, if
// it names none that is declared, all of them. It returns nil if the reference isn't to a module call.
func (n Named) Outputs() []*Value {
	if n.Call == nil {
		return nil
	}
	return KeyedRead{Call: n.Call, Output: n.Value}.Outputs()
}

// IsWholeCall reports whether the reference is to a module call, without a key or an output.
func (n Named) IsWholeCall() bool { return n.Call != nil && n.Output == "" && n.Key == addrs.NoKey }

// ResourceOf returns the resource that a reference names. It returns nil for references to anything
// else.
func (m *Module) ResourceOf(subject addrs.Referenceable) *Resource { return m.Named(subject).Resource }

// NodeOf returns the node of the value or module call that a reference names. It returns nil for
// references to anything else.
func (m *Module) NodeOf(subject addrs.Referenceable) *Node {
	switch n := m.Named(subject); {
	case n.Value != nil:
		return n.Value.Node
	case n.Call != nil && n.Output == "":
		return n.Call.End
	}
	return nil
}

// InModule returns the name of an object with the path of its module.
func InModule(m addrs.Module, name string) string {
	if m.IsRoot() {
		return name
	}
	return m.String() + "." + name
}

// ModuleName returns the name of a module for messages.
func ModuleName(m addrs.Module) string {
	if m.IsRoot() {
		return "the root module"
	}
	return m.String()
}
