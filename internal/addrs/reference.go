package addrs

import (
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/tfdiags"
)

// Reference is a reference to an object in an expression.
type Reference struct {
	Subject   Referenceable
	Range     hcl.Range     // the part of the traversal that refers to the subject
	Remaining hcl.Traversal // the steps after the subject
}

// Whole returns the subject. If the subject is a resource instance, it returns the whole resource.
func (r *Reference) Whole() Referenceable {
	if inst, ok := r.Subject.(ResourceInstance); ok {
		return inst.Resource
	}
	return r.Subject
}

// Referenceable is an object that expressions can refer to: one of the types below. All are
// comparable.
type Referenceable interface {
	String() string
	referenceable()
}

type (
	// InputVariable is var.Name.
	InputVariable struct{ Name string }
	// LocalValue is local.Name.
	LocalValue struct{ Name string }
	// OutputValue is output.Name, used only in test assertions and internal references.
	OutputValue struct{ Name string }
	// ModuleCall is module.Name as a whole.
	ModuleCall struct{ Name string }
	// ModuleCallInstance is module.Name[Key] with a constant key.
	ModuleCallInstance struct {
		Name string
		Key  InstanceKey
	}
	// ModuleCallOutput is module.Name.Output or module.Name[Key].Output.
	ModuleCallOutput struct {
		Call   ModuleCallInstance
		Output string
	}
	// ResourceInstance is a resource with a constant key within its module.
	ResourceInstance struct {
		Resource Resource
		Key      InstanceKey
	}
	// CountAttr is count.Name.
	CountAttr struct{ Name string }
	// ForEachAttr is each.Name.
	ForEachAttr struct{ Name string }
	// PathAttr is path.Name.
	PathAttr struct{ Name string }
	// TerraformAttr is terraform.Name or tofu.Name; Alias is "terraform" or "tofu".
	TerraformAttr struct{ Name, Alias string }
	// Self is self.
	Self struct{}
	// Caller is caller, the object whose change triggers an action.
	Caller struct{}
	// Check is check.Name.
	Check struct{ Name string }
	// Run is run.Name, used only in tests.
	Run struct{ Name string }
	// ProviderFunction is provider::Name[::Alias]::Function.
	ProviderFunction struct{ Name, Alias, Function string }
)

func (a InputVariable) String() string { return "var." + a.Name }
func (a LocalValue) String() string    { return "local." + a.Name }
func (a OutputValue) String() string   { return "output." + a.Name }
func (a ModuleCall) String() string    { return "module." + a.Name }
func (a ModuleCallInstance) String() string {
	return "module." + a.Name + a.Key.String()
}
func (a ModuleCallOutput) String() string { return a.Call.String() + "." + a.Output }
func (a ResourceInstance) String() string { return a.Resource.String() + a.Key.String() }
func (a CountAttr) String() string        { return "count." + a.Name }
func (a ForEachAttr) String() string      { return "each." + a.Name }
func (a PathAttr) String() string         { return "path." + a.Name }
func (a TerraformAttr) String() string    { return a.Alias + "." + a.Name }
func (Self) String() string               { return "self" }
func (Caller) String() string             { return "caller" }
func (a Check) String() string            { return "check." + a.Name }
func (a Run) String() string              { return "run." + a.Name }
func (a ProviderFunction) String() string {
	parts := []string{"provider", a.Name}
	if a.Alias != "" {
		parts = append(parts, a.Alias)
	}
	return strings.Join(append(parts, a.Function), "::")
}

func (Resource) referenceable()           {}
func (InputVariable) referenceable()      {}
func (LocalValue) referenceable()         {}
func (OutputValue) referenceable()        {}
func (ModuleCall) referenceable()         {}
func (ModuleCallInstance) referenceable() {}
func (ModuleCallOutput) referenceable()   {}
func (ResourceInstance) referenceable()   {}
func (CountAttr) referenceable()          {}
func (ForEachAttr) referenceable()        {}
func (PathAttr) referenceable()           {}
func (TerraformAttr) referenceable()      {}
func (Self) referenceable()               {}
func (Caller) referenceable()             {}
func (Check) referenceable()              {}
func (Run) referenceable()                {}
func (ProviderFunction) referenceable()   {}

// StepsText returns the text of the steps after a reference's subject. It returns false if there
// are steps other than attributes and indexes. Unknown keys, and keys other than strings and
// numbers, are written as "[...]".
func StepsText(steps hcl.Traversal) (string, bool) {
	var b strings.Builder
	for _, step := range steps {
		switch step := step.(type) {
		case hcl.TraverseAttr:
			b.WriteString("." + step.Name)
		case hcl.TraverseIndex:
			b.WriteString("[" + tfdiags.FormatKey(step.Key) + "]")
		default:
			return "", false
		}
	}
	return b.String(), true
}
