package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tofu/internal/cliconfig"
	"tofu/internal/suggest"
	"tofu/internal/ui"
	"tofu/internal/ui/plantext"
)

// planViewEnv is the environment variable that sets the view of plans, for users and pipelines
// that never want the full view.
const planViewEnv = "TOFU_VIEW"

// planViewFlags select the view of a plan.
type planViewFlags struct {
	View, Sort string
	Hide       []string
}

// given returns the name of the first option in the group that is on the command line, or "".
func (f *planViewFlags) given() string {
	switch {
	case f.View != "":
		return "-view"
	case len(f.Hide) > 0:
		return "-hide"
	case f.Sort != "":
		return "-sort"
	}
	return ""
}

// addPlanView declares the options of commands that show plans.
func (f *viewFlags) addPlanView(fs *options) {
	p := &planViewFlags{}
	f.PlanView = p
	fs.Func("view", "How to show the plan: `full` (the default), brief, tree or table.", func(text string) error {
		p.View = text
		return planViewNamed(text)
	})
	fs.Func("hide", "With -view=brief, tree or table, leave out differences of these `attributes`, such as "+
		"tags,tags_all. Deletions and replacements are always shown.", func(text string) error {
		for _, name := range strings.Split(text, ",") {
			if name == "" {
				return errors.New("needs names of attributes, separated by commas")
			}
			p.Hide = append(p.Hide, name)
		}
		return nil
	})
	sort := func(text string) error {
		p.Sort = text
		return oneOf(text, plantext.Orders)
	}
	fs.Func("sort", "With -view=table, sort by `action` (the default), address, type or file.", sort)
}

func planViewNamed(text string) error { return oneOf(text, cliconfig.Views) }

// oneOf returns an error unless text is one of the allowed values.
func oneOf(text string, allowed []string) error {
	if slices.Contains(allowed, text) {
		return nil
	}
	list := strings.Join(allowed[:len(allowed)-1], ", ") + " or " + allowed[len(allowed)-1]
	if near := suggest.Nearest(text, allowed); near != "" {
		return fmt.Errorf("must be %s (did you mean %q?)", list, near)
	}
	return fmt.Errorf("must be %s", list)
}

// planTextView returns how to show plans. The options come first, then the parameter env, which is
// the value of planViewEnv, and then the parameter usual, which is the view that the CLI
// configuration sets for terminals.
func (f *viewFlags) planTextView(env, usual string) (ui.PlanTextView, error) {
	var out ui.PlanTextView
	p := f.PlanView
	if p == nil {
		return out, nil
	}
	out.Hide, out.Sort = p.Hide, p.Sort
	switch {
	case p.given() != "" && f.JSON:
		return out, fmt.Errorf("%s is for humans, and can't be used with -json", p.given())
	case p.View != "":
		out.Name = p.View
	case f.JSON: // the variable and the CLI configuration affect text only
	case env != "":
		if err := planViewNamed(env); err != nil {
			return out, fmt.Errorf("the environment variable %s has the value %q, but it %w", planViewEnv, env, err)
		}
		out.Name = env
	default:
		out.Name = usual
	}
	out.Chosen = out.Name != ""
	if out.Name == "full" {
		out.Name = ""
	}
	if len(out.Hide) > 0 && out.Name == "" {
		return out, errors.New("-hide needs -view=brief, tree or table: the full view shows everything")
	}
	if out.Sort != "" && out.Name != "table" {
		return out, errors.New("-sort needs -view=table")
	}
	return out, nil
}
