package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/engine/graph"
	"tofu/internal/graphview"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/provisioner"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/page"
	"tofu/internal/version"
)

var cmdGraph = &Command{
	Name: "graph", Short: "Draw the graph of a configuration or a plan",
	Long: `
Prints the order of the steps of an operation in the DOT language, which
Graphviz and many other programs read.

With -format=mermaid, json or html, or with -focus or -modules, it prints which
blocks refer to which instead: resources, with their planned changes if -plan is
given, and values in the formats json and html.

With -plan, instances that refer to single instances, as in a[each.key], have
nodes of their own. If more than three of them are alike, they share a node such
as a[0..49]; in JSON, "reads" says what each of them refers to. In DOT, the
order of the steps of an apply has a node for each instance that changes.`,
	New: with(func(f *graphFlags, fs *options) {
		f.viewFlags.add(fs)
		f.varFlags.add(fs)
		fs.StringVar(&f.Plan, "plan", "", "Draw the graph of the saved plan in `file`.")
		fs.StringVar(&f.Format, "format", "dot", "The `format` of the output: dot, mermaid, json or html (a page that "+
			"needs no network).")
		fs.StringVar(&f.Focus, "focus", "", "Draw only what is near this `address`: a resource, a module or a value.")
		f.Depth = -1
		fs.Func("depth", "With -focus: draw what is at most `n` resources away, in both directions (default 1).",
			func(text string) (err error) {
				f.Depth, err = strconv.Atoi(text)
				if err != nil || f.Depth < 0 {
					return errors.New("must be a whole number that is not negative")
				}
				return nil
			})
		fs.BoolVar(&f.Modules, "modules", false, "Draw only modules, with the changes in each.")
		fs.StringVar(&f.Out, "out", "", "Write to `path` instead of standard output.")
		fs.StringVar(&f.Type, "type", "",
			"The graph's `type`: plan (the default), plan-refresh-only, plan-destroy or apply (the default "+
				"with -plan).")
		fs.Bool("draw-cycles", false, "Has no effect: for a configuration with a cycle, the command prints no "+
			"graph but an error that names the references of the cycle.")
		fs.Int("module-depth", -1, "Has no effect; accepted for compatibility.")
		fs.Bool("verbose", false, "")
	}, runGraph),
}

type graphFlags struct {
	viewFlags
	varFlags
	Plan, Type, Format, Focus, Out string
	Depth                          int
	Modules                        bool
}

var graphKinds = map[string]engine.GraphKind{
	"plan": engine.GraphPlan, "plan-refresh-only": engine.GraphPlan, "plan-destroy": engine.GraphPlanDestroy,
	"apply": engine.GraphApply,
}

// graphFormats maps each format to the function that writes it. HTML is written differently, so its
// function is nil.
var graphFormats = map[string]func(*graphview.Graph, io.Writer) error{
	"dot":      (*graphview.Graph).WriteDOT,
	"mermaid":  (*graphview.Graph).WriteMermaid,
	"json":     (*graphview.Graph).WriteJSON,
	formatHTML: nil,
}

// formatHTML is the name of the format that writes a page.
const formatHTML = "html"

// check returns an error unless the options fit together. It sets the default type and depth.
func (f *graphFlags) check() error {
	if f.Type == "" {
		f.Type = "plan"
		if f.Plan != "" {
			f.Type = "apply"
		}
	}
	_, knownType := graphKinds[f.Type]
	_, knownFormat := graphFormats[f.Format]
	switch {
	case !knownType:
		return badUsage("Graph type not available", "There is no graph type %q. Use one of: %s.", f.Type,
			strings.Join(slices.Sorted(maps.Keys(graphKinds)), ", "))
	case !knownFormat:
		return badUsage("Graph format not available", "There is no format %q. Use one of: %s.", f.Format,
			strings.Join(slices.Sorted(maps.Keys(graphFormats)), ", "))
	case f.Depth >= 0 && f.Focus == "":
		return badUsage("Nothing to focus on", "The option -depth needs -focus with the address to start from.")
	case f.Modules && f.Format == formatHTML:
		return badUsage("Incompatible options",
			"-modules can't be used with -format=html: the page shows the modules first anyway.")
	}
	if f.Depth < 0 {
		f.Depth = 1
	}
	return nil
}

// operation reports whether to draw the order of the steps of an operation, as OpenTofu does.
func (f *graphFlags) operation() bool { return f.Format == "dot" && f.Focus == "" && !f.Modules }

func runGraph(ctx context.Context, app *App, f *graphFlags, args []string) (err error) {
	if err := noArguments(args); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	out, err := openDocument(app.Out, f.Out)
	if err != nil {
		return err
	}
	defer func() { err = out.close(err) }()
	subject, end, err := openGraph(ctx, app.Session, f)
	defer end()
	if err != nil {
		return err
	}
	if f.operation() {
		drawing, err := subject.draw(ctx)
		if err != nil {
			return err
		}
		app.printOnStderr(app.Warnings.Take())
		writeDOT(out, drawing)
		return nil
	}
	view, err := subject.view(ctx)
	if err == nil && f.Focus != "" {
		view, err = view.Focus(f.Focus, f.Depth)
		if err == nil {
			err = subject.checkInstance(f.Focus)
		}
	}
	if err != nil {
		return err
	}
	app.printOnStderr(app.Warnings.Take())
	switch {
	case f.Format == formatHTML:
		return page.Write(out, &page.Content{
			Title: subject.name, Graph: view, View: subject.planView(), Program: version.Build()})
	case f.Modules:
		view = view.Resources().Modules()
	case f.Format != "json":
		view = view.Resources()
	}
	if f.Format == "mermaid" && subject.plan != nil && f.Focus == "" {
		view = view.Changing()
	}
	return graphFormats[f.Format](view, out)
}

// graphSubject is the plan or the configuration that a graph shows.
type graphSubject struct {
	name    string // name of the plan; "" for a configuration
	cfg     *configs.Config
	prior   *states.State
	plan    *plans.Plan // nil for a configuration
	env     *engine.Env
	kind    engine.GraphKind
	schemas ui.Schemas
}

// openGraph opens what the graph shows: the saved plan, or the configuration and the state. The
// returned function closes them.
func openGraph(
	ctx context.Context, s *session.Session, f *graphFlags,
) (subject *graphSubject, end func(), err error) {
	var ends []func()
	end = func() {
		for _, one := range slices.Backward(ends) {
			one()
		}
	}
	subject = &graphSubject{kind: graphKinds[f.Type]}
	if f.Plan != "" {
		saved, err := readPlan(ctx, s, f.Plan, f.Variables)
		if err != nil {
			return nil, end, err
		}
		if !f.operation() {
			of, endOf, err := planSubject(ctx, s, saved)
			return of, endOf, err
		}
		subject.cfg, subject.plan, subject.prior = saved.Configuration.Config, saved.Plan, saved.Plan.Prior
	} else {
		cfg, err := s.LoadInstalled(ctx, f.Variables)
		if err != nil {
			return nil, end, err
		}
		open, err := s.OpenState(ctx, session.StateRequest{Vars: f.Variables})
		if err != nil {
			return nil, end, err
		}
		ends = append(ends, func() { s.Release(open) })
		subject.cfg, subject.prior = cfg.Config, session.Adopt(open.State(), cfg.Config, s.Env)
	}
	running, err := s.OpenProviders(session.Requirements(subject.cfg, subject.prior))
	if err != nil {
		return nil, end, err
	}
	ends = append(ends, running.Close)
	workspace, err := s.Workspace()
	if err != nil {
		return nil, end, err
	}
	subject.env = s.Environment(running, workspace)
	subject.env.Observe = nil
	return subject, end, nil
}

// planSubject returns the graph of a saved plan. It starts the providers only if the plan has
// no schemas.
func planSubject(
	ctx context.Context, s *session.Session, saved *session.SavedPlan,
) (subject *graphSubject, end func(), err error) {
	schemas, end, err := planSchemas(ctx, s, saved)
	if err != nil {
		return nil, end, err
	}
	env := &engine.Env{Warn: s.Warnings.Add, Timings: s.Timings, Provisioner: builtinProvisioner,
		Schema: func(_ context.Context, p addrs.Provider) (*providers.Schema, tfdiags.Diagnostics) {
			schema := schemas(p)
			if schema == nil {
				schema = &providers.Schema{}
			}
			return schema, nil
		},
		Provider: func(_ context.Context, p addrs.Provider) (providers.Interface, error) {
			return nil, errors.New("providers are not run for a saved plan")
		}}
	return &graphSubject{
		name: saved.Name, cfg: saved.Configuration.Config, plan: saved.Plan, prior: saved.Plan.Prior, env: env,
		kind: engine.GraphApply, schemas: schemas}, end, nil
}

// builtinProvisioner returns a provisioner that needs no plugin, or nil.
func builtinProvisioner(typ string) engine.Provisioner {
	if p := provisioner.Builtin(typ); p != nil {
		return p
	}
	return nil
}

// draw returns the drawing of the operation.
func (s *graphSubject) draw(ctx context.Context) (*graph.Drawing, error) {
	// An apply requires a plan, so the errors of the plan graph are reported first.
	if s.kind == engine.GraphApply && s.plan == nil {
		quiet := *s.env
		quiet.Warn = nil // the second graph reports the same warnings
		if _, err := graph.Draw(terminal.UntilAbort(ctx), engine.GraphOperation(s.cfg, s.prior, &quiet,
			engine.GraphPlan, nil)); err != nil {
			return nil, err
		}
	}
	return graph.Draw(terminal.UntilAbort(ctx), s.operation())
}

func (s *graphSubject) operation() *graph.Operation {
	return engine.GraphOperation(s.cfg, s.prior, s.env, s.kind, s.plan)
}

// view returns the graph in the form that is shown to users.
func (s *graphSubject) view(ctx context.Context) (*graphview.Graph, error) {
	op := s.operation()
	built, err := graph.Build(terminal.UntilAbort(ctx), op)
	if err != nil {
		return nil, err
	}
	return graphview.Build(built, s.plan, op.Early(built)), nil
}

// planView returns the plan with everything that is needed to show it. It returns nil if the
// subject is a configuration.
func (s *graphSubject) planView() *ui.PlanView {
	if s.plan == nil {
		return nil
	}
	return &ui.PlanView{Plan: s.plan, Config: s.cfg, Schemas: s.schemas}
}

// writeDOT writes a graph in the DOT language.
func writeDOT(w io.Writer, d *graph.Drawing) {
	fmt.Fprint(w, "digraph {\n\tcompound = \"true\"\n\tnewrank = \"true\"\n\tsubgraph \"root\" {\n")
	name := func(i int) string { return quoteDOT("[root] " + d.Nodes[i].Name) }
	for i, n := range d.Nodes {
		if n.Label != "" {
			fmt.Fprintf(w, "\t\t%s [label = %s, shape = %q]\n", name(i), quoteDOT(n.Label), n.Shape)
		}
	}
	for _, e := range d.Edges {
		fmt.Fprintf(w, "\t\t%s -> %s\n", name(e[0]), name(e[1]))
	}
	fmt.Fprint(w, "\t}\n}\n\n")
}

var escapesDOT = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func quoteDOT(text string) string { return `"` + escapesDOT.Replace(text) + `"` }
