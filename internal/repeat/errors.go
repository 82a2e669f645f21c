package repeat

import (
	"regexp"
	"sync"

	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// class says whether a call that has failed may be tried again.
type class int

const (
	final     class = iota // another try is not likely to help
	temporary              // the connection or the service has failed
	throttled              // there were too many calls
)

// patterns lists the words in errors of providers and their services that decide about another try. The
// first that matches counts. Numbers must be named as a status, because IDs have digits too.
var patterns = sync.OnceValue(func() []pattern {
	const status = `(?:status(?: ?code)?|http(?:/[\d.]+)?|error|code|response)[^\w\n]{1,4}`
	var list []pattern
	for _, p := range []struct {
		class class
		text  string
	}{
		{throttled, status + `429\b|\b429 too many requests`},
		{throttled, `too ?many ?requests|throttl(?:ed|ing)|request ?limit ?exceeded|rate (?:limit )?exceeded`},
		{throttled, `rate[- ]limit(?:ed|ing)|(?:exceeded|reached|hit) (?:the |your |a )?(?:[\w.-]+ )?rate[- ]limit`},
		{throttled, `ratelimitexceeded|slow ?down\b|bandwidth ?limit ?exceeded|provisionedthroughputexceeded`},
		{throttled, `quota exceeded for quota metric|priorrequestnotcomplete|ec2throttled|limitexceededexception`},
		{temporary, status + `50[0234]\b|\b50[0234] (?:internal server error|bad gateway|service unavailable|gateway time-?out)`},
		{temporary, `connection (?:reset|refused|timed out)|broken pipe|unexpected eof|: eof\b|server closed idle connection`},
		{temporary, `i/o timeout|tls handshake timeout|(?:request|operation) timed out|deadline exceeded while awaiting`},
		{temporary, `temporarily unavailable|temporary failure|try again later|service ?unavailable|internal server error`},
		{temporary, `\bservfail\b|server misbehaving|no route to host|network is unreachable|too many connections`},
	} {
		list = append(list, pattern{p.class, regexp.MustCompile(`(?i)` + p.text)})
	}
	return list
})

type pattern struct {
	class class
	text  *regexp.Regexp
}

// classify returns the class of a provider's answer. With an error that is final, the answer is final.
func classify(diags tfdiags.Diagnostics) class {
	found := final
	for _, d := range diags {
		if d.Severity != tfdiags.Error {
			continue
		}
		c := classOf(d.Summary + "\n" + d.Detail)
		if unanswered(d) {
			c = final
		}
		if c == final {
			return final
		}
		found = max(found, c)
	}
	return found
}

// unanswered reports whether an error is about the process of the provider, which no repeat changes.
func unanswered(d tfdiags.Diagnostic) bool {
	return d.Summary == providers.NoAnswer || d.Summary == "Request cancelled"
}

func classOf(text string) class {
	for _, p := range patterns() {
		if p.text.MatchString(text) {
			return p.class
		}
	}
	return final
}
