package engine

import (
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/lang"
	"tofu/internal/lang/marks"
	"tofu/internal/tfdiags"
)

// expand determines the instances of a block. what names the block in messages.
func (c *evalContext) expand(rep graph.Repetition, what string) (*expandedKeys, error) {
	if c.e.op.Phase == graph.PhaseValidate {
		c = c.withoutDeprecations()
	}
	switch {
	case rep.Count != nil:
		return c.expandCount(rep.Count, what)
	case rep.ForEach != nil:
		return c.expandForEach(rep.ForEach, what)
	case rep.Enabled != nil:
		return c.expandEnabled(rep.Enabled, what)
	}
	return singleInstance, nil
}

func (c *evalContext) expandCount(e *lang.Expr, what string) (*expandedKeys, error) {
	out := &expandedKeys{mode: repeatCount}
	v, err := c.eval(e, cty.DynamicPseudoType)
	if err != nil {
		return out, err
	}
	fail := func(format string, args ...any) (*expandedKeys, error) {
		return out, c.argError("Invalid count argument", fmt.Sprintf(format, args...), e, v)
	}
	if marks.Has(v, marks.Ephemeral) {
		return fail(ephemeralArgument, "count")
	}
	v, _ = v.Unmark()
	if v.IsNull() {
		return fail("The given \"count\" is null. A whole number of 0 or more is required.")
	}
	n, err := convert.Convert(v, cty.Number)
	if err != nil {
		return fail("The given \"count\" is not valid: %s.", err)
	}
	if !n.IsKnown() {
		if c.e.op.Phase == graph.PhaseValidate {
			out.mode = repeatUnknown
			return out, nil
		}
		return fail("The \"count\" value depends on values that are known only after apply, so the number of "+
			"instances can't be planned. Apply what the count depends on first (with -target), or exclude "+
			"this for now: -exclude=%s.%s", what, c.unknownBecause(e))
	}
	f := n.AsBigFloat()
	switch i, acc := f.Int64(); {
	case acc != 0:
		return fail("The given \"count\" is %s; it must be a whole number.", f.Text('g', -1))
	case i < 0:
		return fail("The given \"count\" is %d; it must be 0 or more.", i)
	case i > maxCount:
		return fail("The given \"count\" is %d; more than %d instances are not supported.", i, maxCount)
	default:
		out.keys = make([]addrs.InstanceKey, i)
	}
	for k := range out.keys {
		out.keys[k] = addrs.IntKey(k)
	}
	return out, nil
}

const maxCount = 10_000_000

func (c *evalContext) expandForEach(e *lang.Expr, what string) (*expandedKeys, error) {
	out := &expandedKeys{mode: repeatForEach}
	v, err := c.eval(e, cty.DynamicPseudoType)
	keys, each, unknown, problem := forEachElements(v, false)
	switch {
	case err != nil && unknown:
		return out, c.undecided("for_each", e, err)
	case err != nil:
		return out, err
	}
	if unknown && c.e.op.Phase == graph.PhaseValidate {
		out.mode = repeatUnknown
		return out, nil
	}
	if unknown {
		problem = fmt.Sprintf("The \"for_each\" value has keys or elements that are known only after apply, "+
			"so the instances can't be planned. Use keys that are known, apply what they depend on first "+
			"(with -target), or exclude this for now: -exclude=%s.%s", what, c.unknownBecause(e))
	}
	if problem != "" {
		return out, c.argError("Invalid for_each argument", problem, e, v)
	}
	for i, k := range keys {
		out.keys = append(out.keys, addrs.StringKey(k))
		out.each = append(out.each, each[i])
	}
	return out, nil
}

// ephemeralArgument is the error detail for an ephemeral value of a meta-argument that determines
// instances.
const ephemeralArgument = "The %q value is ephemeral, so it could differ between plan and apply."

// forEachElements returns the keys and values of a for_each argument. Import blocks may also use a
// list or tuple.
func forEachElements(v cty.Value, lists bool) (keys []string, each []cty.Value, unknown bool, problem string) {
	if marks.Has(v, marks.Ephemeral) {
		return nil, nil, false, fmt.Sprintf(ephemeralArgument, "for_each")
	}
	if marks.Has(v, marks.Sensitive) {
		return nil, nil, false,
			"The \"for_each\" value is sensitive, and its keys would be shown in addresses. Use a map in " +
				"which only the values are sensitive, or nonsensitive() if the keys are not secret."
	}
	v, _ = v.Unmark()
	ty := v.Type()
	isList := lists && (ty.IsListType() || ty.IsTupleType())
	switch {
	case ty == cty.DynamicPseudoType && !v.IsKnown():
		return nil, nil, true, ""
	case v.IsNull():
		return nil, nil, false, "The given \"for_each\" is null. A map, or a set of strings, is required."
	case ty.IsListType() || ty.IsTupleType():
		if !isList {
			return nil, nil, false,
				fmt.Sprintf("The given \"for_each\" is %s. A map or a set of strings is required; toset(…) "+
					"converts a list to a set.", withArticle(ty.FriendlyName()))
		}
	case !ty.IsMapType() && !ty.IsObjectType() && !ty.IsSetType():
		return nil, nil, false,
			fmt.Sprintf("The given \"for_each\" is %s. A map, or a set of strings, is required.",
				withArticle(ty.FriendlyName()))
	}
	if !v.IsKnown() {
		return nil, nil, true, ""
	}
	if ty.IsSetType() {
		return setElements(v)
	}
	for it := v.ElementIterator(); it.Next(); {
		k, elem := it.Element()
		k, _ = k.Unmark()
		if isList {
			keys = append(keys, k.AsBigFloat().Text('f', -1))
		} else {
			keys = append(keys, k.AsString())
		}
		each = append(each, elem)
	}
	return keys, each, false, ""
}

// setElements iterates over a set once, because cty sorts the set for each iteration.
func setElements(v cty.Value) (keys []string, each []cty.Value, unknown bool, problem string) {
	null := false
	for it := v.ElementIterator(); it.Next(); {
		_, elem := it.Element()
		if !elem.IsWhollyKnown() {
			return nil, nil, true, ""
		}
		null = null || elem.IsNull()
		each = append(each, elem)
	}
	switch ety := v.Type().ElementType(); {
	case len(each) == 0:
		return nil, nil, false, ""
	case ety != cty.String:
		return nil, nil, false,
			fmt.Sprintf("The given \"for_each\" is a set of %s. Only sets of strings are supported, because "+
				"the elements become keys.", ety.FriendlyName())
	case null:
		return nil, nil, false, "The given \"for_each\" set contains null. Its elements become keys, so none " +
			"of them may be null."
	}
	keys = make([]string, len(each))
	for i, elem := range each {
		keys[i] = elem.AsString()
	}
	return keys, each, false, ""
}

// undecided adds to the errors of a meta-argument what they mean for the instances.
func (c *evalContext) undecided(name string, e *lang.Expr, reason error) error {
	if c.e.op.Phase == graph.PhaseValidate {
		return reason
	}
	return tfdiags.Join(reason, tfdiags.Errorf("Invalid "+name+" argument",
		"The %q value can't be determined, so the instances can't be planned.", name).At(e.Range()))
}

func withArticle(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

func (c *evalContext) expandEnabled(e *lang.Expr, what string) (*expandedKeys, error) {
	if c.e.op.Phase == graph.PhaseValidate {
		return &expandedKeys{mode: repeatUnknown}, nil // reported by the plan
	}
	v, err := c.eval(e, cty.DynamicPseudoType)
	if err != nil {
		return singleInstance, c.undecided("enabled", e, err)
	}
	fail := func(detail string) (*expandedKeys, error) {
		return singleInstance, c.argError("Invalid enabled argument", detail, e, v)
	}
	switch {
	case marks.Has(v, marks.Sensitive):
		return fail("The given \"enabled\" is derived from a sensitive value, and the existence of the object " +
			"would disclose it.")
	case marks.Has(v, marks.Ephemeral):
		return fail(fmt.Sprintf(ephemeralArgument, "enabled"))
	}
	v, _ = v.Unmark()
	b, err := convert.Convert(v, cty.Bool)
	switch {
	case err != nil:
		return fail(fmt.Sprintf("The given \"enabled\" is not valid: %s.", err))
	case b.IsNull():
		return fail("The given \"enabled\" is null. A value of true or false is required.")
	case !b.IsKnown():
		return fail(fmt.Sprintf("The \"enabled\" value depends on values that are known only after apply, so "+
			"whether the object will exist can't be planned. Exclude it for now: -exclude=%s.%s",
			what, c.unknownBecause(e)))
	case b.True():
		return singleInstance, nil
	}
	return &expandedKeys{mode: repeatDisabled}, nil
}

// argError returns an error for the value of an argument, with the values that took part in it.
func (c *evalContext) argError(summary, detail string, e *lang.Expr, v cty.Value) tfdiags.Diagnostic {
	ctx, _ := c.scope().Context(e.Refs)
	rng := e.Range()
	d := tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: summary, Detail: detail, Subject: &rng,
		Expression: e.Expression, EvalContext: ctx}
	switch {
	case v != cty.NilVal && marks.Has(v, marks.Sensitive):
		d.Extra = tfdiags.CausedBySensitive{}
	case v != cty.NilVal && !v.IsWhollyKnown():
		d.Extra = tfdiags.CausedByUnknown{}
	}
	return d
}
