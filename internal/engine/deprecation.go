package engine

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/lang/marks"
	"tofu/internal/tfdiags"
)

// Values of deprecated outputs and attributes have a mark with the author's deprecation message.
// The expression that refers to the output or resource reports the warning and removes the mark.
// This results in one warning for each reference. Validation doesn't know the values of outputs, so
// it warns about attributes only. It also doesn't warn in conditions and meta-arguments, because it
// evaluates those expressions only for their types.

// deprecatesAny reports whether any called module has a deprecated output or any resource type has
// a deprecated attribute. If not, values needn't be searched for deprecation marks.
func (e *evaluator) deprecatesAny() bool {
	if e.op.Phase == phase.Eval {
		return false
	}
	for _, r := range e.graph.Resources {
		if r.Schema != nil && r.Schema.Block.ContainsDeprecated() {
			return true
		}
	}
	return e.op.Phase != phase.Validate && deprecatesOutputs(e.op.Config)
}

func deprecatesOutputs(cfg *configs.Config) bool {
	for m := range cfg.AllModules() {
		for _, o := range m.Module.Outputs {
			if o.Deprecated != "" && m.Parent != nil {
				return true
			}
		}
	}
	return false
}

// deprecation returns the mark for a deprecated output value. The mark has the output's address in
// the calling module.
func deprecation(v *reads.Value, in *moduleInstance) marks.Deprecation {
	_, call := in.addr.Parent()
	return marks.Deprecation{
		By: addrs.RootInstance.Child(call.Name, call.Key).String() + "." + v.Name, Message: v.Output.Deprecated,
		Source: v.Module.Config.Source,
	}
}

// markDeprecated marks the deprecated attributes of an object, for expressions that refer to it.
func (e *evaluator) markDeprecated(r *reads.Resource, v cty.Value) cty.Value {
	if !e.deprecates || v == cty.NilVal {
		return v
	}
	schema := r.Schema.Block
	paths := schema.DeprecatedPaths(v)
	if len(paths) == 0 {
		return v
	}
	pvms := make([]cty.PathValueMarks, len(paths))
	for i, path := range paths {
		mark := marks.Deprecation{By: r.Addr.String() + tfdiags.FormatPath(path)}
		if attr := schema.AttributeByPath(path); attr != nil {
			mark.Message = attr.DeprecationMessage
		} else if block := schema.BlockByPath(path); block != nil {
			mark.Message = block.DeprecationMessage
		}
		pvms[i] = cty.PathValueMarks{Path: path, Marks: cty.NewValueMarks(mark)}
	}
	return v.MarkWithPaths(pvms)
}

// takeDeprecations returns v without its deprecation marks, and warns about each of them. A warning
// has the range of the argument in body that uses the deprecated value. If body is nil, at is the
// range of all warnings.
func (c *evalContext) takeDeprecations(v cty.Value, at hcl.Range, body hcl.Body) cty.Value {
	if !c.e.deprecates || !marks.Any(v) {
		return v
	}
	bare, all := v.UnmarkDeepWithPaths()
	var warnings tfdiags.Diagnostics
	var left []cty.PathValueMarks
	said := map[string]bool{}
	for _, pvm := range all {
		keep, found := splitDeprecations(pvm.Marks)
		if len(keep) > 0 {
			left = append(left, cty.PathValueMarks{Path: pvm.Path, Marks: keep})
		}
		what := "This value"
		if body == nil && len(pvm.Path) > 0 {
			what += "'s attribute " + strings.TrimPrefix(tfdiags.FormatPath(pvm.Path), ".")
		}
		for _, d := range found {
			if body == nil && said[d.By] {
				continue // already reported for another element
			}
			said[d.By] = true
			warning := tfdiags.Warningf("Value derived from a deprecated source",
				"%s is derived from %s, which is deprecated%s", what, d.By, d.Advice()).At(at)
			warning.Extra = tfdiags.Deprecation{Of: d.By, Source: d.Source}
			if body != nil {
				warning.Path, warning.Subject = pvm.Path, nil
			}
			warnings = append(warnings, warning)
		}
	}
	if len(said) == 0 {
		return v
	}
	if body != nil {
		warnings = warnings.InConfigBody(body, "")
	}
	if !c.ignoreDeprecations {
		c.e.out.warn(warnings.WithAddress(c.blockAddr)...)
	}
	return bare.MarkWithPaths(left)
}

// splitDeprecations separates marks of deprecations from all other marks. It returns the
// deprecations sorted by what is deprecated.
func splitDeprecations(all cty.ValueMarks) (cty.ValueMarks, []marks.Deprecation) {
	keep, found := cty.ValueMarks{}, []marks.Deprecation(nil)
	for mark := range all {
		if d, ok := mark.(marks.Deprecation); ok {
			found = append(found, d)
		} else {
			keep[mark] = struct{}{}
		}
	}
	slices.SortFunc(found, func(a, b marks.Deprecation) int { return strings.Compare(a.By, b.By) })
	return keep, found
}

// deprecatedArgument returns a warning about a module call that sets a deprecated variable.
func deprecatedArgument(v *reads.Value) tfdiags.Diagnostic {
	d := tfdiags.Warningf("Variable marked as deprecated by the module author",
		"%s", v.Variable.DeprecationText()).At(v.Expr.Range())
	// A module that is called twice has the same advice for both calls.
	source := v.Module.Config.Source
	of := source
	if strings.HasPrefix(source, ".") { // relative to the caller
		of = v.Module.Config.Module.Dir
	}
	d.Extra = tfdiags.Deprecation{Of: of + " var." + v.Name, Source: source}
	return d
}
