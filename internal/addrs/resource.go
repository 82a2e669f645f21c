package addrs

import "strings"

// ResourceMode tells the three kinds of resource blocks apart.
type ResourceMode uint8

const (
	Managed ResourceMode = iota + 1
	Data
	Ephemeral
)

// String is the mode's name in state files.
func (m ResourceMode) String() string {
	switch m {
	case Managed:
		return "managed"
	case Data:
		return "data"
	case Ephemeral:
		return "ephemeral"
	}
	return "invalid"
}

// Resource is a resource block within its module.
type Resource struct {
	Mode ResourceMode
	Type string
	Name string
}

// String is the form used in references: "type.name", "data.type.name", "ephemeral.type.name".
func (r Resource) String() string {
	switch r.Mode {
	case Data:
		return "data." + r.Type + "." + r.Name
	case Ephemeral:
		return "ephemeral." + r.Type + "." + r.Name
	}
	return r.Type + "." + r.Name
}

// ImpliedProvider is the local name of the provider that serves the type unless the block says otherwise.
func (r Resource) ImpliedProvider() string {
	name, _, _ := strings.Cut(r.Type, "_")
	return name
}

// In gives the block's address in a configuration.
func (r Resource) In(m Module) ConfigResource { return ConfigResource{m, r} }

// InInstance gives the resource's address in a module instance.
func (r Resource) InInstance(m ModuleInstance) AbsResource { return AbsResource{m, r} }

// Compare orders by mode, type and name.
func (r Resource) Compare(o Resource) int {
	if r.Mode != o.Mode {
		return int(r.Mode) - int(o.Mode)
	}
	if c := strings.Compare(r.Type, o.Type); c != 0 {
		return c
	}
	return strings.Compare(r.Name, o.Name)
}

// ConfigResource is a resource block in the configuration tree (no instance keys).
type ConfigResource struct {
	Module   Module
	Resource Resource
}

func (r ConfigResource) String() string { return dotted(r.Module.String(), r.Resource.String()) }

// Compare orders by module text, then as Resource does.
func (r ConfigResource) Compare(o ConfigResource) int {
	if c := strings.Compare(string(r.Module), string(o.Module)); c != 0 {
		return c
	}
	return r.Resource.Compare(o.Resource)
}

// AbsResource is a resource of one module instance.
type AbsResource struct {
	Module   ModuleInstance
	Resource Resource
}

func (r AbsResource) String() string { return dotted(string(r.Module), r.Resource.String()) }

// Config drops the module's instance keys.
func (r AbsResource) Config() ConfigResource { return ConfigResource{r.Module.Module(), r.Resource} }

// Instance is the instance with that key.
func (r AbsResource) Instance(key InstanceKey) AbsInstance {
	return AbsInstance{Module: r.Module, Resource: r.Resource, Key: key}
}

// Compare orders by module text, then as Resource does.
func (r AbsResource) Compare(o AbsResource) int {
	if c := strings.Compare(string(r.Module), string(o.Module)); c != 0 {
		return c
	}
	return r.Resource.Compare(o.Resource)
}

// AbsInstance is one instance of a resource: what a provider knows as one object.
type AbsInstance struct {
	Module   ModuleInstance
	Resource Resource
	Key      InstanceKey
}

func (i AbsInstance) String() string {
	return dotted(string(i.Module), i.Resource.String()+i.Key.String())
}

// Abs drops the instance key.
func (i AbsInstance) Abs() AbsResource { return AbsResource{i.Module, i.Resource} }

// Config drops all instance keys.
func (i AbsInstance) Config() ConfigResource { return i.Abs().Config() }

// Compare orders by resource, then key.
func (i AbsInstance) Compare(o AbsInstance) int {
	if c := i.Abs().Compare(o.Abs()); c != 0 {
		return c
	}
	return i.Key.Compare(o.Key)
}

// DeposedKey names an object that was replaced but not deleted yet: 8 lower-case hex digits; "" for the current object.
type DeposedKey string

// NotDeposed is the key of the current object.
const NotDeposed DeposedKey = ""

func dotted(module, rest string) string {
	if module == "" {
		return rest
	}
	return module + "." + rest
}
