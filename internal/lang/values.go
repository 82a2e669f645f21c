package lang

import (
	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
)

// ValueInstances returns the keys by which a value is indexed. The value is a local, a variable, or
// an output of a module call without a key. It returns false unless each reference to the value is
// followed by an index, as in local.NAME[each.key], or all of them are to elements of a list; see
// Instances.FromList.
func (r *Refs) ValueInstances(value addrs.Referenceable) (Instances, bool) {
	var out Instances
	for _, ref := range r.Objects {
		if ref.Subject != value {
			if wholeCall(ref, value) {
				return nil, false
			}
			continue
		}
		one, ok := r.Element(ref)
		if !ok {
			return nil, false
		}
		out = append(out, one)
	}
	if out.mixed() {
		return nil, false
	}
	return out, len(out) > 0
}

// listed returns the elements of a value that the expression reads from a list. ref is one of its
// references to the value. listed returns nil if the expression doesn't need a list, or needs all of
// it.
func (r *Refs) listed(ref *addrs.Reference) Instances {
	if !r.indexed[ref].How.NeedsList() {
		return nil
	}
	of, _ := r.ValueInstances(ref.Subject)
	return of
}

// Element returns the key by which a reference to a value is indexed. It returns false if no index
// follows the value.
func (r *Refs) Element(ref *addrs.Reference) (InstanceRef, bool) {
	if one, computed := r.indexed[ref]; computed {
		return one, true
	}
	key := firstKey(ref.Remaining)
	return InstanceRef{Key: key, Range: ref.Range}, key != addrs.NoKey
}

// AfterElement returns the steps that follow the key by which a reference to a value is indexed; see Rest.
func (r *Refs) AfterElement(ref *addrs.Reference) hcl.Traversal {
	if _, computed := r.indexed[ref]; computed || len(ref.Remaining) == 0 {
		return r.Rest(ref)
	}
	return ref.Remaining[1:]
}

// firstKey returns the key in the first step of a traversal, or NoKey if that is not a key.
func firstKey(steps hcl.Traversal) addrs.InstanceKey {
	if len(steps) == 0 {
		return addrs.NoKey
	}
	switch step := steps[0].(type) {
	case hcl.TraverseAttr:
		return addrs.StringKey(step.Name)
	case hcl.TraverseIndex:
		key, err := addrs.KeyFromValue(step.Key)
		if err == nil {
			return key
		}
	}
	return addrs.NoKey
}

// wholeCall reports whether a reference is to all outputs of the module call that value belongs to.
func wholeCall(ref *addrs.Reference, value addrs.Referenceable) bool {
	output, ok := value.(addrs.ModuleCallOutput)
	if !ok {
		return false
	}
	call, name, ok := ModuleSubject(ref.Subject)
	return ok && name == "" && call.Name == output.Call.Name
}

// indexedValues returns the references to values that are followed by a computed index, or from which
// a function such as "lookup" or "element" reads an element.
func (f *finder) indexedValues(objects []*addrs.Reference, scope addrs.Scope) map[*addrs.Reference]InstanceRef {
	var out map[*addrs.Reference]InstanceRef
	if len(f.indexes) == 0 {
		return nil
	}
	parts := newParts(scope)
	for _, ref := range objects {
		at := startOf(ref.Range)
		index := f.indexes[at]
		if index.key == nil || len(ref.Remaining) > 0 || !isValue(ref.Subject) {
			continue
		}
		if one, ok := parts.instance(index, f.around[at]); ok {
			if out == nil {
				out = map[*addrs.Reference]InstanceRef{}
			}
			out[ref] = one
		}
	}
	return out
}

// isValue reports whether a reference is to a local, a variable, or an output of a module call
// without a key.
func isValue(subject addrs.Referenceable) bool {
	switch s := subject.(type) {
	case addrs.LocalValue, addrs.InputVariable:
		return true
	case addrs.ModuleCallOutput:
		return s.Call.Key == addrs.NoKey
	}
	return false
}
