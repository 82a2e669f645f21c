package marks

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/ctymarks"
)

// flag is the type of the marks that say yes and nothing more. It is unexported so that no other package can make one
// by accident.
type flag string

const (
	// Sensitive is on values that must not be shown.
	Sensitive = flag("sensitive")

	// Ephemeral is on values that live for one phase only and must not reach a plan or a state.
	Ephemeral = flag("ephemeral")
)

// GoString makes test failures readable.
func (f flag) GoString() string { return "marks." + string(f) }

// A Deprecation is on values whose module asks callers to stop using them.
type Deprecation struct {
	By      string // what is deprecated, as an address
	Message string // what its author says to do instead
	Source  string // where its module comes from
}

// Has reports whether v itself has the mark. Marks of the values inside v do not count, except that a set has the marks
// of all its elements.
func Has(v cty.Value, mark any) bool {
	return v.HasMark(mark)
}

// Contains reports whether v or any value inside it has the mark.
func Contains(v cty.Value, mark any) bool {
	return v.HasMarkDeep(mark)
}

// Without returns v, and the values inside it, without the mark. Other marks stay. A v that has no such mark comes back
// as it is.
func Without(v cty.Value, mark any) cty.Value {
	if !Contains(v, mark) {
		return v
	}
	ret, err := v.WrangleMarksDeep(func(m any, _ cty.Path) (ctymarks.WrangleAction, error) {
		if m == mark {
			return ctymarks.WrangleDrop, nil
		}
		return nil, nil
	})
	if err != nil {
		panic("unreachable: the mark callback returns no error: " + err.Error())
	}
	return ret
}

// Any reports whether v or any value inside it has a mark. Every object is asked many times on its way through a plan, so this looks
// no further than it must: a set has the marks of its elements itself.
func Any(v cty.Value) bool {
	ty := v.Type()
	switch {
	case v.IsMarked():
		return true
	case ty.IsPrimitiveType() || ty.IsSetType() || v.IsNull() || !v.IsKnown() || !v.CanIterateElements():
		return false
	case ty.IsObjectType(): // an iterator would sort the names
		for name := range ty.AttributeTypes() {
			if Any(v.GetAttr(name)) {
				return true
			}
		}
		return false
	}
	for it := v.ElementIterator(); it.Next(); {
		if _, elem := it.Element(); Any(elem) {
			return true
		}
	}
	return false
}
