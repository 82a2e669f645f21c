package review

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"tofu/internal/addrs"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/testenv/plantest"
	"tofu/internal/ui"
)

// TestLimit checks reviews with all limits: none is longer than its limit, all blocks and fences
// are complete, and dangerous changes take precedence.
func TestLimit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 400).Draw(rt, "changes")
		limit := rapid.IntRange(LeastLimit, 40_000).Draw(rt, "limit")
		text := rapid.SampledFrom([]string{"plain", "```", "`````\n```diff", "</details>", "| a |", "é✓"}).Draw(rt, "text")
		view, _ := plantest.Plan(t, n, text)
		var out strings.Builder
		if err := Write(&out, view, limit); err != nil {
			rt.Fatal(err)
		}
		got := out.String()
		if length := utf8.RuneCountInString(got); length > limit {
			rt.Errorf("the text has %d characters, want at most %d", length, limit)
		}
		checkWhole(rt, got)
		checkOrder(rt, got, n)
	})
}

// checkWhole checks that each folded block and each fence ends.
func checkWhole(t *rapid.T, text string) {
	fence, open := "", 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case fence != "" && line == fence:
			fence = ""
		case fence != "":
		case strings.HasPrefix(line, "```"):
			fence = strings.TrimRight(line, "abcdefghijklmnopqrstuvwxyz")
		case strings.HasPrefix(line, "<details>"):
			open++
		case line == "</details>":
			open--
		}
	}
	if fence != "" || open != 0 {
		t.Errorf("a fence %q or %d blocks are not closed:\n%s", fence, open, text)
	}
}

// checkOrder checks that if the address of a dangerous change is missing, there are no
// differences of a harmless change.
func checkOrder(t *rapid.T, text string, n int) {
	deleted := (n + 3) / 5
	shown := strings.Count(text, "will be destroyed") + strings.Count(between(text, "Destroyed (", "####"), "\n- `")
	if shown < deleted && strings.Contains(text, "will be updated in-place") {
		t.Errorf("%d of %d deletions are shown, but also updates:\n%s", shown, deleted, text)
	}
}

// TestAllNamed checks that all addresses are named if that takes little of the room, though not all
// differences have room.
func TestAllNamed(t *testing.T) {
	view, _ := plantest.Plan(t, 40, strings.Repeat("long ", 100))
	var out strings.Builder
	if err := Write(&out, view, 9000); err != nil {
		t.Fatal(err)
	}
	for _, c := range view.Plan.Changes.Instances {
		if name := c.Addr.String(); !strings.Contains(out.String(), Code(name)) &&
			!strings.Contains(out.String(), "<code>"+Escape(name)+"</code>") {
			t.Errorf("%s is not named:\n%s", name, &out)
		}
	}
}

func between(text, from, to string) string {
	_, text, _ = strings.Cut(text, from)
	text, _, _ = strings.Cut(text, to)
	return text
}

func TestEscapes(t *testing.T) {
	for in, want := range map[string]string{
		`a["x"]`: "`a[\"x\"]`", "a`b": "``a`b``", "`a": "`` `a ``", "a|b": "`a\\|b`",
	} {
		if got := Code(in); got != want {
			t.Errorf("Code(%q) = %s, want %s", in, got, want)
		}
	}
	if got, want := Escape("<a>*_`@x"), "&lt;a&gt;&#42;&#95;&#96;&#64;x"; got != want {
		t.Errorf("escape = %s, want %s", got, want)
	}
}

// TestMarkedWords checks that carets are below the changed words of a long text.
func TestMarkedWords(t *testing.T) {
	view, _ := plantest.Plan(t, 5, "the quick brown fox jumps over the lazy dog and back again")
	var out strings.Builder
	if err := Write(&out, view, DefaultLimit); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	found := 0
	for i, line := range lines {
		if carets := strings.Trim(line, " "); carets != "" && strings.Trim(carets, "^") == "" {
			found++
			at := strings.Index(line, "^")
			if got := lines[i-1][at : at+len(carets)]; got != "old" && got != "new" {
				t.Errorf("%q is marked in %q", got, lines[i-1])
			}
		}
	}
	if found == 0 {
		t.Errorf("nothing is marked:\n%s", &out)
	}
}

// TestOutputsAndRenames checks the parts after the changes, and that they are omitted first if
// there is little room.
func TestOutputsAndRenames(t *testing.T) {
	view, _ := plantest.Plan(t, 0, "")
	object := func(id cty.Value) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"id": id, "input": cty.StringVal("same"), "output": cty.StringVal("same"),
			"triggers_replace": cty.NullVal(cty.String)})
	}
	add := func(name string, action plans.Action, before, after cty.Value) {
		addr := addrs.Resource{Mode: addrs.Managed, Type: "terraform_data", Name: name}.InInstance(addrs.RootInstance)
		c := &plans.InstanceChange{Addr: addr.Instance(addrs.NoKey), Action: action, Before: before, After: after}
		c.Provider.Config.Provider = addrs.BuiltinTerraform
		view.Plan.Changes.Instances = append(view.Plan.Changes.Instances, c)
	}
	old := object(cty.StringVal("i-1"))
	add("old", plans.Delete, old, cty.NullVal(old.Type()))
	add("young", plans.Create, cty.NullVal(old.Type()), object(cty.UnknownVal(cty.String)))
	view.Plan.Changes.Sort()
	view.Plan.Changes.AddOutput(&plans.OutputChange{Name: "url", Action: plans.Update, Before: cty.StringVal("```one"),
		After: cty.StringVal("two")})
	view.Plan.Changes.AddOutput(&plans.OutputChange{Name: "secret", Action: plans.Update,
		Before: cty.StringVal("hush").Mark(marks.Sensitive), After: cty.StringVal("hush2").Mark(marks.Sensitive), Sensitive: true})
	var out strings.Builder
	if err := Write(&out, view, DefaultLimit); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	for _, want := range []string{"#### Outputs (2)\n", "\n````diff\n", "! url = \"```one\" -> \"two\"\n", "#### Hint\n",
		"```hcl\nmoved {\n  from = terraform_data.old\n  to   = terraform_data.young\n}\n```\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "hush") {
		t.Errorf("a secret is shown:\n%s", got)
	}
	for i := range 200 {
		view.Plan.Changes.AddOutput(&plans.OutputChange{Name: fmt.Sprintf("o%d", i), Action: plans.Create,
			Before: cty.NullVal(cty.String), After: cty.StringVal("a value of some length")})
	}
	view = &ui.PlanView{Plan: view.Plan, Config: view.Config, Schemas: view.Schemas}
	out.Reset()
	if err := Write(&out, view, LeastLimit); err != nil || strings.Contains(out.String(), "#### Outputs") {
		t.Errorf("%v: outputs are shown without room for them:\n%s", err, &out)
	}
}

// TestMoreInstances checks that a folded list names the remaining instances of a group if there
// is room. The addresses of dangerous changes take precedence over the list.
func TestMoreInstances(t *testing.T) {
	view, _ := plantest.Plan(t, 0, "")
	old := cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("i"), "input": cty.StringVal("same"),
		"output": cty.StringVal("same"), "triggers_replace": cty.NullVal(cty.String)})
	for i := range 300 {
		addr := addrs.Resource{Mode: addrs.Managed, Type: "terraform_data", Name: "many"}.InInstance(addrs.RootInstance)
		c := &plans.InstanceChange{Addr: addr.Instance(addrs.StringKey(fmt.Sprintf("key-%03d", i))), Action: plans.Delete,
			Before: old, After: cty.NullVal(old.Type())}
		c.Provider.Config.Provider = addrs.BuiltinTerraform
		view.Plan.Changes.Instances = append(view.Plan.Changes.Instances, c)
	}
	view.Plan.Changes.Sort()
	for _, test := range []struct {
		limit        int
		has, without []string
	}{
		{DefaultLimit, []string{`"key-000"`, "# and 270 more\n",
			"<details><summary>270 more instances</summary>\n\n```\n[\"key-030\"]\n",
			"[\"key-299\"]\n```\n"}, []string{"not shown"}},
		{5000, []string{`"key-000"`, "# and 270 more\n", "270 more instances</summary>", "]\nand "}, []string{`"key-299"`}},
		{LeastLimit, []string{"(300 instances)"}, []string{"270 more instances"}},
	} {
		var out strings.Builder
		again := &ui.PlanView{Plan: view.Plan, Config: view.Config, Schemas: view.Schemas}
		if err := Write(&out, again, test.limit); err != nil {
			t.Fatal(err)
		}
		if n := utf8.RuneCountInString(out.String()); n > test.limit {
			t.Errorf("limit %d: there are %d characters", test.limit, n)
		}
		for _, want := range test.has {
			if !strings.Contains(out.String(), want) {
				t.Errorf("limit %d: there is no %q in\n%s", test.limit, want, &out)
			}
		}
		for _, bad := range test.without {
			if strings.Contains(out.String(), bad) {
				t.Errorf("limit %d: there is %q in\n%s", test.limit, bad, &out)
			}
		}
	}
}

// reviewLimit is the maximum time to write a hundred thousand changes.
const reviewLimit = 5 * time.Second

// BenchmarkWrite shows that the time per change doesn't depend on the number of changes.
func BenchmarkWrite(b *testing.B) {
	for _, limit := range []int{DefaultLimit, 1 << 30} {
		for _, n := range []int{1000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("limit=%d/%s", limit, strconv.Itoa(n)), func(b *testing.B) {
				view, _ := plantest.Plan(b, n, "text")
				for b.Loop() {
					if err := Write(io.Discard, view, limit); err != nil {
						b.Fatal(err)
					}
				}
				took := b.Elapsed() / time.Duration(b.N)
				b.ReportMetric(float64(took.Nanoseconds())/float64(n), "ns/change")
				if n == 100_000 && took > reviewLimit {
					b.Errorf("it takes %s", took)
				}
			})
		}
	}
}
