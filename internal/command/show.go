package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"tofu/internal/encryption"
	"tofu/internal/fleet"
	"tofu/internal/graphview"
	"tofu/internal/plans/planfile"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/page"
	"tofu/internal/ui/review"
	"tofu/internal/version"
)

var cmdShow = &Command{
	Name: "show", Args: "[FILE]", Complete: planFiles, Short: "Show the state or a saved plan",
	Long: `
Shows the current state, or the contents of a file: a saved plan or a state.`,
	New: with(func(f *showFlags, fs *options) {
		f.viewFlags.add(fs)
		f.addSensitive(fs)
		f.addPlanView(fs)
		f.varFlags.add(fs)
		fs.BoolVar(&f.State, "state", false, "Show the current state. This is the default.")
		fs.StringVar(&f.Plan, "plan", "", "Show the saved plan in `FILE`.")
		fs.BoolVar(&f.Config, "config", false, "Show the configuration. Needs -json.")
		fs.StringVar(&f.Module, "module", "", "Show the module in `DIR` alone, which need not be initialized. "+
			"Needs -json.")
		fs.StringVar(&f.Format, "format", "", "Show a saved plan in this `format`: markdown, for a comment on a pull "+
			"request; html, one page that needs no network; or summary-json, the numbers of changes.")
		fs.IntVar(&f.Limit, "limit", review.DefaultLimit, "With -format=markdown: the maximum length of the text "+
			"in `characters`.")
		fs.StringVar(&f.Events, "events", "", "With -format=html: take the durations of an apply of the plan from "+
			"`file`, which \"tofu apply -json\" printed, or \"tofu roots apply -json\".")
		fs.StringVar(&f.Root, "root", "",
			"Show the plan of the root module `NAME`, if the file has the plans of many.")
		fs.StringVar(&f.Out, "out", "", "With -format: write to `path` instead of standard output.")
		f.documentFlags.add(fs)
	}, runShow),
}

type showFlags struct {
	viewFlags
	varFlags
	documentFlags
	State, Config       bool
	Plan, Module        string
	Format, Events, Out string
	Limit               int
	Root                string
}

// showFormats maps each value of -format to the function that writes a plan in the format.
var showFormats = map[string]func(context.Context, *showRun, *session.SavedPlan, io.Writer) error{
	"markdown": showMarkdown, formatHTML: showPage, "summary-json": showSummary,
}

// checkFormat returns an error unless the format options fit together.
func (f *showFlags) checkFormat() error {
	_, known := showFormats[f.Format]
	switch {
	case f.Format != "" && !known:
		return badUsage("Format not available", "There is no format %q. Use one of: %s.", f.Format,
			strings.Join(slices.Sorted(maps.Keys(showFormats)), ", "))
	case f.Format != "" && (f.Document || f.DocumentInto != ""):
		return badUsage("Incompatible options", "-format can't be used together with -json or -json-into.")
	case f.Format == "" && f.Out != "":
		return badUsage("Nothing to write", "The option -out needs -format. To write other output to a file, redirect "+
			"it.")
	case f.Events != "" && f.Format != formatHTML:
		return badUsage("Incompatible options", "The option -events needs -format=html.")
	case f.Limit != review.DefaultLimit && f.Format != "markdown":
		return badUsage("Incompatible options", "The option -limit needs -format=markdown.")
	case f.Format != "" && f.PlanView.given() != "":
		return badUsage("Incompatible options", "The option %s is for the text on a terminal, and has no effect on "+
			"-format=%s.", f.PlanView.given(), f.Format)
	case f.Limit < review.LeastLimit:
		return badUsage("Invalid limit", "The option -limit must be at least %d characters.", review.LeastLimit)
	}
	return nil
}

func runShow(ctx context.Context, app *App, f *showFlags, args []string) (err error) {
	targets := len(args)
	for _, given := range []bool{f.State, f.Config, f.Plan != "", f.Module != ""} {
		if given {
			targets++
		}
	}
	switch {
	case targets > 1:
		return badUsage("Too many things to show",
			"Specify only one of a FILE argument, -state, -plan, -config and -module.")
	case f.Format != "" && len(args) == 0 && f.Plan == "":
		return badUsage("A saved plan is required", "The formats are only for saved plans: specify the file of a plan.")
	case (f.Config || f.Module != "") && !f.Document:
		return badUsage("The -json option is required",
			"Configuration can only be shown as JSON: use the -json option with -config and -module.")
	case f.Document && f.PlanView.View != "":
		return badUsage("Incompatible options", "-view is for humans, and can't be used with -json.")
	}
	if err := f.checkFormat(); err != nil {
		return err
	}
	show := &showRun{app: app, flags: f}
	into, err := f.documentFlags.open()
	if err != nil {
		return err
	}
	if into != nil {
		defer func() { err = errors.Join(err, into.Close()) }()
		show.documents = append(show.documents, into)
	}
	if f.Document {
		show.documents = append(show.documents, app.Out)
	}
	switch {
	case f.Module != "":
		return show.module()
	case f.Config:
		return show.config(ctx)
	case f.Plan != "":
		return show.file(ctx, f.Plan)
	case len(args) == 1:
		return show.file(ctx, args[0])
	}
	return show.current(ctx)
}

type showRun struct {
	app       *App
	flags     *showFlags
	documents []io.Writer // where to write JSON
}

// write prints a JSON document to all destinations.
func (s *showRun) write(document func(io.Writer) error) error {
	for _, w := range s.documents {
		if err := document(w); err != nil {
			return fmt.Errorf("writing the document: %w", err)
		}
	}
	return nil
}

func (s *showRun) module() error {
	m, err := s.app.Parser.Module(s.flags.Module, s.app.Warnings.Add)
	if err != nil {
		return err
	}
	s.app.printOnStderr(s.app.Warnings.Take())
	return s.write(func(w io.Writer) error { return ui.WriteModule(w, m) })
}

func (s *showRun) config(ctx context.Context) error {
	cfg, err := s.app.LoadInstalled(ctx, s.flags.Variables)
	if err != nil {
		return err
	}
	// Only the schemas are needed, so any installed version of a provider is accepted.
	running, err := s.app.OpenProviders(session.Requirements(cfg.Config, nil).InAnyVersion())
	if err != nil {
		return err
	}
	defer running.Close()
	var found tfdiags.Diagnostics
	schemas := running.Schemas(ctx, found.Add)
	err = s.write(func(w io.Writer) error { return ui.WriteConfig(w, cfg.Config, schemas) })
	if err := found.Err(); err != nil {
		return err
	}
	s.app.printOnStderr(s.app.Warnings.Take())
	return err
}

// current shows the state of the current workspace.
func (s *showRun) current(ctx context.Context) error {
	open, err := s.app.OpenState(ctx, session.StateRequest{Vars: s.flags.Variables})
	if err != nil {
		return err
	}
	defer s.app.Release(open)
	if !open.Exists() {
		s.app.printOnStderr(s.app.Warnings.Take())
		if !s.flags.Document {
			s.app.Say("No state.")
		}
		return s.write(func(w io.Writer) error { return ui.WriteState(w, &ui.StateView{}, version.String) })
	}
	return s.state(ctx, open.State(), open.Snapshot.Version)
}

// state shows a state. writer is the version of the program that wrote it.
func (s *showRun) state(ctx context.Context, st *states.State, writer string) error {
	view, err := viewState(ctx, s.app.Session, st)
	if err != nil {
		return err
	}
	if option := s.flags.PlanView.given(); option != "" {
		return badUsage("Nothing to view", "The option %s is for plans, and this is a state.", option)
	}
	if !s.flags.Document {
		if err := s.app.Printer.State(view); err != nil {
			return err
		}
	}
	s.app.printOnStderr(s.app.Warnings.Take())
	return s.write(func(w io.Writer) error { return ui.WriteState(w, view, cmp.Or(writer, version.String)) })
}

// file shows a saved plan or a state file.
func (s *showRun) file(ctx context.Context, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return tfdiags.Errorf("Failed to read the file to show",
			"The command shows a saved plan or a state file, and the file can't be read: %s.", err)
	}
	if fleet.Is(data) {
		return s.estate(ctx, path)
	}
	if s.flags.Root != "" {
		return badUsage("Not a plan of many root modules",
			"The option -root is for plans that \"tofu roots plan -out\" saved.")
	}
	if planfile.Is(data) || s.flags.Plan != "" || s.flags.Format != "" {
		return s.plan(ctx, path, data)
	}
	crypt, err := s.app.FileEncryption(ctx, s.flags.Variables)
	if err != nil {
		return err
	}
	if encryption.IsEncrypted(data) {
		plain, notPlan := session.DecryptFile(ctx, crypt.Plan(), data)
		if notPlan == nil && planfile.Is(plain) {
			return s.plan(ctx, path, data)
		}
		plain, notState := session.DecryptFile(ctx, crypt.State(), data)
		switch {
		case notPlan == nil && notState != nil:
			return tfdiags.Errorf("Failed to decrypt the given file", "%s: %s.", path, notState)
		case notPlan != nil && notState != nil:
			return tfdiags.Errorf("Failed to decrypt the given file",
				"%s is encrypted, and is neither a plan nor a state that can be decrypted: %s; %s.", path, notPlan, notState)
		case notPlan != nil && encryption.IsEncrypted(plain):
			return tfdiags.Errorf("Failed to decrypt the given file", "%s: %s.", path, notPlan)
		}
		data = plain
	}
	found, err := statefile.Parse(data)
	if err != nil {
		return tfdiags.Errorf("Failed to read the given file as a state or plan file",
			"%s is not a saved plan, and it can't be read as a state: %s.", path, err)
	}
	return s.state(ctx, found.State, found.TerraformVersion)
}

// plan shows the saved plan in a file with the given content.
func (s *showRun) plan(ctx context.Context, path string, data []byte) error {
	saved, err := s.app.DecodePlan(ctx, path, data, s.flags.Variables)
	if err != nil {
		return err
	}
	if write := showFormats[s.flags.Format]; write != nil {
		return s.formatted(ctx, saved, write)
	}
	schemas, end, err := planSchemas(ctx, s.app.Session, saved)
	defer end()
	if err != nil {
		return err
	}
	view := &ui.PlanView{Plan: saved.Plan, Config: saved.Configuration.Config, Schemas: schemas, Later: true}
	if !s.flags.Document {
		s.app.Printer.Plan(view)
	}
	s.app.printOnStderr(s.app.Warnings.Take())
	return s.write(func(w io.Writer) error { return ui.WritePlan(w, view, version.String, version.Engine()) })
}

// formatted writes a plan in the format of -format to the document of -out.
func (s *showRun) formatted(
	ctx context.Context, saved *session.SavedPlan,
	write func(context.Context, *showRun, *session.SavedPlan, io.Writer) error,
) error {
	out, err := openDocument(s.app.Out, s.flags.Out)
	if err != nil {
		return err
	}
	err = write(ctx, s, saved, out)
	s.app.printOnStderr(s.app.Warnings.Take())
	return out.close(err)
}

func showMarkdown(ctx context.Context, s *showRun, saved *session.SavedPlan, out io.Writer) error {
	schemas, end, err := planSchemas(ctx, s.app.Session, saved)
	defer end()
	if err != nil {
		return err
	}
	view := &ui.PlanView{Plan: saved.Plan, Config: saved.Configuration.Config, Schemas: schemas}
	by := writtenBy()
	if err := review.Write(out, view, s.flags.Limit-len(by)); err != nil {
		return err
	}
	_, err = io.WriteString(out, by)
	return err
}

// writtenBy is the last line of a plan in Markdown.
func writtenBy() string { return fmt.Sprintf("\n<sub>Written by %s.</sub>\n", version.Build()) }

func showSummary(_ context.Context, _ *showRun, saved *session.SavedPlan, out io.Writer) error {
	return ui.WriteSummary(out, saved.Plan)
}

func showPage(ctx context.Context, s *showRun, saved *session.SavedPlan, out io.Writer) error {
	run, err := readRun(s.flags.Events, s.flags.Root)
	if err != nil {
		return err
	}
	return withPageContent(ctx, s.app.Session, saved, func(c *page.Content) error {
		c.Title, c.Run, c.Program = saved.Name, run, version.Build()
		return page.Write(out, c)
	})
}

// withPageContent calls the function use with the graph and the view of a saved plan, whose schemas
// stay available until that function returns.
func withPageContent(
	ctx context.Context, s *session.Session, saved *session.SavedPlan, use func(*page.Content) error,
) error {
	subject, end, err := planSubject(ctx, s, saved)
	defer end()
	if err != nil {
		return err
	}
	view, err := subject.view(ctx)
	if err != nil {
		return err
	}
	return use(&page.Content{Graph: view, View: subject.planView()})
}

// readRun reads the durations of an apply. root selects one root module if the apply had
// several. readRun returns nil if path is empty.
func readRun(path, root string) (*graphview.Run, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, tfdiags.Errorf("Can't read the events", "%s.", err)
	}
	defer file.Close()
	run, err := graphview.ReadRun(file, root)
	if err != nil {
		return nil, tfdiags.Errorf("Can't read the events", "%s can't be used: %s.", path, err)
	}
	return run, nil
}
