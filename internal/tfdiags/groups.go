package tfdiags

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// named limits the further elements that the error of a group names. More of them are only counted.
const named = 3

// Groups collects errors of which several may have the same cause in different elements of a block, for
// example in those of its for_each. Errors with the same summary and source range are one group: [Groups.Err]
// has the first of them, with the names of other elements at its end. Errors without a source range
// are not grouped. The zero value is empty.
type Groups struct {
	list   Diagnostics
	groups map[groupKey]*group
}

type groupKey struct {
	summary string
	at      hcl.Range
}

type group struct {
	index    int             // of the first error in the list
	elements map[string]bool // all, with the first one
	further  []string        // at most named elements after the first one
}

// Add adds an error about an element. A second one about the same element in the same group is dropped.
func (g *Groups) Add(d Diagnostic, element string) {
	if d.Subject == nil {
		g.list.Add(d)
		return
	}
	key := groupKey{d.Summary, *d.Subject}
	one := g.groups[key]
	switch {
	case one == nil:
		if g.groups == nil {
			g.groups = make(map[groupKey]*group)
		}
		g.groups[key] = &group{index: len(g.list), elements: map[string]bool{element: true}}
		g.list.Add(d)
	case !one.elements[element]:
		one.elements[element] = true
		if len(one.further) < named {
			one.further = append(one.further, element)
		}
	}
}

// Err returns one error for each group, in the order of their first errors. Without errors it returns nil.
func (g *Groups) Err() error {
	out := append(Diagnostics(nil), g.list...)
	for _, one := range g.groups {
		if text := one.text(); text != "" {
			out[one.index].Detail += " " + text
		}
	}
	return out.Err()
}

// text says to which further elements the first error applies.
func (g *group) text() string {
	names := g.further
	if others := len(g.elements) - 1 - len(names); others == 1 {
		names = append(names[:named:named], "1 other")
	} else if others > 1 {
		names = append(names[:named:named], fmt.Sprintf("%d others", others))
	}
	switch last := len(names) - 1; last {
	case -1:
		return ""
	case 0:
		return "The same goes for " + names[0] + "."
	default:
		return "The same goes for " + strings.Join(names[:last], ", ") + " and " + names[last] + "."
	}
}
