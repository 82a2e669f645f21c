package lang

import (
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/addrs"
	"tofu/internal/lang/marks"
	"tofu/internal/tfdiags"
)

func TestRule(t *testing.T) {
	data := dataOf{
		"var.secret":  cty.StringVal("s").Mark(marks.Sensitive),
		"var.brief":   cty.StringVal("e").Mark(marks.Ephemeral),
		"var.unknown": cty.UnknownVal(cty.String),
		"var.null":    cty.NullVal(cty.String),
	}
	for _, tt := range []struct {
		condition, message string
		result             cty.Value // expected result; NilVal if there is an error
		err                string
		text               string // expected message
		hidden             string // part of the warning about a hidden message
		invalid            bool   // whether the message is invalid
	}{
		{condition: "true", message: `" a "`, result: cty.True, text: "a"},
		{condition: `"false"`, message: `"a"`, result: cty.False, text: "a"},
		{condition: `var.unknown == "a"`, message: `"a"`, result: cty.UnknownVal(cty.Bool).RefineNotNull(), text: "a"},
		{condition: "1", message: `"a"`, err: "must be true or false"},
		{condition: "null", message: `"a"`, err: "is null"},
		{condition: "true", message: "[]", err: "string required"},
		{condition: "true", message: "var.unknown", result: cty.True},
		{condition: "true", message: "var.null", result: cty.True, invalid: true},
		{condition: "false", message: "var.secret", result: cty.False, hidden: "sensitive"},
		{condition: "false", message: "var.brief", result: cty.False, hidden: "ephemeral"},
	} {
		scope := &Scope{Data: data}
		rule := Rule{Condition: analyzed(t, tt.condition), Message: analyzed(t, tt.message)}
		got, err := rule.Eval(scope, scope.Eval)
		if err != nil {
			if tt.err == "" || !strings.Contains(tfdiags.FromError(err)[0].Detail, tt.err) {
				t.Errorf("%s, %s: %v", tt.condition, tt.message, err)
			}
			continue
		}
		switch {
		case tt.err != "":
			t.Errorf("%s, %s: no error", tt.condition, tt.message)
		case !got.Result.RawEquals(tt.result), got.Message != tt.text, (got.MessageErr != nil) != tt.invalid,
			(got.Hidden != nil) != (tt.hidden != ""), got.Unknown != (tt.message == "var.unknown"):
			t.Errorf("%s, %s: %+v", tt.condition, tt.message, got)
		case got.Hidden != nil && !strings.Contains(got.Hidden.Summary, tt.hidden):
			t.Errorf("%s, %s: %s", tt.condition, tt.message, got.Hidden.Summary)
		}
	}
}

// TestRuleSensitive checks that parts of a sensitive condition are not shown.
func TestRuleSensitive(t *testing.T) {
	scope := &Scope{Data: dataOf{"var.secret": cty.StringVal("s").Mark(marks.Sensitive)}}
	rule := Rule{Condition: analyzed(t, `var.secret == "a"`), Message: analyzed(t, `"no"`)}
	got, err := rule.Eval(scope, scope.Eval)
	if err != nil || !got.Sensitive || !got.Result.RawEquals(cty.False) {
		t.Fatalf("%+v, %v", got, err)
	}
	if d := rule.Problem(scope, "Failed", got.MessageText(), got.Sensitive); d.EvalContext != nil {
		t.Error("the error has the values of the condition")
	}
}

// dataOf holds the values of references by the text of the reference.
type dataOf map[string]cty.Value

// Value implements Data.
func (d dataOf) Value(subject addrs.Referenceable, _ hcl.Range) (cty.Value, error) {
	return d[subject.String()], nil
}

// Instances implements Data.
func (dataOf) Instances(addrs.Referenceable, Instances) (cty.Value, bool) {
	return cty.NilVal, false
}

// Module implements Data.
func (dataOf) Module(string, CallUse) (cty.Value, error) {
	return cty.NilVal, errors.ErrUnsupported
}

// Function implements Data.
func (dataOf) Function(addrs.ProviderFunction, hcl.Range) (function.Function, error) {
	return function.Function{}, errors.ErrUnsupported
}

func analyzed(t *testing.T, text string) *Expr {
	t.Helper()
	expr, diags := hclsyntax.ParseExpression([]byte(text), "test.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return Analyze(expr, addrs.ModuleScope)
}
