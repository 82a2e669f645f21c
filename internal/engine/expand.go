package engine

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// expand determines the instances of a block from its count, for_each or enabled argument. what
// names the block in messages.
func (c *evalContext) expand(rep reads.Repetition, what string) (*expandedKeys, error) {
	if c.e.op.Phase.InputsUnknown() {
		c = c.withoutDeprecations()
	}
	x := expander{c, what}
	switch {
	case rep.Count != nil:
		return x.expandCount(rep.Count)
	case rep.ForEach != nil:
		return x.expandForEach(rep.ForEach)
	case rep.Enabled != nil:
		return x.expandEnabled(rep.Enabled)
	}
	return singleInstance, nil
}

// expander determines the instances of one block.
type expander struct {
	*evalContext
	what string // names the block in messages
}

func (c expander) expandCount(e *lang.Expr) (*expandedKeys, error) {
	out := &expandedKeys{mode: repeatCount}
	v, err := c.argument(e, countArgument)
	fail := func(format string, args ...any) (*expandedKeys, error) {
		return out, c.argError(countArgument.summary, fmt.Sprintf(format, args...), e, v)
	}
	switch {
	case err != nil:
		return out, err
	case !v.IsKnown() && c.e.op.Phase.InputsUnknown():
		out.mode = repeatUnknown
		return out, nil
	case !v.IsKnown():
		return out, c.unknownArgument(plans.DeferredCount, countArgument.summary, fmt.Sprintf(
			"The \"count\" value depends on values that are known only after apply, so the number of "+
				"instances can't be planned. Apply what the count depends on first (with -target), or exclude "+
				"this for now: -exclude=%s.", c.what), e, v, "count of "+c.what)
	}
	f := v.AsBigFloat()
	i, acc := f.Int64()
	text := f.Text('g', -1)
	if acc == 0 {
		text = strconv.FormatInt(i, 10)
	}
	switch {
	case !f.IsInt():
		return fail("The given \"count\" is %s; it must be a whole number.", text)
	case f.Sign() < 0:
		return fail("The given \"count\" is %s; it must be 0 or more.", text)
	case acc != 0 || i > maxCount:
		return fail("The given \"count\" is %s; more than %d instances are not supported.", text, maxCount)
	default:
		out.keys = make([]addrs.InstanceKey, i)
	}
	for k := range out.keys {
		out.keys[k] = addrs.IntKey(k)
	}
	return out, nil
}

const maxCount = 10_000_000

func (c expander) expandForEach(e *lang.Expr) (*expandedKeys, error) {
	out := &expandedKeys{mode: repeatForEach}
	elements, err := c.forEach(e, func(v cty.Value) ([]lang.Element, error) {
		out.set = v.Type().IsSetType()
		return lang.ForEach(v)
	})
	switch {
	case errors.Is(err, lang.ErrUnknownKeys) && c.e.op.Phase.InputsUnknown():
		out.mode = repeatUnknown
		return out, nil
	case errors.Is(err, lang.ErrUnknownKeys):
		return out, c.unknownArgument(plans.DeferredCount, invalidForEach, fmt.Sprintf(
			"The \"for_each\" value has keys or elements that are known only after apply, so the instances "+
				"can't be planned. Use keys that are known, apply what they depend on first (with -target), or "+
				"exclude this for now: -exclude=%s.", c.what), e, cty.DynamicVal, "for_each of "+c.what)
	case err != nil:
		return out, err
	}
	for _, elem := range elements {
		out.keys = append(out.keys, addrs.StringKey(elem.Key.AsString()))
		out.each = append(out.each, elem.Value)
	}
	return out, nil
}

const invalidForEach = "Invalid for_each argument"

// forEach evaluates a for_each argument. The error is lang.ErrUnknownKeys if its keys are unknown.
func (c *evalContext) forEach(
	e *lang.Expr, decode func(cty.Value) ([]lang.Element, error),
) ([]lang.Element, error) {
	v, err := c.eval(e, cty.DynamicPseudoType)
	if err != nil {
		if !c.e.op.Phase.InputsUnknown() && reported(err) != nil {
			err = tfdiags.Join(err, tfdiags.Errorf(invalidForEach, "%s", undecidedDetail("for_each")).At(e.Range()))
		}
		return nil, err
	}
	elements, err := decode(v)
	if err != nil && !errors.Is(err, lang.ErrUnknownKeys) {
		err = c.argError(invalidForEach, err.Error(), e, v)
	}
	return elements, err
}

func (c expander) expandEnabled(e *lang.Expr) (*expandedKeys, error) {
	if c.e.op.Phase.InputsUnknown() {
		return &expandedKeys{mode: repeatUnknown}, nil // planning reports the error
	}
	v, err := c.argument(e, enabledArgument)
	switch {
	case err != nil:
		return singleInstance, err
	case !v.IsKnown():
		return singleInstance, c.unknownArgument(plans.DeferredCount, enabledArgument.summary, fmt.Sprintf(
			"The \"enabled\" value depends on values that are known only after apply, so whether the object "+
				"will exist can't be planned. Exclude it for now: -exclude=%s.", c.what), e, v, "enabled of "+c.what)
	case v.True():
		return singleInstance, nil
	}
	return &expandedKeys{mode: repeatDisabled}, nil
}
