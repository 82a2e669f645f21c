package addrs

import "tofu/internal/tfdiags"

// AbsValue is a variable, a local value or an output in a module instance.
type AbsValue struct {
	Module ModuleInstance
	Value  Referenceable // InputVariable, LocalValue or OutputValue
}

func (v AbsValue) String() string { return joinDot(string(v.Module), v.Value.String()) }

// valuesNamed maps the first word of an address to a function that creates the value with the given
// name.
var valuesNamed = map[string]func(name string) Referenceable{
	"var":    func(name string) Referenceable { return InputVariable{Name: name} },
	"local":  func(name string) Referenceable { return LocalValue{Name: name} },
	"output": func(name string) Referenceable { return OutputValue{Name: name} },
}

// ParseValueText parses the address of a variable, a local value or an output, such as var.x or
// module.m["k"].local.y. It returns false for an address of another kind.
func ParseValueText(text string) (v AbsValue, ok bool, err error) {
	tr, err := ParseTraversalText(text, "address")
	if err != nil {
		return AbsValue{}, false, err
	}
	module, rest, err := moduleSteps(tr)
	if err != nil || len(rest) == 0 {
		return AbsValue{}, false, err
	}
	value := valuesNamed[StepName(rest[0])]
	if value == nil {
		return AbsValue{}, false, nil
	}
	if len(rest) < 2 || StepName(rest[1]) == "" {
		return AbsValue{}, true, tfdiags.Errorf("Invalid address", "The address %q needs a name after %q.", text,
			StepName(rest[0])+".")
	}
	v = AbsValue{Module: module, Value: value(StepName(rest[1]))}
	if len(rest) > 2 {
		return v, true, tfdiags.Errorf("Invalid address", "The address %q names a part of a value. Use %s.", text, v)
	}
	return v, true, nil
}
