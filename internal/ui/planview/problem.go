package planview

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/checks"
	"tofu/internal/configs"
	"tofu/internal/plans"
)

// A Problem is a check that has failed, or a warning of the run that made a plan.
type Problem struct {
	Name  string // address of the checked object, or summary of the warning
	Text  string // message or detail; may be ""
	Place string // file and line, such as "main.tf:3"; "" if unknown
}

// String returns the problem as "NAME (PLACE): TEXT".
func (p Problem) String() string {
	out := p.Name
	if p.Place != "" {
		out += " (" + p.Place + ")"
	}
	if p.Text != "" {
		out += ": " + p.Text
	}
	return out
}

// FailedTitle is the title of a list of failed checks.
func FailedTitle(failed []Problem) string { return fmt.Sprintf("Checks: %d failed", len(failed)) }

// WarningsTitle is the title of a list of warnings.
func WarningsTitle(warnings []Problem) string { return fmt.Sprintf("Warnings: %d", len(warnings)) }

// problems returns the failed checks and the other warnings of a plan.
func (s *Source) problems() (failed, warnings []Problem) {
	type about struct{ object, message string }
	places := make(map[about]string)
	for _, w := range s.Plan.Warnings {
		if w.Check != "" {
			places[about{w.Check, w.Detail}] = w.Place
			continue
		}
		warnings = append(warnings, Problem{Name: w.Summary, Text: w.Detail, Place: w.Place})
	}
	for _, f := range failures(s.Plan) {
		place, known := places[about{f.addr, f.message}]
		if !known {
			place = s.placeOf(f.block)
		}
		failed = append(failed, Problem{Name: f.addr, Text: f.message, Place: place})
	}
	return failed, warnings
}

// failure is a message of a check that has failed.
type failure struct {
	block         *checks.Block
	addr, message string
}

// failures returns the messages of the failed checks of a plan.
func failures(p *plans.Plan) (out []failure) {
	for _, block := range p.Checks.Sorted() {
		for _, o := range block.SortedObjects() {
			if o.Status != checks.Fail && o.Status != checks.Error {
				continue
			}
			messages := o.Messages
			if len(messages) == 0 {
				messages = []string{withoutMessage[o.Status]}
			}
			for _, message := range messages {
				out = append(out, failure{block, o.Addr, message})
			}
		}
	}
	return out
}

// withoutMessage has the texts about conditions whose message is not known.
var withoutMessage = map[checks.Status]string{
	checks.Fail:  "The condition is false, but its message can't be shown.",
	checks.Error: "The condition could not be evaluated.",
}

// placeOf returns the place of a checked block, or "" if the configuration isn't available.
func (s *Source) placeOf(block *checks.Block) string {
	if s.Config == nil {
		return ""
	}
	if block.Kind == checks.KindResource {
		if r, ok := addrs.ParseConfigResourceText(block.Config); ok {
			if module := s.Config.Descendant(r.Module); module != nil && module.Module.Resources[r.Resource] != nil {
				return place(module.Module.Resources[r.Resource].Range)
			}
		}
		return ""
	}
	// The address ends with a kind and a name: "module.m.check.name".
	parts := strings.Split(block.Config, ".")
	module := s.Config
	for i := 1; i < len(parts)-2 && module != nil; i += 2 {
		module = module.Children[parts[i]]
	}
	if module == nil {
		return ""
	}
	return place(rangeOf(module.Module, block.Kind, parts[len(parts)-1]))
}

// rangeOf returns the range of a block of a module, or an empty range if the module doesn't have it.
func rangeOf(in *configs.Module, kind checks.Kind, name string) hcl.Range {
	switch {
	case kind == checks.KindCheck && in.Checks[name] != nil:
		return in.Checks[name].Range
	case kind == checks.KindOutput && in.Outputs[name] != nil:
		return in.Outputs[name].Range
	case kind == checks.KindVariable && in.Variables[name] != nil:
		return in.Variables[name].Range
	}
	return hcl.Range{}
}

// place formats a range as FILE:LINE, or returns "" if the range is empty.
func place(at hcl.Range) string {
	if at.Filename == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", at.Filename, at.Start.Line)
}

// Outside describes equal changes that were made outside of OpenTofu, in one line after the title of
// the group: the names of the attributes, or that the objects were deleted.
func (g *Group) Outside() string {
	what := "deleted"
	if g.Action != plans.Delete {
		var names []string
		for _, f := range g.Fields {
			if name := f.Name(); len(names) == 0 || names[len(names)-1] != name {
				names = append(names, name)
			}
		}
		what = strings.Join(names, ", ")
	}
	if len(g.Changes) == 1 {
		return what
	}
	names, left := g.Members(maxOutside)
	if left > 0 {
		names = append(names, fmt.Sprintf("and %d more", left))
	}
	return fmt.Sprintf("%s (%d instances: %s)", what, len(g.Changes), strings.Join(names, ", "))
}

// maxOutside is the maximum number of instances that Outside names.
const maxOutside = 20
