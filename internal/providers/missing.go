package providers

import (
	"regexp"
	"sync"

	"tofu/internal/tfdiags"
)

// The protocol has no code for errors, so what a provider means is known only from its words. refusals
// go first: a service that refuses to answer may call what it hides missing.
var (
	refusals = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)access ?denied|not ?authori[sz]ed|unauthori[sz]ed|forbidden|permission|credential|` +
			`authenticat|\b(?:401|403)\b|no such host|server misbehaving|expired`)
	})
	absences = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)not[ _-]?found\b|not ?found(?:exception|error|fault)|\bno ?such ?(?:[a-z]*entity|` +
			`file or directory|object|key|bucket|resource)|(?:could ?n[o']t|can(?:no|')t|unable to|failed to) (?:be found|find)\b|` +
			`(?:does ?n[o']t|do not|no longer) exists?\b|\b(?:no|zero|0)\b[^\n:;,]{0,80} (?:found|match(?:ed|es)?)\b|` +
			`(?:return|yield|match|produc)(?:ed|s)? (?:no|zero|0) (?:results?|match(?:es)?|objects?|rows?|items?)\b|` +
			`\bempty result\b|\b(?:error|status|code|http)\b[^\w\n]{0,3}(?:code)?[^\w\n]{0,3}404\b`)
	})
)

// SayMissing reports whether the errors of a read say that the object doesn't exist: each of them does
// so by its words, and none speaks of credentials or rights. It is false without errors.
func SayMissing(diags tfdiags.Diagnostics) bool {
	found := false
	for _, d := range diags {
		if d.Severity != tfdiags.Error {
			continue
		}
		text := d.Summary + "\n" + d.Detail
		if refusals().MatchString(text) || !absences().MatchString(text) {
			return false
		}
		found = true
	}
	return found
}
