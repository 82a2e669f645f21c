package configschema

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/suggest"
)

// StaticValidateTraversal checks a relative traversal against the schema. It returns at most one
// error, because the steps after an invalid one can't be checked.
func (b *Block) StaticValidateTraversal(traversal hcl.Traversal) hcl.Diagnostics {
	if len(traversal) == 0 {
		return nil
	}
	if !traversal.IsRelative() {
		panic("invariant: the traversal must be relative to the object that the schema describes")
	}
	next, after := traversal[0], traversal[1:]
	name, diag := stepAttribute(next)
	switch {
	case diag != nil:
		return hcl.Diagnostics{diag}
	case name == "": // a splat or an unknown index can't be checked
		return nil
	}
	if attr := b.Attributes[name]; attr != nil {
		return attr.validateTraversal(after)
	}
	if nested := b.BlockTypes[name]; nested != nil {
		return nested.validateTraversal(name, after)
	}
	detail := fmt.Sprintf("This object has no argument, nested block or exported attribute %q.", name)
	if near := didYouMean(name, b); near != "" {
		detail += fmt.Sprintf(" Did you mean %q?", near)
	}
	return hcl.Diagnostics{{
		Severity: hcl.DiagError, Summary: "Unsupported attribute", Detail: detail, Subject: next.SourceRange().Ptr(),
	}}
}

// stepAttribute returns the attribute name of a step, or "" if it is unknown.
func stepAttribute(step hcl.Traverser) (string, *hcl.Diagnostic) {
	switch step := step.(type) {
	case hcl.TraverseAttr:
		return step.Name, nil
	case hcl.TraverseIndex:
		if step.Key.Type() == cty.String && step.Key.IsKnown() && !step.Key.IsNull() {
			return step.Key.AsString(), nil
		}
		if !step.Key.IsKnown() || step.Key.Type() == cty.DynamicPseudoType {
			return "", nil
		}
		return "", &hcl.Diagnostic{
			Severity: hcl.DiagError, Summary: "Invalid index operation",
			Detail:  "Attributes of an object must be selected with a string index, such as [\"id\"], or after a dot.",
			Subject: step.SourceRange().Ptr(),
		}
	}
	return "", nil
}

// validateTraversal checks the steps after the attribute against its type.
func (a *Attribute) validateTraversal(after hcl.Traversal) hcl.Diagnostics {
	if len(after) == 0 {
		return nil
	}
	_, diags := after.TraverseRel(cty.UnknownVal(a.ImpliedType()))
	return diags
}

func (n *NestedBlock) validateTraversal(name string, after hcl.Traversal) hcl.Diagnostics {
	if n.Nesting == NestingSingle || n.Nesting == NestingGroup {
		return n.Block.StaticValidateTraversal(after)
	}
	if len(after) == 0 {
		return nil
	}
	if n.Nesting == NestingSet {
		if _, isSplat := after[0].(hcl.TraverseSplat); isSplat {
			return nil
		}
		return hcl.Diagnostics{{
			Severity: hcl.DiagError, Summary: "Cannot index a set value",
			Detail: fmt.Sprintf("Blocks of type %q are a set, whose elements have no keys. "+
				"Select elements with a \"for\" expression and an \"if\" clause.", name),
			Subject: after[0].SourceRange().Ptr(),
		}}
	}
	switch step := after[0].(type) {
	case hcl.TraverseIndex:
		if _, diags := (hcl.Traversal{step}).TraverseRel(cty.UnknownVal(n.Type())); diags.HasErrors() {
			return diags
		}
		return n.Block.StaticValidateTraversal(after[1:])
	case hcl.TraverseAttr:
		if n.Nesting == NestingMap { // .key is equivalent to ["key"]
			return n.Block.StaticValidateTraversal(after[1:])
		}
		return hcl.Diagnostics{{
			Severity: hcl.DiagError, Summary: "Invalid operation",
			Detail: fmt.Sprintf("Blocks of type %q are a list. Select one of them by index, such as %s[0].",
				name, name),
			Subject: after[0].SourceRange().Ptr(),
		}}
	}
	return nil
}

// didYouMean returns the name in b that is most similar to given, or "" if no name is similar.
func didYouMean(given string, b *Block) string {
	return suggest.Nearest(given, slices.Concat(slices.Sorted(maps.Keys(b.Attributes)),
		slices.Sorted(maps.Keys(b.BlockTypes))))
}
