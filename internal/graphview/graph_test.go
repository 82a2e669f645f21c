package graphview

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/plans"
)

// graphOf returns a graph from lines. A line such as "a b c" means that a refers to b and c. Names
// that begin with v are locals.
func graphOf(lines ...string) *Graph {
	at := map[string]int{}
	var nodes []Node
	var edges []Edge
	add := func(name string) int {
		id, ok := at[name]
		if !ok {
			id = len(nodes)
			at[name] = id
			n := Node{Kind: Resource, Address: name, Type: "t"}
			if name[0] == 'v' {
				n.Kind = Local
			}
			nodes = append(nodes, n)
		}
		return id
	}
	for _, line := range lines {
		names := strings.Fields(line)
		from := add(names[0])
		for _, to := range names[1:] {
			edges = append(edges, Edge{From: from, To: add(to)})
		}
	}
	return sorted(nodes, edges)
}

// text returns a graph in the form that graphOf reads, without nodes that have no edge.
func text(g *Graph) string {
	var out []string
	for i, needs := range g.Needs() {
		line := g.Nodes[i].Address
		for _, e := range needs {
			line += " " + g.Nodes[g.Edges[e].To].Address
		}
		if len(needs) > 0 {
			out = append(out, line)
		}
	}
	return strings.Join(out, "; ")
}

func TestResources(t *testing.T) {
	var hub []string
	for i := range 10 {
		hub = append(hub, fmt.Sprintf("u%d vhub", i), fmt.Sprintf("vhub n%d", i))
	}
	for name, test := range map[string]struct {
		in   []string
		want string
	}{
		"through values": {[]string{"a v1 b", "v1 v2 b", "v2 c"}, "a b c"},
		"only values":    {[]string{"v1 v2", "v2 v3"}, ""},
		"hub":            {hub, "u0 vhub; u1 vhub; u2 vhub; u3 vhub; u4 vhub; u5 vhub; u6 vhub; u7 vhub; u8 vhub; u9 vhub; vhub n0 n1 n2 n3 n4 n5 n6 n7 n8 n9"},
	} {
		if got := text(graphOf(test.in...).Resources()); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestResourcesInCircles checks that values are left out even if nodes of instances refer to each
// other.
func TestResourcesInCircles(t *testing.T) {
	if got, want := text(graphOf("a b", "b a v1", "v1 c").Resources()), "a b; b a c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFocus(t *testing.T) {
	g := graphOf("a v1", "v1 b", "b c", "c d", "x b")
	for _, test := range []struct {
		address string
		depth   int
		want    []string
	}{
		{"b", 0, []string{"b", "v1"}}, {"b", 1, []string{"a", "b", "c", "v1", "x"}},
		{"a", 1, []string{"a", "b", "v1"}}, {"d", 2, []string{"b", "c", "d", "v1"}}, {"v1", 1, []string{"a", "b", "v1"}},
	} {
		part, err := g.Focus(test.address, test.depth)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range part.Nodes {
			got = append(got, n.Address)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("focus on %s with depth %d: %q, want %q", test.address, test.depth, got, test.want)
		}
	}
	if _, err := g.Focus("nothing", 1); err == nil {
		t.Error("a focus on nothing is no error")
	}
}

func TestMermaidEscapes(t *testing.T) {
	g := &Graph{Nodes: []Node{{Kind: Provider, Address: `provider["a"].<b>` + "`#;\n"}}}
	var out strings.Builder
	if err := g.WriteMermaid(&out); err != nil {
		t.Fatal(err)
	}
	if want := `["provider[#quot;a#quot;].#lt;b#gt;#96;#35;; "]`; !strings.Contains(out.String(), want) {
		t.Errorf("got %s, want a label %s", out.String(), want)
	}
}

func TestCriticalPath(t *testing.T) {
	g := graphOf("a v1", "v1 b c", "b d", "z")
	run := &Run{spans: map[string]Span{}}
	for i, n := range g.Nodes {
		if n.Kind == Local {
			continue
		}
		c := &plans.InstanceChange{Addr: addrs.AbsInstance{Resource: addrs.Resource{Mode: addrs.Managed, Type: "t", Name: n.Address}}}
		g.Nodes[i].Changes = []*plans.InstanceChange{c}
		ended := map[string]time.Duration{"a": 9, "b": 5, "c": 4, "d": 2, "z": 8}[n.Address]
		run.spans[c.Addr.String()] = Span{ended - 1, ended}
	}
	var got []string
	for _, c := range g.CriticalPath(run) {
		got = append(got, c.Addr.Resource.Name)
	}
	if want := []string{"d", "b", "a"}; !slices.Equal(got, want) {
		t.Errorf("the critical path is %q, want %q", got, want)
	}
}

// TestCriticalPathOfInstances checks a graph with two nodes that represent many instances. The path
// must follow the instances that refer to each other, and not the instances in these nodes that
// ended last.
func TestCriticalPathOfInstances(t *testing.T) {
	g := graphOf("b a", "a z")
	run := &Run{spans: map[string]Span{}}
	at := func(name string, key int) addrs.AbsInstance {
		return addrs.Resource{Mode: addrs.Managed, Type: "t", Name: name}.InInstance("").Instance(addrs.IntKey(key))
	}
	ended := map[string][]time.Duration{"a": {5, 9, 4}, "b": {20, 10, 8}, "z": {3}}
	for i := range g.Nodes {
		name := g.Nodes[i].Address
		g.Nodes[i].Reads = map[addrs.AbsInstance][]addrs.AbsInstance{}
		for key, end := range ended[name] {
			addr := at(name, key)
			g.Nodes[i].Changes = append(g.Nodes[i].Changes, &plans.InstanceChange{Addr: addr, Action: plans.Create})
			run.spans[addr.String()] = Span{end - 1, end}
			if name == "b" {
				g.Nodes[i].Reads[addr] = []addrs.AbsInstance{at("a", key)}
			}
		}
	}
	for i, e := range g.Edges {
		g.Edges[i].Single = g.Nodes[e.From].Address == "b"
	}
	var got []string
	for _, c := range g.CriticalPath(run) {
		got = append(got, c.Addr.String())
	}
	if want := []string{"t.z[0]", "t.a[0]", "t.b[0]"}; !slices.Equal(got, want) {
		t.Errorf("the critical path is %q, want %q", got, want)
	}
}

func TestKeysText(t *testing.T) {
	group := func(keys ...addrs.InstanceKey) (out []*member) {
		for _, key := range keys {
			out = append(out, &member{addr: addrs.AbsInstance{Key: key}})
		}
		return out
	}
	n, s := addrs.IntKey, addrs.StringKey
	for want, in := range map[string][]*member{
		"":                   group(addrs.NoKey),
		"[0..2]":             group(n(0), n(1), n(2)),
		"[0, 2..3]":          group(n(0), n(2), n(3)),
		"[0, 2, 4, …]":       group(n(0), n(2), n(4), n(6), n(8)),
		"[0, 2, 4..5]":       group(n(0), n(2), n(4), n(5)),
		`["a", "b[0]", "c"]`: group(s("a"), s("b[0]"), s("c")),
		`["a", "b", "c", …]`: group(s("a"), s("b"), s("c"), s("d")),
	} {
		if got := keysText(in); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestReadRun(t *testing.T) {
	for in, want := range map[string]string{
		"":                  "no event for a changed object",
		"{}":                "no event for a changed object",
		"{}\nplain text\n":  "line 2 is not an event",
		`{"@timestamp": 5}`: "line 1 is not an event",
	} {
		if _, err := ReadRun(strings.NewReader(in), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", in, err, want)
		}
	}
}

// TestReadRunOfRoot checks that ReadRun ignores the events of other root modules.
func TestReadRunOfRoot(t *testing.T) {
	var events strings.Builder
	for i, line := range []string{"a apply_start", "b apply_start", "b apply_complete", "a apply_complete"} {
		root, kind, _ := strings.Cut(line, " ")
		fmt.Fprintf(&events, "{\"@timestamp\":\"2026-01-02T03:04:%02dZ\",\"root\":%q,\"type\":%q,"+
			"\"hook\":{\"resource\":{\"addr\":\"x.y\"}}}\n", i*i, root, kind)
	}
	for root, want := range map[string]time.Duration{"a": 9 * time.Second, "b": 3 * time.Second} {
		run, err := ReadRun(strings.NewReader(events.String()), root)
		if err != nil {
			t.Fatal(err)
		}
		if span := run.spans["x.y"]; span.Began != 0 || span.Ended != want {
			t.Errorf("in %s, the work lasted from %s to %s, want %s", root, span.Began, span.Ended, want)
		}
	}
	_, err := ReadRun(strings.NewReader(events.String()), "c")
	if err == nil || !strings.Contains(err.Error(), "changed object in c") {
		t.Errorf("the error is %v", err)
	}
}

// BenchmarkResources shows that the time for each node doesn't depend on the number of nodes. The
// resources are in layers, and all references between layers go through a few values.
func BenchmarkResources(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var lines []string
			for i := range n {
				layer := i / 100
				lines = append(lines, fmt.Sprintf("r%d v%d", i, layer), fmt.Sprintf("v%d r%d", layer+1, i))
			}
			g := graphOf(lines...)
			b.ResetTimer()
			for b.Loop() {
				if err := g.Resources().WriteMermaid(io.Discard); err != nil {
					b.Fatal(err)
				}
				if _, err := g.Focus("r0", 3); err != nil {
					b.Fatal(err)
				}
				g.Modules()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
		})
	}
}
