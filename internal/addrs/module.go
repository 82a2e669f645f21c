package addrs

import (
	"strings"
)

// Module is the path of a module in the configuration tree, its call names joined with dots ("net.subnets"); "" is the root.
type Module string

// Child is the module called name in m.
func (m Module) Child(name string) Module {
	if m == "" {
		return Module(name)
	}
	return m + "." + Module(name)
}

// IsRoot tells whether m is the root module.
func (m Module) IsRoot() bool { return m == "" }

// Parent gives the calling module and the name of the call; the root's parent is the root itself with no name.
func (m Module) Parent() (Module, string) {
	if i := strings.LastIndexByte(string(m), '.'); i >= 0 {
		return m[:i], string(m[i+1:])
	}
	return "", string(m)
}

// Names lists the call names from the root down.
func (m Module) Names() []string {
	if m == "" {
		return nil
	}
	return strings.Split(string(m), ".")
}

// Contains tells whether other is m or lies below it.
func (m Module) Contains(other Module) bool {
	return m == "" || m == other || strings.HasPrefix(string(other), string(m)+".")
}

// String is the form users know: "module.net.module.subnets"; "" for the root.
func (m Module) String() string {
	if m == "" {
		return ""
	}
	return "module." + strings.ReplaceAll(string(m), ".", ".module.")
}

// ModuleInstance is the path of a module instance in its canonical text form ("module.net[0].module.subnets"); "" is the root.
type ModuleInstance string

// RootInstance is the one instance of the root module.
const RootInstance ModuleInstance = ""

// Child is the instance key of the module called name in m.
func (m ModuleInstance) Child(name string, key InstanceKey) ModuleInstance {
	s := "module." + name + key.String()
	if m != "" {
		s = string(m) + "." + s
	}
	return ModuleInstance(s)
}

// IsRoot tells whether m is the root module.
func (m ModuleInstance) IsRoot() bool { return m == "" }

// String is the canonical text.
func (m ModuleInstance) String() string { return string(m) }

// Step is one call on the way to a module instance.
type Step struct {
	Name string
	Key  InstanceKey
}

// Steps lists the calls from the root down.
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

// Module drops the instance keys.
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

// Parent gives the calling instance and the last step; the root's parent is the root itself with an empty step.
func (m ModuleInstance) Parent() (ModuleInstance, Step) {
	steps := m.Steps()
	if len(steps) == 0 {
		return "", Step{}
	}
	last := steps[len(steps)-1]
	cut := len(m) - len("module."+last.Name+last.Key.String())
	return ModuleInstance(strings.TrimSuffix(string(m[:cut]), ".")), last
}

// Contains tells whether other is m or lies below it.
func (m ModuleInstance) Contains(other ModuleInstance) bool {
	return m == "" || m == other || strings.HasPrefix(string(other), string(m)+".")
}

// UnkeyedInstance is the instance of m in which no call has a key.
func (m Module) UnkeyedInstance() ModuleInstance { return ModuleInstance(m.String()) }
