package sources

import (
	"fmt"
	"strings"

	"tofu/internal/addrs"
)

// Pattern matches provider addresses. A part "*" matches anything.
type Pattern addrs.Provider

// ParsePattern parses a provider address with wildcards. A pattern without a host matches only the
// default host, so "*/*" doesn't match everything.
func ParsePattern(text string) (Pattern, error) {
	parts := strings.Split(text, "/")
	filled := strings.Split(text, "/")
	for i, part := range parts {
		if part != "*" {
			continue
		}
		filled[i] = "x"
		if len(parts) == 3 && i == 0 {
			filled[i] = "x.example"
		}
	}
	p, err := addrs.ParseProvider(strings.Join(filled, "/"))
	if err != nil || len(parts) == 1 {
		return Pattern{},
			fmt.Errorf("%q is not a provider address or a pattern like \"hashicorp/*\" or \"example.com/*/*\"", text)
	}
	fields := []*string{&p.Host, &p.Namespace, &p.Type}
	for i, part := range parts {
		if part == "*" {
			*fields[i+3-len(parts)] = "*"
		}
	}
	if p.Host == "*" && p.Namespace != "*" || p.Namespace == "*" && p.Type != "*" {
		return Pattern{},
			fmt.Errorf("in the pattern %q a wildcard precedes a fixed part; wildcards must come last", text)
	}
	return Pattern(p), nil
}

// Matches reports whether the pattern matches a provider.
func (pt Pattern) Matches(p addrs.Provider) bool {
	return (pt.Host == "*" || pt.Host == p.Host) && (pt.Namespace == "*" || pt.Namespace == p.Namespace) &&
		(pt.Type == "*" || pt.Type == p.Type)
}

// Patterns is a list of alternative patterns.
type Patterns []Pattern

// Match reports whether one of the patterns matches.
func (pts Patterns) Match(p addrs.Provider) bool {
	for _, pt := range pts {
		if pt.Matches(p) {
			return true
		}
	}
	return false
}
