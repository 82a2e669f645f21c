package addrs

import "strings"

// ResourceMode is the kind of a resource block.
type ResourceMode uint8

const (
	Managed ResourceMode = iota + 1
	Data
	Ephemeral
	// Action is the mode of action blocks, which have instances but no objects.
	Action
)

// String returns the name of the mode in state files.
func (m ResourceMode) String() string {
	switch m {
	case Managed:
		return "managed"
	case Data:
		return "data"
	case Ephemeral:
		return "ephemeral"
	case Action:
		return "action"
	}
	return "invalid"
}

// Resource is a resource block within its module.
type Resource struct {
	Mode ResourceMode
	Type string
	Name string
}

// String returns the form in references: "type.name", "data.type.name", "ephemeral.type.name" or
// "action.type.name".
func (r Resource) String() string {
	switch r.Mode {
	case Data:
		return "data." + r.Type + "." + r.Name
	case Ephemeral:
		return "ephemeral." + r.Type + "." + r.Name
	case Action:
		return "action." + r.Type + "." + r.Name
	}
	return r.Type + "." + r.Name
}

// ImpliedProvider returns the local name of the resource type's provider for blocks without a
// provider argument.
func (r Resource) ImpliedProvider() string {
	name, _, _ := strings.Cut(r.Type, "_")
	return name
}

// In returns the address of the resource in module m.
func (r Resource) In(m Module) ConfigResource { return ConfigResource{m, r} }

// InInstance returns the address of the resource in module instance m.
func (r Resource) InInstance(m ModuleInstance) AbsResource { return AbsResource{m, r} }

// Compare orders resources by mode, type and name.
func (r Resource) Compare(o Resource) int {
	if r.Mode != o.Mode {
		return int(r.Mode) - int(o.Mode)
	}
	if c := strings.Compare(r.Type, o.Type); c != 0 {
		return c
	}
	return strings.Compare(r.Name, o.Name)
}

// ConfigResource is the address of a resource block in the configuration tree, without instance
// keys.
type ConfigResource struct {
	Module   Module
	Resource Resource
}

func (r ConfigResource) String() string {
	var text [128]byte
	return string(r.AppendText(text[:0]))
}

// AppendText appends the text of the address.
func (r ConfigResource) AppendText(b []byte) []byte {
	for rest := string(r.Module); rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, ".")
		b = append(append(append(b, "module."...), name...), '.')
	}
	switch r.Resource.Mode {
	case Data:
		b = append(b, "data."...)
	case Ephemeral:
		b = append(b, "ephemeral."...)
	case Action:
		b = append(b, "action."...)
	}
	return append(append(append(b, r.Resource.Type...), '.'), r.Resource.Name...)
}

// Compare orders addresses by the module's text, then by resource.
func (r ConfigResource) Compare(o ConfigResource) int {
	if c := strings.Compare(string(r.Module), string(o.Module)); c != 0 {
		return c
	}
	return r.Resource.Compare(o.Resource)
}

// AbsResource is the address of a resource in a module instance.
type AbsResource struct {
	Module   ModuleInstance
	Resource Resource
}

func (r AbsResource) String() string { return joinDot(string(r.Module), r.Resource.String()) }

// Config returns the address without instance keys.
func (r AbsResource) Config() ConfigResource { return ConfigResource{r.Module.Module(), r.Resource} }

// Instance returns the address of the instance with the given key.
func (r AbsResource) Instance(key InstanceKey) AbsInstance {
	return AbsInstance{Module: r.Module, Resource: r.Resource, Key: key}
}

// Compare orders addresses by the module's text, then by resource.
func (r AbsResource) Compare(o AbsResource) int {
	if c := strings.Compare(string(r.Module), string(o.Module)); c != 0 {
		return c
	}
	return r.Resource.Compare(o.Resource)
}

// AbsInstance is the absolute address of a resource instance.
type AbsInstance struct {
	Module   ModuleInstance
	Resource Resource
	Key      InstanceKey
}

func (i AbsInstance) String() string {
	return joinDot(string(i.Module), i.Resource.String()+i.Key.String())
}

// Abs returns the address without the instance key.
func (i AbsInstance) Abs() AbsResource { return AbsResource{i.Module, i.Resource} }

// Config returns the address without any instance keys.
func (i AbsInstance) Config() ConfigResource { return i.Abs().Config() }

// Compare orders addresses by resource, then by key.
func (i AbsInstance) Compare(o AbsInstance) int {
	if c := i.Abs().Compare(o.Abs()); c != 0 {
		return c
	}
	return i.Key.Compare(o.Key)
}

// DeposedKey identifies a deposed object, which was replaced but not yet destroyed: 8 lower-case
// hex digits. It is "" for the current object.
type DeposedKey string

// NotDeposed is the key of the current object.
const NotDeposed DeposedKey = ""

func joinDot(module, rest string) string {
	if module == "" {
		return rest
	}
	return module + "." + rest
}
