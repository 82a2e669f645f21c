package timings

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tofu/internal/dag"
)

type name string

func (n name) String() string { return string(n) }

func TestNoRecorder(t *testing.T) {
	var r *Recorder
	r.Phase("plan")()
	r.Call(Call{"p", "m"}, nil)()
	r.Waited("x", time.Second)
	r.Work("plan", nil)(nil)
	r.Begin("init").End(errors.New("failed"))
	r.Command("plan", ID{})(nil)
	w := r.Walk("plan", 1)
	w.Visit(0)()
	w.End(nil, nil)
	root, end := r.Root("a")
	root.Phase("plan")()
	end()
}

// TestRoots checks that the records of root modules are summed up, and that the path over root
// modules includes the paths within the slowest ones.
func TestRoots(t *testing.T) {
	r := New()
	w := r.Walk("planning root modules", 4)
	var g dag.Graph
	for i := range 4 {
		root, end := r.Root(fmt.Sprint("r", i))
		endPlan := root.Phase("plan")
		root.Phase("graph")()
		endPlan()
		root.Phase("output")()
		root.called(Call{"p", "Read"}, time.Second)
		root.worked(name("a"), "plan", time.Duration(i)*time.Second)
		root.paths = append(root.paths, path{name: "plan", nodes: 1})
		end()
		g.Add()
		w.nodes[i] = span{time.Duration(i) * time.Second, time.Duration(i+1) * time.Second}
		if i > 0 {
			g.Connect(dag.ID(i), dag.ID(i-1))
		}
	}
	w.nodes[3].end += time.Second
	w.End(&g, func(id dag.ID) string { return fmt.Sprint("r", id) })
	for what, want := range map[string]int{"plan": 4, "plan, graph": 4, "output": 4, "graph": 0} {
		if got := r.rootPhases[what].count; got != want {
			t.Errorf("%s: %d times, want %d", what, got, want)
		}
	}
	if got := r.calls[Call{"p", "Read"}]; got.count != 4 || got.total != 4*time.Second {
		t.Errorf("calls: %+v", got)
	}
	if got := r.instances[0]; got.addr != "r3: a" || len(r.instances) != 4 {
		t.Errorf("slowest: %+v", r.instances)
	}
	var within []string
	for _, p := range r.paths[0].within {
		within = append(within, p.name)
	}
	if got := strings.Join(within, "; "); got != "plan in r3; plan in r0; plan in r1" {
		t.Errorf("paths within root modules: %s", got)
	}
	if len(r.inRoots) > 0 {
		t.Errorf("%d paths are kept", len(r.inRoots))
	}
}

func TestSlowestInstances(t *testing.T) {
	r := New()
	for i := range 1000 {
		r.worked(name(fmt.Sprint("a", i*7%1000)), "plan", time.Duration(i*7%1000)*time.Second)
	}
	var got []string
	for _, i := range r.instances {
		got = append(got, i.addr)
	}
	if want := "a999 a998 a997 a996 a995 a994 a993 a992 a991 a990"; strings.Join(got, " ") != want {
		t.Errorf("got %s", got)
	}
}

// TestPath checks that the path consists of the nodes that ended last, which need not be those that
// took longest.
func TestPath(t *testing.T) {
	needs := [][]dag.ID{{}, {}, {0, 1}, {1}, {2, 3}, {}}
	var g dag.Graph
	for range needs {
		g.Add()
	}
	for from, all := range needs {
		for _, to := range all {
			g.Connect(dag.ID(from), to)
		}
	}
	r := New()
	w := r.Walk("plan", len(needs))
	w.nodes[0] = span{0, 3 * time.Second}
	w.nodes[1] = span{0, 2 * time.Second}
	w.nodes[2] = span{4 * time.Second, 5 * time.Second}
	w.nodes[3] = span{2 * time.Second, 4500 * time.Millisecond}
	w.nodes[4] = span{5 * time.Second, 7 * time.Second} // node 5 was not visited
	w.End(&g, func(n dag.ID) string { return fmt.Sprint("node ", n) })
	var b strings.Builder
	r.Report(&b)
	want := `Critical path of plan: 3 of 6 nodes, which worked for 6.000 s and waited for their turn for 1.000 s:
     3.000 s  node 0
     1.000 s  node 2, after waiting for 1.000 s
     2.000 s  node 4
`
	if !strings.HasSuffix(b.String(), want) {
		t.Errorf("got %s", b.String())
	}
}

// TestPathOfAdded checks that the path includes vertices that were added during the walk, except those
// without a name.
func TestPathOfAdded(t *testing.T) {
	var g dag.Graph
	begins, end := g.Add(), g.Add()
	r := New()
	w := r.Walk("plan", g.Len())
	add := func(name func() string, start, end time.Duration, needs ...dag.ID) dag.ID {
		id := g.Add()
		for _, need := range needs {
			g.Connect(id, need)
		}
		w.Add(name)
		*w.of(id) = span{start * time.Second, end * time.Second}
		return id
	}
	named := func(name string) func() string { return func() string { return name } }
	w.nodes[begins] = span{0, time.Second}
	first := add(named("a[0]"), 2, 4, begins)
	other := add(named("a[2]"), 1, 2, begins)
	second := add(named("a[1]"), 4, 9, first)
	g.Connect(end, add(nil, 9, 9, first, second, other))
	w.nodes[end] = span{9 * time.Second, 10 * time.Second}
	w.End(&g, func(n dag.ID) string { return fmt.Sprint("node ", n) })
	var b strings.Builder
	r.Report(&b)
	want := `Critical path of plan: 4 of 6 nodes, which worked for 9.000 s and waited for their turn for 1.000 s:
     1.000 s  node 0
     2.000 s  a[0], after waiting for 1.000 s
     5.000 s  a[1]
     1.000 s  node 1
`
	if !strings.HasSuffix(b.String(), want) {
		t.Errorf("got %s", b.String())
	}
}

func TestReport(t *testing.T) {
	r := New()
	end := r.Phase("plan")
	r.Phase("graph")()
	end()
	r.Phase("show")()
	r.called(Call{"a/b", "ReadResource"}, 1500*time.Millisecond)
	r.called(Call{"a/b", "ReadResource"}, 500*time.Millisecond)
	r.called(Call{"a/b", "PlanResourceChange"}, 3*time.Second)
	r.Waited("for the state lock", 2*time.Second)
	for i := range r.phases {
		r.phases[i].took = time.Duration(i+1) * time.Second
	}
	var b strings.Builder
	r.Report(&b)
	for _, want := range []string{
		"Phases:\n     1.000 s  plan\n     2.000 s    graph\n     3.000 s  show\n",
		"3.000 s        1     3.000 s     3.000 s  a/b PlanResourceChange\n",
		"2.000 s        2     1.000 s     1.500 s  a/b ReadResource\n",
		"2.000 s        1     2.000 s  for the state lock\n",
		"for locks within the program\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no\n%s\nin\n%s", want, b.String())
		}
	}
}
