package depsfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/apparentlymart/go-versions/versions/constraints"
)

// Constraints are version constraints that must all be met. Nil accepts every release.
type Constraints = constraints.IntersectionSpec

// ParseConstraints parses version constraints such as ">= 1.0, != 1.3, < 2.0" or "~> 1.2".
func ParseConstraints(text string) (Constraints, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			return nil, fmt.Errorf("a constraint is missing before or after a comma in %q", text)
		}
	}
	return constraints.ParseRubyStyleMulti(text)
}

// Acceptable returns the set of versions that meet c. It includes a prerelease only if c names it
// exactly.
func Acceptable(c Constraints) versions.Set { return versions.MeetingConstraints(c) }

type operator struct {
	op    constraints.SelectionOp
	text  string
	parts int // number of version parts to write
}

// operators lists the operators in the order in which constraints on the same version are written.
var operators = []operator{
	{constraints.OpGreaterThan, "> ", 3},
	{constraints.OpGreaterThanOrEqual, ">= ", 3},
	{constraints.OpEqual, "", 3},
	{constraints.OpGreaterThanOrEqualPatchOnly, "~> ", 3},
	{constraints.OpGreaterThanOrEqualMinorOnly, "~> ", 2},
	{constraints.OpLessThanOrEqual, "<= ", 3},
	{constraints.OpLessThan, "< ", 3},
	{constraints.OpNotEqual, "!= ", 3},
}

// ConstraintsString returns constraints in normal form: sorted by version and operator, without
// duplicates, versions padded to three parts except after "~>". It returns "" for no constraints.
func ConstraintsString(c Constraints) string {
	type part struct {
		bound versions.Version
		rank  int
		text  string
	}
	parts := make([]part, 0, len(c))
	for _, sel := range c {
		rank := slices.IndexFunc(operators, func(o operator) bool { return o.op == sel.Operator })
		if rank < 0 {
			continue // the constraint for any version has no text
		}
		zero := sel.Boundary.ConstrainToZero()
		bound := versions.Version{Major: zero.Major.Num, Minor: zero.Minor.Num, Patch: zero.Patch.Num,
			Prerelease: versions.VersionExtra(zero.Prerelease), Metadata: versions.VersionExtra(zero.Metadata)}
		text := bound.String()
		if operators[rank].parts == 2 {
			text = fmt.Sprintf("%d.%d%s", bound.Major, bound.Minor,
				strings.TrimPrefix(text, fmt.Sprintf("%d.%d.%d", bound.Major, bound.Minor, bound.Patch)))
		}
		parts = append(parts, part{bound, rank, operators[rank].text + text})
	}
	slices.SortStableFunc(parts, func(a, b part) int {
		return cmp.Or(CompareVersions(a.bound, b.bound), cmp.Compare(a.rank, b.rank), cmp.Compare(a.text, b.text))
	})
	parts = slices.CompactFunc(parts, func(a, b part) bool { return a.text == b.text })
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.text
	}
	return strings.Join(texts, ", ")
}
