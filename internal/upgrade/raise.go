package upgrade

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/apparentlymart/go-versions/versions"

	"tofu/internal/depsfile"
)

// part is one condition of a constraint, such as ">= 1.2".
type part struct {
	before, operator, space, prefix string // text around the version, as written
	bound                           depsfile.Version
	numbers                         int // number of components in the written version
	after                           string
}

var partForm = regexp.MustCompile(
	`^(\s*)(=|!=|>=|<=|>|<|~>)?(\s*)(v?)([0-9]+(?:\.[0-9]+){0,2}(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)(\s*)$`)

func parsePart(text string) (part, error) {
	m := partForm.FindStringSubmatch(text)
	if m == nil {
		return part{}, fmt.Errorf("%q is not a version constraint", strings.TrimSpace(text))
	}
	core, rest := m[5], ""
	if i := strings.IndexAny(core, "-+"); i >= 0 {
		core, rest = core[:i], core[i:]
	}
	numbers := strings.Count(core, ".") + 1
	bound, err := depsfile.ParseVersion(core + strings.Repeat(".0", 3-numbers) + rest)
	return part{m[1], m[2], m[3], m[4], bound, numbers, m[6]}, err
}

func (p part) String(version string) string {
	return p.before + p.operator + p.space + p.prefix + version + p.after
}

// numbersOf returns the first n components of a version as text, or the whole version if n is 3 or
// more.
func numbersOf(v depsfile.Version, n int) string {
	if n >= 3 {
		return v.String()
	}
	return strings.Join([]string{fmt.Sprint(v.Major), fmt.Sprint(v.Minor)}[:n], ".")
}

// operator describes how conditions with an operator are raised.
type operator struct {
	lower bool // whether the condition sets a lower bound
	raise func(p part, v depsfile.Version) string
}

var operators = map[string]operator{
	"":   {true, func(p part, v depsfile.Version) string { return v.String() }},
	"=":  {true, func(p part, v depsfile.Version) string { return v.String() }},
	"~>": {true, func(p part, v depsfile.Version) string { return numbersOf(v, p.numbers) }},
	">=": {true, func(p part, v depsfile.Version) string { return numbersOf(v, p.numbers) }},
	">":  {true, nil}, // unchanged: any newer version matches
	"<":  {false, func(p part, v depsfile.Version) string { return p.beyond(v) }},
	"<=": {false, func(p part, v depsfile.Version) string { return v.String() }},
	"!=": {false, nil},
}

// beyond returns an upper bound above v with the precision of the old bound: if the old bound is a
// major version, it returns the next major version, and so on.
func (p part) beyond(v depsfile.Version) string {
	next := versions.Version{Major: v.Major, Minor: v.Minor, Patch: v.Patch + 1}
	switch {
	case p.bound.Minor == 0 && p.bound.Patch == 0:
		next = versions.Version{Major: v.Major + 1}
	case p.bound.Patch == 0:
		next = versions.Version{Major: v.Major, Minor: v.Minor + 1}
	}
	return numbersOf(next, p.numbers)
}

// ErrNewer means that a constraint already requires a newer version than the given one.
var ErrNewer = errors.New("it already requires a newer version")

// Raise changes a constraint so that it selects v, and newer versions if the form of the constraint
// allows them. Exact versions and lower bounds become v. Upper bounds are raised if necessary. If
// the constraint needs no change, Raise returns it unchanged. If it already requires a newer
// version, the error is ErrNewer.
func Raise(constraint string, v depsfile.Version) (string, error) {
	var texts []string
	for text := range strings.SplitSeq(constraint, ",") {
		p, err := parsePart(text)
		if err != nil {
			return "", err
		}
		op := operators[p.operator]
		admits := p.operator == "<" && v.LessThan(p.bound) || p.operator == "<=" && !p.bound.LessThan(v)
		switch {
		case op.lower && v.LessThan(p.bound) || p.operator == ">" && v.Same(p.bound):
			return "", ErrNewer
		case p.operator == "!=" && v.Same(p.bound):
			return "", fmt.Errorf("it excludes the version %s", v)
		case op.raise == nil || admits || p.bound == v:
			texts = append(texts, text)
		default:
			texts = append(texts, p.String(op.raise(p, v)))
		}
	}
	raised := strings.Join(texts, ",")
	c, err := depsfile.ParseConstraints(raised)
	if err != nil {
		return "", err
	}
	if !depsfile.Acceptable(c).Has(v) {
		return "", fmt.Errorf("%s does not match the raised constraint, %q; specify a constraint instead of a version",
			v, raised)
	}
	return raised, nil
}

// refVersion matches a git ref that ends with a version, such as "v1.2.3" or "net-1.2.3".
var refVersion = regexp.MustCompile(`^(.*?)([0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)$`)

// SplitRef splits a git ref into a prefix and the version at its end. ok is false if the ref
// doesn't end with a version.
func SplitRef(ref string) (prefix string, v depsfile.Version, ok bool) {
	m := refVersion.FindStringSubmatch(ref)
	if m == nil {
		return "", v, false
	}
	v, err := depsfile.ParseVersion(m[2])
	return m[1], v, err == nil
}

// RaiseRef replaces the version at the end of a git ref with v.
func RaiseRef(ref string, v depsfile.Version) (string, error) {
	prefix, old, ok := SplitRef(ref)
	switch {
	case !ok:
		return "", fmt.Errorf("the ref %q doesn't end in a version", ref)
	case v.LessThan(old):
		return "", ErrNewer
	}
	return prefix + v.String(), nil
}
