package marks

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// ShortPart is the minimum length in bytes of secrets that are also replaced outside of quotes, and
// of parts of secrets for Redact if the text may quote anything. Shorter ones occur in many words.
const ShortPart = 4

const (
	redacted   = "(sensitive value)"
	maxSecrets = 10_000
)

var quotedText = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]+`")

// Redact replaces secrets in text. In quotes, it also replaces parts of secrets from the given length
// in bytes on.
func Redact(text string, secrets []string, part int) string {
	text = quotedText.ReplaceAllStringFunc(text, func(quoted string) string {
		inner, err := strconv.Unquote(quoted)
		if err != nil {
			inner = quoted[1 : len(quoted)-1]
		}
		for _, secret := range secrets {
			if inner == secret || len(inner) >= part && strings.Contains(secret, inner) {
				return redacted
			}
		}
		return quoted
	})
	for _, secret := range secrets {
		if len(secret) >= ShortPart {
			text = strings.ReplaceAll(text, secret, redacted)
		}
	}
	return text
}

// Secrets appends the sensitive strings and numbers within values to a list, which may be nil.
func Secrets(list []string, values ...cty.Value) []string {
	for _, v := range values {
		list = appendSecrets(list, v, false)
	}
	return list
}

// appendSecrets appends the sensitive strings and numbers within v.
func appendSecrets(secrets []string, v cty.Value, sensitive bool) []string {
	sensitive = sensitive || Has(v, Sensitive)
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
