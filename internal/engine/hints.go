package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
)

// refHints adds what exists to errors about references: instances of resources and module calls, elements
// of aliases, and outputs.
type refHints struct{ *evalContext }

// explainRefs adds hints to errors about references: the instances and outputs that do exist.
func (c refHints) explainRefs(refs *lang.Refs, err error) error {
	if err == nil {
		return nil
	}
	return c.offerInstances(refs, c.offerOutputs(refs, err))
}

// offerInstances adds the keys of the existing instances to errors about references to instances
// that don't exist.
func (c refHints) offerInstances(refs *lang.Refs, err error) error {
	return tfdiags.MapError(err, func(errs tfdiags.Diagnostics) tfdiags.Diagnostics {
		return errs.Map(func(d *tfdiags.Diagnostic) {
			if d.Summary != "Invalid index" || d.Subject == nil {
				return
			}
			for _, ref := range refs.Objects {
				if c.explainElement(d, refs, ref) {
					return
				}
				one, selects := refs.Selected(ref)
				if !selects || one.How.NeedsList() || !d.Subject.Overlaps(one.Range) {
					continue
				}
				if what, x := c.instancesOf(ref.Subject); x != nil {
					c.explainMissing(d, one, what, x)
				}
				return
			}
		})
	})
}

// explainMissing adds the list of existing instances to the error about a reference to an instance
// that doesn't exist. If the expression was evaluated with only some of the existing instances,
// their values are left out of the error.
func (c refHints) explainMissing(
	d *tfdiags.Diagnostic, ref lang.InstanceRef, what fmt.Stringer, x *expandedKeys,
) {
	d.Detail = lang.NoElement // without the keys of a value that may have only some of the instances
	if x.mode == repeatSingle {
		d.Detail = fmt.Sprintf("%s has no count or for_each, so it has no instances to select from. The index "+
			"can only select an attribute, and there is no attribute of that name.", what)
		return
	}
	if x.mode != repeatCount && x.mode != repeatForEach {
		d.Detail += " " + x.describeKeys(what)
		return
	}
	all := make([]cty.Value, len(x.keys))
	for i := range all {
		all[i] = cty.DynamicVal
	}
	full, partial := withAll(d.EvalContext, what.String(), x.whole(all, cty.DynamicVal))
	if !partial {
		if _, declared := x.find(ref.Key); ref.Index == nil && declared && c.e.op.Partial() {
			d.Detail = noObject(what, ref.Key.String())
			return
		}
		d.Detail += " " + x.describeKeys(what)
		return
	}
	d.EvalContext = full
	selected, key := ref.Key, ref.Key.String()
	if ref.Index != nil {
		v, diags := ref.Index.Value(d.EvalContext)
		if !diags.HasErrors() && !v.IsMarked() && v.IsNull() {
			d.Detail = fmt.Sprintf("The key is null, so it selects no instance. If there may be none, write KEY == null "+
				"? null : %s[KEY]. %s", what, x.describeKeys(what))
			return
		}
		if diags.HasErrors() || v.IsMarked() || !v.IsKnown() {
			d.Detail = "The reference is to an instance that doesn't exist. " + x.describeKeys(what)
			return
		}
		selected, _ = addrs.KeyFromValue(v)
		key = keyText(v)
	}
	if _, declared := x.find(selected); declared && c.e.op.Partial() {
		d.Detail = noObject(what, key)
		return
	}
	d.Detail = fmt.Sprintf("%s%s doesn't exist. %s", what, key, x.describeKeys(what))
	if x.mode == repeatCount && strings.HasPrefix(key, "[-") {
		d.Detail += " The first instance has none before it, so it needs a value of its own, as in " +
			"count.index == 0 ? null : " + what.String() + "[count.index - 1]."
	}
}

// keyText returns the value of an index in brackets.
func keyText(v cty.Value) string {
	switch v.Type() {
	case cty.String:
		return addrs.StringKey(v.AsString()).String()
	case cty.Number:
		return "[" + v.AsBigFloat().Text('g', -1) + "]"
	}
	return "[…]"
}

// withAll returns a copy of an evaluation context in which the named resource or module call has
// the value all, which contains all of its instances. It returns false if the context already has
// these instances.
func withAll(ctx *hcl.EvalContext, name string, all cty.Value) (*hcl.EvalContext, bool) {
	if ctx == nil {
		return nil, false
	}
	steps := strings.Split(name, ".")
	if _, here := ctx.Variables[steps[0]]; !here && ctx.Parent() != nil { // within a "for" expression
		outer, ok := withAll(ctx.Parent(), name, all)
		out := outer.NewChild()
		out.Variables, out.Functions = ctx.Variables, ctx.Functions
		return out, ok
	}
	var replace func(v cty.Value, steps []string) (cty.Value, bool)
	replace = func(v cty.Value, steps []string) (cty.Value, bool) {
		if v.IsMarked() || !v.IsKnown() || v.IsNull() {
			return v, false
		}
		if len(steps) == 0 {
			object, longer := v.Type().IsObjectType(), all.LengthInt() > v.LengthInt()
			return all, object && all.Type().IsTupleType() || longer && (object || v.Type().IsTupleType())
		}
		if !v.Type().IsObjectType() || !v.Type().HasAttribute(steps[0]) {
			return v, false
		}
		attrs := v.AsValueMap()
		of, ok := replace(attrs[steps[0]], steps[1:])
		attrs[steps[0]] = of
		return cty.ObjectVal(attrs), ok
	}
	root, ok := replace(ctx.Variables[steps[0]], steps[1:])
	if !ok {
		return ctx, false
	}
	out := *ctx
	out.Variables = maps.Clone(ctx.Variables)
	out.Variables[steps[0]] = root
	return &out, true
}

// instancesOf returns the resource or module call that a reference names, and its instances. The
// instances are nil until they are determined. It returns nil for all other references.
func (c refHints) instancesOf(subject addrs.Referenceable) (fmt.Stringer, *expandedKeys) {
	if r := c.in.module.ResourceOf(subject); r != nil {
		if x := c.e.expansionOf(r, c.in); x != nil {
			return r.Addr.Resource, &x.expandedKeys
		}
		return r.Addr.Resource, nil
	}
	if call, _, ok := lang.ModuleSubject(subject); ok && c.in.module.Calls[call.Name] != nil {
		if x := c.e.callsOf(c.in.module.Calls[call.Name], c.in); x != nil {
			return addrs.ModuleCall{Name: call.Name}, &x.expandedKeys
		}
	}
	return nil, nil
}

// noObject says why an instance that the configuration declares has no value.
func noObject(what fmt.Stringer, key string) string {
	return fmt.Sprintf("%s%s has no object, and this run doesn't create it. Plan and apply without -refresh-only, "+
		"-target and -exclude first.", what, key)
}

const maxDescribed = 10

// describeKeys returns a sentence that names the instances of a resource or a module call, or the
// elements of an alias of one. It names at most maxDescribed.
func (x *expandedKeys) describeKeys(of fmt.Stringer) string {
	noun := "element"
	switch of.(type) {
	case addrs.Resource, addrs.ModuleCall, addrs.AbsResource, addrs.ModuleInstance:
		noun = "instance"
	}
	names := make([]string, 0, maxDescribed)
	for _, key := range x.keys[:min(len(x.keys), maxDescribed)] {
		names = append(names, key.String())
	}
	switch more := len(x.keys) - len(names); {
	case len(names) == 0:
		return fmt.Sprintf("%s has no %ss.", of, noun)
	case len(x.keys) == 1:
		return fmt.Sprintf("%s has only the %s %s.", of, noun, names[0])
	case more > 0:
		return fmt.Sprintf("%s has the %ss %s and %d more.", of, noun, strings.Join(names, ", "), more)
	}
	return fmt.Sprintf("%s has the %ss %s.", of, noun, strings.Join(names, ", "))
}

// offerOutputs adds the names of the existing outputs to errors about references to undeclared
// outputs.
func (c refHints) offerOutputs(refs *lang.Refs, err error) error {
	errs := tfdiags.FromError(err)
	for _, ref := range refs.Objects {
		s, ok := ref.Subject.(addrs.ModuleCallOutput)
		if !ok {
			continue
		}
		child := c.in.module.Calls[s.Call.Name]
		if child == nil || child.Outputs[s.Output] != nil {
			continue
		}
		errs = errs.Map(func(d *tfdiags.Diagnostic) {
			if d.Subject != nil && d.Subject.End == ref.Range.End && d.Subject.Filename == ref.Range.Filename {
				d.Detail = fmt.Sprintf("The module has no output named %q.%s", s.Output, suggest.DidYouMean(s.Output,
					slices.Sorted(maps.Keys(child.Outputs))))
			}
		})
	}
	return errs.Err()
}

// explainElement adds the existing instance keys to an error about an index that an alias doesn't
// have. It returns false if the error is not about ref, or if ref doesn't refer to an alias whose
// instances are determined.
func (c refHints) explainElement(d *tfdiags.Diagnostic, refs *lang.Refs, ref *addrs.Reference) bool {
	x := c.aliasKeys(ref.Subject)
	if x == nil {
		return false
	}
	one, indexed := refs.Element(ref)
	if at := d.Subject; !indexed || one.How.NeedsList() ||
		!at.Overlaps(one.Range) && !at.Overlaps(ref.Remaining.SourceRange()) {
		return false
	}
	c.explainMissing(d, one, ref.Subject, x)
	return true
}

// aliasKeys returns the keys of the elements of an alias of a resource or module call. It returns nil
// if subject isn't an alias, or if its instances are not determined.
func (c refHints) aliasKeys(subject addrs.Referenceable) *expandedKeys {
	if v := c.in.module.AliasOf(subject); v != nil {
		return c.e.declared(c.in, v.Alias.Of.Keys())
	}
	if local, ok := subject.(addrs.LocalValue); ok {
		if alias := c.in.module.Locals[local.Name].CallAlias(); alias != nil {
			return c.e.declared(c.in, alias.Call.CallKeys())
		}
	}
	return nil
}
