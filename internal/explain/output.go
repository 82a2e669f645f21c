package explain

import (
	"maps"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/valuediff"
)

// Output explains the change of an output of the root module.
func Output(s *Subject, name string) (*Answer, error) {
	e := newExplainer(s)
	declared := s.Graph.Modules[""].Outputs
	i := slices.IndexFunc(e.plan.Changes.Outputs, func(o *plans.OutputChange) bool { return o.Name == name })
	v := declared[name]
	if v == nil && i < 0 {
		return nil, tfdiags.Errorf("No such address", "Neither the configuration nor the state has the output %q.%s",
			name, suggest.DidYouMean(name, slices.Sorted(maps.Keys(declared))))
	}
	answer := &Answer{FormatVersion: formatVersion, Address: "output." + name}
	if i < 0 || e.plan.Changes.Outputs[i].Action == plans.NoOp {
		answer.WhyNot = []*Ground{{Code: "unchanged", Text: "its value stays the same", Place: placeOfValue(v)}}
		return answer, nil
	}
	answer.InPlan, answer.Output = true, e.output(e.plan.Changes.Outputs[i], v)
	return answer, nil
}

// output explains the change of an output. v is nil if the configuration no longer has the output.
func (e *explainer) output(c *plans.OutputChange, v *reads.Value) *Attribute {
	out := &Attribute{Name: "output." + c.Name, Unknown: !wholly(c.After), Place: placeOfValue(v)}
	before, after := c.Before, c.After
	if c.Sensitive {
		before, after = before.Mark(marks.Sensitive), after.Mark(marks.Sensitive)
	}
	if c.Action != plans.Create {
		out.Before = valueText(before)
	}
	if c.Action == plans.Delete || v == nil {
		out.Cause = "the configuration doesn't have it"
		return out
	}
	out.After = valueText(after)
	if c.Action == plans.Update && sameValue(c.Before, c.After) {
		out.Cause = planview.OutputNode(&valuediff.Differ{}, c).Note
		return out
	}
	if v.Expr != nil {
		out.Sources = e.tracer().expr(v.Expr, v.Scope(addrs.RootInstance, e.Keys))
	}
	if c.Action != plans.Create {
		out.causedHere()
	}
	return out
}

func placeOfValue(v *reads.Value) *Place {
	if v == nil {
		return nil
	}
	return placeOf(v.Node.Range)
}
