package addrs

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/tfdiags"
)

// ParseTraversalText parses an absolute traversal from the command line. what describes the text in
// error messages, such as "address".
func ParseTraversalText(text, what string) (hcl.Traversal, error) {
	tr, diags := hclsyntax.ParseTraversalAbs([]byte(text), "", hcl.InitialPos)
	var errs tfdiags.Diagnostics
	for _, d := range diags {
		errs = errs.Append(tfdiags.Errorf("Invalid "+what, "Can't parse %q: %s: %s", text, d.Summary, d.Detail))
	}
	return tr, errs.Err()
}

// ParseTargetText parses an address, such as the value of -target.
func ParseTargetText(text string) (Target, error) {
	tr, err := ParseTraversalText(text, "address")
	if err != nil {
		return Target{}, err
	}
	t, err := ParseTarget(tr)
	return t, tfdiags.MapError(err, func(diags tfdiags.Diagnostics) tfdiags.Diagnostics {
		return diags.Map(func(d *tfdiags.Diagnostic) {
			d.Subject, d.Detail = nil, fmt.Sprintf("The address %q can't be used. %s", text, d.Detail)
		})
	})
}

// ParseRootTargetText is like ParseTargetText, for an address that may begin with root["NAME"], the name of
// a root module. root is "" if it doesn't.
func ParseRootTargetText(text string) (root string, t Target, err error) {
	tr, err := ParseTraversalText(text, "address")
	if err != nil {
		return "", Target{}, err
	}
	root, t, err = ParseRootTarget(tr)
	return root, t, tfdiags.MapError(err, func(diags tfdiags.Diagnostics) tfdiags.Diagnostics {
		return diags.Map(func(d *tfdiags.Diagnostic) {
			d.Subject, d.Detail = nil, fmt.Sprintf("The address %q can't be used. %s", text, d.Detail)
		})
	})
}

// ParseRootTarget is like ParseTarget, for an address that may begin with root["NAME"].
func ParseRootTarget(tr hcl.Traversal) (root string, t Target, err error) {
	if len(tr) >= 2 && tr.RootName() == "root" {
		if index, ok := tr[1].(hcl.TraverseIndex); ok {
			key, err := KeyFromValue(index.Key)
			name, isName := key.IsString()
			if err != nil || !isName || name == "" {
				return "", Target{}, invalid(index, "The name of a root module must be a string that is not empty.")
			}
			if len(tr) == 2 {
				return "", Target{}, invalid(index, "The address of a resource or module must follow the name of the root module.")
			}
			attr, ok := tr[2].(hcl.TraverseAttr)
			if !ok {
				return "", Target{}, invalid(tr[2], "A dot and the address of a resource or module must follow the name of the "+
					"root module.")
			}
			root = name
			tr = append(hcl.Traversal{hcl.TraverseRoot{Name: attr.Name, SrcRange: attr.SrcRange}}, tr[3:]...)
		}
	}
	t, err = ParseTarget(tr)
	return root, t, err
}

// ParseTarget parses the address of a module, module instance, resource or resource instance.
func ParseTarget(tr hcl.Traversal) (Target, error) {
	module, rest, err := moduleSteps(tr)
	if err != nil {
		return Target{}, err
	}
	t := Target{Module: module}
	if len(rest) == 0 {
		return t, nil
	}
	t.Resource, rest, err = resourceSteps(rest)
	if err != nil {
		return Target{}, err
	}
	if len(rest) > 0 {
		index, ok := rest[0].(hcl.TraverseIndex)
		if !ok || len(rest) > 1 {
			return Target{}, invalid(rest[len(rest)-1],
				"A resource address must end with its name or an instance key in brackets.")
		}
		key, err := KeyFromValue(index.Key)
		if err != nil {
			return Target{}, invalid(index, err.Error()+".")
		}
		t.Key, t.HasKey = key, true
	}
	return t, nil
}

// ParseInstanceText parses the address of a resource instance.
func ParseInstanceText(text string) (AbsInstance, error) {
	t, err := ParseTargetText(text)
	if err != nil {
		return AbsInstance{}, err
	}
	if t.IsModule() {
		return AbsInstance{}, tfdiags.Errorf("Invalid address",
			"%q is the address of a module. A resource instance address is required here.", text)
	}
	return AbsInstance{Module: t.Module, Resource: t.Resource, Key: t.Key}, nil
}

// ParseModuleInstanceText parses the address of a module instance; "" is the root module.
func ParseModuleInstanceText(text string) (ModuleInstance, error) {
	if text == "" {
		return RootInstance, nil
	}
	t, err := ParseTargetText(text)
	if err == nil && !t.IsModule() {
		err = tfdiags.Errorf("Invalid module address",
			"%q is the address of a resource. A module address is required here.", text)
	}
	return t.Module, err
}

// ParseConfigResourceText parses a dependency in the state, such as "module.m.type.name". It is
// strict and fast, because states contain many dependencies.
func ParseConfigResourceText(text string) (ConfigResource, bool) {
	parts := strings.Split(text, ".")
	var module Module
	for len(parts) > 3 && parts[0] == "module" {
		module, parts = module.Child(parts[1]), parts[2:]
	}
	r := Resource{Mode: Managed}
	if len(parts) == 3 && (parts[0] == "data" || parts[0] == "ephemeral") {
		r.Mode = Data
		if parts[0] == "ephemeral" {
			r.Mode = Ephemeral
		}
		parts = parts[1:]
	}
	if len(parts) != 2 || parts[0] == "" || parts[1] == "" || strings.ContainsAny(text, `["`) {
		return ConfigResource{}, false
	}
	r.Type, r.Name = parts[0], parts[1]
	return ConfigResource{module, r}, true
}

// ParseProviderInstanceText parses the address of a provider configuration in the state, with an
// optional instance key.
func ParseProviderInstanceText(text string) (ProviderInstance, error) {
	tr, diags := hclsyntax.ParseTraversalAbs([]byte(text), "", hcl.InitialPos)
	if diags.HasErrors() {
		return ProviderInstance{}, fmt.Errorf("invalid provider configuration address %q", text)
	}
	module, rest, _ := moduleSteps(tr)
	bad := fmt.Errorf("invalid provider configuration address %q", text)
	if len(rest) < 2 || StepName(rest[0]) != "provider" {
		return ProviderInstance{}, bad
	}
	index, ok := rest[1].(hcl.TraverseIndex)
	if !ok || index.Key.Type() != cty.String {
		return ProviderInstance{}, bad
	}
	p, err := ParseProvider(index.Key.AsString())
	if err != nil {
		return ProviderInstance{}, err
	}
	out := ProviderInstance{Config: AbsProviderConfig{Module: module.Module(), Provider: p}}
	for _, step := range rest[2:] {
		switch step := step.(type) {
		case hcl.TraverseAttr:
			out.Config.Alias = step.Name
		case hcl.TraverseIndex:
			out.Key, err = KeyFromValue(step.Key)
			if err != nil {
				return ProviderInstance{}, bad
			}
		}
	}
	return out, nil
}

// moduleSteps parses the leading module.NAME[KEY] steps and returns the steps after them.
func moduleSteps(tr hcl.Traversal) (ModuleInstance, hcl.Traversal, error) {
	var module ModuleInstance
	for len(tr) > 0 && StepName(tr[0]) == "module" {
		if len(tr) < 2 || StepName(tr[1]) == "" {
			return "", nil, invalid(tr[0], "The keyword \"module\" must be followed by a module name.")
		}
		name, key := StepName(tr[1]), NoKey
		tr = tr[2:]
		if len(tr) > 0 {
			if index, ok := tr[0].(hcl.TraverseIndex); ok {
				k, err := KeyFromValue(index.Key)
				if err != nil {
					return "", nil, invalid(index, err.Error()+".")
				}
				key, tr = k, tr[1:]
			}
		}
		module = module.Child(name, key)
	}
	return module, tr, nil
}

// resourceSteps parses [data.|ephemeral.|action.|resource.]TYPE.NAME and returns the steps after it.
func resourceSteps(tr hcl.Traversal) (Resource, hcl.Traversal, error) {
	r := Resource{Mode: Managed}
	first := tr[0]
	switch StepName(first) {
	case "data":
		r.Mode, tr = Data, tr[1:]
	case "ephemeral":
		r.Mode, tr = Ephemeral, tr[1:]
	case "action":
		r.Mode, tr = Action, tr[1:]
	case "resource":
		tr = tr[1:]
	}
	if len(tr) < 2 || StepName(tr[0]) == "" || StepName(tr[1]) == "" {
		return Resource{}, nil, invalid(first,
			"A resource address must consist of a resource type and a name, separated by a dot.")
	}
	r.Type, r.Name = StepName(tr[0]), StepName(tr[1])
	return r, tr[2:], nil
}

// StepName returns the attribute name of a step, or "" for an index.
func StepName(t hcl.Traverser) string {
	switch t := t.(type) {
	case hcl.TraverseRoot:
		return t.Name
	case hcl.TraverseAttr:
		return t.Name
	}
	return ""
}

// FirstName returns the name that the first of the steps selects, as in .NAME or ["NAME"], or "".
func FirstName(steps hcl.Traversal) string {
	if len(steps) == 0 {
		return ""
	}
	if index, ok := steps[0].(hcl.TraverseIndex); ok && index.Key.Type() == cty.String {
		return index.Key.AsString()
	}
	return StepName(steps[0])
}

func invalid(at hcl.Traverser, detail string) error {
	return tfdiags.Errorf("Invalid address", "%s", detail).At(at.SourceRange())
}
