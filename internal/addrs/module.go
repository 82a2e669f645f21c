package addrs

import (
	"strings"
)

// Module is the path of a module in the configuration tree: the names of the module calls that lead
// to it, joined with dots, such as "net.subnets"; "" is the root module.
type Module string

// Child returns the path of the module call with the given name in m.
func (m Module) Child(name string) Module {
	if m == "" {
		return Module(name)
	}
	return m + "." + Module(name)
}

// IsRoot reports whether m is the root module.
func (m Module) IsRoot() bool { return m == "" }

// Parent returns the calling module and the name of the call. For the root module both are empty.
func (m Module) Parent() (Module, string) {
	if i := strings.LastIndexByte(string(m), '.'); i >= 0 {
		return m[:i], string(m[i+1:])
	}
	return "", string(m)
}

// Names returns the names of the module calls in the path, starting with the call in the root
// module. It returns nil for the root module.
func (m Module) Names() []string {
	if m == "" {
		return nil
	}
	return strings.Split(string(m), ".")
}

// Contains reports whether other is m or below it.
func (m Module) Contains(other Module) bool {
	return m == "" || m == other || strings.HasPrefix(string(other), string(m)+".")
}

// String returns the address of the module, such as "module.net.module.subnets"; "" for the root.
func (m Module) String() string {
	if m == "" {
		return ""
	}
	return "module." + strings.ReplaceAll(string(m), ".", ".module.")
}

// ModuleInstance is the address of a module instance in canonical form, such as
// "module.net[0].module.subnets"; "" is the root.
type ModuleInstance string

// RootInstance is the only instance of the root module.
const RootInstance ModuleInstance = ""

// Child returns the address of an instance of a module that m calls, from the name of the call and
// the instance key.
func (m ModuleInstance) Child(name string, key InstanceKey) ModuleInstance {
	s := "module." + name + key.String()
	if m != "" {
		s = string(m) + "." + s
	}
	return ModuleInstance(s)
}

// IsRoot reports whether m is the root module.
func (m ModuleInstance) IsRoot() bool { return m == "" }

// String returns the address.
func (m ModuleInstance) String() string { return string(m) }

// Step is one module call in the path of a module instance.
type Step struct {
	Name string
	Key  InstanceKey
}

// Steps returns the module calls in the path, starting with the call in the root module.
func (m ModuleInstance) Steps() []Step {
	var out []Step
	for rest := string(m); rest != ""; {
		rest = strings.TrimPrefix(rest, "module.")
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			return append(out, Step{Name: rest})
		}
		step := Step{Name: rest[:end]}
		rest = rest[end:]
		if rest[0] == '[' {
			step.Key, rest = parseKey(rest)
		}
		out = append(out, step)
		rest = strings.TrimPrefix(rest, ".")
	}
	return out
}

// Module returns the path without instance keys, which identifies the module in the configuration.
func (m ModuleInstance) Module() Module {
	if m == "" {
		return ""
	}
	if !strings.ContainsRune(string(m), '[') {
		return Module(strings.ReplaceAll(string(m[len("module."):]), ".module.", "."))
	}
	var out Module
	for _, step := range m.Steps() {
		out = out.Child(step.Name)
	}
	return out
}

// Parent returns the calling module instance and the last step. For the root module both are empty.
func (m ModuleInstance) Parent() (ModuleInstance, Step) {
	steps := m.Steps()
	if len(steps) == 0 {
		return "", Step{}
	}
	last := steps[len(steps)-1]
	cut := len(m) - len("module."+last.Name+last.Key.String())
	return ModuleInstance(strings.TrimSuffix(string(m[:cut]), ".")), last
}

// Contains reports whether other is m or below it.
func (m ModuleInstance) Contains(other ModuleInstance) bool {
	return m == "" || m == other || strings.HasPrefix(string(other), string(m)+".")
}

// UnkeyedInstance returns the instance of m without any instance keys.
func (m Module) UnkeyedInstance() ModuleInstance { return ModuleInstance(m.String()) }
