package marks

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/ctymarks"
)

// flag is the type of marks without content. It is unexported so that other packages can't create
// marks.
type flag string

const (
	// Sensitive marks values that must not be shown.
	Sensitive = flag("sensitive")

	// Ephemeral marks values that exist only during one phase and must not be stored in a plan or
	// state.
	Ephemeral = flag("ephemeral")

	// Absent marks unknown values that never become known: objects that neither exist nor will be
	// created by a plan, although the configuration declares them, and each.value of module instances
	// that the configuration no longer declares.
	Absent = flag("absent")

	// Renewed marks attributes whose values a plan for an earlier time can't restore, such as those
	// that the provider computes anew. Values that depend on them can't be restored either.
	Renewed = flag("renewed")
)

// Declared returns the value of a variable or output with the marks that its block declares.
func Declared(v cty.Value, sensitive, ephemeral bool) cty.Value {
	if sensitive {
		v = v.Mark(Sensitive)
	}
	if ephemeral {
		v = v.Mark(Ephemeral)
	}
	return v
}

// GoString returns the name of the mark, for test failures.
func (f flag) GoString() string { return "marks." + string(f) }

// A Deprecation marks values that the author of a module has declared deprecated.
type Deprecation struct {
	By      string // address of the deprecated object
	Message string // the author's message
	Source  string // source address of the module
}

// Advice returns how a sentence ends that says that the object is deprecated: with the author's
// message, if there is one. A provider need not give any.
func (d Deprecation) Advice() string {
	if d.Message == "" {
		return "."
	}
	return " with the following message:\n" + d.Message
}

// Has reports whether v itself has the mark. Marks on values inside v don't count, except that a
// set has the marks of all its elements.
func Has(v cty.Value, mark any) bool {
	return v.HasMark(mark)
}

// Contains reports whether v or any value inside it has the mark.
func Contains(v cty.Value, mark any) bool {
	return v.HasMarkDeep(mark)
}

// Without returns v with the mark removed from it and from the values inside it. Other marks are
// kept.
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

// AsUnknown returns v with an unknown value in place of each part that has the mark. Other marks are kept.
func AsUnknown(v cty.Value, mark any) cty.Value {
	if !Contains(v, mark) {
		return v
	}
	bare, all := v.UnmarkDeepWithPaths()
	marked := cty.NewPathSet()
	var others []cty.PathValueMarks
	for _, pvm := range all {
		if _, has := pvm.Marks[mark]; has {
			marked.Add(pvm.Path)
		} else {
			others = append(others, pvm)
		}
	}
	bare, err := cty.Transform(bare, func(path cty.Path, v cty.Value) (cty.Value, error) {
		if marked.Has(path) {
			return cty.UnknownVal(v.Type()), nil
		}
		return v, nil
	})
	if err != nil {
		panic("unreachable: the callback returns no error: " + err.Error())
	}
	return bare.MarkWithPaths(others)
}

// Any reports whether v or any value inside it has a mark. Because it is called frequently, it
// visits as few values as possible; for example, a set has the marks of its elements.
func Any(v cty.Value) bool {
	ty := v.Type()
	switch {
	case v.IsMarked():
		return true
	case ty.IsPrimitiveType() || ty.IsSetType() || v.IsNull() || !v.IsKnown() || !v.CanIterateElements():
		return false
	case ty.IsObjectType(): // an iterator would first sort the names
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
