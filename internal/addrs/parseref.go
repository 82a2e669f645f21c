package addrs

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/tfdiags"
)

// Scope determines which special root names references may use.
type Scope uint8

const (
	// ModuleScope is the scope of a module's expressions.
	ModuleScope Scope = iota
	// TestScope also allows run.NAME, output.NAME and check.NAME.
	TestScope
)

// ParseRef parses a traversal, such as var.name.attribute, as a reference to an object in the
// module that contains it.
func ParseRef(tr hcl.Traversal, scope Scope) (*Reference, error) {
	root := tr.RootName()
	if parse, ok := roots[root]; ok {
		return parse(tr)
	}
	if parse, ok := testRoots[root]; ok && scope == TestScope {
		return parse(tr)
	}
	return parseResourceRef(tr, Managed, 0)
}

type refParser func(hcl.Traversal) (*Reference, error)

var roots = map[string]refParser{
	"var":       named(func(n string) Referenceable { return InputVariable{n} }),
	"local":     named(func(n string) Referenceable { return LocalValue{n} }),
	"count":     named(func(n string) Referenceable { return CountAttr{n} }),
	"each":      named(func(n string) Referenceable { return ForEachAttr{n} }),
	"path":      named(func(n string) Referenceable { return PathAttr{n} }),
	"terraform": named(func(n string) Referenceable { return TerraformAttr{n, "terraform"} }),
	"tofu":      named(func(n string) Referenceable { return TerraformAttr{n, "tofu"} }),
	"self":      func(tr hcl.Traversal) (*Reference, error) { return reference(Self{}, tr, 1), nil },
	"data": func(tr hcl.Traversal) (*Reference, error) {
		return parseResourceRef(tr, Data, 1)
	},
	"ephemeral": func(tr hcl.Traversal) (*Reference, error) {
		return parseResourceRef(tr, Ephemeral, 1)
	},
	"action": func(tr hcl.Traversal) (*Reference, error) {
		return parseResourceRef(tr, Action, 1)
	},
	"caller": func(tr hcl.Traversal) (*Reference, error) { return reference(Caller{}, tr, 1), nil },
	"resource": func(tr hcl.Traversal) (*Reference, error) {
		return parseResourceRef(tr, Managed, 1)
	},
	"module":   parseModuleRef,
	"template": reserved,
	"lazy":     reserved,
	"arg":      reserved,
}

var testRoots = map[string]refParser{
	"run":    named(func(n string) Referenceable { return Run{n} }),
	"output": named(func(n string) Referenceable { return OutputValue{n} }),
	"check":  named(func(n string) Referenceable { return Check{n} }),
}

// named returns a parser for references to objects with a root name and exactly one other name,
// such as var.NAME. Further steps, such as attributes, may follow.
func named(subject func(name string) Referenceable) refParser {
	return func(tr hcl.Traversal) (*Reference, error) {
		if len(tr) < 2 {
			return nil, refError(tr[0].SourceRange(),
				"The %q object can't be used as a whole. Select one of its attributes after a dot.", tr.RootName())
		}
		attr, ok := tr[1].(hcl.TraverseAttr)
		if !ok {
			return nil, refError(tr[1].SourceRange(),
				"The %q object is not a list or map. Select one of its attributes after a dot.", tr.RootName())
		}
		return reference(subject(attr.Name), tr, 2), nil
	}
}

func reserved(tr hcl.Traversal) (*Reference, error) {
	return nil, tfdiags.Errorf("Reserved symbol name",
		"The name %q is reserved. To refer to a resource type with this name, use \"resource.%s\".",
		tr.RootName(), tr.RootName()).At(tr[0].SourceRange())
}

// parseResourceRef parses TYPE.NAME, with an optional word such as "data" before it and an optional
// instance key after it. skip is the number of steps before TYPE: 1 with such a word, else 0.
func parseResourceRef(tr hcl.Traversal, mode ResourceMode, skip int) (*Reference, error) {
	what := map[ResourceMode]string{
		Managed: "a resource", Data: "a data source", Ephemeral: "an ephemeral resource", Action: "an action"}[mode]
	if len(tr) < skip+2 {
		if skip == 1 {
			return nil, refError(tr.SourceRange(),
				"A reference to %s must have its type and its name after %q, each after a dot.", what, tr.RootName())
		}
		hint := ""
		if len(tr) == 1 {
			hint = fmt.Sprintf(" If %s is a string, write it in quotes: %q.", tr.RootName(), tr.RootName())
		}
		return nil, refError(tr.SourceRange(),
			"A reference to %s must consist of its type and its name, separated by a dot.%s", what, hint)
	}
	typ, name := StepName(tr[skip]), StepName(tr[skip+1])
	if typ == "" {
		return nil, refError(tr[skip].SourceRange(),
			"A reference to %s must have its type after %q, separated by a dot.", what, tr.RootName())
	}
	if name == "" {
		return nil, refError(tr[skip+1].SourceRange(),
			"A reference to %s must have its name after its type, separated by a dot.", what)
	}
	res := Resource{Mode: mode, Type: typ, Name: name}
	if len(tr) > skip+2 {
		if index, ok := tr[skip+2].(hcl.TraverseIndex); ok {
			key, err := KeyFromValue(index.Key)
			if err != nil {
				return nil, refError(index.SrcRange, "Invalid index: %s.", err)
			}
			return reference(ResourceInstance{res, key}, tr, skip+3), nil
		}
	}
	return reference(res, tr, skip+2), nil
}

func parseModuleRef(tr hcl.Traversal) (*Reference, error) {
	if len(tr) < 2 || StepName(tr[1]) == "" {
		return nil, refError(tr.SourceRange(),
			"The \"module\" object can't be used as a whole. Select a module call by its name after a dot.")
	}
	call := ModuleCallInstance{Name: StepName(tr[1])}
	used := 2
	if len(tr) > used {
		if index, ok := tr[used].(hcl.TraverseIndex); ok {
			key, err := KeyFromValue(index.Key)
			if err != nil {
				return nil, refError(index.SrcRange, "Invalid index: %s.", err)
			}
			call.Key, used = key, used+1
		}
	}
	if len(tr) > used {
		if attr, ok := tr[used].(hcl.TraverseAttr); ok {
			return reference(ModuleCallOutput{call, attr.Name}, tr, used+1), nil
		}
		return reference(ModuleCall{call.Name}, tr, 2), nil
	}
	if used == 3 {
		return reference(call, tr, used), nil
	}
	return reference(ModuleCall{call.Name}, tr, used), nil
}

func reference(subject Referenceable, tr hcl.Traversal, used int) *Reference {
	return &Reference{Subject: subject, Range: hcl.RangeBetween(tr[0].SourceRange(), tr[used-1].SourceRange()),
		Remaining: tr[used:]}
}

func refError(at hcl.Range, format string, args ...any) error {
	return tfdiags.Errorf("Invalid reference", "%s", fmt.Sprintf(format, args...)).At(at)
}
