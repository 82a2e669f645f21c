package review

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"tofu/internal/plans"
	"tofu/internal/testenv/plantest"
	"tofu/internal/ui"
	"tofu/internal/ui/planview"
)

// estateOf returns root modules, each with a plan of n[i] changes of all actions but without
// deletions, except in those that lose says.
func estateOf(t *testing.T, n []int, lose map[int]bool, text string) []*Root {
	var out []*Root
	for i, changes := range n {
		r := &Root{Root: planview.Root{Name: fmt.Sprintf("live/r%03d", i), Unchanged: changes == 0}}
		if changes > 0 {
			view, _ := plantest.Plan(t, changes, text)
			if !lose[i] {
				view.Plan.Changes.Instances = safe(view.Plan.Changes.Instances)
			}
			r.Counts = planview.Count(view.Plan)
			r.Render = func(limit int) (Rendered, error) {
				return Render(&ui.PlanView{Plan: view.Plan, Config: view.Config, Schemas: view.Schemas}, limit), nil
			}
		}
		out = append(out, r)
	}
	return out
}

func safe(all []*plans.InstanceChange) (out []*plans.InstanceChange) {
	for _, c := range all {
		if c.Action == plans.Create {
			out = append(out, c)
		}
	}
	return out
}

// TestEstate checks texts about many root modules with all limits: none is longer than its limit,
// all blocks end, and each root module is in the text. Root modules that lose objects have
// precedence, and much room is unused only if nothing is omitted.
func TestEstate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.SliceOfN(rapid.IntRange(0, 60), 1, 30).Draw(rt, "changes")
		lose := rapid.MapOfN(rapid.IntRange(0, len(n)-1), rapid.Just(true), 0, 3).Draw(rt, "lose")
		limit := rapid.IntRange(5000, 80_000).Draw(rt, "limit")
		text := rapid.SampledFrom([]string{"plain", "`````\n```diff", strings.Repeat("long ", 40)}).Draw(rt, "text")
		roots := estateOf(t, n, lose, text)
		var out strings.Builder
		if err := WriteEstate(&out, "# Head\n", roots, limit); err != nil {
			rt.Fatal(err)
		}
		got := out.String()
		length := utf8.RuneCountInString(got)
		if length > limit {
			rt.Errorf("the text has %d characters, want at most %d", length, limit)
		}
		checkWhole(rt, got)
		after := false // whether a root module came that loses nothing
		for _, r := range order(got) {
			loses := roots[r].Counts.Remove > 0
			if loses && after {
				rt.Errorf("r%03d comes after root modules that lose nothing:\n%s", r, got)
			}
			after = after || !loses
		}
		for _, r := range roots {
			if !strings.Contains(got, r.Name) && !strings.Contains(got, "more |") && !strings.Contains(got, "more root module") {
				rt.Errorf("%s is not named:\n%s", r.Name, got)
			}
			if r.Counts.Remove > 0 && limit > 20_000 && !strings.Contains(got, "## `"+r.Name) {
				rt.Errorf("%s loses objects, and is omitted:\n%s", r.Name, got)
			}
		}
		if strings.Contains(got, "not shown") && length < limit*3/4-1000 {
			rt.Errorf("%d of %d characters are used, and changes are omitted:\n%s", length, limit, got)
		}
	})
}

// order returns the numbers of the root modules in the order of their headings.
func order(text string) (out []int) {
	for line := range strings.Lines(text) {
		var n int
		if _, err := fmt.Sscanf(line, "## `live/r%d`", &n); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// TestDangerousFirst checks that all deletions of the last of many root modules are named, though
// the others would fill the text.
func TestDangerousFirst(t *testing.T) {
	n := make([]int, 40)
	for i := range n {
		n[i] = 50
	}
	var out strings.Builder
	if err := WriteEstate(&out, "# Head\n", estateOf(t, n, map[int]bool{17: true, 39: true}, "text"), DefaultLimit); err != nil {
		t.Fatal(err)
	}
	if got := order(out.String()); len(got) < 3 || got[0] != 17 || got[1] != 39 {
		t.Errorf("the order is %v:\n%s", got, &out)
	}
	if shown := strings.Count(out.String(), "#### − Destroyed (10)"); shown != 2 {
		t.Errorf("deletions of %d root modules are shown:\n%s", shown, &out)
	}
	if !strings.Contains(out.String(), "| `live/r000` |") {
		t.Errorf("the table lacks a root module:\n%s", &out)
	}
}

// TestLinesOfLost checks that what many root modules lose is named before the other changes of any.
func TestLinesOfLost(t *testing.T) {
	n, lose := make([]int, 100), map[int]bool{}
	for i := range n {
		n[i], lose[i] = 6, true
	}
	roots := estateOf(t, n, lose, "text")
	var out strings.Builder
	if err := WriteEstate(&out, "# Head\n", roots, 40_000); err != nil {
		t.Fatal(err)
	}
	if length := utf8.RuneCountInString(out.String()); length > 40_000 {
		t.Errorf("the text has %d characters", length)
	}
	whole := len(order(out.String()))
	lines := strings.Count(out.String(), "`: − `")
	if whole == 0 || lines == 0 || whole+lines != len(n) {
		t.Errorf("%d root modules are shown and %d named with what they lose, of %d:\n%s", whole, lines, len(n), &out)
	}
}
