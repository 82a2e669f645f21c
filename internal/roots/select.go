package roots

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"tofu/internal/dag"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
)

// Selection says which root modules of an estate a command works on. The zero value selects all.
type Selection struct {
	// Only and Skip are patterns for names: * matches any characters but slashes, and ** matches
	// any number of path elements. A root module is selected if Only is empty or one of its
	// patterns matches, and no pattern in Skip does. An entry may list several patterns separated by
	// commas, unless it matches a name as a whole, since names may have commas.
	Only, Skip []string
	// Tags are tags that a root module must have; all entries must match. An entry may list several
	// tags separated by commas. It matches if the root module has one of them.
	Tags []string
	// Changed, if not nil, restricts the selection to root modules for which it returns true.
	Changed func(*Root) bool
	// Dependents adds the root modules that need a selected root module, directly or indirectly.
	// Dependencies adds the root modules that a selected root module needs. Skip also excludes root
	// modules that would be added.
	Dependents, Dependencies bool
}

// Select returns the selected root modules, sorted by name. It returns an error if a pattern or a
// tag matches no root module.
func (e *Estate) Select(s *Selection) ([]*Root, error) {
	split := *s
	split.Only, split.Skip = e.patterns(s.Only), e.patterns(s.Skip)
	s = &split
	if err := e.checkSelection(s); err != nil {
		return nil, err
	}
	var start []dag.ID
	for _, r := range e.Roots {
		named := len(s.Only) == 0 || matchesAny(s.Only, r.Name)
		if named && hasTags(r, s.Tags) && (s.Changed == nil || s.Changed(r)) {
			start = append(start, r.id)
		}
	}
	keep := make([]bool, len(e.Roots))
	mark := func(reached []bool) {
		for i, yes := range reached {
			keep[i] = keep[i] || yes
		}
	}
	for _, id := range start {
		keep[id] = true
	}
	if s.Dependencies {
		mark(e.Graph.Reach(start...))
	}
	if s.Dependents {
		mark(dag.ReachIn(e.Graph.Dependents(), start...))
	}
	var out []*Root
	for i, r := range e.Roots {
		if keep[i] && !matchesAny(s.Skip, r.Name) {
			out = append(out, r)
		}
	}
	return out, nil
}

// patterns splits lists of patterns at commas outside of braces and brackets.
func (e *Estate) patterns(lists []string) []string {
	var out []string
	for _, list := range lists {
		if slices.ContainsFunc(e.Roots, func(r *Root) bool { return matchesAny([]string{list}, r.Name) }) {
			out = append(out, list)
			continue
		}
		depth := 0
		parts := strings.FieldsFunc(list, func(c rune) bool {
			switch c {
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			return c == ',' && depth == 0
		})
		if len(parts) == 0 { // an empty list must not select everything
			parts = []string{list}
		}
		out = append(out, parts...)
	}
	return out
}

func (e *Estate) checkSelection(s *Selection) error {
	var errs tfdiags.Diagnostics
	for _, option := range []struct {
		name     string
		patterns []string
	}{{"only", s.Only}, {"skip", s.Skip}} {
		for _, p := range option.patterns {
			fits := func(r *Root) bool { return matchesAny([]string{p}, r.Name) }
			switch {
			case !doublestar.ValidatePattern(p):
				errs.Add(tfdiags.Errorf("Invalid pattern", "The pattern in -%s=%s is not valid. In a pattern, * "+
					"stands for any characters except slashes, ** for any characters, and each [ and { must be closed.",
					option.name, p))
			case !slices.ContainsFunc(e.Roots, fits):
				errs.Add(tfdiags.Errorf("No such root module", "-%s=%s matches no root module.%s", option.name, p,
					cmp.Or(e.patternMeant(p), e.didYouMean(p))))
			}
		}
	}
	for _, words := range s.Tags {
		for word := range strings.SplitSeq(words, ",") {
			isKnown := slices.ContainsFunc(e.Roots, func(r *Root) bool { return slices.Contains(r.Tags(), word) })
			if !isKnown {
				errs.Add(tfdiags.Errorf("No such tag", "No root module has the tag %q.%s To list the tags, run: "+
					"tofu roots list -json", word, suggest.DidYouMean(word, e.tags())))
			}
		}
	}
	return errs.Err()
}

// patternMeant suggests a pattern that differs in one path element and matches a root module. It
// returns "" if no root module matches.
func (e *Estate) patternMeant(pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		var there []string // in that place
		for _, name := range e.Names() {
			if elements := strings.Split(name, "/"); i < len(elements) {
				there = append(there, elements[i])
			}
		}
		meant := slices.Clone(parts)
		if meant[i] = suggest.Nearest(part, there); meant[i] == "" {
			continue
		}
		if text := strings.Join(meant, "/"); slices.ContainsFunc(e.Roots, func(r *Root) bool { return matchesAny([]string{text}, r.Name) }) {
			return fmt.Sprintf(" Did you mean %q?", text)
		}
	}
	return ""
}

// tags returns all tags of root modules, sorted. A tag may be there several times.
func (e *Estate) tags() []string {
	var out []string
	for _, r := range e.Roots {
		out = append(out, r.Tags()...)
	}
	slices.Sort(out)
	return out
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := doublestar.Match(p, name)
		return ok && err == nil
	})
}

func hasTags(r *Root, tags []string) bool {
	for _, words := range tags {
		has := func(word string) bool { return slices.Contains(r.Tags(), word) }
		if !slices.ContainsFunc(strings.Split(words, ","), has) {
			return false
		}
	}
	return true
}

// CheckDestroy returns an error if root modules outside of the selection read outputs of selected
// root modules. Destroying the selected root modules would remove these outputs.
func (e *Estate) CheckDestroy(selected []*Root) error {
	in := make(map[*Root]bool, len(selected))
	for _, r := range selected {
		in[r] = true
	}
	var lines []string
	for _, r := range e.Roots {
		if in[r] {
			continue
		}
		for _, read := range r.Reads {
			if read.Root != nil && in[read.Root] && read.Kind != After {
				lines = append(lines,
					fmt.Sprintf("%s reads %s at %s", r.Name, read.Root.Name, tfdiags.Place(read.Range)))
				break
			}
		}
	}
	if len(lines) == 0 {
		return nil
	}
	const most = 10
	if n := len(lines) - most; n > 0 {
		lines = append(lines[:most], fmt.Sprintf("and %d more", n))
	}
	return tfdiags.Errorf("Other root modules read what would be destroyed",
		"These root modules are not selected, and they read outputs of selected ones:\n  - %s\nNothing was changed. "+
			"Destroy them too, for example with -with=dependents, or remove what reads the outputs.",
		strings.Join(lines, "\n  - "))
}
