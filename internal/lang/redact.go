package lang

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/marks"
)

const (
	redacted = "(sensitive value)"
	// Minimum length in bytes of secrets that are also replaced outside of quotes. Shorter secrets
	// occur in many words.
	minSecret  = 4
	maxSecrets = 10_000
)

var quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// redact replaces sensitive values in the text of errors. Functions and HCL quote their arguments,
// keys and operands in errors, and ignore marks. It takes the sensitive values from the evaluation
// context, which contains only what the expression refers to.
func redact(diags hcl.Diagnostics, ctx *hcl.EvalContext) hcl.Diagnostics {
	if len(diags) == 0 {
		return diags
	}
	var secrets []string
	for c := ctx; c != nil; c = c.Parent() {
		for _, v := range c.Variables {
			secrets = appendSecrets(secrets, v, false)
		}
	}
	if len(secrets) == 0 {
		return diags
	}
	out := make(hcl.Diagnostics, len(diags))
	for i, d := range diags {
		hidden := *d
		hidden.Detail = redactText(d.Detail, secrets)
		out[i] = &hidden
	}
	return out
}

// redactText replaces secrets in text. In quotes, it also replaces parts of secrets.
func redactText(text string, secrets []string) string {
	text = quotedText.ReplaceAllStringFunc(text, func(quoted string) string {
		inner, err := strconv.Unquote(quoted)
		if err != nil {
			inner = quoted[1 : len(quoted)-1]
		}
		for _, secret := range secrets {
			if inner == secret || len(inner) >= minSecret && strings.Contains(secret, inner) {
				return redacted
			}
		}
		return quoted
	})
	for _, secret := range secrets {
		if len(secret) >= minSecret {
			text = strings.ReplaceAll(text, secret, redacted)
		}
	}
	return text
}

// appendSecrets appends the sensitive strings and numbers within v.
func appendSecrets(secrets []string, v cty.Value, sensitive bool) []string {
	sensitive = sensitive || marks.Has(v, marks.Sensitive)
	v, _ = v.Unmark()
	switch {
	case v.IsNull() || !v.IsKnown() || len(secrets) >= maxSecrets:
		return secrets
	case v.Type() == cty.String && sensitive && v.AsString() != "":
		return append(secrets, v.AsString())
	case v.Type() == cty.Number && sensitive:
		return append(secrets, v.AsBigFloat().Text('f', -1))
	case !v.CanIterateElements():
		return secrets
	}
	for it := v.ElementIterator(); it.Next(); {
		key, elem := it.Element()
		if v.Type().IsMapType() {
			secrets = appendSecrets(secrets, key, sensitive)
		}
		secrets = appendSecrets(secrets, elem, sensitive)
	}
	return secrets
}
