package command

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"tofu/internal/fleet"
	"tofu/internal/session"
	"tofu/internal/ui"
	"tofu/internal/ui/review"
	"tofu/internal/ui/termtext"
)

// markdown writes the plans of root modules with changes. Together they have the size limit of
// a single plan.
func (e *estateShow) markdown(ctx context.Context, w io.Writer) error {
	failed, err := e.markdownFailed(ctx)
	if err != nil {
		return err
	}
	head, by := fmt.Sprintf("# %s\n", e.saved.Summary().Text())+failed+e.markdownMoves(), writtenBy()
	all := make([]*review.Root, len(e.saved.Roots))
	for i, p := range e.saved.Roots {
		all[i] = e.markdownRoot(ctx, p)
	}
	if err := review.WriteEstate(w, head, all, e.flags.Limit-utf8.RuneCountInString(by)); err != nil {
		return err
	}
	_, err = io.WriteString(w, by)
	return err
}

// markdownRoot returns the part of the text about a root module.
func (e *estateShow) markdownRoot(ctx context.Context, p *fleet.Planned) *review.Root {
	r := &review.Root{Root: p.Row()}
	if !p.Shown() {
		return r
	}
	r.Render = func(limit int) (made review.Rendered, err error) {
		err = e.plan(ctx, p, func(at *showRun, plan *session.SavedPlan) error {
			schemas, end, err := planSchemas(ctx, at.app.Session, plan)
			defer end()
			if err != nil {
				return err
			}
			made = review.Render(
				&ui.PlanView{Plan: plan.Plan, Config: plan.Configuration.Config, Schemas: schemas}, limit)
			return nil
		})
		return made, err
	}
	return r
}

// maxFailed is the maximum number of root modules without a plan, and of moves, that Markdown lists. maxWhy is the
// maximum number of characters of each reason.
const (
	maxFailed = 20
	maxWhy    = 200
)

// markdownMoves returns the moves between root modules that come before the plans.
func (e *estateShow) markdownMoves() string {
	w := &strings.Builder{}
	for i := range e.saved.Moves {
		if i == 0 {
			fmt.Fprint(w, "\nObjects move between root modules; only their states change:\n\n")
		}
		if i == maxFailed {
			fmt.Fprintf(w, "- and %d more\n", len(e.saved.Moves)-i)
			break
		}
		fmt.Fprintf(w, "- `%s`\n", termtext.Printable(e.saved.Moves[i].String()))
	}
	return w.String()
}

// markdownFailed returns the root modules that were not planned.
func (e *estateShow) markdownFailed(ctx context.Context) (string, error) {
	w := &strings.Builder{}
	for i, f := range e.saved.Failed {
		if i == 0 {
			fmt.Fprint(w, "\n")
		}
		if i == maxFailed {
			fmt.Fprintf(w, "- and %d more\n", len(e.saved.Failed)-i)
			break
		}
		lines, err := e.whyNot(ctx, f)
		if err != nil {
			return "", err
		}
		why := []rune(termtext.Printable(strings.Join(lines, " ")))
		if len(why) > maxWhy {
			why = append(why[:maxWhy], '…')
		}
		fmt.Fprintf(w, "- %s: %s\n", review.Code(termtext.Printable(f.Name)), review.Escape(string(why)))
	}
	return w.String(), nil
}
