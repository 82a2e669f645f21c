package lang

import (
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/lang/marks"
	"tofu/internal/tfdiags"
)

// Rule is a condition with the error message that is shown if it is false. It comes from a
// validation, a precondition, a postcondition, or an assertion in a check or test.
type Rule struct{ Condition, Message *Expr }

// Verdict is the result of a rule.
type Verdict struct {
	Result    cty.Value // true, false or unknown, without marks
	Sensitive bool      // the condition is sensitive, so its parts must not be shown

	Message    string              // error message; "" if it is unknown, hidden or invalid
	Unknown    bool                // the message is unknown
	Hidden     *tfdiags.Diagnostic // warning that the message must not be shown; nil if it may be shown
	MessageErr error               // error in the message
}

// Eval evaluates the rule's expressions with eval, which is usually Scope.Eval. The message is
// evaluated even if the condition is true, so that errors in it are found early.
func (r Rule) Eval(s *Scope, eval func(*Expr, cty.Type) (cty.Value, error)) (*Verdict, error) {
	v, err := eval(r.Condition, cty.DynamicPseudoType)
	text, messageErr := eval(r.Message, cty.String)
	if err := tfdiags.Join(err, messageErr); err != nil {
		return nil, err
	}
	out := &Verdict{Sensitive: marks.Contains(v, marks.Sensitive)}
	v, _ = v.Unmark()
	out.Result, err = convert.Convert(v, cty.Bool)
	if err != nil {
		return nil, r.Problem(s, "Invalid condition result", "The condition must be true or false: "+
			tfdiags.FormatError(err)+".", out.Sensitive)
	}
	if v.IsNull() {
		return nil, r.Problem(s, "Invalid condition result", "The condition is null. It must be true or false.",
			out.Sensitive)
	}
	out.setMessage(text, r.Message)
	return out, nil
}

func (out *Verdict) setMessage(v cty.Value, e *Expr) {
	for _, m := range []struct {
		mark any
		what string
		hint string
	}{
		{marks.Sensitive, "sensitive", " Remove them, or use nonsensitive() if they are not secret."},
		{marks.Ephemeral, "ephemeral", " Remove them."},
	} {
		if marks.Has(v, m.mark) {
			d := tfdiags.Warningf("Error message refers to "+m.what+" values",
				"The error message contains %s values, so it is not shown.%s", m.what, m.hint).At(e.Range())
			out.Hidden = &d
			return
		}
	}
	v, _ = v.Unmark()
	switch {
	case v.IsNull():
		out.MessageErr = tfdiags.Errorf("Invalid error message",
			"The error message is null. It must be a string.").At(e.Range())
	case !v.IsKnown():
		out.Unknown = true
	default:
		out.Message = strings.TrimSpace(v.AsString())
	}
}

// MessageText returns the message, or a sentence that says why there is no message.
func (v *Verdict) MessageText() string {
	if v.Message != "" {
		return v.Message
	}
	return "The condition is false, but its error message can't be shown, because it is hidden or depends on " +
		"values that are known only after apply."
}

// Problem returns an error about the condition. It includes the values that the condition refers
// to, unless the condition is sensitive.
func (r Rule) Problem(s *Scope, summary, detail string, sensitive bool) tfdiags.Diagnostic {
	d := s.Problem(r.Condition, summary, detail, cty.NilVal)
	if sensitive {
		d.EvalContext, d.Expression = nil, nil
	}
	return d
}
