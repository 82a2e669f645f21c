package session_test

import (
	"os"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/session"
)

// planned makes and encodes a plan of the working directory.
func planned(t *testing.T) []byte {
	t.Helper()
	op, err := again().StartOperation(t.Context(), session.OperationOptions{}, session.OperationPlan)
	if err != nil {
		t.Fatal(err)
	}
	defer op.Close()
	plan, err := op.PlanUnseen(t.Context(), &engine.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := op.EncodePlan(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// apply applies a saved plan and returns the values of the outputs afterwards.
func apply(t *testing.T, data []byte) (map[string]string, error) {
	t.Helper()
	s := again()
	saved, err := s.DecodePlan(t.Context(), "p.plan", data, session.Variables{})
	if err != nil {
		t.Fatal(err)
	}
	op, err := saved.Open(t.Context(), s, session.OperationOptions{})
	if err != nil {
		return nil, err
	}
	defer op.Close()
	st, _, err := op.Apply(t.Context(), saved.Plan, saved.ID, &engine.ApplyOptions{})
	out := make(map[string]string)
	for name, v := range st.OutputValues() {
		out[name] = v.AsString()
	}
	return out, err
}

// TestSavedPlan checks the life of a saved plan: it is applied once, with its own configuration, and
// only to the state from which it was made.
func TestSavedPlan(t *testing.T) {
	newSession(t, map[string]string{"main.tf": `
		resource "terraform_data" "a" {
			input = "first"
		}
		output "o" {
			value = terraform_data.a.output
		}`})
	first, rival := planned(t), planned(t)
	if err := os.WriteFile("main.tf", []byte(`output "o" { value = "edited" }`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := apply(t, first); got["o"] != "first" || err != nil {
		t.Errorf("the outputs are %v, %v", got, err)
	}
	_, err := apply(t, first)
	checkError(t, err, "Saved plan was applied before")
	_, err = apply(t, rival)
	checkError(t, err, "There was no state when the plan was made")

	second, late := planned(t), planned(t)
	if got, err := apply(t, second); got["o"] != "edited" || err != nil {
		t.Errorf("the outputs are %v, %v", got, err)
	}
	_, err = apply(t, late)
	checkError(t, err, "The state was changed after the plan was made")
}

func TestNoPlan(t *testing.T) {
	s := newSession(t, map[string]string{"dir/x": "", "text": "plan"})
	_, err := session.ReadPlanFile("absent")
	checkError(t, err, "There is no file absent.")
	_, err = session.ReadPlanFile("dir")
	checkError(t, err, "-chdir=dir before the command")
	data, err := session.ReadPlanFile("text")
	checkError(t, err, "")
	_, err = s.DecodePlan(t.Context(), "text", data, session.Variables{})
	checkError(t, err, "text is not a plan that was saved")
	whole := []byte("PK\x03\x04 cut off")
	_, err = s.DecodePlan(t.Context(), "cut", whole, session.Variables{})
	checkError(t, err, "cut")
}

// TestRequireConfig checks which plans need a configuration.
func TestRequireConfig(t *testing.T) {
	s := newSession(t, map[string]string{"full/main.tofu.json": "{}", "empty/README": ""})
	for _, test := range []struct {
		mode      plans.Mode
		dir, want string
	}{
		{plans.Normal, "full", ""},
		{plans.Normal, "empty", `everything in the state would be destroyed; "tofu destroy" does that`},
		{plans.RefreshOnly, "empty", "has no configuration files"},
		{plans.Normal, "absent", "-chdir=DIR"},
		{plans.Destroy, "empty", ""},
	} {
		checkError(t, session.RequireConfigFor(test.mode, s.Parser, test.dir), test.want)
	}
	checkError(t, session.RequireConfig(s.Parser, "full"), "")
	checkError(t, session.RequireConfig(s.Parser, "empty"), "has no configuration files")
}

// TestPreset checks how settings in roots.tofu.hcl override those of the backend block.
func TestPreset(t *testing.T) {
	s := newSession(t, map[string]string{"main.tf": `terraform {
		backend "s3" {
			bucket = "own"
			key    = "own"
		}
	}`, "none/main.tf": ""})
	cfg := load(t, s)
	for _, test := range []struct {
		preset    map[string]string
		name      string
		want, err string
	}{
		{nil, "bucket", "own", ""},
		{map[string]string{"key": "prod/a"}, "key", "prod/a", ""},
		{map[string]string{"key": "${x}"}, "key", "${x}", ""}, // texts are not templates
		{map[string]string{"max_retries": "7"}, "max_retries", "7", ""},
		{map[string]string{"max_retries": "many"}, "", "", `"max_retries" can't be used: a number is required`},
		{map[string]string{"endpoints": `{s3="https://s3.example"}`}, "endpoints", "https://s3.example", ""},
		{map[string]string{"endpoints": `{s3=`}, "", "", `The value that roots.tofu.hcl:3 sets for "endpoints"`},
		{map[string]string{"colour": "red"}, "", "", `no argument "colour", which roots.tofu.hcl:3 sets`},
	} {
		s.Preset = session.Preset{Backend: test.preset, From: "roots.tofu.hcl:3"}
		settings, has, err := s.WantedBackend(t.Context(), cfg)
		checkError(t, err, test.err)
		if test.err != "" || err != nil {
			continue
		}
		got := settings.Config.GetAttr(test.name)
		if test.name == "endpoints" {
			got = got.GetAttr("s3")
		}
		text, err := convert.Convert(got, cty.String)
		if !has || err != nil || text.AsString() != test.want {
			t.Errorf("%v: %#v, %v; want %s", test.preset, got, err, test.want)
		}
	}
	none := s.At(session.RootModule{Dir: "none", Preset: session.Preset{Backend: map[string]string{"key": "x"}}}, s.Terminal)
	if _, has, err := none.WantedBackend(t.Context(), load(t, none)); has || err != nil {
		t.Errorf("without a backend block: %t, %v", has, err)
	}
}
