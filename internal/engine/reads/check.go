package reads

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
)

// checkPreventDestroy returns an error for each reference in prevent_destroy whose value differs
// between instances. This is not allowed because prevent_destroy also applies to instances that the
// configuration no longer declares.
func checkPreventDestroy(_ *Module, e *lang.Expr) error {
	var errs tfdiags.Diagnostics
	for _, ref := range e.Refs.Objects {
		if differs(ref.Subject) {
			errs = errs.Append(tfdiags.Errorf("Invalid reference in prevent_destroy",
				"prevent_destroy applies to all instances of a resource, including those that the "+
					"configuration no longer declares, "+
					"so it can't refer to %s.", ref.Subject).At(ref.Range))
		}
	}
	return errs.Err()
}

// subtraction returns advice for a name such as index-1 in count.index-1. The dash is part of this
// name, although a subtraction may be meant. It returns "" for any other name.
func subtraction(name string) string {
	if rest, ok := strings.CutPrefix(name, "index-"); ok {
		return fmt.Sprintf(" A name can contain dashes; to subtract, write spaces: count.index - %s.", rest)
	}
	return ""
}

// checkBlockLocal checks a reference to count, each, self, path or terraform.
func checkBlockLocal(ref *addrs.Reference, scope BlockScope) error {
	var d tfdiags.Diagnostic
	switch s := ref.Subject.(type) {
	case addrs.CountAttr:
		switch {
		case s.Name != "index":
			d = tfdiags.Errorf("Invalid \"count\" attribute",
				"The \"count\" object has no attribute %q: its only attribute is \"index\".%s", s.Name, subtraction(s.Name))
		case !scope.Count:
			d = tfdiags.Errorf("Reference to \"count\" in non-counted context",
				"count.index exists only in a block that has a \"count\" argument.")
		}
	case addrs.ForEachAttr:
		switch {
		case s.Name != "key" && s.Name != "value":
			d = tfdiags.Errorf("Invalid \"each\" attribute",
				"The \"each\" object has no attribute %q: it has \"key\" and \"value\".", s.Name)
		case !scope.Each:
			d = tfdiags.Errorf("Reference to \"each\" in context without for_each",
				"each.key and each.value exist only in a block that has a \"for_each\" argument.")
		}
	case addrs.Self:
		if scope.Self != nil {
			return scope.Self.checkAttribute(ref.Remaining)
		}
		d = tfdiags.Errorf("Invalid \"self\" reference",
			"The \"self\" object is available only in provisioner, connection and postcondition blocks. "+
				"Elsewhere, refer to the resource by its name.")
	case addrs.Caller:
		if !scope.Caller {
			d = tfdiags.Errorf("Invalid \"caller\" reference", "The \"caller\" object, whose change triggers an action, is "+
				"available only in config blocks of actions and in the condition of action_trigger blocks.")
		}
	case addrs.PathAttr:
		if !slices.Contains([]string{"module", "root", "cwd"}, s.Name) {
			d = tfdiags.Errorf("Invalid \"path\" attribute",
				"The \"path\" object has no attribute %q: it has \"module\", \"root\" and \"cwd\".", s.Name)
		}
	case addrs.TerraformAttr:
		if s.Name != "workspace" && s.Name != "applying" {
			d = tfdiags.Errorf(fmt.Sprintf("Invalid %q attribute", s.Alias),
				"The %q object has no attribute %q: it has \"workspace\" and \"applying\".", s.Alias, s.Name)
		}
	default:
		d = tfdiags.Errorf("Invalid reference", "%s can't be referred to here.", ref.Subject)
	}
	if d.Summary == "" {
		return nil
	}
	return d
}

// Undeclared returns the error for a reference to an object that is not declared in the module. It returns
// nil for references to count, each, self, path and terraform that are valid in a block.
func (m *Module) Undeclared(ref *addrs.Reference, scope BlockScope) error {
	if call, _, ok := lang.ModuleSubject(ref.Subject); ok {
		return undeclared("module", call.Name, m, m.Calls, "")
	}
	switch s := ref.Whole().(type) {
	case addrs.InputVariable:
		return undeclared("input variable", s.Name, m, m.Config.Module.Variables,
			"A variable is declared with a block variable \"%s\" {}.")
	case addrs.LocalValue:
		return undeclared("local value", s.Name, m, m.Config.Module.Locals, "")
	case addrs.OutputValue:
		return undeclared("output value", s.Name, m, m.Config.Module.Outputs, "")
	case addrs.Resource:
		return m.undeclaredResource(s)
	}
	return checkBlockLocal(ref, scope)
}

// undeclared returns the error for a reference to a name that is not declared in m. hint is a
// format string for the name. It is used if no declared name is similar.
func undeclared[V any](what, name string, m *Module, declared map[string]V, hint string) error {
	detail := fmt.Sprintf("There is no %s %q in %s.", what, name, ModuleName(m.Path))
	if near := suggest.DidYouMean(name, slices.Sorted(maps.Keys(declared))); near != "" {
		detail += near
	} else if hint != "" {
		detail += " " + fmt.Sprintf(hint, name)
	}
	return tfdiags.Errorf("Reference to undeclared "+what, "%s", detail)
}

// CheckAccess checks a reference against the repetition of the block and the schema of its type.
// key is NoKey if the reference is to the whole resource. scope is that of the reference.
func (r *Resource) CheckAccess(key addrs.InstanceKey, rest hcl.Traversal, scope BlockScope) error {
	return tfdiags.Join(r.checkKey(key, rest, scope), r.checkAttribute(rest))
}

// checkKey checks the instance key of a reference against the repetition of the block.
func (r *Resource) checkKey(key addrs.InstanceKey, rest hcl.Traversal, scope BlockScope) error {
	repeats := r.Config.Count != nil || r.Config.ForEach != nil
	keyed := key != addrs.NoKey
	if keyed && !repeats {
		return tfdiags.Errorf("Unexpected resource instance key",
			"%s has neither \"count\" nor \"for_each\", so it has no instance %s. Refer to it without an index.",
			r.Addr.Resource, key)
	}
	if keyed || !repeats || len(rest) == 0 {
		return nil
	}
	attr, ok := rest[0].(hcl.TraverseAttr)
	if !ok {
		return nil
	}
	argument, one, all := "count", "0", r.Addr.Resource.String()+"[*]"
	if r.Config.ForEach != nil {
		argument, one, all = "for_each", `"KEY"`, "values("+r.Addr.Resource.String()+")[*]"
	}
	switch {
	case r.Config.ForEach != nil && scope.Each:
		one = "each.key"
	case r.Config.Count != nil && scope.Count:
		one = "count.index"
	}
	return tfdiags.Errorf("Missing resource instance key",
		"%s has %q, so the attribute %q must be read from one of its instances, for example %[1]s[%[4]s].%[3]s, or from "+
			"all of them: %[5]s.%[3]s.", r.Addr.Resource, argument, attr.Name, one, all)
}

// checkAttribute checks the path of a reference within one object against the schema.
func (r *Resource) checkAttribute(rest hcl.Traversal) error {
	if r.Schema == nil {
		return nil
	}
	if wrong := r.Schema.Block.StaticValidateTraversal(rest); wrong.HasErrors() {
		return tfdiags.FromHCL(wrong)[:1].Err()
	}
	return nil
}

func (m *Module) undeclaredResource(addr addrs.Resource) error {
	if addr.Mode == addrs.Action {
		return tfdiags.Errorf("Invalid reference to action", "An action has no value: %s can be named only in the list "+
			"\"actions\" of an action_trigger block.", addr)
	}
	if addr.Mode == addrs.Managed && addr.Type == "list" && addr.Name != "" {
		return tfdiags.Errorf("Invalid reference to list block", "What a list block finds can be read only in query files "+
			"(*.tfquery.hcl).")
	}
	what := map[addrs.ResourceMode]string{addrs.Managed: "A resource", addrs.Data: "A data source",
		addrs.Ephemeral: "An ephemeral resource"}[addr.Mode]
	detail := fmt.Sprintf("%s %q %q has not been declared in %s.", what, addr.Type, addr.Name, ModuleName(m.Path))
	if meant := m.suggestion(addr); meant != "" {
		detail += fmt.Sprintf(" Did you mean %s?", meant)
	}
	return tfdiags.Errorf("Reference to undeclared resource", "%s", detail)
}

// suggestion returns the most similar declared object for the address of an undeclared resource, or
// "" if none is similar. A reference that does not begin with a keyword is parsed as a reference to
// a resource, so its first word may also be a misspelled keyword.
func (m *Module) suggestion(addr addrs.Resource) string {
	var names, types []string
	for other := range m.Resources {
		if other.Mode == addr.Mode && other.Type == addr.Type {
			names = append(names, other.Name)
		}
		if other.Mode == addr.Mode && other.Name == addr.Name {
			types = append(types, other.Type)
		}
	}
	slices.Sort(names)
	slices.Sort(types)
	near := addr
	near.Name = suggest.Nearest(addr.Name, names)
	if near.Name != "" {
		return near.String()
	}
	near = addr
	near.Type = suggest.Nearest(addr.Type, types)
	if near.Type != "" {
		return near.String()
	}
	if addr.Mode != addrs.Managed {
		return ""
	}
	if other := (addrs.Resource{Mode: addrs.Data, Type: addr.Type, Name: addr.Name}); m.Resources[other] != nil {
		return "the data source " + other.String()
	}
	root := suggest.Nearest(addr.Type, []string{"var", "local", "module", "data"})
	declared := map[string]bool{
		"var":    m.Variables[addr.Name] != nil,
		"local":  m.Locals[addr.Name] != nil,
		"module": m.Calls[addr.Name] != nil,
	}
	for other := range m.Resources {
		if other.Mode == addrs.Data && other.Type == addr.Name {
			declared["data"] = true
		}
	}
	if declared[root] {
		return root + "." + addr.Name
	}
	return ""
}

// SelfReference returns the error for a reference of a block to its own object.
func SelfReference(block string, ref *addrs.Reference) tfdiags.Diagnostic {
	return tfdiags.Errorf("Self-referential block",
		"The block of %s can't refer to the object that it configures.", block).At(ref.Range)
}

// OwnInstance returns the error for a reference of a block to the instance that it configures.
func OwnInstance(block string, at hcl.Range) tfdiags.Diagnostic {
	return tfdiags.Errorf("Self-referential block", "The block of %s refers to the object that it configures. It can "+
		"refer to other instances of its resource only. In postconditions and provisioners, \"self\" is the object "+
		"itself.", block).At(at)
}

// SelfReferences returns an error for each reference of a repeated block to its own resource as a
// whole or to the instance that the block configures. It also returns the errors of OwnKeyErrors.
// Such a reference is invalid for any number of instances, so it is reported while validating.
func (r *Resource) SelfReferences() error {
	if r.Exprs.Body == nil || !r.Exprs.Repetition.Repeats() {
		return nil
	}
	var errs tfdiags.Diagnostics
	refs := &r.Exprs.Body.Refs
	for _, ref := range refs.Objects {
		if ref.Subject != r.Addr.Resource || refs.SelectsInstance(ref) ||
			r.CheckAccess(addrs.NoKey, ref.Remaining, BlockScope{}) != nil {
			continue // its other errors are reported together with those of the rest of the body
		}
		d, example := SelfReference(r.Addr.String(), ref), "[count.index - 1]"
		if r.Exprs.Repetition.ForEach != nil {
			example = "[each.value.parent]"
		}
		d.Detail += fmt.Sprintf(" It can refer to single other instances of its resource, as in %s%s.", r.Addr.Resource,
			example)
		errs = errs.Append(d)
	}
	for _, ref := range r.Exprs.ownInstances(r.Addr.Resource) {
		if SelectsItself(ref) {
			errs = errs.Append(OwnInstance(r.Addr.String(), ref.Range))
		}
	}
	return errs.AppendError(r.OwnKeyErrors()).Err()
}

// SelectsItself reports whether a reference certainly selects the instance that has the key of the reader:
// by count.index or each.key.
func SelectsItself(ref lang.InstanceRef) bool {
	index := ref.Index
	if index == nil || !ref.Certain() {
		return false
	}
	_, plain := index.Expression.(*hclsyntax.ScopeTraversalExpr)
	if !plain || len(index.Refs.Objects) != 1 || len(index.Refs.Objects[0].Remaining) > 0 {
		return false
	}
	switch s := index.Refs.Objects[0].Subject.(type) {
	case addrs.CountAttr:
		return true
	case addrs.ForEachAttr:
		return s.Name == "key"
	}
	return false
}

// OwnKeyErrors returns an error for each reference of a block to an instance of its own resource if
// the key of that instance is computed from another instance. All keys must be known before the
// first instance is planned.
func (r *Resource) OwnKeyErrors() error {
	var errs tfdiags.Diagnostics
	for _, ref := range r.Exprs.ownInstances(r.Addr.Resource) {
		for selector := range ref.Selectors() {
			for _, used := range selector.Refs.Objects {
				if used.Whole() == addrs.Referenceable(r.Addr.Resource) {
					errs = errs.Append(tfdiags.Errorf("Self-referential key",
						"This expression selects an instance of %s and is computed from another one. The keys of such "+
							"references decide the order of the instances, so compute them from other values.",
						r.Addr.Resource).At(used.Range))
				}
			}
		}
	}
	return errs.Err()
}

// BlockScope says which block-local names a reference may use.
type BlockScope struct {
	Count, Each bool
	Caller      bool                // whether "caller" is allowed
	Self        *Resource           // the resource that "self" refers to
	Except      addrs.Referenceable // the object that the block declares; references to it add no edges
}
