package command

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"tofu/internal/engine"
	"tofu/internal/engine/graph"
	"tofu/internal/plans"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/terminal"
)

var cmdGraph = &Command{
	Name: "graph", Short: "Draw the order of the steps of an operation (DOT)",
	Long: `
Prints the dependency graph of the configuration or of a plan in the DOT
language, which GraphViz and many other programs read.`,
	New: with(func(f *graphFlags, fs *options) {
		f.viewFlags.add(fs)
		f.varFlags.add(fs)
		fs.StringVar(&f.Plan, "plan", "", "Draw the graph of the saved plan in `file`.")
		fs.StringVar(&f.Type, "type", "",
			"The graph's `type`: plan (the default), plan-refresh-only, plan-destroy or apply (the default "+
				"with -plan).")
		fs.Bool("draw-cycles", false, "Has no effect: a configuration with a cycle has no graph, but an error "+
			"that names its references.")
		fs.Int("module-depth", -1, "Has no effect, and has had none for a long time.")
		fs.Bool("verbose", false, "")
	}, runGraph),
}

type graphFlags struct {
	viewFlags
	varFlags
	Plan, Type string
}

var graphKinds = map[string]engine.GraphKind{
	"plan": engine.GraphPlan, "plan-refresh-only": engine.GraphPlan, "plan-destroy": engine.GraphPlanDestroy,
	"apply": engine.GraphApply,
}

func runGraph(ctx context.Context, app *App, f *graphFlags, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	if f.Type == "" {
		f.Type = map[bool]string{true: "apply", false: "plan"}[f.Plan != ""]
	}
	kind, ok := graphKinds[f.Type]
	if !ok {
		return badUsage("Graph type not available", "There is no graph type %q. Use one of: %s.", f.Type,
			strings.Join(slices.Sorted(maps.Keys(graphKinds)), ", "))
	}
	var cfg *session.Config
	var prior *states.State
	var plan *plans.Plan
	if f.Plan != "" {
		saved, err := app.readPlan(ctx, f.Plan, f.Variables)
		if err != nil {
			return err
		}
		cfg, plan, prior = saved.cfg, saved.Plan, saved.Plan.Prior
	} else {
		var err error
		if cfg, err = app.LoadConfig(ctx, f.Variables); err != nil {
			return err
		}
		open, err := app.OpenState(ctx, session.StateRequest{Vars: f.Variables})
		if err != nil {
			return err
		}
		defer app.Release(open)
		prior = app.Adopt(open.State(), cfg.Config)
	}
	running, err := app.OpenProviders(session.Requirements(cfg.Config, prior))
	if err != nil {
		return err
	}
	defer running.Close()
	workspace, err := app.Workspace()
	if err != nil {
		return err
	}
	env := app.Environment(running, workspace)
	env.Observe = nil
	if kind == engine.GraphApply && plan == nil { // an apply requires a plan, so without a plan there is no such graph
		quiet := *env
		quiet.Warn = nil // the other graph has the same warnings
		if _, err := graph.Draw(terminal.UntilAbort(ctx), engine.GraphOperation(cfg.Config, prior, &quiet,
			engine.GraphPlan, nil)); err != nil {
			return err
		}
	}
	drawing, err := graph.Draw(terminal.UntilAbort(ctx), engine.GraphOperation(cfg.Config, prior, env, kind, plan))
	if err != nil {
		return err
	}
	app.printOnStderr(app.Warnings.Take())
	writeDOT(app.Out, drawing)
	return nil
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
