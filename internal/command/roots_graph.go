package command

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"tofu/internal/engine"
	"tofu/internal/graphview"
	"tofu/internal/plugin"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
	"tofu/internal/ui/page"
	"tofu/internal/version"
)

var cmdRootsGraph = &Command{
	Name: "graph", Args: "[DIR...]", Short: "Draw the dependencies between root modules",
	Long: `
Prints the root modules below the directories and their dependencies in the DOT
language, as a Mermaid flowchart or as JSON. With -format=html it writes a page
that needs no network and also shows the contents of each root module that is
initialized.`,
	New: with(func(f *rootsGraphFlags, fs *options) {
		f.viewFlags.add(fs)
		f.varFlags.add(fs)
		fs.StringVar(&f.Format, "format", "dot", "The `format` of the output: dot, mermaid, json or html.")
		fs.StringVar(&f.Out, "out", "", "Write to `path` instead of standard output.")
		f.addSelect(fs)
	}, runRootsGraph),
}

type rootsGraphFlags struct {
	viewFlags
	varFlags
	selectFlags
	Format, Out string
}

// rootsFormats maps each format of the command to the function that writes a graph in it. It has no
// function for HTML, because the page shows more than the graph; rootsPage writes it.
var rootsFormats = map[string]func(*graphview.Graph, io.Writer) error{
	"dot": (*graphview.Graph).WriteDOT, "mermaid": (*graphview.Graph).WriteMermaid,
	"json": (*graphview.Graph).WriteJSON, formatHTML: nil,
}

func runRootsGraph(ctx context.Context, app *App, f *rootsGraphFlags, args []string) error {
	write, known := rootsFormats[f.Format]
	if !known {
		return badUsage("Graph format not available", "There is no format %q. Use one of: %s.", f.Format,
			strings.Join(slices.Sorted(maps.Keys(rootsFormats)), ", "))
	}
	estate, selected, loadErr := f.find(ctx, app, args)
	if estate == nil {
		return loadErr
	}
	out, err := openDocument(app.Out, f.Out)
	if err != nil {
		return err
	}
	if f.Format == formatHTML {
		err = (&rootsPage{app: app, vars: f.Variables}).write(ctx, out, selected)
	} else {
		err = write(rootsGraph(selected), out)
	}
	// Root modules that could be read are drawn even after errors.
	return tfdiags.Join(loadErr, out.close(err))
}

// rootsGraph returns the graph of root modules. Each edge is labeled with the first reference.
func rootsGraph(selected []*roots.Root) *graphview.Graph {
	at := make(map[*roots.Root]int, len(selected))
	var nodes []graphview.Node
	for _, r := range selected {
		at[r] = len(nodes)
		nodes = append(nodes, graphview.Node{Kind: graphview.Root, Address: r.Name})
	}
	var edges []graphview.Edge
	for _, r := range selected {
		for i := range r.Reads {
			read := &r.Reads[i]
			if to, ok := at[read.Root]; ok && read.Root != r {
				edges = append(edges, graphview.Edge{From: at[r], To: to, At: &read.Range})
			}
		}
	}
	return graphview.New(nodes, edges)
}

// rootsPage is a page with the graph of root modules and the graph inside each root module.
type rootsPage struct {
	app  *App
	vars session.Variables
}

func (p *rootsPage) write(ctx context.Context, out io.Writer, selected []*roots.Root) error {
	defer p.app.Session.SharePlugins(&plugin.Shared{})()
	about := &page.Estate{Program: version.Build(), Roots: make([]*page.Root, len(selected))}
	at := make(map[*roots.Root]int, len(selected))
	for i, r := range selected {
		at[r] = i
	}
	for i, r := range selected {
		one := &page.Root{Name: r.Name, Dir: r.Dir, Errors: problems(r.Err)}
		about.Roots[i] = one
		for _, read := range r.Reads {
			if to, ok := at[read.Root]; ok && read.Root != r {
				one.Reads = append(one.Reads, page.Read{Root: to, Kind: string(read.Kind), User: read.User,
					At: &read.Range, All: read.Outputs.All, Outputs: read.Outputs.Names})
			}
		}
		if r.Err != nil {
			one.Status = page.Failed
			continue
		}
		one.Show = func(show func(*page.Content) error) error {
			view, err := p.graph(ctx, r)
			if err != nil { // the page still has the graph of root modules
				one.Errors = problems(err)
				return ctx.Err()
			}
			return show(&page.Content{Graph: view})
		}
	}
	return page.WriteEstate(out, about)
}

// graph returns the graph of the configuration of a root module, which must be initialized.
func (p *rootsPage) graph(ctx context.Context, r *roots.Root) (*graphview.Graph, error) {
	sub := p.app.at(r, io.Discard, p.app.Timings)
	defer sub.Close()
	cfg, err := sub.LoadInstalled(ctx, p.vars)
	if err != nil {
		return nil, err
	}
	running, err := sub.OpenProviders(session.Requirements(cfg.Config, nil).InAnyVersion())
	if err != nil {
		return nil, err
	}
	defer running.Close()
	workspace, err := sub.Workspace()
	if err != nil {
		return nil, err
	}
	subject := &graphSubject{cfg: cfg.Config, prior: states.New(), env: sub.Environment(running, workspace),
		kind: engine.GraphPlan}
	subject.env.Observe = nil
	return subject.view(ctx)
}

// problems converts the errors of a root module for a page.
func problems(err error) []page.Problem {
	var out []page.Problem
	for _, d := range tfdiags.FromError(err) {
		one := page.Problem{Summary: d.Summary, Detail: d.Detail}
		if d.Subject != nil {
			one.At = tfdiags.Place(*d.Subject)
		}
		out = append(out, one)
	}
	return out
}
