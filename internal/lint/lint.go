package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

// rule is one kind of problem.
type rule struct {
	id     string
	groups []string // beside "all" and "core:all"
	find   func(*module, func(at hcl.Range, detail string, args ...any))
	title  string
}

var rules = []rule{
	{"core:unused-variable", []string{"core:confusing"}, (*module).unusedVariables, "Input variable not used"},
	{"core:unused-local", []string{"core:confusing"}, (*module).unusedLocals, "Local value not used"},
	{"core:count-instead-enabled", []string{"core:improvement"}, (*module).counts, "Could use enabled instead of count"},
	{"core:no-type-variable", []string{"core:confusing"}, (*module).untyped, "Variable with no type"},
	{"core:impurefunc", []string{"core:noconverge"}, (*module).impure, "Impure function used"},
}

// Selection says which rules are applied. A nil *Selection means none.
type Selection struct {
	include, exclude []string
	// Destruction says that the operation destroys everything. It doesn't evaluate the whole
	// configuration, so no rule is applied.
	Destruction bool
}

// identifier is the form of the identifiers of rules and groups. The part before the colon says who
// has made the rule.
var identifier = regexp.MustCompile(`^(all|[\pL\pN][^:,\s]*:[\pL_][\pL\pN_-]*)$`)

// Parse adds the value of a -lint option to a selection, which may be nil. An identifier without a
// rule selects nothing, because other versions of the program have other rules.
func Parse(before *Selection, text string) (*Selection, error) {
	s := &Selection{}
	if before != nil {
		*s = *before
	}
	for _, part := range strings.Split(text, ",") {
		id, excluded := strings.CutPrefix(strings.TrimSpace(part), "!")
		if !identifier.MatchString(id) {
			return nil, fmt.Errorf("%q is not the identifier of a rule or a group, such as all, core:unused-local or "+
				"core:confusing", id)
		}
		if excluded {
			s.exclude = append(s.exclude, id)
		} else {
			s.include = append(s.include, id)
		}
	}
	if len(s.include) == 0 {
		return nil, fmt.Errorf("it only excludes rules; name the rules to apply too, as in all,%s", text)
	}
	return s, nil
}

// selects reports whether a rule is applied. What names the rule itself wins over its groups, these
// over core:all, and that over all. On one level, excluding wins.
func (s *Selection) selects(r *rule) bool {
	for _, level := range [][]string{{r.id}, r.groups, {"core:all"}, {"all"}} {
		in := func(ids []string) bool {
			return slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(level, id) })
		}
		if in(s.exclude) {
			return false
		}
		if in(s.include) {
			return true
		}
	}
	return false
}

// Check returns a warning for everything in a root module that the selected rules find, and one that
// says that the rules may change.
func Check(root *configs.Config, parser *configs.Parser, s *Selection) tfdiags.Diagnostics {
	if s == nil {
		return nil
	}
	if s.Destruction {
		return tfdiags.Warningf("Linting skipped",
			"A destruction doesn't evaluate the whole configuration, so -lint has no effect on it.").List()
	}
	out := tfdiags.Warningf("Experimental linting enabled",
		"The rules of -lint and their identifiers may change in any release.").List()
	m := newModule(root.Module, parser)
	for i := range rules {
		r := &rules[i]
		if !s.selects(r) {
			continue
		}
		var found tfdiags.Diagnostics
		r.find(m, func(at hcl.Range, detail string, args ...any) {
			found.Add(tfdiags.Warningf(fmt.Sprintf("%s (%s)", r.title, r.id), detail, args...).At(at))
		})
		found.Sort()
		out = out.Append(found...)
	}
	return out
}
