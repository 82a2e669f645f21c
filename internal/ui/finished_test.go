package ui

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"golang.org/x/tools/txtar"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
	"tofu/internal/ui/progress"
	"tofu/internal/ui/termtext"
)

// TestFinishedLines checks that on a narrow terminal the lines above the live display still
// contain the instance key and the outcome.
func TestFinishedLines(t *testing.T) {
	addr, err := addrs.ParseInstanceText(
		`module.a_quite_long_module_name["production-us-east"].terraform_data.the_resource_with_a_long_name["blue"]`)
	if err != nil {
		t.Fatal(err)
	}
	object := engine.Object{Addr: addr, IDKey: "id", IDValue: "0f8fad5b-d9cb-469f-a165-70867728950e"}
	for _, columns := range []int{40, 72, 80, 100} {
		live := progress.New(termtext.Style{}, time.Now)
		region := progress.NewRegion(io.Discard, func() (int, int) { return columns, 24 }, live.Lines)
		live.Attach(region)
		var out bytes.Buffer
		h := NewHuman(Options{Out: &out, Terminal: true, Width: columns, Live: live})
		h.Event(engine.ApplyDone{Object: object, Action: plans.Create, Elapsed: time.Second})
		h.Event(engine.ApplyDone{Object: object, Action: plans.Update, Elapsed: time.Second, Failed: true})
		live.Close()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 {
			t.Fatalf("at %d columns: %q", columns, lines)
		}
		outcomes, key := []string{"Creation complete after 1s", "Modifications errored after 1s"}, `["production-us-east"]`
		if columns < shortOutcomes {
			outcomes, key = []string{"created in 1s", "failed after 1s"}, ""
		}
		for i, outcome := range outcomes {
			line := lines[i]
			if termtext.Width(line) > columns || !strings.Contains(line, outcome) || !strings.Contains(line, key) ||
				!strings.Contains(line, `["blue"]`) {
				t.Errorf("at %d columns: %s", columns, line)
			}
		}
	}
}

// TestFailureLines checks that the whole reason of a failure is shown at once above the live
// display. Without a live display, there is no such line.
func TestFailureLines(t *testing.T) {
	problem := tfdiags.Errorf("The quota of this region is exhausted", "Ask for more.")
	problem.Address = `cloud_server.web["blue"]`
	problem.Subject = &hcl.Range{Filename: "main.tf", Start: hcl.Pos{Line: 12}}
	failure := engine.Failure{Err: tfdiags.Diagnostics{tfdiags.Warningf("Beware", "Of it."), problem}.Err()}
	for columns, want := range map[int]string{
		0: "",
		40: "Error: The quota of this region is\n  exhausted (with\n" +
			"  cloud_server.web[\"blue\"], on main.tf\n  line 12)\n",
		120: "Error: The quota of this region is exhausted (with cloud_server.web[\"blue\"], on main.tf line 12)\n",
	} {
		live := progress.New(termtext.Style{}, time.Now)
		if columns > 0 {
			live.Attach(progress.NewRegion(io.Discard, func() (int, int) { return columns, 24 }, live.Lines))
		}
		var out bytes.Buffer
		NewHuman(Options{Out: &out, Terminal: true, Width: columns, Live: live}).Event(failure)
		live.Close()
		if out.String() != want {
			t.Errorf("at %d columns: %q, expected %q", columns, out.String(), want)
		}
	}
}

// TestTableWithoutTerminal checks that a table in a file doesn't shorten addresses.
func TestTableWithoutTerminal(t *testing.T) {
	schemas := lookup(loadSchemas(t, readFile(t, "testdata/view_schemas.json")))
	view := loadPlan(t, archived(t, "testdata/views/long-addresses.txtar", "plan.json"), schemas)
	view.Config = loadConfig(t, map[string][]byte{"main.tf": nil})
	var out bytes.Buffer
	NewHuman(Options{Out: &out, View: PlanTextView{Name: "table"}}).Plan(view)
	for _, c := range view.Plan.Changes.Instances {
		if c.Action != plans.NoOp && !strings.Contains(out.String(), " "+c.Addr.String()+" ") {
			t.Errorf("no %s in\n%s", c.Addr, out.String())
		}
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// archived returns a file of a txtar archive.
func archived(t *testing.T, archive, name string) []byte {
	t.Helper()
	for _, f := range txtar.Parse(readFile(t, archive)).Files {
		if f.Name == name {
			return f.Data
		}
	}
	t.Fatalf("%s has no %s", archive, name)
	return nil
}
