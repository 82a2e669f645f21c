package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"tofu/internal/fleet"
	"tofu/internal/session"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/termtext"
	"tofu/internal/version"
)

// estateFormat is the format version of the JSON documents about plans of many root modules.
const estateFormat = "1.0"

// estate shows the plans of many root modules that were saved in one file.
func (s *showRun) estate(ctx context.Context, path string) error {
	saved, err := fleet.Open(path)
	if err != nil {
		return err
	}
	defer saved.Close()
	shown := saved.Roots
	if s.flags.Root != "" {
		p, err := s.savedRoot(saved, path)
		if err != nil {
			return err
		}
		shown = []*fleet.Planned{p}
	}
	e := &estateShow{showRun: s, saved: saved}
	if s.flags.Format != "" {
		return e.formatted(ctx, path, shown)
	}
	if !s.flags.Document {
		if err := e.text(ctx, shown); err != nil {
			return err
		}
	}
	if s.flags.Root != "" {
		return s.write(func(w io.Writer) error {
			return e.plan(ctx, shown[0], func(at *showRun, p *session.SavedPlan) error { return at.json(ctx, p, w) })
		})
	}
	return s.write(func(w io.Writer) error { return e.json(ctx, w) })
}

// savedRoot returns the plan of the root module that -root names.
func (s *showRun) savedRoot(saved *fleet.Saved, path string) (*fleet.Planned, error) {
	name := s.flags.Root
	for _, p := range saved.Roots {
		switch {
		case p.Name != name:
		case p.Plan == "" && (s.flags.Format != "" || len(s.documents) > 0):
			return nil, tfdiags.Errorf("No plan for this root module",
				"%s has no changes, so %s contains no plan for it.", name, path)
		default:
			return p, nil
		}
	}
	hasFailed := slices.ContainsFunc(saved.Failed, func(f *fleet.Unplanned) bool { return f.Name == name })
	if hasFailed {
		return nil, tfdiags.Errorf("No plan for this root module",
			"%s contains no plan for %s, because planning failed. To see why, run show without -root.", path, name)
	}
	hint := fmt.Sprintf(" It contains plans for %s.", fleet.FirstNames(saved.Names()))
	if near := suggest.Nearest(name, saved.Names()); near != "" {
		hint = fmt.Sprintf(" Did you mean %q?", near)
	}
	return nil, tfdiags.Errorf("No such root module", "%s contains no plan for a root module %q.%s", path, name, hint)
}

// estateShow shows the saved plans of many root modules.
type estateShow struct {
	*showRun
	saved *fleet.Saved
}

// plan passes the saved plan of a root module to the function show. It does nothing if there is no
// plan, because the root module has no changes.
func (e *estateShow) plan(
	ctx context.Context, p *fleet.Planned, show func(at *showRun, plan *session.SavedPlan) error,
) error {
	if p.Plan == "" {
		return nil
	}
	app := *e.app
	app.Session = e.app.At(session.RootModule{Dir: p.Dir, Timings: e.app.Timings}, e.app.Terminal)
	plan, err := e.saved.Plan(ctx, app.Session, p, e.flags.Variables)
	if err != nil {
		return err
	}
	at := *e.showRun
	at.app = &app
	err = show(&at, plan)
	e.app.printOnStderr(app.Warnings.Take())
	return err
}

// text shows the plans for humans, as "roots plan" shows them.
func (e *estateShow) text(ctx context.Context, shown []*fleet.Planned) error {
	table, losses := false, false
	if e.flags.Root == "" {
		shown = slices.DeleteFunc(slices.Clone(shown), func(p *fleet.Planned) bool { return !p.Shown() })
		table = newRootsView(e.app, len(e.saved.Roots)+len(e.saved.Failed)).table
		losses = table && len(shown) > fleet.Few
	}
	if len(e.saved.Moves) > 0 && e.flags.Root == "" {
		e.app.Say("Objects will move between root modules. Only their states change:")
		showMoves(e.app, e.saved.Moves)
	}
	if table {
		e.app.Printer.Message(ui.EstateTable{Roots: e.saved.Rows()})
	}
	for _, p := range shown {
		if err := e.rootText(ctx, p, losses); err != nil {
			return err
		}
	}
	if e.flags.Root != "" {
		return nil
	}
	if losses {
		e.app.Printer.Message(ui.Hint{Text: moreChanges})
	}
	for _, f := range e.saved.Failed {
		if table && f.Skipped() {
			continue
		}
		lines, err := e.whyNot(ctx, f)
		if err != nil {
			return err
		}
		e.app.Say("%s", rootHeading(e.app.Terminal, f.Name))
		for _, line := range lines {
			e.app.Say("%s", line)
		}
	}
	if text := e.saved.NotPlanned(); table && text != "" {
		e.app.Say("\n%s", text)
	}
	e.app.Printer.Message(e.saved.Summary())
	return nil
}

// rootText shows the plan of a root module below its name. losses limits it to what must be seen; if that is
// nothing, the name is not shown either.
func (e *estateShow) rootText(ctx context.Context, p *fleet.Planned, losses bool) error {
	heading := func() {
		e.app.Say("%s", rootHeading(e.app.Terminal, p.Name))
		if p.Plan == "" {
			e.app.Say("No changes.")
		}
		if why := p.WaitsFor(); why != "" {
			e.app.Say("This will be applied later: %s.", why)
		}
	}
	var text bytes.Buffer
	printer := e.app.Printer
	if losses {
		opts := e.app.viewOptions(&text)
		opts.View.Losses, opts.Terminal = true, e.app.OutTerminal
		printer = ui.NewHuman(opts)
	} else {
		heading()
	}
	err := e.plan(ctx, p, func(at *showRun, plan *session.SavedPlan) error {
		schemas, end, err := planSchemas(ctx, at.app.Session, plan)
		defer end()
		if err != nil {
			return err
		}
		printer.Plan(&ui.PlanView{Plan: plan.Plan, Config: plan.Configuration.Config, Schemas: schemas, Later: true})
		return nil
	})
	if text.Len() == 0 {
		return err
	}
	heading()
	_, writeErr := e.app.Out.Write(append(bytes.TrimSpace(text.Bytes()), '\n'))
	return tfdiags.Join(err, writeErr)
}

// whyNot returns the reasons why a root module was not planned.
func (e *estateShow) whyNot(ctx context.Context, f *fleet.Unplanned) ([]string, error) {
	if f.Skipped() {
		return []string{"Not planned: " + f.Why + "."}, nil
	}
	found, err := e.errors(ctx, f)
	var out []string
	for _, one := range found {
		at := ""
		if one.At != "" {
			at = " (" + one.At + ")"
		}
		out = append(out, termtext.Printable(strings.TrimSpace(
			fmt.Sprintf("Planning failed: %s%s. %s", one.Summary, at, one.Detail))))
	}
	return out, err
}

// errors returns the errors of a root module that was not planned.
func (e *estateShow) errors(ctx context.Context, f *fleet.Unplanned) ([]fleet.ReportedError, error) {
	return e.saved.Errors(ctx, e.app.At(session.RootModule{Dir: f.Dir, Timings: e.app.Timings}, e.app.Terminal), f)
}

// json writes one document that contains the documents of all plans.
func (e *estateShow) json(ctx context.Context, w io.Writer) error {
	summary, err := json.Marshal(e.saved.Summary())
	if err != nil {
		return err
	}
	engine, err := json.Marshal(version.Engine())
	if err != nil {
		return err
	}
	moves, err := json.Marshal(e.moves())
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "{\"format_version\":%q,\"tofu_version\":%q,\"engine\":%s,\"errored\":%t,\"summary\":%s,\"moves\":%s,\"roots\":[",
		estateFormat, version.String, engine, e.saved.Errored, summary, moves)
	for i, p := range e.saved.Roots {
		if i > 0 {
			fmt.Fprint(w, ",")
		}
		about, err := json.Marshal(p)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "{\"root\":%s", about)
		if p.Plan != "" {
			fmt.Fprint(w, ",\"plan\":")
			err = e.plan(ctx, p, func(at *showRun, plan *session.SavedPlan) error { return at.json(ctx, plan, w) })
			if err != nil {
				return err
			}
		}
		fmt.Fprint(w, "}")
	}
	failed, err := e.failed(ctx)
	if err != nil {
		return err
	}
	text, err := json.Marshal(failed)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "],\"failed\":%s}\n", text)
	return err
}

// moves returns the moves between root modules that come before the plans.
func (e *estateShow) moves() []fleet.Move { return append([]fleet.Move{}, e.saved.Moves...) }

// failedDocument is the JSON form of a root module that was not planned.
type failedDocument struct {
	Name   string                `json:"name"`
	Dir    string                `json:"dir"`
	Status ui.RootStatus         `json:"status"` // "failed", "interrupted" or "skipped"
	Why    string                `json:"why,omitempty"`
	Errors []fleet.ReportedError `json:"errors,omitempty"`
}

func (e *estateShow) failed(ctx context.Context) ([]failedDocument, error) {
	out := []failedDocument{}
	for _, f := range e.saved.Failed {
		found, err := e.errors(ctx, f)
		if err != nil {
			return nil, err
		}
		out = append(out, failedDocument{Name: f.Name, Dir: f.Dir, Status: f.Status, Why: f.Why, Errors: found})
	}
	return out, nil
}

// json writes the document of one plan.
func (s *showRun) json(ctx context.Context, plan *session.SavedPlan, w io.Writer) error {
	schemas, end, err := planSchemas(ctx, s.app.Session, plan)
	defer end()
	if err != nil {
		return err
	}
	return ui.WritePlan(w, &ui.PlanView{Plan: plan.Plan, Config: plan.Configuration.Config, Schemas: schemas},
		version.String, version.Engine())
}

// formatted writes the plans in the format of -format.
func (e *estateShow) formatted(ctx context.Context, path string, shown []*fleet.Planned) error {
	if e.flags.Root != "" {
		return e.plan(ctx, shown[0], func(at *showRun, plan *session.SavedPlan) error {
			return at.formatted(ctx, plan, showFormats[e.flags.Format])
		})
	}
	if e.flags.Events != "" {
		return badUsage("Root module required",
			"The durations of -events are shown for one root module: choose it with -root=NAME.")
	}
	out, err := openDocument(e.app.Out, e.flags.Out)
	if err != nil {
		return err
	}
	switch e.flags.Format {
	case "summary-json":
		err = e.summary(ctx, out)
	case formatHTML:
		err = e.page(ctx, path, out)
	default:
		err = e.markdown(ctx, out)
	}
	return out.close(err)
}

// summary writes the summary of all plans and the number of changes in each.
func (e *estateShow) summary(ctx context.Context, w io.Writer) error {
	failed, err := e.failed(ctx)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(struct {
		FormatVersion string           `json:"format_version"`
		Summary       ui.Estate        `json:"summary"`
		Moves         []fleet.Move     `json:"moves"`
		Roots         []*fleet.Planned `json:"roots"`
		Failed        []failedDocument `json:"failed"`
	}{estateFormat, e.saved.Summary(), e.moves(), e.saved.Roots, failed}, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err
}
