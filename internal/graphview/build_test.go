package graphview_test

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/engine/graph"
	"tofu/internal/graphview"
	"tofu/internal/testenv"
	"tofu/internal/tfdiags"
)

// TestBuild compares the graphs of plans. An archive has these sections:
//
//	before.tf, before/FILE   a configuration that is applied first
//	after.tf, after/FILE     the configuration to plan; if missing, the first one is planned again
//	focus                    an address; the graph is the part within one step around it
//	graph                    the nodes, each followed by the nodes that it refers to
//	json, dot, mermaid       the same graph as a document
//
// The test compares only the results that the archive contains.
func TestBuild(t *testing.T) {
	testenv.Golden(t, testenv.Glob(t, "testdata/*.txtar"), func(t *testing.T, in *txtar.Archive) *txtar.Archive {
		focus := ""
		for _, f := range in.Files {
			if f.Name == "focus" {
				focus = strings.TrimSpace(string(f.Data))
			}
		}
		s, after, err := enginetest.ApplyBefore(in, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		g := plannedGraph(t, s, after)
		if focus != "" {
			g, err = g.Focus(focus, 1)
			if err != nil {
				t.Fatal(err)
			}
		}
		out := &txtar.Archive{Comment: in.Comment}
		for _, f := range in.Files {
			if write := formats[f.Name]; write != nil {
				var b strings.Builder
				if err := write(g, &b); err != nil {
					t.Fatal(err)
				}
				f.Data = []byte(directory.ReplaceAllString(b.String(), ""))
			}
			out.Files = append(out.Files, f)
		}
		return out
	})
}

// directory matches the path of the configuration's directory, which is removed from results.
var directory = regexp.MustCompile(`[^" ]*/step\d+/`)

// formats holds the functions that write the results of an archive, by section.
var formats = map[string]func(*graphview.Graph, io.Writer) error{
	"graph": describe, "json": (*graphview.Graph).WriteJSON, "dot": (*graphview.Graph).WriteDOT,
	"mermaid": (*graphview.Graph).WriteMermaid,
}

// plannedGraph plans a configuration and returns the graph of the plan.
func plannedGraph(t *testing.T, s *enginetest.Session, files map[string]string) *graphview.Graph {
	t.Helper()
	cfg, err := s.Load(files, nil, tfdiags.Drop)
	if err != nil {
		t.Fatal(err)
	}
	env := s.Env()
	plan, err := engine.Plan(t.Context(), cfg, s.State, env, &engine.PlanOptions{Defer: true})
	if err != nil {
		t.Fatal(err)
	}
	op := engine.GraphOperation(cfg, s.State, env, engine.GraphPlan, nil)
	g, err := graph.Build(t.Context(), op)
	if err != nil {
		t.Fatal(err)
	}
	return graphview.Build(g, plan, op.Early(g))
}

// describe writes a line for each node. Below it follows a line for each node that it refers to.
func describe(g *graphview.Graph, w io.Writer) error {
	needs := g.Needs()
	for i := range g.Nodes {
		n := &g.Nodes[i]
		line := fmt.Sprint(n.Address, " (", n.Kind)
		for _, count := range n.Actions() {
			line += fmt.Sprintf(", %d %s", count.Count, count.Action)
		}
		for _, d := range n.Deferred {
			line += fmt.Sprintf(", %s deferred", d.Addr)
		}
		if n.Resource != "" {
			line += ", of " + n.Resource
		}
		fmt.Fprintln(w, line+")")
		for _, e := range needs[i] {
			edge := &g.Edges[e]
			line := "    " + g.Nodes[edge.To].Address
			if edge.At != nil {
				line += fmt.Sprintf(" at %s:%d", edge.At.Filename, edge.At.Start.Line)
			}
			if edge.Rule {
				line += ", only in conditions"
			}
			if edge.Single {
				line += ", by instance"
			}
			fmt.Fprintln(w, line)
		}
		var reads []string
		for from, to := range n.Reads {
			reads = append(reads, fmt.Sprintf("    %s reads %v", from, to))
		}
		slices.Sort(reads)
		for _, line := range reads {
			fmt.Fprintln(w, line)
		}
	}
	return nil
}
