package sources

import (
	"fmt"
	"strings"

	"tofu/internal/addrs"
)

// Pattern stands for providers; "*" in place of a part of the address means any.
type Pattern addrs.Provider

// ParsePattern reads a provider address with wildcards. Without a host the default host is meant: "*/*" is not
// everything.
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
		return Pattern{}, fmt.Errorf("%q is no provider address or pattern like \"hashicorp/*\" or \"example.com/*/*\"", text)
	}
	fields := []*string{&p.Host, &p.Namespace, &p.Type}
	for i, part := range parts {
		if part == "*" {
			*fields[i+3-len(parts)] = "*"
		}
	}
	if p.Host == "*" && p.Namespace != "*" || p.Namespace == "*" && p.Type != "*" {
		return Pattern{}, fmt.Errorf("in the pattern %q a wildcard stands before a part that is fixed; wildcards come last", text)
	}
	return Pattern(p), nil
}

// Matches tells whether the provider is one of those the pattern stands for.
func (pt Pattern) Matches(p addrs.Provider) bool {
	return (pt.Host == "*" || pt.Host == p.Host) && (pt.Namespace == "*" || pt.Namespace == p.Namespace) && (pt.Type == "*" || pt.Type == p.Type)
}

// Patterns is a list of which one must match.
type Patterns []Pattern

// Match tells whether one of them matches.
func (pts Patterns) Match(p addrs.Provider) bool {
	for _, pt := range pts {
		if pt.Matches(p) {
			return true
		}
	}
	return false
}
