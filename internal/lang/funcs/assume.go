package funcs

import (
	"math"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/gocty"
)

// The functions in this file check their argument and return it. If the argument is unknown, they
// refine it, so that conditions on it can be evaluated before its value is known. All except
// assumenotnull accept null.

var assumenotnullFunc = function.New(&function.Spec{
	Description: "`assumenotnull` returns its argument, and fails if that is null.",
	Params:      anyValue("The value."),
	Type:        sameType,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if args[0].IsNull() {
			return cty.NilVal, function.NewArgErrorf(0, "must not be null")
		}
		return args[0].RefineNotNull(), nil
	},
})

// assumeequalFunc returns its second argument. Marks on the first argument don't affect the result.
var assumeequalFunc = function.New(&function.Spec{
	Description: "`assumeequal` returns its second argument, and fails if its first argument is known to " +
		"differ from it.",
	Params: append(anyValue("The value."), function.Parameter{
		Name: "expected", Type: cty.DynamicPseudoType,
		AllowUnknown: true, AllowNull: true, AllowMarked: true, AllowDynamicType: true,
		Description: "The expected value.",
	}),
	Type: func(args []cty.Value) (cty.Type, error) { return args[1].Type(), nil },
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		expected, _ := args[1].UnmarkDeep()
		actual, _ := args[0].UnmarkDeep()
		actual, err := convert.Convert(actual, expected.Type())
		if err != nil {
			// Don't use the conversion's own error, which may quote a value that had marks.
			return cty.NilVal, function.NewArgErrorf(0,
				"must be convertible to the type of the second argument, %s", expected.Type().FriendlyName())
		}
		if differ(actual, expected) {
			return cty.NilVal, function.NewArgErrorf(0, "is not equal to the second argument")
		}
		return args[1], nil
	},
})

// differ reports whether a and b are known to differ. Both must have the same type and no marks.
// The method Equals isn't used, because it stops at the first elements that may be equal and
// compares the attributes of objects in random order.
func differ(a, b cty.Value) bool {
	ty := a.Type()
	if !a.CanIterateElements() || !b.CanIterateElements() || ty.IsSetType() || !ty.Equals(b.Type()) {
		equal := a.Equals(b)
		return equal.IsKnown() && equal.False()
	}
	if a.LengthInt() != b.LengthInt() {
		return true
	}
	for key, x := range a.Elements() {
		switch {
		case ty.IsObjectType():
			if differ(x, b.GetAttr(key.AsString())) {
				return true
			}
		case b.HasIndex(key).False() || differ(x, b.Index(key)):
			return true
		}
	}
	return false
}

var assumestringprefixFunc = function.New(&function.Spec{
	Description: "`assumestringprefix` returns its first argument, and fails if that does not start with a " +
		"given prefix.",
	Params: []function.Parameter{
		{Name: "string", Type: cty.String, AllowUnknown: true, AllowNull: true, AllowMarked: true,
			Description: "The string."},
		{Name: "expected_prefix", Type: cty.String, AllowUnknown: true, Description: "The prefix."},
	},
	Type: function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		str, _ := args[0].Unmark()
		if str.IsNull() {
			return args[0], nil
		}
		prefix, starts := knownPrefix(args[1]), knownPrefix(str)
		if n := min(len(starts), len(prefix)); starts[:n] != prefix[:n] || str.IsKnown() && n < len(prefix) {
			return cty.NilVal, function.NewArgErrorf(0, "does not start with the expected prefix")
		}
		return args[0].Refine().StringPrefixFull(prefix).NewValue(), nil
	},
})

// knownPrefix returns the known prefix of a string that may be unknown.
func knownPrefix(str cty.Value) string {
	str, _ = str.Unmark()
	if str.IsKnown() {
		return str.AsString()
	}
	return str.Range().StringPrefix()
}

// A lengthCheck describes a function that checks the length of a collection.
type lengthCheck struct {
	what     string // the kind of collection: list, set or map
	ty       cty.Type
	min, max bool // whether the function has a parameter for the minimum and maximum
}

var (
	anyList = cty.List(cty.DynamicPseudoType)
	anySet  = cty.Set(cty.DynamicPseudoType)
	anyMap  = cty.Map(cty.DynamicPseudoType)

	assumelistlengthFunc    = lengthCheck{"list", anyList, true, true}.function("assumelistlength")
	assumelistlengthmaxFunc = lengthCheck{"list", anyList, false, true}.function("assumelistlengthmax")
	assumelistlengthminFunc = lengthCheck{"list", anyList, true, false}.function("assumelistlengthmin")
	assumemaplengthFunc     = lengthCheck{"map", anyMap, true, true}.function("assumemaplength")
	assumemaplengthmaxFunc  = lengthCheck{"map", anyMap, false, true}.function("assumemaplengthmax")
	assumemaplengthminFunc  = lengthCheck{"map", anyMap, true, false}.function("assumemaplengthmin")
	assumesetlengthFunc     = lengthCheck{"set", anySet, true, true}.function("assumesetlength")
	assumesetlengthmaxFunc  = lengthCheck{"set", anySet, false, true}.function("assumesetlengthmax")
	assumesetlengthminFunc  = lengthCheck{"set", anySet, true, false}.function("assumesetlengthmin")
)

func (c lengthCheck) function(name string) function.Function {
	params := []function.Parameter{{
		Name: c.what, Type: c.ty, AllowUnknown: true, AllowNull: true, AllowMarked: true,
		Description: "The " + c.what + ".",
	}}
	bound := func(name, desc string) {
		params = append(params, function.Parameter{Name: name, Type: cty.Number, AllowUnknown: true, Description: desc})
	}
	if c.min {
		bound("min_length", "The minimum number of elements.")
	}
	if c.max {
		bound("max_length", "The maximum number of elements.")
	}
	return function.New(&function.Spec{
		Description: "`" + name + "` returns its first argument, a " + c.what + ", and fails if its length is not within " +
			"the given bounds.",
		Params: params,
		Type:   sameType,
		Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return c.check(args) },
	})
}

// check returns the first argument if its length is within the bounds, or may be when it is known.
func (c lengthCheck) check(args []cty.Value) (cty.Value, error) {
	least, most, err := c.bounds(args)
	if err != nil {
		return cty.NilVal, err
	}
	coll, ms := args[0].Unmark()
	if coll.IsNull() {
		return args[0], nil
	}
	length := coll.Length().Range()
	if low, _ := length.NumberLowerBound(); low.GreaterThan(cty.NumberIntVal(int64(most))).True() {
		return cty.NilVal, function.NewArgErrorf(0, "must have a length of at most %d", most)
	}
	if high, _ := length.NumberUpperBound(); high.LessThan(cty.NumberIntVal(int64(least))).True() {
		return cty.NilVal, function.NewArgErrorf(0, "must have a length of at least %d", least)
	}
	if coll.IsKnown() {
		return args[0], nil
	}
	return coll.Refine().CollectionLengthLowerBound(least).CollectionLengthUpperBound(
		most).NewValue().WithMarks(ms), nil
}

// bounds returns the minimum and maximum length that the arguments set. An unknown argument sets no
// bound.
func (c lengthCheck) bounds(args []cty.Value) (least, most int, err error) {
	most = math.MaxInt
	last := len(args) - 1
	if c.min {
		if err = lengthArg(args, 1, &least); err != nil {
			return 0, 0, err
		}
		// cty allocates the elements of a list of known length, even if they are unknown.
		if least > maxElements {
			return 0, 0, function.NewArgErrorf(1, "must not be greater than %d", maxElements)
		}
	}
	if c.max {
		if err = lengthArg(args, last, &most); err != nil {
			return 0, 0, err
		}
	}
	if least > most {
		return 0, 0, function.NewArgErrorf(last, "must not be less than the minimum length")
	}
	return least, most, nil
}

// lengthArg stores argument i in n unless it is unknown.
func lengthArg(args []cty.Value, i int, n *int) error {
	if !args[i].IsKnown() {
		return nil
	}
	if err := gocty.FromCtyValue(args[i], n); err != nil {
		return function.NewArgError(i, err)
	}
	if *n < 0 {
		return function.NewArgErrorf(i, "must not be negative")
	}
	return nil
}
