package page

import (
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/graphview"
	"tofu/internal/plans"
	"tofu/internal/testenv/plantest"
)

// estate returns root modules with the same plan. Each of them reads outputs of the previous one.
// All values in the plans contain text.
func estate(t testing.TB, roots, changes int, text string) *Estate {
	view, graph := plantest.Plan(t, changes, text)
	graph.Nodes = append(graph.Nodes,
		graphview.Node{Kind: graphview.Output, Address: "output.id"},
		graphview.Node{Kind: graphview.Output, Address: "output.name"},
		graphview.Node{Kind: graphview.Variable, Address: "var.id"})
	e := &Estate{Title: text, Summary: text, Mode: plans.Normal, Plan: true, Program: text,
		Moves: []string{text}}
	for i := range roots {
		r := &Root{Name: "live/" + strconv.Itoa(i) + text, Dir: text, Status: Changes, Why: text,
			Errors: []Problem{{Summary: text, Detail: text, At: text}},
			Show: func(show func(*Content) error) error {
				return show(&Content{Graph: graph, View: view, Unknown: []string{text}})
			}}
		if i > 0 {
			r.Reads = []Read{{Root: i - 1, Kind: "variable", User: "var.id", Outputs: []string{"id", text},
				At: &hcl.Range{Filename: "f" + text, Start: hcl.Pos{Line: 7}}}}
		}
		e.Roots = append(e.Roots, r)
	}
	return e
}

// written returns the overview of a page, and the whole page.
func written(t *testing.T, e *Estate) (*overview, string) {
	t.Helper()
	var out strings.Builder
	if err := WriteEstate(&out, e); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(out.String(), `id="data">`)
	text, _, _ := strings.Cut(rest, "</script>")
	about := &overview{}
	if err := json.Unmarshal([]byte(text), about); err != nil {
		t.Fatal(err)
	}
	return about, out.String()
}

// TestNothingOfRootsEndsAnElement checks that the page contains only its own elements, whatever
// text root modules and their names contain.
func TestNothingOfRootsEndsAnElement(t *testing.T) {
	elements := func(text string) int {
		_, page := written(t, estate(t, 3, 20, text))
		return strings.Count(page, "<")
	}
	want := elements("calm")
	hostile := []string{"</script><script>x()</script>", "<!--<script>", "/a//b/", "</title><b>", "\x00\u2028\xff"}
	for _, text := range hostile {
		if got := elements(text); got != want {
			t.Errorf("with %q the page has %d times <, want %d", text, got, want)
		}
	}
}

// TestTree checks the tree of root modules, and that positions in the overview refer to the
// right root module.
func TestTree(t *testing.T) {
	e := estate(t, 3, 450, "")
	e.Roots = append(e.Roots, &Root{Name: "dns", Status: Failed,
		Reads: []Read{{Root: 0, Kind: "remote_state", All: true}}})
	about, page := written(t, e)
	var names []string
	for _, m := range about.Modules[:6] {
		names = append(names, m.Name)
	}
	if want := []string{"", "live", "live/0", "live/1", "live/2", "dns"}; !slices.Equal(names, want) {
		t.Errorf("the tree begins with %q, want %q", names, want)
	}
	if m := about.Modules[3]; m.Parent != 1 || m.Root == nil || *m.Root != 1 || !about.Modules[1].Folder {
		t.Errorf("the place of live/1 is %+v", m)
	}
	for i, r := range about.Roots {
		n := about.Nodes[r.Node]
		if n.Kind != graphview.Root || n.Address != e.Roots[i].Name || n.Module != r.Module {
			t.Errorf("%s stands for %s", n.Address, e.Roots[i].Name)
		}
	}
	if len(about.Changes) != 3*450 {
		t.Errorf("%d changes, want %d", len(about.Changes), 3*450)
	}
	if got, want := strings.Count(page, `id="details-`), 7; got != want { // 1,350 changes
		t.Errorf("the differences are in %d elements, want %d", got, want)
	}
}

// TestEdges checks the edges of outputs that root modules read.
func TestEdges(t *testing.T) {
	e := estate(t, 3, 10, "")
	for _, r := range e.Roots[1:] {
		r.Reads[0].Outputs = []string{"id", "missing"}
	}
	e.Roots = append(e.Roots,
		&Root{Name: "dns", Show: e.Roots[0].Show, Reads: []Read{{Root: 0, Kind: "variable", User: "var.id", All: true}}},
		&Root{Name: "old", Show: e.Roots[0].Show, Reads: []Read{{Root: 0, Kind: "variable", User: "var.id", All: true},
			{Root: 3, Kind: "after"}}})
	about, _ := written(t, e)
	name := func(node int) string {
		n := about.Nodes[node]
		at := n.Module
		for about.Modules[at].Root == nil {
			at = about.Modules[at].Parent
		}
		return e.Roots[*about.Modules[at].Root].Name + " " + n.Address
	}
	var got []string
	for i := 0; i < len(about.Edges); i += edgeSize {
		text := name(about.Edges[i]) + " -> " + name(about.Edges[i+1])
		if !strings.Contains(text, "terraform_data") {
			got = append(got, text)
		}
	}
	want := []string{
		"live/1 live/1 -> live/0 live/0", "live/1 var.id -> live/0 output.id", "live/1 var.id -> live/0 live/0",
		"live/2 live/2 -> live/1 live/1", "live/2 var.id -> live/1 output.id", "live/2 var.id -> live/1 live/1",
		"dns dns -> live/0 live/0", "live/0 outputs -> live/0 output.id", "live/0 outputs -> live/0 output.name",
		"dns var.id -> live/0 outputs",
		"old old -> live/0 live/0", "old var.id -> live/0 outputs", "old old -> dns dns",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the edges are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(about.Reads) != 5 || about.Edges[about.Reads[0].Edge*edgeSize+3] != 7 {
		t.Errorf("the reads are %+v", about.Reads)
	}
}

// BenchmarkWriteEstate shows that the time per root module doesn't depend on their number.
func BenchmarkWriteEstate(b *testing.B) {
	for _, n := range []int{50, 500} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			e := estate(b, n, 20, "text")
			for b.Loop() {
				if err := WriteEstate(io.Discard, e); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((b.Elapsed()/time.Duration(b.N)).Microseconds())/float64(n), "µs/root")
		})
	}
}
