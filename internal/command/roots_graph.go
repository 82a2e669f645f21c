package command

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"tofu/internal/graphview"
	"tofu/internal/roots"
)

var cmdRootsGraph = &Command{
	Name: "graph", Args: "[DIR...]", Short: "Draw the dependencies between root modules",
	Long: `
Prints the root modules below the directories and their dependencies in the DOT
language, as a Mermaid flowchart or as JSON.`,
	New: with(func(f *rootsGraphFlags, fs *options) {
		f.viewFlags.add(fs)
		fs.StringVar(&f.Format, "format", "dot", "The `format` of the output: dot, mermaid or json.")
		fs.StringVar(&f.Out, "out", "", "Write to `path` instead of standard output.")
		f.addSelect(fs)
	}, runRootsGraph),
}

type rootsGraphFlags struct {
	viewFlags
	selectFlags
	Format, Out string
}

// rootsFormats are the formats of graphs of root modules.
var rootsFormats = map[string]func(*graphview.Graph, io.Writer) error{
	"dot": (*graphview.Graph).WriteDOT, "mermaid": (*graphview.Graph).WriteMermaid,
	"json": (*graphview.Graph).WriteJSON,
}

func runRootsGraph(ctx context.Context, app *App, f *rootsGraphFlags, args []string) (err error) {
	write := rootsFormats[f.Format]
	if write == nil {
		return badUsage("Graph format not available", "There is no format %q. Use one of: %s.", f.Format,
			strings.Join(slices.Sorted(maps.Keys(rootsFormats)), ", "))
	}
	estate, selected, loadErr := app.selectRoots(ctx, &f.selectFlags, args)
	if estate == nil {
		return loadErr
	}
	out, err := app.openDocument(f.Out)
	if err != nil {
		return err
	}
	defer func() { err = out.close(err) }()
	if err := write(rootsGraph(selected), out); err != nil {
		return err
	}
	return loadErr
}

// rootsGraph returns the graph of root modules, with the first reference for each edge.
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
