package graphview

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"tofu/internal/plans"
)

// formatVersion is the version of the JSON document.
const formatVersion = "1.1"

type nodeJSON struct {
	Address   string         `json:"address"`
	Kind      Kind           `json:"kind"`
	Module    string         `json:"module,omitempty"`
	Type      string         `json:"type,omitempty"`
	Resource  string         `json:"resource,omitempty"` // set if the node represents only some of its instances
	File      string         `json:"file,omitempty"`
	Line      int            `json:"line,omitempty"`
	Actions   map[string]int `json:"actions,omitempty"`
	Instances []instanceJSON `json:"instances,omitempty"`
	Deferred  []deferredJSON `json:"deferred,omitempty"`
}

type instanceJSON struct {
	Address string `json:"address"`
	Deposed string `json:"deposed,omitempty"`
	Action  string `json:"action"`
	Reason  string `json:"action_reason,omitempty"`
	// Reads holds the instances that this instance refers to by their keys.
	Reads []string `json:"reads,omitempty"`
}

type deferredJSON struct {
	Address string            `json:"address"`
	Action  string            `json:"action"` // expected action
	Reason  plans.DeferReason `json:"reason"`
}

type edgeJSON struct {
	From string `json:"from"`
	To   string `json:"to"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// WriteJSON writes the graph as a JSON document, with one line for each node and each edge.
func (g *Graph) WriteJSON(w io.Writer) error {
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	fmt.Fprintf(out, "{\n\"format_version\": %q,\n\"nodes\": [\n", formatVersion)
	for i := range g.Nodes {
		separate(out, i)
		if err := encoder.Encode(g.Nodes[i].document()); err != nil {
			return fmt.Errorf("writing the graph: %w", err)
		}
	}
	fmt.Fprint(out, "],\n\"edges\": [\n")
	for i, e := range g.Edges {
		separate(out, i)
		edge := edgeJSON{From: g.Nodes[e.From].Address, To: g.Nodes[e.To].Address}
		if e.At != nil {
			edge.File, edge.Line = e.At.Filename, e.At.Start.Line
		}
		if err := encoder.Encode(edge); err != nil {
			return fmt.Errorf("writing the graph: %w", err)
		}
	}
	fmt.Fprint(out, "]\n}\n")
	return out.Flush()
}

func separate(w io.Writer, i int) {
	if i > 0 {
		fmt.Fprint(w, ",")
	}
}

func (n *Node) document() *nodeJSON {
	out := &nodeJSON{Address: n.Address, Kind: n.Kind, Module: n.Module.String(), Type: n.Type, Resource: n.Resource}
	if n.At != nil {
		out.File, out.Line = n.At.Filename, n.At.Start.Line
	}
	for _, count := range n.Actions() {
		if out.Actions == nil {
			out.Actions = map[string]int{}
		}
		out.Actions[count.Action.String()] = count.Count
	}
	if !n.Kind.HasObjects() {
		return out
	}
	for _, c := range n.Changes {
		one := instanceJSON{Address: c.Addr.String(), Deposed: string(c.Deposed), Action: c.Action.String(),
			Reason: string(c.Reason)}
		for _, read := range n.Reads[c.Addr] {
			one.Reads = append(one.Reads, read.String())
		}
		out.Instances = append(out.Instances, one)
	}
	for _, d := range n.Deferred {
		out.Deferred = append(out.Deferred, deferredJSON{d.Addr.String(), d.Action.String(), d.Why})
	}
	return out
}

// shapesDOT holds the shapes of nodes in DOT. They are the same as in the graph of an operation.
var shapesDOT = map[Kind]string{Provider: "diamond", Variable: "note", Local: "note", Output: "note", Whole: "folder"}

var escapesDOT = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// WriteDOT writes the graph in the DOT language. An arrow leads to what a node needs.
func (g *Graph) WriteDOT(w io.Writer) error {
	out := bufio.NewWriter(w)
	quote := func(text string) string { return `"` + escapesDOT.Replace(text) + `"` }
	name := func(i int) string { return quote("[root] " + g.Nodes[i].Address) }
	fmt.Fprint(out, "digraph {\n\tcompound = \"true\"\n\tnewrank = \"true\"\n\tsubgraph \"root\" {\n")
	for i := range g.Nodes {
		n := &g.Nodes[i]
		shape := shapesDOT[n.Kind]
		if shape == "" {
			shape = "box"
		}
		fmt.Fprintf(out, "\t\t%s [label = %s, shape = %q]\n", name(i), quote(n.Address+n.counts("\n")), shape)
	}
	for _, e := range g.Edges {
		fmt.Fprintf(out, "\t\t%s -> %s\n", name(e.From), name(e.To))
	}
	fmt.Fprint(out, "\t}\n}\n\n")
	return out.Flush()
}

// counts returns the node's changes after sep, in a form such as "2 delete, 1 create". It returns
// "" if the node has no changes.
func (n *Node) counts(sep string) string {
	var parts []string
	for _, c := range n.Actions() {
		parts = append(parts, fmt.Sprintf("%d %s", c.Count, c.Action))
	}
	if len(n.Deferred) > 0 {
		parts = append(parts, fmt.Sprintf("%d deferred", len(n.Deferred)))
	}
	if len(parts) == 0 {
		return ""
	}
	return sep + strings.Join(parts, ", ")
}
