package plantext

import (
	"bufio"
	"fmt"
	"strings"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/ui/planview"
)

// TestMembers checks which instances of a group are named, and the number of the others.
func TestMembers(t *testing.T) {
	g := &planview.Group{}
	for i := range 60 {
		c := &plans.InstanceChange{Action: plans.Delete}
		c.Addr.Resource = addrs.Resource{Mode: addrs.Managed, Type: "cloud_server", Name: "web"}
		c.Addr.Key = addrs.StringKey(fmt.Sprint("server-in-production-", i))
		g.Changes = append(g.Changes, &planview.Change{InstanceChange: c})
	}
	g.Change = g.Changes[0]
	for _, test := range []struct{ limit, names, left int }{{60, 60, 0}, {50, 50, 10}} {
		if names, left := g.Members(test.limit); len(names) != test.names || left != test.left {
			t.Errorf("limit %d: got %d names and %d left", test.limit, len(names), left)
		}
	}
}

// TestFit checks that "…" stands only for names that are missing.
func TestFit(t *testing.T) {
	for _, test := range []struct {
		names []string
		left  int
		want  string
	}{
		{[]string{"a", "b"}, 0, "a, b"},
		{[]string{"a", "b"}, 3, "a, b, …"},
		{[]string{"a", "name-with-many-letters"}, 0, "a, …"},
		{[]string{"name-with-many-letters"}, 0, "name-with-many-letters"},
		{[]string{"name-with-many-letters"}, 1, "name-with-many-letters, …"},
	} {
		if got := fit(test.names, test.left, 12); got != test.want {
			t.Errorf("fit(%q, %d) = %q, want %q", test.names, test.left, got, test.want)
		}
	}
}

func TestList(t *testing.T) {
	var b strings.Builder
	s := &Screen{Out: bufio.NewWriter(&b), Width: 30}
	s.list(2, "4 instances:", []string{`["a b"]`, `["a long key that has spaces"]`, `["c"]`, "and 1 more"})
	_ = s.Out.Flush()
	want := `  4 instances: ["a b"],
  ["a long key that has
  spaces"],
  ["c"], and 1 more
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}
