package lang

import (
	"iter"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// Instances are references to single instances of a resource or of a module call.
type Instances []InstanceRef

// Computed reports whether one of the instances is selected by a computed index.
func (i Instances) Computed() bool {
	return slices.ContainsFunc(i, func(ref InstanceRef) bool { return ref.Index != nil })
}

// Guarded reports whether one of the references is used only under a condition.
func (i Instances) Guarded() bool {
	return slices.ContainsFunc(i, func(ref InstanceRef) bool { return len(ref.Guards) > 0 })
}

// FromList returns ByElement, ByPosition or ByOrder if the instances are selected in this way, which needs
// a list or an object in which each index selects its instance. It returns false if they are selected by key.
func (i Instances) FromList() (Selection, bool) {
	if len(i) == 0 || !i[0].How.NeedsList() {
		return ByIndex, false
	}
	return i[0].How, true
}

// mixed reports whether the expression needs different values for different references: an object
// with keys, a list for "element", a list for an index after a splat, or an object for "values".
func (i Instances) mixed() bool {
	how, list := i.FromList()
	return slices.ContainsFunc(i, func(ref InstanceRef) bool {
		return ref.How.NeedsList() != list || list && ref.How != how
	})
}

// InstanceRef is a reference that selects an instance of a resource or module call by a constant
// key or by a computed index. In a loop, it may select several instances.
type InstanceRef struct {
	Key    addrs.InstanceKey // key of the instance if Index is nil
	Index  *Expr
	How    Selection
	Loops  []Loop    // the loops whose names Index may use, outermost first
	Guards []Guard   // the reference is used only if all of these conditions hold; outermost first
	Range  hcl.Range // range of the index
	Output string    // the output or attribute that is used; "" for the whole instance
}

// Selection is the syntax by which a reference selects an instance.
type Selection uint8

// The ways to select an instance.
const (
	ByIndex    Selection = iota // OBJECT[INDEX]
	ByLookup                    // lookup(OBJECT, INDEX, …)
	ByElement                   // element(OBJECT, INDEX) or element(OBJECT[*]…, INDEX)
	ByPosition                  // OBJECT.*…[INDEX], where the index belongs to the result of the splat
	ByOrder                     // values(OBJECT)[INDEX] or values(OBJECT).*…[INDEX]
)

// NeedsList reports whether the selection depends on other instances than the selected one.
func (s Selection) NeedsList() bool { return s >= ByElement }

// Loop is a "for" expression or a dynamic block around a reference. It defines names for the
// elements of a collection.
type Loop struct {
	Collection *Expr
	names      loopNames
}

// loopNames are the names that a loop defines; "" if it doesn't define a name.
type loopNames struct {
	key, value string // in a "for" expression
	iterator   string // of a dynamic block; an object with the attributes key and value
}

// defines reports whether the loop defines a name.
func (n loopNames) defines(name string) bool {
	return name != "" && (name == n.key || name == n.value || name == n.iterator)
}

// with returns a copy of outer that also has the names that the loop defines, for one element of a
// collection.
func (n loopNames) with(outer map[string]cty.Value, key, value cty.Value) map[string]cty.Value {
	out := make(map[string]cty.Value, len(outer)+2)
	for name, v := range outer {
		out[name] = v
	}
	if n.iterator != "" {
		out[n.iterator] = cty.ObjectVal(map[string]cty.Value{"key": key, "value": value})
		return out
	}
	if n.key != "" {
		out[n.key] = key
	}
	out[n.value] = value
	return out
}

// Guard is a condition for the use of a reference. It is the condition in CONDITION ? A : B if the
// reference is in A or B, or the "if" clause of a "for" expression around the reference.
type Guard struct {
	Condition *Expr
	Holds     bool // the result of Condition for which the reference is used

	depth int // number of loops around the condition
}

// Certain reports whether the reference is used whenever the expression around it is evaluated.
func (r InstanceRef) Certain() bool { return len(r.Guards)+len(r.Loops) == 0 }

// Selectors returns the expressions that decide which instances the reference selects: the index and
// the collections of loops.
func (r InstanceRef) Selectors() iter.Seq[*Expr] {
	return func(yield func(*Expr) bool) {
		for _, loop := range r.Loops {
			if !yield(loop.Collection) {
				return
			}
		}
		if r.Index != nil {
			yield(r.Index)
		}
	}
}

// DependsOn reports whether named returns true for the references of any expression that decides
// whether the reference is used or which instances it selects.
func (r InstanceRef) DependsOn(named func(*Refs) bool) bool {
	for e := range r.Selectors() {
		if named(&e.Refs) {
			return true
		}
	}
	return slices.ContainsFunc(r.Guards, func(g Guard) bool { return named(&g.Condition.Refs) })
}

// Indexes returns the value of a reference's index, or of its constant key, for each time that the
// reference is used. The values have the marks of the collections around the reference. If such a
// collection is unknown, one of the values is unknown. A condition that can't be evaluated is
// assumed to hold.
func (s *Scope) Indexes(ref InstanceRef) ([]cty.Value, error) {
	x := indexes{scope: s, ref: ref, contexts: map[*Expr]*hcl.EvalContext{}}
	err := x.collect(0, nil, nil)
	return x.found, err
}

// indexes collects the values of the index of a reference.
type indexes struct {
	scope    *Scope
	ref      InstanceRef
	contexts map[*Expr]*hcl.EvalContext
	found    []cty.Value
}

// collect adds the values of the index for all elements of the loops from depth on. names holds the
// values of the names that outer loops define, and marks holds the marks of their collections.
func (x *indexes) collect(depth int, names map[string]cty.Value, marks []cty.ValueMarks) error {
	for _, g := range x.ref.Guards {
		if g.depth == depth && x.fails(g, names) {
			return nil
		}
	}
	if depth == len(x.ref.Loops) {
		if x.ref.Index == nil {
			x.found = append(x.found, x.ref.Key.Value())
			return nil
		}
		v, err := x.eval(x.ref.Index, names, cty.DynamicPseudoType)
		x.found = append(x.found, v.WithMarks(marks...))
		return err
	}
	loop := x.ref.Loops[depth]
	all, err := x.eval(loop.Collection, names, cty.DynamicPseudoType)
	if err != nil {
		return err
	}
	all, own := all.Unmark()
	if len(own) > 0 {
		marks = append(slices.Clip(marks), own)
	}
	switch {
	case !all.IsKnown():
		x.found = append(x.found, cty.DynamicVal)
		return nil
	case all.IsNull():
		return tfdiags.Errorf("Iteration over null value", "This collection is null, so it has no elements. "+
			"Use an empty list instead.").At(loop.Collection.Range())
	case !all.CanIterateElements():
		return tfdiags.Errorf("Iteration over non-iterable value", "A list, set, map, tuple or object is required "+
			"here, but this is %s.", WithArticle(all.Type().FriendlyName())).At(loop.Collection.Range())
	}
	for it := all.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if err := x.collect(depth+1, loop.names.with(names, key, value), marks); err != nil {
			return err
		}
	}
	return nil
}

// fails reports whether a condition is known not to hold.
func (x *indexes) fails(g Guard, names map[string]cty.Value) bool {
	v, err := x.eval(g.Condition, names, cty.Bool)
	if err != nil {
		return false
	}
	v, _ = v.Unmark()
	return v.IsKnown() && !v.IsNull() && v.True() != g.Holds
}

func (x *indexes) eval(e *Expr, names map[string]cty.Value, want cty.Type) (cty.Value, error) {
	ctx := x.contexts[e]
	if ctx == nil {
		var err error
		ctx, err = x.scope.Context(e.Refs)
		if err != nil {
			return cty.UnknownVal(want), err
		}
		x.contexts[e] = ctx
	}
	if names != nil {
		ctx = ctx.NewChild()
		ctx.Variables = names
	}
	return evalIn(ctx, e, want)
}
