package graphview

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/plans"
)

// classesMermaid defines the classes that Class returns. The colors are those of the HTML page.
const classesMermaid = `  classDef delete fill:#fbe3e1,stroke:#b3261e,color:#1d1b1a
  classDef replace fill:#fdeadb,stroke:#b45309,color:#1d1b1a
  classDef forget fill:#efe7f6,stroke:#7a4ea3,color:#1d1b1a
  classDef update fill:#fdf3d0,stroke:#8a6d00,color:#1d1b1a
  classDef create fill:#e0f2e5,stroke:#1a7f37,color:#1d1b1a
  classDef read fill:#e1eefb,stroke:#1f6feb,color:#1d1b1a
  classDef deferred fill:#eeeeee,stroke:#5b6672,color:#1d1b1a
`

// Class returns the name that drawings use for an action. This is the name of the action itself,
// but "replace" for all replacements and "" if there is no action.
func Class(a plans.Action) string {
	switch {
	case a == plans.NoOp:
		return ""
	case a.IsReplace():
		return "replace"
	}
	return a.String()
}

// Deferred is the name that drawings use for changes that can't be planned yet.
const Deferred = "deferred"

// class returns the Class of the most dangerous of the node's changes, or Deferred if it only has
// deferred changes.
func (n *Node) class() string {
	if class := Class(n.Worst()); class != "" || len(n.Deferred) == 0 {
		return class
	}
	return Deferred
}

// escapesMermaid replaces characters that would end a label or be read as markup in it.
var escapesMermaid = strings.NewReplacer("&", "#amp;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "#", "#35;",
	"\n", " ", "`", "#96;", `\`, "#92;")

// mermaid writes one flowchart. Each module is drawn as a box.
type mermaid struct {
	*Graph
	out      *bufio.Writer
	nodes    map[addrs.Module][]int
	children map[addrs.Module][]addrs.Module
	boxes    int
}

// WriteMermaid writes the graph as a Mermaid flowchart, which many code hosts draw in comments and
// documents. An arrow leads from a node to the nodes that need it. Modules are drawn as boxes.
func (g *Graph) WriteMermaid(w io.Writer) error {
	m := &mermaid{Graph: g, out: bufio.NewWriter(w), nodes: map[addrs.Module][]int{},
		children: map[addrs.Module][]addrs.Module{}}
	m.place()
	fmt.Fprint(m.out, "flowchart LR\n")
	m.module("", "  ")
	for _, e := range g.Edges {
		fmt.Fprintf(m.out, "  n%d --> n%d\n", e.To, e.From)
	}
	hasClasses := slices.ContainsFunc(g.Nodes, func(n Node) bool { return n.class() != "" })
	if hasClasses {
		fmt.Fprint(m.out, classesMermaid)
	}
	return m.out.Flush()
}

// place decides which box each node is in. Nodes that represent whole modules are in no box.
func (m *mermaid) place() {
	seen := map[addrs.Module]bool{"": true}
	for i, n := range m.Nodes {
		if n.Kind == Whole {
			m.nodes[""] = append(m.nodes[""], i)
			continue
		}
		m.nodes[n.Module] = append(m.nodes[n.Module], i)
		for at := n.Module; !seen[at]; {
			seen[at] = true
			parent, _ := at.Parent()
			m.children[parent] = append(m.children[parent], at)
			at = parent
		}
	}
}

// module writes the nodes in a module, and the boxes of the modules that it calls.
func (m *mermaid) module(path addrs.Module, indent string) {
	for _, i := range m.nodes[path] {
		n := &m.Nodes[i]
		label := escapesMermaid.Replace(n.label())
		changing := *n
		changing.Changes = slices.DeleteFunc(slices.Clone(n.Changes),
			func(c *plans.InstanceChange) bool { return c.Action == plans.NoOp })
		if counts := changing.counts(""); counts != "" {
			label += "<br/>" + counts
		}
		fmt.Fprintf(m.out, "%sn%d[\"%s\"]", indent, i, label)
		if class := n.class(); class != "" {
			fmt.Fprintf(m.out, ":::%s", class)
		}
		fmt.Fprintln(m.out)
	}
	for _, child := range m.children[path] {
		m.boxes++
		_, name := child.Parent()
		fmt.Fprintf(m.out, "%ssubgraph m%d[\"module.%s\"]\n", indent, m.boxes, escapesMermaid.Replace(name))
		m.module(child, indent+"  ")
		fmt.Fprintf(m.out, "%send\n", indent)
	}
}
