package pace

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tofu/internal/addrs"
)

// Limits are the limits that a user has set.
type Limits struct {
	// Calls is the maximum number of calls at a time of all providers that Of doesn't name together; 0
	// if the user has set none.
	Calls int
	// Of holds the maximum numbers of calls at a time of single providers, and Rates those of calls per
	// second. Keys are types, such as "aws", or addresses, such as "hashicorp/aws".
	Of    map[string]int
	Rates map[string]float64
}

// ParseCalls parses the value of -parallelism, such as "aws=20,cloudflare=4,10", and adds it to the
// limits. A plain 0 stands for the default.
func (l *Limits) ParseCalls(text string) error {
	plain := false
	return each(text, func(provider, number string) error {
		n, err := strconv.Atoi(number)
		switch {
		case err != nil || n < 0 || n > maxCalls || n == 0 && provider != "":
			return fmt.Errorf("%q must be a whole number from 1 to %d", number, maxCalls)
		case provider == "" && plain:
			return fmt.Errorf("%q has more than one number for all other providers", text)
		case provider == "":
			l.Calls, plain = n, true
		default:
			set(&l.Of, provider, n)
		}
		return nil
	})
}

// ParseRates parses the value of -provider-rate, such as "aws=50,cloudflare=3.5", and adds it.
func (l *Limits) ParseRates(text string) error {
	return each(text, func(provider, number string) error {
		if provider == "" {
			return fmt.Errorf("%q must name a provider, such as aws=%s", number, number)
		}
		rate, err := strconv.ParseFloat(number, 64)
		if err != nil || math.IsNaN(rate) || rate < minRate || rate > maxRate {
			return fmt.Errorf("%q must be a number of calls per second from %g to %d", number, minRate, maxRate)
		}
		set(&l.Rates, provider, rate)
		return nil
	})
}

const (
	maxCalls = 10_000
	minRate  = 0.001 // a call in 17 minutes
	maxRate  = 1_000_000
)

// each calls add for each part of a list, which is PROVIDER=NUMBER or NUMBER.
func each(text string, add func(provider, number string) error) error {
	seen := make(map[string]bool)
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		provider, number, named := strings.Cut(part, "=")
		if !named {
			provider, number = "", part
		}
		if named && !ValidName(provider) {
			return fmt.Errorf("%q is not the name of a provider, such as aws or hashicorp/aws", provider)
		}
		if p, err := addrs.ParseProvider(provider); err == nil && strings.Count(provider, "/") == 2 {
			provider = p.ForDisplay() // without the default host
		}
		if named && seen[provider] {
			return fmt.Errorf("%q names %s twice", text, provider)
		}
		seen[provider] = true
		if err := add(provider, number); err != nil {
			return err
		}
	}
	return nil
}

// ValidName reports whether a text can be the name of a provider in the limits.
func ValidName(provider string) bool {
	parts := strings.Split(provider, "/")
	return len(parts) <= 3 && !slices.Contains(parts, "") && !strings.ContainsAny(provider, " \t*?[]\"'")
}

func set[T any](m *map[string]T, key string, v T) {
	if *m == nil {
		*m = make(map[string]T)
	}
	(*m)[key] = v
}

// Over returns the limits, with those of others where l has none.
func (l Limits) Over(others Limits) Limits {
	out := Limits{Calls: l.Calls, Of: maps.Clone(others.Of), Rates: maps.Clone(others.Rates)}
	if l.Calls == 0 {
		out.Calls = others.Calls
	}
	for name, n := range l.Of {
		set(&out.Of, name, n)
	}
	for name, rate := range l.Rates {
		set(&out.Rates, name, rate)
	}
	return out
}

// Names returns the names of the providers that have limits of their own, sorted.
func (l Limits) Names() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(l.Of)), maps.Keys(l.Rates))
	slices.Sort(names)
	return slices.Compact(names)
}

// Matches reports whether a name in the limits means a provider, which is given as it is displayed or
// as a full address.
func Matches(name, provider string) bool {
	return name == provider || strings.HasSuffix(provider, "/"+name)
}

// lookup returns the value for a provider; the longest name that matches counts.
func lookup[T any](m map[string]T, provider string) (v T, ok bool) {
	best := ""
	for name, value := range m {
		if Matches(name, provider) && (!ok || len(name) > len(best)) {
			best, v, ok = name, value, true
		}
	}
	return v, ok
}
