package page

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/graphview"
	"tofu/internal/plans"
)

// Estate is the content of a page about many root modules: their graph, and what each contains.
type Estate struct {
	Title   string // name of the plan; "" for configurations
	Summary string // one line
	Mode    plans.Mode
	Plan    bool     // whether the root modules are planned
	Moves   []string // moves between root modules that come before the plans
	Roots   []*Root
	Program string // this program, with its version
}

// Root is one of many root modules on a page.
type Root struct {
	Name, Dir string
	Status    Status
	Why       string // explains the status, in one sentence
	Errors    []Problem
	Reads     []Read
	// Show calls show with the content of the root module. The page doesn't keep the content.
	// If there is no content, Show may set Errors. Show is nil if there is nothing to show.
	Show func(show func(*Content) error) error
}

// Status says what is planned for a root module. The page contains it as a string.
type Status string

const (
	Changes    Status = "changes"
	Unchanged  Status = "unchanged"
	Waits      Status = "waits" // will be planned again after deferred changes of other root modules
	Failed     Status = "failed"
	NotPlanned Status = "skipped"
	NoPlan     Status = "" // the page shows a configuration, not a plan
)

// Problem is an error of a root module.
type Problem struct {
	Summary string `json:"s"`
	Detail  string `json:"d,omitempty"`
	At      string `json:"p,omitempty"` // file and line
}

// Read describes what a root module reads from another one.
type Read struct {
	Root    int    // position of the other root module
	Kind    string // see roots.ReadKind
	User    string // address of the data source or variable that reads the outputs, or ""
	At      *hcl.Range
	All     bool     // whether all outputs are used
	Outputs []string // names of the used outputs
}

// WriteEstate writes a page about many root modules.
func WriteEstate(w io.Writer, e *Estate) error {
	about := &overview{Title: e.Title, Summary: e.Summary, Moves: e.Moves, Program: e.Program, Many: true}
	return write(w, about, func(d *document) error {
		d.tree(e.Roots)
		in := make([]*ends, len(e.Roots))
		for i, r := range e.Roots {
			first := len(d.out.Nodes)
			if r.Show != nil {
				add := func(c *Content) error { return d.add(i, c) }
				if err := r.Show(add); err != nil {
					return fmt.Errorf("%s: %w", r.Name, err)
				}
				d.out.Roots[i].Errors = r.Errors // Show may have set r.Errors
			}
			d.out.Roots[i].Node = len(d.out.Nodes)
			d.out.Nodes = append(d.out.Nodes, nodeJSON{Kind: graphview.Root, Address: r.Name,
				Module: d.out.Roots[i].Module, File: -1, First: len(d.out.Changes)})
			in[i] = d.ends(first)
		}
		for i, r := range e.Roots {
			for _, read := range r.Reads {
				d.read(in[i], in[read.Root], read)
			}
		}
		if e.Plan {
			d.out.Mode = modeNames[e.Mode]
		}
		return nil
	})
}

// tree adds the root modules to the tree of modules, in folders for parts of their names.
func (d *document) tree(list []*Root) {
	d.out.Modules = []moduleJSON{{Parent: -1}}
	folders := map[string]int{"": rootOfTree}
	var folder func(path string) int
	folder = func(path string) int {
		if id, ok := folders[path]; ok {
			return id
		}
		parent, name := "", path
		if i := strings.LastIndexByte(path, '/'); i >= 0 {
			parent, name = path[:i], path[i+1:]
		}
		at := moduleJSON{Name: name, Parent: folder(parent), Folder: true}
		folders[path] = len(d.out.Modules)
		d.out.Modules = append(d.out.Modules, at)
		return folders[path]
	}
	for i, r := range list {
		path := ""
		if end := strings.LastIndexByte(r.Name, '/'); end >= 0 {
			path = r.Name[:end]
		}
		at := moduleJSON{Name: r.Name, Parent: folder(path), Root: &i}
		d.out.Roots = append(d.out.Roots, rootJSON{Name: r.Name, Dir: r.Dir, Module: len(d.out.Modules),
			Status: r.Status, Why: r.Why, Errors: r.Errors})
		d.out.Modules = append(d.out.Modules, at)
	}
}

// ends holds the nodes of a root module that edges to and from other root modules may use.
type ends struct {
	whole   int            // node that represents the root module
	users   map[string]int // data sources and variables by address
	outputs map[string]int // outputs by name
	all     int            // node that represents all outputs; -1 until something uses all of them
}

// ends returns the ends in the root module whose first node has the given position. The last node
// of the page so far represents the root module itself.
func (d *document) ends(first int) *ends {
	out := &ends{whole: len(d.out.Nodes) - 1, users: make(map[string]int), outputs: make(map[string]int), all: -1}
	for i, n := range d.out.Nodes[first:] {
		switch n.Kind {
		case graphview.Output:
			// Skip outputs of called modules.
			if name, ok := strings.CutPrefix(n.Address, "output."); ok {
				out.outputs[name] = first + i
			}
		case graphview.Variable, graphview.Data, graphview.All:
			out.users[n.Address] = first + i
		}
	}
	return out
}

// read adds edges for what one root module reads from another. One edge connects the nodes that
// represent the root modules. The other edges connect the user of the outputs with the outputs.
func (d *document) read(from, of *ends, r Read) {
	edge := d.edge(from.whole, of.whole, r.At)
	d.out.Reads = append(d.out.Reads, readJSON{Edge: edge, Kind: r.Kind, User: r.User, All: r.All, Outputs: r.Outputs})
	user, ok := from.users[r.User]
	if !ok {
		return // the user isn't known, or the page doesn't have the content of the root module
	}
	if r.All {
		d.edge(user, d.allOutputs(of), r.At)
	}
	for _, name := range r.Outputs {
		to, ok := of.outputs[name]
		if !ok {
			to = of.whole
		}
		d.edge(user, to, r.At)
	}
}

// allOutputs returns a node that represents all outputs of a root module, so that a user of all
// outputs needs only one edge. If the page has no outputs of the root module, it returns the node of
// the root module itself.
func (d *document) allOutputs(of *ends) int {
	switch {
	case len(of.outputs) == 0:
		return of.whole
	case of.all < 0:
		of.all = len(d.out.Nodes)
		d.out.Nodes = append(d.out.Nodes, nodeJSON{Kind: graphview.Output, Address: "outputs",
			Module: d.out.Nodes[of.whole].Module, File: -1, First: len(d.out.Changes)})
		for _, name := range slices.Sorted(maps.Keys(of.outputs)) {
			d.edge(of.all, of.outputs[name], nil)
		}
	}
	return of.all
}
